"""Sliding windows: paddings, and sums over windows of covariances."""

import operator
from collections.abc import Sequence
from functools import reduce

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array

__all__ = ["check_window", "margins", "output_extent", "window_extents", "window_parts", "window_sum", "wrap"]

PADDINGS = ("SAME", "VALID", "CIRCULAR")


def check_window(name: str, window: Sequence[int], strides: Sequence[int], padding: str) -> None:
    """Refuse a window or stride that is not positive, strides that are not one for each extent, and other paddings."""
    if padding not in PADDINGS:
        raise ValueError(f"the padding of {name} must be one of {', '.join(PADDINGS)}, got {padding!r}")
    if len(window) != len(strides):
        raise ValueError(f"{name} needs as many strides as window extents, got {tuple(strides)} and {tuple(window)}")
    if min((*window, *strides, 1)) < 1:
        raise ValueError(
            f"window extents and strides of {name} must be positive, got {tuple(window)}, {tuple(strides)}"
        )


def margins(extent: int, window: int, stride: int, padding: str) -> tuple[int, int]:
    """Return how many places a padding adds before and after an axis."""
    if padding == "VALID":
        return 0, 0
    total = max((-(-extent // stride) - 1) * stride + window - extent, 0)
    return total // 2, total - total // 2


def output_extent(extent: int, window: int, stride: int, padding: str) -> int:
    """Return how many places a window visits along an axis of `extent` places; it must fit in at least once."""
    before, after = margins(extent, window, stride, padding)
    return (extent + before + after - window) // stride + 1


def window_extents(
    name: str, spatial: tuple[int, ...], window: Sequence[int], strides: Sequence[int], padding: str
) -> tuple[int, ...]:
    """Return the positions after a layer with a window, refusing a window that does not fit."""
    found = tuple(output_extent(n, w, s, padding) for n, w, s in zip(spatial, window, strides, strict=True))
    if min(found, default=1) < 1:
        raise ValueError(f"{name}: a window of {tuple(window)} does not fit positions {spatial} with {padding} padding")
    return found


def wrap(x: Array, axes: Sequence[int], window: int, stride: int) -> Array:
    """Extend axes periodically, so that a VALID window afterwards is a CIRCULAR one."""
    for axis in axes:
        before, after = margins(x.shape[axis], window, stride, "SAME")
        pads = [(0, 0)] * x.ndim
        pads[axis] = (before, after)
        x = jnp.pad(x, pads, mode="wrap")
    return x


def window_parts(x: Array, axes: Sequence[int], window: int, stride: int, padding: str) -> list[Array]:
    """Return x[…, s·i + δ − p, …] for every offset δ of a window, the axes (of one length) moving together.

    Two axes are the positions of both ends of a covariance: convolution weights tie them to one offset δ.
    """
    extent = x.shape[axes[0]]
    result = output_extent(extent, window, stride, padding)
    if result < 1:
        raise ValueError(f"a window of {window} does not fit an axis of {extent}")
    if padding == "CIRCULAR":
        x = wrap(x, axes, window, stride)
    else:
        ends = (*margins(extent, window, stride, padding), 0)
        x = lax.pad(x, jnp.zeros((), x.dtype), [ends if axis in axes else (0, 0, 0) for axis in range(x.ndim)])
    # Without the barrier every part would be computed anew, with a condition at every entry: eight times slower. Adding
    # the parts in place instead is not safe: XLA on CPUs reads entries of a fused product that it has overwritten.
    x = lax.optimization_barrier(x)

    def part(offset: int) -> Array:
        piece = x
        for axis in axes:
            piece = lax.slice_in_dim(piece, offset, offset + (result - 1) * stride + 1, stride, axis)
        return piece

    return [part(offset) for offset in range(window)]


def window_sum(x: Array, axes: Sequence[int], window: int, stride: int, padding: str) -> Array:
    """Return the sum over a window. It is padded once, then shifted; a general convolution costs the window squared."""
    return reduce(operator.add, window_parts(x, axes, window, stride, padding))
