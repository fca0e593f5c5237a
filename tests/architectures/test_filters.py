"""Edge filters on images drawn by hand; the gradient of filters against finite differences and automatic ones."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.ndimage

from deeptheory.architectures.convolutional_networks import init_convolutional_network
from deeptheory.architectures.feature_maps import correlate_images
from deeptheory.architectures.filters import edge_filters, filter_gradient, learn_filters, mean_square
from deeptheory.networks.mlp import parameter_count

RNG = np.random.default_rng(17)


@pytest.mark.item("L10.12")
def test_each_filter_answers_to_edges_of_its_own_direction():
    ground = np.zeros((8, 8, 1))
    ground[4:] = 1
    horizontal, vertical = np.moveaxis(correlate_images(ground, edge_filters()), -1, 0)
    np.testing.assert_array_equal(vertical, 0)
    np.testing.assert_array_equal(horizontal[:, 0], [0, 0, 4, 4, 0, 0])
    np.testing.assert_array_equal(correlate_images(ground.swapaxes(0, 1), edge_filters())[..., 0], 0)
    image = RNG.standard_normal((6, 6))
    for axis in range(2):
        seen = correlate_images(image[..., None], edge_filters())[..., axis]
        np.testing.assert_allclose(seen, scipy.ndimage.sobel(image, axis)[1:-1, 1:-1], atol=1e-13)


@pytest.mark.item("L10.11")
@pytest.mark.parametrize(("stride", "padding"), [(1, 0), (2, (1, 2))])
def test_the_gradient_is_summed_over_places(stride, padding):
    images, kernels = RNG.standard_normal((3, 7, 6, 2)), RNG.standard_normal((2, 3, 2, 2))
    targets = RNG.standard_normal(correlate_images(images, kernels, stride=stride, padding=padding).shape)

    def loss(k):
        return mean_square(k, images, targets, stride=stride, padding=padding)

    missed = correlate_images(images, kernels, stride=stride, padding=padding) - targets
    found = filter_gradient(images, missed / missed.size, window=(3, 2), stride=stride, padding=padding)
    np.testing.assert_allclose(found, jax.grad(loss)(jnp.asarray(kernels)), atol=1e-14)
    step = np.zeros_like(kernels)
    step[1, 2, 0, 1] = 1e-4
    np.testing.assert_allclose((loss(kernels + step) - loss(kernels - step)) / 2e-4, found[1, 2, 0, 1], rtol=1e-9)
    with pytest.raises(ValueError, match="slopes must have"):
        filter_gradient(images, missed, window=1, stride=stride, padding=padding)


@pytest.mark.item("L10.11")
def test_descent_finds_the_filters_that_made_the_targets():
    images = RNG.standard_normal((4, 8, 8, 1))
    targets = correlate_images(images, edge_filters())
    found, losses = learn_filters(np.zeros((2, 3, 3, 1)), images, targets, rate=1.0, steps=200)
    np.testing.assert_allclose(found, edge_filters(), atol=1e-3)
    np.testing.assert_allclose(losses[0], np.mean(np.square(targets)) / 2, rtol=1e-12)


@pytest.mark.item("L10.1")
def test_a_network_from_image_to_probability(key):
    net = init_convolutional_network(key, 9, 2, [3, 4])
    x = RNG.standard_normal((2, 9, 9, 2))
    maps = x
    for layer in net.convolutions:
        sums = np.stack([
            [sum(scipy.ndimage.correlate(im[..., c], k[..., c], mode="constant") for c in range(im.shape[-1]))
             for k in np.asarray(layer.kernels)] for im in maps
        ])  # fmt: skip
        maps = np.maximum(np.moveaxis(sums, 1, -1), 0)
        half = maps.shape[1] // 2
        maps = maps[:, : 2 * half, : 2 * half].reshape(2, half, 2, half, 2, -1).max((2, 4))
    score = maps.reshape(2, -1) @ net.weights
    np.testing.assert_allclose(net(x), 1 / (1 + np.exp(-score)), rtol=1e-12)
    # A dense network with layers of the same sizes has many times as many weights.
    own = sum(leaf.size for leaf in jax.tree.leaves(net))
    assert own == (9 * 2 * 3 + 3) + (9 * 3 * 4 + 4) + (2 * 2 * 4 + 1)
    assert parameter_count([81 * 2, 81 * 3, 16 * 4, 1]) > 100 * own
    with pytest.raises(ValueError, match="the linear layer takes 16 features, got 4 from images of 5 × 5"):
        net.score(x[:, :5, :5])


@pytest.mark.item("L10.1")
def test_gradients_of_the_network_by_finite_differences(key):
    net = init_convolutional_network(key, 6, 1, [2], everywhere=True)
    x, y = RNG.standard_normal((3, 6, 6, 1)), np.array([0.0, 1, 1])

    def loss(kernels):
        changed = type(net)(
            (type(net.convolutions[0])(kernels, net.convolutions[0].bias, 1, 1),), net.weights, net.bias, 2, True
        )
        return -jnp.mean(y * jax.nn.log_sigmoid(changed.score(x)) + (1 - y) * jax.nn.log_sigmoid(-changed.score(x)))

    kernels = jnp.asarray(net.convolutions[0].kernels)
    step = 1e-5 * RNG.standard_normal(kernels.shape)
    np.testing.assert_allclose(
        (loss(kernels + step) - loss(kernels - step)) / 2, np.vdot(jax.grad(loss)(kernels), step), rtol=1e-6
    )


def test_a_bias_adds_to_the_log_odds():
    network = init_convolutional_network(jax.random.key(0), 8, 1, (2,))
    images = RNG.standard_normal((3, 8, 8, 1))
    raised = eqx.tree_at(lambda each: each.bias, network, network.bias + 0.7)
    np.testing.assert_allclose(raised.score(images) - network.score(images), 0.7, rtol=1e-5)
