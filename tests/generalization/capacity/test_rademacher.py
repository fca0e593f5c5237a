"""Suprema against search, complexities against enumeration."""

from itertools import combinations, product
from math import comb

import jax
import numpy as np
import pytest

from deeptheory.generalization.capacity.rademacher import (
    absolute_ball_supremum,
    all_signs,
    ball_supremum,
    exact_complexity,
    finite_supremum,
    kernel_ball_supremum,
    relu_plane_supremum,
    sampled_complexity,
    threshold_supremum,
    two_sample_threshold_complexity,
)
from deeptheory.generalization.capacity.rademacher_bounds import (
    complexity_deviation,
    empirical_complexity_deviation,
    finite_class_complexity,
    frobenius_network_complexity,
    kernel_label_complexity,
    linear_complexity,
    vc_complexity,
)

DRAW = np.random.default_rng(8)


def test_all_signs_are_all():
    assert {tuple(row) for row in all_signs(3)} == set(product((-1.0, 1.0), repeat=3))
    with pytest.raises(ValueError, match="20 points"):
        all_signs(21)


def test_suprema_are_attained_and_never_exceeded_by_random_members():
    x = DRAW.standard_normal((6, 2))
    signs = all_signs(6)
    turn = 2 * np.pi * np.arange(200_000) / 200_000
    w = np.stack([np.cos(turn), np.sin(turn)])
    np.testing.assert_allclose(ball_supremum(x)(signs), np.max(signs @ (x @ w), axis=1), rtol=1e-8)
    swept = np.maximum(np.max(signs @ np.maximum(x @ w, 0), axis=1), 0)  # w = 0 is allowed
    np.testing.assert_allclose(relu_plane_supremum(x)(signs), swept, atol=2e-4)  # the sweep misses kinks by its step
    both = np.max(np.abs(signs @ np.maximum(x @ w, 0)), axis=1)
    np.testing.assert_allclose(relu_plane_supremum(x, both_signs=True)(signs), both, atol=2e-4)
    corners = np.array([[1, 0], [-1, 0], [0, 1], [0, -1]]).T
    np.testing.assert_allclose(absolute_ball_supremum(x, 3.0)(signs), 3 * np.max(signs @ x @ corners, axis=1))
    np.testing.assert_allclose(kernel_ball_supremum(x @ x.T, 2.0)(signs), 2 * ball_supremum(x)(signs))


def test_thresholds_by_enumeration():
    signs = all_signs(7)
    for z in (DRAW.standard_normal(7), np.array([0.0, 1.0, 0.0, 1.0, 2.0, 2.0, 2.0])):  # with and without ties
        values = np.array([z <= t for t in [-np.inf, *z]], float)
        np.testing.assert_allclose(threshold_supremum(z)(signs), finite_supremum(values)(signs))


@pytest.mark.item("L8.15", "H7.6")
def test_complexities_known_by_hand():
    assert exact_complexity(finite_supremum(all_signs(5)), 5) == 1.0
    assert exact_complexity(finite_supremum(DRAW.standard_normal((1, 5))), 5) == pytest.approx(0, abs=1e-16)
    # Two functions ±1 on n points: E|Σσ|/n, here 3/8 for n = 4.
    assert exact_complexity(finite_supremum(np.array([[1.0] * 4, [-1.0] * 4])), 4) == pytest.approx(3 / 8)
    assert sampled_complexity(jax.random.key(1), finite_supremum(np.ones((1, 4))), 4, 50).min() < 0
    draws = sampled_complexity(jax.random.key(2), finite_supremum(np.array([[1.0] * 4, [-1.0] * 4])), 4, 20_000)
    assert abs(draws.mean() - 3 / 8) < 6 * draws.std() / np.sqrt(20_000)


def test_two_samples_by_enumeration_of_their_interleavings():
    for m in (1, 2, 4):
        total, count = 0.0, 0
        for first in combinations(range(2 * m), m):
            steps = np.where(np.isin(np.arange(2 * m), first), 1, -1)
            total += np.max(np.abs(np.cumsum(steps))) / (2 * m)
            count += 1
        assert two_sample_threshold_complexity(m) == pytest.approx(total / count)


def test_two_samples_of_any_size_are_a_moment_away():
    """In whole numbers by Gnedenko and Korolyuk, and the limit with its next term by Euler and Maclaurin."""
    m = 200
    tails = (2 * (-1) ** (j + 1) * comb(2 * m, m - j * k) for k in range(1, m + 1) for j in range(1, m // k + 1))
    assert two_sample_threshold_complexity(m) == pytest.approx(sum(tails) / comb(2 * m, m) / (2 * m), rel=1e-12)
    m = 10**6
    limit = 0.5 * np.sqrt(2 / m) * np.sqrt(np.pi / 2) * np.log(2)
    assert two_sample_threshold_complexity(m) == pytest.approx(limit - 0.25 / m, rel=1e-5)


def test_bounds_by_their_numbers():
    x = np.array([[3.0, 4.0], [0.0, 5.0]])
    assert linear_complexity(x, 2.0) == pytest.approx(2 * np.sqrt(50) / 2)
    assert finite_class_complexity(x) == pytest.approx(5 * np.sqrt(2 * np.log(2)) / 2)
    assert finite_class_complexity(np.array([[3.0, 4.0], [0.0, 1.0]])) == pytest.approx(5 * np.sqrt(2 * np.log(2)) / 2)
    assert vc_complexity(4, 4) == pytest.approx(np.sqrt(2))
    assert vc_complexity(100, 4) == pytest.approx(np.sqrt(8 * np.log(25 * np.e) / 100))
    assert frobenius_network_complexity(100, 3, 0.5) == pytest.approx(0.1)
    assert complexity_deviation(0.1, 50, 0.05, width=2.0) == pytest.approx(0.2 + 2 * np.sqrt(np.log(20) / 100))
    assert empirical_complexity_deviation(0.1, 50, 0.05) == pytest.approx(0.2 + 3 * np.sqrt(np.log(40) / 100))
    gram, y = np.diag([2.0, 4.0]), np.array([1.0, -1.0])
    assert kernel_label_complexity(gram, y) == pytest.approx(np.sqrt(2 * 0.75 * 6) / 2)
