"""Pooling and flattening: linear maps of positions, without weights.

Reference: Novak et al. 2019; Arora et al. 2019, On exact computation with an infinitely wide neural net.
"""

from dataclasses import dataclass
from math import prod

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from deeptheory.foundations.entrances import doors
from deeptheory.kernels.layers.layer import Demand, Layer, check_shape, one_block
from deeptheory.kernels.layers.windows import check_window, window_extents, window_sum
from deeptheory.kernels.limits.block import variances
from deeptheory.kernels.limits.close_pairs import mixing_gap

__all__ = ["AvgPool", "Flatten", "GlobalAvgPool", "GlobalSumPool", "SumPool"]


@dataclass(frozen=True)
class Pool(Layer):
    """Sums over windows; if `average` divided by the window's size, or by its part inside if `normalize_edges`."""

    window: tuple[int, ...]
    strides: tuple[int, ...] | None = None
    padding: str = "VALID"
    average: bool = True
    normalize_edges: bool = False

    def __post_init__(self) -> None:
        check_window("Pool", self.window, self.steps, self.padding)

    @property
    def steps(self) -> tuple[int, ...]:
        return self.strides or (1,) * len(self.window)

    def init(self, key, shape):
        check_shape("Pool", shape, len(self.window))
        spatial = window_extents("Pool", tuple(shape[1:-1]), self.window, self.steps, self.padding)
        return (shape[0], *spatial, shape[-1]), ()

    def _pooled(self, x: Array, dimension: int, axis: int) -> Array:
        """Pool along one axis."""
        window, stride = self.window[dimension], self.steps[dimension]
        inside = None
        if self.average and self.normalize_edges and self.padding == "SAME":
            shape = [x.shape[axis] if each == axis else 1 for each in range(x.ndim)]
            inside = window_sum(jnp.ones(shape, x.dtype), (axis,), window, stride, self.padding)
        total = window_sum(x, (axis,), window, stride, self.padding)
        return total / (inside if inside is not None else window) if self.average else total

    def apply(self, parameters, x, *, key=None, **extra):
        check_shape("Pool", x.shape, len(self.window))
        for dimension in range(len(self.window)):
            x = self._pooled(x, dimension, dimension + 1)
        return x

    def demand(self, wanted):
        return Demand(True, wanted.variances, wanted.variances or wanted.full_variances)

    def kernel(self, block, left, right):
        block = one_block("Pool", block)
        if len(block.spatial) != len(self.window):
            raise ValueError(f"a pool with window {self.window} met inputs with positions {block.spatial}")
        axes = block.position_axes

        def pool(array: Array) -> Array:
            for dimension, pair in enumerate(axes):
                for axis in pair:
                    array = self._pooled(array, dimension, axis)
            return array

        spatial = self.init(None, (1, *block.spatial, 1))[0][1:-1]
        return block.map(pool, spatial=tuple(spatial))


def AvgPool(
    window: tuple[int, ...],
    strides: tuple[int, ...] | None = None,
    padding: str = "VALID",
    *,
    normalize_edges: bool = False,
) -> Pool:
    """Means over windows of positions, K ← mean over both windows of K.

    `window` and `strides` have one extent for every position axis (strides of 1 if None); `padding` is "VALID", "SAME"
    or "CIRCULAR". With "SAME", `normalize_edges` divides by the part of a window that lies inside.
    """
    return Pool(window, strides, padding, True, normalize_edges)


def SumPool(window: tuple[int, ...], strides: tuple[int, ...] | None = None, padding: str = "VALID") -> Pool:
    """Sums over windows of positions; arguments as of `AvgPool`. The kernel grows by the squared window size."""
    return Pool(window, strides, padding, False)


@dataclass(frozen=True)
class GlobalPool(Layer):
    """The mean, or sum, over all positions."""

    average: bool = True

    def init(self, key, shape):
        check_shape("GlobalPool", shape)
        return (shape[0], shape[-1]), ()

    def apply(self, parameters, x, *, key=None, **extra):
        axes = tuple(range(1, x.ndim - 1))
        return jnp.mean(x, axes) if self.average else jnp.sum(x, axes)

    def demand(self, wanted):
        return Demand(True, wanted.variances, wanted.variances)

    def kernel(self, block, left, right):
        block = one_block("GlobalPool", block)
        axes = tuple(axis for pair in block.position_axes for axis in pair)
        pool = jnp.mean if self.average else jnp.sum
        return block.map(lambda array: pool(array, axes), spatial=(), full=False)


def GlobalAvgPool() -> GlobalPool:
    """The mean over all positions: K ← the mean over all pairs of positions. Costs as many entries as such pairs."""
    return GlobalPool(True)


def GlobalSumPool() -> GlobalPool:
    """The sum over all positions: K ← the sum over all pairs of positions, so it grows with the image."""
    return GlobalPool(False)


@dataclass(frozen=True)
class Flatten(Layer):
    """Positions and channels become channels: covariances of equal positions are averaged, others do not matter."""

    def init(self, key, shape):
        check_shape("Flatten", shape)
        return (shape[0], prod(shape[1:])), ()

    def apply(self, parameters, x, *, key=None, **extra):
        return x.reshape(x.shape[0], -1)

    def demand(self, wanted):
        return Demand(False, wanted.variances, False)

    def record(self, block):
        return variances(one_block("Flatten", block))

    def kernel(self, block, left, right):
        block = one_block("Flatten", block)
        rank, channels = len(block.spatial), block.channels * prod(block.spatial)

        def average(array: Array) -> Array:
            if block.full:
                size = prod(block.spatial)
                array = array.reshape(size, size, *array.shape[2 * rank :])[np.arange(size), np.arange(size)]
                return jnp.mean(array, 0)
            return jnp.mean(array, tuple(range(rank)))

        flat = block.map(average, spatial=(), full=False, channels=channels, gaussian=False)
        if block.deficit is None:
            return flat
        size = prod(block.spatial)
        parts = [own.reshape(size, -1) / size for own in (left, right)]
        rest = mixing_gap(flat, *parts)
        return flat.replace(**block.gaps(lambda gap: average(gap) + rest))


doors(__name__)
