"""Subspaces, spectra and orders of matrices: what a matrix spans, its eigenvalues with multiplicity, who is larger."""

from fractions import Fraction
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Float

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors

__all__ = [
    "Loewner",
    "Spectrum",
    "Subspaces",
    "characteristic_polynomial",
    "coordinates_in_span",
    "loewner_order",
    "rank_one_terms",
    "spectrum",
    "subspaces",
]

Matrix = Float[AnyArray, "m n"]
Square = Float[AnyArray, "n n"]
EPSILON = np.finfo(float).eps


class Subspaces(NamedTuple):
    """Orthonormal bases, in columns, of the four subspaces of an m × n matrix, and its rank."""

    columns: Float[np.ndarray, "m r"]
    rows: Float[np.ndarray, "n r"]
    kernel: Float[np.ndarray, "n _k"]
    cokernel: Float[np.ndarray, "m _c"]
    rank: int


def subspaces(matrix: Matrix) -> Subspaces:
    """Return bases of column space, row space, kernel and kernel of the transpose, from the singular vectors.

    Only the first `rank` left singular vectors lie in the column space; the others span its complement. A singular
    value counts as zero below max(m, n)·ε times the largest.

    Reference: lucchi Defs. 1, 6, 7, Thm. 6.
    """
    left, values, right = np.linalg.svd(np.asarray(matrix, float))
    rank = int(np.sum(values > max(np.shape(matrix)) * EPSILON * values[0]))
    return Subspaces(left[:, :rank], right[:rank].T, right[rank:].T, left[:, rank:], rank)


def coordinates_in_span(vectors: Matrix, target: Float[AnyArray, "m"]) -> tuple[Float[np.ndarray, "n"], float]:
    """Return coefficients c of least norm that bring Σcᵢvᵢ nearest to a target, with the distance that is left.

    The vectors are columns. The target lies in their span exactly if the distance is zero, which a distance of the
    order of rounding suggests.

    Reference: lucchi Sec. 1.1.1.
    """
    coefficients = np.linalg.lstsq(np.asarray(vectors, float), np.asarray(target, float), rcond=None)[0]
    return coefficients, float(np.linalg.norm(np.asarray(vectors) @ coefficients - np.asarray(target)))


def rank_one_terms(matrix: Matrix) -> Float[np.ndarray, "k m n"]:
    """Return σᵢuᵢvᵢᵀ for each singular value, largest first: they add up to the matrix. Reference: lucchi eq. 1.27."""
    left, values, right = np.linalg.svd(np.asarray(matrix, float), full_matrices=False)
    return np.einsum("mk,k,kn->kmn", left, values, right)


def characteristic_polynomial(matrix: Square) -> list[Fraction]:
    """Return the coefficients of det(λI − A), the highest power first, exactly: 1, −tr A, …, (−1)ⁿ det A.

    By Faddeev and LeVerrier's recursion in rationals, so that entries count as the binary fractions they are. The
    book's det(A − λI) is (−1)ⁿ times it.

    Reference: lucchi Sec. 1.4.1.
    """
    rows = [[Fraction(float(each)) for each in row] for row in np.asarray(matrix)]
    size, known = len(rows), [Fraction(1)]
    power = [[Fraction(0)] * size for _ in rows]
    for step in range(1, size + 1):
        shifted = [[power[i][j] + (known[-1] if i == j else 0) for j in range(size)] for i in range(size)]
        power = [
            [sum((rows[i][k] * shifted[k][j] for k in range(size)), Fraction(0)) for j in range(size)]
            for i in range(size)
        ]
        trace = sum((power[i][i] for i in range(size)), Fraction(0))
        known.append(-trace / Fraction(step))
    return known


class Spectrum(NamedTuple):
    """Distinct eigenvalues with their multiplicities as roots and as dimensions of eigenspaces."""

    values: tuple[Fraction, ...]
    algebraic: tuple[int, ...]
    geometric: tuple[int, ...]


def spectrum(matrix: Square) -> Spectrum:
    """Return the distinct rational eigenvalues of a matrix of whole numbers, with both multiplicities, exactly.

    A rational eigenvalue of such a matrix is a whole number, no larger than the largest row sum; irrational and
    complex ones are left out, so that the algebraic multiplicities add up to n only if there are none. The number of
    distinct eigenvalues has nothing to do with a multiplicity.

    Reference: lucchi Sec. 1.4.1.
    """
    entries = np.asarray(matrix, float)
    if not np.array_equal(entries, np.round(entries)) or np.abs(entries).sum(1).max() > 10**6:
        raise ValueError("matrix must have whole entries whose row sums stay below 10**6, got others")
    bound, left, found = int(np.abs(entries).sum(1).max()), characteristic_polynomial(entries), {}
    for root in range(-bound, bound + 1):
        while len(left) > 1 and (divided := _divided(left, root)) is not None:
            left, found[root] = divided, found.get(root, 0) + 1
    spaces = [len(entries) - _rank(entries - root * np.eye(len(entries))) for root in found]
    return Spectrum(tuple(map(Fraction, found)), tuple(found.values()), tuple(spaces))


def _divided(coefficients: list[Fraction], root: int) -> list[Fraction] | None:
    """Divide a polynomial by x − root (Horner); None if that leaves a remainder."""
    known = [coefficients[0]]
    for each in coefficients[1:]:
        known.append(each + root * known[-1])
    return known[:-1] if known[-1] == 0 else None


def _rank(entries: np.ndarray) -> int:
    """The rank of a matrix of whole numbers, by elimination in rationals."""
    rows, rank = [[Fraction(float(each)) for each in row] for row in entries], 0
    for column in range(len(rows[0])):
        pivot = next((i for i in range(rank, len(rows)) if rows[i][column]), None)
        if pivot is None:
            continue
        rows[rank], rows[pivot] = rows[pivot], rows[rank]
        for i in range(rank + 1, len(rows)):
            share = rows[i][column] / rows[rank][column]
            rows[i] = [a - share * b for a, b in zip(rows[i], rows[rank], strict=True)]
        rank += 1
    return rank


class Loewner(NamedTuple):
    """How two symmetric matrices compare, and unit vectors along which A is most above and most below B."""

    relation: Literal["=", "≽", "≼", "incomparable"]
    above: Float[np.ndarray, "n"]
    below: Float[np.ndarray, "n"]
    most: float
    least: float


def loewner_order(matrix: Square, other: Square) -> Loewner:
    """Compare two symmetric matrices: A ≽ B if uᵀ(A − B)u ≥ 0 for every u, which is that no eigenvalue is negative.

    `most` and `least` are the extreme eigenvalues of A − B, attained at `above` and `below`: witnesses if the two
    are incomparable. Eigenvalues count as zero below 16nε times the size of both matrices.

    Reference: lucchi Def. 5.
    """
    a, b = (np.asarray(each, float) for each in (matrix, other))
    for name, each in {"matrix": a, "other": b}.items():
        if np.abs(each - each.T).max() > 1e-12 * np.abs(each).max():
            raise ValueError(f"{name} must be symmetric, got entries {np.abs(each - each.T).max():.3g} apart")
    values, vectors = np.linalg.eigh(a - b)
    zero = 16 * len(a) * EPSILON * max(np.linalg.norm(a), np.linalg.norm(b))
    up, down = values[-1] > zero, values[0] < -zero
    relation = "incomparable" if up and down else "≽" if up else "≼" if down else "="
    return Loewner(relation, vectors[:, -1], vectors[:, 0], float(values[-1]), float(values[0]))


doors(__name__)
