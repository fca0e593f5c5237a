"""Separability and the largest margin in any of three norms, each with a certificate that convinces by itself.

As in `separable`, points are signed: x̄ᵢ = yᵢ xᵢ, and w is right about all of them iff X̄ w > 0.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Array, Bool, Float

from deeptheory.foundations.entrances import doors
from deeptheory.implicit_bias.separable import max_margin

__all__ = [
    "LargestMargin",
    "Separability",
    "largest_margin",
    "loss_shares",
    "normalized_margin",
    "separability",
    "smoothed_margin",
]

ROUNDING = 1e-9
"""a margin below this share of the longest point is zero up to the rounding of a linear programme"""
DUAL = {1: np.inf, 2: 2, np.inf: 1}


class Separability(NamedTuple):
    """Whether some w has X̄ w > 0, and what shows it: such a w, or weights with which the points average to zero."""

    separable: bool
    vector: Float[np.ndarray, " d"]  # X̄ w ≥ 1 if separable, else zero
    weights: Float[np.ndarray, " n"]  # p ≥ 0, Σp = 1, X̄ᵀp = 0 if not separable, else zero


def separability(signed_points: Float[Array | np.ndarray, "n d"]) -> Separability:
    """Decide linear separability through the origin, with a witness.

    Exactly one of two things is true: X̄ w > 0 for some w, or Σ pᵢ x̄ᵢ = 0 for some convex weights p (Gordan). One linear
    programme finds whichever it is. Data that are separable with a margin below 1e-9 of the longest point count as not
    separable. Reference: jagannath Def. 4.3; the printed definition of arora 8.3 has y for x.
    """
    points = np.asarray(signed_points, np.float64)
    found = _programme(points, np.inf)
    if found.margin > ROUNDING * np.abs(points).max():
        vector = found.vector / (points @ found.vector).min()
        return Separability(True, vector, np.zeros(len(points)))
    return Separability(False, np.zeros(points.shape[1]), found.weights)


class LargestMargin(NamedTuple):
    """γ = max over ‖w‖ ≤ 1 of minᵢ ⟨w, x̄ᵢ⟩, a w that has it, and weights p that show there is no larger one."""

    margin: float
    vector: Float[np.ndarray, " d"]
    weights: Float[np.ndarray, " n"]
    support: Bool[np.ndarray, " n"]


def largest_margin(signed_points: Float[Array | np.ndarray, "n d"], *, norm: float = 2.0) -> LargestMargin:
    """Find the largest margin that a w of norm one can have; `norm` is 1, 2 or ∞.

    By duality γ = min over convex weights p of ‖X̄ᵀp‖⋆, ⋆ the dual norm: any w is a lower bound, any p an upper one, and
    those returned meet. For the norms 1 and ∞ a linear programme (the maximizer need not be unique), for 2 the active
    set of `separable.max_margin`. Points that are not separable are refused. Reference: arora Thm 8.3.2.
    """
    if norm not in DUAL:
        raise ValueError(f"norm must be 1, 2 or inf, got {norm}")
    points = np.asarray(signed_points, np.float64)
    if norm == 2:
        solution = max_margin(points)
        share = solution.duals / solution.duals.sum()
        return LargestMargin(solution.margin, solution.vector * solution.margin, share, solution.support)
    found = _programme(points, norm)
    if found.margin <= ROUNDING * np.abs(points).max():
        raise ValueError("the points are not linearly separable through the origin: no w has all y⟨w, x⟩ > 0")
    return found


def _programme(points: np.ndarray, norm: float) -> LargestMargin:
    from scipy.optimize import linprog

    count, dimension = points.shape
    # The unknowns are w⁺, w⁻ ≥ 0 and the margin; ‖w‖ is the sum of the first two, or their largest entry.
    rows = np.hstack([-points, points, np.ones((count, 1))])
    bounds: list[Any] = [(0, None if norm == 1 else 1)] * (2 * dimension) + [(0, None)]
    limits = np.zeros(count)
    if norm == 1:
        rows = np.vstack([rows, np.append(np.ones(2 * dimension), 0.0)])
        limits = np.append(limits, 1.0)
    solved = linprog(np.append(np.zeros(2 * dimension), -1.0), rows, limits, bounds=bounds, method="highs")
    if not solved.success:
        raise ArithmeticError(f"the linear programme of the largest margin was not solved: {solved.message}")
    vector = solved.x[:dimension] - solved.x[dimension:-1]
    weights = np.maximum(-solved.ineqlin.marginals[:count], 0.0)
    margins = points @ vector
    support = margins <= margins.min() + 1e-8 * np.abs(points).max()
    return LargestMargin(float(solved.x[-1]), vector, weights / weights.sum(), support)


def normalized_margin(
    signed_points: Float[Array | np.ndarray, "n d"],
    weights: Float[Array | np.ndarray, "*batch d"],
    *,
    norm: float = 2.0,
) -> Float[Array | np.ndarray, "*batch"] | np.floating:
    """Return minᵢ ⟨w, x̄ᵢ⟩/‖w‖ for one w or many: the distance of the worst point from the boundary for `norm` 2.

    Negative where a point is misclassified. Any norm ‖·‖ₚ with p ≥ 1. Reference: arora Sec. 8.3.
    """
    _norm(norm)
    xp = weights.__array_namespace__()
    return (weights @ signed_points.T).min(-1) / xp.linalg.vector_norm(weights, ord=norm, axis=-1)


def smoothed_margin(
    signed_points: Float[Array | np.ndarray, "n d"],
    weights: Float[Array | np.ndarray, "*batch d"],
    *,
    norm: float = 2.0,
) -> Float[Array | np.ndarray, "*batch"] | np.floating:
    """Return −log Σᵢ exp(−⟨w, x̄ᵢ⟩)/‖w‖, which lies below the margin by at most log(n)/‖w‖.

    Along the gradient flow of the exponential loss it never falls once that loss is below 1; the margin itself may.
    """
    _norm(norm)
    xp = weights.__array_namespace__()
    margins = weights @ signed_points.T
    least = margins.min(-1, keepdims=True)
    smooth = least[..., 0] - xp.log(xp.exp(least - margins).sum(-1))
    return smooth / xp.linalg.vector_norm(weights, ord=norm, axis=-1)


def loss_shares(
    signed_points: Float[Array | np.ndarray, "n d"], weights: Float[Array | np.ndarray, "*batch d"]
) -> Float[Array | np.ndarray, "*batch n"]:
    """Return exp(−⟨w, x̄ᵢ⟩)/L(w), the share of each point in the exponential loss and so in its gradient.

    As w grows along a direction they concentrate on the points of least margin in it: the support vectors. Never
    overflows. Reference: arora (8.26), ℓₜ/‖ℓₜ‖₁ in Assumption 8.4.3.
    """
    xp = weights.__array_namespace__()
    margins = weights @ signed_points.T
    scaled = xp.exp(margins.min(-1, keepdims=True) - margins)
    return scaled / scaled.sum(-1, keepdims=True)


def _norm(norm: float) -> None:
    if not norm >= 1:
        raise ValueError(f"norm must be at least 1 (or inf), got {norm}")


doors(__name__, infinite=("norm",))
