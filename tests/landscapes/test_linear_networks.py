"""Linear networks against autodiff, least squares solvers and finite cases; matrix calculus against differentiation."""

from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from deeptheory.landscapes.linear_flows import (
    balanced_factors,
    factor_velocity,
    flow_factors,
    imbalance,
    mode_curve,
    product_velocity,
)
from deeptheory.landscapes.linear_networks import (
    LinearNetworkLoss,
    best_first_matrix,
    best_second_matrix,
    bottleneck_critical_points,
    bottleneck_index,
    deep_critical_point,
    end_to_end,
    layer_gradients,
    least_squares_map,
    projected_least_squares,
)
from deeptheory.landscapes.plateaus import plateau_time

RANDOM = np.random.default_rng(0)
X, Y = RANDOM.standard_normal((4, 20)), RANDOM.standard_normal((3, 20))


def flat(weights):
    return jnp.asarray(np.concatenate([np.ravel(each) for each in weights]))


@pytest.mark.item("L6.3")
def test_matrix_calculus():
    a, b, c = (RANDOM.standard_normal((3, 3)) for _ in range(3))
    u, v, w = (RANDOM.standard_normal(3) for _ in range(3))
    x = RANDOM.standard_normal((3, 3))
    table = [
        (lambda x: jnp.sum(x**2), 2 * x),
        (lambda x: jnp.trace(a @ x), a.T),
        (lambda x: jnp.trace(a @ x.T), a),
        (lambda x: u @ x @ u, np.outer(u, u)),
        (lambda x: (v - x @ u) @ (v - x @ u), -2 * np.outer(v - x @ u, u)),
        (lambda x: u @ x.T @ x @ u, 2 * np.outer(x @ u, u)),
        (lambda x: u @ x @ w, np.outer(u, w)),
        (lambda x: u @ x.T @ a @ x @ w, a.T @ x @ np.outer(u, w) + a @ x @ np.outer(w, u)),
        (lambda x: jnp.trace(a @ x @ c), a.T @ c.T),
        (lambda x: jnp.trace(c @ x.T @ a.T), a.T @ c),
        (lambda x: jnp.trace(a @ x @ c @ x.T @ a.T), a.T @ a @ x @ (c + c.T)),
    ]
    for function, gradient in table:
        np.testing.assert_allclose(jax.grad(function)(jnp.asarray(x)), gradient, atol=1e-12)
    np.testing.assert_allclose(jax.grad(lambda u: u @ b @ u)(jnp.asarray(u)), (b + b.T) @ u, atol=1e-12)
    np.testing.assert_allclose(jax.grad(lambda u: u @ b.T @ b @ u)(jnp.asarray(u)), 2 * b.T @ b @ u, atol=1e-12)


@pytest.mark.item("L6.12")
def test_jacobians_of_a_matrix_vector_product():
    a, x = RANDOM.standard_normal((2, 3)), RANDOM.standard_normal(3)
    np.testing.assert_allclose(jax.jacobian(lambda x: a @ x)(jnp.asarray(x)), a)
    by_columns = jax.jacobian(lambda v: v.reshape(3, 2).T @ x)(jnp.asarray(a.T.ravel()))
    np.testing.assert_allclose(by_columns, np.kron(x[None], np.eye(2)))
    by_rows = jax.jacobian(lambda v: v.reshape(2, 3) @ x)(jnp.asarray(a.ravel()))
    np.testing.assert_allclose(by_rows, np.kron(np.eye(2), x[None]))


@pytest.mark.item("L6.14")
def test_layer_gradients_against_autodiff():
    widths = (4, 2, 5, 3)
    weights = [RANDOM.standard_normal((b, a)) for a, b in pairwise(widths)]
    loss = LinearNetworkLoss(jnp.asarray(X), jnp.asarray(Y), widths)
    expected = loss.weights(jax.grad(loss)(flat(weights)))
    for ours, theirs in zip(layer_gradients(weights, X, Y), expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10)
    assert loss(flat(weights)) == pytest.approx(np.sum((Y - end_to_end(weights) @ X) ** 2) / 2)


@pytest.mark.item("L6.5")
def test_best_matrices_against_lstsq():
    a, b = RANDOM.standard_normal((3, 2)), RANDOM.standard_normal((2, 4))
    design = np.kron(X.T, a)  # of B by columns
    direct = np.linalg.lstsq(design, Y.T.ravel(), rcond=None)[0].reshape(4, 2).T
    np.testing.assert_allclose(best_first_matrix(a, X, Y), direct, atol=1e-10)
    np.testing.assert_allclose(best_second_matrix(b, X, Y), np.linalg.lstsq((b @ X).T, Y.T, rcond=None)[0].T)
    np.testing.assert_allclose(least_squares_map(X, Y), np.linalg.lstsq(X.T, Y.T, rcond=None)[0].T)


@pytest.mark.item("L6.7")
@pytest.mark.parametrize("width", [1, 2, 3])
def test_all_critical_points_of_two_matrices(width):
    loss = LinearNetworkLoss(jnp.asarray(X), jnp.asarray(Y), (4, width, 3))
    _, points = bottleneck_critical_points(X, Y, width=width)
    assert len(points) == {1: 4, 2: 7, 3: 8}[width]
    for point in points:
        where = flat([point.first, point.second])
        np.testing.assert_allclose(jax.grad(loss)(where), np.zeros(len(where)), atol=1e-9)
        assert loss(where) == pytest.approx(point.value)
        spectrum = np.linalg.eigvalsh(jax.hessian(loss)(where))
        assert point.index == np.sum(spectrum < -1e-8 * spectrum[-1])
    best = [point for point in points if point.index == 0]
    assert [point.kept for point in best] == [tuple(range(width))]


def test_index_by_hand():
    values = np.array([4.0, 3.0, 2.0, 0.0])
    assert bottleneck_index(values, (1, 2), width=2, inputs=5) == 2  # each may be exchanged for the first
    assert bottleneck_index(values, (2,), width=3, inputs=5) == 2 + 2 * 2  # and two idle units, two positive left
    with pytest.raises(ValueError, match="at most 2 positive"):
        bottleneck_index(values, (), width=1, inputs=2)


@pytest.mark.item("L6.8")
def test_deep_critical_points():
    widths = (4, 3, 2, 3)
    weights = deep_critical_point(X, Y, (0, 2), widths=widths)
    for gradient in layer_gradients(weights, X, Y):
        np.testing.assert_allclose(gradient, np.zeros(gradient.shape), atol=1e-10)
    later = end_to_end(weights[1:])
    np.testing.assert_allclose(end_to_end(weights), projected_least_squares(later, X, Y), atol=1e-12)
    with pytest.raises(ValueError, match="at most 2 entries"):
        deep_critical_point(X, Y, (0, 1, 2), widths=widths)


def test_projection_by_hand():
    later = np.array([[1.0, 2.0], [0.0, 0.0], [0.0, 0.0]])  # of rank one
    expected = least_squares_map(X, Y) * np.array([[1.0], [0.0], [0.0]])
    np.testing.assert_allclose(projected_least_squares(later, X, Y), expected)


@pytest.mark.item("L6.10")
def test_plateau_times():
    # ∫ dw/(w(s − w²)) by partial fractions: [ln w² − ln(s − w²)]/2s
    size, signal = 0.01, 2.0
    ends = [np.log(w * w / (signal - w * w)) / (2 * signal) for w in (size, 1.0)]
    assert plateau_time(size, signal, depth=2) == pytest.approx(ends[1] - ends[0])
    assert plateau_time(1e-3, signal, depth=3) * 1e-3 * signal == pytest.approx(1.0, rel=2e-3)
    assert plateau_time(1e-2, signal, depth=4) * 2 * 1e-4 * signal == pytest.approx(1.0, rel=2e-3)
    with pytest.raises(ValueError, match="size must lie below"):
        plateau_time(5.0, 1.0, depth=2)


@pytest.mark.item("L6.22")
def test_flow_against_scipy_and_conservation():
    from scipy.integrate import solve_ivp

    start, target = 0.5 * RANDOM.standard_normal((3, 2, 2)), RANDOM.standard_normal((2, 2))

    def velocity(_, w):
        one, two, three = w.reshape(3, 2, 2)
        miss = target - three @ two @ one
        return np.stack([(three @ two).T @ miss, three.T @ miss @ one.T, miss @ (two @ one).T]).ravel() / 3

    np.testing.assert_allclose(factor_velocity(start, target).ravel(), velocity(0, start.ravel()), atol=1e-14)
    end = solve_ivp(velocity, (0, 2), start.ravel(), rtol=1e-10, atol=1e-12).y[:, -1]
    ours = flow_factors(start, target, time=2.0, steps=200)
    assert ours.shape == (201, 3, 2, 2)
    np.testing.assert_allclose(ours[-1].ravel(), end, atol=1e-8)
    np.testing.assert_allclose(imbalance(ours[-1]), imbalance(start), atol=1e-8)


@pytest.mark.item("L6.22")
@pytest.mark.parametrize("depth", [1, 2, 4])
def test_balanced_products_move_alone(depth):
    product, target = RANDOM.standard_normal((2, 3, 3))
    factors = np.asarray(balanced_factors(product, depth))
    np.testing.assert_allclose(end_to_end(list(factors)), product, atol=1e-12)
    if depth > 1:
        np.testing.assert_allclose(imbalance(factors), np.zeros((depth - 1, 3, 3)), atol=1e-12)
    step = 1e-6
    moved = factors + step * np.asarray(factor_velocity(factors, target))
    seen = (end_to_end(list(moved)) - product) / step
    np.testing.assert_allclose(product_velocity(product, target, depth), seen, atol=1e-4)


@pytest.mark.item("L6.23")
def test_mode_curves():
    times = np.array([0.0, 0.5, 2.0])
    np.testing.assert_allclose(mode_curve(0.1, 2.0, 1, times), 2 - 1.9 * np.exp(-times))
    for depth in (2, 3):
        curve = mode_curve(0.1, 2.0, depth, np.linspace(0, 2, 20_001))
        slope = np.gradient(curve, 1e-4)[1:-1]
        np.testing.assert_allclose(slope, (curve ** (2 - 2 / depth) * (2 - curve))[1:-1], rtol=1e-5)
    with pytest.raises(ValueError, match="not decrease"):
        mode_curve(0.1, 2.0, 3, np.array([1.0, 0.0]))


def test_mode_curves_towards_nothing_and_over_long_times():
    times = np.array([0.0, 1.0, 5.0, 1e4])
    for target in (0.0, 1e-30):
        np.testing.assert_allclose(mode_curve(0.1, target, 2, times), 0.1 / (1 + 0.1 * times), rtol=1e-12)
        np.testing.assert_allclose(mode_curve(0.1, target, 3, times), (0.1 ** (-4 / 3) + 4 / 3 * times) ** -0.75)
    assert mode_curve(1e-6, 1e6, 4, times)[-1] == pytest.approx(1e6)


@pytest.mark.parametrize("widths", [(4, 2, 2, 3), (4, 3, 2, 3), (4, 2, 3, 2, 3)], ids=str)
def test_directions_down_from_deep_critical_points_are_those_of_the_narrowest_layer(widths):
    """By the inertia of the Hessian, with other bases of the hidden layers, at all points that keep up to two."""
    draw = np.random.default_rng(8)
    x = draw.standard_normal((4, 12))
    y = draw.standard_normal((3, 4)) @ x + 0.3 * draw.standard_normal((3, 12))
    values, _ = bottleneck_critical_points(x, y, width=2)
    loss = LinearNetworkLoss(jnp.asarray(x), jnp.asarray(y), widths)
    hessian = jax.jit(lambda flat: jax.hessian(lambda w: loss(w))(flat))
    for kept in [(), (0,), (2,), (0, 1), (0, 2), (1, 2)]:
        weights = deep_critical_point(x, y, kept, widths=widths)
        bases = [np.eye(4), *(draw.standard_normal((w, w)) for w in widths[1:-1]), np.eye(3)]
        turned = [
            after @ w @ np.linalg.inv(before) for (before, after), w in zip(pairwise(bases), weights, strict=True)
        ]
        spectrum = np.linalg.eigvalsh(np.asarray(hessian(jnp.concatenate([jnp.ravel(w) for w in turned]))))
        down = int(np.sum(spectrum < -1e-8 * np.abs(spectrum).max()))
        assert down == bottleneck_index(values, kept, width=2, inputs=4)
