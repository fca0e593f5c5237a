"""Every critical point of the dropout autoencoder ‖M − UUᵀ‖² + λ Σ‖uᵢ‖⁴, and the ways down from those not optimal.

Columns of different length are orthogonal at a critical point. So the columns fall into groups of one length each, with
eigenvectors of their own: every group is an equalized critical point of fewer columns, and all are listed by choosing
how many columns and which eigenvectors a group has. The book treats one group, arora Lemma 11.3.7.

`strength` is λ, `eigenvalues` are those of M, `time` is t. Curvatures, squares and the threshold go through `jit` and
`grad`; the list and the curves are made on the host.
"""

from collections.abc import Iterator
from itertools import combinations
from typing import Annotated, Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from deeptheory.foundations.arrays import AnyArray, RealScalar, traced
from deeptheory.foundations.entrances import doors
from deeptheory.regularization.autoencoder import symmetric_only
from deeptheory.regularization.factors import equalize

__all__ = [
    "DropoutPoint",
    "dropout_critical_points",
    "equalized_squares",
    "lifted",
    "lifted_curvature",
    "new_unit_curvature",
    "swap_curvature",
    "swapped",
    "threshold_strength",
]

Numbers = Float[AnyArray, " n"]


class DropoutPoint(NamedTuple):
    """A critical point, one of its orbit under rotations within the groups of columns.

    groups: how many columns a group has and which eigenvectors, counted from the largest eigenvalue; groups without
    eigenvectors are columns of zeros. value: of the loss. optimal: whether no critical point has a smaller value.
    index: the Morse index, in how many directions the loss bends downwards.
    """

    weights: Float[np.ndarray, "d0 d1"]
    groups: tuple[tuple[int, tuple[int, ...]], ...]
    value: float
    optimal: bool
    index: int

    @property
    def equalized(self) -> bool:
        return len(self.groups) == 1


def _library(value: Any) -> Any:
    return jnp if traced(value) else np


def _number(value: Any) -> Any:
    return value if traced(value) else float(value)


def equalized_squares(
    chosen: Numbers, width: Annotated[int, "[1, 1e6]"], strength: RealScalar
) -> Float[AnyArray, " n"]:
    """Return the squared singular values of an equalized critical point: σᵢ² = λᵢ − λ Σ_E λⱼ/(d₁ + λr′).

    `chosen` are the eigenvalues λⱼ, j ∈ E, of its r′ eigenvectors. It exists if all are positive and r′ ≤ d₁; then
    ‖U‖² = d₁ Σ_E λⱼ/(d₁ + λr′). arora eq. 11.14.
    """
    values = _library(chosen).asarray(chosen)
    # λᵢ(d₁ + λr′) − λ Σ λⱼ in differences, from which a large λ takes no digits.
    apart = (values[:, None] - values).sum(1)
    return (width * values + strength * apart) / (width + strength * len(values))


def dropout_critical_points(
    matrix: Float[AnyArray, "d0 d0"], width: Annotated[int, "[1, 6]"], strength: float
) -> list[DropoutPoint]:
    """List all critical points, up to the order of columns and rotations within groups, each with its Morse index.

    Every choice of groups, by their numbers of columns and disjoint sets of eigenvectors, for which all
    `equalized_squares` are positive. Exponential in d₀: for d₀ up to six or so. Positive eigenvalues that repeat are
    refused: their eigenvectors can be chosen in many ways, and the points form families larger than orbits. At λ = 0
    lengths are free: see `factorization_critical_points` of landscapes.
    """
    matrix = symmetric_only(matrix)
    values, vectors = np.linalg.eigh(np.asarray(matrix, float))
    values, vectors = values[::-1], vectors[:, ::-1]
    if len(values) > 8:
        raise ValueError(f"matrix must have at most 8 rows, not {len(values)}: the list grows exponentially")
    positive = values[values > 1e-12 * np.abs(values).max()]
    if np.any(-np.diff(positive) <= 1e-9 * np.abs(values).max()):
        raise ValueError(f"matrix must have distinct positive eigenvalues, got {positive}: their points are not a list")
    found = []
    for groups in _groupings(tuple(range(len(values))), width):
        squares = [equalized_squares(values[list(chosen)], columns, strength) for columns, chosen in groups]
        # One eigenvector alone has a square of the sign of its eigenvalue, however small; differences have rounding.
        signs = [
            each if len(each) > 1 else values[list(chosen)] for (_, chosen), each in zip(groups, squares, strict=True)
        ]
        if any(np.any(each <= 1e-12 * np.abs(values).max()) for each in signs):
            continue
        blocks = [
            _equalized(vectors[:, list(chosen)], each, columns)
            for (columns, chosen), each in zip(groups, squares, strict=True)
        ]
        lengths = [each.sum() / columns for (columns, _), each in zip(groups, squares, strict=True)]
        # Groups that happen to be equally long are one group, which is listed as such.
        if len(groups) > 1 and min(abs(a - b) for a, b in combinations(lengths, 2)) <= 1e-9 * max(lengths):
            continue
        weights = np.concatenate(blocks, axis=1)
        norms = (weights**2).sum(0)
        value = ((matrix - weights @ weights.T) ** 2).sum() + strength * (norms**2).sum()
        # At a critical point the value is ‖M‖² − ⟨M, UUᵀ⟩: the gain decides where values differ in their last digits.
        gain = sum(values[list(chosen)] @ each for (_, chosen), each in zip(groups, squares, strict=True))
        found.append((gain, (weights, groups, float(value))))
    most = max(gain for gain, _ in found)
    return [
        DropoutPoint(
            *each, optimal=bool(gain >= (1 - 1e-10) * most), index=_index(each[0], np.asarray(matrix), strength)
        )
        for gain, each in found
    ]


def _index(weights: Float[np.ndarray, "d0 d1"], matrix: Float[np.ndarray, "d0 d0"], strength: float) -> int:
    """The number of negative eigenvalues of the Hessian, whose block for the columns i and j is

    4 uᵢᵀuⱼ + 4 uⱼuᵢᵀ, and 4(UUᵀ − M) + λ(8 uᵢuᵢᵀ + 4‖uᵢ‖²) more for i = j.
    """
    rows, columns = weights.shape
    blocks = 4 * np.einsum("ai,aj,bc->ibjc", weights, weights, np.eye(rows))
    blocks = blocks + 4 * np.einsum("aj,bi->iajb", weights, weights)
    for i, column in enumerate(weights.T):
        own = 8 * np.outer(column, column) + 4 * column @ column * np.eye(rows)
        blocks[i, :, i] += 4 * (weights @ weights.T - matrix) + strength * own
    bends = np.linalg.eigvalsh(blocks.reshape(rows * columns, rows * columns))
    return int(np.sum(bends < -1e-9 * np.abs(bends).max()))


def _groupings(
    eigenvectors: tuple[int, ...], width: int, largest: int | None = None
) -> Iterator[tuple[tuple[int, tuple[int, ...]], ...]]:
    """All ways to part columns into groups with disjoint sets of eigenvectors; each way once."""
    largest = width if largest is None else min(largest, width)
    if width == 0:
        yield ()
        return
    for columns in range(largest, 0, -1):
        for count in range(min(columns, len(eigenvectors)) + 1):
            for chosen in combinations(eigenvectors, count):
                rest = tuple(index for index in eigenvectors if index not in chosen)
                for others in _groupings(rest, width - columns, columns):
                    following = others[0] if others else None
                    # Groups of one size in the order of their sets; zeros are one group, however many columns.
                    in_order = following is None or following[0] < columns or following[1] > chosen
                    if in_order and not (chosen == () and any(other == () for _, other in others)):
                        yield ((columns, chosen), *others)


def _equalized(vectors: Float[np.ndarray, "d0 r"], squares: Float[AnyArray, " r"], columns: int) -> np.ndarray:
    """W Σ Vᵀ with `columns` columns of one length."""
    rotation = equalize(np.diag(np.pad(squares, (0, columns - len(squares)))))
    return (vectors * np.sqrt(squares)) @ rotation[: len(squares)]


def threshold_strength(eigenvalues: Numbers) -> RealScalar:
    """Return rλ_r/(Σ_{i≤r} λᵢ − rλ_r), below which arora Thm 11.3.5 has λ; r is the number of positive eigenvalues.

    Infinite where all positive eigenvalues are equal. The theorem holds above it too: see `new_unit_curvature`.
    """
    xp = _library(eigenvalues)
    values = xp.asarray(eigenvalues, float)
    positive = values > 1e-12 * xp.abs(values).max()
    if xp is np and not positive.any():
        raise ValueError("eigenvalues must have a positive one among them")
    least = xp.where(positive, values, np.inf).min()
    excess = xp.where(positive, values - least, 0.0).sum()
    apart = excess > 1e-12 * values.max()
    found = xp.where(apart, positive.sum() * least / xp.where(apart, excess, 1.0), np.inf)
    return _number(xp.where(positive.any(), found, np.nan))


def lifted(
    weights: Float[AnyArray, "d0 d1"], matrix: Float[AnyArray, "d0 d0"], time: float
) -> Float[np.ndarray, "d0 d1"]:
    """Return the curve U(t) on which all squared singular values grow by t², with the next eigenvectors of M.

    For an equalized U made of the first r′ eigenvectors of M; needs d₁ ≤ d₀. The columns stay equally long. arora,
    proof of Lemma 11.3.7, case 2.
    """
    weights = np.asarray(weights, float)
    if weights.shape[1] > weights.shape[0]:
        raise ValueError(f"weights must have no more columns than rows, got the shape {weights.shape}")
    vectors = np.linalg.eigh(np.asarray(symmetric_only(matrix), float))[1][:, ::-1][:, : weights.shape[1]]
    inside = vectors.T @ weights
    squares = (inside**2).sum(1)
    kept = squares > 1e-12 * max(squares.max(), 1e-300)
    directions = np.linalg.svd(inside[kept])[2]  # the identity where nothing is kept
    rows = np.concatenate([inside[kept] / np.sqrt(squares[kept])[:, None], directions[int(kept.sum()) :]])
    return vectors * np.sqrt(squares + time**2) @ rows


def lifted_curvature(
    eigenvalues: Numbers, rank: Annotated[int, "[0, 1e6]"], width: Annotated[int, "[1, 1e6]"], strength: RealScalar
) -> RealScalar:
    """Return g″(0) along `lifted`: −4 Σ_{r′<i≤d₁} λᵢ + 4(d₁ − r′)λ/(d₁ + λr′) Σ_{i≤r′} λᵢ.

    `eigenvalues` from the largest. It can be positive below the threshold of Thm 11.3.5 where d₁ exceeds the rank of M:
    (1, ½, 0), d₁ = 3, r′ = 1, λ = 1.9. arora eq. 11.15 and after.
    """
    values = _library(eigenvalues).asarray(eigenvalues, float)
    if not rank <= width <= len(values):
        raise ValueError(f"need rank ≤ width ≤ the number of eigenvalues {len(values)}, got {rank} and {width}")
    tail = values[rank:width].sum()
    return _number(-4 * tail + 4 * (width - rank) * strength / (width + strength * rank) * values[:rank].sum())


def swapped(
    weights: Float[AnyArray, "d0 d1"],
    lost: Float[AnyArray, " d0"],
    gained: Float[AnyArray, " d0"],
    time: Annotated[float, "[0, 1]"],
) -> Float[np.ndarray, "d0 d1"]:
    """Return U(t) with the eigenvector w = `lost` replaced by √(1−t²) w + t w′, w′ = `gained`, of none of U's.

    arora, proof of Lemma 11.3.7, case 3.
    """
    weights, lost = np.asarray(weights, float), np.asarray(lost)
    turned = np.sqrt(1 - time**2) * lost + time * np.asarray(gained)
    return weights + np.outer(turned - lost, lost @ weights)


def swap_curvature(square: RealScalar, lost: RealScalar, gained: RealScalar) -> RealScalar:
    """Return g″(0) = −4σ²(λ′ − λ_j) along `swapped`; the loss changes by −2σ²t²(λ′ − λ_j) at every t in [0, 1].

    `square` is σ², `lost` and `gained` are the eigenvalues of w and w′.
    """
    return -4 * square * (gained - lost)


def new_unit_curvature(
    eigenvalues: Numbers, rank: Annotated[int, "[0, 1e6]"], width: Annotated[int, "[1, 1e6]"], strength: RealScalar
) -> RealScalar:
    """Return the second derivative along w_{r′+1}vᵀ, v ⊥ the rows of U: −4λ_{r′+1} + 4λ Σ_{i≤r′} λᵢ/(d₁ + λr′).

    At the equalized critical point of the first r′ < d₁ eigenvectors. It is negative exactly when r′ is below the rank
    ρ of the optimum, whatever λ > 0. So every critical point that is not optimal is a strict saddle, for every dropout
    rate: the condition of arora Thm 11.3.5, of which the book leaves open whether it is necessary, is not.
    """
    values = _library(eigenvalues).asarray(eigenvalues, float)
    if not rank < min(width, len(values)):
        raise ValueError(f"rank must be below the width and the number of eigenvalues, got {rank}")
    return _number(-4 * values[rank] + 4 * strength * values[:rank].sum() / (width + strength * rank))


doors(__name__, strength="[0, ∞)", time="[0, ∞)", square="[0, ∞)")
