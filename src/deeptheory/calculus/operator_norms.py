"""Norms of vectors, and of matrices as operators between them: exact where that is easy, bounded where it is hard."""

from typing import Annotated, NamedTuple

import numpy as np
from jaxtyping import Float

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors

__all__ = ["CauchySchwarz", "OperatorNorm", "cauchy_schwarz", "operator_norm", "vector_norm"]

Exponent = Annotated[float, "[1, ∞]"]
EPSILON = np.finfo(float).eps


def vector_norm(vectors: Float[AnyArray, "*batch n"], p: Exponent = 2.0) -> Float[np.ndarray, "*batch"]:
    """Return (Σ|vᵢ|ᵖ)^{1/p}, the largest |vᵢ| for p = ∞, along the last axis.

    Entries are divided by the largest of them first, so that powers neither overflow nor vanish. Below p = 1 the
    triangle inequality fails and there is no norm.

    Reference: lucchi Def. 2 and Example 1.
    """
    sizes = np.abs(np.asarray(vectors, float))
    largest = sizes.max(-1)
    if p == np.inf:
        return np.asarray(largest)
    shares = sizes / np.where(largest > 0, largest, 1.0)[..., None]
    return np.asarray(largest * (shares**p).sum(-1) ** (1 / p))


class OperatorNorm(NamedTuple):
    """An operator norm between two bounds, and a vector that is stretched by the lower one."""

    lower: float
    upper: float
    direction: Float[np.ndarray, "n"]


def operator_norm(
    matrix: Float[AnyArray, "m n"], p: Exponent = 2.0, *, iterations: Annotated[int, "[1, 1e5]"] = 200
) -> OperatorNorm:
    """Bound ‖A‖ₚ = sup ‖Ax‖ₚ/‖x‖ₚ from both sides, for any 1 ≤ p ≤ ∞; both bounds hold for certain, to rounding.

    p = 1 (largest column sum), 2 (largest singular value), ∞ (largest row sum) are exact. For other p the norm is hard
    to compute (Hendrickx and Olshevsky 2010). From below: the power method of Boyd (1974) from several starts, whose
    best vector is returned. From above the least of ‖A‖₁^{1/p}‖A‖_∞^{1−1/p} and its kin through p = 2 (Riesz and
    Thorin), and of the Schur test max_j ((|A|ᵀ(|A|x)^{p−1})_j / x_j^{p−1})^{1/p} for a positive x, which meets the
    lower bound if no entry of A is negative and |A|ᵀ|A| is irreducible. `iterations` are those of the power method.

    Reference: lucchi eqs. 1.1–1.3.
    """
    unit = float(np.abs(np.asarray(matrix)).max()) or 1.0  # powers of very large or small entries are no numbers
    a = np.asarray(matrix, float) / unit
    columns, rows = np.abs(a).sum(0), np.abs(a).sum(1)
    if p == 1:
        return _exact(unit * columns.max(), np.eye(a.shape[1])[columns.argmax()])
    if p == np.inf:
        signs = np.where(a[rows.argmax()] < 0, -1.0, 1.0)
        return _exact(unit * rows.max(), signs)
    _, values, right = np.linalg.svd(a)
    if p == 2 or values[0] == 0:
        return _exact(unit * values[0], right[0])
    starts = [*right[: min(3, len(right))], np.ones(a.shape[1]), np.eye(a.shape[1])[columns.argmax()]]
    found = [_powered(a, start, p, iterations) for start in starts]
    lower, direction = max(found, key=lambda each: each[0])
    positive = _powered(np.abs(a), np.ones(a.shape[1]), p, iterations)[1]
    upper = min(_interpolated(columns.max(), values[0], rows.max(), p), _schur(np.abs(a), positive, p))
    off = 8 * sum(a.shape) * EPSILON
    return OperatorNorm(unit * lower * (1 - off), unit * upper * (1 + off), direction)


def _exact(value: float, direction: Float[np.ndarray, "n"]) -> OperatorNorm:
    return OperatorNorm(float(value), float(value), direction)


def _powered(a: np.ndarray, x: np.ndarray, p: float, iterations: int) -> tuple[float, np.ndarray]:
    """Follow x ← dual of Aᵀ(dual of Ax), along which ‖Ax‖ₚ/‖x‖ₚ never falls; return its value and x."""
    for _ in range(iterations):
        image = a @ x
        pulled = a.T @ (np.sign(image) * (np.abs(image) / max(np.abs(image).max(), 1e-300)) ** (p - 1))
        if not np.abs(pulled).max() > 0:
            break
        pulled /= np.abs(pulled).max()
        before, x = x, np.sign(pulled) * np.abs(pulled) ** (1 / (p - 1))
        if np.abs(x - before).max() < 4 * EPSILON:
            break
    return float(vector_norm(a @ x, p) / vector_norm(x, p)), x


def _interpolated(one: float, two: float, largest: float, p: float) -> float:
    """log‖A‖ₚ is convex in 1/p (Riesz and Thorin): bound it by the chords between 1, 2 and ∞ on either side of it."""
    chords = [(1.0, one, 0.0, largest), (1.0, one, 0.5, two) if p < 2 else (0.5, two, 0.0, largest)]
    bounds = []
    for start, first, end, second in chords:
        share = (1 / p - end) / (start - end)
        bounds.append(first**share * second ** (1 - share))
    return float(min(bounds))


def _schur(sizes: np.ndarray, x: np.ndarray, p: float) -> float:
    """Schur's test with the positive weights x, kept away from zero where the power method let them vanish."""
    weights = np.maximum(np.abs(x) / np.abs(x).max(), 1e-8)
    image = sizes @ weights
    return float((sizes.T @ image ** (p - 1) / weights ** (p - 1)).max() ** (1 / p))


class CauchySchwarz(NamedTuple):
    """(Σxᵢyᵢ)² beside Σxᵢ²Σyᵢ², and what the proof by a parabola looks at."""

    square: Float[np.ndarray, "*batch"]
    bound: Float[np.ndarray, "*batch"]
    nearest: Float[np.ndarray, "*batch"]
    discriminant: Float[np.ndarray, "*batch"]


def cauchy_schwarz(x: Float[AnyArray, "*batch n"], y: Float[AnyArray, "*batch n"]) -> CauchySchwarz:
    """Return both sides of ⟨x, y⟩² ≤ ‖x‖²‖y‖², the z that minimises ‖x − zy‖², and the discriminant of that parabola.

    ‖y‖²z² − 2⟨x, y⟩z + ‖x‖² is never negative, so its discriminant B² − 4AC with B = 2⟨x, y⟩ is not positive. Both
    sides are equal exactly if one of the vectors is a multiple of the other; for y = 0, where z is arbitrary, 0 is
    returned.

    Reference: lucchi Prop. 1.
    """
    x, y = np.asarray(x, float), np.asarray(y, float)
    inner, first, second = (x * y).sum(-1), (x * x).sum(-1), (y * y).sum(-1)
    nearest = inner / np.where(second > 0, second, 1.0)
    return CauchySchwarz(inner**2, first * second, nearest, (2 * inner) ** 2 - 4 * second * first)


doors(__name__, infinite=("p",))
