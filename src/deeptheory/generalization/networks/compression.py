"""Compression: networks and classifiers replaced by ones that take less to write down and say nearly the same.

Reference: arora 5.5.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Array, Float, Int, Key
from scipy.special import gammaln

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.randomness import generator
from deeptheory.generalization.networks.norms import lipschitz_bound

__all__ = [
    "compressed_within",
    "degrees_of_freedom",
    "project",
    "rounded",
    "rounded_bits",
    "sparsify",
    "truncate",
    "truncate_network",
    "truncated_factors",
    "truncation_rank",
]

Matrix = Float[AnyArray, "_out _in"]
Vector = Float[np.ndarray, " d"]


def compressed_within(outputs: Float[AnyArray, "n k"], compressed: Float[AnyArray, "n k"]) -> float:
    """The γ of (γ, S)-compressibility: the largest change of any output on the sample. Reference: arora Def. 5.5.1."""
    return float(np.max(np.abs(np.asarray(outputs) - np.asarray(compressed))))


def truncated_factors(
    matrix: Matrix, share: float
) -> tuple[Float[np.ndarray, "_out rank"], Float[np.ndarray, "rank _in"]]:
    """Two thin factors of the matrix without its singular values below share·‖A‖₂; `truncate` is their product."""
    u, s, v = np.linalg.svd(np.asarray(matrix), full_matrices=False)
    rank = int(np.sum(s >= share * s[0]))
    return u[:, :rank] * s[:rank], v[:rank]


def rounded(values: Float[AnyArray, "*shape"], levels: int) -> tuple[Int[np.ndarray, "*shape"], np.float32]:
    """Whole numbers up to (levels − 1)/2 in size and a step: their product is near the values.

    The step is the one of nine for which the squared error is least; values beyond the last level are cut to it.
    """
    if levels < 3 or levels % 2 == 0:
        raise ValueError(f"levels must be an odd number from 3 on, got {levels}")
    values, most = np.asarray(values, float), (levels - 1) // 2
    largest = float(np.max(np.abs(values), initial=0.0))
    if largest == 0:
        return np.zeros(values.shape, int), np.float32(0)
    steps = (largest / most * np.linspace(0.2, 1, 9)).astype(np.float32)
    tried = [np.clip(np.rint(values / step), -most, most) for step in steps]
    errors = [np.sum((values - codes * step) ** 2) for codes, step in zip(tried, steps, strict=True)]
    best = int(np.argmin(errors))
    return tried[best].astype(int), steps[best]


def rounded_bits(codes: Int[np.ndarray, "..."], levels: int) -> float:
    """Bits that give back `rounded` values of known shape: 32 for the step, then the shorter of two codes, and which.

    One writes every number with log₂ levels bits. The other says how often each level occurs, one of
    C(N + levels − 1, N) ways, and then which of the arrangements with these counts it is, N!/∏ countᵢ!.
    """
    count, counts = codes.size, np.unique(codes, return_counts=True)[1]
    ways = gammaln(count + levels) - gammaln(count + 1) - gammaln(levels)
    arrangements = gammaln(count + 1) - np.sum(gammaln(counts + 1))
    return float(33 + min(count * np.log2(levels), (ways + arrangements) / np.log(2)))


def truncate(matrix: Matrix, share: float) -> Float[np.ndarray, "_out _in"]:
    """Drop the singular values below share·‖A‖₂: a change below share·‖A‖₂ in spectral norm (arora Lemma 5.5.7)."""
    left, right = truncated_factors(matrix, share)
    return left @ right


def truncation_rank(stable_rank: float, share: float) -> float:
    """srank/share²: no more singular values are share·‖A‖₂ or larger.

    `stable_rank` is srank. Reference: arora Lemma 5.5.7.
    """
    return stable_rank / share**2


def truncate_network(
    layers: Sequence[Matrix], *, margin: float, radius: float
) -> tuple[list[Float[np.ndarray, "_out _in"]], float]:
    """Truncate every layer at δ = γ/(3d·‖x‖·∏‖Aⱼ‖₂): outputs move by little more than γ/3d on inputs up to this radius.

    Returns the layers and δ. Each layer alone moves outputs by at most γ/(3d), and all together by hardly more,
    ‖x‖·∏‖Aⱼ‖₂·δ/√(1 − δ²): a layer keeps and drops in orthogonal directions, and of ‖h‖² what is dropped is missing
    from what goes on. For any other changes of size δ‖Aⱼ‖₂ it would be (1+δ)^d − 1. `margin` is γ, `radius` the largest
    ‖x‖. Reference: arora Prob. 5.5.8.
    """
    share = margin / (3 * len(layers) * radius * lipschitz_bound(layers))
    return [truncate(layer, share) for layer in layers], share


def degrees_of_freedom(height: int, width: int, rank: int) -> int:
    """r(h + w − r): the dimension of the manifold of h × w matrices of rank r. arora 5.5.2 counts 2hr.

    `height` is h, `width` w and `rank` r.
    """
    return rank * (height + width - rank)


def sparsify(key: Key[Array, ""], classifier: Vector, margin: float, draws: int) -> Float[np.ndarray, "draws d"]:
    """Keep coordinate i with probability pᵢ = min(1, 8cᵢ²/γ²), divided by it: unbiased, at most 8‖c‖²/γ² kept in mean.

    The variance of ĉ·u is Σ (1/pᵢ − 1)cᵢ²uᵢ² ≤ γ²‖u‖²/8, so |ĉ·u − c·u| ≥ γ with probability at most 1/8 for ‖u‖ = 1.
    `classifier` is c, `margin` γ; `draws` rows come back. Reference: arora 5.5.1 and Prob. 5.5.4.
    """
    kept = np.minimum(1.0, 8 * classifier**2 / margin**2)
    chosen = generator(key).random((draws, len(classifier))) < kept
    return np.where(chosen, classifier / np.where(kept > 0, kept, 1.0), 0.0)


def project(
    key: Key[Array, ""], first: Vector, second: Vector, dimension: int, draws: int
) -> Float[np.ndarray, " draws"]:
    """⟨Mc, Mu⟩ for Gaussian M with `dimension` rows and entries of variance 1/k: mean ⟨c, u⟩, variance (1 + ⟨c,u⟩²)/k.

    For unit vectors; drawn in the plane they span, which is all that M acts on. Reference: arora Prob. 5.5.5.
    """
    across = second - (first @ second) * first / (first @ first)
    plane = np.array([[np.linalg.norm(first), 0.0], [first @ second / np.linalg.norm(first), np.linalg.norm(across)]])
    images = generator(key).standard_normal((draws, dimension, 2)) @ plane.T
    return np.sum(images[..., 0] * images[..., 1], axis=1) / dimension


doors(__name__, dimension="[1, 1e6]", draws="[1, 1e7]", margin="(0, ∞)", radius="(0, ∞)", share="[0, 1]")
