"""Competences and tuples by enumeration in exact fractions; curves by root finding in the printed condition."""

from fractions import Fraction
from itertools import combinations, permutations, product

import jax
import numpy as np
import pytest
from scipy.optimize import brentq

from deeptheory.skills.competence import (
    mistaken_share,
    pair_errors,
    recombined_error_share,
    recombined_graph,
    repeat_probability,
    skill_errors,
)
from deeptheory.skills.emergence import emergence_margin, skill_graph
from deeptheory.skills.performance_curves import feasible_exclusions, performance_curve, tuple_performance_curve


@pytest.mark.item("A15.25")
def test_error_rates_by_going_through_all_tasks():
    pieces = [(0, 0, 1), (1, 2, 0), (2, 2, 2)]  # the skills of each piece, in the order of drawing
    losses = np.array([1.0, 0.25, 0.0])
    graph = np.array([np.bincount(piece, minlength=4) for piece in pieces])
    single, double = {}, {}
    for piece, loss in zip(pieces, losses, strict=True):
        for skill in piece:
            single.setdefault(skill, []).append(loss)
        for first, second in permutations(range(3), 2):
            double.setdefault((piece[first], piece[second]), []).append(loss)
    np.testing.assert_allclose(skill_errors(graph, losses), [np.mean(single.get(s, [0])) for s in range(4)])
    expected = [[np.mean(double.get((s, t), [0])) for t in range(4)] for s in range(4)]
    np.testing.assert_allclose(pair_errors(graph, losses), expected)


@pytest.mark.item("A15.26")
def test_chance_of_a_repeated_skill_by_enumeration():
    measure = np.array([0.5, 0.3, 0.15, 0.05])
    for k in (1, 2, 3, 4):
        tuples = list(product(range(4), repeat=k))
        uniform = Fraction(sum(len(set(t)) < k for t in tuples), len(tuples))
        weighted = sum(np.prod(measure[list(t)]) for t in tuples if len(set(t)) < k)
        assert repeat_probability(k, 4) == pytest.approx(float(uniform), abs=1e-14)
        assert repeat_probability(k, 4, measure=measure) == pytest.approx(weighted, abs=1e-14)
    assert repeat_probability(8, 1000) == pytest.approx(0.0277, abs=5e-5) and repeat_probability(5, 4) == 1
    with pytest.raises(ValueError, match="3 probabilities"):
        repeat_probability(2, 3, measure=measure)


@pytest.mark.item("A15.29")
def test_markov_is_attained_by_losses_of_one_half():
    losses = np.array([0.5] * 3 + [0.0] * 7)
    assert mistaken_share(losses.mean()) == pytest.approx((losses >= 0.5).mean()) and mistaken_share(0.8) == 1


@pytest.mark.item("A15.35")
def test_share_of_bad_groups_by_enumeration():
    for texts, mistaken, size in ((7, 2, 2), (6, 1, 3), (5, 4, 2)):
        bad = set(range(mistaken))
        groups = list(combinations(range(texts), size))
        expected = Fraction(sum(bool(bad & set(group)) for group in groups), len(groups))
        assert recombined_error_share(mistaken, texts, size) == pytest.approx(float(expected), rel=1e-12)
        assert float(expected) <= size * mistaken / texts


@pytest.mark.item("A15.35")
def test_recombined_pieces_keep_their_skills_and_draw_tuples_evenly(key):
    graph = skill_graph(key, 4000, 3, 4)
    merged = recombined_graph(key, graph, 2)
    assert merged.shape == (2000, 9) and np.all(merged.sum(1) == 4)
    first, second = np.divmod(np.arange(9), 3)
    degrees = merged.sum(0)
    for skill in range(3):  # every edge of the pieces is in one tuple
        assert degrees[first == skill].sum() + degrees[second == skill].sum() == graph[:, skill].sum()
    np.testing.assert_allclose(degrees, 8000 / 9, atol=6 * np.sqrt(8000 / 9))
    np.testing.assert_array_equal(np.sort(recombined_graph(key, graph, 1), axis=0), np.sort(graph, axis=0))
    with pytest.raises(ValueError, match="rows of one sum"):
        recombined_graph(key, np.array([[1, 0], [1, 1]]), 2)


@pytest.mark.item("A15.33", "A15.36")
def test_curves_by_roots_of_the_printed_condition():
    def root(alpha, theta, k):
        return theta * brentq(lambda b: emergence_margin(alpha, b, theta, k), 1 + 1e-9, 1 / alpha - 1e-12)

    for theta, k in ((0.1, 4), (0.1, 8), (0.1, 16), (0.05, 8), (0.2, 8)):
        assert performance_curve(0.2, theta, k) == pytest.approx(root(0.2, theta, k), rel=1e-8)
    curve = [performance_curve(0.2, theta, k) for theta, k in ((0.1, 4), (0.1, 8), (0.1, 16), (0.05, 8), (0.2, 8))]
    np.testing.assert_allclose(curve, [0.397, 0.307, 0.243, 0.165, 0.560], atol=6e-4)
    # Loss δ/k′ for k′-tuples is loss δ for skills: θ = 2δ.
    for size in (1, 2, 4):
        assert tuple_performance_curve(0.3, 0.1 / size, 8, size=size) == pytest.approx(root(0.3, 0.2, 8), rel=1e-8)
    assert tuple_performance_curve(0.3, 0.3, 8, size=2) == 1
    least, greatest = feasible_exclusions(0.1, 2)
    assert (least, greatest) == pytest.approx((0.083, 0.197), abs=1e-3)
    # The midpoints of ten cells are 0.05, 0.15, …: of these only one lies where something is said.
    assert feasible_exclusions(0.1, 2, grid=10) == pytest.approx((0.15, 0.15))
    assert feasible_exclusions(0.9, 1) is None


def test_seeds_move_the_recombination():
    graph = skill_graph(jax.random.key(0), 40, 3, 2)
    assert np.any(recombined_graph(jax.random.key(1), graph, 2) != recombined_graph(jax.random.key(2), graph, 2))
