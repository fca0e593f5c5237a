"""Residual layers, ResNet blocks and ResNet9 against plain NumPy written from the formulas and the listing."""

import jax
import jax.numpy as jnp
import jaxtyping
import numpy as np
import pytest
import scipy.signal

from deeptheory.architectures.normalizers import BatchNorm
from deeptheory.architectures.residual import Residual, deep_stack, singular_value_bounds, stack_jacobian
from deeptheory.architectures.resnets import (
    init_basic_block,
    init_dense_block,
    init_resnet9,
)

RNG = np.random.default_rng(13)


def numbers_in(model):
    return sum(leaf.size for leaf in jax.tree.leaves(model))


def conv(x, layer, stride=1):
    """A 3×3 convolution padded by one, or a 1×1 convolution, with SciPy."""
    sums = [
        [sum(scipy.signal.correlate2d(image[..., c], kernel[..., c], mode="same") for c in range(image.shape[-1]))
         for kernel in np.asarray(layer.kernels)]
        for image in x
    ]  # fmt: skip
    return np.moveaxis(np.array(sums), 1, -1)[:, ::stride, ::stride] + layer.bias


def norm(x, layer):
    axes = (0, 1, 2)
    return layer.gain * (x - x.mean(axes)) / np.sqrt(x.var(axes) + layer.epsilon) + layer.shift


def relu(x):
    return np.maximum(x, 0)


def pooled(x, size):
    n, rows, columns, c = x.shape
    cut = x[:, : rows // size * size, : columns // size * size]
    return cut.reshape(n, rows // size, size, columns // size, size, c).max((2, 4))


def listing(x, net):
    """The book's forward pass, line by line."""

    def block(x, b):
        return pooled(relu(norm(conv(x, b.convolution), b.norm)), b.pool)

    out = block(block(x, net.conv1), net.conv2)
    out = block(block(out, net.res1[0]), net.res1[1]) + out
    out = block(block(out, net.conv3), net.conv4)
    out = block(block(out, net.res2[0]), net.res2[1]) + out
    return pooled(out, 4).reshape(len(x), -1) @ net.weights.T + net.bias


@pytest.mark.item("L10.16")
def test_a_residual_layer_adds_and_its_jacobian_adds_the_identity():
    w = RNG.standard_normal((3, 3))
    layer = Residual(lambda x: jnp.tanh(x @ w.T))
    x = RNG.standard_normal(3)
    np.testing.assert_allclose(layer(x), x + np.tanh(w @ x), rtol=1e-12)
    slope = (1 - np.tanh(w @ x) ** 2)[:, None] * w
    np.testing.assert_allclose(jax.jacobian(layer)(jnp.asarray(x)), np.eye(3) + slope, rtol=1e-12)
    np.testing.assert_allclose(deep_stack(jnp.asarray(w)[None], x), layer(x), rtol=1e-12)
    np.testing.assert_allclose(stack_jacobian(jnp.asarray(w)[None], x, skip=0.0), slope, rtol=1e-12)


@pytest.mark.item("L10.17")
def test_a_projection_matches_dimensions():
    projection, w = RNG.standard_normal((2, 3)), 0.1 * RNG.standard_normal((2, 3))
    layer = Residual(lambda x: jnp.tanh(x @ w.T), projection)
    x = RNG.standard_normal((4, 3))
    np.testing.assert_allclose(layer(x), x @ projection.T + np.tanh(x @ w.T), rtol=1e-12)
    slope = (1 - np.tanh(w @ x[0]) ** 2)[:, None] * w
    np.testing.assert_allclose(jax.jacobian(layer)(jnp.asarray(x[0])), projection + slope, rtol=1e-12)
    with pytest.raises(ValueError, match="a projection can match dimensions that differ"):
        Residual(lambda x: x @ w.T)(x)


@pytest.mark.item("L10.16")
def test_bounds_are_attained_by_multiples_of_the_identity():
    low, high = singular_value_bounds(np.array([0.1, 0.2, 0.3]))
    np.testing.assert_allclose([low, high], [0.9 * 0.8 * 0.7, 1.1 * 1.2 * 1.3])
    for sign, bound in ((-1, low), (1, high)):
        weights = sign * jnp.stack([e * jnp.eye(2) for e in (0.1, 0.2, 0.3)])
        jacobian = stack_jacobian(weights, np.ones(2), activation=lambda z: z)
        np.testing.assert_allclose(jacobian, bound * np.eye(2), rtol=1e-12)
    assert singular_value_bounds(np.array([1.5]))[0] == 0


@pytest.mark.item("L10.18")
@pytest.mark.parametrize(("filters", "stride"), [(2, 1), (3, 1), (3, 2)])
def test_a_basic_block_is_two_convolutions_and_a_shortcut(key, filters, stride):
    block = init_basic_block(key, 2, filters, stride=stride, zero=False)
    assert (block.shortcut is None) == (filters == 2 and stride == 1)
    x = RNG.standard_normal((2, 6, 6, 2))
    hidden = relu(norm(conv(x, block.first, stride), block.first_norm))
    kept = x if block.shortcut is None else conv(x, block.shortcut, stride)
    np.testing.assert_allclose(block(x), relu(norm(conv(hidden, block.second), block.second_norm) + kept), atol=1e-11)


@pytest.mark.item("L10.18")
def test_zero_gains_make_it_the_identity(key):
    x = relu(RNG.standard_normal((2, 6, 6, 2)))
    np.testing.assert_array_equal(init_basic_block(key, 2, 2)(x), x)


@pytest.mark.item("L10.21")
def test_a_dense_block_keeps_all_maps_and_adds(key):
    block = init_dense_block(key, 2, 3, layers=2)
    x = RNG.standard_normal((2, 5, 5, 2))
    one = conv(relu(norm(x, block.norms[0])), block.convolutions[0])
    before = np.concatenate([x, one], -1)
    two = conv(relu(norm(before, block.norms[1])), block.convolutions[1])
    np.testing.assert_allclose(block(x), np.concatenate([before, two], -1), atol=1e-11)
    # The last map has a gradient of its own in every map before it: cut the way through the layer between.
    cut = BatchNorm(block.norms[1].gain * np.array([1, 1, 0, 0, 0]), block.norms[1].shift, block.norms[1].epsilon)
    direct = type(block)((block.norms[0], cut), block.convolutions)
    assert np.any(jax.grad(lambda x: direct(x)[..., 5:].sum())(jnp.asarray(x)) != 0)


@pytest.mark.item("L10.20")
def test_resnet9_is_the_listing(key):
    net = init_resnet9(key, 3, 5, width=2)
    net = jax.tree.map(lambda leaf: leaf + 0.1 * RNG.standard_normal(leaf.shape), net)  # no gain, shift, bias trivial
    x = RNG.standard_normal((2, 33, 32, 3))
    np.testing.assert_allclose(net(x), listing(x, net), atol=1e-10)
    maps = np.asarray(net.maps(x))
    assert maps.shape == (2, 4, 4, 16)
    whole = type(net)(*(getattr(net, name) for name in list(net.__dataclass_fields__)[:-1]), pool=None)
    np.testing.assert_allclose(whole(x), maps.max((1, 2)) @ net.weights.T + net.bias, atol=1e-10)


@pytest.mark.item("L10.20")
def test_resnet9_as_printed_has_six_and_a_half_million_numbers_and_takes_32_to_63_rows(key):
    def shape(function, rows, columns):
        return jax.eval_shape(function, jax.ShapeDtypeStruct((1, rows, columns, 1), float)).shape

    assert numbers_in(init_resnet9(key, 3, 10)) == 6_575_370
    printed, everywhere = (init_resnet9(key, 1, 4, width=1, pool=pool) for pool in (4, None))
    assert shape(printed.maps, 32, 63) == (1, 4, 7, 8)
    assert shape(printed, 32, 63) == shape(everywhere, 64, 9) == (1, 4)
    with pytest.raises(
        ValueError, match=r"takes 8 numbers, got 32 from images of 64 × 64: .* from 32 to 63, or pool=None"
    ):
        shape(printed, 64, 64)
    with pytest.raises(ValueError, match="window 4 × 4 does not fit into images of 3 × 3"):
        shape(printed, 31, 31)
    with pytest.raises(ValueError, match="at least 8 × 8, got 7 × 32"):
        shape(everywhere, 7, 32)


def test_resnet9_takes_images_in_a_batch(key, monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # as users call it
    with pytest.raises(ValueError, match=r"x must have shape \(images, rows, columns, channels\), got \(32, 32, 3\)"):
        init_resnet9(key, 3, 4, width=1)(np.zeros((32, 32, 3)))


def test_the_head_of_a_new_resnet9_keeps_the_size_of_its_features(key):
    head = np.asarray(init_resnet9(key, 1, 1000, width=2).weights)
    assert head.shape == (1000, 16)
    assert np.mean(head**2) * 16 == pytest.approx(1, abs=8 * np.sqrt(2 / head.size))
