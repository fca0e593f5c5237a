"""Inputs that are parallel, or become so: an angle is 0 to the last digit, however the kernel is computed."""

import jax
import jax.numpy as jnp
import numpy as np

from deeptheory import kernels
from deeptheory.kernels.limits.arcs import angle_and_sine


def test_multiples_keep_all_digits_of_a_rectifier_in_double_precision():
    """Without biases the NNGP of parallel inputs is half of xy/d and the NTK all of it; opposite ones have neither."""
    x = np.random.default_rng(0).standard_normal((1, 30)) * np.random.default_rng(1).uniform(-3, 3, (40, 1))
    found = kernels.limit_kernel(kernels.serial(kernels.Dense(1), kernels.Relu(), kernels.Dense(1)), x)
    products = np.maximum(x @ x.T, 0) / 60
    np.testing.assert_allclose(found.nngp, products, atol=1e-14)
    np.testing.assert_allclose(found.ntk, 2 * products, atol=1e-14)


def test_angles_that_are_more_than_rounding_stay():
    for precision, angles in ((np.float64, (1e-7, 1e-5, 1.0, 3.14)), (np.float32, (1e-3, 1e-2, 1.0, 3.14))):
        angle = np.array(angles)
        found = angle_and_sine(jnp.asarray(np.cos(angle).astype(precision)))[0]
        assert np.abs(found - angle).max() <= 4 * np.finfo(precision).eps / np.sin(angle).min()


def test_two_jumps_leave_a_position_equal_to_itself_when_compiled():
    """What the compiler rounds in another way would grow to its fourth root."""
    layers = (kernels.Conv(1, (2,), padding="SAME"), kernels.Sign(), kernels.Conv(1, (1,)), kernels.Sign())
    for precision in (np.float32, np.float64):
        x = np.random.default_rng(0).standard_normal((20, 6, 1)).astype(precision)
        own = kernels.limit_kernel(kernels.serial(*layers), x, x.copy(), want=("nngp", "cov1"))
        np.testing.assert_allclose(np.einsum("npp->np", own.cov1), 1, atol=1e-6)
        np.testing.assert_allclose(np.einsum("nnpp->np", own.nngp), 1, atol=1e-6)


def test_a_dense_layer_with_biases_over_positions_keeps_near_ones_apart():
    """In single precision: the angle between (x, β) and (y, β) for one channel."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((3, 4, 1)).astype(np.float32)
    y = (x * (1 + 1e-4 * rng.standard_normal(x.shape))).astype(np.float32)
    network = kernels.serial(kernels.Dense(1, 1.0, 0.5), kernels.Sign())
    with jax.enable_x64(False):
        found = kernels.limit_kernel(network, x, y, want=("nngp",)).nngp
    one, two = (np.arctan2(0.5, each[..., 0].astype(float)) for each in (x, y))
    exact = 1 - 2 / np.pi * np.abs(one[:, None, :, None] - two[None, :, None, :])
    np.testing.assert_allclose(found, exact, atol=1e-6)
