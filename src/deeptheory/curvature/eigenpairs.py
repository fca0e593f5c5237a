"""Largest and smallest eigenvalues of a curvature with their vectors, each to a stated residual.

Lanczos with thick restarts (Wu and Simon 2000): when the basis is full, the Ritz vectors that matter stay and the rest
goes. Products are counted, because they are the cost: on a network everything else is a few per cent.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from deeptheory.curvature.operators import Curvature, finite_products
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.krylov import Krylov, expanded, krylov_start, length, ritz
from deeptheory.foundations.randomness import generator

__all__ = ["Eigenpairs", "extreme_eigenpairs"]

STRIDE = 4
"""Products between two looks at the residuals."""


class Eigenpairs(NamedTuple):
    """Eigenvalues, outermost first, unit eigenvectors in rows, residuals ‖Av − λv‖, and what they cost.

    `converged` says of each pair whether its residual is within the tolerance; `products` counts products.
    """

    values: Float[np.ndarray, " k"]
    vectors: Float[Array, "k p"]
    residuals: Float[np.ndarray, " k"]
    converged: np.ndarray
    products: int


@eqx.filter_jit(donate="all-except-first")
def _grown(curvature: Curvature, space: Krylov, until: Array, goal: tuple[Array, Array], wanted: tuple[int, bool]):
    """Grow until the wanted pairs look settled, in one program: what all products share is then computed once.

    `goal` is the residual that a pair may have, as a share of its eigenvalue and at least; `wanted` says how many
    pairs, and whether the largest.
    """
    (share, least), (count, largest) = goal, wanted

    def settled(space: Krylov) -> Array:
        far = 1 + 2 * length(space.projected)  # beyond all eigenvalues, on the side that is not wanted
        values, vectors = ritz(space, -far if largest else far)
        pairs = slice(-count, None) if largest else slice(count)
        residuals = space.beta * jnp.abs(vectors[space.filled - 1, pairs])
        return jnp.all(residuals <= jnp.maximum(share * jnp.abs(values[pairs]), least))

    def looked_at(space: Krylov) -> Array:
        due = (space.filled >= count) & (space.filled % STRIDE == 0)
        return jax.lax.cond(due, settled, lambda _: jnp.array(False), space)

    return expanded(curvature.prepared(), space, until, looked_at)


@eqx.filter_jit(donate="all-except-first")
def _restarted(weights: Float[Array, "m m"], space: Krylov) -> Krylov:
    """The space of the Ritz vectors that the columns of `weights` name; columns of zeros are room to grow."""
    values = weights.T @ space.projected @ weights
    return space._replace(basis=weights.T @ space.basis, projected=values)


def extreme_eigenpairs(
    curvature: Curvature,
    key: Key[Array, ""],
    *,
    count: int = 1,
    largest: bool = True,
    tolerance: float = 1e-4,
    basis: int | None = None,
    most: int = 1000,
) -> Eigenpairs:
    """The largest (or smallest, most negative) eigenvalues of a curvature, and their eigenvectors.

    Args:
        curvature: any of `deeptheory.curvature.operators`.
        key: draws the vector that the search starts from; an eigenvector orthogonal to it would not be found.
        count: how many pairs.
        tolerance: a pair counts as found when ‖Av − λv‖ ≤ tolerance·|λ|, for eigenvalues at zero ‖Av − λv‖ ≤
            tolerance·‖A‖·ε^½. Then |λ − eigenvalue| is at most tolerance²·λ²/gap, mostly far less than the tolerance.
        basis: directions kept in memory, at least count + 2; 3·count + 20 unless said. More need fewer products.
        most: products after which the search ends; pairs that are not found by then say so in `converged`.

    In single precision no residual falls below some 1e-6·‖A‖. Multiple eigenvalues are found once, as by every method
    that starts from one vector.
    """
    size = curvature.size
    count = min(count, size)
    room = min(size, basis or 3 * count + 20)
    if room < min(size, count + 2):
        raise ValueError(f"basis must be at least count + 2 = {count + 2}, got {basis}")
    start = jnp.asarray(generator(key).standard_normal(size), curvature.parameters.dtype)
    space = krylov_start(start, room)
    filled = used = 0
    sign = -1.0 if largest else 1.0
    least = 0.0
    while True:
        until = jnp.array(min(room, filled + most - used))
        goal = (jnp.array(tolerance, start.dtype), jnp.array(least, start.dtype))
        space = _grown(curvature, space, until, goal, (count, largest))
        reached, beta = int(space.filled), float(space.beta)
        used += reached - filled
        filled = reached
        projected = finite_products(space.projected)[:filled, :filled]
        values, weights = np.linalg.eigh((projected + projected.T) / 2)
        order = np.argsort(sign * values, kind="stable")
        values, weights = values[order], weights[:, order]
        residuals = beta * np.abs(weights[-1])
        least = max(least, tolerance * float(np.abs(values).max()) * float(jnp.finfo(start.dtype).eps) ** 0.5)
        found = residuals <= np.maximum(tolerance * np.abs(values), least)
        done = filled >= count and bool(found[:count].all())
        if done or used >= most or beta == 0:
            break
        if filled == room:
            # Half of the free directions stay: the wanted pairs and their neighbours, which shield them.
            kept = count + max(1, (room - count) // 2) if room - count > 2 else count
            padded = np.zeros((room, room))
            padded[:filled, :kept] = weights[:, :kept]
            space = _restarted(jnp.asarray(padded, space.basis.dtype), space)._replace(filled=jnp.array(kept))
            filled = kept
    shown = min(count, filled)
    rows = np.pad(weights[:, :shown], ((0, room - filled), (0, 0))).T  # of one shape, however many products it took
    vectors = jnp.asarray(rows, start.dtype) @ space.basis
    return Eigenpairs(values[:shown], vectors, residuals[:shown], found[:shown], used)


doors(__name__, count="[1, 1e4]", tolerance="(0, 1)", basis="[1, 1e5]", most="[1, 1e9]")
