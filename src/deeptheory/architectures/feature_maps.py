"""Convolutions of images: many channels, strides, paddings, and the arithmetic of what comes out.

Reference: lucchi Sec. 10.1.2; Dumoulin and Visin 2016 for the arithmetic.
"""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Key

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import affordable, among
from deeptheory.foundations.randomness import generator

__all__ = [
    "Convolution",
    "convolve_images",
    "convolve_images_by_fft",
    "correlate_images",
    "init_convolution",
    "output_size",
    "same_padding",
]

Pair = int | tuple[int, int]
Images = Float[AnyArray, "*batch rows columns channels"]
Kernels = Float[AnyArray, "filters height width channels"]
Bias = Float[AnyArray, " filters"]
FEW, SMALL = 16, 49
"""fewer channels than this, or strides, and windows of at most so many places: then patches are multiplied as a matrix

Processors take up to fifteen times longer for the gradient of the compiler's own convolution there; elsewhere it wins.
"""


def output_size(size: int, *, window: int, stride: int = 1, padding: int = 0) -> int:
    """How many places a window takes along one axis: ⌊(size + 2 padding − window)/stride⌋ + 1.

    9 gives 7 with window 3, gives 3 with stride 3, and 9 again with padding 1 (lucchi Fig. 10.6, 10.7). What is left
    over at the far end, fewer than `stride` entries, is not seen by any window.
    """
    if window > size + 2 * padding:
        raise ValueError(f"window must be at most size + 2·padding = {size + 2 * padding}, got {window}")
    return (size + 2 * padding - window) // stride + 1


def same_padding(window: int) -> int:
    """The padding (window − 1)/2 that keeps the size at stride 1; an even window has no middle and is refused."""
    if window % 2 == 0:
        raise ValueError(f"window must be odd to be centred on an entry, got {window}")
    return (window - 1) // 2


def correlate_images(
    images: Images,
    kernels: Kernels,
    bias: Bias | None = None,
    *,
    stride: Pair = 1,
    padding: Pair = 0,
    boundary: str = "zeros",
) -> Float[Array, "*batch new_rows new_columns filters"]:
    """Y[i, j, m] = Σ_{c,u,v} X[i s + u − p, j s + v − p, c] K⁽ᵐ⁾[u, v, c] + b⁽ᵐ⁾: what frameworks call a convolution.

    Axes are rows, columns, channels, behind any batch; `kernels` has one filter an entry of its first axis. What lies
    outside the image is zero, or with `boundary="circular"` the opposite side. Reference: lucchi Sec. 10.1.2.
    """
    images, kernels = jnp.asarray(images), jnp.asarray(kernels)
    (down, right), (above, beside) = pair(stride), pair(padding)
    _known(boundary)
    rows, columns = images.shape[-3:-1]
    height, width = kernels.shape[1:3]
    if height > rows + 2 * above or width > columns + 2 * beside:
        raise ValueError(
            f"kernels of {height} × {width} do not fit into images of {rows} × {columns} padded by {above} and {beside}"
        )
    affordable(padded=(*images.shape[:-3], rows + 2 * above, columns + 2 * beside, images.shape[-1]))
    margins = [(0, 0)] * (images.ndim - 3) + [(above, above), (beside, beside), (0, 0)]
    padded = jnp.pad(images, margins, mode="wrap" if boundary == "circular" else "constant")
    kind = jnp.result_type(padded, kernels)
    padded, kernels = padded.reshape(-1, *padded.shape[-3:]).astype(kind), kernels.astype(kind)
    if height * width <= SMALL and (down > 1 or right > 1 or images.shape[-1] < FEW):
        seen = _windows(_windows(padded, 2, width, right), 1, height, down)
        maps = seen @ kernels.reshape(len(kernels), -1).T
    else:
        axes = ("NHWC", "OHWI", "NHWC")
        maps = lax.conv_general_dilated(padded, kernels, (down, right), "VALID", dimension_numbers=axes)
    maps = maps.reshape(*images.shape[:-3], *maps.shape[1:])
    return maps if bias is None else maps + jnp.asarray(bias)


def _windows(images: Array, axis: int, size: int, stride: int) -> Array:
    """The `size` entries that each window sees along an axis, as channels: those of its first entry, then its second.

    Entries are told apart by their remainder modulo the stride and then sliced without gaps, so that neither this nor
    its transpose walks with a stride: a product of patches whose gradient costs as little as its value.
    """
    places = output_size(images.shape[axis], window=size, stride=stride)
    groups = places + -(-size // stride) - 1
    margin = [(0, 0, 0)] * images.ndim
    margin[axis] = (0, groups * stride - images.shape[axis], 0)  # negative: what no window sees
    images = lax.pad(images, jnp.zeros((), images.dtype), margin)
    parts = images.reshape(*images.shape[:axis], groups, stride, *images.shape[axis + 1 :])
    parts = [each.squeeze(axis + 1) for each in jnp.split(parts, stride, axis + 1)]
    found = [lax.slice_in_dim(parts[i % stride], i // stride, i // stride + places, axis=axis) for i in range(size)]
    return jnp.concatenate(found, axis=-1)


def convolve_images(
    images: Images,
    kernels: Kernels,
    bias: Bias | None = None,
    *,
    stride: Pair = 1,
    padding: Pair = 0,
    boundary: str = "zeros",
) -> Float[Array, "*batch new_rows new_columns filters"]:
    """The convolution in the sense of mathematics: `correlate_images` with every filter turned by 180°.

    With stride 1 and padding (height − 1, width − 1) it is the whole sum Σ I[i − u, j − v] K[u, v]. The second display
    of lucchi Sec. 10.1.2, I[i − u₀ + u, j − v₀ + v], is the correlation; re-indexed, the sum has I[i + u₀ − u, j + v₀ −
    v]. `boundary` as in `correlate_images`.
    """
    turned = jnp.asarray(kernels)[:, ::-1, ::-1]
    return correlate_images(images, turned, bias, stride=stride, padding=padding, boundary=boundary)


def convolve_images_by_fft(
    images: Images, kernels: Kernels, *, boundary: str = "full"
) -> Float[Array, "*batch new_rows new_columns filters"]:
    """The sums Σ I[i − u, j − v, c] K[u, v, c] of `convolve_images`, by multiplying transforms in the plane.

    `boundary` says which places are kept: "full" all at which the supports meet, "valid" those at which the whole
    filter lies inside, "circular" as many as the image has, with indices modulo its sides; there the filter must fit.
    The cost is O(N log N) in the places N of an image, whatever the filter: for filters beyond some hundred places.
    Rounding is relative to the largest output. Reference: lucchi Sec. 10.1.2, 10.1.3.
    """
    among(("full", "valid", "circular"), boundary=boundary)
    images, kernels = jnp.asarray(images), jnp.asarray(kernels)
    (rows, columns, channels), (_, height, width, seen) = images.shape[-3:], kernels.shape
    if channels != seen or (boundary != "full" and not (height <= rows and width <= columns)):
        raise ValueError(f"kernels must fit images of shape {images.shape[-3:]}, got {kernels.shape[1:]}")
    sides = (rows, columns) if boundary == "circular" else (rows + height - 1, columns + width - 1)
    affordable(transforms=(*images.shape[:-3], *sides, channels), kernels=(len(kernels), *sides, channels))
    waves, filters = (jnp.fft.rfft2(each, sides, axes=(-3, -2)) for each in (images, kernels))
    sums = jnp.fft.irfft2(jnp.einsum("...ijc,fijc->...ijf", waves, filters), sides, axes=(-3, -2))
    return sums[..., height - 1 : rows, width - 1 : columns, :] if boundary == "valid" else sums


class Convolution(eqx.Module):
    """A layer of filters that slides over an image; as in frameworks they are not turned (`correlate_images`)."""

    kernels: Float[AnyArray, "_filters _height _width _channels"]
    bias: Float[AnyArray, " _filters"]
    stride: Pair = eqx.field(static=True, default=1)
    padding: Pair = eqx.field(static=True, default=0)
    boundary: str = eqx.field(static=True, default="zeros")

    def __check_init__(self) -> None:
        _known(self.boundary)
        if np.shape(self.bias)[-1:] != np.shape(self.kernels)[-4:-3]:
            raise ValueError(
                f"bias must have one entry for each of the {len(self.kernels)} filters, got {len(self.bias)}"
            )

    def __call__(self, images: Images) -> Float[Array, "*batch new_rows new_columns filters"]:
        return correlate_images(
            images, self.kernels, self.bias, stride=self.stride, padding=self.padding, boundary=self.boundary
        )


def init_convolution(
    key: Key[Array, ""],
    channels: int,
    filters: int,
    window: Pair = 3,
    *,
    stride: Pair = 1,
    padding: Pair = 0,
    boundary: str = "zeros",
) -> Convolution:
    """Filters drawn from N(0, 2/(height · width · channels)), which keeps mean squares through ReLU, and no bias.

    `window`, `stride` and `padding` are one number or one for each axis. Reference: He et al. 2015.
    """
    height, width = pair(window)
    affordable(kernels=(filters, height, width, channels))
    draws = generator(key).standard_normal((filters, height, width, channels))
    return Convolution(draws * np.sqrt(2 / draws[0].size), np.zeros(filters), stride, padding, boundary)


def _known(boundary: str) -> None:
    if boundary not in ("zeros", "circular"):
        raise ValueError(f"boundary must be zeros or circular, got {boundary!r}")


def pair(sizes: Pair) -> tuple[int, int]:
    """One number for both axes, or one for each."""
    return (sizes, sizes) if isinstance(sizes, int) else sizes


doors(
    __name__,
    size="[1, ∞)",
    window="[1, 65536]",
    stride="[1, 65536]",
    padding="[0, 1024]",
    channels="[1, 65536]",
    filters="[1, 65536]",
)
