"""Two-layer networks with a trained first layer against automatic differentiation, integrals and matrix functions."""

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from deeptheory.generalization.capacity.rademacher_bounds import kernel_label_complexity, label_energy
from deeptheory.kernels.finite.first_layer import (
    first_layer_coefficient,
    first_layer_gradient,
    first_layer_gram,
    first_layer_limit,
    first_layer_outputs,
    first_layer_series,
    first_layer_spectrum,
    init_first_layer,
    train_first_layer,
)
from deeptheory.kernels.layers.activations import Numerical

RNG = np.random.default_rng(9)
X = RNG.standard_normal((5, 3))
X /= np.linalg.norm(X, axis=1, keepdims=True)
WEIGHTS, AMPLITUDES = RNG.standard_normal((7, 3)), RNG.uniform(-1, 1, 7)
Y = RNG.standard_normal(5)


@pytest.mark.item("A9.3")
@pytest.mark.parametrize("activation", [jax.nn.relu, jax.nn.softplus])
def test_gradient_against_finite_differences(activation):
    def loss(weights):
        hidden = np.asarray(activation(X @ weights.T))
        return 0.5 * np.sum((hidden @ AMPLITUDES / np.sqrt(7) - Y) ** 2)

    residual = first_layer_outputs(WEIGHTS, AMPLITUDES, X, activation=activation) - Y
    gradient = first_layer_gradient(WEIGHTS, AMPLITUDES, X, residual, activation=activation)
    step, found = 1e-5, np.empty((7, 3))
    for where in np.ndindex(7, 3):
        shift = np.zeros((7, 3))
        shift[where] = step
        found[where] = (loss(WEIGHTS + shift) - loss(WEIGHTS - shift)) / (2 * step)
    np.testing.assert_allclose(gradient, found, atol=1e-9)


def test_gram_carries_the_squares_of_the_amplitudes():
    def outputs(weights):
        return jax.nn.softplus(X @ weights.T) @ AMPLITUDES / np.sqrt(7)

    jacobian = np.asarray(jax.jacrev(outputs)(jnp.asarray(WEIGHTS))).reshape(5, -1)
    gram = first_layer_gram(WEIGHTS, X, amplitudes=AMPLITUDES, activation=jax.nn.softplus)
    np.testing.assert_allclose(gram, jacobian @ jacobian.T, rtol=1e-12)


def test_limit_against_an_integral_also_for_long_inputs_and_other_points():
    x, other = 1.7 * X, 0.3 * X[::-1]
    found = np.asarray(first_layer_limit(x, other))
    for i, j in np.ndindex(5, 5):
        rho = float(X[i] @ X[::-1][j])
        if abs(rho) < 1 - 1e-9:
            share = quad(lambda z, r=rho: norm.pdf(z) * norm.cdf(r * z / np.sqrt(1 - r * r)), 0, np.inf)[0]
            assert found[i, j] == pytest.approx(0.51 * rho * share, abs=1e-9)
    np.testing.assert_allclose(np.diag(first_layer_limit(x)), 1.7**2 / 2, rtol=1e-14)
    smooth = first_layer_limit(X, layer=Numerical(jax.nn.softplus, 64))
    sigmoid_squared = quad(lambda z: norm.pdf(z) / (1 + np.exp(-z)) ** 2, -12, 12)[0]
    np.testing.assert_allclose(np.diag(smooth), sigmoid_squared, rtol=1e-9)


def test_coefficients_are_those_of_the_taylor_series():
    mpmath.mp.dps = 30
    series = mpmath.taylor(lambda z: z * (mpmath.pi - mpmath.acos(z)) / (2 * mpmath.pi), 0, 10)
    found = [first_layer_coefficient(degree) for degree in range(11)]
    np.testing.assert_allclose(found, [float(c) for c in series], atol=1e-14)
    cosines = np.array([-1.0, 0.3, 0.9])
    summed = sum(float(c) * cosines**p for p, c in enumerate(series[:7]))
    np.testing.assert_allclose(first_layer_series(cosines, terms=3), summed, rtol=1e-13)
    with pytest.raises(ValueError, match=r"degree must lie in \[0, 1000000\], got -1"):
        first_layer_coefficient(-1)


def test_spectrum_on_the_sphere_by_quadrature_and_by_its_trace():
    values, many = first_layer_spectrum(20_000)
    t, weights = np.polynomial.legendre.leggauss(4000)
    angle = np.pi * (t + 1) / 2
    kernel = np.cos(angle) * (np.pi - angle) / (2 * np.pi)
    for degree in range(9):
        # The mean over the sphere of the kernel times U_l(cos θ) = sin((l + 1)θ)/sin θ, the density being sin²θ·2/π.
        moment = np.sum(weights * kernel * np.sin((degree + 1) * angle) * np.sin(angle))
        np.testing.assert_allclose(values[degree], moment / (degree + 1), atol=1e-12)
    assert values @ many == pytest.approx(0.5, abs=1e-4)  # H* on the diagonal


@pytest.mark.parametrize("mirrored", [False, True])
def test_weights_are_standard_normal_and_amplitudes_fair_signs(mirrored):
    weights, amplitudes = init_first_layer(jax.random.key(4), 20_000, 2, mirrored=mirrored)
    kept = weights[:10_000]
    assert abs(kept.mean()) < 0.04 and kept.var() == pytest.approx(1, abs=0.06)
    assert np.mean(kept**4) == pytest.approx(3, abs=0.5)
    assert set(amplitudes) == {-1.0, 1.0} and abs(amplitudes.mean()) < 0.04


def test_mirrored_start_and_training():
    weights, amplitudes = init_first_layer(jax.random.key(3), 8, 3, mirrored=True)
    np.testing.assert_allclose(first_layer_outputs(weights, amplitudes, X), 0, atol=1e-15)
    np.testing.assert_allclose(first_layer_gram(weights, X), first_layer_gram(weights[:4], X), rtol=1e-14)
    with pytest.raises(ValueError, match="even"):
        init_first_layer(jax.random.key(3), 7, 3, mirrored=True)

    def loss(w):
        return 0.5 * jnp.sum((jax.nn.softplus(X @ w.T) @ AMPLITUDES / np.sqrt(7) - Y) ** 2)

    present = jnp.asarray(WEIGHTS)
    for _ in range(3):
        present = present - 0.1 * jax.grad(loss)(present)
    trace = train_first_layer(WEIGHTS, AMPLITUDES, X, Y, step_size=0.1, steps=3, activation=jax.nn.softplus)
    np.testing.assert_allclose(trace.weights, present, rtol=1e-12)
    np.testing.assert_allclose(trace.movement, np.linalg.norm(present - WEIGHTS, axis=1), rtol=1e-12)
    assert 0.5 * np.sum((trace.outputs[-1] - Y) ** 2) == pytest.approx(float(loss(present)), rel=1e-12)


def test_label_energy_is_the_least_squared_norm_that_fits():
    features = RNG.standard_normal((4, 9))
    y = RNG.standard_normal(4)
    least = np.linalg.pinv(features) @ y
    assert label_energy(features @ features.T, y) == pytest.approx(float(least @ least), rel=1e-10)
    both = label_energy(features @ features.T, np.stack([y, 2 * y]))
    np.testing.assert_allclose(both, [least @ least, 4 * least @ least], rtol=1e-10)
    assert kernel_label_complexity(np.diag([2.0, 3.0]), np.array([2.0, 3.0])) == pytest.approx(np.sqrt(2 * 5 * 5) / 2)
    # Of a singular kernel only what lies in its range counts.
    assert label_energy(np.diag([2.0, 0.0]), np.array([3.0, 5.0])) == pytest.approx(4.5)
