"""Receptive fields against the support of gradients; equivariance to the last digit, and where it ends."""

import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg

from deeptheory.architectures.convolutions import convolution_matrix
from deeptheory.architectures.feature_maps import correlate_images
from deeptheory.architectures.pooling import global_max_pool, max_pool
from deeptheory.architectures.receptive_fields import (
    parameter_counts,
    receptive_field_sizes,
    seen_inputs,
    shift_average,
    shift_equivariance_defect,
    shift_invariance_defect,
)

RNG = np.random.default_rng(7)
X = RNG.integers(-9, 10, (2, 8, 8, 1)).astype(float)  # whole numbers: sums are exact in any order
K = RNG.integers(-3, 4, (2, 3, 3, 1)).astype(float)


def layer(x):
    return correlate_images(x, K, padding=1, boundary="circular")


@pytest.mark.item("L10.13")
def test_fields_grow_by_window_less_one_times_the_strides_before():
    np.testing.assert_array_equal(receptive_field_sizes([3, 3, 3]), [3, 5, 7])
    np.testing.assert_array_equal(receptive_field_sizes([3, 2, 5, 2], [2, 2, 1, 3]), [3, 5, 21, 25])
    windows, strides = [3, 2, 3], [2, 2, 1]

    def network(x):
        for window, stride in zip(windows, strides, strict=True):
            x = correlate_images(x, np.ones((1, window, window, 1)), stride=stride)
        return x

    seen = seen_inputs(network, np.ones((30, 30, 1)), (1, 2))
    assert seen.sum() == receptive_field_sizes(windows, strides)[-1] ** 2
    assert tuple(np.argwhere(seen)[0]) == (4, 8)


@pytest.mark.item("L10.13")
def test_sharing_saves_weights():
    # A 9 × 9 image, 2 channels, 5 filters of 3 × 3: 7 × 7 places.
    assert parameter_counts(rows=9, columns=9, channels=2, filters=5, window=3) == (90, 90 * 49, 162 * 245)


def test_convolutions_commute_with_shifts_and_zeros_at_the_border_do_not():
    for shift in [(1, 0), (3, 5), (-2, 7)]:
        assert shift_equivariance_defect(layer, X, shift) == 0
        assert shift_invariance_defect(lambda x: global_max_pool(layer(x)), X, shift) == 0
    assert shift_equivariance_defect(lambda x: correlate_images(x, K, padding=1), X, (1, 0)) > 0
    assert shift_invariance_defect(layer, X, (1, 0)) > 0


@pytest.mark.item("L10.15")
def test_strided_pooling_commutes_with_multiples_of_its_stride_only():
    assert shift_equivariance_defect(max_pool, X, (1, 2), stride=2) == 0
    pooled_twice = max_pool(jnp.roll(X, 1, 1))
    assert all(jnp.any(pooled_twice != jnp.roll(max_pool(X), k, 1)) for k in range(4))


@pytest.mark.item("L10.4")
def test_linear_and_equivariant_means_circulant():
    matrix = RNG.standard_normal((5, 5))
    mean = shift_average(matrix)
    shift = np.roll(np.eye(5), 1, 0)
    by_hand = np.mean(
        [np.linalg.matrix_power(shift.T, k) @ matrix @ np.linalg.matrix_power(shift, k) for k in range(5)], 0
    )
    np.testing.assert_allclose(mean, by_hand, atol=1e-14)
    np.testing.assert_allclose(mean, scipy.linalg.circulant(mean[:, 0]), atol=1e-14)
    np.testing.assert_allclose(mean, convolution_matrix(mean[:, 0], length=5, boundary="circular"), atol=1e-14)


def test_strides_belong_to_windows():
    with pytest.raises(ValueError, match="strides must be one for each of the 2 windows, got 1"):
        receptive_field_sizes([3, 3], [1])
