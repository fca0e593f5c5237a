"""The skill graph against its law, the worst concentrations against enumeration and root finding."""

from itertools import combinations
from math import comb, log

import jax
import mpmath
import numpy as np
import pytest
from scipy.optimize import brentq, linprog

from deeptheory.skills.emergence import (
    change_of_measure_concentration,
    containing_share,
    emergence_margin,
    exact_concentration,
    first_moment_concentration,
    log_first_moment,
    searched_concentration,
    skill_graph,
    worst_concentration,
)


@pytest.mark.item("A15.24")
def test_graph_has_k_edges_a_piece_and_binomial_degrees(key):
    measure = np.array([0.5, 0.3, 0.15, 0.05])
    degrees = np.array([skill_graph(part, 200, 4, 3, measure=measure).sum(0) for part in jax.random.split(key, 400)])
    assert np.all(degrees.sum(1) == 600)
    np.testing.assert_allclose(degrees.mean(0), 600 * measure, atol=5 * np.sqrt(600 * 0.25 / 400))
    np.testing.assert_allclose(degrees.var(0), 600 * measure * (1 - measure), rtol=5 * np.sqrt(2 / 400))


@pytest.mark.item("A15.24")
def test_share_of_pieces_that_contain_a_skill_by_enumeration():
    measure, k = np.array([0.5, 0.3, 0.2]), 4
    tuples = np.array(np.meshgrid(*[range(3)] * k)).reshape(k, -1)
    weights = measure[tuples].prod(0)
    expected = [weights[(tuples == skill).any(0)].sum() for skill in range(3)]
    np.testing.assert_allclose(containing_share(measure, k), expected, rtol=1e-13)
    assert containing_share(1 / 12, 8) == pytest.approx(0.50147, abs=1e-5)


@pytest.mark.item("A15.30")
def test_worst_error_set_by_enumeration_of_all_of_them(key):
    graph = skill_graph(key, 8, 4, 3)
    ours = worst_concentration(graph, 2, 3 / 8)
    for value, members in zip(ours, combinations(range(4), 2), strict=True):
        edges = graph[:, members].sum(1)
        best = max(edges[list(chosen)].sum() for chosen in combinations(range(8), 3))
        assert value == pytest.approx(best / (3 * 3 * 0.5), rel=1e-13)


def test_search_reaches_the_enumerated_worst_case(key):
    for part in jax.random.split(key, 4):
        graph = skill_graph(part, 60, 8, 4)
        enumerated = worst_concentration(graph, 2, 0.1).max()
        found = searched_concentration(part, graph, 2, 0.1, starts=60)
        assert found <= enumerated + 1e-12 and found == pytest.approx(enumerated, rel=0.03)


@pytest.mark.item("A15.32")
@pytest.mark.parametrize(("alpha", "theta", "k"), [(0.1, 0.1, 8), (0.25, 0.05, 4), (0.5, 0.3, 5), (0.2, 0.9, 3)])
def test_exact_concentration_by_linear_programming(alpha, theta, k):
    """The top θ of a binomial as the best event of probability θ (randomized), found by a linear programme."""
    x = np.arange(k + 1)
    mass = np.array([comb(k, i) * alpha**i * (1 - alpha) ** (k - i) for i in x])
    best = linprog(-mass * x, A_eq=mass[None], b_eq=[theta], bounds=(0, 1))
    assert exact_concentration(alpha, theta, k) == pytest.approx(-best.fun / (alpha * k * theta), rel=1e-9)


@pytest.mark.item("A15.30", "A15.32")
def test_least_ratios_by_root_finding_in_the_printed_condition():
    for alpha, theta, k in [(0.1, 0.1, 8), (0.2, 0.1, 8), (0.5, 0.1, 8), (0.25, 0.05, 4)]:
        printed = brentq(lambda b, a=alpha, t=theta, k=k: emergence_margin(a, b, t, k), 1 + 1e-9, 1 / alpha - 1e-12)
        assert first_moment_concentration(alpha, theta, k) == pytest.approx(printed, rel=1e-9)
    curve = [
        0.1 * np.array([f(alpha, 0.1, 8) for alpha in (0.1, 0.2, 0.5)])
        for f in (first_moment_concentration, change_of_measure_concentration, exact_concentration)
    ]
    np.testing.assert_allclose(curve, [[0.450, 0.307, 0.183], [0.387, 0.272, 0.172], [0.304, 0.230, 0.160]], atol=6e-4)


@pytest.mark.item("A15.30")
def test_no_ratio_where_the_budget_exceeds_the_largest_divergence():
    # k·θ·log(1/α) < H(θ): no β below 1/α satisfies the condition.
    assert np.isinf(first_moment_concentration(0.25, 0.1, 2)) and np.isfinite(first_moment_concentration(0.15, 0.1, 2))
    finite = first_moment_concentration(0.25, 0.1, 8, skills_per_text=0.01)
    assert finite > first_moment_concentration(0.25, 0.1, 8)
    binary = lambda p: -p * np.log(p) - (1 - p) * np.log(1 - p)  # noqa: E731
    scale, kl = finite * 0.25, 0.25 * finite * np.log(finite) + (1 - finite * 0.25) * np.log((1 - finite * 0.25) / 0.75)
    assert scale < 1 and 8 * 0.1 * kl == pytest.approx(binary(0.1) + 0.01 * binary(0.25), rel=1e-9)


@pytest.mark.item("A15.31")
def test_log_first_moment_against_exact_integers():
    texts, skills, alpha, beta, theta, k = 200, 12, 0.25, 2.0, 0.1, 4
    edges, hits = 80, 40
    exact = log(skills * texts * comb(12, 3) * comb(200, 20) * comb(edges, hits))
    exact += hits * log(alpha) + (edges - hits) * log(1 - alpha)
    assert log_first_moment(texts, skills, alpha, beta, theta, k) == pytest.approx(exact, rel=1e-12)


def test_bad_input_is_refused(key):
    with pytest.raises(ValueError, match=r"theta must lie in \(0, 1\)"):
        exact_concentration(0.5, 1.5, 3)
    with pytest.raises(ValueError, match=r"group must lie in 1..3"):
        worst_concentration(skill_graph(key, 5, 4, 2), 4, 0.5)


@pytest.mark.parametrize("alpha, theta, k", [(1e-12, 0.5, 10**15), (0.3, 0.1, 10), (1e-300, 0.5, 3)])
def test_concentrations_of_the_rarest_skills_in_many_digits(alpha, theta, k):
    with mpmath.workdps(400):
        a, budget = mpmath.mpf(alpha), -mpmath.log(mpmath.mpf(theta)) / k

        def over(ratio):
            return a * ratio * mpmath.log(ratio) + (1 - a * ratio) * mpmath.log((1 - a * ratio) / (1 - a)) - budget

        found = float(change_of_measure_concentration(alpha, theta, k))
        step = mpmath.mpf(found) * mpmath.mpf("1e-9")
        assert over(found - step) < 0 < over(found + step)


def test_the_margin_of_small_error_sets_keeps_its_digits():
    with mpmath.workdps(40):
        theta, hit = mpmath.mpf(1e-12), mpmath.mpf(0.25)
        entropy = [-p * mpmath.log(p) - (1 - p) * mpmath.log(1 - p) for p in (theta, hit)]
        expected = float(entropy[0] + 3 * theta * (entropy[1] - mpmath.log(2)))
    assert emergence_margin(0.5, 0.5, 1e-12, 3) == pytest.approx(expected, rel=1e-14)


def test_measures_and_sizes_out_of_range_are_refused():
    with pytest.raises(ValueError, match=r"measure must lie in \[0, 1\]"):
        containing_share(-0.5, 3)
    with pytest.raises(ValueError, match="skills_per_text must lie in"):
        first_moment_concentration(0.5, 0.5, 3, skills_per_text=-1.0)
    with pytest.raises(ValueError, match="texts must be positive"):
        log_first_moment(-1.0, 3, 0.5, 0.5, 0.5, 3)
