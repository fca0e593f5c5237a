"""Inputs with missing positions: sentences of different lengths, images with holes.

Which positions are missing after a layer follows from which were missing before it, whatever the values. So masks live
in one wrapper around each layer, and no layer knows of them: missing positions are set to zero, in finite networks and
in covariances alike, and means are taken over the others.
"""

from dataclasses import dataclass
from math import prod
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array

from deeptheory.kernels.layers.activations import Activation
from deeptheory.kernels.layers.attention import SelfAttention
from deeptheory.kernels.layers.combinators import FanInConcat, FanInProd, FanInSum, FanOut, Identity, Parallel, Serial
from deeptheory.kernels.layers.convolution import Conv, ConvLocal, ConvTranspose
from deeptheory.kernels.layers.dense import Dense
from deeptheory.kernels.layers.layer import Demand, Layer
from deeptheory.kernels.layers.normalization import Dropout, LayerNorm
from deeptheory.kernels.layers.pooling import Flatten, GlobalPool, Pool
from deeptheory.kernels.layers.positions import Aggregate, LinearPositions
from deeptheory.kernels.layers.windows import margins, output_extent
from deeptheory.kernels.limits.block import Block, left_of, right_of

__all__ = ["Masked", "MaskedArray", "hidden_after", "masked"]

WINDOWS = (Conv, ConvLocal, Pool)
POINTWISE = (Identity, Dense, Activation, LayerNorm, Dropout, Aggregate, SelfAttention)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class MaskedArray:
    """Values and where they are missing: a mask has an axis of length 1 for the channels."""

    masked_value: Any
    mask: Any


def masked(network: Layer) -> Layer:
    """Return a network that leaves missing positions out; its inputs are `MaskedArray`s, or come with `hidden`."""
    if isinstance(network, Serial):
        return Serial(tuple(map(masked, network.layers)))
    if isinstance(network, Parallel):
        return Parallel(tuple(map(masked, network.branches)))
    return network if isinstance(network, FanOut | Identity) else Masked(network)


def hidden_after(layer: Any, hidden: Any) -> Any:
    """Return which positions are missing after a layer, from those before it: True, over (inputs, positions…).

    A window has a value where the position at its centre has, a transposed one where all it spreads have; a map of
    positions where any that it reads has. A layer of another kind may say so itself, by a method `missing`.
    """
    if isinstance(layer, Serial):
        for part in layer.layers:
            hidden = hidden_after(part, hidden)
        return hidden
    if isinstance(layer, Parallel):
        return tuple(map(hidden_after, layer.branches, hidden))
    if isinstance(layer, FanOut):
        return (hidden,) * layer.count
    if isinstance(layer, POINTWISE):
        return hidden
    if isinstance(layer, FanInSum | FanInProd):
        return jnp.all(jnp.stack(hidden), 0)
    if isinstance(layer, FanInConcat):
        axis, channels = layer.axis % (hidden[0].ndim + 1), hidden[0].ndim
        return jnp.all(jnp.stack(hidden), 0) if axis == channels else jnp.concatenate(hidden, axis)
    if isinstance(layer, GlobalPool | Flatten):
        return jnp.all(hidden, tuple(range(1, hidden.ndim)))
    if type(layer) in WINDOWS:
        return _centres(layer, hidden)
    if isinstance(layer, ConvTranspose):
        return layer.mean(hidden.astype(float), [(axis,) for axis in range(1, hidden.ndim)]) > 0
    if isinstance(layer, LinearPositions):
        size = prod(hidden.shape[1:])
        basis = jnp.eye(size).reshape(size, *hidden.shape[1:])
        reads = jax.vmap(layer.transform)(basis) != 0
        return jnp.tensordot(1.0 - hidden.reshape(-1, size), reads.astype(float), 1) == 0
    if hasattr(layer, "missing"):
        return layer.missing(hidden)
    raise ValueError(f"{type(layer).__name__} has no rule for missing positions")


def _centres(layer: Any, hidden: Array) -> Array:
    for axis, (window, stride) in enumerate(zip(layer.window, layer.steps, strict=True), 1):
        extent = hidden.shape[axis]
        count = output_extent(extent, window, stride, layer.padding)
        if count != extent:
            first = (window - 1) // 2 - margins(extent, window, stride, layer.padding)[0]
            hidden = jax.lax.slice_in_dim(hidden, first, first + 1 + (count - 1) * stride, stride, axis)
    return hidden


@dataclass(frozen=True)
class Masked(Layer):
    """A layer between inputs of which some positions are missing."""

    layer: Layer

    def __post_init__(self) -> None:
        # Weights that leave out missing positions leave out their embeddings, too; here there are no such weights.
        own = self.layer
        if isinstance(own, SelfAttention) and not own.linear_scaling and own.embed_values and own.embedding != "NONE":
            raise ValueError("SelfAttention with square-root scaling and embedded values has no rule for missing ones")

    @property
    def layers(self) -> tuple[Layer, ...]:
        return (self.layer,)

    def init(self, key, shape):
        return self.layer.init(key, shape)

    def demand(self, wanted):
        before = self.layer.demand(wanted)
        return Demand(before.full, True, before.full_variances)  # masks travel with every input's own covariance

    def apply(self, parameters, x, *, key=None, **extra):
        values = jax.tree.map(lambda part: jnp.where(part.mask, 0, part.masked_value), x, is_leaf=_is_masked)
        before = jax.tree.map(lambda part: part.mask[..., 0], x, is_leaf=_is_masked)
        after = hidden_after(self.layer, before)
        if isinstance(self.layer, LayerNorm):
            result = _normalized(self.layer, values, x.mask)
        else:
            unseen = {"hidden": before} if isinstance(self.layer, SelfAttention) else {}
            result = self.layer.apply(parameters, values, key=key, **unseen, **extra)
        weights = self._weights(before, after, result.dtype)
        return MaskedArray(result * weights[..., None], after[..., None])

    def follow(self, block):
        before = jax.tree.map(lambda each: each.hidden, block, is_leaf=_is_block)
        after = hidden_after(self.layer, before)
        moved, record = self._attended(block, before) if self._attends else self.layer.follow(block)
        weights = jnp.moveaxis(self._weights(before, after, moved.covariance.dtype), 0, -1)
        if isinstance(self.layer, LayerNorm):  # its mean of variances ran over all positions
            there = jnp.moveaxis(1.0 - before, 0, -1)
            weights = weights * jnp.sqrt(self.layer.averaged(there)).astype(weights.dtype)
        return _weighted(moved, weights, weights).replace(hidden=after), (record, weights)

    def kernel(self, block, left, right):
        return _weighted(self.layer.kernel(block, left[0], right[0]), left[1], right[1])

    @property
    def _attends(self) -> bool:
        return isinstance(self.layer, SelfAttention) and self.layer.linear_scaling

    def _attended(self, block: Block, hidden: Array) -> tuple[Block, Array]:
        unseen = hidden.reshape(hidden.shape[0], -1).T  # (positions, inputs), as attention weights end
        record = self.layer.visible(self.layer.record(block), unseen, 1)  # type: ignore[attr-defined]
        return self.layer.kernel(block, record, record), record

    def _weights(self, before: Any, after: Array, dtype: Any) -> Array:
        """Return 0 where outputs are missing; what makes a mean run over the positions that are there; else 1."""
        weights = jnp.where(after, 0, 1)
        if isinstance(self.layer, GlobalPool) and self.layer.average:
            places = tuple(range(1, before.ndim))
            weights = weights * prod(before.shape[1:]) / jnp.maximum(jnp.sum(~before, places), 1)
        return weights.astype(dtype)


def _is_masked(tree: Any) -> bool:
    return isinstance(tree, MaskedArray)


def _is_block(tree: Any) -> bool:
    return isinstance(tree, Block)


def _weighted(block: Block, left: Array, right: Array) -> Block:
    weights = left_of(block, left) * right_of(block, right)
    return block.map(lambda array: array * weights, **block.gaps(lambda gap: gap * weights))


def _normalized(layer: LayerNorm, x: Array, mask: Array) -> Array:
    axes, there = layer.over(x.ndim), jnp.broadcast_to(~mask, x.shape)
    count = jnp.maximum(jnp.sum(there, axes, keepdims=True), 1)
    mean = jnp.sum(x, axes, keepdims=True) / count
    variance = jnp.sum(jnp.where(there, x - mean, 0) ** 2, axes, keepdims=True) / count
    return (x - mean) / jnp.sqrt(layer.eps + variance)
