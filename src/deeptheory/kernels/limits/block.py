"""Covariances on their way through a network: what every layer reads and returns."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array

__all__ = ["Block", "coincident", "equal_positions", "input_block", "left_of", "right_of", "variances"]

static = partial(field, metadata={"static": True})


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Block:
    """Covariance K and tangent kernel Θ between two sets of inputs at one layer of an infinitely wide network.

    Axes: positions of the left input, then (when `full`) positions of the right one, then the inputs themselves: two
    axes for all pairs, one when `paired`, that is when input i meets only itself. Positions come first so that a
    convolution shifts outer axes and the innermost loop runs over pairs. Without `full` only equal positions are kept.
    `tangent` is None where it is zero, or not wanted.
    """

    covariance: Any  # arrays, or while JAX plans a loop their shapes
    tangent: Any
    rows: Any  # numbers of the left and right inputs where the sets are the same: equal numbers, equal inputs
    columns: Any
    deficit: Any = None  # √(ab) − K where it is known better than by subtraction; a layer that does not know drops it
    surplus: Any = None  # √(ab) + K likewise
    graph: Any = None  # weights between positions that came with the inputs, of a paired block
    hidden: Any = None  # which positions of every input are missing, (inputs, positions…), of a paired block
    spatial: tuple[int, ...] = static(default=())
    channels: int = static(default=1)
    full: bool = static(default=False)
    paired: bool = static(default=False)
    with_tangent: bool = static(default=True)
    gaussian: bool = static(default=False)
    is_input: bool = static(default=True)

    def replace(self, **changes: Any) -> "Block":
        """Change fields: a new covariance voids the gaps that are not given with it; arrays keep their precision."""
        if "covariance" in changes:
            changes = {"deficit": None, "surplus": None} | changes
        arrays = {
            name: changes[name].astype(self.covariance.dtype)  # the constants of a layer may be wider
            for name in ("covariance", "tangent", "deficit", "surplus")
            if changes.get(name) is not None
        }
        return replace(self, **changes | arrays)

    def map(self, change: Callable[[Array], Array], **changes: Any) -> "Block":
        """Apply the same linear map to K and Θ."""
        tangent = None if self.tangent is None else change(self.tangent)
        return self.replace(covariance=change(self.covariance), tangent=tangent, **changes)

    def gaps(self, change: Callable[[Array], Array]) -> dict[str, Any]:
        """Return deficit and surplus, changed alike where they are known."""
        known = {"deficit": self.deficit, "surplus": self.surplus}
        return {name: None if gap is None else change(gap) for name, gap in known.items()}

    @property
    def position_axes(self) -> tuple[tuple[int, ...], ...]:
        """For every spatial dimension its axes: one, or left and right."""
        rank = len(self.spatial)
        return tuple((axis, axis + rank) if self.full else (axis,) for axis in range(rank))


def variances(block: Block) -> Array:
    """Return K of every input and position with itself, from a paired block: shape (positions…, inputs)."""
    if not block.full or not block.spatial:
        return block.covariance
    count = block.covariance.shape[-1]
    size = 1
    for extent in block.spatial:
        size *= extent
    matrix = block.covariance.reshape(size, size, count)
    return matrix[jnp.arange(size), jnp.arange(size)].reshape(*block.spatial, count)


def left_of(block: Block, values: Array) -> Array:
    """Reshape values of the left inputs, (positions…, inputs), to broadcast against the block."""
    if block.full:
        values = values.reshape(*block.spatial, *(1,) * len(block.spatial), values.shape[-1])
    return values if block.paired else values[..., :, None]


def right_of(block: Block, values: Array) -> Array:
    """Reshape values of the right inputs, (positions…, inputs), to broadcast against the block."""
    if block.full:
        values = values.reshape(*(1,) * len(block.spatial), *values.shape)
    return values if block.paired else values[..., None, :]


def coincident(block: Block) -> Array | bool | None:
    """Return where left and right are the same position of the same input: True for everywhere, None for unknown."""
    if block.paired and not block.full:
        return True
    if block.paired:
        same = jnp.ones((1,), bool)
    elif block.rows is None or block.columns is None:
        return None
    else:
        same = block.rows[:, None] == block.columns[None, :]
    return same & equal_positions(block) if block.full else same


def equal_positions(block: Block) -> Array:
    """Return where left and right are the same position, of a full block, to broadcast against it."""
    same = jnp.ones((), bool)
    for axes, extent in zip(block.position_axes, block.spatial, strict=True):
        shape = [extent if axis in axes else 1 for axis in range(block.covariance.ndim)]
        same = same & jnp.eye(extent, dtype=bool).reshape(shape)
    return same


def input_block(
    left: Array,
    right: Array,
    *,
    full: bool,
    paired: bool,
    with_tangent: bool,
    rows: Array | None = None,
    columns: Array | None = None,
    graph: Array | None = None,
) -> Block:
    """Return the block of raw inputs, arrays of shape (positions…, inputs, channels): K is the mean over channels."""
    *spatial, _, channels = left.shape
    rank = len(spatial)
    if paired:
        if full:
            left = left.reshape(*spatial, *(1,) * rank, *left.shape[rank:])
        covariance = jnp.sum(left * right, -1)
    elif full and channels <= 8:  # too thin for a matrix product: the sum fuses into what follows
        left = left.reshape(*spatial, *(1,) * rank, *left.shape[rank:])
        covariance = jnp.asarray(sum(left[..., :, None, c] * right[..., None, :, c] for c in range(channels)))
    elif full:
        product = jnp.tensordot(left, right, (-1, -1))  # positions, inputs, positions, inputs
        covariance = jnp.moveaxis(product, rank, 2 * rank)
    else:
        covariance = jnp.einsum("...ic,...jc->...ij", left, right)
    return Block(
        covariance=covariance / channels,
        tangent=None,
        rows=rows,
        columns=columns,
        graph=graph,
        spatial=tuple(spatial),
        channels=channels,
        full=full and rank > 0,
        paired=paired,
        with_tangent=with_tangent,
    )
