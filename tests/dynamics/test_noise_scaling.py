import jax
import numpy as np
import pytest

from deeptheory.dynamics.noise_scaling import noise_moments, spherical_gradient


def loss(x, y):
    return -((x @ y) ** 2)


def test_gradient_lies_along_the_sphere():
    x, y = np.array([0.6, 0.8, 0.0]), np.array([1.0, -2.0, 0.5])
    plain = -2 * (x @ y) * y
    np.testing.assert_allclose(spherical_gradient(loss, x, y), plain - (plain @ x) * x, rtol=1e-12)


@pytest.mark.item("J11.11")
def test_moments_written_out():
    rng = np.random.default_rng(0)
    x, samples, direction = np.array([0.6, 0.8, 0.0]), rng.standard_normal((50, 3)), np.array([1.0, 0.0, 0.0])
    plain = -2 * (samples @ x)[:, None] * samples
    along = plain - np.outer(plain @ x, x)
    noise = along - along.mean(0)
    found = jax.jit(lambda s: noise_moments(loss, x, s, direction=direction, power=4.5))(samples)
    assert found.along == pytest.approx(np.mean(noise[:, 0] ** 2))
    assert found.whole == pytest.approx(np.mean(np.linalg.norm(noise, axis=1) ** 4.5) / 3**2.25)


def test_a_power_of_four_is_too_little():
    with pytest.raises(ValueError, match=r"power must lie in \(4, 100\], got 4"):
        noise_moments(loss, np.ones(2), np.ones((3, 2)), direction=np.ones(2), power=4.0)
