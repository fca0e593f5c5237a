"""The auditor: which solution does an algorithm select, and which second problem does that solution solve?

Training has many solutions. `selected` runs any method of optax's shape to the one it finds; `solves` measures how far
a point is from solving min R(w) subject to Xw = y, or min D_R(w, w₀), and `solves_margin` how far a direction is from
the largest margin of a norm: by its own conditions, by a certified bound on the best value, and by its distance to a
solution found otherwise. Matrices of least nuclear norm are audited by `solves` too, laid out as vectors, with
`potentials.nuclear_norm` and a solution of `nuclear`. That a point solves the second problem does not say that training
on the second problem would find it.
"""

from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax
from jax.flatten_util import ravel_pytree
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Bool, Float, Int

from deeptheory.foundations.arrays import AnyArray, traced
from deeptheory.foundations.callbacks import asked
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import numeric
from deeptheory.foundations.training import stepped
from deeptheory.implicit_bias.margins import LargestMargin, largest_margin, normalized_margin
from deeptheory.implicit_bias.mirror import conjugate, dual_multipliers
from deeptheory.implicit_bias.potentials import Potential, squared_norm

__all__ = ["MarginProblem", "SecondProblem", "Selected", "least_norm", "selected", "solves", "solves_margin"]


class Selected(NamedTuple):
    """What a run ended at: the point, its loss, the number of steps, and whether the loss came down as asked."""

    point: Any
    loss: Float[Array, "*batch"]
    steps: Int[Array, "*batch"]
    fitted: Bool[Array, "*batch"]


def selected(
    method: optax.GradientTransformation | optax.GradientTransformationExtraArgs,
    loss: Callable[[Any], Any],
    start: Any,
    *,
    steps: Annotated[int, "[1, 1e8]"] = 100_000,
    tolerance: float = 1e-24,
    draws: Any = None,
    drawn: Callable[[Any, Any], Any] | None = None,
) -> Selected:
    """Run a method from `start` until the loss is `tolerance` times what it was, or for so many steps.

    `start` is any pytree of arrays. Stochastic gradients: `drawn(w, draw)` is the loss of one draw, whose gradient the
    method gets, and `draws` holds draws along a first axis, taken in turn and again from the first. The stop looks at
    `loss`. A loss that is not a number ends the run. Wrap in `jit`, and in `vmap` over starts or data. Reference: arora
    Ch. 8, "Meanings of implicit regularization".
    """
    if (draws is None) != (drawn is None):
        raise ValueError("draws and drawn must be given together: the draws, and the loss of one of them")
    numeric(start=start)
    start = jax.tree.map(jnp.asarray, start)
    method = optax.with_extra_args_support(method)
    first = loss(start)

    def step(now: tuple) -> tuple:
        count, point, memory, _ = now
        draw = jax.tree.map(lambda leaf: jnp.asarray(leaf)[count % len(leaf)], draws)

        def objective(w: Any) -> Any:
            return loss(w) if drawn is None else drawn(w, draw)

        value, gradient = jax.value_and_grad(objective)(point)
        point, memory = stepped(method, objective, point, memory, value, gradient)
        return count + 1, point, memory, loss(point)

    def going(now: tuple) -> Any:
        return (now[0] < steps) & (now[3] > tolerance * first) & jnp.isfinite(now[3])

    begin = (jnp.zeros((), int), start, method.init(start), first)
    count, point, _, value = jax.lax.while_loop(going, step, begin)
    return Selected(point, value, count, value <= tolerance * first)


class SecondProblem(NamedTuple):
    """How far a point is from solving min D_R(w, w₀) subject to Xw = y.

    unfit: ‖Xw − y‖ over ‖y‖. misaligned: the part of ∇R(w) − ∇R(w₀) outside the span of the rows, over its length; 0 at
    the solution, where R is smooth. value: D_R(w, w₀). least: a lower bound on that of every interpolator, by duality.
    excess: value/least − 1, how much less another interpolator may have at most. distance: from w to the solution.
    """

    unfit: Any
    misaligned: Any
    value: Any
    least: Any
    excess: Any
    distance: Any


def solves(
    point: Float[AnyArray, " d"],
    design: Float[AnyArray, "n d"],
    labels: Float[AnyArray, " n"],
    potential: Potential,
    *,
    start: Float[AnyArray, " d"] | None = None,
    solution: tuple[Float[AnyArray, " d"], Float[AnyArray, " n"]] | None = None,
) -> SecondProblem:
    """Measure how far w is from solving min D_R(w, w₀) subject to Xw = y; without `start`, min R(w).

    `solution` is a pair of solution and multipliers; without it the dual is solved by Newton's method, which needs a
    smooth conjugate. For ½‖·‖₁² and ½‖·‖∞² give that of `least_norm`, or one of any other solver: the bound `least` is
    ⟨λ, y⟩ − R*(∇R(w₀) + Xᵀλ) + R*(∇R(w₀)), which no interpolator undercuts whatever λ is, so a wrong pair can only make
    a point look worse. For a norm about w₀ ≠ 0 give w − w₀ and y − Xw₀. On the host; under `jit` and `vmap` too, for
    many runs at once.

    Reference: arora Ch. 8, "Meanings of implicit regularization".
    """
    xp: Any = jnp if traced(point, design, labels, start, *(solution or ())) else np
    point, design, labels = (xp.asarray(each, float) for each in (point, design, labels))
    offset = xp.zeros(len(point)) if start is None else xp.asarray(potential.gradient(xp.asarray(start, float)))
    if solution is None:
        multipliers = dual_multipliers(potential, design, labels, start)
        best = xp.asarray(potential.inverse(offset + design.T @ multipliers))
    else:
        best, multipliers = (xp.asarray(each, float) for each in solution)
    turned = xp.asarray(potential.gradient(point)) - offset
    aside = turned - design.T @ xp.linalg.lstsq(design.T, turned)[0]
    ground = conjugate(potential, offset)
    value = potential.value(point) - offset @ point + ground
    least = multipliers @ labels - conjugate(potential, offset + design.T @ multipliers) + ground
    over = xp.where(least > 0, value / xp.where(least > 0, least, 1.0) - 1, xp.where(value > 0, np.inf, 0.0))

    def share(part: Any, whole: Any) -> Any:
        return xp.linalg.norm(part) / xp.maximum(xp.linalg.norm(whole), 1e-300)

    found = share(design @ point - labels, labels), share(aside, turned), value, least, over
    found = *found, xp.linalg.norm(point - best)
    return SecondProblem(*(found if xp is jnp else map(float, found)))


class MarginProblem(NamedTuple):
    """How far a direction is from solving max over ‖w‖ = 1 of minᵢ ⟨w, x̄ᵢ⟩.

    infeasible: how far behind the boundary the worst point lies, over the largest dual norm of a point; 0 for a
    separator. misaligned: the length that is left of (∇½‖w‖², 0) after the best combination λ ≥ 0 of the points, each
    with its slack ⟨w, x̄ᵢ⟩ − min as one more entry, over the length of ∇½‖w‖²: the conditions of Karush, Kuhn and Tucker
    in one number, 0 exactly at the solution, where the norm is smooth. margin: minᵢ ⟨w, x̄ᵢ⟩/‖w‖. most: an upper bound
    on that of every w, by duality. shortfall: 1 − margin/most, how much more another direction may have at most.
    distance: between the directions of w and of the solution, as points of the Euclidean sphere.
    """

    infeasible: Any
    misaligned: Any
    margin: Any
    most: Any
    shortfall: Any
    distance: Any


def solves_margin(
    point: Float[AnyArray, " d"],
    signed_points: Float[AnyArray, "n d"],
    *,
    norm: float = 2.0,
    solution: LargestMargin | None = None,
) -> MarginProblem:
    """Measure how far w is from the direction of largest margin in ‖·‖ₚ; `norm` is p ≥ 1, ∞ included.

    `solution` is that of `margins.largest_margin`, which is called without it, or of another solver: only its vector
    and its weights p are used, and the bound `most` is ‖X̄ᵀp‖⋆, which no direction exceeds whatever the convex weights,
    so wrong ones can only make a direction look worse. For 1 and ∞, where the norm has corners, `misaligned` is that of
    one subgradient and may stay positive at a solution. On the host; under `jit` and `vmap` too, for many runs at once.

    Reference: arora Ch. 8, "Meanings of implicit regularization", and Thm 8.3.2.
    """
    xp: Any = jnp if traced(point, signed_points, *(solution or ())) else np
    point, points = xp.asarray(point, float), xp.asarray(signed_points, float)
    best = largest_margin(points, norm=norm) if solution is None else solution
    size = xp.linalg.norm(point, norm)
    if xp is np and not size > 0:
        raise ValueError("point must not be zero: it has no direction")
    unit, dual = point / size, np.inf if norm == 1 else 1.0 if norm == np.inf else norm / (norm - 1)
    margin = normalized_margin(points, point, norm=norm)
    turned = xp.asarray(squared_norm(norm).gradient(unit))
    rest = _apart(xp.vstack([points.T, points @ unit - margin]), xp.append(turned, 0.0))
    weights, ahead = xp.asarray(best.weights), best.vector / xp.linalg.norm(best.vector)
    most = xp.linalg.norm(weights @ points, dual) / weights.sum()
    found = (
        xp.maximum(0.0, -margin) / xp.linalg.norm(points, dual, axis=1).max(),
        rest / xp.linalg.norm(turned),
        margin,
        most,
        1 - margin / most,
        xp.linalg.norm(point / xp.linalg.norm(point) - ahead),
    )
    return MarginProblem(*(found if xp is jnp else map(float, found)))


def _apart(columns: Any, target: Any) -> Any:
    """How far a vector is from the cone of the columns; traced, the host says which of them bear the nearest point."""
    from scipy.optimize import nnls

    most = 30 * sum(columns.shape)
    if not traced(columns, target):
        return nnls(columns, target, maxiter=most)[1]

    def bearing(columns: np.ndarray, target: np.ndarray) -> np.ndarray:
        known = np.isfinite(columns).all() and np.isfinite(target).all()
        return nnls(columns, target, maxiter=most)[0] > 0 if known else np.zeros(columns.shape[1], bool)

    bears = asked(bearing, jax.ShapeDtypeStruct(columns.shape[1:], bool), columns, target)
    kept = jnp.where(bears, columns, 0.0)
    # Columns that bear nothing get an entry of their own, so that what is left has full rank.
    upper = jnp.linalg.qr(jnp.vstack([kept, jnp.diag(jnp.where(bears, 0.0, 1.0))]), mode="r")
    shares = solve_triangular(upper, solve_triangular(upper, kept.T @ target, trans=1))
    return jnp.linalg.norm(target - kept @ shares)


def least_norm(
    design: Float[AnyArray, "n d"], labels: Float[AnyArray, " n"], *, power: float
) -> tuple[Float[AnyArray, " d"], Float[AnyArray, " n"]]:
    """Return an interpolator of least ‖w‖₁ or ‖w‖∞, with multipliers for ½‖·‖²; `power` is 1 or ∞.

    By linear programming. There may be several; the one returned is a corner of their set. The multipliers are those
    of the linear programme times the norm, since ∇½‖·‖² is the norm times that of ‖·‖. For other powers see
    `mirror.bregman_projection`.

    Under `jit`, `vmap` and `grad` too: found on the host, with the derivatives, to any order, of the equations that w
    and λ solve. They need one w and one λ: where there are several, as for labels that fewer than n columns make up,
    the derivative is nan. Where nothing fits the labels this is said; traced, everything is nan.

    Reference: Chen, Donoho and Saunders 1998 for ‖·‖₁; Boyd and Vandenberghe 2004, Convex Optimization, 6.2.
    """
    if power not in (1, np.inf):
        raise ValueError(f"power must be 1 or ∞, got {power}; for others see bregman_projection")
    if traced(design, labels):
        return _traced_corner(jnp.asarray(design, float), jnp.asarray(labels, float), power)
    return _corner(np.asarray(design, float), np.asarray(labels, float), power)


def _corner(design: np.ndarray, labels: np.ndarray, power: float) -> tuple[np.ndarray, np.ndarray]:
    from scipy.optimize import linprog

    count, width = design.shape
    if power == 1:
        found = linprog(np.ones(2 * width), A_eq=np.hstack([design, -design]), b_eq=labels, method="highs")
    else:
        above, one = np.ones((width, 1)), np.append(np.zeros(width), 1.0)
        walls = np.block([[np.eye(width), -above], [-np.eye(width), -above]])
        fit, bounds = np.hstack([design, np.zeros((count, 1))]), [(None, None)] * width + [(0, None)]
        found = linprog(one, walls, np.zeros(2 * width), A_eq=fit, b_eq=labels, bounds=bounds, method="highs")
    if found.status != 0:
        raise ValueError(f"no interpolator of least norm was found: {found.message}")
    point = found.x[:width] - found.x[width:] if power == 1 else found.x[:width]
    return point, found.eqlin.marginals * found.fun


def _traced_corner(design: Array, labels: Array, power: float) -> tuple[Array, Array]:
    """The pair of the host as a root of Xw = y and of Xᵀλ ∈ ∂½‖w‖², so that it has derivatives."""
    count, width = design.shape

    def known(design: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        try:
            return _corner(np.asarray(design, float), np.asarray(labels, float), power)
        except ValueError:
            return np.full(width, np.nan), np.full(count, np.nan)

    shapes = jax.ShapeDtypeStruct((width,), design.dtype), jax.ShapeDtypeStruct((count,), design.dtype)
    point, multipliers = asked(known, shapes, design, labels)
    # What does not change under a small change of the data: which entries are zero, or as large as any, and signs.
    size, pull, rounding = jnp.abs(point), lax.stop_gradient(design.T @ multipliers), 100 * jnp.finfo(design.dtype).eps
    sides, largest = jnp.sign(point), size.max()
    if power == 1:
        cornered = size > rounding * largest
        slack = jnp.where(cornered, 1.0, 1 - jnp.abs(pull) / size.sum())
        alone = (cornered.sum() == count) & (slack > rounding).all()
    else:
        cornered = size > (1 - rounding) * largest
        slack = jnp.where(cornered, sides * pull / largest, 1.0)
        alone = (cornered.sum() == width - count + 1) & (slack > rounding).all()

    def equations(pair: tuple) -> tuple:
        w, multipliers = pair
        pull = design.T @ multipliers
        if power == 1:
            rest = jnp.where(cornered, pull - (sides @ w) * sides, w)
        else:
            rest = jnp.where(cornered, w - (pull @ jnp.where(cornered, sides, 0.0)) * sides, pull)
        return rest, design @ w - labels

    def solved(linear: Any, change: tuple) -> tuple:
        flat, back = ravel_pytree(change)
        matrix = jax.jacobian(lambda each: ravel_pytree(linear(back(each)))[0])(flat)
        return back(jnp.linalg.solve(jnp.where(alone, matrix, jnp.nan), flat))

    return lax.custom_root(equations, (point, multipliers), lambda _, begin: begin, solved)


doors(__name__, infinite=("power", "norm"), power="[1, ∞]", tolerance="[0, 1)")
