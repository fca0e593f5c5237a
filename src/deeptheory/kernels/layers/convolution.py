"""Convolutions: weights shared between positions, one set a position, and transposed.

Reference: Novak et al. 2019, Bayesian deep convolutional networks with many channels are Gaussian processes;
Garriga-Alonso, Rasmussen and Aitchison 2019; for the tangent kernel Arora et al. 2019, On exact computation with an
infinitely wide neural net.
"""

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array

from deeptheory.foundations.entrances import doors
from deeptheory.kernels.layers.dense import Affine
from deeptheory.kernels.layers.layer import Layer, Scalar, check_shape, one_block, scaled, whole
from deeptheory.kernels.layers.windows import check_window, window_extents, window_parts, wrap
from deeptheory.kernels.limits.arcs import root
from deeptheory.kernels.limits.block import Block, equal_positions, left_of, right_of, variances
from deeptheory.kernels.limits.close_pairs import affine_gaps, mixing_gap

__all__ = ["Conv", "ConvLocal", "ConvTranspose"]

LETTERS = "XYZUVW"


def _numbers(rank: int) -> tuple[str, str, str]:
    letters = LETTERS[:rank]
    return f"N{letters}C", f"{letters}IO", f"N{letters}C"


@dataclass(frozen=True)
class Conv(Layer):
    """A convolution with any window, strides and SAME, VALID or CIRCULAR padding.

    Covariances of positions p, q after it are σ_w² times the mean over window offsets δ of those of sp + δ, sq + δ.

    `width` is the number of channels that come out, `window` and `strides` have an extent for every position axis
    (strides of 1 if None); `W_std` is σ_w and `b_std` σ_b (None: no bias); `parameterization` and `s` are those of
    `Dense`.
    """

    width: int
    window: tuple[int, ...]
    strides: tuple[int, ...] | None = None
    padding: str = "VALID"
    W_std: Scalar = 1.0
    b_std: Scalar | None = None
    parameterization: str = "ntk"
    s: tuple[int, int] = (1, 1)

    def __post_init__(self) -> None:
        whole(f"the width of a {type(self).__name__} layer", self.width)
        check_window(type(self).__name__, self.window, self.steps, self.padding)
        _ = self.affine

    @property
    def affine(self) -> Affine:
        return Affine(self.W_std, self.b_std, self.parameterization, self.s)

    @property
    def steps(self) -> tuple[int, ...]:
        return self.strides or (1,) * len(self.window)

    def fan_in(self, channels: int) -> int:
        return channels * prod(self.window)

    def extents(self, spatial: tuple[int, ...]) -> tuple[int, ...]:
        return window_extents(type(self).__name__, spatial, self.window, self.steps, self.padding)

    def init(self, key, shape):
        check_shape(type(self).__name__, shape, len(self.window))
        width, channels = self.affine.channels(self.width), shape[-1]
        biases = (*(1,) * (len(shape) - 1), width)
        weights = self.affine.draw(key, (*self.window, channels, width), biases, self.fan_in(channels))
        return (shape[0], *self.extents(tuple(shape[1:-1])), width), weights

    def check_inputs(self, x: Array, channels: int) -> None:
        check_shape(type(self).__name__, x.shape, len(self.window))
        if x.shape[-1] != channels:
            raise ValueError(
                f"{type(self).__name__} was made for {channels} channels and got inputs of shape {x.shape}"
            )

    def padded(self, x: Array) -> tuple[Array, str]:
        if self.padding != "CIRCULAR":
            return x, self.padding
        for axis, (window, stride) in enumerate(zip(self.window, self.steps, strict=True)):
            x = wrap(x, (axis + 1,), window, stride)
        return x, "VALID"

    def apply(self, parameters, x, *, key=None, **extra):
        weight, bias = parameters
        self.check_inputs(x, weight.shape[-2])
        fan_in = self.fan_in(x.shape[-1])
        x, padding = self.padded(x)
        numbers = _numbers(len(self.window))
        product = lax.conv_general_dilated(x, weight, self.steps, padding, dimension_numbers=numbers)
        return self.affine.scale(product, bias, fan_in)

    def averaged(self, block: Block) -> Block:
        """Take the mean over window offsets, one dimension after the other."""
        if len(block.spatial) != len(self.window):
            raise ValueError(
                f"{type(self).__name__} with window {self.window} met inputs with positions {block.spatial}"
            )
        return block.map(lambda array: self.mean(array, block.position_axes), spatial=self.extents(block.spatial))

    def shifted(self, array: Array, axes: Sequence[int], dimension: int) -> list[Array]:
        """Return what every offset of the window sees, along one dimension."""
        return window_parts(array, axes, self.window[dimension], self.steps[dimension], self.padding)

    def mean(self, array: Array, positions: Sequence[Sequence[int]]) -> Array:
        for dimension, axes in reversed(list(enumerate(positions))):
            array = reduce(operator.add, self.shifted(array, axes, dimension))
        return scaled(array, 1 / prod(self.window))

    def parts(self, values: Array) -> Array:
        """Return values over (positions…, inputs) as offsets of the window see them, (offsets, positions…, inputs)."""
        values = values[None]
        for dimension in range(len(self.window)):
            values = jnp.concatenate(self.shifted(values, (dimension + 1,), dimension))
        return values

    def record(self, block):
        return variances(one_block(type(self).__name__, block))

    def kernel(self, block, left, right):
        block = one_block(type(self).__name__, block)
        channels = self.affine.channels(self.width)
        moved = self.affine.move(self.averaged(block), self.fan_in(block.channels), channels=channels)
        if block.deficit is None:
            return moved
        parts = [self.parts(own) / prod(self.window) for own in (left, right)]
        rest = mixing_gap(moved, *parts)
        gaps = block.gaps(lambda gap: self.mean(gap, block.position_axes) + rest)
        after = left_of(moved, jnp.sum(parts[0], 0)), right_of(moved, jnp.sum(parts[1], 0))
        return moved.replace(**affine_gaps(gaps, *after, weight=self.W_std**2, bias=self.affine.shift))


@dataclass(frozen=True)
class ConvLocal(Conv):
    """A convolution with its own weights at every position: different positions become independent.

    Arguments are those of `Conv`.
    """

    def init(self, key, shape):
        check_shape("ConvLocal", shape, len(self.window))
        channels, spatial = shape[-1], self.extents(tuple(shape[1:-1]))
        width = self.affine.channels(self.width)
        weights = (*spatial, self.fan_in(channels), width)
        return (shape[0], *spatial, width), self.affine.draw(key, weights, (1, *spatial, width), self.fan_in(channels))

    def apply(self, parameters, x, *, key=None, **extra):
        weight, bias = parameters
        self.check_inputs(x, weight.shape[-2] // prod(self.window))
        if self.extents(x.shape[1:-1]) != weight.shape[:-2]:
            raise ValueError(f"ConvLocal was made for positions {weight.shape[:-2]} and got inputs of shape {x.shape}")
        fan_in = self.fan_in(x.shape[-1])
        x, padding = self.padded(x)
        numbers = _numbers(len(self.window))
        product = lax.conv_general_dilated_local(
            x, weight, self.steps, padding, filter_shape=self.window, dimension_numbers=numbers
        )
        return self.affine.scale(product, bias, fan_in)

    def kernel(self, block, left, right):
        moved = super().kernel(block, left, right)
        if not moved.full:
            return moved
        same, places = equal_positions(moved), [(axis,) for axis in range(len(self.window))]

        def apart(gap: Array) -> Array:
            ends = [scaled(self.mean(own, places), self.W_std**2) + self.affine.shift for own in (left, right)]
            return jnp.where(same, gap, root(left_of(moved, ends[0])) * root(right_of(moved, ends[1])))

        return moved.map(lambda array: jnp.where(same, array, 0), **moved.gaps(apart))


@dataclass(frozen=True)
class ConvTranspose(Conv):
    """A transposed (fractionally strided) convolution; CIRCULAR padding folds what overhangs back in.

    Arguments are those of `Conv`. Reference: Dumoulin and Visin 2016, A guide to convolution arithmetic for deep
    learning.
    """

    def extents(self, spatial):
        extent = {"VALID": lambda n, w, s: n * s + max(w - s, 0)}.get(self.padding, lambda n, w, s: n * s)
        return tuple(extent(n, w, s) for n, w, s in zip(spatial, self.window, self.steps, strict=True))

    def apply(self, parameters, x, *, key=None, **extra):
        weight, bias = parameters
        self.check_inputs(x, weight.shape[-2])
        numbers, circular = _numbers(len(self.window)), self.padding == "CIRCULAR"
        product = lax.conv_transpose(
            x, weight, self.steps, "VALID" if circular else self.padding, dimension_numbers=numbers
        )
        if circular:
            for axis, extent in enumerate(self.extents(x.shape[1:-1]), 1):
                product = _fold(product, axis, extent)
        return self.affine.scale(product, bias, self.fan_in(x.shape[-1]))

    def shifted(self, array, axes, dimension):
        extent, window, stride = array.shape[axes[0]], self.window[dimension], self.steps[dimension]
        parts = window_parts(_spread(array, axes, window, stride, self.padding), axes, window, 1, "VALID")
        if self.padding == "CIRCULAR":
            # Positions a period apart never share a weight, so without cross terms this holds on diagonals too.
            for axis in axes:
                parts = [_fold(part, axis, stride * extent) for part in parts]
        return parts


def _fold(x: Array, axis: int, extent: int) -> Array:
    """Sum entries a period apart; what overhangs is cut off evenly at both ends, one more at the far end."""
    before = (x.shape[axis] - extent) // 2
    lead = -before % extent
    pads = [(0, 0)] * x.ndim
    pads[axis] = (lead, -(lead + x.shape[axis]) % extent)
    x = jnp.pad(x, pads)
    return x.reshape(*x.shape[:axis], -1, extent, *x.shape[axis + 1 :]).sum(axis)


def _spread(x: Array, axes: Sequence[int], window: int, stride: int, padding: str) -> Array:
    """Dilate by the stride and pad, so that a VALID window afterwards is a transposed one."""
    if padding == "SAME":
        total = window + stride - 2
        before = window - 1 if stride > window - 1 else -(-total // 2)
    else:
        total, before = window + stride - 2 + max(window - stride, 0), window - 1
    config = [(0, 0, 0)] * x.ndim
    for axis in axes:
        config[axis] = (before, total - before, stride - 1)
    return lax.pad(x, jnp.zeros((), x.dtype), config)


doors(__name__)
