"""Kernel systems beyond a dense factorization: preconditioned conjugate gradients that report their residual.

`product` is v ↦ Kv, `ridge` ρ, `preconditioner` a map that is near to (K + ρ)⁻¹ (none: the identity); y has a column
for each right-hand side.

Reference: Hestenes and Stiefel 1952; Saad 2003, Iterative Methods for Sparse Linear Systems, ch. 9; Gardner et al.
2018, GPyTorch, for pivoted Cholesky as a preconditioner of kernels.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import ROUNDING

__all__ = [
    "LowRank",
    "Solution",
    "conjugate_gradients",
    "kernel_function_product",
    "low_rank_preconditioner",
    "matrix_product",
    "pivoted_cholesky",
    "solve_kernel",
]

Matrix = Float[AnyArray, "n k"]
Product = Callable[[np.ndarray], Matrix]


class Solution(NamedTuple):
    """Solution of (K + ρ)α = y, its true residual ‖y − (K + ρ)α‖/‖y‖ for each right-hand side, and the iterations."""

    dual: Float[np.ndarray, "n *k"]
    residual: Float[np.ndarray, "*k"]
    iterations: int
    converged: bool


class LowRank(NamedTuple):
    """K ≈ LLᵀ with the inputs chosen as pivots and the trace not explained after each."""

    factor: Float[np.ndarray, "n r"]
    pivots: Int[np.ndarray, " r"]
    remaining: Float[np.ndarray, " r"]


def pivoted_cholesky(
    diagonal: Float[AnyArray, " n"],
    row: Callable[[int], Float[AnyArray, " n"]],
    *,
    rank: int,
) -> LowRank:
    """Return the rank-r Cholesky factor of a kernel matrix, reading its diagonal and r rows.

    Each step takes the input whose variance is least explained; the error is positive and its trace is known
    (Harbrecht, Peters, Schneider 2012). It stops early when nothing is left but rounding.
    """
    left = np.array(diagonal, float)
    size, floor = len(left), np.finfo(float).eps * len(left) * float(np.max(diagonal))
    factor, pivots, remaining = np.zeros((size, min(rank, size))), [], []
    for step in range(min(rank, size)):
        pivot = int(np.argmax(left))
        if left[pivot] <= floor:
            break
        entries = np.asarray(row(pivot), float)
        if entries.shape != left.shape:
            raise ValueError(f"row must return as many entries as the diagonal has, {size}, got {entries.shape}")
        column = entries - factor[:, :step] @ factor[pivot, :step]
        factor[:, step] = column / np.sqrt(left[pivot])
        left = np.maximum(left - factor[:, step] ** 2, 0)
        left[pivot] = 0
        pivots.append(pivot)
        remaining.append(left.sum())
    count = len(pivots)
    return LowRank(factor[:, :count], np.array(pivots, int), np.array(remaining))


def low_rank_preconditioner(low_rank: LowRank, *, ridge: float) -> Product:
    """Return b ↦ (LLᵀ + δ)⁻¹b, with δ the ridge and the mean of the unexplained trace.

    Applied in the singular basis of L: two thin products, symmetric and positive whatever the rounding.
    """
    size, rank = low_rank.factor.shape
    shift = ridge + (low_rank.remaining[-1] / size if rank else 1.0)
    shift = max(shift, np.finfo(float).eps * float(np.sum(low_rank.factor**2)), np.finfo(float).tiny)
    vectors, singular, _ = np.linalg.svd(low_rank.factor, full_matrices=False)
    removed = vectors * (singular**2 / (singular**2 + shift))

    def apply(b: np.ndarray) -> np.ndarray:
        return (b - removed @ (vectors.T @ b)) / shift

    return apply


def matrix_product(matrix: Float[AnyArray, "n n"], *, rows: int = 4096) -> Product:
    """Return v ↦ Kv reading a block of rows at a time, so that a memory-mapped kernel is never held whole."""

    def product(v: np.ndarray) -> np.ndarray:
        return np.concatenate([np.asarray(matrix[i : i + rows] @ v) for i in range(0, matrix.shape[0], rows)])

    return product


def kernel_function_product(kernel: Callable, x: Float[AnyArray, "n ..."], *, tile: int = 1024) -> Product:
    """Return v ↦ K(x, x)v that computes tiles anew at every product: memory of one tile, no kernel stored.

    `kernel(x, other)` returns (n, m). One row of tiles is one compiled loop.
    """
    x = jnp.asarray(x)
    size = x.shape[0]
    side = min(tile, size)
    starts = jnp.asarray([min(i, size - side) for i in range(0, size, side)])
    fresh = jnp.asarray([max(0, i + side - size) for i in range(0, size, side)])  # rows the last tile repeats

    @jax.jit
    def band(rows: Array, v: Array) -> Array:
        def add(total: Array, at: tuple) -> tuple[Array, None]:
            start, skipped = at
            columns = jax.lax.dynamic_slice_in_dim(x, start, side)
            weights = jax.lax.dynamic_slice_in_dim(v, start, side)
            weights = jnp.where(jnp.arange(side)[:, None] >= skipped, weights, 0)
            return total + kernel(rows, columns) @ weights, None

        return jax.lax.scan(add, jnp.zeros((rows.shape[0], v.shape[1]), v.dtype), (starts, fresh))[0]

    def product(v: np.ndarray) -> np.ndarray:
        right = jnp.asarray(v, x.dtype)
        corners = zip(starts.tolist(), fresh.tolist(), strict=True)
        bands = [np.asarray(band(x[start : start + side], right))[skipped:] for start, skipped in corners]
        return np.concatenate(bands)

    return product


def conjugate_gradients(
    product: Product,
    y: Float[AnyArray, "n *k"],
    *,
    ridge: float = 0.0,
    preconditioner: Product | None = None,
    tolerance: float = 1e-8,
    max_iterations: int = 1000,
    progress: Callable[[int, float], None] | None = None,
) -> Solution:
    """Solve (K + ρ)α = y by preconditioned conjugate gradients, all right-hand sides at once.

    Stops when every recursive residual is below the tolerance; the residual returned is computed afresh from the
    solution, and `converged` is judged by it (with a factor of ten for the drift of the recursion).
    `progress(iteration, largest residual)` is called at every iteration.
    """
    y = np.asarray(y, float)
    target = y.reshape(len(y), -1)
    size = np.abs(target).max(axis=0)
    size = np.where(size > 0, size, 1)
    target = target / size  # squares of very large or small targets are not floating-point numbers
    norm = np.linalg.norm(target, axis=0)
    norm = np.where(norm > 0, norm, 1)
    precondition = preconditioner or (lambda b: b)

    def operator(v: np.ndarray) -> np.ndarray:
        return np.asarray(product(v), float) + ridge * v

    dual = np.zeros_like(target)
    residual, iterations = target.copy(), 0
    conditioned = np.asarray(precondition(residual), float)
    direction, energy = conditioned.copy(), np.sum(residual * conditioned, 0)
    while iterations < max_iterations and (np.linalg.norm(residual, axis=0) / norm).max() > tolerance:
        image = operator(direction)
        curvature = np.sum(direction * image, 0)
        # A finished column has direction 0; it must neither move nor divide by zero.
        step = np.where(curvature > 0, energy / np.where(curvature > 0, curvature, 1), 0)
        if not step.any():
            break  # no direction is left in which the matrix is positive: nothing would move any more
        dual += step * direction
        residual -= step * image
        conditioned = np.asarray(precondition(residual), float)
        fresh = np.sum(residual * conditioned, 0)
        direction = conditioned + np.where(energy > 0, fresh / np.where(energy > 0, energy, 1), 0) * direction
        energy, iterations = fresh, iterations + 1
        if progress is not None:
            progress(iterations, float((np.linalg.norm(residual, axis=0) / norm).max()))
    true = np.linalg.norm(target - operator(dual), axis=0) / norm
    dual, converged = (size * dual).reshape(y.shape), bool(true.max() <= 10 * tolerance)
    return Solution(dual, true.reshape(y.shape[1:]), iterations, converged)


def solve_kernel(
    kernel: Float[AnyArray, "rows columns"],
    y: Float[AnyArray, "n *k"],
    *,
    ridge: float = 0.0,
    rank: int = 100,
    tolerance: float = 1e-8,
    max_iterations: int = 1000,
    rows: int = 4096,
) -> Solution:
    """Solve (K + ρ)α = y for a kernel matrix, in memory or mapped from disk, by preconditioned conjugate gradients.

    `rank` is that of the preconditioner, `tolerance` the relative residual to be reached, `rows` how many rows of the
    kernel are read at a time.
    """
    if kernel.shape[0] != kernel.shape[1] or kernel.shape[0] != len(y):
        raise ValueError(f"a square kernel of as many rows as targets is needed, got {kernel.shape} and {len(y)}")
    product = matrix_product(kernel, rows=rows)
    # ⟨u, Kv⟩ = ⟨v, Ku⟩ for random u and v if and only if K is symmetric: one reading, where a comparison of the matrix
    # with its transpose would read a mapped one column by column.
    probe = np.random.default_rng(0).standard_normal((len(y), 2))
    image = product(probe.astype(kernel.dtype))
    image = image / (np.abs(image).max() or 1)
    apart = abs(probe[:, 0] @ image[:, 1] - probe[:, 1] @ image[:, 0])
    if apart > ROUNDING * np.linalg.norm(probe) * np.linalg.norm(image):
        raise ValueError("kernel must be a symmetric matrix, got one that is not")
    low_rank = pivoted_cholesky(np.asarray(kernel.diagonal()), lambda i: np.asarray(kernel[i]), rank=rank)
    return conjugate_gradients(
        product,
        y,
        ridge=ridge,
        preconditioner=low_rank_preconditioner(low_rank, ridge=ridge),
        tolerance=tolerance,
        max_iterations=max_iterations,
    )


doors(
    __name__,
    max_iterations="[1, 1e7]",
    tile="[1, 1e6]",
    rows="[1, 1e6]",
    rank="[0, 1e5]",
    ridge="[0, ∞)",
    tolerance="(0, ∞)",
)
