"""Pooling: what is left of a feature map when neighbourhoods are summarized by their largest or their mean value.

Reference: lucchi Sec. 10.1.4; Lin, Chen and Yan 2014 for averages over all places.
"""

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from deeptheory.architectures.feature_maps import Pair, pair
from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors

__all__ = ["average_pool", "global_average_pool", "global_max_pool", "max_pool"]

Images = Float[AnyArray, "*batch rows columns channels"]


def max_pool(
    images: Images, *, window: Pair = 2, stride: Pair | None = None
) -> Float[Array, "*batch new_rows new_columns channels"]:
    """The largest value in every window, channel by channel; `stride` is the window unless given.

    Places are counted as for a convolution without padding (`output_size`). The gradient goes to the entry that was
    largest. No output moves more than the largest change of an input. A shift of the input by one entry shifts the
    output only if the stride divides it. Reference: lucchi Sec. 10.1.4, Fig. 10.10.
    """
    return _pooled(images, window, stride, -jnp.inf, lax.max)


def average_pool(
    images: Images, *, window: Pair = 2, stride: Pair | None = None
) -> Float[Array, "*batch new_rows new_columns channels"]:
    """The mean of every window, channel by channel; `stride` is the window unless given (lucchi Sec. 10.1.4)."""
    height, width = pair(window)
    return _pooled(images, window, stride, 0.0, lax.add) / (height * width)


def global_max_pool(images: Images) -> Float[Array, "*batch channels"]:
    """The largest value of every channel, wherever it stands: what a shift does not change."""
    return jnp.asarray(images).max((-3, -2))


def global_average_pool(images: Images) -> Float[Array, "*batch channels"]:
    """The mean of every channel."""
    return jnp.asarray(images).mean((-3, -2))


def _pooled(images: Images, window: Pair, stride: Pair | None, empty: float, merge: object) -> Array:
    images = jnp.asarray(images)
    windows, strides = pair(window), pair(window if stride is None else stride)
    rows, columns = images.shape[-3:-1]
    if windows[0] > rows or windows[1] > columns:
        raise ValueError(f"window {windows[0]} × {windows[1]} does not fit into images of {rows} × {columns}")
    lead = (1,) * (images.ndim - 3)
    return lax.reduce_window(images, empty, merge, (*lead, *windows, 1), (*lead, *strides, 1), "VALID")  # type: ignore[arg-type]


doors(__name__, window="[1, 65536]", stride="[1, 65536]")
