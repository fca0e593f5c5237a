"""Inequalities that hold at every step of a run by theory: how tight each is there, and where the first one breaks.

A promise is a pair of arrays (smaller, larger) over time, computed from what the run saw; `audit` reads it. A broken
one means that a hypothesis does not hold there: a step too long, a smoothness too small, noise in the gradient.

`run` is what `trajectory` returns, `smoothness` L, `step_size` η.

Reference: arora 2.1 and 2.5; lucchi 5.5 and 5.6; Bansal and Gupta 2019, Potential-function proofs for gradient methods.
"""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int

from deeptheory.foundations.arrays import Reals
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import numeric
from deeptheory.foundations.training import stepped
from deeptheory.optimization.descent import guaranteed_decrease
from deeptheory.optimization.runs import Iterates, gradient_squares

__all__ = [
    "Audit",
    "AuditedRun",
    "Retrospect",
    "audit",
    "audited_run",
    "descent_promise",
    "gradient_promise",
    "improve_or_localize",
    "localizing",
    "parabola_promise",
    "potential_promise",
    "step_promise",
]

Number = float | Float[Array, ""]


class Audit(NamedTuple):
    """What became of a promise.

    tightest: the largest share of the larger side that the smaller reaches. at: when. violated: the first time at
    which the promise breaks, or is not a number; −1 if it is kept.
    """

    tightest: Float[Array, "*batch"]
    at: Int[Array, "*batch"]
    violated: Int[Array, "*batch"]


def audit(promise: Any, *, error: Reals = 0.0) -> Audit:
    """Read a promise, a pair of arrays smaller ≤ larger over time, along their last axis, times counted from 0.

    What is not a number is a promise broken, so that a run that diverged can be read. `error` is what the larger side
    may be off, such as the rounding of two losses that are subtracted; a promise is called broken only beyond it, and
    its tightness is not read where it is a percent of the larger side or more.
    """
    smaller, larger = map(jnp.asarray, promise)
    broken = ~(smaller <= larger + error + 64 * jnp.finfo(larger.dtype).eps * jnp.abs(larger))
    told = (larger > 0) & (error <= 0.01 * larger)
    share = jnp.where(told, smaller / jnp.where(told, larger, 1.0), -jnp.inf)
    first = jnp.where(broken.any(-1), jnp.argmax(broken, -1), -1)
    return Audit(jnp.maximum(share.max(-1), 0.0), jnp.argmax(share, -1), first)


class AuditedRun(NamedTuple):
    """What was seen at the end of a run, and what became of each of its promises along the way.

    tightest: the place, in the order in which promises were given, of the one that came closest. violated: the place of
    the one that broke first; −1 if all were kept. diverged: the first time, in steps from the start, at which position,
    value or gradient is not finite; −1 if there is none. Promises that hold on one side may be kept up to there.
    """

    end: Iterates
    audits: dict[str, Audit]
    tightest: Int[Array, "*batch"]
    violated: Int[Array, "*batch"]
    diverged: Int[Array, "*batch"]


class Retrospect(NamedTuple):
    """A promise that looks back further than one step, to be carried along by `audited_run`; `localizing` makes one.

    begin: (position, value) at the start → what is remembered. along: (what is remembered, position, value) after a
    step → (what is remembered, (smaller, larger)).
    """

    begin: Callable[[Any, Any], Any]
    along: Callable[[Any, Any, Any], tuple[Any, tuple[Any, Any]]]


def audited_run(
    function: Callable,
    method: optax.GradientTransformation | optax.GradientTransformationExtraArgs,
    start: Any,
    *,
    steps: Annotated[int, "[1, 1e7]"],
    promises: Mapping[str, Callable[[Iterates], Any] | Retrospect],
    error: Reals = 0.0,
) -> AuditedRun:
    """Run a method on f(x) and audit promises at every step, of which nothing but the two points at hand is kept.

    Says what `audit` says of each promise over the whole `trajectory`, for networks whose path is too long to keep.
    Times are those of steps: 0 is the step from the start to the first point.

    Args:
        promises: name → a function of a run of one step, two times along the leading axis: any promise of this module
            with its constants, `partial(descent_promise, step_size=0.1, smoothness=8.0)`; or, where it looks back
            further than that, a `Retrospect`, such as `localizing(step_size=0.1)`.
        error: what the larger sides may be off, as for `audit`.
    """
    numeric(start=start)
    if not promises:
        raise ValueError("promises must hold at least one promise, and hold none")
    for name, each in promises.items():
        if not (callable(each) or isinstance(each, Retrospect)):
            raise TypeError(f"promises must be functions of a run, or Retrospect, got {each!r} for {name!r}")
    method = optax.with_extra_args_support(method)

    def seen(position: Any, memory: Any) -> Iterates:
        return Iterates(position, *jax.value_and_grad(function)(position), memory)

    def broken(now: Iterates) -> Array:
        leaves = jax.tree.leaves((now.position, now.value, now.gradient))
        return ~jnp.stack([jnp.isfinite(leaf).all() for leaf in leaves]).all()

    def step(carry: tuple, time: Array) -> tuple[tuple, None]:
        now, audits, remembered, diverged = carry
        after = seen(*stepped(method, function, now.position, now.memory, now.value, now.gradient))
        window = jax.tree.map(lambda one, other: jnp.stack([one, other]), now, after)
        for name, promise in promises.items():
            if isinstance(promise, Retrospect):
                following, sides = promise.along(remembered[name], after.position, after.value)
                remembered = remembered | {name: following}
                sides = tuple(jnp.reshape(side, 1) for side in sides)
            else:
                sides = promise(window)
            so_far, found = audits[name], audit(sides, error=error)
            closer, breaks = found.tightest > so_far.tightest, (so_far.violated < 0) & (found.violated >= 0)
            best = jnp.where(closer, found.tightest, so_far.tightest)
            audits = audits | {
                name: Audit(best, jnp.where(closer, time, so_far.at), jnp.where(breaks, time, so_far.violated))
            }
        diverged = jnp.where((diverged < 0) & broken(after), time + 1, diverged)
        return (after, audits, remembered, diverged), None

    start = jax.tree.map(jnp.asarray, start)
    begin = seen(start, method.init(start))
    unread = Audit(jnp.zeros((), begin.value.dtype), jnp.zeros((), int), jnp.full((), -1))
    looking_back = {name: each for name, each in promises.items() if isinstance(each, Retrospect)}
    remembered = {name: each.begin(begin.position, begin.value) for name, each in looking_back.items()}
    unseen = dict.fromkeys(promises, unread)
    diverged = jnp.where(broken(begin), 0, -1)
    (end, audits, _, diverged), _ = jax.lax.scan(step, (begin, unseen, remembered, diverged), jnp.arange(steps))
    when = jnp.stack([audits[name].violated for name in promises])
    first = jnp.where(jnp.any(when >= 0), jnp.argmin(jnp.where(when >= 0, when, steps)), -1)
    closest = jnp.argmax(jnp.stack([audits[name].tightest for name in promises]))
    return AuditedRun(end, audits, closest, first, diverged)


def descent_promise(run: Iterates, *, step_size: Reals, smoothness: Reals) -> tuple[Any, Any]:
    """Return what a gradient step must lower an L-smooth function by, and what it does: the descent lemma.

    (η − η²L/2)‖∇f(x_t)‖² ≤ f(x_t) − f(x_{t+1}); for plain gradient descent with step η_t, one number or one a step
    (arora Lemma 2.1.4). For other methods see `parabola_promise`.
    """
    squares = gradient_squares(run)[:-1]
    return jnp.asarray(guaranteed_decrease(squares, step_size=step_size, smoothness=smoothness)), -jnp.diff(run.value)


def parabola_promise(run: Iterates, *, smoothness: Reals) -> tuple[Any, Any]:
    """Return by how much a step ends above the tangent plane, and by how much L-smoothness allows: ½L‖x_{t+1} − x_t‖².

    f(x_{t+1}) − f(x_t) − ⟨∇f(x_t), x_{t+1} − x_t⟩ ≤ ½L‖x_{t+1} − x_t‖², for the steps of any method (arora eq. 2.2).
    """
    moves = jax.tree.map(lambda a: jnp.diff(a, axis=0).reshape(len(a) - 1, -1), run.position)
    slopes = jax.tree.map(lambda g, move: jnp.sum(g[:-1].reshape(move.shape) * move, 1), run.gradient, moves)
    squares = sum(jnp.sum(move**2, 1) for move in jax.tree.leaves(moves))
    return jnp.diff(run.value) - sum(jax.tree.leaves(slopes)), smoothness / 2 * squares


def gradient_promise(run: Iterates, *, smoothness: Reals) -> tuple[Any, Any]:
    """Return how far the gradient moves in a step, and how far L-smoothness lets it: L‖x_{t+1} − x_t‖.

    ‖∇f(x_{t+1}) − ∇f(x_t)‖ ≤ L‖x_{t+1} − x_t‖, for the steps of any method (arora Def. 2.1.2). It breaks at the step
    that crosses a kink, where no L serves: beside |x| or a ReLU that turns on the gradient jumps by some J, however
    short the step, and a step shorter than J/L tells it. On smooth functions it breaks where L is too small. Not for
    stochastic gradients, whose batch changes.
    """

    def moved(tree: Any) -> Array:
        squares = [jnp.sum(jnp.diff(a, axis=0).reshape(len(a) - 1, -1) ** 2, 1) for a in jax.tree.leaves(tree)]
        return jnp.sqrt(jnp.stack(squares).sum(0))

    return moved(run.gradient), smoothness * moved(run.position)


def potential_promise(run: Iterates, *, potential: Callable[[Any, Any, Any], Any]) -> tuple[Any, Any]:
    """Return V_{t+1} and V_t of a potential that must not rise, such as ‖x − x*‖² for descent on a convex function.

    `potential` is a function of position, value and the method's memory at one time; the count of steps that many
    potentials have in them is in the memory of methods that count (`accelerated`). For η < 2/L and convex f also
    f(x) − f* and ‖∇f(x)‖² are such potentials of gradient descent.
    """
    levels = jax.vmap(potential)(run.position, run.value, run.memory)
    return levels[1:], levels[:-1]


def step_promise(curvatures: Float[Array, "k"], *, step_size: Reals) -> tuple[Any, Any]:
    """Return ηL_t and 2: the step condition of gradient descent under the largest curvatures along a run.

    Where it breaks the loss may rise; on a quadratic it does. For curvatures see `smoothness_along`.
    """
    return step_size * curvatures, jnp.full_like(curvatures, 2.0)


def improve_or_localize(
    positions: Float[Array, "k d"],
    values: Float[Array, "k"],
    *,
    step_size: Number,
    restarts: Bool[Array, "k"] | None = None,
) -> tuple[Float[Array, "k"], Float[Array, "k"]]:
    """How far a run of gradient descent has been from its start, and how far its decrease allows it to have been.

    Returns, for every t, max_{τ≤t} ‖x_τ − x₀‖ and √(2ηt (f(x₀) − f(x_t))); on an ℓ-smooth function with η ≤ 1/ℓ the
    first never exceeds the second (arora Lemma 7.3.2). `restarts` marks the times at which a new run begins, such as
    the points that a perturbation led to; x₀ and t then count from the last one.
    """
    if restarts is None:
        restarts = jnp.zeros(len(values), bool)
    precision = jnp.result_type(positions, values, step_size)
    positions, values = jnp.asarray(positions, precision), jnp.asarray(values, precision)

    back = localizing(step_size=step_size)

    def body(carry: tuple, now: tuple) -> tuple[tuple, tuple]:
        position, value, restart = now
        # Time is counted by `along`, which takes the step that ends here.
        anew = back.begin(position, value)._replace(time=jnp.array(-1))
        return back.along(jax.tree.map(lambda new, old: jnp.where(restart, new, old), anew, carry), position, value)

    start = back.begin(positions[0], values[0])._replace(time=jnp.array(-1))
    return jax.lax.scan(body, start, (positions, values, restarts))[1]


class Whence(NamedTuple):
    """Where a run began, with which value, how many steps ago, and how far from there it has been."""

    origin: Any
    value: Any
    time: Any
    farthest: Any


def localizing(*, step_size: Number) -> Retrospect:
    """Improve or localize, carried along: max_{τ≤t} ‖x_τ − x₀‖ ≤ √(2ηt (f(x₀) − f(x_t))) after every step t.

    Kept by gradient descent with η ≤ 1/ℓ on an ℓ-smooth function, from its start on; remembers the start and how far
    the run has been, so that memory does not grow with it. Parameters may be any pytree. Over stored arrays, with
    restarts, it is `improve_or_localize`, whose times are those of points, one later than those of steps.
    Reference: arora Lemma 7.3.2.
    """

    def begin(position: Any, value: Any) -> Whence:
        return Whence(position, value, jnp.array(0), jnp.zeros_like(value))

    def along(memory: Whence, position: Any, value: Any) -> tuple[Whence, tuple[Any, Any]]:
        moved = jax.tree.map(jnp.subtract, position, memory.origin)
        away = jnp.sqrt(jnp.stack([jnp.sum(leaf**2) for leaf in jax.tree.leaves(moved)]).sum())
        time, farthest = memory.time + 1, jnp.maximum(memory.farthest, away.astype(memory.farthest.dtype))
        allowed = jnp.sqrt(jnp.maximum(2 * step_size * time * (memory.value - value), 0.0))
        return memory._replace(time=time, farthest=farthest), (farthest, allowed.astype(farthest.dtype))

    return Retrospect(begin, along)


doors(
    __name__,
    step_size="[0, ∞)",
    smoothness="[0, ∞)",
    error="[0, ∞)",
    nan=("audit", "audited_run", "descent_promise", "gradient_promise", "parabola_promise", "potential_promise"),
)
