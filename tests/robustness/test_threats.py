"""Balls of perturbations: nearest points beside a convex solver, by hand, and by their variational inequality."""

import cvxpy as cp
import jax
import numpy as np
import pytest

from deeptheory.robustness.threats import Threat, dual_order, length, nearest_allowed, random_allowed, steepest

ORDERS = [1, 2, np.inf]
BOXES = [(-np.inf, np.inf), (0.0, 1.0)]


def solved(point, center, threat):
    """The nearest allowed point by cvxpy: another algorithm, which knows nothing of sorting."""
    z = cp.Variable(len(point))
    limits = [cp.norm(z - center, "inf" if threat.order == np.inf else threat.order) <= threat.radius]
    if np.isfinite(threat.low):
        limits += [z >= threat.low, z <= threat.high]
    cp.Problem(cp.Minimize(cp.sum_squares(z - point)), limits).solve(
        solver="CLARABEL", tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10
    )
    return z.value


@pytest.mark.item("A18.3")
@pytest.mark.parametrize("box", BOXES)
@pytest.mark.parametrize("order", ORDERS)
def test_the_nearest_allowed_point_is_that_of_a_convex_solver(order, box):
    rng = np.random.default_rng(0)
    threat = Threat(0.7, order, *box)
    centers = rng.random((12, 20))
    points = centers + rng.standard_normal((12, 20)) * rng.choice([0.02, 0.3, 1.0], (12, 1))
    found = np.asarray(nearest_allowed(points, centers, threat))
    expected = np.array([solved(*pair, threat) for pair in zip(points, centers, strict=True)])
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert np.all(np.asarray(length(found - centers, order)) <= 0.7 * (1 + 1e-12))
    # Idempotent, and no two points move apart.
    np.testing.assert_allclose(nearest_allowed(found, centers, threat), found, atol=1e-14)
    other = np.asarray(nearest_allowed(points[::-1], centers, threat))
    assert np.all(np.linalg.norm(found - other, axis=1) <= np.linalg.norm(points - points[::-1], axis=1) + 1e-12)


@pytest.mark.parametrize("order", ORDERS)
def test_no_allowed_point_lies_on_the_side_of_the_one_projected(order):
    """⟨x − z, a − z⟩ ≤ 0 for every allowed a characterises the nearest point z; here to rounding."""
    rng = np.random.default_rng(1)
    threat = Threat(0.5, order, 0.0, 1.0)
    centers = rng.random((40, 6))
    points = centers + rng.standard_normal((40, 6))
    found = np.asarray(nearest_allowed(points, centers, threat))
    for draw in range(50):
        allowed = np.asarray(random_allowed(jax.random.key(draw), centers, threat))
        assert np.max(np.sum((points - found) * (allowed - found), axis=1)) < 1e-14


@pytest.mark.item("A18.3")
def test_small_cases_by_hand():
    zero = np.zeros(2)
    np.testing.assert_allclose(nearest_allowed(np.array([3.0, 4.0]), zero, Threat(1.0, 2)), [0.6, 0.8])
    # The printed formula for p = 2 is for points outside the ball: one inside stays.
    np.testing.assert_allclose(nearest_allowed(np.array([0.3, 0.4]), zero, Threat(1.0, 2)), [0.3, 0.4])
    np.testing.assert_allclose(nearest_allowed(np.array([3.0, 1.0]), zero, Threat(4 / 3, 1)), [4 / 3, 0])
    np.testing.assert_allclose(nearest_allowed(np.array([3.0, 2.0]), zero, Threat(2.0, 1)), [1.5, 0.5])
    np.testing.assert_allclose(nearest_allowed(np.array([3.0, -0.2]), zero, Threat(1.0)), [1, -0.2])
    # A wall at 0.5 leaves more of the ball to the other coordinate than clipping afterwards would.
    np.testing.assert_allclose(nearest_allowed(np.array([3.0, 3.0]), zero, Threat(1.0, 2, -1, 0.5)), [0.5, 0.5])
    walled = nearest_allowed(np.array([0.3, 4.0]), np.array([0.8, 0.0]), Threat(1.0, 1, 0.0, 1.0))
    np.testing.assert_allclose(walled, [0.8, 1.0], atol=1e-15)
    np.testing.assert_allclose(nearest_allowed(np.array([2.0, 4.0]), zero, Threat(0.0, 1)), zero)


@pytest.mark.parametrize("order", ORDERS)
def test_the_steepest_direction_attains_the_dual_norm(order):
    slopes = np.random.default_rng(2).standard_normal((5, 7))
    ways = np.asarray(steepest(slopes, order))
    np.testing.assert_allclose(length(ways, order), 1)
    np.testing.assert_allclose(np.sum(ways * slopes, 1), length(slopes, dual_order(order)))
    assert np.all(np.asarray(steepest(np.zeros((1, 3)), order)) == 0)


def test_dual_orders_by_hand():
    assert [dual_order(order) for order in (1, 1.5, 2, 3, np.inf)] == [np.inf, 3.0, 2.0, 1.5, 1.0]


@pytest.mark.parametrize("order", ORDERS)
def test_random_perturbations_fill_the_ball_evenly(order):
    """In a ball of dimension d the length to the power d is uniform on (0, 1)."""
    lengths = (
        np.asarray(length(random_allowed(jax.random.key(3), np.zeros((20_000, 3)), Threat(2.0, order)), order)) / 2
    )
    deciles = np.quantile(lengths**3, np.linspace(0.1, 0.9, 9))
    np.testing.assert_allclose(deciles, np.linspace(0.1, 0.9, 9), atol=0.02)


@pytest.mark.item("A18.1")
def test_balls_of_one_radius_lie_in_one_another():
    """‖δ‖∞ ≤ ‖δ‖₂ ≤ ‖δ‖₁: what is allowed for p = 1 is allowed for p = 2, and that for p = ∞; not the other way."""
    moves = np.asarray(random_allowed(jax.random.key(4), np.zeros((500, 5)), Threat(1.0, 1)))
    one, two, most = (np.asarray(length(moves, order)) for order in ORDERS)
    assert np.all(most <= two) and np.all(two <= one) and np.all(one <= 1)
    corner = np.full(5, 1.0)
    assert [float(length(corner, order)) for order in ORDERS] == [5.0, pytest.approx(5**0.5), 1.0]


def test_threats_that_are_none_are_refused():
    with pytest.raises(ValueError, match="order must be 1, 2 or infinity, got 3"):
        Threat(0.1, 3)
    with pytest.raises(ValueError, match="radius must"):
        Threat(-0.1)
    with pytest.raises(ValueError, match="low must be less than high, got 1"):
        Threat(0.1, 2, 1.0, 0.0)
    with pytest.raises(ValueError, match="centers must lie in"):
        nearest_allowed(np.zeros(2), np.array([0.5, 1.5]), Threat(0.1, 2, 0.0, 1.0))
