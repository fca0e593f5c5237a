"""Differential equations followed on the host, in double precision, with an end to patience."""

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Array, Float

__all__ = ["followed"]

EVALUATIONS = 50_000
"""of the velocity, after which a flow is given up; a flow that its method is made for takes a tenth of them"""


def followed(
    velocity: Callable[[float, np.ndarray], Any],
    begin: float,
    start: Float[np.ndarray, " n"],
    times: Float[Array | np.ndarray, " time"],
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
