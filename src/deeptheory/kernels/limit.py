"""Exact kernels of an infinitely wide network, in tiles that use symmetry and stay in cache."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Any, NamedTuple

import jax
import jax.core
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array

from deeptheory.doors import doors
from deeptheory.kernels.activations import Activation, RectifiedMonomial, Rectifier, Sign
from deeptheory.kernels.block import Block, input_block, static
from deeptheory.kernels.close_pairs import any_close, as_vectors, image_deficit, input_deficit
from deeptheory.kernels.layer import Demand, Layer, biased, joined, parted
from deeptheory.kernels.tiles import tile_corners

FIELDS = ("nngp", "ntk", "cov1", "cov2")
TILE = {1: 384, 2: 4}
"""Entries of a tile along the batch: at most the first for vectors; at least the second for images."""
TILE_ENTRIES = 2**20
"""Covariances a tile of images holds: 4 MB in single precision, the third-level cache's share of a core."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Kernel:
    """Kernels of a network between two sets of inputs.

    `nngp` is the covariance of outputs over random weights, `ntk` the tangent kernel (None if not asked for), `cov1`
    and `cov2` the covariance of every input with itself (cov2 is None when both sets are one). Outputs with positions
    (images that were neither pooled nor flattened) have shape (n, m, h, h, w, w), or (n, m, h, w) when
    `diagonal_spatial`. `shape1`, `shape2` are shapes of the outputs.
    """

    nngp: Any
    ntk: Any
    cov1: Any
    cov2: Any
    x1_is_x2: bool = static(default=False)
    is_gaussian: bool = static(default=False)
    diagonal_spatial: bool = static(default=False)
    shape1: tuple[int, ...] = static(default=())
    shape2: tuple[int, ...] = static(default=())


class _Plan(NamedTuple):
    """What is asked of a network, known before any number is."""

    want: tuple[str, ...]
    diagonal_spatial: bool
    tile: int | None
    demand: Demand


def limit_kernel(
    network: Layer,
    x: Array | np.ndarray,
    other: Array | np.ndarray | None = None,
    *,
    want: Sequence[str] = FIELDS,
    diagonal_spatial: bool = False,
    tile: int | None = None,
    pattern: tuple[Any, Any] = (None, None),
) -> Kernel:
    """Return the NNGP and tangent kernels of a network as the widths of its hidden layers go to infinity.

    Inputs are (batch, positions…, channels); with `other` left out, x against itself. The first covariance is xᵀx'/c.
    Only what `want` names is computed. Pairs are processed in tiles of `tile` inputs a side (chosen by size if None),
    the upper triangle alone when both sets are one, so memory beyond the result stays that of a tile. The diagonal is
    exact; at coinciding inputs gradients are the mean of the one-sided derivatives. `pattern` holds the graphs of both
    sets for a network with `Aggregate` layers.
    """
    unknown = set(want) - set(FIELDS)
    if unknown:
        raise ValueError(f"a kernel has the fields {', '.join(FIELDS)}; {', '.join(sorted(unknown))} is none of them")
    if tile is not None and tile < 1:
        raise ValueError(f"a tile has at least 1 input a side, got {tile}")
    x = _checked(network, x, "x")
    if other is not None:
        other = _checked(network, other, "other")
        if x.shape[1:] != other.shape[1:]:
            raise ValueError(f"both sets need inputs of one shape, got {x.shape[1:]} and {other.shape[1:]}")
    variances = "cov1" in want or "cov2" in want
    demand = network.demand(Demand(not diagonal_spatial, variances, variances and not diagonal_spatial))
    return _limit_kernel(*parted(network), x, other, _Plan(tuple(want), diagonal_spatial, tile, demand), pattern)


def _checked(network: Layer, x: Any, name: str) -> Array:
    if np.ndim(x) < 2:
        raise ValueError(f"{name} must have shape (batch, …, channels), got {np.shape(x)}")
    if 0 in np.shape(x):
        raise ValueError(f"{name} is empty: it has shape {np.shape(x)}")
    x = jnp.asarray(x)
    if not jnp.issubdtype(x.dtype, jnp.floating):
        x = x.astype(jnp.result_type(float))
    if isinstance(x, jax.core.Tracer):
        return x
    values = np.asarray(x)
    if not np.isfinite(values).all():
        raise ValueError(f"{name} contains NaN or infinite values")
    zero = np.flatnonzero(~values.reshape(len(values), -1).any(1))
    if len(zero) and _unbiased(network):
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
    static: Layer,
    values: list[Array],
    x: Array,
    other: Array | None,
    plan: _Plan,
    pattern: tuple[Array | None, Array | None],
) -> Kernel:
    network, demand = joined(static, values), plan.demand
    left = jnp.moveaxis(x, 0, -2)
    right = None if other is None else jnp.moveaxis(other, 0, -2)

    def own(inputs: Array, graph: Array | None) -> tuple[Block, Any]:
        """Every input with itself: its covariance after the network, and what the layers record on the way."""
        full = demand.full_variances
        return network.follow(input_block(inputs, inputs, full=full, paired=True, with_tangent=False, graph=graph))

    (own_left, record_left), (own_right, record_right) = (
        own(each, graph) if demand.variances and each is not None else (None, None)
        for each, graph in zip((left, right), pattern, strict=True)
    )
    symmetric = right is None
    if right is None:
        right, record_right = left, record_left
    cross = None
    if "nngp" in plan.want or "ntk" in plan.want:
        cross = _tiled(network, plan, left, right, record_left, record_right, symmetric)
    shape1 = _output_shape(network, x.shape)
    return Kernel(
        nngp=_arranged(cross, "covariance") if "nngp" in plan.want else None,
        ntk=_arranged(cross, "tangent") if "ntk" in plan.want else None,
        cov1=_arranged(own_left, "covariance") if "cov1" in plan.want else None,
        cov2=_arranged(own_right, "covariance") if "cov2" in plan.want and not symmetric else None,
        x1_is_x2=symmetric,
        is_gaussian=next((b.gaussian for b in (cross, own_left) if b is not None), False),
        diagonal_spatial=plan.diagonal_spatial,
        shape1=shape1,
        shape2=shape1 if other is None else (other.shape[0], *shape1[1:]),
    )


def continued_kernel(network: Layer, kernel: Kernel) -> Kernel:
    """Return the kernels after more layers, from those before them: `limit_kernel` of both networks in a row.

    The kernel needs its `cov1` (and `cov2` for two sets), and covariances between positions if the layers mix them.
    Nothing is cut into tiles.
    """
    variances = kernel.cov1 is not None
    if kernel.nngp is None or not variances or not (kernel.x1_is_x2 or kernel.cov2 is not None):
        raise ValueError("more layers need all of a kernel before them: compute it with nngp, cov1 and cov2")
    spatial = tuple(kernel.shape1[1:-1])
    full = bool(spatial) and not kernel.diagonal_spatial
    demand = network.demand(Demand(not kernel.diagonal_spatial, True, not kernel.diagonal_spatial))
    if spatial and not full and (demand.full or demand.full_variances):
        raise ValueError("these layers mix positions: compute the kernel before them without diagonal_spatial")
    return _continued(*parted(network), kernel, full)


@partial(jax.jit, static_argnums=(0, 3))
def _continued(static: Layer, values: list[Array], kernel: Kernel, full: bool) -> Kernel:
    network, spatial = joined(static, values), tuple(kernel.shape1[1:-1])

    def block(covariance: Array, tangent: Array | None, paired: bool) -> Block:
        numbers = [None if paired or not kernel.x1_is_x2 else jnp.arange(extent) for extent in covariance.shape[:2]]
        return Block(
            covariance=_inward(covariance, spatial, full, paired),
            tangent=None if tangent is None else _inward(tangent, spatial, full, paired),
            rows=numbers[0],
            columns=numbers[-1],
            spatial=spatial,
            channels=kernel.shape1[-1],
            full=full,
            paired=paired,
            with_tangent=tangent is not None,
            gaussian=kernel.is_gaussian,
            is_input=False,
        )

    own_left, record_left = network.follow(block(kernel.cov1, None, True))
    own_right, record_right = own_left, record_left
    if not kernel.x1_is_x2:
        own_right, record_right = network.follow(block(kernel.cov2, None, True))
    cross = network.kernel(block(kernel.nngp, kernel.ntk, False), record_left, record_right)
    shape = _output_shape(network, kernel.shape1)
    return Kernel(
        nngp=_arranged(cross, "covariance"),
        ntk=_arranged(cross, "tangent"),
        cov1=_arranged(own_left, "covariance"),
        cov2=None if kernel.x1_is_x2 else _arranged(own_right, "covariance"),
        x1_is_x2=kernel.x1_is_x2,
        is_gaussian=cross.gaussian,
        diagonal_spatial=kernel.diagonal_spatial,
        shape1=shape,
        shape2=(kernel.shape2[0], *shape[1:]),
    )


def _inward(array: Array, spatial: tuple[int, ...], full: bool, paired: bool) -> Array:
    """Undo `_arranged`: positions of the left, then of the right, then the inputs."""
    batch, rank = 1 if paired else 2, len(spatial)
    order = [batch + 2 * axis + side for side in (0, 1) for axis in range(rank)] if full else range(batch, batch + rank)
    return jnp.transpose(array, (*order, *range(batch)))


def _output_shape(network: Layer, shape: tuple[int, ...]) -> tuple[int, ...]:
    found: list[Any] = []

    def run() -> None:
        found.append(network.init(jax.random.key(0), shape)[0])

    jax.eval_shape(run)  # traced, so that no weight is drawn
    return tuple(int(extent) for extent in found[0])


def _tile_side(plan: _Plan, spatial: tuple[int, ...]) -> int:
    if plan.tile is not None:
        return plan.tile
    entries = prod(spatial) ** (2 if plan.demand.full else 1)
    return TILE[1] if entries == 1 else max(TILE[2], int((TILE_ENTRIES / entries) ** 0.5))


def _tiled(
    network: Layer, plan: _Plan, left: Array, right: Array, record_left: Any, record_right: Any, symmetric: bool
) -> Block:
    """Run the pairs through the network tile by tile and put the tiles together."""
    count, other_count, rank = left.shape[-2], right.shape[-2], left.ndim - 2
    side = _tile_side(plan, left.shape[:rank])
    height, width = (-(-extent // -(-extent // side)) for extent in (count, other_count))  # equal tiles, at most `side`

    def tile(row: Any, column: Any) -> Block:
        def part(tree: Any, start: Any, extent: int, axis: int) -> Any:
            return jax.tree.map(lambda a: lax.dynamic_slice_in_dim(a, start, extent, axis), tree)

        block = input_block(
            part(left, row, height, rank),
            part(right, column, width, rank),
            full=plan.demand.full,
            paired=False,
            with_tangent="ntk" in plan.want,
            rows=row + jnp.arange(height) if symmetric else None,
            columns=column + jnp.arange(width) if symmetric else None,
        )
        records = part(record_left, row, height, -1), part(record_right, column, width, -1)

        def through(block: Block) -> Block:
            block = network.kernel(block, *records)
            if not isinstance(block, Block):
                raise ValueError("the network ends in several branches: join them with a FanIn layer")
            if block.with_tangent and block.tangent is None:
                block = block.replace(tangent=jnp.zeros_like(block.covariance))
            return block.replace(rows=None, columns=None, deficit=None, surplus=None)

        # Double precision has digits to spare, except through two jumps: θ = 1e-8 between equal inputs becomes √θ.
        exact = left.dtype != jnp.float32 and not _holds(network, _jumps)
        if exact or record_left is None or not _holds(network, _steep):
            return through(block)
        pair = part(left, row, height, rank), part(right, column, width, rank)
        one, two = map(as_vectors, pair)
        same = block.rows[:, None] == block.columns if symmetric else None
        covariance = one @ two.T / one.shape[1] if rank else block.covariance

        def careful() -> Block:
            if rank:
                return through(block.replace(deficit=image_deficit(*pair, full=block.full)))
            deficit, surplus = input_deficit(one, two, covariance, same)
            return through(block.replace(deficit=deficit, surplus=surplus))

        # A bias brings inputs together that were not. (Images would take four times as long.)
        if not rank and _holds(network, _kinked) and _holds(network, biased):
            return careful()
        return lax.cond(any_close(one, two, covariance, same), careful, lambda: through(block))

    if height == count and width == other_count:
        return tile(0, 0)
    starts = np.array(tile_corners(count, other_count, height, width, symmetric=symmetric), np.int32)
    shape = jax.eval_shape(tile, 0, 0)
    # Every entry is overwritten. Different constants, because equal ones would share memory and be copied apart.
    leaves, structure = jax.tree.flatten(shape)
    whole = [jnp.full((*a.shape[:-2], count, other_count), i, a.dtype) for i, a in enumerate(leaves)]
    result = jax.tree.unflatten(structure, whole)

    def place(step: Any, whole: Block, piece: Block) -> Block:
        row, column = jnp.asarray(starts)[step]
        if symmetric:
            whole = jax.tree.map(lambda w, p: _put(w, p, column, row), whole, _mirrored(piece))
        return jax.tree.map(lambda w, p: _put(w, p, row, column), whole, piece)

    def advance(step: Any, state: tuple[Block, Block]) -> tuple[Block, Block]:
        whole, piece = state
        return place(step - 1, whole, piece), tile(*jnp.asarray(starts)[step])

    # A tile is put in place one step after it was computed: otherwise XLA merges computing and placing, and goes
    # through the last layer once more for every place. The zeros at the start go where the last tile will.
    nothing = jax.tree.map(lambda a: jnp.zeros(a.shape, a.dtype), shape)
    return place(-1, *lax.fori_loop(0, len(starts), advance, (result, nothing)))


def _holds(layer: Any, what: Callable[[Any], bool]) -> bool:
    """Say whether something holds of any layer of a network."""
    parts = (*getattr(layer, "layers", ()), *getattr(layer, "branches", ()))
    return what(layer) or any(_holds(part, what) for part in parts)


def _steep(layer: Any) -> bool:
    return isinstance(layer, Activation) and layer.steep


def _kinked(layer: Any) -> bool:
    return isinstance(layer, Rectifier) or _jumps(layer)


def _jumps(layer: Any) -> bool:
    return isinstance(layer, Sign | RectifiedMonomial)


def _put(whole: Array, piece: Array, row: Any, column: Any) -> Array:
    zero = jnp.zeros((), row.dtype)
    return lax.dynamic_update_slice(whole, piece, (*(zero,) * (whole.ndim - 2), row, column))


def _mirrored(block: Block) -> Block:
    """Exchange left and right."""
    rank = len(block.spatial) if block.full else 0
    axes = (*range(rank, 2 * rank), *range(rank)) if block.full else tuple(range(len(block.spatial)))
    count = len(axes)
    return jax.tree.map(lambda a: jnp.transpose(a, (*axes, count + 1, count)), block)


def _arranged(block: Block | None, field: str) -> Array | None:
    """Bring inputs to the front and the two axes of every position side by side."""
    array = None if block is None else getattr(block, field)
    if array is None or block is None or not block.spatial:
        return array
    batch = array.ndim - len(block.spatial) * (2 if block.full else 1)
    order = [axis for pair in block.position_axes for axis in pair]
    return jnp.transpose(array, (*range(array.ndim - batch, array.ndim), *order))


doors(__name__)
