"""Filters: those that answer to edges, and how gradient descent finds filters by itself.

Reference: lucchi Sec. 10.1.3.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from deeptheory.architectures.feature_maps import Pair, correlate_images, output_size, pair
from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors

__all__ = ["edge_filters", "filter_gradient", "learn_filters", "mean_square"]

Images = Float[AnyArray, "n rows columns channels"]
Maps = Float[AnyArray, "n new_rows new_columns filters"]
Kernels = Float[AnyArray, "filters height width channels"]


def edge_filters() -> Float[np.ndarray, "2 3 3 1"]:
    """Sobel's two filters: the first answers to horizontal edges (a change down the rows), the second to vertical ones.

    Each is a difference across the edge times the smoothing [1, 2, 1] along it; on constant images both give zero, on
    an edge of height one the size is 4. Reference: lucchi Fig. 10.8.
    """
    horizontal = np.outer([-1.0, 0.0, 1.0], [1.0, 2.0, 1.0])
    return np.stack([horizontal, horizontal.T])[..., None]


def filter_gradient(
    images: Images, slopes: Maps, *, window: Pair, stride: Pair = 1, padding: Pair = 0
) -> Float[Array, "filters height width channels"]:
    """The derivative of a loss by the filters of `correlate_images`, given its derivative by the feature maps.

    ∂ℒ/∂K⁽ᵐ⁾[u, v, c] = Σ_{n,i,j} ∂ℒ/∂Y[n, i, j, m] · X[n, i s + u − p, j s + v − p, c]: a shared weight collects what
    every place says, so the gradient is the correlation of the input with the slopes. Reference: lucchi Sec. 10.1.3.
    """
    images, slopes = jnp.asarray(images), jnp.asarray(slopes)
    (height, width), (down, right), (above, beside) = pair(window), pair(stride), pair(padding)
    rows = output_size(images.shape[1], window=height, stride=down, padding=above)
    columns = output_size(images.shape[2], window=width, stride=right, padding=beside)
    if slopes.shape[1:3] != (rows, columns):
        raise ValueError(
            f"slopes must have {rows} × {columns} places for these images, windows, strides and paddings, "
            f"got {slopes.shape[1]} × {slopes.shape[2]}"
        )
    padded = jnp.pad(images, [(0, 0), (above, above), (beside, beside), (0, 0)])

    def seen(u: int, v: int) -> Array:
        part = padded[:, u : u + down * (rows - 1) + 1 : down, v : v + right * (columns - 1) + 1 : right]
        return jnp.einsum("nijc,nijm->mc", part, slopes)

    return jnp.stack([jnp.stack([seen(u, v) for v in range(width)], 1) for u in range(height)], 1)


def mean_square(
    kernels: Kernels, images: Images, targets: Maps, *, stride: Pair = 1, padding: Pair = 0
) -> Float[Array, ""]:
    """Half the mean square of what the filters give on the images less the targets, over images, places and filters.

    ½·mean (K⋆X − Y)², with K the `kernels` and ⋆ that of `correlate_images`.
    """
    return jnp.mean(_missed(kernels, images, targets, stride, padding) ** 2) / 2


def learn_filters(
    start: Kernels,
    images: Images,
    targets: Maps,
    *,
    rate: float,
    steps: int,
    stride: Pair = 1,
    padding: Pair = 0,
) -> tuple[Float[Array, "filters height width channels"], Float[Array, " steps"]]:
    """Filters after gradient descent W ← W − η ∂ℒ/∂W on `mean_square`, and the loss before every step.

    The loss is quadratic, so rates below 2 over the largest eigenvalue of the mean product of input patches converge,
    to the filters that made the targets if those patches span. Reference: lucchi Sec. 10.1.3.
    """
    images, targets = jnp.asarray(images), jnp.asarray(targets)
    start = jnp.asarray(start, jnp.result_type(start, images, targets))

    def step(kernels: Array, _: None) -> tuple[Array, Array]:
        missed = _missed(kernels, images, targets, stride, padding)
        slopes = missed / missed.size
        down = filter_gradient(images, slopes, window=(start.shape[1], start.shape[2]), stride=stride, padding=padding)
        return kernels - rate * down, jnp.mean(missed**2) / 2

    return jax.lax.scan(step, start, None, length=steps)


def _missed(kernels: Kernels, images: Images, targets: Maps, stride: Pair, padding: Pair) -> Array:
    maps = correlate_images(images, kernels, stride=stride, padding=padding)
    if maps.shape != targets.shape:
        raise ValueError(f"targets must have the shape {maps.shape} of the feature maps, got {targets.shape}")
    return maps - jnp.asarray(targets)


doors(
    __name__,
    window="[1, 65536]",
    stride="[1, 65536]",
    padding="[0, 1024]",
    rate="(0, ∞)",
    steps="[1, 1000000]",
)
