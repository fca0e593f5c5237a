"""Least squares by gradient descent, step by step in closed form: ½‖Xw − y‖² with more columns than rows or fewer.

Descent moves in the row space of X alone, so what it finds is the solution nearest to where it started. NumPy in, NumPy
out; JAX likewise.

`design` is X, one example a row; `step_size` is η, `steps` t and `start` w₀, zero if not given.

Reference: arora 3.1 and Prop. 8.1.1; lucchi Thm 71; jagannath Lemma 4.2; handbook 12.2.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.filters import gradient_descent_filter, pseudo_inverse, spectral_operator

__all__ = [
    "SymmetricSingular",
    "descent_iterate",
    "descent_residual",
    "descent_series",
    "nearest_solution",
    "pseudo_inverse",
    "supported_solution",
    "symmetric_singular_vectors",
    "unseen_projection",
]

Design = Float[AnyArray, "n d"]


def unseen_projection(design: Design) -> Float[AnyArray, "d d"]:
    """Return I − X⁺X, the orthogonal projection on the null space of X: what the data say nothing about."""
    xp = design.__array_namespace__()
    return xp.eye(design.shape[1], dtype=design.dtype) - pseudo_inverse(design) @ design


def nearest_solution(
    design: Design, labels: Float[AnyArray, " n"], start: Float[AnyArray, " d"] | float = 0.0
) -> Float[AnyArray, " d"]:
    """Return X⁺y + (I − X⁺X)w₀, of all least-squares solutions the one nearest to w₀, where descent from w₀ ends.

    From w₀ = 0 it is the solution X⁺y of least norm, Xᵀ(XXᵀ)⁻¹y when the rows are linearly independent; as w₀ runs
    over all vectors it runs over all solutions. arora (3.4), (3.5), Problem 3.1.2.
    """
    return start + pseudo_inverse(design) @ (labels - design @ _vector(design, start))


def supported_solution(
    design: Design, labels: Float[AnyArray, " n"], coordinates: Sequence[int]
) -> Float[AnyArray, " d"]:
    """Return the solution of Xw = y that vanishes outside n given coordinates.

    It exists for all labels exactly when those n columns are linearly independent: not for an arbitrary choice, as the
    footnote of arora 3.1 has it.
    """
    xp = design.__array_namespace__()
    chosen = list(coordinates)
    block = design[:, np.asarray(chosen)]
    if len(set(chosen)) != len(design) or np.linalg.matrix_rank(np.asarray(block)) < len(design):
        raise ValueError(f"columns {chosen} are not {len(design)} linearly independent columns")
    selection = xp.eye(design.shape[1], dtype=design.dtype)[:, np.asarray(chosen)]
    return selection @ xp.linalg.solve(block, labels)


def descent_iterate(
    design: Design,
    labels: Float[AnyArray, " n"],
    *,
    step_size: float,
    steps: int,
    start: Float[AnyArray, " d"] | float = 0.0,
) -> Float[AnyArray, " d"]:
    """Return w_t of gradient descent w ← w − ηXᵀ(Xw − y) without running it.

    w_t = w₀ + Σ_{j<t}(I − ηXᵀX)ʲ ηXᵀ(y − Xw₀), on the singular vectors w₀ + Σᵢ (1 − (1 − ησᵢ²)ᵗ)/σᵢ vᵢuᵢᵀ(y − Xw₀).
    X of full rank. arora (3.1) to (3.3).
    """
    operator = spectral_operator(design, gradient_descent_filter(step_size, steps))
    return start + operator @ (labels - design @ _vector(design, start))


def descent_residual(
    design: Design,
    labels: Float[AnyArray, " n"],
    *,
    step_size: float,
    steps: int,
    start: Float[AnyArray, " d"] | float = 0.0,
) -> Float[AnyArray, " n"]:
    """Return y − Xw_t = (I − ηXXᵀ)ᵗ(y − Xw₀); it dies out on the column space exactly when 0 < η < 2/λ_max(XXᵀ)."""
    xp = design.__array_namespace__()
    values, vectors = xp.linalg.eigh(design @ design.T)
    modes = vectors.T @ (labels - design @ _vector(design, start))
    return vectors @ ((1 - step_size * values) ** steps * modes)


def descent_series(design: Design, *, step_size: float, terms: int) -> Float[AnyArray, "d d"]:
    """Return the matrix Σ_{j<t}(I − ηXᵀX)ʲ, which grows like t on the null space of X.

    It is (I − (I − ηXᵀX)ᵗ)(ηXᵀX)⁺ + t(I − X⁺X): for d > n the matrix series diverges, and converges only when applied
    to a vector of the row space. arora 3.1 takes its limit for a pseudo-inverse.
    """
    learned = spectral_operator(design, gradient_descent_filter(step_size, terms)) @ pseudo_inverse(design).T
    return learned / step_size + terms * unseen_projection(design)


class SymmetricSingular(NamedTuple):
    """A singular value decomposition Σ σᵢ uᵢvᵢᵀ: vectors in columns, values from the largest down."""

    left: Float[AnyArray, "n n"]
    values: Float[AnyArray, " n"]
    right: Float[AnyArray, "n n"]


def symmetric_singular_vectors(matrix: Float[AnyArray, "n n"]) -> SymmetricSingular:
    """Return the singular value decomposition of a symmetric matrix from its eigenvectors: σ = |λ| and v = sign(λ) u.

    The two sides are equal, as arora 3.1.1 has it, only if no eigenvalue is negative.
    """
    xp = matrix.__array_namespace__()
    values, vectors = xp.linalg.eigh(matrix)
    order = xp.argsort(-xp.abs(values))
    values, left = values[order], vectors[:, order]
    return SymmetricSingular(left, xp.abs(values), left * xp.where(values < 0, -1.0, 1.0))


def _vector(design: Design, start: Float[AnyArray, " d"] | float) -> Float[AnyArray, " d"]:
    return start + design.__array_namespace__().zeros(design.shape[1], dtype=design.dtype)


doors(__name__, terms="[0, 1e7]", steps="[0, ∞)", step_size="(0, ∞)")
