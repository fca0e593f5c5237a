"""Degrees, first-order points and runs of homogeneous models, against closed forms and other solvers."""

from itertools import pairwise

import cvxpy
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from deeptheory.implicit_bias.homogeneous import first_order_residual, unit_margins
from deeptheory.implicit_bias.homogeneous_training import homogeneous_descent, homogeneous_flow, settling
from deeptheory.implicit_bias.separable import logarithmic_flow, max_margin, separable_points
from deeptheory.implicit_bias.stationarity import kkt_residuals
from deeptheory.normalization.homogeneity import degree_of_homogeneity, euler_degree

pytestmark = pytest.mark.slow  # every model compiles its own flow

POINTS = separable_points(jax.random.key(1), count=10, dimension=3)
SIGNS = np.array([1.0, 1.0, -1.0, -1.0])
CROSSED = np.array([[1.5, 1.2], [-1.2, -2.0], [1.0, -1.4], [-2.2, 2.5], [2.5, 2.0], [-1.0, 1.6]])
LABELS = np.sign(CROSSED[:, 0] * CROSSED[:, 1])


def linear(w):
    return POINTS @ w


def squares(w):
    return LABELS * (jnp.square(CROSSED @ w.T) @ SIGNS)


def deep(weights, bias=0.0):
    hidden = CROSSED
    for matrix in weights:
        hidden = jax.nn.relu(hidden @ matrix)
    return hidden.sum(1) + bias


@pytest.mark.item("L11.12")
@pytest.mark.item("A8.33")
@pytest.mark.parametrize("depth", [1, 2, 3, 5])
def test_the_degree_of_a_relu_net_is_its_depth(depth):
    random = np.random.default_rng(depth)
    sizes = [2] + [6] * depth
    weights = [random.standard_normal(shape) for shape in pairwise(sizes)]
    assert float(degree_of_homogeneity(deep, weights, factor=3.0)) == pytest.approx(depth)
    assert float(euler_degree(deep, weights)) == pytest.approx(depth)


@pytest.mark.item("L11.12")
def test_biases_inside_are_homogeneous_and_at_the_output_not():
    def net(w):
        return jax.nn.relu(CROSSED @ w["in"].T + w["bias"]) @ w["out"]

    random = np.random.default_rng(0)
    weights = {
        "in": random.standard_normal((5, 2)),
        "bias": random.standard_normal(5),
        "out": random.standard_normal(5),
    }
    degrees = [float(degree_of_homogeneity(net, weights, factor=c)) for c in (0.3, 2.0, 7.0)]
    np.testing.assert_allclose([*degrees, float(euler_degree(net, weights))], 2)
    shifted = weights | {"last": np.array(1.0)}
    found = [float(degree_of_homogeneity(lambda w: net(w) + w["last"], shifted, factor=c)) for c in (0.3, 7.0)]
    assert abs(found[0] - found[1]) > 0.1


@pytest.mark.item("A8.33")
def test_unit_margins_are_those_of_the_unit_weights():
    w = np.random.default_rng(1).standard_normal((4, 2))
    np.testing.assert_allclose(unit_margins(squares, w, degree=2.0), squares(w / np.linalg.norm(w)))


@pytest.mark.item("A8.34")
def test_the_residual_vanishes_at_the_hard_margin_and_its_multipliers_are_the_duals():
    solution = max_margin(POINTS)
    found = first_order_residual(linear, 7.0 * solution.vector, degree=1.0)
    assert found.residual < 1e-12 and found.margin == pytest.approx(solution.margin)
    np.testing.assert_array_equal(found.support, solution.support)
    # of unit weights: v = γ ŵ = Σ γ αᵢ x̄ᵢ
    np.testing.assert_allclose(found.multipliers, solution.margin * solution.duals, atol=1e-10)
    turned = solution.vector + 0.1 * np.linalg.norm(solution.vector) * np.array([1.0, -1.0, 0.5])
    assert (POINTS @ turned > 0).all() and first_order_residual(linear, turned, degree=1.0).residual > 0.1


@pytest.mark.item("A8.34")
def test_labels_belong_into_the_first_order_condition():
    run = homogeneous_flow(
        squares, 0.2 * np.random.default_rng(0).standard_normal((4, 2)), np.array([0.0, 7.0]), degree=2.0
    )
    end = run.directions[-1].reshape(4, 2)
    assert first_order_residual(squares, end, degree=2.0).residual < 1e-3
    unsigned = np.asarray(jax.jacobian(lambda w: LABELS * squares(w))(end)).reshape(6, -1)
    support = first_order_residual(squares, end, degree=2.0).support
    from scipy.optimize import nnls

    assert nnls(unsigned[support].T, end.ravel())[1] > 0.3  # as the condition is printed, without labels


@pytest.mark.item("A8.35")
def test_the_monitors_see_limits_and_dependent_gradients():
    lengths = np.array([0.0, 2.0, 4.0, 6.0, 6.5])
    run = homogeneous_flow(squares, 0.2 * np.random.default_rng(0).standard_normal((4, 2)), lengths, degree=2.0)
    direction, shares = settling(run)
    assert direction[0] > 0.3 > 1e-3 > direction[3] and shares[0] > 0.1 > 1e-2 > shares[3]
    # two copies of one point on the margin: their gradients are dependent
    doubled = np.vstack([POINTS, POINTS[max_margin(POINTS).support][:1]])
    vector = max_margin(POINTS).vector
    assert first_order_residual(linear, vector, degree=1.0).independence > 0.01
    assert first_order_residual(lambda w: doubled @ w, vector, degree=1.0).independence < 1e-12


def test_independence_is_that_of_directions_whatever_their_lengths():
    # Directions with a cosine of 0.6: the least singular value of the pair is √(1 − 0.6).
    rows = jnp.array([[3.0, 4.0], [1.0, 0.0]])
    found = first_order_residual(lambda w: rows @ w, np.array([1.0, -0.5]), degree=1)
    assert found.support.all()
    assert found.independence == pytest.approx(np.sqrt(0.4))


def test_weights_that_are_wrong_have_no_first_order_residual():
    with pytest.raises(ValueError, match="all signed outputs must be positive"):
        first_order_residual(linear, -max_margin(POINTS).vector, degree=1.0)


def test_of_degree_one_it_is_the_flow_in_logarithmic_time():
    start = 0.1 * max_margin(POINTS).vector + np.array([0.02, -0.03, 0.01])
    run = homogeneous_flow(linear, start, np.array([0.0, 1.0, 2.0, 4.0]), degree=1.0, tolerance=1e-11)
    times = np.append(0.0, np.linspace(0.01, 400, 4000))
    path = logarithmic_flow(POINTS, times, start=start, weight=1.0, tolerance=1e-11)
    sizes = np.linalg.norm(path, axis=1)
    assert (np.diff(sizes) > 0).all()  # so that the length tells where on the path a point is
    for direction, log_norm in zip(run.directions[1:], run.log_norms[1:], strict=True):
        nearest = [np.interp(np.exp(log_norm), sizes, column) for column in path.T]
        np.testing.assert_allclose(direction * np.exp(log_norm), nearest, rtol=2e-3)


def test_the_flow_has_the_path_of_plain_gradient_flow():
    start = 0.5 * np.random.default_rng(4).standard_normal((4, 2))

    def velocity(_, state):
        w, size = state[:-1], np.linalg.norm(state[:-1])
        signed = np.asarray(squares(w.reshape(4, 2)))
        force = (np.exp(-signed) * LABELS) @ (
            (2 * SIGNS * (CROSSED @ w.reshape(4, 2).T))[:, :, None] * CROSSED[:, None, :]
        ).reshape(6, 8)
        return np.append(force, np.linalg.norm(force) / size)

    # in time itself, with the length of the path carried along, as long as the loss is a number a step can see
    plain = solve_ivp(velocity, (0, 3), np.append(start.ravel(), 0.0), "DOP853", rtol=1e-10, atol=1e-12)
    ends = plain.y[:, [len(plain.t) // 2, -1]].T
    run = homogeneous_flow(squares, start, np.append(0.0, ends[:, -1]), degree=2.0, tolerance=1e-11)
    np.testing.assert_allclose(run.directions[1:] * np.exp(run.log_norms[1:])[:, None], ends[:, :-1], rtol=1e-6)


def test_descent_comes_to_the_largest_margin_below_any_number():
    run = homogeneous_descent(linear, np.array([0.1, 0.2, -0.1]), np.array([0, 100, 100_000]), degree=1.0, share=0.5)
    assert run.log_losses[-1] < -500 and run.margin[-1] > 0.97 * max_margin(POINTS).margin
    w = run.directions[1] * np.exp(run.log_norms[1])
    np.testing.assert_allclose(run.log_losses[1], np.log(np.exp(-POINTS @ w).sum()), rtol=1e-9)
    np.testing.assert_allclose(run.smoothed[1], -run.log_losses[1] / np.linalg.norm(w), rtol=1e-9)


def test_the_margin_of_squares_is_that_of_a_cone_programme():
    run = homogeneous_flow(
        squares, 0.2 * np.random.default_rng(2).standard_normal((4, 2)), np.array([0.0, 8.0]), degree=2.0
    )
    # a net of squares is xᵀMx, and |weights|² is at least the nuclear norm of M
    matrix, margin = cvxpy.Variable((2, 2), symmetric=True), cvxpy.Variable()
    signed = [
        y * cvxpy.sum(cvxpy.multiply(matrix, np.outer(x, x))) >= margin for x, y in zip(CROSSED, LABELS, strict=True)
    ]
    cvxpy.Problem(cvxpy.Maximize(margin), [*signed, cvxpy.normNuc(matrix) <= 1]).solve(cvxpy.CLARABEL)
    assert run.margin[-1] == pytest.approx(margin.value, rel=1e-4)


def test_nothing_to_follow_is_said():
    with pytest.raises(ValueError, match="weights must be finite and not all zero"):
        homogeneous_flow(linear, np.zeros(3), np.array([0.0, 1.0]), degree=1.0)
    with pytest.raises(ValueError, match="the gradient vanishes at the start"):
        homogeneous_flow(lambda w: jax.nn.relu(-w), np.ones(2), np.array([0.0, 1.0]), degree=1.0)  # two dead units


@pytest.mark.item("L11.6")
def test_kkt_residuals_of_a_quadratic_programme():
    solution = max_margin(POINTS)

    def at(point, duals):
        return kkt_residuals(
            lambda w: w @ w / 2, jnp.asarray(point), jnp.asarray(duals), inequalities=lambda w: 1 - POINTS @ w
        )

    exact = at(solution.vector, solution.duals)
    assert max(float(each) for each in exact) < 1e-10
    moved = at(1.1 * solution.vector, solution.duals)
    assert float(moved.stationarity) == pytest.approx(0.1 / solution.margin)
    assert float(moved.slackness) == pytest.approx(0.1 * solution.duals.max()) and float(moved.primal) == 0
    assert float(at(0.9 * solution.vector, solution.duals).primal) == pytest.approx(0.1)
    assert float(at(solution.vector, solution.duals - 0.5).dual) == pytest.approx(0.5)


@pytest.mark.item("L11.6")
def test_a_kkt_point_of_a_non_convex_problem_need_not_be_a_minimum():
    # x³ on [−1, ∞) with x + y = 0 as an equality: 0 is stationary, and −1 is lower
    found = kkt_residuals(
        lambda x: x[0] ** 3,
        jnp.zeros(2),
        jnp.zeros(1),
        inequalities=lambda x: -1 - x[:1],
        equalities=lambda x: x[:1] + x[1:],
        equality_multipliers=jnp.zeros(1),
    )
    assert max(float(each) for each in found) == 0
    tilted = kkt_residuals(
        lambda x: x[0] ** 2 + x[1] ** 2,
        jnp.array([0.5, 0.6]),
        jnp.zeros(1),
        inequalities=lambda x: x[:1] - 5,
        equalities=lambda x: x[:1] + x[1:] - 1,
        equality_multipliers=-jnp.ones(1),
    )
    assert float(tilted.equality) == pytest.approx(0.1) and float(tilted.stationarity) == pytest.approx(0.2)
    with pytest.raises(ValueError, match="come together"):
        kkt_residuals(lambda x: x[0], jnp.zeros(1), jnp.zeros(1), inequalities=lambda x: x, equalities=lambda x: x)
