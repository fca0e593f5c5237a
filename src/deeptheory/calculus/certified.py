"""Constants of a given function on a box, between two bounds that are certain: range, Lipschitz, smoothness, curvature.

Every answer is a pair. The upper bound encloses derivatives by intervals, on pieces of the box that are cut where the
bound is largest, until it meets the lower bound; the lower bound is a value or a difference quotient that the function
really has, rounded down. Nothing is sampled and hoped for. An upper bound ∞ says that none was found: at a kink there
is no smoothness constant, and the lower bound shows how large one would have to be.
"""

from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from deeptheory.calculus.branch_and_bound import BATCH, Bounds, narrowed
from deeptheory.calculus.intervals import Enclosure, compiled, enclosures, mean_value_form
from deeptheory.calculus.operator_norms import vector_norm
from deeptheory.foundations.entrances import doors

__all__ = [
    "Bounds",
    "Regularity",
    "curvature_bounds",
    "lipschitz_constant",
    "maximum",
    "regularity",
    "smoothness_constant",
]

Function = Callable[[Float[Array, "d"]], Float[Array, "..."]]
Scalar = Callable[[Float[Array, "d"]], Float[Array, ""]]
Corner = Float[np.ndarray, "d"]
Tolerance = Annotated[float, "[1e-9, 1]"]
Boxes = Annotated[int, "[1, 1e6]"]

EPSILON, TINY = np.finfo(float).eps, np.finfo(float).tiny


def maximum(
    function: Scalar, low: Corner, high: Corner, *, tolerance: Tolerance = 1e-3, boxes: Boxes = 4_000
) -> Bounds:
    """Bound the largest value of a function on a box from both sides.

    Boxes are cut in halves, those of the largest upper bound first, until the bounds are within `tolerance` of each
    other (relative to the larger modulus) or so many `boxes` have been looked at. The least value is minus the largest
    of −f. Halving takes a number of boxes that grows exponentially with the dimension: for a handful of variables.

    Reference: Moore, Interval Analysis (1966).
    """
    enclosed = mean_value_form(_one_number(function), (BATCH, len(low)))

    def above(lows: Any, highs: Any) -> Any:
        return _known(enclosed(lows, highs).high)

    def attained(lows: Any, highs: Any) -> Any:
        return np.max([_known(enclosed(each, each).low, -np.inf) for each in (lows, lows / 2 + highs / 2, highs)], 0)

    return narrowed(above, attained, low, high, tolerance, boxes, least=-np.inf)


def lipschitz_constant(
    function: Function, low: Corner, high: Corner, *, tolerance: Tolerance = 1e-2, boxes: Boxes = 4_000
) -> Bounds:
    """Bound the least L with ‖f(x) − f(y)‖ ≤ L‖x − y‖ on a box, in Euclidean norms; f may return an array.

    From above: if f is continuous on the box, L is the supremum of the spectral norm of its Jacobian where that exists,
    and an interval matrix of middle M and radius R has norms of at most ‖M‖ + ‖R‖. From below: difference quotients.
    ∞ from above if f was not shown to be continuous, as where it branches on its input: write such kinks with
    `jnp.maximum`, `jnp.minimum`, `jnp.abs`.

    Reference: lucchi Def. 3, Lemma 5.
    """
    flat = _flattened(function)
    return _change(flat, (flat,), low, high, tolerance, boxes)


def smoothness_constant(
    function: Scalar, low: Corner, high: Corner, *, tolerance: Tolerance = 1e-2, boxes: Boxes = 4_000
) -> Bounds:
    """Bound the least L with ‖∇f(x) − ∇f(y)‖ ≤ L‖x − y‖ on a box: the Lipschitz constant of the gradient.

    Where f has second derivatives it is the largest modulus of an eigenvalue of the Hessian. At a kink, as of |x| at 0,
    the gradient jumps and there is none: the upper bound is ∞, and the lower one grows with the number of `boxes`.

    Reference: lucchi Def. 4; `lipschitz_estimates` of `optimization` samples instead.
    """
    gradient = jax.grad(_one_number(function))
    return _change(gradient, (_flattened(function), gradient), low, high, tolerance, boxes)


def curvature_bounds(
    function: Scalar, low: Corner, high: Corner, *, tolerance: Tolerance = 1e-2, boxes: Boxes = 4_000
) -> tuple[Bounds, Bounds]:
    """Bound the least and the largest eigenvalue that the Hessian has on a box.

    If the lower bound of the least one is positive, f is certainly strongly convex there; if its upper bound is
    negative, f is certainly not convex. For twice differentiable functions: a kink is ±∞. `tolerance` is relative to
    the larger of the two moduli, at least.

    Reference: lucchi Sec. 1.4.1, Def. 5.
    """
    gradient = jax.grad(_one_number(function))
    hessian, kinks = mean_value_form(jax.jacfwd(gradient), (BATCH, len(low))), compiled(gradient, (BATCH, len(low)))

    def top(sign: float) -> Bounds:
        def above(lows: Any, highs: Any) -> Any:
            least, largest = _eigenvalue_range(hessian(lows, highs))
            smooth = ~np.isnan(kinks(lows, highs, False).low).any(1)
            return np.where(smooth, largest if sign > 0 else -least, np.inf)

        def attained(lows: Any, highs: Any) -> Any:
            # An eigenvalue somewhere is at least what its middle says less the norm of the radius.
            least, largest = zip(
                *(_eigenvalue_range(hessian(each, each), -1) for each in (lows, lows / 2 + highs / 2, highs)),
                strict=True,
            )
            return np.max(largest if sign > 0 else -np.array(least), 0)

        return narrowed(above, attained, low, high, tolerance, boxes, least=-np.inf)

    least, largest = top(-1.0), top(1.0)
    return Bounds(-least.upper, -least.lower), largest


class Regularity(NamedTuple):
    """What was shown of a function on a box: each constant between its bounds, ∞ from above where none was found."""

    continuous: bool
    lipschitz: Bounds
    differentiable: bool
    smoothness: Bounds


def regularity(function: Scalar, low: Corner, high: Corner, *, boxes: Boxes = 2_000) -> Regularity:
    """Say what can be shown of a function on a box: continuous, Lipschitz, continuously differentiable, smooth.

    True and a finite upper bound are proofs. False means not shown; a lower bound beyond all measure (10⁹ for a
    function of order one) is what a jump, of the function or of its gradient, looks like.

    Reference: lucchi Defs. 3, 4, Fig. 1.2.
    """
    one = _one_number(function)
    values, slopes = (enclosures(each, low[None], high[None], steps=False).low for each in (one, jax.grad(one)))
    lipschitz = lipschitz_constant(function, low, high, boxes=boxes)
    smoothness = smoothness_constant(function, low, high, boxes=boxes)
    return Regularity(
        bool(np.isfinite(values).all() or np.isfinite(lipschitz.upper)),
        lipschitz,
        bool(np.isfinite([values, *slopes.T]).all() or np.isfinite(smoothness.upper)),
        smoothness,
    )


def _one_number(function: Scalar) -> Scalar:
    def scalar(x: Float[Array, "d"]) -> Float[Array, ""]:
        value = jnp.asarray(function(x))
        if value.size != 1:
            raise ValueError(f"function must return one number, got an array of shape {value.shape}")
        return value.reshape(())

    return scalar


def _flattened(function: Function) -> Function:
    return lambda x: jnp.ravel(jnp.asarray(function(x)))


def _change(
    mapped: Function, unbroken: tuple[Function, ...], low: Any, high: Any, tolerance: float, boxes: int
) -> Bounds:
    """Bound the Lipschitz constant of a map; it has one only where the functions `unbroken` are continuous."""
    shape = BATCH, len(low)
    values, slopes = compiled(mapped, shape), mean_value_form(jax.jacfwd(mapped), shape)
    checks = [values if each is mapped else compiled(each, shape) for each in unbroken]
    # Ends of a quotient are boxes, small ones, lest a derivative be taken exactly at a kink, where it means nothing.
    around = 1e-13 * np.maximum(np.maximum(np.abs(low), np.abs(high)), TINY)

    def above(lows: Any, highs: Any) -> Any:
        continuous = ~np.any([np.isnan(each(lows, highs, False).low).any(1) for each in checks], 0)
        middle, radius = _centred(slopes(lows, highs))
        norms = _norms(_settled(middle)) + _norms(_settled(radius)) + _solver(middle) + _solver(radius)
        return np.where(continuous, norms, np.inf)

    def attained(lows: Any, highs: Any) -> Any:
        # Across the box, along the direction in which its middle changes most.
        middles = lows / 2 + highs / 2
        steepest = np.linalg.svd(_settled(_centred(slopes(middles, middles))[0]))[2][:, 0]
        size = np.where(steepest == 0, 1.0, np.abs(steepest))
        reach = np.where(steepest == 0, np.inf, (highs - middles) / size).min(1)[:, None]
        ends = [np.clip(middles + sign * reach * steepest, lows, highs) for sign in (-1, 1)]
        one, other = (values(np.maximum(end - around, low), np.minimum(end + around, high), True) for end in ends)
        gap = np.maximum(np.maximum(other.low - one.high, one.low - other.high), 0.0)
        apart = vector_norm(np.abs(ends[1] - ends[0]) + 2 * around)
        quotient = vector_norm(_settled(gap)) / np.where(apart > 0, apart, np.inf)
        return _known(quotient * (1 - 16 * gap.shape[1] * EPSILON), 0.0)

    return narrowed(above, attained, low, high, tolerance, boxes, least=0.0)


def _centred(entries: Enclosure) -> tuple[Any, Any]:
    with np.errstate(all="ignore"):
        middle = entries.low / 2 + entries.high / 2
        return middle, np.maximum(entries.high - middle, middle - entries.low)


def _settled(matrices: Any) -> Any:
    """Matrices for a solver that does not take ∞ and nan: those are handled where its answer is used."""
    return np.where(np.isfinite(matrices), matrices, 0.0)


def _norms(matrices: Any) -> Any:
    return np.linalg.svd(matrices, compute_uv=False)[..., 0]


def _solver(matrices: Any) -> Any:
    """What eigenvalues and singular values may be off by rounding; ∞ where entries are not known."""
    size = vector_norm(_settled(matrices).reshape(*matrices.shape[:-2], -1))
    return np.where(np.isfinite(matrices).all((-2, -1)), 16 * max(matrices.shape[-2:]) * EPSILON * size, np.inf)


def _eigenvalue_range(entries: Enclosure, beyond: int = 1) -> tuple[Any, Any]:
    """Bound the extreme eigenvalues of symmetric interval matrices, outward, or inward with `beyond` = −1.

    They differ from those of the middle by at most the norm of the radius (Weyl).
    """
    middle, radius = _centred(entries)
    values = np.linalg.eigvalsh(_settled(middle))
    off = beyond * (_norms(_settled(radius)) + _solver(middle) + _solver(radius))
    return values[:, 0] - off, values[:, -1] + off


def _known(values: Any, otherwise: float = np.inf) -> Any:
    """Replace nan, the mark of what could not be computed, by what is then true for certain."""
    return np.where(np.isnan(values), otherwise, values)


doors(__name__)
