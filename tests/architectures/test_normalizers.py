"""Normalization layers against formulas in plain NumPy, finite differences, and what they must not see."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from deeptheory.architectures.normalizers import (
    BatchNorm,
    LayerNorm,
    batch_statistics,
    init_batch_norm,
    init_layer_norm,
    running_statistics,
)

RNG = np.random.default_rng(11)
Z = RNG.standard_normal((6, 4)) * 3 + 1
GAIN, SHIFT = RNG.standard_normal(4), RNG.standard_normal(4)


@pytest.mark.item("L10.23")
def test_batch_normalization_as_printed():
    mean = np.array([sum(column) / 6 for column in Z.T])
    deviation = np.array([np.sqrt(0.3 + sum((column - m) ** 2) / 6) for column, m in zip(Z.T, mean, strict=True)])
    layer = BatchNorm(GAIN, SHIFT, 0.3)
    np.testing.assert_allclose(layer(Z), GAIN * (Z - mean) / deviation + SHIFT, rtol=1e-12)
    images = Z.reshape(3, 2, 1, 4)
    np.testing.assert_allclose(layer(images).reshape(6, 4), layer(Z), rtol=1e-12)


@pytest.mark.item("L10.23")
def test_variance_falls_short_of_one_by_epsilon():
    variance = Z.var(0)
    np.testing.assert_allclose(np.var(init_batch_norm(4, epsilon=0.3)(Z), 0), variance / (variance + 0.3), rtol=1e-12)


@pytest.mark.item("L10.24")
def test_layer_normalization_as_printed():
    rows = [(z - z.mean()) / np.sqrt(0.3 + sum((z - z.mean()) ** 2) / 4) for z in Z]
    layer = LayerNorm(GAIN, SHIFT, 0.3)
    np.testing.assert_allclose(layer(Z), GAIN * np.array(rows) + SHIFT, rtol=1e-12)
    np.testing.assert_array_equal(layer(Z)[2], layer(Z[2]))  # no batch enters
    free = init_layer_norm(4, epsilon=0.0)
    np.testing.assert_allclose(free(5 * Z + 2), free(Z), rtol=1e-10, atol=1e-12)


@pytest.mark.item("L10.23")
def test_incoming_weights_have_no_size_and_gradients_are_orthogonal_to_them():
    x, targets = RNG.standard_normal((6, 3)), RNG.standard_normal((6, 4))
    layer = BatchNorm(GAIN, SHIFT, 0.0)

    def loss(w):
        return jnp.sum((jnp.tanh(layer(x @ w.T)) - targets) ** 2)

    w = RNG.standard_normal((4, 3))
    slope = np.asarray(jax.grad(loss)(jnp.asarray(w)))
    np.testing.assert_allclose((w * slope).sum(1), 0, atol=1e-12)
    np.testing.assert_allclose(loss(w * np.array([[0.1], [1], [10], [3]])), loss(w), rtol=1e-12)
    step = 1e-6 * RNG.standard_normal(w.shape)
    np.testing.assert_allclose((loss(w + step) - loss(w - step)) / 2, np.vdot(slope, step), rtol=1e-6)


def test_kept_statistics_make_an_affine_map():
    layer = BatchNorm(GAIN, SHIFT, 0.3)
    mean, variance = batch_statistics(Z)
    np.testing.assert_allclose(layer(Z, (mean, variance)), layer(Z), rtol=1e-12)
    kept = running_statistics((np.zeros(4), np.ones(4)), Z, share=0.25)
    np.testing.assert_allclose(kept[0], Z.mean(0) / 4, rtol=1e-12)
    np.testing.assert_allclose(kept[1], 0.75 + Z.var(0) / 4, rtol=1e-12)
    np.testing.assert_allclose(layer(Z[:1], kept), layer(Z, kept)[:1], rtol=1e-12)


@pytest.mark.item("L10.45")
def test_gain_and_shift_can_undo_the_normalization():
    mean, variance = batch_statistics(Z)
    np.testing.assert_allclose(BatchNorm(np.sqrt(variance), mean, 0.0)(Z), Z, rtol=1e-12)
