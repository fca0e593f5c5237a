"""Exact kernels of an infinitely wide network, in tiles that use symmetry and stay in cache.

Reference: lucchi 7.3; jagannath Thm 8.6; arora 9.4; Lee et al. 2018; Jacot, Gabriel and Hongler 2018; Novak et al.
2020.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from math import prod
from typing import Any, NamedTuple

import jax
import jax.core
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array

from deeptheory.foundations.entrances import doors
from deeptheory.kernels.layers.activations import Activation, RectifiedMonomial, Rectifier, Sign
from deeptheory.kernels.layers.combinators import Serial
from deeptheory.kernels.layers.layer import Demand, Layer, biased, joined, parted
from deeptheory.kernels.limits.block import Block, input_block
from deeptheory.kernels.limits.close_pairs import ALIKE, CLOSE, input_deficit, input_gaps, least_gap
from deeptheory.kernels.limits.kernel import FIELDS, kernels_of
from deeptheory.kernels.regression.tiles import tile_corners

__all__ = ["limit_kernel"]

TILE = {1: 384, 2: 4}
"""Entries of a tile along the batch: at most the first for vectors; at least the second for images."""
TILE_ENTRIES = 2**20
"""Covariances a tile of images holds: 4 MB in single precision, the third-level cache's share of a core."""


class _Plan(NamedTuple):
    """What is asked of a network, known before any number is."""

    want: tuple[str, ...]
    diagonal_spatial: bool
    tile: int | None
    demand: Demand


def limit_kernel(
    network: Layer,
    x: Any,
    other: Any = None,
    *,
    want: Sequence[str] = FIELDS,
    diagonal_spatial: bool = False,
    tile: int | None = None,
    pattern: tuple[Any, Any] = (None, None),
    hidden: tuple[Any, Any] = (None, None),
) -> Any:
    """Return the NNGP and tangent kernels of a network as the widths of its hidden layers go to infinity.

    Inputs are (batch, positions…, channels); with `other` left out, x against itself. The first covariance is xᵀx'/c.
    Only what `want` names is computed. Pairs are processed in tiles of `tile` inputs a side (chosen by size if None),
    the upper triangle alone when both sets are one, so memory beyond the result stays that of a tile. The diagonal is
    exact; at coinciding inputs gradients are the mean of the one-sided derivatives. `pattern` holds the graphs of both
    sets for a network with `Aggregate` layers, `hidden` says for one made by `masked` which positions are missing.

    A network that starts in parallel branches takes a tuple of arrays, nested as its branches are; one that ends in
    several returns such a tuple of kernels.
    """
    unknown = set(want) - set(FIELDS)
    if unknown:
        raise ValueError(f"a kernel has the fields {', '.join(FIELDS)}; {', '.join(sorted(unknown))} is none of them")
    if tile is not None and tile < 1:
        raise ValueError(f"a tile has at least 1 input a side, got {tile}")
    for name, pair in {"pattern": pattern, "hidden": hidden}.items():
        for each in jax.tree.leaves(pair):
            if not isinstance(each, np.ndarray | jax.Array):
                raise TypeError(f"{name} must be a pair of arrays, got {each!r:.60}")
    x = jax.tree.map(lambda each: checked_inputs(network, each, "x", masked=hidden[0] is not None), x)
    if other is not None:
        other = jax.tree.map(lambda each: checked_inputs(network, each, "other", masked=hidden[1] is not None), other)
        shapes, others = (jax.tree.map(lambda each: each.shape[1:], inputs) for inputs in (x, other))
        if shapes != others:
            raise ValueError(f"both sets need inputs of one shape, got {shapes} and {others}")
    variances = "cov1" in want or "cov2" in want
    demand = network.demand(Demand(not diagonal_spatial, variances, variances and not diagonal_spatial))
    plan = _Plan(tuple(want), diagonal_spatial, tile, demand)
    return _limit_kernel(*parted(network), x, other, plan, pattern, hidden)


def checked_inputs(network: Layer, x: Any, name: str, *, masked: bool = False) -> Array:
    """Return inputs as numbers that the network has kernels of, as far as their values are known."""
    if np.ndim(x) < 2:
        raise ValueError(f"{name} must have shape (batch, …, channels), got {np.shape(x)}")
    if 0 in np.shape(x):
        raise ValueError(f"{name} is empty: it has shape {np.shape(x)}")
    kind = jnp.result_type(x) if isinstance(x, jax.Array) else np.asarray(x).dtype
    if not any(jnp.issubdtype(kind, real) for real in (jnp.floating, jnp.integer, jnp.bool_)):
        raise TypeError(f"{name} must be an array of real numbers, got one of {kind}")
    x = jnp.asarray(x)
    if not jnp.issubdtype(x.dtype, jnp.floating):
        x = x.astype(jnp.result_type(float))
    if isinstance(x, jax.core.Tracer):
        return x
    values = np.asarray(x)
    if not np.isfinite(values).all():
        raise ValueError(f"{name} contains NaN or infinite values")
    zero = np.flatnonzero(~values.reshape(len(values), -1).any(1))
    if len(zero) and not masked and _unbiased(network):
        raise ValueError(
            f"row {zero[0]} of {name} is zero, and a first layer without biases gives it no variance: "
            "leave it out, or give that layer a b_std"
        )
    return x


def _unbiased(layer: Any) -> bool | None:
    """Say whether the first weights have no biases; None for a layer without weights."""
    if hasattr(layer, "b_std"):
        return not biased(layer)
    found = [
        each
        for each in map(_unbiased, (*getattr(layer, "layers", ()), *getattr(layer, "branches", ())))
        if each is not None
    ]
    return None if not found else any(found) if hasattr(layer, "branches") else found[0]


@partial(jax.jit, static_argnums=(0, 4))
def _limit_kernel(
    static: Layer, values: list[Array], x: Any, other: Any, plan: _Plan, pattern: tuple[Any, Any], hidden: Any
) -> Any:
    network, demand = joined(static, values), plan.demand
    left, right = (jax.tree.map(lambda each: jnp.moveaxis(each, 0, -2), inputs) for inputs in (x, other))

    def own(inputs: Any, graph: Array | None, missing: Any) -> tuple[Any, Any]:
        """Every input with itself: its covariance after the network, and what the layers record on the way."""

        def block(each: Array, places: Array | None = None) -> Block:
            made = input_block(each, each, full=demand.full_variances, paired=True, with_tangent=False, graph=graph)
            if made.full and _delicate(network, each.dtype):
                made = made.replace(**input_gaps(made, each, each))
            return made if places is None else replace(made, hidden=places)

        return network.follow(jax.tree.map(block, inputs, *([] if missing is None else [missing])))

    (own_left, record_left), (own_right, record_right) = (
        own(each, graph, missing) if demand.variances and each is not None else (None, None)
        for each, graph, missing in zip((left, right), pattern, hidden, strict=True)
    )
    symmetric = right is None
    if right is None:
        right, record_right = left, record_left
    cross = None
    if "nngp" in plan.want or "ntk" in plan.want:
        cross = _tiled(network, plan, left, right, record_left, record_right, symmetric)
    return kernels_of(
        network,
        [jax.tree.map(jnp.shape, inputs) for inputs in (x, x if other is None else other)],
        (cross, own_left, None if symmetric else own_right),
        want=plan.want,
        x1_is_x2=symmetric,
        diagonal_spatial=plan.diagonal_spatial,
    )


def _tile_side(plan: _Plan, spatial: tuple[int, ...]) -> int:
    if plan.tile is not None:
        return plan.tile
    entries = prod(spatial) ** (2 if plan.demand.full else 1)
    return TILE[1] if entries == 1 else max(TILE[2], int((TILE_ENTRIES / entries) ** 0.5))


def _tiled(
    network: Layer, plan: _Plan, left: Any, right: Any, record_left: Any, record_right: Any, symmetric: bool
) -> Any:
    """Run the pairs through the network tile by tile and put the tiles together."""
    inputs = jax.tree.leaves(left)
    count, other_count = inputs[0].shape[-2], jax.tree.leaves(right)[0].shape[-2]
    side = min(_tile_side(plan, each.shape[:-2]) for each in inputs)
    height, width = (-(-extent // -(-extent // side)) for extent in (count, other_count))  # equal tiles, at most `side`

    def tile(row: Any, column: Any) -> Any:
        def part(tree: Any, start: Any, extent: int, axis: int) -> Any:
            return jax.tree.map(lambda a: lax.dynamic_slice_in_dim(a, start, extent, axis % a.ndim), tree)

        pair = part(left, row, height, -2), part(right, column, width, -2)
        shared = partial(
            input_block,
            full=plan.demand.full,
            paired=False,
            with_tangent="ntk" in plan.want,
            rows=row + jnp.arange(height) if symmetric else None,
            columns=column + jnp.arange(width) if symmetric else None,
        )
        block = jax.tree.map(shared, *pair)
        records = part(record_left, row, height, -1), part(record_right, column, width, -1)

        def through(block: Any) -> Any:
            return jax.tree.map(_finished, network.kernel(block, *records), is_leaf=_is_block)

        if not isinstance(block, Block) or record_left is None or not _delicate(network, pair[0].dtype):
            return through(block)
        if block.spatial:
            begun = _begun(network, block, *records)

            def careful() -> Block:
                return through(block.replace(**input_gaps(block, *pair)))

            if begun.ends is None or _holds(network, _jumps):
                return careful()
            gap = least_gap(begun.block, *begun.ends)
            return lax.cond(gap < ALIKE, careful, lambda: _finished(begun.finish(begun.block)))
        same = block.rows[:, None] == block.columns if symmetric else None

        def careful() -> Block:
            deficit, surplus = input_deficit(*pair, block.covariance, same)
            return through(block.replace(deficit=deficit, surplus=surplus))

        gap = least_gap(block, *(jnp.mean(x * x, -1) for x in pair))
        if _holds(network, _kinked) and _holds(network, biased):  # a bias brings inputs together
            gap = network.approach(gap, *records)
        return lax.cond(gap < CLOSE, careful, lambda: through(block))

    if height == count and width == other_count:
        return tile(0, 0)
    starts = np.array(tile_corners(count, other_count, height, width, symmetric=symmetric), np.int32)
    shape = jax.eval_shape(tile, 0, 0)
    # Every entry is overwritten. Different constants, because equal ones would share memory and be copied apart.
    leaves, structure = jax.tree.flatten(shape)
    whole = [jnp.full((*a.shape[:-2], count, other_count), i, a.dtype) for i, a in enumerate(leaves)]
    result = jax.tree.unflatten(structure, whole)

    def place(step: Any, whole: Any, piece: Any) -> Any:
        row, column = jnp.asarray(starts)[step]
        if symmetric:
            turned = jax.tree.map(_mirrored, piece, is_leaf=_is_block)
            whole = jax.tree.map(lambda w, p: _put(w, p, column, row), whole, turned)
        return jax.tree.map(lambda w, p: _put(w, p, row, column), whole, piece)

    def advance(step: Any, state: tuple[Any, Any]) -> tuple[Any, Any]:
        whole, piece = state
        return place(step - 1, whole, piece), tile(*jnp.asarray(starts)[step])

    # A tile is put in place one step after it was computed: otherwise XLA merges computing and placing, and goes
    # through the last layer once more for every place. The zeros at the start go where the last tile will.
    nothing = jax.tree.map(lambda a: jnp.zeros(a.shape, a.dtype), shape)
    return place(-1, *lax.fori_loop(0, len(starts), advance, (result, nothing)))


class _Begun(NamedTuple):
    """A block before the first activation, what was recorded of both ends there, and how it goes on."""

    block: Any
    ends: tuple[Any, Any] | None
    finish: Callable[[Any], Any]


def _begun(layer: Any, block: Any, left: Any, right: Any) -> _Begun:
    """Follow a block to the first activation, if layers lead there in a row."""

    def nothing(block: Any) -> Any:
        return block

    if isinstance(layer, Activation):
        return _Begun(block, (left, right), _then(nothing, layer, left, right))
    if not isinstance(layer, Serial):
        return _Begun(layer.kernel(block, left, right), None, nothing)
    for i, part in enumerate(layer.layers):
        begun = _begun(part, block, left[i], right[i])
        if begun.ends is not None:
            rest = Serial(layer.layers[i + 1 :]), left[i + 1 :], right[i + 1 :]
            return begun._replace(finish=_then(begun.finish, *rest))
        block = begun.block
    return _Begun(block, None, nothing)


def _then(before: Callable[[Any], Any], layer: Layer, left: Any, right: Any) -> Callable[[Any], Any]:
    return lambda block: layer.kernel(before(block), left, right)


def _delicate(network: Layer, dtype: Any) -> bool:
    """Say whether rounding of nearly parallel inputs would show.

    Double precision has digits to spare, except through two jumps: θ = 1e-8 between equal inputs becomes √θ.
    """
    return _holds(network, _jumps) or (dtype == jnp.float32 and _holds(network, _steep))


def _is_block(tree: Any) -> bool:
    return isinstance(tree, Block)


def _finished(block: Block) -> Block:
    """Keep what a result holds; a tangent kernel that is wanted and None is zero."""
    if block.with_tangent and block.tangent is None:
        block = block.replace(tangent=jnp.zeros_like(block.covariance))
    return block.replace(rows=None, columns=None, deficit=None, surplus=None)


def _holds(layer: Any, what: Callable[[Any], bool]) -> bool:
    """Say whether something holds of any layer of a network."""
    parts = (*getattr(layer, "layers", ()), *getattr(layer, "branches", ()))
    return what(layer) or any(_holds(part, what) for part in parts)


def _steep(layer: Any) -> bool:
    return isinstance(layer, Activation) and layer.steep


def _kinked(layer: Any) -> bool:
    return isinstance(layer, Rectifier) or (isinstance(layer, RectifiedMonomial) and layer.degree < 2) or _jumps(layer)


def _jumps(layer: Any) -> bool:
    return isinstance(layer, Sign) or (isinstance(layer, RectifiedMonomial) and layer.degree == 0)


def _put(whole: Array, piece: Array, row: Any, column: Any) -> Array:
    zero = jnp.zeros((), row.dtype)
    return lax.dynamic_update_slice(whole, piece, (*(zero,) * (whole.ndim - 2), row, column))


def _mirrored(block: Block) -> Block:
    """Exchange left and right."""
    rank = len(block.spatial) if block.full else 0
    axes = (*range(rank, 2 * rank), *range(rank)) if block.full else tuple(range(len(block.spatial)))
    count = len(axes)
    return jax.tree.map(lambda a: jnp.transpose(a, (*axes, count + 1, count)), block)


doors(__name__)
