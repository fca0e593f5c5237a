"""Angles from cosines, in both precisions, beside the library's arccosine."""

import jax.numpy as jnp
import numpy as np
import pytest

from deeptheory.kernels.limits.arcs import angle_and_sine, elevation, inverse_root


@pytest.mark.parametrize("precision", [np.float32, np.float64])
def test_angle_and_sine_of_a_cosine(precision):
    cosine = np.linspace(-1, 1, 41).astype(precision)
    angle, sine = angle_and_sine(jnp.asarray(cosine))
    close = 4 * np.finfo(precision).eps
    np.testing.assert_allclose(angle, np.arccos(cosine.astype(float)), rtol=close, atol=close)
    np.testing.assert_allclose(sine, np.sin(np.arccos(cosine.astype(float))), rtol=2 * close, atol=close)


@pytest.mark.parametrize("precision", [np.float32, np.float64])
def test_elevation_and_inverse_root(precision):
    angle = np.linspace(-1.5, 1.5, 31)
    found = elevation(jnp.asarray(np.sin(angle), precision), jnp.asarray(np.cos(angle), precision))
    np.testing.assert_allclose(found, angle, atol=4 * np.finfo(precision).eps)
    np.testing.assert_array_equal(inverse_root(jnp.asarray([0.0, 4.0], precision)), [0.0, 0.5])
