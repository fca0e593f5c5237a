"""Kernels of a network as its users get them, and how they go on through more layers."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array

from deeptheory.kernels.layers.layer import Demand, Layer, joined, parted
from deeptheory.kernels.limits.block import Block, static

FIELDS = ("nngp", "ntk", "cov1", "cov2")


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Kernel:
    """Kernels of a network between two sets of inputs.

    `nngp` is the covariance of outputs over random weights, `ntk` the tangent kernel (None if not asked for), `cov1`
    and `cov2` the covariance of every input with itself (cov2 is None when both sets are one). Outputs with positions
    (images that were neither pooled nor flattened) have shape (n, m, h, h, w, w), or (n, m, h, w) when
    `diagonal_spatial`, which others are not. `shape1`, `shape2` are shapes of the outputs.
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

    def replace(self, **changes: Any) -> "Kernel":
        return replace(self, **changes)


def continued_kernel(
    network: Layer, kernel: Any, *, pattern: tuple[Any, Any] = (None, None), hidden: tuple[Any, Any] = (None, None)
) -> Any:
    """Return the kernels after more layers, from those before them: `limit_kernel` of both networks in a row.

    A kernel needs its `cov1` (and `cov2` for two sets), and covariances between positions if the layers mix them.
    There may be several, as after a fan-out. Nothing is cut into tiles.
    """
    for each in _flat(kernel):
        if each.nngp is None or each.cov1 is None or not (each.x1_is_x2 or each.cov2 is not None):
            raise ValueError("more layers need all of a kernel before them: compute it with nngp, cov1 and cov2")
        diagonal = each.diagonal_spatial
        demand = network.demand(Demand(not diagonal, True, not diagonal))
        if len(each.shape1) > 2 and diagonal and (demand.full or demand.full_variances):
            raise ValueError("these layers mix positions: compute the kernel before them without diagonal_spatial")
    return _continued(*parted(network), kernel, pattern, hidden)


def _is_kernel(tree: Any) -> bool:
    return isinstance(tree, Kernel)


def _flat(kernels: Any) -> list[Kernel]:
    return jax.tree.leaves(kernels, is_leaf=_is_kernel)


@partial(jax.jit, static_argnums=0)
def _continued(static: Layer, values: list[Array], kernels: Any, pattern: Any, hidden: Any) -> Any:
    network = joined(static, values)

    def blocks(field: str, side: int | None = None) -> Any:
        def block(kernel: Kernel, missing: Array | None = None) -> Block:
            covariance, paired, spatial = getattr(kernel, field), side is not None, tuple(kernel.shape1[1:-1])
            full = bool(spatial) and not kernel.diagonal_spatial
            tangent = None if paired else kernel.ntk
            numbers = [None if paired or not kernel.x1_is_x2 else jnp.arange(extent) for extent in covariance.shape[:2]]
            return Block(
                covariance=_inward(covariance, spatial, full, paired),
                tangent=None if tangent is None else _inward(tangent, spatial, full, paired),
                rows=numbers[0],
                columns=numbers[-1],
                graph=None if side is None else pattern[side],
                hidden=missing,
                spatial=spatial,
                channels=kernel.shape1[-1],
                full=full,
                paired=paired,
                with_tangent=tangent is not None,
                gaussian=kernel.is_gaussian,
                is_input=False,
            )

        places = [] if side is None or hidden[side] is None else [hidden[side]]
        return jax.tree.map(block, kernels, *places, is_leaf=_is_kernel)

    symmetric = _flat(kernels)[0].x1_is_x2
    own_left, record_left = network.follow(blocks("cov1", 0))
    own_right, record_right = (None, record_left) if symmetric else network.follow(blocks("cov2", 1))
    cross = network.kernel(blocks("nngp"), record_left, record_right)
    return kernels_of(
        network,
        [jax.tree.map(attrgetter(name), kernels, is_leaf=_is_kernel) for name in ("shape1", "shape2")],
        (cross, own_left, own_right),
        want=FIELDS,
        x1_is_x2=symmetric,
        diagonal_spatial=any(each.diagonal_spatial for each in _flat(kernels)),
    )


def kernels_of(
    network: Layer,
    shapes: Sequence[Any],
    blocks: Sequence[Any],
    *,
    want: Sequence[str],
    x1_is_x2: bool,
    diagonal_spatial: bool,
) -> Any:
    """Put a kernel together for every output: from its block of pairs, and those of each set with itself."""

    def kernel(shape1: Any, shape2: Any, cross: Block | None, left: Block | None, right: Block | None) -> Kernel:
        return Kernel(
            nngp=_arranged(cross, "covariance") if "nngp" in want else None,
            ntk=_arranged(cross, "tangent") if "ntk" in want else None,
            cov1=_arranged(left, "covariance") if "cov1" in want else None,
            cov2=_arranged(right, "covariance") if "cov2" in want else None,
            is_gaussian=next((b.gaussian for b in (cross, left) if b is not None), False),
            diagonal_spatial=diagonal_spatial and len(shape1) > 2,
            shape1=shape1,
            shape2=shape2,
            x1_is_x2=x1_is_x2,
        )

    def each(*parts: Any) -> Any:
        if not any(isinstance(part, tuple) for part in parts[2:]):
            return kernel(*parts)
        count = len(parts[0])
        return tuple(each(*some) for some in zip(*([None] * count if p is None else p for p in parts), strict=True))

    return each(*(_output_shape(network, shape) for shape in shapes), *blocks)


def _output_shape(network: Layer, shape: Any) -> Any:
    found: list[Any] = []

    def run() -> None:
        found.append(network.init(jax.random.key(0), shape)[0])

    jax.eval_shape(run)  # traced, so that no weight is drawn
    return jax.tree.map(int, tuple(found[0]))


def _inward(array: Array, spatial: tuple[int, ...], full: bool, paired: bool) -> Array:
    """Undo `_arranged`: positions of the left, then of the right, then the inputs."""
    batch, rank = 1 if paired else 2, len(spatial)
    order = [batch + 2 * axis + side for side in (0, 1) for axis in range(rank)] if full else range(batch, batch + rank)
    return jnp.transpose(array, (*order, *range(batch)))


def _arranged(block: Block | None, field: str) -> Array | None:
    """Bring inputs to the front and the two axes of every position side by side."""
    array = None if block is None else getattr(block, field)
    if array is None or block is None or not block.spatial:
        return array
    batch = array.ndim - len(block.spatial) * (2 if block.full else 1)
    order = [axis for pair in block.position_axes for axis in pair]
    return jnp.transpose(array, (*range(array.ndim - batch, array.ndim), *order))
