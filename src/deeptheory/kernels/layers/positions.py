"""Linear maps of positions that need no weights: contraction with a constant, resizing, indexing, graphs.

Reference: Novak et al. 2020; for graphs Du et al. 2019.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array

from deeptheory.foundations.entrances import doors
from deeptheory.kernels.layers.layer import Demand, Layer, check_shape, one_block, whole
from deeptheory.kernels.limits.block import Block

__all__ = ["Aggregate", "Contraction", "ImageResize", "Index"]


def full_matrix(block: Block, array: Array) -> Array:
    """Reshape a full block's array to (left positions, right positions, inputs…)."""
    size = prod(block.spatial)
    return array.reshape(size, size, *array.shape[2 * len(block.spatial) :])


def weighted(block: Block, left: Array, right: Array, spatial: tuple[int, ...]) -> Block:
    """Return Σ L[a, p] K[p, q] R[b, q] for weights (new positions, old positions[, inputs])."""
    if not block.full and block.spatial:
        raise ValueError("a map that mixes positions needs covariances between them")
    names = "apn,pqn,bqn->abn" if block.paired else "apn,pqnm,bqm->abnm"
    if left.ndim == 2:
        names = names.replace("apn", "ap")
    if right.ndim == 2:
        names = names.replace("bqn", "bq").replace("bqm", "bq")
    batch = block.covariance.shape[2 * len(block.spatial) :]

    def mix(array: Array) -> Array:
        mixed = jnp.einsum(names, left, full_matrix(block, array), right, optimize=True)
        return mixed.reshape(*spatial, *spatial, *batch)

    return block.map(mix, spatial=spatial, full=bool(spatial))


def needs_positions(wanted: Demand) -> Demand:
    # Also where no later layer asks for variances: an earlier one may, and its chain runs through this layer.
    return Demand(True, wanted.variances, True)


class LinearPositions(Layer):
    """A fixed linear map of the positions of every channel: K ← MKMᵀ, Θ ← MΘMᵀ."""

    def transform(self, x: Array) -> Array:
        """Map one channel of one input, an array over positions."""
        raise NotImplementedError

    def init(self, key, shape):
        check_shape(type(self).__name__, shape)
        found = jax.eval_shape(self.transform, jax.ShapeDtypeStruct(tuple(shape[1:-1]), jnp.result_type(float)))
        return (shape[0], *found.shape, shape[-1]), ()

    def apply(self, parameters, x, *, key=None, **extra):
        return jax.vmap(jax.vmap(self.transform), -1, -1)(x)

    def demand(self, wanted):
        return needs_positions(wanted)

    def kernel(self, block, left, right):
        block = one_block(type(self).__name__, block)
        size = prod(block.spatial)
        basis = jnp.eye(size, dtype=block.covariance.dtype).reshape(size, *block.spatial)
        images = jax.vmap(self.transform)(basis)
        matrix = images.reshape(size, -1).T
        if not block.spatial:  # a scalar factor
            return block.map(lambda array: array * matrix[0, 0] ** 2)
        return weighted(block, matrix, matrix, images.shape[1:])


@dataclass(frozen=True)
class ImageResize(LinearPositions):
    """Interpolation to other extents, as `jax.image.resize`: a linear map M of positions, K ← MKMᵀ.

    `extents` are those of the positions alone, without inputs and channels, where −1 keeps one; `method` and
    `antialias` are those of `jax.image.resize`.
    """

    extents: tuple[int, ...]
    method: str = "linear"
    antialias: bool = True

    def __post_init__(self) -> None:
        for extent in self.extents:
            if extent != -1:
                whole("an extent of ImageResize that is not -1", extent)
        try:
            jax.image.ResizeMethod.from_string(self.method)
        except ValueError:
            raise ValueError(f"method must be one that jax.image.resize knows, got {self.method!r}") from None

    def transform(self, x):
        if x.ndim != len(self.extents):
            raise ValueError(f"ImageResize to {self.extents} met inputs with positions {x.shape}")
        extents = [own if wanted == -1 else wanted for own, wanted in zip(x.shape, self.extents, strict=True)]
        return jax.image.resize(x, extents, self.method, antialias=self.antialias)


def check_index(name: str, index: tuple[Any, ...]) -> None:
    """Refuse to index by anything but whole numbers and slices: lists of places would move or join axes."""
    for place in index:
        if isinstance(place, bool) or not isinstance(place, int | np.integer | slice):
            raise TypeError(f"{name} must hold whole numbers and slices, got {' '.join(repr(place).split()):.60}")


@dataclass(frozen=True)
class Index(LinearPositions):
    """Some positions alone: integers and slices, one for every position axis."""

    index: tuple[Any, ...]

    def __post_init__(self) -> None:
        check_index("index", self.index)

    def transform(self, x):
        return self.chosen(x, self.index)

    @staticmethod
    def chosen(x: Array, index: tuple[Any, ...]) -> Array:
        """Return x[index]; JAX would move a position beyond the end back to it."""
        try:
            np.broadcast_to(np.empty(()), x.shape)[index]
        except IndexError as problem:
            raise ValueError(f"Index met inputs with positions {x.shape}: {problem}") from None
        return x[index]

    def __hash__(self) -> int:
        return hash(str(self.index))


@dataclass(frozen=True, eq=False)
class Contraction(LinearPositions):
    """`lax.dot_general` of the positions (batch and channels left out) with a constant, on the given side.

    `dimension_numbers` are those of `lax.dot_general`, ((contracted, contracted), (batch, batch)), of the left and of
    the right side; axis 0 is the first position axis. It is a linear map M of positions, K ← MKMᵀ.
    """

    constant: Any
    dimension_numbers: Any = (((), ()), ((), ()))
    constant_left: bool = False

    def transform(self, x):
        other = jnp.asarray(self.constant, x.dtype)
        sides = (other, x) if self.constant_left else (x, other)
        try:
            return lax.dot_general(*sides, self.dimension_numbers)
        except TypeError:
            raise ValueError(
                f"Contraction over axes {self.dimension_numbers} does not fit positions {x.shape} and a constant of "
                f"shape {other.shape}"
            ) from None


def adjacency(edges: Array, extents: tuple[int, ...]) -> Array:
    """Return how often two positions are an edge, (inputs, tail…, head…), from lists (inputs, edge, axis, 2)."""
    edges = jnp.asarray(edges).reshape(*edges.shape[:2], -1, 2)
    if edges.shape[2] != len(extents):
        raise ValueError(f"edges between positions {extents} have {len(extents)} coordinates each, got {edges.shape}")
    tails, heads = jnp.transpose(edges, (3, 0, 2, 1))  # each (inputs, axes, edges)
    present = (heads >= 0).all(1).astype(jnp.float32)  # counts, exact in any precision
    places = [jnp.maximum(ends[:, axis], 0) for ends in (tails, heads) for axis in range(len(extents))]
    empty = jnp.zeros((edges.shape[0], *extents, *extents), present.dtype)
    return empty.at[(jnp.arange(edges.shape[0])[:, None], *places)].add(present)


@dataclass(frozen=True)
class Aggregate(Layer):
    """Sums over the neighbours of a graph that comes with every input: `pattern[n, tail…, head…]` are edge weights.

    `axes` are the position axes the graph connects (0 is the first position axis); all of them if None. `listed` says
    that the pattern is a list of edges, `pattern[n, edge, axis, 0 or 1]` the coordinates of tail and head (a negative
    head: no edge; the axis may be left out if there is one). `decode` is applied to the pattern before. Where the graph
    is `optional`, nothing happens without one.
    """

    axes: tuple[int, ...] | None = None
    listed: bool = False
    decode: Callable[[Any], Any] | None = None
    optional: bool = False

    def _weights(self, pattern: Array, spatial: tuple[int, ...]) -> Array:
        """Return (inputs, new positions, old positions) over all positions."""
        rank = len(spatial)
        axes = tuple(range(rank)) if self.axes is None else tuple(axis % rank for axis in self.axes)
        extents = tuple(spatial[axis] for axis in axes)
        pattern = pattern if self.decode is None else self.decode(pattern)
        if self.listed:
            pattern = adjacency(pattern, extents)
        if pattern.shape[1:] != (*extents, *extents):
            raise ValueError(
                f"a graph over positions {extents} has shape (batch, {', '.join(map(str, extents * 2))}),"
                f" got {pattern.shape}"
            )
        size, others = prod(extents), [axis for axis in range(len(spatial)) if axis not in axes]
        rest = prod(spatial[axis] for axis in others)
        edges = jnp.swapaxes(pattern.reshape(-1, size, size), 1, 2)
        spread = jnp.einsum("nab,cd->nacbd", edges, jnp.eye(rest, dtype=edges.dtype))
        order = [*axes, *others]
        ordered = [spatial[axis] for axis in order]
        back = np.argsort(order)
        table = spread.reshape(-1, *ordered, *ordered)
        table = jnp.transpose(table, (0, *(1 + back), *(1 + rank + back)))
        return table.reshape(table.shape[0], size * rest, size * rest)

    def apply(self, parameters, x, *, key=None, pattern=None, **extra):
        if pattern is None:
            return self._absent(x)
        spatial = x.shape[1:-1]
        weights = self._weights(jnp.asarray(pattern), spatial)
        return (weights @ x.reshape(x.shape[0], -1, x.shape[-1])).reshape(x.shape)

    def _absent(self, unchanged: Any) -> Any:
        if not self.optional:
            raise ValueError("Aggregate needs the graph of every input: pass pattern=")
        return unchanged

    def demand(self, wanted):
        return Demand(True, True, True)

    def record(self, block):
        if block.graph is None:
            return self._absent(None)
        return jnp.moveaxis(self._weights(block.graph, block.spatial), 0, -1)

    def kernel(self, block, left, right):
        block = one_block("Aggregate", block)
        if left is None:
            return block
        return weighted(block, left, right, block.spatial)


doors(__name__)
