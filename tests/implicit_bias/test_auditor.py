import cvxpy
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import scipy.optimize

from deeptheory.implicit_bias.auditor import least_norm, selected, solves, solves_margin
from deeptheory.implicit_bias.least_squares import nearest_solution
from deeptheory.implicit_bias.margins import largest_margin
from deeptheory.implicit_bias.mirror import bregman_projection
from deeptheory.implicit_bias.potentials import EUCLIDEAN, hypentropy, squared_norm

RNG = np.random.default_rng(7)
DESIGN, LABELS = RNG.standard_normal((3, 6)), RNG.standard_normal(3)
STARTS = RNG.standard_normal((2, 6))
STEP = 0.5 / np.linalg.norm(DESIGN, 2) ** 2


def loss(w):
    return jnp.sum((DESIGN @ w - LABELS) ** 2) / 2


@pytest.mark.item("A8.1")
def test_runs_end_where_the_closed_form_says_batched():
    found = jax.jit(jax.vmap(lambda start: selected(optax.sgd(STEP), loss, start)))(STARTS)
    for point, start in zip(found.point, STARTS, strict=True):
        np.testing.assert_allclose(point, nearest_solution(DESIGN, LABELS, start), atol=1e-10)
    assert found.fitted.all() and (found.loss < 1e-20).all() and (found.steps < 100_000).all()


def test_draws_are_taken_in_turn_and_the_loss_decides_when_to_stop():
    step, order = 0.3, np.array([0, 2])

    def drawn(w, i):
        return (jnp.asarray(DESIGN)[i] @ w - jnp.asarray(LABELS)[i]) ** 2 / 2

    found = selected(optax.sgd(step), loss, np.zeros(6), steps=5, draws=order, drawn=drawn)
    w = np.zeros(6)
    for i in (0, 2, 0, 2, 0):
        w = w - step * (DESIGN[i] @ w - LABELS[i]) * DESIGN[i]
    np.testing.assert_allclose(found.point, w, atol=1e-13)
    assert int(found.steps) == 5 and not found.fitted
    with pytest.raises(ValueError, match="together"):
        selected(optax.sgd(step), loss, np.zeros(6), draws=order)


@pytest.mark.item("A8.1")
@pytest.mark.parametrize("power", [1.0, np.inf])
def test_norms_with_corners_against_an_interior_point_solver(power):
    w = cvxpy.Variable(6)
    problem = cvxpy.Problem(cvxpy.Minimize(cvxpy.pnorm(w, power)), [DESIGN @ w == LABELS])
    problem.solve(solver=cvxpy.CLARABEL)
    solution = least_norm(DESIGN, LABELS, power=power)
    audit = solves(solution[0], DESIGN, LABELS, squared_norm(power), solution=solution)
    np.testing.assert_allclose(np.sqrt(2 * audit.least), problem.value, rtol=1e-7)
    assert audit.unfit < 1e-12 and abs(audit.excess) < 1e-12 and audit.distance == 0


@pytest.mark.item("A8.1")
@pytest.mark.parametrize("potential", [EUCLIDEAN, squared_norm(1.5), hypentropy(0.5)])
def test_excess_and_distance_of_a_point_that_is_moved_off(potential):
    start, aside = STARTS[0], np.linalg.svd(DESIGN)[2][-1]
    best = bregman_projection(potential, DESIGN, LABELS, start)
    at_best, moved = (solves(best + shift * aside, DESIGN, LABELS, potential, start=start) for shift in (0.0, 0.1))
    assert max(abs(at_best.excess), at_best.misaligned, at_best.unfit) < 1e-9
    assert moved.excess > 1e-4 and moved.misaligned > 1e-3 and moved.unfit < 1e-12
    np.testing.assert_allclose([moved.distance, at_best.distance], [0.1, 0.0], atol=1e-9)
    np.testing.assert_allclose(moved.least, at_best.value, rtol=1e-9)
    # Whatever the multipliers, the bound holds.
    wrong = solves(best, DESIGN, LABELS, potential, start=start, solution=(best, RNG.standard_normal(3)))
    assert wrong.least < at_best.value


@pytest.mark.item("A8.1")
@pytest.mark.parametrize("norm", [1.0, 1.5, 2.0, 3.0, np.inf])
def test_margins_against_an_interior_point_solver(norm):
    points = RNG.standard_normal((9, 3))
    points *= np.sign(points @ np.array([1.0, -2.0, 0.5]))[:, None]
    w = cvxpy.Variable(3)
    problem = cvxpy.Problem(cvxpy.Minimize(cvxpy.pnorm(w, norm)), [points @ w >= 1])
    problem.solve(solver=cvxpy.CLARABEL)
    audit = solves_margin(np.asarray(w.value), points, norm=norm)
    np.testing.assert_allclose([audit.margin, audit.most], 1 / problem.value, rtol=1e-6)
    assert abs(audit.shortfall) < 1e-6 and audit.distance < 1e-3 and audit.infeasible == 0
    if norm in (1.5, 2.0, 3.0):
        best = largest_margin(points, norm=norm)
        assert solves_margin(5 * best.vector, points, norm=norm, solution=best).misaligned < 1e-9
    # Whatever the weights, the bound holds.
    wrong = largest_margin(points, norm=norm)._replace(weights=RNG.uniform(0, 1, 9))
    assert solves_margin(np.asarray(w.value), points, norm=norm, solution=wrong).most > audit.margin * (1 - 1e-9)


@pytest.mark.item("A8.1")
def test_directions_that_are_moved_off_the_largest_margin_by_hand():
    """Two signed points, (1, 1) and (1, −1): the margin of (cos a, sin a) is cos a − |sin a|, of (1, 0) it is 1."""
    points, angle = np.array([[1.0, 1.0], [1.0, -1.0]]), 0.1
    audit = solves_margin(np.array([np.cos(angle), np.sin(angle)]), points)
    np.testing.assert_allclose(audit.margin, np.cos(angle) - np.sin(angle))
    np.testing.assert_allclose([audit.most, audit.distance], [1.0, 2 * np.sin(angle / 2)])
    # λ of the nearer point (1, −1) alone, and of the other one at a slack of 2 sin a.
    columns = np.array([[1.0, 1.0], [1.0, -1.0], [2 * np.sin(angle), 0.0]])
    rest = scipy.optimize.lsq_linear(columns, [np.cos(angle), np.sin(angle), 0.0], (0, np.inf), tol=1e-14)
    np.testing.assert_allclose(audit.misaligned, np.sqrt(2 * rest.cost), rtol=1e-6)
    assert audit.misaligned > 0.05
    behind = solves_margin(np.array([0.0, 1.0]), points)
    np.testing.assert_allclose([behind.infeasible, behind.shortfall], [1 / np.sqrt(2), 2.0])
    with pytest.raises(ValueError, match="zero"):
        solves_margin(np.zeros(2), points)


def test_what_cannot_be_asked_is_said():
    with pytest.raises(ValueError, match="power must be 1 or ∞"):
        least_norm(DESIGN, LABELS, power=3.0)
    with pytest.raises(ValueError, match="no interpolator"):
        least_norm(np.array([[1.0, 1.0], [1.0, 1.0]]), np.array([0.0, 1.0]), power=1)


def test_many_points_are_audited_at_once():
    points = RNG.standard_normal((4, 6))
    signed = np.abs(RNG.standard_normal((9, 6)))
    for potential in (EUCLIDEAN, squared_norm(1.5), hypentropy(0.5)):
        many = jax.jit(jax.vmap(lambda w, p=potential: solves(w, DESIGN, LABELS, p)))(points)
        alone = [solves(w, DESIGN, LABELS, potential) for w in points]
        np.testing.assert_allclose(np.array(many).T, alone, rtol=1e-9, atol=1e-11)
    pair = least_norm(DESIGN, LABELS, power=1)
    cornered = jax.jit(lambda w: solves(w, DESIGN, LABELS, squared_norm(1), solution=pair))(points[0])
    np.testing.assert_allclose(
        cornered, solves(points[0], DESIGN, LABELS, squared_norm(1), solution=pair), rtol=1e-9, atol=1e-11
    )
    for norm in (1.0, 2.0, 3.0, np.inf):
        best = largest_margin(signed, norm=norm)
        # The solution itself among them, where nothing is left of the conditions.
        tried = np.vstack([points, best.vector])
        many = jax.jit(jax.vmap(lambda w, p=norm: solves_margin(w, signed, norm=p)))(tried)
        alone = [solves_margin(w, signed, norm=norm, solution=best) for w in tried]
        np.testing.assert_allclose(np.array(many).T, alone, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("power", [1.0, np.inf])
def test_derivatives_of_the_least_norm_in_the_data(power):
    for labels in (LABELS, -3 * LABELS):
        sides = RNG.standard_normal((3, 6)), RNG.standard_normal(3)

        def moved(step, labels=labels, sides=sides):
            return least_norm(DESIGN + step * sides[0], labels + step * sides[1], power=power)

        found, change = jax.jit(lambda: jax.jvp(moved, (0.0,), (1.0,)))()
        for value, slope, known, ahead, behind in zip(
            found, change, moved(0.0), moved(1e-6), moved(-1e-6), strict=True
        ):
            np.testing.assert_allclose(value, known, rtol=1e-12, atol=1e-14)
            np.testing.assert_allclose(slope, (ahead - behind) / 2e-6, rtol=1e-6, atol=1e-8)
    # By the envelope: half the square of the least norm moves with the labels by λ.
    half = jax.grad(lambda y: jnp.linalg.norm(least_norm(DESIGN, y, power=power)[0], power) ** 2 / 2)(LABELS)
    np.testing.assert_allclose(half, least_norm(DESIGN, LABELS, power=power)[1], rtol=1e-9)


def test_least_norms_on_one_equation_by_hand():
    """⟨x, w⟩ = y: of least ‖w‖₁ it is y/x₂ on the largest entry, of least ‖w‖∞ y sign(x)/‖x‖₁."""
    x, label = np.array([0.5, -2.0, 1.0]), 3.0
    ways = jax.jit(jax.jacrev(lambda x, power: least_norm(x[None], jnp.array([label]), power=power)), static_argnums=1)
    point, multipliers = ways(x, 1.0)
    by_hand = np.zeros((3, 3))
    by_hand[1, 1] = -label / x[1] ** 2
    np.testing.assert_allclose(point, by_hand, atol=1e-13)
    np.testing.assert_allclose(multipliers, [[0, -2 * label / x[1] ** 3, 0]], atol=1e-13)
    point, multipliers = ways(x, np.inf)
    np.testing.assert_allclose(point, -label * np.outer(np.sign(x), np.sign(x)) / 3.5**2, atol=1e-13)
    np.testing.assert_allclose(multipliers, [-2 * label * np.sign(x) / 3.5**3], atol=1e-13)
    second = jax.hessian(lambda x: least_norm(x[None], jnp.array([label]), power=1)[0][1])(x)
    np.testing.assert_allclose(second[1, 1], 2 * label / x[1] ** 3, rtol=1e-12)


@pytest.mark.parametrize("power", [1.0, np.inf])
def test_many_least_norms_at_once_and_those_that_are_none_or_several(power):
    twins = np.vstack([DESIGN[:2], DESIGN[:1]])
    designs, many = np.stack([DESIGN, twins, -DESIGN]), jax.vmap(lambda x: least_norm(x, LABELS, power=power))
    points, multipliers = jax.jit(many)(designs)
    for i in (0, 2):
        point, lagrange = least_norm(designs[i], LABELS, power=power)
        np.testing.assert_allclose(points[i], point, atol=1e-14)
        np.testing.assert_allclose(multipliers[i], lagrange, atol=1e-14)
    assert np.isnan(points[1]).all() and np.isnan(multipliers[1]).all()
    # Two columns alike share a weight in any way; the longest column as the labels leaves the multipliers open, and a
    # row of one entry the other weights.
    longest = DESIGN[:, np.argmax(np.linalg.norm(DESIGN, axis=0))]
    several = {
        1.0: [(np.ones((1, 2)), np.ones(1)), (DESIGN, longest)],
        np.inf: [(np.array([[1.0, 0.0]]), np.ones(1))],
    }
    for design, labels in several[power]:
        slopes = jax.jacobian(lambda y, x=design: least_norm(x, y, power=power))(labels)
        assert all(np.isnan(each).all() for each in slopes)
        assert np.isfinite(jax.jit(lambda y, x=design: least_norm(x, y, power=power)[0])(labels)).all()
