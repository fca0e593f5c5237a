"""Products with the inverse of a damped curvature, (H + λ)⁻¹v, for many vectors v at once.

H is an operator of `deeptheory.curvature` and never written down, except where that is the point (`by_factorization`).
Each way returns the true residuals, computed afresh, so that what a caller gets is what it says.

Reference: arora Sec. 10.1.1; Golub and Van Loan, Matrix Computations (2013), for factorizations.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from deeptheory.curvature.operators import Curvature, dense
from deeptheory.foundations.entrances import doors

__all__ = [
    "Inverted",
    "by_conjugate_gradients",
    "by_factorization",
    "by_neumann_series",
    "by_sampled_neumann_series",
    "neumann_error",
]

Vectors = Float[Array, "k p"]
BLOCK = 128
"""vectors that share their directions: more would cost more in the algebra between them than they save in products"""
TOGETHER = 10_000
"""examples times vectors of one pass through the model: enough for fast matrix products, few enough for the caches"""
MOST = 20_000
"""parameters of the largest matrix that is written out: 3 gigabytes"""


class Inverted(NamedTuple):
    """Solutions w of (H + λ)w = v in rows, and ‖v − (H + λ)w‖/‖v‖ of each."""

    vectors: Vectors
    residuals: Float[Array, " k"]


def by_factorization(curvature: Curvature, vectors: Vectors, *, damping: float = 0.0) -> Inverted:
    """Solve with the matrix written out: p products, p² numbers, p³ operations. Some thousand parameters at most.

    Works for indefinite H too. A singular H + λ is refused; a `damping` λ mends that. `vectors` stand in rows.
    """
    if curvature.size > MOST:
        raise ValueError(f"curvature must have at most {MOST} rows to be written out, got {curvature.size}")
    matrix = dense(curvature) + damping * jnp.eye(curvature.size, dtype=curvature.parameters.dtype)
    return _checked(curvature, vectors, jnp.linalg.solve(matrix, vectors.T).T, damping)


def by_conjugate_gradients(
    curvature: Curvature, vectors: Vectors, *, damping: float = 0.0, tolerance: float = 1e-8, steps: int = 1000
) -> Inverted:
    """Solve by conjugate gradients in blocks of up to 128 vectors that share their search directions.

    Args:
        damping: λ, large enough that H + λ is positive definite; at a point that is no minimum −λ_min(H) or more.
            Where it is not, the residuals say so.
        tolerance: the relative residual at which all vectors of a block are done; single precision reaches about 1e-5.
        steps: the most products a vector may take.

    A single vector needs a number of products like √((λ_max + λ)/(λ_min + λ)); a block of k has minimized over k times
    as many directions after as many, and the few large eigenvalues of a network's Hessian are done with at once. The
    block's residual is kept as an orthonormal factor and its coordinates, so that dependent vectors do no harm, and the
    block narrows to what the vectors that are not done need.

    Reference: O'Leary 1980; Dubrulle 2001.
    """
    width = min(BLOCK, curvature.size)
    limits = jnp.asarray(damping, curvature.parameters.dtype), jnp.asarray(tolerance), jnp.asarray(steps)
    parts = [_block(curvature, vectors[start : start + width], *limits) for start in range(0, len(vectors), width)]
    return _checked(curvature, vectors, jnp.concatenate(parts), damping)


@eqx.filter_jit
def _block(curvature: Curvature, vectors: Vectors, damping: Array, tolerance: Array, steps: Array) -> Vectors:
    product = _products(curvature, damping)
    lengths = jnp.linalg.norm(vectors, axis=1, keepdims=True)

    # All in rows. The residuals are coordinates·(turn·rows) with turn·rows orthonormal, or zero from row `count` on.
    def turned(rows: Array, coordinates: Array, count: Any) -> tuple[Array, ...]:
        """The residuals coordinates·rows in a basis of those that are too long still, and how directions follow it."""
        rows, turn, factor = _orthonormal(rows, count)
        coordinates = coordinates @ factor
        long = jnp.linalg.norm(coordinates, axis=1, keepdims=True) > tolerance
        left, sizes, right = jnp.linalg.svd(jnp.where(long, coordinates, 0))
        kept = sizes > tolerance / 100
        right = jnp.where(kept[:, None], right, 0)
        return left * jnp.where(kept, sizes, 0), rows, right @ turn, right @ factor.T, jnp.sum(kept)

    def unfinished(state: tuple[Array, ...]) -> Array:
        *_, count, step = state
        return (count > 0) & (step < steps)

    def advance(state: tuple[Array, ...]) -> tuple[Array, ...]:
        found, directions, coordinates, rows, turn, carry, count, step = state
        basis = turn @ rows
        directions = basis + carry @ directions
        images = product(directions, count)
        absent = (jnp.arange(len(basis)) >= count).astype(basis.dtype)
        reach = jnp.linalg.inv(directions @ images.T + jnp.diag(absent))
        found = found + (coordinates @ reach) @ directions
        return found, directions, *turned(basis - reach @ images, coordinates, count), step + 1

    units, zeros = vectors / jnp.where(lengths > 0, lengths, 1), jnp.zeros_like(vectors)
    start = turned(units, jnp.eye(len(units), dtype=units.dtype), len(units))
    return lengths * jax.lax.while_loop(unfinished, advance, (zeros, zeros, *start, jnp.zeros((), steps.dtype)))[0]


def _products(curvature: Curvature, damping: Array) -> Callable[[Vectors, Any], Vectors]:
    """Products of H + λ with the first so many rows of a matrix, some rows at a time; the other rows are zero."""
    product = jax.vmap(curvature.prepared())

    def first(rows: Vectors, count: Any) -> Vectors:
        size = min(len(rows), max(TOGETHER // curvature.batch, 1))

        def some(part: Any, images: Array) -> Array:
            # A slice that would end beyond the last row is moved back by JAX: those rows are done twice, and alike.
            here = jax.lax.dynamic_slice_in_dim(rows, part * size, size)
            image = product(here) + (damping * here).astype(here.dtype)
            return jax.lax.dynamic_update_slice_in_dim(images, image, part * size, 0)

        return jax.lax.fori_loop(0, -(-count // size), some, jnp.zeros_like(rows))

    return first


def _orthonormal(rows: Array, count: Any) -> tuple[Array, Array, Array]:
    """Rows as factor·(turn·rows'), where turn·rows' has orthonormal rows, and zeros where they depend on each other.

    By eigenvectors of the Gram matrix: two matrix products, where a QR factorization takes ten times as long. It knows
    directions of small size to half of the digits. Where any of the `count` has so few, rows' are the rows after a
    turn that makes them more even; else they are the rows as given.
    """
    precision = float(jnp.finfo(rows.dtype).eps)

    def eigen(rows: Array) -> tuple[Array, Array, Array]:
        values, vectors = jnp.linalg.eigh(rows @ rows.T)
        known = values > 100 * precision * values[-1]
        return vectors, jnp.sqrt(jnp.maximum(values, 100 * precision * values[-1])), known

    def uneven(state: tuple[Any, ...]) -> Array:
        *_, (_, root, _), turns = state
        return (root[len(root) - count] < precision**0.25 * root[-1]) & (turns < 3)

    def again(state: tuple[Any, ...]) -> tuple[Any, ...]:
        rows, factor, (vectors, root, _), turns = state
        rows = (vectors / root).T @ rows
        return rows, factor @ (vectors * root), eigen(rows), turns + 1

    start = rows, jnp.eye(len(rows), dtype=rows.dtype), eigen(rows), 0
    rows, factor, (vectors, root, known), _ = jax.lax.while_loop(uneven, again, start)
    return rows, jnp.where(known, vectors / root, 0).T, factor @ jnp.where(known, vectors * root, 0)


def by_neumann_series(
    curvature: Curvature, vectors: Vectors, *, scale: float, terms: int, damping: float = 0.0
) -> Inverted:
    """Sum `terms` terms of (H + λ)⁻¹v = c·Σ_i (I − c(H + λ))^i v, one product a term: v_{j+1} = cv + (I − c(H + λ))v_j.

    Args:
        scale: c, below 2/λ_max(H + λ), or the sum diverges; 1/λ_max makes every term positive.
        terms: r; the error of the sum is (1 − cλ_min)^r/λ_min in the slowest direction (`neumann_error`).

    Conjugate gradients need about the square root of as many products; the series is here because it is linear in H,
    so that every product may be with another sample of the data (`by_sampled_neumann_series`).

    Reference: arora Problem 10.1.3 and Sec. 10.1.1; Agarwal, Bullins and Hazan 2017.
    """
    return _checked(
        curvature, vectors, _summed(curvature, vectors, *map(jnp.asarray, (scale, terms, damping))), damping
    )


@eqx.filter_jit
def _summed(curvature: Curvature, vectors: Vectors, scale: Array, terms: Array, damping: Array) -> Vectors:
    product = _products(curvature, damping)

    def step(_: Any, total: Array) -> Array:
        return total + (scale * (vectors - product(total, len(total)))).astype(total.dtype)

    return jax.lax.fori_loop(0, terms, step, jnp.zeros_like(vectors))


def by_sampled_neumann_series(
    key: Key[Array, ""],
    curvature: Curvature,
    vectors: Vectors,
    *,
    scale: float,
    terms: int,
    sample: int,
    damping: float = 0.0,
) -> Inverted:
    """The same series with every product taken on `sample` examples drawn with replacement: LiSSA.

    Its mean over draws is the partial sum of `by_neumann_series`, since the products of one term are independent of
    those of the next. Average over keys for less noise; c must be small enough for every sample's own Hessian. `scale`
    is c, `damping` λ.

    Reference: arora Sec. 10.1.1; Koh and Liang 2017.
    """
    return _checked(curvature, vectors, _sampled(key, curvature, vectors, scale, terms, sample, damping), damping)


@eqx.filter_jit
def _sampled(key: Array, curvature: Curvature, vectors: Vectors, scale: float, terms: int, sample: int, damping: float):
    def step(total: Array, key: Array) -> tuple[Array, None]:
        chosen = jax.random.randint(key, (sample,), 0, curvature.examples)
        data = jax.tree.map(lambda x: x[chosen], curvature.data)
        part = Curvature(
            curvature.parameters, data, curvature.rule, curvature.unravel, curvature.fixed, sample, curvature.part
        )
        return total + scale * (vectors - jax.vmap(part)(total) - damping * total), None

    return jax.lax.scan(step, jnp.zeros_like(vectors), jax.random.split(key, terms))[0]


def neumann_error(least: float, terms: int, *, scale: float = 1.0) -> float:
    """λ_max(A⁻¹ − S_r) = (1 − cλ_min)^r/λ_min for the first r terms S_r of A⁻¹ = cΣ(I − cA)^i, where cλ_max(A) ≤ 1.

    least: λ_min(A) > 0. The answer to arora Problem 10.1.4, which prints "??" for it; an equality.
    """
    if scale * least > 1:
        raise ValueError(f"scale·least must be at most 1, or other directions decide, got {scale * least:.4g}")
    return (1 - scale * least) ** terms / least


@eqx.filter_jit
def _residuals(curvature: Curvature, vectors: Vectors, found: Vectors, damping: Array) -> Float[Array, " k"]:
    left = vectors - _products(curvature, damping)(found, len(found))
    lengths = jnp.linalg.norm(vectors, axis=1)
    return jnp.linalg.norm(left, axis=1) / jnp.where(lengths > 0, lengths, 1)


def _checked(curvature: Curvature, vectors: Vectors, found: Vectors, damping: float) -> Inverted:
    return Inverted(found, _residuals(curvature, vectors, found, jnp.asarray(damping)))


doors(
    __name__,
    damping="[0, ∞)",
    tolerance="(0, 1)",
    steps="[1, 1e6]",
    scale="(0, ∞)",
    terms="[0, 1e7]",
    sample="[1, 1e7]",
    least="(0, ∞)",
)
