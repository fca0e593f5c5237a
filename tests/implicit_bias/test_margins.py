"""Separability, largest margins and shares of the loss, against cone programmes, counting and direct sums."""

from fractions import Fraction
from itertools import product
from math import comb

import cvxpy
import jax
import numpy as np
import pytest

from deeptheory.implicit_bias.margins import (
    largest_margin,
    loss_shares,
    normalized_margin,
    separability,
    smoothed_margin,
)
from deeptheory.implicit_bias.separable import max_margin, separable_points

CROSS = np.array([[1.0, 0.0], [-1.0, 0.1], [0.0, -1.0]])


def drawn(seed, n=12, d=4):
    return separable_points(jax.random.key(seed), count=n, dimension=d)


@pytest.mark.item("J4.3")
@pytest.mark.item("A8.24")
def test_separable_labelings_are_as_many_as_cover_counts():
    """Both witnesses exactly: whole points, the vector in fractions, the weights by Cramer's rule."""
    points = np.random.default_rng(0).integers(-99, 100, (7, 3))
    witnessed = 0
    for labels in product([1, -1], repeat=7):
        signed = points * np.array(labels)[:, None]
        found = separability(signed.astype(float))
        if found.separable:
            vector = [Fraction(float(entry)) for entry in found.vector]
            assert all(sum(int(x) * w for x, w in zip(row, vector, strict=True)) > 0 for row in signed)
        else:
            used = signed[found.weights > 1e-12]
            # Cramer's rule in whole numbers: four points of the space have one relation up to a factor.
            minors = [np.cross(*rest[:2]) @ rest[2] for rest in (np.delete(used, i, axis=0) for i in range(4))]
            weights = np.array(minors) * [1, -1, 1, -1]
            assert len(used) == 4 and (weights * np.sign(weights[0]) > 0).all() and not (weights @ used).any()
            np.testing.assert_allclose(found.weights[found.weights > 1e-12], weights / weights.sum(), rtol=1e-9)
        witnessed += found.separable
    assert witnessed == 2 * sum(comb(6, k) for k in range(3))


@pytest.mark.item("A8.24")
def test_the_loss_has_a_minimum_exactly_where_the_points_are_not_separable():
    from scipy.optimize import minimize

    def loss(w, points):
        return np.exp(-points @ w).sum()

    assert not separability(CROSS).separable
    lowest = minimize(loss, np.zeros(2), CROSS, tol=1e-12)
    assert lowest.fun > 1 and np.linalg.norm(lowest.x) < 10
    points = drawn(0)
    vector = separability(points).vector
    falling = [loss(size * vector, points) for size in (1, 10, 100)]
    assert falling[0] > falling[1] > falling[2] and falling[2] < 1e-40


@pytest.mark.parametrize("norm", [1, 1.5, 2, 3, np.inf])
@pytest.mark.parametrize("seed", range(3))
def test_largest_margin_is_that_of_a_cone_programme_and_of_its_dual(norm, seed):
    points = drawn(seed)
    found = largest_margin(points, norm=norm)
    w, margin = cvxpy.Variable(4), cvxpy.Variable()
    problem = cvxpy.Problem(cvxpy.Maximize(margin), [points @ w >= margin, cvxpy.norm(w, norm) <= 1])
    problem.solve(cvxpy.CLARABEL)
    assert found.margin == pytest.approx(problem.value, rel=1e-6)
    assert (points @ found.vector).min() == pytest.approx(found.margin, rel=1e-9)
    assert np.linalg.norm(found.vector, norm) == pytest.approx(1, rel=1e-9)
    # the weights prove that no vector does better
    dual = {1: np.inf, 1.5: 3, 2: 2, 3: 1.5, np.inf: 1}[norm]
    assert np.linalg.norm(found.weights @ points, dual) == pytest.approx(found.margin, rel=1e-9)
    assert found.weights.min() >= 0 and found.weights.sum() == pytest.approx(1)
    assert not found.weights[~found.support].any()


@pytest.mark.item("J4.4")
@pytest.mark.item("L11.7")
@pytest.mark.item("H12.5")
def test_the_hard_margin_is_the_best_on_the_sphere():
    points = drawn(4, n=9, d=2)
    solution = max_margin(points)
    # In the plane the best unit vector is along a point, or has two points at the same distance: try them all.
    turned = (points[:, None] - points[None])[np.triu_indices(9, 1)] @ np.array([[0.0, 1.0], [-1.0, 0.0]])
    candidates = np.vstack([points, turned, -turned])
    best = max((points @ u).min() / np.linalg.norm(u) for u in candidates)
    assert solution.margin == pytest.approx(best, rel=1e-9)
    margins = points @ solution.vector
    np.testing.assert_allclose(margins[solution.support], 1, rtol=1e-9)
    assert margins[~solution.support].min() > 1 and (solution.duals[solution.support] > 0).all()
    assert solution.duals.sum() == pytest.approx(np.sum(solution.vector**2))
    # the support are the points of least signed margin, and with labels left out they would not be
    labels = np.where(np.arange(9) % 2 == 0, 1.0, -1.0)
    assert np.argmin(labels[:, None] * points @ solution.vector) not in np.flatnonzero(solution.support)


@pytest.mark.item("J4.10")
def test_generic_points_have_at_most_as_many_support_vectors_as_dimensions():
    counts = [max_margin(drawn(seed, n=40, d=3)).support.sum() for seed in range(60)]
    assert max(counts) == 3 and min(counts) >= 1
    square = np.array([[1.0, 1, 1], [1, -1, 1], [1, 1, -1], [1, -1, -1]])  # not generic: four corners on one plane
    raised = largest_margin(square, norm=2)
    assert raised.support.sum() == 4


def test_points_that_are_not_separable_have_no_margin():
    for norm in (1, 2, 3, np.inf):
        with pytest.raises(ValueError, match="not linearly separable"):
            largest_margin(CROSS, norm=norm)
    with pytest.raises(ArithmeticError, match="found to a share of"):
        largest_margin(drawn(0), norm=1000)
    with pytest.raises(ValueError, match="norm must be at least 1"):
        largest_margin(drawn(0), norm=0.5)
    with pytest.raises(ValueError, match="norm must be at least 1"):
        normalized_margin(CROSS, np.ones(2), norm=0.5)


@pytest.mark.item("A8.24")
def test_margins_and_shares_are_their_sums():
    points, weights = drawn(1), np.random.default_rng(3).standard_normal((5, 4))
    for norm in (1, 2, 3, np.inf):
        sizes = np.linalg.norm(weights, norm, axis=1)
        np.testing.assert_allclose(normalized_margin(points, weights, norm=norm), (weights @ points.T).min(1) / sizes)
        losses = np.exp(-weights @ points.T)
        np.testing.assert_allclose(smoothed_margin(points, weights, norm=norm), -np.log(losses.sum(1)) / sizes)
    np.testing.assert_allclose(loss_shares(points, weights), losses / losses.sum(1, keepdims=True))
    # far beyond what a loss can be as a number
    far = loss_shares(points, 1e6 * max_margin(points).vector)
    assert far.sum() == pytest.approx(1) and far.max() > 0.1


def test_derivatives_of_margins_and_shares_in_the_points():
    points, w, side = drawn(3), np.array([1.0, -0.5, 0.3, 0.8]), np.random.default_rng(1).standard_normal((12, 4))
    for function in (
        lambda x: smoothed_margin(x, w), lambda x: loss_shares(x, w), lambda x: normalized_margin(x, w, norm=3.0),
        lambda x: largest_margin(x).vector, lambda x: largest_margin(x).weights,
    ):  # fmt: skip
        change = jax.jvp(function, (points,), (side,))[1]
        ahead, behind = (function(points + step * side) for step in (1e-6, -1e-6))
        np.testing.assert_allclose(change, (ahead - behind) / 2e-6, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("norm", [1.0, 1.5, 3.0, np.inf])
def test_derivatives_of_the_largest_margin_in_any_norm(norm):
    points, side = drawn(3), np.random.default_rng(1).standard_normal((12, 4))
    for part in ("margin", "vector", "weights"):

        def of(x, part=part):
            return getattr(largest_margin(x, norm=norm), part)

        found, change = jax.jit(lambda x: jax.jvp(of, (x,), (side,)))(points)
        np.testing.assert_allclose(found, of(points), rtol=1e-12)
        ahead, behind = (np.asarray(of(points + step * side)) for step in (1e-6, -1e-6))
        np.testing.assert_allclose(change, (ahead - behind) / 2e-6, rtol=1e-6, atol=1e-8)
    # By the envelope: points move the margin by their weight times the component along w.
    best = largest_margin(points, norm=norm)
    slope = jax.grad(lambda x: largest_margin(x, norm=norm).margin)(points)
    np.testing.assert_allclose(slope, np.outer(best.weights, best.vector), rtol=1e-6, atol=1e-9)
    second = jax.jvp(jax.grad(lambda x: largest_margin(x, norm=norm).margin), (points,), (side,))[1]
    ahead, behind = (largest_margin(points + step * side, norm=norm) for step in (1e-5, -1e-5))
    by_hand = np.outer(ahead.weights, ahead.vector) - np.outer(behind.weights, behind.vector)
    np.testing.assert_allclose(second, by_hand / 2e-5, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("norm", [1.0, 1.5, 2.0, np.inf])
def test_largest_margins_of_many_data_sets_at_once(norm):
    sets = np.stack([drawn(seed) for seed in range(3)] + [np.vstack([np.eye(4), -np.eye(4), np.ones((4, 4))])])
    many = jax.jit(jax.vmap(lambda x: largest_margin(x, norm=norm)))(sets)
    for i in range(3):
        alone = largest_margin(sets[i], norm=norm)
        for found, wanted in zip(many, alone, strict=True):
            np.testing.assert_allclose(found[i], wanted, rtol=1e-9, atol=1e-12)
    assert np.isnan(many.margin[3]) and np.isnan(many.vector[3]).all() and not many.support[3].any()
