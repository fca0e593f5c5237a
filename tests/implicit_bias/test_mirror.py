import cvxpy
import jax
import numpy as np
import optax
import pytest
import scipy.optimize
import scipy.special

from deeptheory.implicit_bias.mirror import (
    bregman_divergence,
    bregman_projection,
    conjugate,
    mirror_descent,
    steepest_descent,
)
from deeptheory.implicit_bias.potentials import (
    ENTROPY,
    EUCLIDEAN,
    hypentropy,
    nuclear_norm,
    quadratic,
    smooth_norm,
    squared_norm,
)
from example_potentials import MATRIX, POTENTIALS

RNG = np.random.default_rng(5)
DESIGN, LABELS, START = RNG.standard_normal((3, 7)), RNG.standard_normal(3), RNG.standard_normal(7)
SHARP = {"tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10}
"""a value known to 1e-10 leaves a point known to about 1e-5"""


def oracle(name, design, labels):
    """The interpolator of least R by an interior-point solver."""
    w = cvxpy.Variable(design.shape[1])
    value = {
        "euclidean": lambda: cvxpy.sum_squares(w),
        "quadratic": lambda: cvxpy.quad_form(w, cvxpy.psd_wrap(MATRIX)),
        "p = 1.5": lambda: cvxpy.pnorm(w, 1.5),
        "p = 3": lambda: cvxpy.pnorm(w, 3),
        "entropy": lambda: cvxpy.sum(-cvxpy.entr(w) - w),
    }[name]()
    cvxpy.Problem(cvxpy.Minimize(value), [design @ w == labels]).solve(solver=cvxpy.CLARABEL, **SHARP)
    return w.value


@pytest.mark.item("A8.5")
@pytest.mark.parametrize("name", ["euclidean", "quadratic", "p = 1.5", "hypentropy"])
def test_a_step_minimizes_the_linear_model_with_the_divergence(name):
    """The implicit form of arora (8.3), by a minimizer that knows values only."""
    potential, gradient, step = POTENTIALS[name], RNG.standard_normal(7), 0.1
    method = mirror_descent(potential, step)
    move, _ = method.update(gradient, method.init(START), START)
    found = scipy.optimize.minimize(
        lambda w: step * gradient @ w + float(bregman_divergence(potential, w, START)), START, tol=1e-9
    ).x
    np.testing.assert_allclose(START + np.asarray(move), found, atol=1e-4)


@pytest.mark.item("A8.4")
def test_gradient_descent_minimizes_its_proximal_model():
    """⟨w, g⟩ + ‖w − w_t‖²/(2η) is a square plus a constant: its least point by the normal equations of lstsq."""
    gradient, step = RNG.standard_normal(7), 0.3
    rows = np.eye(7) / np.sqrt(2 * step)
    found = np.linalg.lstsq(rows, rows @ START - np.sqrt(step / 2) * gradient)[0]
    method = optax.sgd(step)
    move, _ = method.update(gradient, method.init(START))
    np.testing.assert_allclose(START + np.asarray(move), found, atol=1e-13)
    mirrored = mirror_descent(EUCLIDEAN, step).update(gradient, None, START)[0]
    np.testing.assert_allclose(mirrored, move, atol=1e-15)


@pytest.mark.item("A8.6")
def test_divergences_known_in_closed_form():
    first, second = RNG.uniform(0.1, 2, 7), RNG.uniform(0.1, 2, 7)
    np.testing.assert_allclose(
        bregman_divergence(EUCLIDEAN, first, second), np.linalg.norm(first - second) ** 2 / 2, rtol=1e-12
    )
    np.testing.assert_allclose(
        bregman_divergence(ENTROPY, first, second), scipy.special.kl_div(first, second).sum(), rtol=1e-12
    )
    away = first - second
    np.testing.assert_allclose(
        bregman_divergence(quadratic(MATRIX), first, second), away @ MATRIX @ away / 2, rtol=1e-12
    )
    for potential in POTENTIALS.values():
        assert bregman_divergence(potential, first, second) > 0
        assert abs(bregman_divergence(potential, first, first)) < 1e-15


@pytest.mark.item("A8.7")
@pytest.mark.parametrize("name", ["euclidean", "quadratic", "p = 1.5", "p = 3"])
def test_projections_against_an_interior_point_solver(name):
    found = bregman_projection(POTENTIALS[name], DESIGN, LABELS)
    np.testing.assert_allclose(found, oracle(name, DESIGN, LABELS), atol=3e-5)


def test_projection_of_a_start_against_an_interior_point_solver():
    labels, start = DESIGN @ RNG.uniform(0.1, 2, 7), RNG.uniform(0.5, 2, 7)
    w = cvxpy.Variable(7)
    problem = cvxpy.Problem(cvxpy.Minimize(cvxpy.sum(cvxpy.kl_div(w, start))), [DESIGN @ w == labels])
    problem.solve(solver=cvxpy.CLARABEL, **SHARP)
    np.testing.assert_allclose(bregman_projection(ENTROPY, DESIGN, labels, start), w.value, atol=3e-5)
    np.testing.assert_allclose(
        bregman_projection(ENTROPY, DESIGN, labels), oracle("entropy", DESIGN, labels), atol=3e-5
    )


@pytest.mark.parametrize("scale", [1e-6, 1e-2, 1.0, 100.0])
def test_projections_satisfy_the_optimality_conditions_at_every_scale(scale):
    found = bregman_projection(hypentropy(scale), DESIGN, LABELS, START)
    turned = np.arcsinh(found / (2 * scale**2)) - np.arcsinh(START / (2 * scale**2))
    np.testing.assert_allclose(DESIGN @ found, LABELS, atol=1e-12)
    np.testing.assert_allclose(turned - DESIGN.T @ np.linalg.lstsq(DESIGN.T, turned)[0], 0, atol=1e-10)


def test_what_the_entropy_cannot_fit_is_said():
    with pytest.raises(ValueError, match="domain"):
        bregman_projection(ENTROPY, np.ones((1, 3)), np.array([-1.0]))


@pytest.mark.item("A8.8")
@pytest.mark.parametrize("power", [1.0, 4 / 3, 2.0, 3.0, np.inf])
def test_steepest_directions_against_an_interior_point_solver(power):
    gradient, potential = RNG.standard_normal(7), squared_norm(power)
    v = cvxpy.Variable(7)
    problem = cvxpy.Problem(cvxpy.Minimize(gradient @ v + cvxpy.square(cvxpy.pnorm(v, power)) / 2))
    problem.solve(solver=cvxpy.CLARABEL, **SHARP)
    move = np.asarray(steepest_descent(potential, 1.0).update(gradient, None)[0])
    np.testing.assert_allclose(move, v.value, atol=3e-5)
    dual = np.linalg.norm(gradient, np.inf if power == 1 else 1 if power == np.inf else power / (power - 1))
    # arora (8.27), each side by its own definition.
    np.testing.assert_allclose([-gradient @ move, np.linalg.norm(move, power) ** 2], dual**2, rtol=1e-12)
    np.testing.assert_allclose(conjugate(potential, gradient), dual**2 / 2, rtol=1e-12)


def test_ties_are_shared():
    move = steepest_descent(squared_norm(1.0), 0.5).update(np.array([2.0, -2.0, 1.0]), None)[0]
    np.testing.assert_allclose(move, [-0.5, 0.5, 0.0])


def test_corners_are_refused():
    with pytest.raises(ValueError, match="corners"):
        bregman_projection(squared_norm(1.0), DESIGN, LABELS)


@pytest.mark.parametrize("potential", [ENTROPY, hypentropy(0.5)])
def test_steepest_descent_in_what_is_no_norm_is_refused(potential):
    for started in (lambda: steepest_descent(potential, 0.1).init(np.ones(3)), lambda: jitted(potential)):
        with pytest.raises(ValueError, match="half the square of a norm"):
            started()


@pytest.mark.parametrize(
    "potential", [EUCLIDEAN, squared_norm(1.0), squared_norm(3.0), nuclear_norm(rows=3, columns=1)]
)
def test_steepest_descent_in_a_norm_starts_under_tracing_too(potential):
    assert np.isfinite(jitted(potential)).all()


def jitted(potential):
    def run(start):
        method = steepest_descent(potential, 0.1)
        return method.update(start, method.init(start))[0]

    return jax.jit(run)(np.arange(1.0, 4.0))


@pytest.mark.parametrize("name", ["quadratic", "p = 1.5", "p = 3", "hypentropy"])
def test_the_derivative_of_a_projection_by_differences_and_by_the_equation_of_the_multipliers(name):
    potential, random = POTENTIALS[name], np.random.default_rng(2)
    given = DESIGN, LABELS, START
    sides = tuple(random.standard_normal(each.shape) for each in given)

    def nearest(*each):
        return bregman_projection(potential, *each)

    found, change = jax.jit(lambda *each: jax.jvp(nearest, each, sides))(*given)
    np.testing.assert_allclose(found, nearest(*given), rtol=1e-10, atol=1e-12)
    moved = [nearest(*(at + step * side for at, side in zip(given, sides, strict=True))) for step in (1e-6, -1e-6)]
    np.testing.assert_allclose(change, (moved[0] - moved[1]) / 2e-6, rtol=1e-5, atol=1e-7)
    # In the labels it is M Xᵀ(XMXᵀ)⁻¹ with the metric M = ∇²R*, which differentiation does not look at.
    metric = potential.metric(nearest(*given))
    exact = metric @ DESIGN.T @ np.linalg.inv(DESIGN @ metric @ DESIGN.T)
    np.testing.assert_allclose(jax.jacobian(lambda y: nearest(DESIGN, y, START))(LABELS), exact, rtol=1e-8, atol=1e-10)


def test_the_least_value_changes_with_the_labels_by_the_multipliers_of_a_cone_solver():
    labels, w = DESIGN @ RNG.uniform(0.5, 2, 7), cvxpy.Variable(7)
    fit = DESIGN @ w == labels
    cvxpy.Problem(cvxpy.Minimize(cvxpy.sum(-cvxpy.entr(w) - w)), [fit]).solve(solver=cvxpy.CLARABEL, **SHARP)
    slope = jax.grad(lambda y: ENTROPY.value(bregman_projection(ENTROPY, DESIGN, y)))(labels)
    np.testing.assert_allclose(slope, -fit.dual_value, atol=1e-5)


def test_projections_of_many_labels_at_once_and_what_cannot_be_fitted_is_nan():
    row, labels = np.ones((1, 3)), np.array([[1.5], [3.0], [-1.0]])
    found = jax.jit(jax.vmap(lambda y: bregman_projection(ENTROPY, row, y)))(labels)
    np.testing.assert_allclose(found[:2], [[0.5] * 3, [1.0] * 3], rtol=1e-10)
    assert np.isnan(found[2]).all()


def test_the_solution_of_squares_moves_with_the_scale_of_their_start():
    def nearest(scale, labels=LABELS):
        return bregman_projection(hypentropy(scale), DESIGN, labels)

    for scale in (0.05, 0.5, 2.0):
        slope = jax.jit(jax.jacobian(nearest))(scale)
        difference = (nearest(scale + 1e-5) - nearest(scale - 1e-5)) / 2e-5
        np.testing.assert_allclose(slope, difference, rtol=1e-5, atol=1e-7)
        # X w = y at every scale, so the move lies in the kernel of X; and λ = X⁺ᵀ∇R(w) is all that is left to choose.
        np.testing.assert_allclose(DESIGN @ slope, 0, atol=1e-10)
    bend = jax.hessian(lambda scale: nearest(scale)[0])(0.5)
    np.testing.assert_allclose(bend, (nearest(0.501)[0] - 2 * nearest(0.5)[0] + nearest(0.499)[0]) / 1e-6, rtol=1e-3)


def test_a_norm_given_as_a_function_has_the_derivative_of_its_closed_form():
    closed, by_newton = squared_norm(3.0), smooth_norm(lambda w: (abs(w) ** 3).sum() ** (1 / 3), 7)
    slopes = [jax.jacobian(lambda y, p=p: bregman_projection(p, DESIGN, y))(LABELS) for p in (closed, by_newton)]
    np.testing.assert_allclose(slopes[1], slopes[0], rtol=1e-6, atol=1e-8)


def test_corners_are_refused_under_tracing_too():
    with pytest.raises(ValueError, match="corners"):
        jax.jit(lambda y: bregman_projection(squared_norm(1.0), DESIGN, y))(LABELS)
