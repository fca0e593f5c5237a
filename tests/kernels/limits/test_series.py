from math import factorial

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

from deeptheory.kernels.finite.features import feature_limit_kernel, laplace_kernel, rbf_kernel
from deeptheory.kernels.layers.activations import Erf
from deeptheory.kernels.limits.series import (
    gaussian_series,
    hermite_series,
    laplace_series,
    series_kernel,
    tensor_features,
)

RNG = np.random.default_rng(9)
UNIT = RNG.standard_normal((6, 3))
UNIT /= np.linalg.norm(UNIT, axis=1, keepdims=True)


@pytest.mark.parametrize(
    ("series", "function"),
    [
        (gaussian_series, lambda t: mpmath.exp(2 * t - 2)),
        (laplace_series, lambda t: mpmath.exp(-mpmath.sqrt(2 - 2 * t))),
    ],
)
def test_coefficients_against_multiprecision(series, function):
    with mpmath.workdps(60):
        taylor = [float(value) for value in mpmath.taylor(function, 0, 12)]
    np.testing.assert_allclose(series(13), taylor, rtol=1e-12)
    np.testing.assert_allclose(series(1), taylor[:1], rtol=1e-12)


def test_series_sum_to_their_kernels():
    products = UNIT @ UNIT.T
    np.testing.assert_allclose(
        series_kernel(gaussian_series(25), products), rbf_kernel(UNIT, scale=0.5**0.5), atol=1e-13
    )
    off = np.abs(products) < 0.9
    found = np.asarray(series_kernel(laplace_series(400), products))
    np.testing.assert_allclose(found[off], np.asarray(laplace_kernel(UNIT))[off], atol=1e-12)


def test_tensor_features_multiply_to_the_series():
    coefficients = laplace_series(6)
    features = np.asarray(tensor_features(coefficients, UNIT))
    assert features.shape == (6, sum(3**k for k in range(6)))
    expected = sum(c * (UNIT @ UNIT.T) ** k for k, c in enumerate(coefficients))
    np.testing.assert_allclose(features @ features.T, expected, rtol=1e-12)
    with pytest.raises(ValueError, match="negative"):
        tensor_features(np.array([1.0, -1.0]), UNIT)
    with pytest.raises(ValueError, match="terms"):
        laplace_series(0)


def test_hermite_series_against_the_closed_dual():
    closed = np.asarray(feature_limit_kernel(UNIT, activation=Erf()))
    found = series_kernel(hermite_series(jax.scipy.special.erf, 60), UNIT @ UNIT.T)
    np.testing.assert_allclose(found, closed, atol=1e-12)
    exponential = hermite_series(jnp.exp, 20)  # E e^z h_k(z) = √e/√k!
    np.testing.assert_allclose(exponential, [np.e / factorial(k) for k in range(20)], rtol=1e-10, atol=1e-15)
