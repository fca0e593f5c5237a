"""Differential equations: by equal steps in JAX, with derivatives, or on the host with steps that adapt.

`flow` takes a given number of Runge–Kutta steps, is one compiled loop and goes through `jit`, `vmap` and `grad`: for
training through a flow, and for many flows at once. `followed` leaves the steps to SciPy, stiff methods among them,
and ends with the error asked for or in one sentence: for reference solutions. diffrax has both and more; importing and
compiling a solver of it takes seconds, more than most claims take in all, and neither steps that adapt under `grad` nor
its other methods are needed here.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Float

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.guards import inside, numeric

__all__ = ["flow", "followed"]

EVALUATIONS = 50_000
"""of the velocity, after which a flow is given up; a flow that its method is made for takes a tenth of them"""


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
    from scipy.integrate import solve_ivp

    times = np.asarray(times, float)
    if not (np.isfinite(times).all() and times[0] >= begin and (np.diff(times) > 0).all()):
        raise ValueError(f"times must be finite and increase from {begin:.6g} on, got {times}")
    patience = iter(range(EVALUATIONS))

    def patient(t: float, y: np.ndarray) -> Any:
        if next(patience, None) is None:
            raise ArithmeticError(f"the flow is too stiff or too long to be followed beyond time {t:.6g}")
        return velocity(t, y)

    if times[-1] == begin:
        return np.array([start], float)
    least = tolerance if absolute is None else absolute
    known: dict[str, Any] = {} if jacobian is None else {"jac": jacobian}
    # A trial step that is going to be rejected may overflow; the solver then shortens it.
    with np.errstate(over="ignore", invalid="ignore"):
        path = solve_ivp(
            patient, (begin, float(times[-1])), start, method, t_eval=times, rtol=tolerance, atol=least, **known
        )
    if not (path.success and np.size(path.t) == times.size):
        reached = path.t[-1] if len(path.t) else begin
        raise ArithmeticError(f"the flow could not be followed beyond time {reached:.6g}: {path.message}")
    return path.y.T
