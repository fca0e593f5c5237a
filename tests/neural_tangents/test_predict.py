"""The facade's predictions against matrix exponentials, integrators and dense solves."""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm

import deeptheory.neural_tangents as nt

pytestmark = pytest.mark.slow

RNG = np.random.default_rng(5)
N, M, K = 5, 3, 2


def positive(rng=RNG, size=N + M):
    root = rng.standard_normal((size, 2 * size))
    return root @ root.T / size


THETA, SIGMA = positive(), positive()
Y, F0, G0 = RNG.standard_normal((N, K)), RNG.standard_normal((N, K)), RNG.standard_normal((M, K))
TRAIN, CROSS = THETA[:N, :N], THETA[N:, :N]


def exact(t, rate, ridge=0.0):
    """Outputs on both sets at time t of ḟ = −(rate/size)Θ(f − y), by exponentials of the joint generator."""
    kernel = TRAIN + ridge * np.eye(N)
    decay = expm(-kernel * t * rate / Y.size)
    return Y + decay @ (F0 - Y), G0 + CROSS @ np.linalg.solve(kernel, (decay - np.eye(N)) @ (F0 - Y))


@pytest.mark.parametrize(("diag_reg", "absolute"), [(0.0, False), (0.3, True), (0.3, False)])
def test_squared_loss_at_any_time(diag_reg, absolute):
    ridge = diag_reg if absolute else diag_reg * np.trace(TRAIN) / N
    predict = nt.predict.gradient_descent_mse(
        TRAIN, Y, learning_rate=0.7, diag_reg=diag_reg, diag_reg_absolute_scale=absolute
    )
    times = np.array([[0.0, 0.5], [4.0, 100.0]])
    train, test = predict(times, F0, G0, CROSS)
    assert train.shape == (2, 2, N, K) and test.shape == (2, 2, M, K)
    for index in np.ndindex(2, 2):
        expected = exact(times[index], 0.7, ridge)
        np.testing.assert_allclose(train[index], expected[0], rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(test[index], expected[1], rtol=1e-9, atol=1e-11)
    train, test = predict(None, F0, G0, CROSS)
    np.testing.assert_allclose(train, Y)
    limit = G0 + CROSS @ np.linalg.solve(TRAIN + ridge * np.eye(N), Y - F0)
    np.testing.assert_allclose(test, limit, rtol=1e-9)
    np.testing.assert_allclose(predict(np.inf, F0, G0, CROSS)[1], limit, rtol=1e-9)
    np.testing.assert_allclose(predict(None, None, G0, CROSS), G0 + CROSS @ np.linalg.solve(
        TRAIN + ridge * np.eye(N), Y), rtol=1e-9)  # fmt: skip
    assert predict(1.0).shape == (N, K)
    with pytest.raises(ValueError, match="k_test_train"):
        predict(1.0, F0, G0)


def test_traced_axis_in_the_middle_and_full_kernels():
    full = positive(np.random.default_rng(2), N * K)
    interleaved = full.reshape(N, K, N, K).transpose(0, 2, 1, 3)
    predict = nt.predict.gradient_descent_mse(interleaved, Y, trace_axes=())
    flat = Y.ravel() - expm(-full * 2.0 / Y.size) @ Y.ravel()
    np.testing.assert_allclose(predict(2.0).ravel(), flat, rtol=1e-9)
    wide = np.stack([Y, 2 * Y, -Y], 1)  # (N, 3, K) with the middle axis traced
    predict = nt.predict.gradient_descent_mse(interleaved, wide, trace_axes=(1,))
    result = predict(6.0)
    np.testing.assert_allclose(result[:, 0].ravel(), flat, rtol=1e-9)
    np.testing.assert_allclose(result[:, 2], -result[:, 0], rtol=1e-12)
    with pytest.raises(ValueError, match="shape"):
        nt.predict.gradient_descent_mse(interleaved, Y)


@pytest.mark.parametrize("traced", [(0, 1), (0,)])
def test_a_traced_batch_leaves_a_kernel_of_the_other_axes(traced):
    """Where all axes are traced the kernel is one number, and every output approaches its target at one rate."""
    kernel = np.array(0.7) if traced == (0, 1) else np.diag([0.7, 0.7])
    decay = np.exp(-0.7 * 3.0 / Y.size)
    predict = nt.predict.gradient_descent_mse(kernel, Y, trace_axes=traced)
    train, test = predict(3.0, F0, 2 * F0, kernel)
    np.testing.assert_allclose(train, Y + decay * (F0 - Y), rtol=1e-9)
    np.testing.assert_allclose(test, 2 * F0 + (1 - decay) * (Y - F0), rtol=1e-9)
    assert nt.predict.max_learning_rate(kernel, Y.size) == pytest.approx(2 * Y.size / 0.7)


def test_predictions_inside_a_compiled_function():
    predict = nt.predict.gradient_descent_mse(TRAIN, Y)
    inside = jax.jit(lambda t: predict(t, F0, G0, CROSS)[1])(3.0)
    np.testing.assert_allclose(inside, exact(3.0, 1.0)[1], rtol=1e-9)
    np.testing.assert_allclose(predict(3.0, F0, G0, CROSS)[1], inside, rtol=1e-12)


def kernel_fn(x1, x2, get):
    x2 = x1 if x2 is None else x2
    if isinstance(get, tuple):
        return SimpleNamespace(**{name: kernel_fn(x1, x2, name) for name in get})
    return {"nngp": SIGMA, "ntk": THETA}[get][np.ix_(x1, x2)]


@pytest.mark.parametrize("t", [0.0, 3.0, 40.0, None])
def test_ensemble_is_the_image_of_the_initial_process(t):
    """Push the joint initial covariance through the linear map that training is."""
    inside, outside = np.arange(N), np.arange(N, N + M)
    predict = nt.predict.gradient_descent_mse_ensemble(kernel_fn, inside, Y, learning_rate=2.0)
    both = predict(t, outside, compute_cov=True)
    for name, kernel in (("nngp", SIGMA), ("ntk", THETA)):
        train, cross = kernel[:N, :N], kernel[N:, :N]
        decay = np.zeros((N, N)) if t is None else expm(-train * t * 2.0 / Y.size)
        gain = cross @ np.linalg.solve(train, np.eye(N) - decay)
        push = np.hstack([-gain, np.eye(M)])
        np.testing.assert_allclose(getattr(both, name).mean, gain @ Y, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(getattr(both, name).covariance, push @ SIGMA @ push.T, rtol=1e-8, atol=1e-10)
        alone = predict(t, outside, get=name)
        np.testing.assert_allclose(alone, gain @ Y, rtol=1e-8, atol=1e-10)
        law = predict(t, None, get=name, compute_cov=True)
        np.testing.assert_allclose(law.mean, Y - decay @ Y, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(law.covariance, decay @ SIGMA[:N, :N] @ decay, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("t", [2.0, None])
def test_a_first_call_inside_a_compiled_function_leaves_nothing_behind(t):
    network = nt.stax.serial(nt.stax.Dense(1, b_std=0.1), nt.stax.Erf(), nt.stax.Dense(1))
    x = np.linspace(-1, 1, 5)[:, None]
    predict = nt.predict.gradient_descent_mse_ensemble(network[2], x[:3], x[:3] ** 2, diag_reg=1e-3)
    inside = jax.jit(lambda test: predict(t, test, "ntk"))(x[3:])
    np.testing.assert_allclose(predict(t, x[3:], "ntk"), inside, rtol=1e-10)


def test_inference():
    train = SimpleNamespace(nngp=SIGMA[:N, :N], ntk=TRAIN)
    cross = SimpleNamespace(nngp=SIGMA[N:, :N], ntk=CROSS)
    test = SimpleNamespace(nngp=SIGMA[N:, N:], ntk=THETA[N:, N:])
    predict = nt.predict.gp_inference(train, Y, diag_reg=0.2, diag_reg_absolute_scale=True)
    law = predict(("nngp", "ntkgp"), cross, test)
    for name, kernel in (("nngp", SIGMA), ("ntkgp", THETA)):
        noisy = kernel + np.diag([0.2] * N + [0.0] * M)
        precision = np.linalg.inv(noisy)  # the conditional law from the blocks of the joint precision
        covariance = np.linalg.inv(precision[N:, N:])
        np.testing.assert_allclose(getattr(law, name).covariance, covariance, rtol=1e-8)
        np.testing.assert_allclose(getattr(law, name).mean, -covariance @ precision[N:, :N] @ Y, rtol=1e-8)
    assert predict("ntk", cross).shape == (M, K)
    with pytest.raises(ValueError, match="both nngp and ntk"):
        nt.predict.gp_inference(TRAIN, Y)("ntk", CROSS, SIGMA[N:, N:])
    with pytest.raises(ValueError, match="ntkgp"):
        predict("other", cross)


def cross_entropy(fx, y):
    return -jnp.mean(jax.nn.log_softmax(fx) * y)


@pytest.mark.parametrize("momentum", [None, 0.8])
def test_other_losses_against_an_explicit_integrator(momentum):
    labels, rate = np.eye(K)[RNG.integers(0, K, N)], 0.5
    predict = nt.predict.gradient_descent(cross_entropy, TRAIN, labels, rate, momentum)
    gradient = jax.jit(jax.grad(cross_entropy))
    push = np.vstack([TRAIN, CROSS])
    start = np.vstack([F0, G0])

    def field(_, state):
        if momentum is None:
            return -(push @ np.asarray(gradient(state.reshape(-1, K)[:N], labels))).ravel() * rate
        f, q = state.reshape(2, -1, K)
        force = -push @ np.asarray(gradient(f[:N], labels)) * rate + (momentum - 1) * q
        return np.stack([q, force]).ravel()

    first = start.ravel() if momentum is None else np.stack([start, 0 * start]).ravel()
    times = np.array([0.0, 2.0, 30.0])
    path = solve_ivp(field, (0, 30), first, "DOP853", t_eval=times, rtol=1e-10, atol=1e-12).y.T
    expected = path.reshape(3, -1, N + M, K)[:, 0]
    train, test = predict(times, F0, G0, CROSS)
    np.testing.assert_allclose(train, expected[:, :N], rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(test, expected[:, N:], rtol=1e-6, atol=1e-7)
    middle = predict(2.0, nt.predict.ODEState(F0, G0), None, CROSS)
    resumed = predict(28.0, middle, None, CROSS)
    np.testing.assert_allclose(resumed.fx_test, expected[2, N:], rtol=1e-6, atol=1e-7)


def test_limit_of_a_loss_that_comes_to_rest():
    predict = nt.predict.gradient_descent(lambda f, y: 0.5 * jnp.mean((f - y) ** 2), TRAIN, Y)
    train, test = predict(None, F0, G0, CROSS)
    np.testing.assert_allclose(train, Y, atol=1e-6)
    np.testing.assert_allclose(test, G0 + CROSS @ np.linalg.solve(TRAIN, Y - F0), atol=1e-5)


def test_largest_learning_rate_is_the_edge_of_stability():
    rate = float(nt.predict.max_learning_rate(TRAIN, Y.size))
    for factor, stable in ((0.99, True), (1.01, False)):
        residual = np.linalg.matrix_power(np.eye(N) - factor * rate / Y.size * TRAIN, 2000) @ (F0 - Y)
        assert (np.abs(residual).max() < 1) == stable
    assert float(nt.predict.max_learning_rate(TRAIN)) == pytest.approx(rate * N / Y.size)
    assert float(nt.predict.max_learning_rate(TRAIN, Y.size, momentum=0.5)) == pytest.approx(1.5 * rate)
