"""Convolutions and poolings of images against loops, SciPy, and hand-made cases."""

from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.signal

from deeptheory.architectures.feature_maps import (
    convolve_images,
    convolve_images_by_fft,
    correlate_images,
    init_convolution,
    output_size,
    same_padding,
)
from deeptheory.architectures.pooling import average_pool, global_average_pool, global_max_pool, max_pool

RNG = np.random.default_rng(5)
X, K, B = RNG.standard_normal((2, 7, 6, 3)), RNG.standard_normal((4, 3, 2, 3)), RNG.standard_normal(4)


def by_loops(x, kernels, bias, stride, padding):
    """The printed sum, entry by entry, with the kernel's indices turned."""
    filters, height, width, channels = kernels.shape
    rows, columns = (
        (n + 2 * p - f) // s + 1 for n, f, s, p in zip(x.shape[:2], (height, width), stride, padding, strict=True)
    )
    y = np.zeros((rows, columns, filters)) + bias
    for i, j, m, u, v, c in product(*map(range, (rows, columns, filters, height, width, channels))):
        a, b = i * stride[0] + u - padding[0], j * stride[1] + v - padding[1]
        if 0 <= a < x.shape[0] and 0 <= b < x.shape[1]:
            y[i, j, m] += x[a, b, c] * kernels[m, height - 1 - u, width - 1 - v, c]
    return y


@pytest.mark.item("L10.9")
@pytest.mark.parametrize(("stride", "padding"), [((1, 1), (0, 0)), ((2, 3), (1, 2))])
def test_the_printed_sum(stride, padding):
    found = convolve_images(X, K, B, stride=stride, padding=padding)
    for n in range(2):
        np.testing.assert_allclose(found[n], by_loops(X[n], K, B, stride, padding), atol=1e-13)
    unturned = correlate_images(X, K[:, ::-1, ::-1], B, stride=stride, padding=padding)
    np.testing.assert_allclose(unturned, found, atol=1e-13)


@pytest.mark.item("L10.8")
def test_one_channel_is_scipy():
    image, kernel = X[0, ..., 0], K[0, ..., 0]
    whole = convolve_images(image[..., None], kernel[None, ..., None], padding=(2, 1))[..., 0]
    np.testing.assert_allclose(whole, scipy.signal.convolve2d(image, kernel), atol=1e-13)
    inside = correlate_images(image[..., None], kernel[None, ..., None])[..., 0]
    np.testing.assert_allclose(inside, scipy.signal.correlate2d(image, kernel, mode="valid"), atol=1e-13)
    around = convolve_images(image[..., None], K[:1, :, :1, :1], padding=(1, 0), boundary="circular")[..., 0]
    np.testing.assert_allclose(
        around, scipy.signal.convolve2d(image, K[0, :, :1, 0], mode="same", boundary="wrap"), atol=1e-13
    )
    a, b = RNG.standard_normal(3), RNG.standard_normal(2)
    apart = convolve_images(convolve_images(image[..., None], a.reshape(1, 3, 1, 1)), b.reshape(1, 1, 2, 1))
    np.testing.assert_allclose(convolve_images(image[..., None], np.outer(a, b)[None, ..., None]), apart, atol=1e-13)


@pytest.mark.item("L10.9")
def test_the_gradient_is_the_adjoint():
    def layer(x):
        return correlate_images(x, K, stride=2, padding=1)

    y = RNG.standard_normal(layer(X).shape)
    _, back = jax.vjp(layer, jnp.asarray(X))
    np.testing.assert_allclose(jnp.vdot(layer(X), y), jnp.vdot(X, back(jnp.asarray(y))[0]), rtol=1e-12)


@pytest.mark.parametrize("stride", [(1, 1), (1, 2), (2, 2), (3, 1), (4, 5)])
@pytest.mark.parametrize(("height", "width", "channels"), [(1, 1, 2), (2, 5, 3), (3, 3, 16), (5, 4, 15), (8, 7, 1)])
def test_patches_and_the_compilers_convolution_agree(height, width, channels, stride):
    """Whichever route is taken, values and gradients are those of a loop over the places of a window."""
    x = jnp.asarray(RNG.standard_normal((2, 11, 9, channels)))
    kernels = jnp.asarray(RNG.standard_normal((3, height, width, channels)))

    def by_places(x, kernels):
        rows, columns = ((n - f) // s + 1 for n, f, s in zip((11, 9), (height, width), stride, strict=True))
        places = [
            x[:, i * stride[0] : i * stride[0] + height, j * stride[1] : j * stride[1] + width]
            for i, j in product(range(rows), range(columns))
        ]
        return jnp.einsum("pnuvc,muvc->npm", jnp.stack(places), kernels).reshape(2, rows, columns, 3)

    found, back = jax.vjp(lambda *each: correlate_images(*each, stride=stride), x, kernels)
    expected, expected_back = jax.vjp(by_places, x, kernels)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    y = jnp.asarray(RNG.standard_normal(found.shape))
    for one, other in zip(back(y), expected_back(y), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-11)


@pytest.mark.item("L10.10")
def test_sizes_as_printed_and_counted():
    assert output_size(9, window=3) == 7
    assert output_size(9, window=3, stride=3) == 3
    assert output_size(9, window=3, padding=1) == 9
    for size, window, stride, padding in product(range(1, 9), range(1, 5), range(1, 4), range(3)):
        places = range(-padding, size + padding - window + 1, stride)
        if len(places):
            assert output_size(size, window=window, stride=stride, padding=padding) == len(places)
    assert [same_padding(window) for window in (1, 3, 5)] == [0, 1, 2]


@pytest.mark.item("L10.15")
def test_pooling_by_hand():
    image = np.array([[1, 3, 2, 1], [4, 2, 0, 5], [6, 1, 1, 0], [0, 2, 7, 8.0]])[..., None]
    np.testing.assert_array_equal(max_pool(image)[..., 0], [[4, 5], [6, 8]])
    np.testing.assert_array_equal(average_pool(image)[..., 0], [[2.5, 2], [2.25, 4]])
    np.testing.assert_array_equal(max_pool(image, window=3, stride=1)[..., 0], [[6, 5], [7, 8]])
    np.testing.assert_array_equal([global_max_pool(image)[0], global_average_pool(image)[0]], [8, 43 / 16])
    routed = jax.grad(lambda x: max_pool(x).sum())(jnp.asarray(image))[..., 0]
    np.testing.assert_array_equal(routed, np.isin(image[..., 0], [4, 5, 6, 8]))


@pytest.mark.item("L10.15")
def test_a_maximum_moves_no_more_than_its_inputs():
    moved = X + RNG.uniform(-0.1, 0.1, X.shape)
    assert abs(max_pool(X) - max_pool(moved)).max() <= abs(X - moved).max()


def test_layers_keep_mean_squares_and_take_any_batch(key):
    layer = init_convolution(key, 8, 64, 3, padding=1, boundary="circular")
    x = RNG.standard_normal((2, 3, 12, 12, 8))
    assert layer(x).shape == (2, 3, 12, 12, 64)
    np.testing.assert_allclose(np.mean(np.square(layer(x))), 2, rtol=0.1)


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match=r"kernels of 3 × 2 do not fit into images of 2 × 2 padded by 0 and 0"):
        correlate_images(np.ones((2, 2, 3)), K)
    with pytest.raises(ValueError, match="kernels must have shape"):
        correlate_images(np.ones((4, 4, 2)), K)
    with pytest.raises(ValueError, match="window must be odd to be centred on an entry, got 4"):
        same_padding(4)
    with pytest.raises(ValueError, match=r"window must be at most size \+ 2·padding = 5, got 6"):
        output_size(3, window=6, padding=1)
    with pytest.raises(ValueError, match="boundary must be zeros or circular, got 'mirror'"):
        correlate_images(X, K, boundary="mirror")
    with pytest.raises(ValueError, match="window 3 × 3 does not fit into images of 2 × 2"):
        max_pool(np.ones((2, 2, 1)), window=3)
    with pytest.raises(ValueError, match="stride"):
        correlate_images(X, K, stride=0)


@pytest.mark.item("L10.8")
def test_the_transform_in_the_plane_gives_the_same_sums():
    height, width = K.shape[1:3]
    whole = convolve_images(X, K, padding=(height - 1, width - 1))
    np.testing.assert_allclose(convolve_images_by_fft(X, K), whole, atol=1e-12)
    np.testing.assert_allclose(convolve_images_by_fft(X, K, boundary="valid"), convolve_images(X, K), atol=1e-12)
    image, kernel = X[0, ..., 0], K[0, ..., 0]
    around = convolve_images_by_fft(image[..., None], kernel[None, ..., None], boundary="circular")[..., 0]
    # Every place written out, with indices modulo the sides.
    shifted = [np.roll(image, (u, v), (0, 1)) * kernel[u, v] for u in range(height) for v in range(width)]
    np.testing.assert_allclose(around, np.sum(shifted, 0), atol=1e-12)
    with pytest.raises(ValueError, match="kernels must fit images"):
        convolve_images_by_fft(X[:, :2, :1], K, boundary="valid")


@pytest.mark.item("L10.8")
def test_the_centred_sum_as_printed_is_the_correlation():
    """Σ I[i − u₀ + u, j − v₀ + v] K[u, v] with u₀ = ⌊H/2⌋, v₀ = ⌊W/2⌋, read literally; zero outside the image."""
    image, kernel = X[0, ..., 0], RNG.standard_normal((3, 5))
    (rows, columns), (height, width) = image.shape, kernel.shape

    def summed(place):
        return [
            [
                sum(
                    image[a, b] * kernel[u, v]
                    for u in range(height)
                    for v in range(width)
                    for a, b in [place(i, j, u, v)]
                    if 0 <= a < rows and 0 <= b < columns
                )
                for j in range(columns)
            ]
            for i in range(rows)
        ]

    u0, v0 = height // 2, width // 2
    printed = summed(lambda i, j, u, v: (i - u0 + u, j - v0 + v))
    turned = summed(lambda i, j, u, v: (i + u0 - u, j + v0 - v))
    one, filters = image[..., None], kernel[None, ..., None]
    np.testing.assert_allclose(correlate_images(one, filters, padding=(u0, v0))[..., 0], printed, atol=1e-12)
    np.testing.assert_allclose(convolve_images(one, filters, padding=(u0, v0))[..., 0], turned, atol=1e-12)
