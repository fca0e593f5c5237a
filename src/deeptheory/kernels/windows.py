"""Sliding windows: paddings, and sums over windows of covariances."""

from collections.abc import Sequence

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array

PADDINGS = ("SAME", "VALID", "CIRCULAR")


def check_window(name: str, window: Sequence[int], strides: Sequence[int], padding: str) -> None:
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
    before, after = margins(extent, window, stride, padding)
    return (extent + before + after - window) // stride + 1


def wrap(x: Array, axes: Sequence[int], window: int, stride: int) -> Array:
    """Extend axes periodically, so that a VALID window afterwards is a CIRCULAR one."""
    for axis in axes:
        before, after = margins(x.shape[axis], window, stride, "SAME")
        pads = [(0, 0)] * x.ndim
        pads[axis] = (before, after)
        x = jnp.pad(x, pads, mode="wrap")
    return x


def window_sum(x: Array, axes: Sequence[int], window: int, stride: int, padding: str) -> Array:
    """Return Σ_δ x[…, s·i + δ − p, …], the axes (of one length) moving together.

    Two axes are the positions of both ends of a covariance: convolution weights tie them to one offset δ. Written as
    adding shifted parts in place: four times faster than adding padded copies (a condition at every entry), and a
    general convolution would cost the window squared.
    """
    if padding == "CIRCULAR":
        x, padding = wrap(x, axes, window, stride), "VALID"
    extent = x.shape[axes[0]]
    before, _ = margins(extent, window, stride, padding)
    result = output_extent(extent, window, stride, padding)

    def part(array: Array, start: int, stop: int, step: int) -> Array:
        for axis in axes:
            array = lax.slice_in_dim(array, start, stop, step, axis)
        return array

    total = None
    for offset in sorted(range(window), key=lambda d: abs(d - before)):  # the part that fills the result comes first
        first = max(0, -((offset - before) // stride))
        last = min(result - 1, (extent - 1 - offset + before) // stride)
        if last < first:
            continue
        start = first * stride + offset - before
        piece = part(x, start, start + (last - first) * stride + 1, stride)
        if first == 0 and last == result - 1:
            total = piece if total is None else total + piece
            continue
        if total is None:
            shape = list(x.shape)
            for axis in axes:
                shape[axis] = result
            total = jnp.zeros(shape, x.dtype)
        inside = tuple(slice(first, last + 1) if axis in axes else slice(None) for axis in range(x.ndim))
        total = total.at[inside].add(piece)
    if total is None:
        raise ValueError(f"a window of {window} does not fit an axis of {extent}")
    return total
