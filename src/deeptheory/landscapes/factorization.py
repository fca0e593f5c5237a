"""Symmetric matrix factorization, ¼‖M − XXᵀ‖², with its top eigenvector as the case of one column.

Every critical point is known, with the spectrum of its Hessian: choose eigenvectors, at most as many as columns.

`factor` is X, d × r, `matrix` M, `direction` Δ.
"""

from itertools import combinations
from typing import Annotated, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors

__all__ = [
    "CompletionLoss",
    "FactorizationLoss",
    "FactorizationPoint",
    "aligned",
    "aligned_curvature",
    "factorization_critical_points",
    "factorization_curvature",
    "factorization_gradient",
    "rank_one_improvement",
    "rank_one_loss",
    "top_eigenvector_hessian",
]

Factor = Float[AnyArray, "d r"]
Matrix = Float[AnyArray, "d d"]
Number = float | Float[AnyArray, "*k"]


class FactorizationLoss(eqx.Module):
    """f(X) = ¼‖M − XXᵀ‖² as a function of the flat factor X of d rows; with one column it is arora eq. 6.6.

    M is symmetric. Of a positive semidefinite M the minima are the X whose columns span its top eigenvectors, with
    XXᵀ the best approximation of that rank (Eckart and Young).
    """

    matrix: Float[Array, "d d"]

    def __call__(self, factor: Float[Array, "p"]) -> Float[Array, ""]:
        x = factor.reshape(len(self.matrix), -1)
        return jnp.sum((self.matrix - x @ x.T) ** 2) / 4


class CompletionLoss(eqx.Module):
    """¼ Σ over observed entries of (M − XXᵀ)², as a function of the flat factor: matrix completion (arora Sec. 6.4.2).

    `observed` is symmetric. The factor is determined up to rotation only if the observed entries determine the rest; of
    a rank-one M = zzᵀ without zeros in z: if every connected part of the graph of observed entries has an odd cycle
    (a diagonal entry is one), and there is one part.
    """

    matrix: Float[Array, "d d"]
    observed: Bool[Array, "d d"]

    def __call__(self, factor: Float[Array, "p"]) -> Float[Array, ""]:
        x = factor.reshape(len(self.matrix), -1)
        return jnp.sum(jnp.where(self.observed, self.matrix - x @ x.T, 0.0) ** 2) / 4


def factorization_gradient(factor: Factor, matrix: Matrix) -> Factor:
    """∇f(X) = (XXᵀ − M)X for f = ¼‖M − XXᵀ‖² with symmetric M (arora eq. 6.7)."""
    return (factor @ factor.T - matrix) @ factor


def factorization_curvature(factor: Factor, matrix: Matrix, direction: Factor) -> float | Float[Array, ""]:
    """The second derivative along Δ: ½‖XΔᵀ + ΔXᵀ‖² − ⟨M − XXᵀ, ΔΔᵀ⟩ (arora Sec. 6.4.1)."""
    turned = factor @ direction.T
    residual = matrix - factor @ factor.T
    return ((turned + turned.T) ** 2).sum() / 2 - (residual * (direction @ direction.T)).sum()


def top_eigenvector_hessian(x: Float[AnyArray, "d"], matrix: Matrix) -> Matrix:
    """∇²f(x) = ‖x‖²I + 2xxᵀ − M for f = ¼‖M − xxᵀ‖² with symmetric M (arora eq. 6.7)."""
    return (x @ x) * np.eye(len(x)) + 2 * x[:, None] * x - matrix


class FactorizationPoint(NamedTuple):
    """A critical point of ¼‖M − XXᵀ‖², one of its orbit under rotations of the columns.

    chosen: which eigenvectors it keeps, counted from the largest eigenvalue. spectrum: the eigenvalues of the Hessian,
    in order. index: how many of them are negative.
    """

    factor: Float[np.ndarray, "d r"]
    chosen: tuple[int, ...]
    value: float
    spectrum: Float[np.ndarray, "p"]
    index: int


def factorization_critical_points(
    matrix: Float[AnyArray, "d d"], *, rank: Annotated[int, "[1, 100]"] = 1
) -> list[FactorizationPoint]:
    """All critical points of ¼‖M − XXᵀ‖² over X with `rank` columns, up to rotation of the columns.

    For every set I of at most `rank` eigenvectors with positive eigenvalue: X = (√λ_i v_i)_{i∈I}, other columns zero.
    Value ¼Σ_{j∉I}λ_j². The Hessian has λ_i − λ_j for i ∈ I and j ∉ I; 2λ_i; λ_i + λ_{i'} and 0 for each pair in I; and
    for each column that is zero −λ_j for j ∉ I and 0 for i ∈ I. So all but the choice of the largest have a way down
    (arora Claim 6.4.1). M is symmetric; where eigenvalues repeat, the points form larger families and those listed
    depend on the eigenvectors found. The list has Σ_k C(d, k) points: for d up to about twenty.
    """
    values, vectors = np.linalg.eigh(np.asarray(matrix))
    values, vectors = values[::-1], vectors[:, ::-1]
    size = len(values)
    usable = [index for index in range(size) if values[index] > 1e-12 * np.abs(values).max()]
    found = []
    for count in range(min(rank, len(usable)) + 1):
        for chosen in combinations(usable, count):
            left = [index for index in range(size) if index not in chosen]
            kept, rest = values[list(chosen)], values[left]
            pairs = [(kept[a] + kept[b], 0.0) for a, b in combinations(range(count), 2)]
            empty = rank - count
            parts = [(kept[:, None] - rest).ravel(), 2 * kept, np.ravel(pairs)]
            parts += [np.tile(-rest, empty), np.zeros(empty * count)]
            spectrum = np.sort(np.concatenate(parts))
            factor = np.zeros((size, rank))
            factor[:, :count] = vectors[:, list(chosen)] * np.sqrt(kept)
            negative = int((spectrum < -1e-12 * np.abs(values).max()).sum())
            found.append(FactorizationPoint(factor, chosen, float((rest**2).sum() / 4), spectrum, negative))
    return found


def aligned(factor: Factor, other: Factor) -> Factor:
    """ZR, the rotation of the columns of Z = `other` that comes nearest to X = `factor` (Procrustes).

    R = UVᵀ from the singular vectors of ZᵀX. With one column: z or −z, whichever is nearer to x. Reference: Schönemann
    1966; arora 6.4.
    """
    left, _, right = jnp.linalg.svd(other.T @ factor)
    return other @ (left @ right)


def aligned_curvature(factor: Factor, other: Factor) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """The curvature of ¼‖ZZᵀ − XXᵀ‖² along Δ = X − ZR with the nearest R, and its bound −½‖E‖² + 4⟨∇f, Δ⟩.

    The curvature is ½‖ΔΔᵀ‖² − (3/2)‖E‖² + 4⟨∇f, Δ⟩ with E = ZZᵀ − XXᵀ, and ‖ΔΔᵀ‖² ≤ 2‖E‖²; so at a critical point that
    is not optimal the direction to the nearest optimum leads down (arora Sec. 6.4.2; Ge, Jin and Zheng 2017).
    `factor` is X, `other` is Z.
    """
    away = factor - aligned(factor, other)
    residual = other @ other.T - factor @ factor.T
    slope = (factorization_gradient(factor, other @ other.T) * away).sum()
    error = (residual**2).sum()
    return ((away @ away.T) ** 2).sum() / 2 - 1.5 * error + 4 * slope, -error / 2 + 4 * slope


def rank_one_loss(square: Number, overlap: Number) -> Number:
    """¼‖zzᵀ − xxᵀ‖² for a unit vector z, from r = ‖x‖² = `square` and s = ⟨x, z⟩ = `overlap`: ¼(1 − 2s² + r²).

    Possible are r ≥ s² only (arora eq. 6.8).
    """
    return (1 - 2 * overlap**2 + square**2) / 4


def rank_one_improvement(square: Number, overlap: Number) -> tuple[Number, Number, Number, Number]:
    """What x and z promise as directions, for ¼‖zzᵀ − xxᵀ‖² at r = ‖x‖² = `square`, s = ⟨x, z⟩ = `overlap`.

    Slope along x, |r² − s²|/√r; curvature along x, (3r² − s²)/r; slope along z, |s||r − 1|; curvature along z,
    r + 2s² − 1. If both curvatures are at least −¼, the larger slope is at least min(f, 1)/√2, with equality at r = ½,
    s² = ⅛: the best constant of arora Lemma 6.4.3, which is not given there.
    """
    along = abs(square**2 - overlap**2) / square**0.5, (3 * square**2 - overlap**2) / square
    return *along, abs(overlap) * abs(square - 1), square + 2 * overlap**2 - 1


doors(__name__, square="(0, ∞)")
