"""Separability and the largest margin in any ℓₚ norm, each with a certificate that convinces by itself.

As in `separable`, points are signed: x̄ᵢ = yᵢ xᵢ, and w is right about all of them iff X̄ w > 0.

`signed_points` is X̄, one point x̄ᵢ a row.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, Float

from deeptheory.foundations.arrays import AnyArray, traced
from deeptheory.foundations.callbacks import asked
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import inside
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
GAP = 1e-7
"""by how much, relatively, two bounds of a largest margin may be apart"""


class Separability(NamedTuple):
    """Whether some w has X̄ w > 0, and what shows it: such a w, or weights with which the points average to zero."""

    separable: bool
    vector: Float[np.ndarray, " d"]  # X̄ w ≥ 1 if separable, else zero
    weights: Float[np.ndarray, " n"]  # p ≥ 0, Σp = 1, X̄ᵀp = 0 if not separable, else zero


def separability(signed_points: Float[AnyArray, "n d"]) -> Separability:
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
    return Separability(False, np.zeros(points.shape[1]), np.asarray(found.weights))


class LargestMargin(NamedTuple):
    """γ = max over ‖w‖ ≤ 1 of minᵢ ⟨w, x̄ᵢ⟩, a w that has it, and weights p that show there is no larger one."""

    margin: Any
    vector: Float[AnyArray, "*batch d"]
    weights: Float[AnyArray, "*batch n"]
    support: Bool[AnyArray, "*batch n"]


def largest_margin(signed_points: Float[AnyArray, "n d"], *, norm: float = 2.0) -> LargestMargin:
    """Find the largest margin that a w of norm one can have; `norm` is p ≥ 1 of ‖·‖ₚ, ∞ included.

    By duality γ = min over convex weights p of ‖X̄ᵀp‖⋆, ⋆ the dual norm: any w is a lower bound, any p an upper one, and
    those returned meet. For the norms 1 and ∞ a linear programme (the maximizer need not be unique), for 2 the active
    set of `separable.max_margin`, for others sequential quadratic programming, ended by Newton's method on the points
    that bear a weight: exact from about 1.4 to 8, and for some hundred points at most. Nearer the corners of 1 and ∞
    the bounds may not meet to 1e-7, which is said. Points that are not separable are refused.

    Under `jit`, `vmap` and `grad` too: found on the host, with the derivatives, to any order, of the equations that
    the points on the margin, their weights and w solve; that of the margin is Σ pᵢ⟨w, dx̄ᵢ⟩. They need one w and one p:
    where there are several the derivative is nan, and so is everything where points are not separable, when that is
    seen too late.

    Reference: arora Thm 8.3.2.
    """
    inside(1, np.inf, norm=norm)
    if norm == 2:
        solution = max_margin(signed_points)
        share = solution.duals / solution.duals.sum()
        return LargestMargin(solution.margin, solution.vector * solution.margin, share, solution.support)
    if traced(signed_points):
        return _traced(jnp.asarray(signed_points), norm)
    return _found(np.asarray(signed_points, np.float64), norm)


def _found(points: np.ndarray, norm: float) -> LargestMargin:
    if norm not in (1, np.inf):
        return _smooth(points, norm)
    found = _programme(points, norm)
    if found.margin <= ROUNDING * np.abs(points).max():
        raise ValueError("the points are not linearly separable through the origin: no w has all y⟨w, x⟩ > 0")
    return found


def _traced(points: Array, norm: float) -> LargestMargin:
    """The solution of the host as a root of the equations of Karush, Kuhn and Tucker, so that it has derivatives."""
    count, width = points.shape

    def known(points: np.ndarray) -> LargestMargin:
        try:
            return _found(np.asarray(points, np.float64), norm)
        except (ValueError, ArithmeticError):
            return LargestMargin(np.nan, np.full(width, np.nan), np.full(count, np.nan), np.zeros(count, bool))

    def shape(*sizes: int, kind: Any = points.dtype) -> Any:
        return jax.ShapeDtypeStruct(sizes, kind)

    found = asked(known, LargestMargin(shape(), shape(width), shape(count), shape(count, kind=bool)), points)
    # What does not change under a small change of the points: who bears weight, and where the norm has its corner.
    bears, sides = found.weights > 1e-7 * found.weights.max(), jnp.sign(found.vector)
    cornered = jnp.abs(found.vector) * width > 1e-9 if norm == 1 else jnp.abs(found.vector) > 1 - 1e-9

    def equations(solution: tuple) -> tuple:
        margin, vector, weights = solution
        pull = weights @ points
        if norm == 1:
            rest, length = jnp.where(cornered, pull - margin * sides, vector), sides @ vector - 1
        elif norm == np.inf:
            rest, length = jnp.where(cornered, vector - sides, pull), weights.sum() - 1
        else:
            size = jnp.abs(vector)
            rest, length = pull - margin * sides * size ** (norm - 1), jnp.sum(size**norm) - 1
        return length, rest, jnp.where(bears, points @ vector - margin, weights)

    def solved(linear: Any, change: tuple) -> tuple:
        flat, back = ravel_pytree(change)
        matrix = jax.jacobian(lambda each: ravel_pytree(linear(back(each)))[0])(flat)
        return back(jnp.linalg.solve(matrix, flat))

    begin = found.margin, found.vector, found.weights
    margin, vector, weights = lax.custom_root(equations, begin, lambda _, begin: begin, solved)
    return LargestMargin(margin, vector, weights, found.support)


def _smooth(points: np.ndarray, norm: float) -> LargestMargin:
    from scipy.optimize import minimize, nnls

    begin = max_margin(points)
    # In units in which the Euclidean solution, the first guess, has length one.
    scaled, guess = points / begin.margin, begin.vector * begin.margin

    def slope(w: np.ndarray) -> np.ndarray:
        return np.sign(w) * np.abs(w) ** (norm - 1)

    def objective(w: np.ndarray) -> tuple[float, np.ndarray]:
        return float(np.sum(np.abs(w) ** norm) / norm), slope(w)

    walls = {"type": "ineq", "fun": lambda w: scaled @ w - 1, "jac": lambda w: scaled}
    options = {"maxiter": 1000, "ftol": 1e-16}
    rough = minimize(objective, guess, jac=True, method="SLSQP", constraints=walls, options=options).x
    slack = scaled @ rough - (scaled @ rough).min()
    weights = nnls(np.vstack([scaled.T, slack]), np.append(slope(rough), 0.0), maxiter=30 * sum(points.shape))[0]
    fine = _polished(scaled, rough, weights, slope, norm)
    gap, best = min((_certified(points, *pair, norm) for pair in ((rough, weights), fine)), key=lambda pair: pair[0])
    if not gap <= GAP:
        raise ArithmeticError(f"the largest margin in the norm {norm:g} was found to a share of {gap:.1e} only")
    return best


def _polished(
    points: np.ndarray, vector: np.ndarray, weights: np.ndarray, slope: Callable[[np.ndarray], np.ndarray], norm: float
) -> tuple[np.ndarray, np.ndarray]:
    """Newton's method on ∇R(w) = X̄ᵀλ and X̄w = 1 for the points that bear a weight."""
    active = weights > 1e-7 * weights.max()
    rows, duals = points[active], weights[active]
    count, width = rows.shape
    with np.errstate(all="ignore"):  # a start too far off ends in nan, and the rough pair is taken
        for _ in range(20):
            bend = np.diag((norm - 1) * np.abs(vector) ** (norm - 2))
            system = np.block([[bend, -rows.T], [rows, np.zeros((count, count))]])
            if not np.isfinite(system).all():
                break
            move = np.linalg.lstsq(system, np.append(rows.T @ duals - slope(vector), 1 - rows @ vector))[0]
            vector, duals = vector + move[:width], duals + move[width:]
    fine = np.zeros(len(points))
    fine[active] = np.maximum(duals, 0.0)
    return vector, fine


def _certified(points: np.ndarray, vector: np.ndarray, weights: np.ndarray, norm: float) -> tuple[float, LargestMargin]:
    """A direction and weights as bounds from both sides, and how far they are apart."""
    vector, weights = vector / np.linalg.norm(vector, norm), weights / max(weights.sum(), 1e-300)
    margins, most = points @ vector, np.linalg.norm(weights @ points, norm / (norm - 1))
    gap = float(1 - margins.min() / max(most, 1e-300))
    support = margins <= margins.min() + 1e-8 * np.abs(points).max()
    found = LargestMargin(float(margins.min()), vector, weights, support)
    return gap if abs(gap) <= 1 else np.inf, found


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
    signed_points: Float[AnyArray, "n d"],
    weights: Float[AnyArray, "*batch d"],
    *,
    norm: float = 2.0,
) -> Float[AnyArray, "*batch"] | np.floating:
    """Return minᵢ ⟨w, x̄ᵢ⟩/‖w‖ for one w or many: the distance of the worst point from the boundary for `norm` 2.

    Negative where a point is misclassified. Any norm ‖·‖ₚ with p ≥ 1. Reference: arora Sec. 8.3.
    """
    inside(1, np.inf, norm=norm)
    xp = weights.__array_namespace__()
    return (weights @ signed_points.T).min(-1) / xp.linalg.vector_norm(weights, ord=norm, axis=-1)


def smoothed_margin(
    signed_points: Float[AnyArray, "n d"],
    weights: Float[AnyArray, "*batch d"],
    *,
    norm: float = 2.0,
) -> Float[AnyArray, "*batch"] | np.floating:
    """Return −log Σᵢ exp(−⟨w, x̄ᵢ⟩)/‖w‖, which lies below the margin by at most log(n)/‖w‖.

    Along the gradient flow of the exponential loss it never falls once that loss is below 1; the margin itself may.
    Reference: Lyu and Li 2020; arora 8.3.
    """
    inside(1, np.inf, norm=norm)
    margins = weights @ signed_points.T
    xp = margins.__array_namespace__()
    least = margins.min(-1, keepdims=True)
    smooth = least[..., 0] - xp.log(xp.exp(least - margins).sum(-1))
    return smooth / xp.linalg.vector_norm(weights, ord=norm, axis=-1)


def loss_shares(
    signed_points: Float[AnyArray, "n d"], weights: Float[AnyArray, "*batch d"]
) -> Float[AnyArray, "*batch n"]:
    """Return exp(−⟨w, x̄ᵢ⟩)/L(w), the share of each point in the exponential loss and so in its gradient.

    As w grows along a direction they concentrate on the points of least margin in it: the support vectors. Never
    overflows. Reference: arora (8.26), ℓₜ/‖ℓₜ‖₁ in Assumption 8.4.3.
    """
    margins = weights @ signed_points.T
    xp = margins.__array_namespace__()
    scaled = xp.exp(margins.min(-1, keepdims=True) - margins)
    return scaled / scaled.sum(-1, keepdims=True)


doors(__name__, infinite=("norm",))
