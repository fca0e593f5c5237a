import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm

from deeptheory.kernels.finite.function_space import function_flow, kernel_gradient_descent, kernel_velocity
from deeptheory.kernels.regression.predictions import (
    descent,
    diagonalize,
    effective_dimension,
    flow,
    interpolation,
    largest_step,
    loss_curve,
    predicted,
    predicted_ensemble,
    residual,
    ridge_regression,
    shrinkage,
    trained,
    trained_ensemble,
)

pytestmark = pytest.mark.slow

RNG = np.random.default_rng(11)
FEATURES, OTHER = RNG.standard_normal((6, 9)), RNG.standard_normal((4, 9))
K, CROSS = FEATURES @ FEATURES.T, OTHER @ FEATURES.T
Y, F0 = RNG.standard_normal((6, 2)), RNG.standard_normal((6, 2))
G0 = RNG.standard_normal((4, 2))


@pytest.mark.item("L7.5", "L7.7")
@pytest.mark.parametrize("time", [0.0, 0.03, 1.0])
def test_flow_against_integrating_the_parameters(time):
    """A model linear in its parameters, trained in parameter space by an adaptive integrator."""
    start = np.linalg.lstsq(np.vstack([FEATURES, OTHER]), np.vstack([F0, G0]), rcond=None)[0]  # f₀ on both sets
    f0, g0 = FEATURES @ start, OTHER @ start
    path = solve_ivp(
        lambda _, p: (FEATURES.T @ (Y - FEATURES @ p.reshape(9, 2))).ravel(),
        (0, max(time, 1e-12)),
        start.ravel(),
        "DOP853",
        rtol=1e-11,
        atol=1e-12,
    )
    final = path.y[:, -1].reshape(9, 2)
    basis = diagonalize(K)
    np.testing.assert_allclose(trained(basis, flow(time), Y, outputs=f0), FEATURES @ final, atol=1e-8)
    result = predicted(basis, flow(time), Y, CROSS, outputs=f0, other_outputs=g0)
    np.testing.assert_allclose(result, OTHER @ final, atol=1e-8)
    curve = loss_curve(basis, Y[:, 0] - f0[:, 0], np.array([time]))
    assert float(curve[0]) == pytest.approx(0.5 * np.sum((FEATURES @ final - Y)[:, 0] ** 2), abs=1e-8)


@pytest.mark.parametrize("step", [1e-7, 0.01, 0.05])
@pytest.mark.parametrize("steps", [0, 1, 7])
def test_descent_against_the_loop(step, steps):
    dual = np.zeros_like(Y)
    for _ in range(steps):
        dual -= step * (F0 + K @ dual - Y)
    basis = diagonalize(K)
    rule = descent(steps, step_size=step)
    np.testing.assert_allclose(trained(basis, rule, Y, outputs=F0), F0 + K @ dual, rtol=1e-10, atol=1e-11)
    np.testing.assert_allclose(predicted(basis, rule, Y, CROSS, outputs=F0), CROSS @ dual, rtol=1e-9, atol=1e-13)
    path, weights = kernel_gradient_descent(lambda f: f - Y, K, F0, step_size=step, steps=steps)
    np.testing.assert_allclose(path[-1], F0 + K @ dual, rtol=1e-10, atol=1e-11)
    np.testing.assert_allclose(weights, -dual, rtol=1e-9, atol=1e-13)


def test_filters_at_zero_and_beyond():
    values = jnp.array([0.0, 1e-14, 2.0])
    np.testing.assert_allclose(flow(3.0)(values)[:2], 3.0, rtol=1e-12)
    np.testing.assert_allclose(flow(jnp.inf)(values), [0, 1e14, 0.5], rtol=1e-12)
    np.testing.assert_allclose(descent(5, step_size=0.1)(values)[:2], 0.5, rtol=1e-12)
    np.testing.assert_allclose(interpolation(cutoff=1e-12)(values), [0, 0, 0.5])
    np.testing.assert_allclose(interpolation()(values), [0, 1e14, 0.5])
    np.testing.assert_allclose(residual(shrinkage(2.0))(values)[2], 0.5)


@pytest.mark.item("L7.4", "L7.3")
def test_ridge_and_ridgeless_against_the_primal():
    primal = np.linalg.solve(FEATURES.T @ FEATURES + 0.3 * np.eye(9), FEATURES.T @ Y)
    np.testing.assert_allclose(ridge_regression(K, Y, CROSS, ridge=0.3), OTHER @ primal, rtol=1e-9)
    np.testing.assert_allclose(predicted(diagonalize(K), shrinkage(0.3), Y, CROSS), OTHER @ primal, rtol=1e-9)
    minimum_norm = np.linalg.pinv(FEATURES) @ Y
    np.testing.assert_allclose(ridge_regression(K, Y, CROSS, ridge=0.0), OTHER @ minimum_norm, rtol=1e-8)
    thin, thin_other = FEATURES[:, :4], OTHER[:, :4]  # singular kernel: the pseudo-inverse fits what can be fitted
    best = thin_other @ np.linalg.pinv(thin) @ Y
    singular = predicted(diagonalize(thin @ thin.T), interpolation(), Y, thin_other @ thin.T)
    np.testing.assert_allclose(singular, best, rtol=1e-8)
    other_minimizer = minimum_norm + (np.eye(9) - np.linalg.pinv(FEATURES) @ FEATURES) @ RNG.standard_normal((9, 2))
    np.testing.assert_allclose(FEATURES @ other_minimizer, Y, atol=1e-10)
    assert np.abs(OTHER @ other_minimizer - OTHER @ minimum_norm).max() > 0.1


def test_effective_dimension_is_the_trace_of_the_hat_matrix():
    hat = FEATURES @ np.linalg.solve(FEATURES.T @ FEATURES + 2.0 * np.eye(9), FEATURES.T)
    assert float(effective_dimension(K, ridge=2.0)) == pytest.approx(np.trace(hat), rel=1e-10)
    assert float(effective_dimension(K, ridge=0.0)) == pytest.approx(6)


def test_largest_step():
    step = float(largest_step(K))
    assert np.abs(np.linalg.eigvals(np.eye(6) - step * K)).max() == pytest.approx(1)


@pytest.mark.item("H6.6", "J8.4")
def test_ensemble_keeps_the_spread_of_the_initial_outputs():
    """Covariances are those of an affine map, applied here to samples with exactly the given moments."""
    root = RNG.standard_normal((10, 10))
    sigma = root @ root.T
    decay = expm(-K * 0.1)
    gain = CROSS @ np.linalg.solve(K, np.eye(6) - decay)
    samples = np.linalg.cholesky(sigma) * np.sqrt(10)  # ten columns: mean-free with their negatives, covariance Σ
    images = samples[6:] - gain @ samples[:6]
    law = predicted_ensemble(
        diagonalize(K),
        flow(0.1),
        Y,
        CROSS,
        covariance=sigma[:6, :6],
        cross_covariance=sigma[6:, :6],
        other_covariance=sigma[6:, 6:],
    )
    np.testing.assert_allclose(law.covariance, images @ images.T / 10, rtol=1e-8)
    np.testing.assert_allclose(law.mean, gain @ Y, rtol=1e-9)
    on_train = trained_ensemble(diagonalize(K), flow(0.1), Y, sigma[:6, :6])
    np.testing.assert_allclose(on_train.covariance, decay @ sigma[:6, :6] @ decay, rtol=1e-8, atol=1e-10)


def test_function_flow_of_squared_loss_is_the_closed_form():
    times = np.array([0.0, 0.05, 2.0])
    path = function_flow(lambda f: f - Y, K, F0, times, other_kernel=CROSS, other_outputs=G0)
    for t, f, g in zip(times, path.outputs, path.other_outputs, strict=True):
        decay = expm(-K * t)
        np.testing.assert_allclose(f, Y + decay @ (F0 - Y), atol=1e-6)
        np.testing.assert_allclose(g, G0 + CROSS @ np.linalg.solve(K, (decay - np.eye(6)) @ (F0 - Y)), atol=1e-6)


def test_velocity_is_the_chain_rule():
    parameters = RNG.standard_normal((9, 2))
    rate = jax.grad(lambda p: -jnp.sum((FEATURES @ p - Y) ** 2) / 12)(jnp.asarray(parameters))
    np.testing.assert_allclose(kernel_velocity(CROSS, Y - FEATURES @ parameters), OTHER @ rate, rtol=1e-12)


def test_heavy_ball_against_the_matrix_exponential():
    times, velocity = np.array([0.3, 1.5]), RNG.standard_normal((6, 2))
    path = function_flow(lambda f: f - Y, K, F0, times, friction=0.7, velocity=velocity)
    generator = np.block([[np.zeros((6, 6)), np.eye(6)], [-K, -0.7 * np.eye(6)]])
    for t, f, v in zip(times, path.outputs, path.velocities, strict=True):
        state = expm(generator * t) @ np.vstack([F0 - Y, velocity])
        np.testing.assert_allclose(f, Y + state[:6], atol=1e-6)
        np.testing.assert_allclose(v, state[6:], atol=1e-5)


def test_bad_times():
    with pytest.raises(ValueError, match="increase"):
        function_flow(lambda f: f, K, F0, np.array([1.0, 0.5]))
    with pytest.raises(ValueError, match="other_kernel"):
        function_flow(lambda f: f, K, F0, np.array([1.0]), other_outputs=G0)


def test_what_is_left_to_learn_keeps_its_digits():
    values = jnp.array([0.0, 1e-9, 0.3, 1.0])
    left = residual(flow(60.0))(values)
    np.testing.assert_allclose(left, np.exp(-60 * np.asarray(values)), rtol=1e-14)
    np.testing.assert_allclose(residual(flow(np.inf))(values), [1, 0, 0, 0])
    np.testing.assert_allclose(residual(shrinkage(1e-20))(values[1:]), 1e-20 / np.asarray(values[1:]), rtol=1e-10)
    np.testing.assert_allclose(residual(descent(500, step_size=0.5))(values), (1 - 0.5 * np.asarray(values)) ** 500)


@pytest.mark.parametrize("time", [1e30, 1e300, np.inf])
def test_inputs_that_repeat_have_directions_that_are_never_learned(time):
    draw = np.random.default_rng(4)
    x = draw.standard_normal((5, 3))
    x = np.concatenate([x, x[:2]])
    kernel, y = x @ x.T, draw.standard_normal(7)
    fitted = kernel @ np.linalg.pinv(kernel) @ y
    basis = diagonalize(kernel)
    np.testing.assert_allclose(trained(basis, flow(time), y), fitted, atol=1e-12)
    np.testing.assert_allclose(predicted(basis, flow(time), y, kernel[:3]), fitted[:3], atol=1e-12)
    np.testing.assert_allclose(loss_curve(basis, y, np.array([time])), np.sum((fitted - y) ** 2) / 2, rtol=1e-12)
    assert effective_dimension(kernel, ridge=0.0) == pytest.approx(3, abs=1e-12)
    with pytest.raises(ValueError, match="kernel must be invertible with a ridge"):
        ridge_regression(kernel, y, kernel[:1], ridge=0.0)


def test_what_is_no_kernel_and_no_ridge_is_refused():
    kernel = np.array([[2.0, 1.0], [1.0, 2.0]])
    with pytest.raises(ValueError, match="kernel must be positive semidefinite, got -2 on its diagonal"):
        diagonalize(-kernel)
    with pytest.raises(ValueError, match="least eigenvalue of the kernel must be at least"):
        diagonalize(np.array([[1.0, 2.0], [2.0, 1.0]]))
    with pytest.raises(ValueError, match="ridge must lie in"):
        effective_dimension(kernel, ridge=-1)
