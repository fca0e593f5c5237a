"""How far vectors and matrices live in a subspace: alignment, leading eigenspaces, outliers of a spectrum.

Reference: jagannath Ch. 13 Sec. 1, Defs. 13.1 and 13.2.
"""

import numpy as np
from jaxtyping import Float

from deeptheory.foundations.entrances import doors

__all__ = ["alignment", "living_error", "outlier_count", "top_eigenspace"]

NEGLIGIBLE = 1e-12
"""Directions of a spanning set that are shorter than this share of its longest span nothing."""


def _frame(basis: np.ndarray) -> np.ndarray:
    """Orthonormal rows of the same span; rows of zeros where the spanning set is dependent."""
    _, sizes, rows = np.linalg.svd(basis, full_matrices=False)
    return rows * (sizes > NEGLIGIBLE * sizes.max(-1, keepdims=True))[..., None]


def alignment(vectors: Float[np.ndarray, "*batch d"], basis: Float[np.ndarray, "*bases m d"]) -> np.ndarray:
    """Return the alignment ρ(v, B) = ‖P_B v‖/‖v‖ of vectors with subspaces, in [0, 1].

    The rows of `basis` span B; they need be neither orthogonal nor independent, and leading axes
    are broadcast. A vector lives in B up to error ε if
    ρ ≥ 1 − ε. A uniform direction in d dimensions has ρ² = m/d in the mean, so 0.1 is nothing in a hundred dimensions
    for a line; a vector of zeros has no direction, and nan. Reference: jagannath Def. 13.1.
    """
    inside = np.einsum("...md,...d->...m", _frame(basis), vectors)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.minimum(np.linalg.norm(inside, axis=-1) / np.linalg.norm(vectors, axis=-1), 1.0))


def top_eigenspace(matrix: Float[np.ndarray, "*batch d d"], count: int) -> Float[np.ndarray, "*batch count d"]:
    """Return E_k(A): unit eigenvectors of the k eigenvalues largest in modulus, in rows, the largest first.

    `matrix` is symmetric, `count` is k. Where the k-th and the next eigenvalue tie the space is not unique, and one is
    returned. For matrices that are known by products only use `curvature.extreme_eigenpairs`.
    Reference: jagannath Sec. 13.1.2.
    """
    if count > matrix.shape[-1]:
        raise ValueError(f"count must be at most the matrix's size, {matrix.shape[-1]}, got {count}")
    gap = np.abs(matrix - np.swapaxes(matrix, -1, -2)).max()
    if gap > 1e-6 * np.abs(matrix).max():
        raise ValueError(f"matrix must be symmetric, got entries across the diagonal {gap:.3g} apart")
    values, vectors = np.linalg.eigh(matrix)
    order = np.argsort(-np.abs(values), axis=-1)[..., None, :count]
    return np.swapaxes(np.take_along_axis(vectors, order, axis=-1), -1, -2)


def living_error(matrix: Float[np.ndarray, "*batch d d"], basis: Float[np.ndarray, "*bases m d"]) -> np.ndarray:
    """Return the least ε up to which a matrix lives in a subspace: ‖(I − P_B)A‖/‖A‖ in operator norm.

    A lives in B up to ε if A − M has its image in B for some M with ‖M‖ ≤ ε‖A‖. Then (I − P)M = (I − P)A, so ‖M‖ is at
    least ‖(I − P)A‖, and M = (I − P)A attains it. The rows of `basis` span B; leading axes are broadcast.
    Reference: jagannath Def. 13.2.
    """
    frame = _frame(basis)
    outside = matrix - np.swapaxes(frame, -1, -2) @ (frame @ matrix)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.linalg.norm(outside, 2, axis=(-2, -1)) / np.linalg.norm(matrix, 2, axis=(-2, -1)))


def outlier_count(values: Float[np.ndarray, "*batch n"], *, factor: float = 2.0) -> np.ndarray:
    """Return how many eigenvalues stand apart: the place of the widest gap, where it is wide, else 0.

    The eigenvalues' moduli are sorted, and the ratio of each to the next is taken over the larger half; the widest
    counts if it is at least `factor`. A rule for spectra with a bulk of half the eigenvalues or more, not a test: for
    a bulk of known law compare with its edge (`spectra.edges`). The rule is ours.
    """
    sizes = -np.sort(-np.abs(values), axis=-1)
    if sizes.shape[-1] < 2:
        raise ValueError(f"values must hold at least two eigenvalues, got {sizes.shape[-1]}")
    half = (sizes.shape[-1] + 1) // 2
    below = np.maximum(sizes[..., 1 : half + 1], NEGLIGIBLE * sizes[..., :1])
    ratios = np.divide(sizes[..., :half], below, out=np.ones_like(below), where=below > 0)
    return np.asarray(np.where(ratios.max(-1) >= factor, ratios.argmax(-1) + 1, 0))


doors(__name__, count="[1, ∞)", factor="(1, ∞)")
