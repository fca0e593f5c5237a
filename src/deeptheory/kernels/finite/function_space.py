"""Training with any loss in function space: the outputs are the state, the kernel is fixed.

`loss_gradient` maps outputs f(X) to ∇ℓ; `kernel` is Θ(X, X), `other_kernel` Θ(x, X) with a row for each other input;
`outputs` and `other_outputs` are f₀(X) and f₀(x), `velocity` and `other_velocity` their ḟ at time 0; `step_size` is η.

Reference: jagannath Ch. 8 Sec. 3; Lee et al. 2019, Wide neural networks of any depth evolve as linear models under
gradient descent.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.flows import followed

__all__ = ["FunctionPath", "function_flow", "kernel_gradient_descent"]

Outputs = Float[AnyArray, "n *output"]
LossGradient = Callable[[Array], Array]


class FunctionPath(NamedTuple):
    """Outputs on training and on other inputs at the times asked for, and their velocities when there is momentum."""

    outputs: Float[np.ndarray, "time n *output"]
    other_outputs: Float[np.ndarray, "time m *output"] | None
    velocities: Float[np.ndarray, "time n *output"] | None
    other_velocities: Float[np.ndarray, "time m *output"] | None


def kernel_velocity(
    kernel: Float[AnyArray, "m n"], residual: Float[AnyArray, "n *output"]
) -> Float[Array, "m *output"]:
    """Return ḟ(x) = (1/n) Σᵢ K(x, xᵢ)rᵢ, r = y − f(X), along gradient flow on the mean risk (1/2n)Σ(yᵢ − f(xᵢ))².

    jagannath Example 8.3, which prints the factor as ½ and as −½.
    """
    return jnp.tensordot(jnp.asarray(kernel), jnp.asarray(residual), 1) / np.shape(residual)[0]


def kernel_gradient_descent(
    loss_gradient: LossGradient,
    kernel: Float[AnyArray, "n n"],
    outputs: Outputs,
    *,
    step_size: float | Float[Array, ""],
    steps: int,
) -> tuple[Float[Array, "time n *output"], Float[Array, "n *output"]]:
    """Return f(X) before each step and after the last, and the dual weights α with f(x) = f₀(x) − Θ(x, X)α.

    f ← f − ηΘ∇ℓ(f): gradient descent of any model whose tangent kernel does not move (arora 9.2, lucchi 7.1.2).
    """
    kernel, start = jnp.asarray(kernel), jnp.asarray(outputs, jnp.result_type(outputs, kernel))

    def step(dual, _):
        present = start - jnp.tensordot(kernel, dual, 1)
        return (dual + step_size * loss_gradient(present)).astype(start.dtype), present

    dual, path = jax.lax.scan(step, jnp.zeros_like(start), None, length=steps)
    return jnp.concatenate([path, (start - jnp.tensordot(kernel, dual, 1))[None]]), dual


def function_flow(
    loss_gradient: LossGradient,
    kernel: Float[AnyArray, "n n"],
    outputs: Outputs,
    times: Float[AnyArray, " time"],
    *,
    other_kernel: Float[AnyArray, "m n"] | None = None,
    other_outputs: Float[AnyArray, "m *output"] | None = None,
    friction: float | None = None,
    velocity: Outputs | None = None,
    other_velocity: Float[AnyArray, "m *output"] | None = None,
    tolerance: float = 1e-9,
) -> FunctionPath:
    """Integrate ḟ = −Θ∇ℓ(f), or with friction γ the heavy ball f̈ + γḟ = −Θ∇ℓ(f), at increasing times.

    Only the dual weights are integrated, ȧ = ∇ℓ(f₀ − Θa): other inputs are read off linearly at the end, and cost
    nothing while integrating. LSODA switches between stiff and plain steps; it runs on the host, in double precision,
    and is neither differentiated nor compiled. Squared loss has the closed form of `predictions`.
    """
    if other_outputs is not None and other_kernel is None:
        raise ValueError("outputs at other inputs need other_kernel, the kernel of those with the training inputs")
    theta, start = np.asarray(kernel, float), np.asarray(outputs, float)
    shape, size = start.shape, start.size
    moving, drag = friction is not None, 0.0 if friction is None else friction
    gradient = jax.jit(loss_gradient)
    pushed = np.zeros(shape) if velocity is None else np.asarray(velocity, float)
    dtype = jnp.result_type(float)

    def coasting(t):
        """Share of the initial velocity still there, and the way it has carried the outputs."""
        if not moving:
            return 0.0, 0.0
        return np.exp(-drag * t), -np.expm1(-drag * t) / drag if drag else t

    def rate(t, state):
        dual = state[:size].reshape(shape)
        present = start + coasting(t)[1] * pushed - np.tensordot(theta, dual, 1)
        slope = np.asarray(gradient(jnp.asarray(present, dtype)), float).ravel()
        return np.concatenate([state[size:], slope - drag * state[size:]]) if moving else slope

    state = np.zeros((2 if moving else 1) * size)
    path = followed(rate, 0.0, state, times, method="LSODA", tolerance=tolerance).reshape(len(times), -1, *shape)
    left, carried = (np.array(part).reshape(-1, *(1,) * start.ndim) for part in zip(*map(coasting, times), strict=True))

    def read(matrix, first, speed):
        """Positions and velocities from the dual weights."""
        place = first + carried * speed - np.einsum("mn,tn...->tm...", matrix, path[:, 0])
        motion = left * speed - np.einsum("mn,tn...->tm...", matrix, path[:, 1]) if moving else None
        return place, motion

    place, motion = read(theta, start, pushed)
    if other_outputs is None:
        return FunctionPath(place, None, motion, None)
    first = np.asarray(other_outputs, float)
    speed = np.zeros_like(first) if other_velocity is None else np.asarray(other_velocity, float)
    other_place, other_motion = read(np.asarray(other_kernel, float), first, speed)
    return FunctionPath(place, other_place, motion, other_motion)


doors(__name__, steps="[0, 1e7]", symmetric=("kernel",), friction="[0, ∞)", tolerance="(0, ∞)", step_size="[0, ∞)")
