"""Differential equations: by equal steps in JAX, with derivatives, or on the host with steps that adapt.

`flow` takes a given number of Runge–Kutta steps, is one compiled loop and goes through `jit`, `vmap` and `grad`: for
training through a flow, and for many flows at once. `followed` leaves the steps to SciPy, stiff methods among them,
and ends with the error asked for or in one sentence: for reference solutions. Two have the error of the second and
derivatives like the first: `adaptive_flow` for velocities that only JAX computes, `stiff_flow` for stiff ones that
NumPy computes too. diffrax has all and more; importing and compiling a solver of it takes seconds, more than most
claims take in all.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.callbacks import asked
from deeptheory.foundations.guards import inside, numeric

__all__ = ["adaptive_flow", "flow", "followed", "stiff_flow"]

EVALUATIONS = 50_000
"""of the velocity, after which a flow is given up; a flow that its method is made for takes a tenth of them"""

ROOT = 6**0.5
RADAU = np.array(
    [
        [(88 - 7 * ROOT) / 360, (296 - 169 * ROOT) / 1800, (-2 + 3 * ROOT) / 225],
        [(296 + 169 * ROOT) / 1800, (88 + 7 * ROOT) / 360, (-2 - 3 * ROOT) / 225],
        [(16 - ROOT) / 36, (16 + ROOT) / 36, 1 / 9],
    ]
)
"""the method of Radau with three stages, of order five and stable at any stiffness; its rows sum to its times"""


def flow(
    velocity: Callable[[Any, Any], Any],
    start: Any,
    times: Float[AnyArray, " times"],
    *,
    begin: float | Float[AnyArray, ""] = 0.0,
    substeps: int = 16,
) -> Any:
    """Return the solution of du/dt = velocity(t, u) at the given times, u(begin) = `start`, by Runge–Kutta steps.

    `start` may be any pytree; `substeps` equal steps of the classical method of order four are taken from `begin` to
    the first time and from each time to the next, so that the error falls as the fourth power of their length: double
    them to see what it is. Pure, for `jit`, `vmap` and `grad`, backwards too, at the memory of all steps. Not for
    stiff equations, whose steps would have to be tiny: see `followed`. With velocity −∇Φ this is gradient flow on the
    population loss.
    """
    numeric(start=start)
    inside(0, np.inf, "[)", times=times)
    inside(1, 10**5, substeps=substeps)
    times = jnp.asarray(times)

    def moved(state: Any, change: Any, length: Any) -> Any:
        return jax.tree.map(lambda value, slope: value + length * slope, state, change)

    def interval(state: Any, stretch: Any) -> tuple[Any, Any]:
        since, length = stretch
        h = length / substeps

        def once(turn: Any, now: Any) -> Any:
            time = since + turn * h
            first = velocity(time, now)
            second = velocity(time + h / 2, moved(now, first, h / 2))
            third = velocity(time + h / 2, moved(now, second, h / 2))
            fourth = velocity(time + h, moved(now, third, h))
            whole = jax.tree.map(lambda a, b, c, d: (a + 2 * b + 2 * c + d) / 6, first, second, third, fourth)
            return moved(now, whole, h)

        state = lax.fori_loop(0, substeps, once, state)
        return state, state

    first = jax.tree.map(lambda value: jnp.asarray(value) * jnp.ones_like(times[0]), start)
    since = jnp.concatenate([jnp.asarray(begin, times.dtype)[None], times[:-1]])
    return lax.scan(interval, first, (since, times - since))[1]


def followed(
    velocity: Callable[[float, np.ndarray], Any],
    begin: float,
    start: Float[np.ndarray, " n"],
    times: Float[AnyArray, " time"],
    *,
    method: str,
    tolerance: float,
    absolute: float | None = None,
    jacobian: Callable[[float, np.ndarray], Any] | None = None,
) -> Float[np.ndarray, "time n"]:
    """Return the solution of ẏ = velocity(t, y) from `start` at time `begin`, at increasing times from then on.

    `method` is one of `scipy.integrate.solve_ivp`, `tolerance` its relative tolerance, and the absolute one unless
    that is given. `jacobian`, the derivative of the velocity in y, saves a stiff method n evaluations each time it
    needs one, and may be rough: only how fast its equations are solved depends on it. A flow that is too stiff for
    the method, or too long, ends in an error, not in an endless run.
    """
    times = np.asarray(times, float)
    if not (np.isfinite(times).all() and times[0] >= begin and (np.diff(times) > 0).all()):
        raise ValueError(f"times must be finite and increase from {begin:.6g} on, got {times}")
    if times[-1] == begin:
        return np.array([start], float)
    least = tolerance if absolute is None else absolute
    precision = {"method": method, "rtol": tolerance, "atol": least, "jac": jacobian, "t_eval": times}
    return _integrated(velocity, begin, float(times[-1]), start, precision).y.T


def _integrated(velocity: Callable, begin: float, end: float, start: np.ndarray, precision: dict[str, Any]) -> Any:
    from scipy.integrate import solve_ivp

    patience = iter(range(EVALUATIONS))

    def patient(t: float, y: np.ndarray) -> Any:
        if next(patience, None) is None:
            raise ArithmeticError(f"the flow is too stiff or too long to be followed beyond time {t:.6g}")
        return velocity(t, y)

    known = {name: value for name, value in precision.items() if value is not None}
    # A trial step that is going to be rejected may overflow; the solver then shortens it.
    with np.errstate(over="ignore", invalid="ignore"):
        path = solve_ivp(patient, (begin, end), start, **known)
    if not (path.success and np.size(path.t) >= np.size(known.get("t_eval", path.t))):
        reached = path.t[-1] if len(path.t) else begin
        raise ArithmeticError(f"the flow could not be followed beyond time {reached:.6g}: {path.message}")
    return path


def adaptive_flow(
    velocity: Callable[[Any], Any], start: Float[AnyArray, " n"], times: Float[AnyArray, " time"], *, tolerance: float
) -> Float[Array, "time n"]:
    """Return the solution of dy/dt = velocity(y), y(0) = `start`, with the steps of `followed` but traced.

    By the method of Dormand and Prince of order eight, in JAX: under `jit`, `vmap` and `grad`, in start, times and all
    that the velocity is made of. The steps are found first and then taken as they are, so that derivatives, to any
    order and in both directions, are those of the steps taken, as exact as the values. Relative and absolute
    `tolerance` are the same, and at least 100 units in the last place. Not for stiff equations: what takes more than
    4,000 steps, and times that do not increase from 0 on, give nan.

    Reference: Hairer, Nørsett and Wanner 1993, Solving Ordinary Differential Equations I, II.5 and II.10.
    """
    start, times = jnp.asarray(start, float), jnp.asarray(times, float)
    least = max(tolerance, 100 * float(jnp.finfo(start.dtype).eps))
    nodes, places, met = _nodes(velocity, lax.stop_gradient(start), lax.stop_gradient(times), least)
    needed = jnp.arange(len(nodes)) <= places[-1]
    # Where a step ends at one of the times, it moves with that time.
    lengths = jnp.where(needed, jnp.diff(nodes.at[places].set(times), prepend=0.0), 0.0)
    taken = jax.checkpoint(lambda y, length: _stepped(velocity, y, length)[0])

    def step(y: Any, piece: tuple) -> tuple[Any, Any]:
        y = lax.cond(piece[0], taken, lambda y, _: y, y, piece[1])
        return y, y

    path = lax.scan(step, start, (needed, lengths))[1]
    return jnp.where(met & (times[0] >= 0) & (jnp.diff(times) > 0).all(), path[places], jnp.nan)


def _stepped(velocity: Callable, y: Any, length: Any) -> tuple[Any, Any]:
    """Where one step leads, and the velocities at its twelve stages."""
    from scipy.integrate import DOP853

    def stage(turn: Any, known: Any) -> Any:
        return known.at[turn].set(velocity(y + length * (jnp.asarray(DOP853.A)[turn] @ known)))

    count = len(DOP853.B)
    stages = lax.fori_loop(0, count, stage, jnp.zeros((count, *y.shape), y.dtype))
    return y + length * (DOP853.B @ stages), stages


def _error(stages: Any, length: Any, scale: Any) -> Any:
    """The error of one step in units of `scale`, from its stages and the velocity at its end."""
    from scipy.integrate import DOP853

    fifth, third = (jnp.linalg.norm(each @ stages / scale) for each in (DOP853.E5, DOP853.E3))
    both = jnp.hypot(fifth, 0.1 * third) * scale.size**0.5
    return length * fifth**2 / jnp.where(both == 0, 1.0, both)


def _nodes(velocity: Callable, start: Any, times: Any, tolerance: float) -> tuple[Any, Any, Any]:
    """The ends of steps whose error is below the tolerance, where the times are among them, and whether all are.

    Nothing in it has a derivative, else its `while_loop` could not be gone through backwards.
    """
    most = 4000 + len(times)

    def still(y: Any) -> Any:
        return lax.stop_gradient(velocity(y))

    def going(now: tuple) -> Any:
        tries, count, due = now[:3]
        return (tries < 2 * most) & (count < most) & (due < len(times))

    def attempt(now: tuple) -> tuple:
        tries, count, due, time, y, length, nodes, places = now
        left = times[due] - time
        tried = jnp.minimum(length, left)
        ahead, stages = _stepped(still, y, tried)
        scale = tolerance * (1 + jnp.maximum(jnp.abs(y), jnp.abs(ahead)))
        error = _error(jnp.vstack([stages, still(ahead)]), tried, scale)
        kept = error < 1
        hit = kept & (tried == left)
        time = jnp.where(hit, times[due], jnp.where(kept, time + tried, time))
        nodes, places = nodes.at[count].set(time), places.at[due].set(count)
        factor = jnp.where(error < jnp.inf, jnp.clip(0.9 * error ** (-1 / 8), 0.2, 10.0), 0.2)
        # A step that is short because a time is due says nothing against longer ones.
        length = jnp.where(kept, jnp.maximum(length, tried * factor), tried * factor)
        return tries + 1, count + kept, due + hit, time, jnp.where(kept, ahead, y), length, nodes, places

    speed = jnp.linalg.norm(still(start)) / (1 + jnp.linalg.norm(start))
    first = jnp.clip(0.01 / jnp.where(speed > 0, speed, 1.0), 1e-6, 1.0)
    none = jnp.zeros((), int)
    begin = none, none, none, jnp.zeros_like(first), start, first, jnp.zeros(most), jnp.zeros(len(times), int)
    *_, nodes, places = found = lax.while_loop(going, attempt, begin)
    return nodes, places, found[2] == len(times)


def stiff_flow(
    velocity: Callable[..., Any],
    start: Float[AnyArray, " n"],
    times: Float[AnyArray, " time"],
    *parameters: Any,
    tolerance: float,
    absolute: float,
    jacobian: Callable[..., Any],
    steps: int = 256,
) -> Any:
    """Return the solution of dy/dt = velocity(t, y, *parameters), y(times[0]) = `start`, however stiff, traced or not.

    Values are those of LSODA on the host. The derivative in start, times and parameters, to any order, solves the
    equation linearized along the solution, δ̇ = (∂f/∂y)δ + (∂f/∂p)ṗ, by the method of Radau of order five on `steps`
    steps, which lie as close to each other as those of LSODA. `velocity` and `jacobian`, as for `followed`, compute
    with NumPy on NumPy arrays and with JAX on those of JAX. A flow that cannot be followed is nan.

    Reference: Hairer and Wanner 1996, Solving Ordinary Differential Equations II, IV.5 and IV.8.
    """
    times = jnp.asarray(times)
    kind = jnp.result_type(float, times, start, *parameters)
    precision = {"rtol": tolerance, "atol": absolute, "method": "LSODA"}

    def of_host(times: np.ndarray, start: np.ndarray, parameters: tuple, at: np.ndarray | None) -> Any:
        begin, end = float(times.min()), float(times.max())
        known = precision | {"jac": lambda t, y: jacobian(t, y, *parameters), "t_eval": at}
        return _integrated(lambda t, y: velocity(t, y, *parameters), begin, end, start, known)

    def values(start: np.ndarray, times: np.ndarray, *parameters: Any) -> np.ndarray:
        once, back = np.unique(times, return_inverse=True)
        try:
            return of_host(times, start, parameters, once).y.T[back]
        except ArithmeticError:
            return np.full((len(times), len(start)), np.nan)

    def between(start: np.ndarray, times: np.ndarray, *parameters: Any) -> np.ndarray:
        try:
            path = of_host(times, start, parameters, None).t
        except ArithmeticError:
            return np.full(steps - 1, times[0])
        return np.interp(np.linspace(0, len(path) - 1, steps + 1)[1:-1], np.arange(len(path)), path)

    @jax.custom_jvp
    def path(start: Any, times: Any, *parameters: Any) -> Any:
        shape = jax.ShapeDtypeStruct((len(times), len(start)), kind)
        return asked(values, shape, start, times, *parameters)

    @path.defjvp
    def _(given: tuple, changes: tuple) -> tuple[Any, Any]:
        (start, times, *parameters), (first, later, *pushed) = given, changes
        inner = asked(between, jax.ShapeDtypeStruct((steps - 1,), kind), *given)
        nodes = jnp.sort(jnp.concatenate([times, inner]))
        lengths = jnp.diff(nodes)
        stages = nodes[:-1, None] + lengths[:, None] * RADAU.sum(1)
        seen = path(start, jnp.concatenate([times, stages.ravel()]), *parameters)
        found, along = seen[: len(times)], seen[len(times) :].reshape(*stages.shape, -1)

        def linear(t: Any, y: Any) -> tuple[Any, Any]:
            push = jax.jvp(lambda *each: velocity(t, y, *each), tuple(parameters), tuple(pushed))[1]
            return jax.jacobian(velocity, 1)(t, y, *parameters), push

        def step(change: Any, piece: tuple) -> tuple[Any, Any]:
            length, bend, push = piece
            blocks = jnp.einsum("ij,jkl->ikjl", length * RADAU, bend).reshape(push.size, push.size)
            right = length * RADAU @ (bend @ change + push)
            moved = jnp.linalg.solve(jnp.eye(push.size) - blocks, right.ravel()).reshape(push.shape)
            return change + moved[-1], change + moved[-1]

        begin = first - velocity(times[0], start, *parameters) * later[0]
        swept = lax.scan(step, begin, (lengths, *jax.vmap(jax.vmap(linear))(stages, along)))[1]
        slopes = jax.vmap(lambda t, y: velocity(t, y, *parameters))(times, found)
        moved = jnp.vstack([begin, swept])[jnp.searchsorted(nodes, times)]
        return found, moved + slopes * later[:, None]

    return path(*(jnp.asarray(each, kind) for each in (start, times, *parameters)))
