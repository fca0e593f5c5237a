"""Leaving strict saddles: gradient descent that shakes itself when it stands still, and certificates for its runs."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key, UInt32

from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import affordable
from deeptheory.foundations.randomness import generator
from deeptheory.optimization.descent import Method

__all__ = [
    "PerturbedState",
    "improve_or_localize",
    "is_second_order_stationary",
    "perturbed_gradient_descent",
    "uniform_ball",
]

Function = Callable[[Float[Array, "d"]], Float[Array, ""]]
Number = float | Float[Array, ""]


def uniform_ball(
    key: Key[Array, ""] | UInt32[Array, "2"], shape: tuple[int, ...], *, radius: float = 1.0
) -> Float[np.ndarray, "..."]:
    """Points drawn uniformly from a Euclidean ball, as an array of the given shape with coordinates on the last axis.

    A Gaussian direction times r·U^{1/d}: P(‖ξ‖ ≤ s) = (s/r)^d and E‖ξ‖² = r² d/(d+2).
    """
    if not shape:
        raise ValueError("shape must have an axis of coordinates, got ()")
    affordable(shape=shape)
    random = generator(key)
    direction = random.standard_normal(shape)
    distance = radius * random.uniform(size=(*shape[:-1], 1)) ** (1 / shape[-1])
    return distance * direction / np.linalg.norm(direction, axis=-1, keepdims=True)


class PerturbedState(NamedTuple):
    """Where perturbed gradient descent stands.

    waited: steps since the last perturbation. perturbed: whether the step that led here began with one.
    """

    position: Float[Array, "*k d"]
    value: Float[Array, "*k"]
    gradient: Float[Array, "*k d"]
    waited: Int[Array, "*k"]
    perturbed: Bool[Array, "*k"]


def perturbed_gradient_descent(
    function: Function, *, step_size: Number, radius: Number, tolerance: Number, patience: int
) -> Method:
    """Gradient descent that perturbs the point when the gradient is small and no perturbation came in the last steps.

    If ‖∇f(x)‖ ≤ ε and none was added in the last T = `patience` steps, first x ← x − ηrξ; then x ← x − η∇f(x). The
    draws ξ are points of the unit ball, one per step, from `uniform_ball`. With η = 1/ℓ, r of order ε and T of order
    ℓ/√(ρε), up to logarithms, some iterate is a second-order stationary point with high probability (arora 7.2 and
    Thm 7.2.1; Jin et al. 2021).
    """
    value_and_gradient = jax.value_and_grad(function)

    def init(position: Float[Array, "d"]) -> PerturbedState:
        return PerturbedState(position, *value_and_gradient(position), jnp.array(patience), jnp.array(False))

    def step(state: PerturbedState, draw: Float[Array, "d"]) -> PerturbedState:
        perturbed = (jnp.linalg.norm(state.gradient) <= tolerance) & (state.waited >= patience)
        origin = state.position - jnp.where(perturbed, step_size * radius, 0.0) * draw
        gradient = jnp.where(perturbed, value_and_gradient(origin)[1], state.gradient)
        position = origin - step_size * gradient
        waited = jnp.where(perturbed, 0, state.waited + 1)
        return PerturbedState(position, *value_and_gradient(position), waited, perturbed)

    return Method(init, step)


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
    the states that a perturbation led to; x₀ and t then count from the last one.
    """
    if restarts is None:
        restarts = jnp.zeros(len(values), bool)
    precision = jnp.result_type(positions, values, step_size)
    positions, values = jnp.asarray(positions, precision), jnp.asarray(values, precision)

    def body(carry: tuple, now: tuple) -> tuple[tuple, tuple]:
        origin, highest, time, farthest = carry
        position, value, restart = now
        origin = jnp.where(restart, position, origin)
        highest = jnp.where(restart, value, highest)
        time = jnp.where(restart, 0, time + 1)
        farthest = jnp.maximum(jnp.where(restart, 0.0, farthest), jnp.linalg.norm(position - origin))
        allowed = jnp.sqrt(jnp.maximum(2 * step_size * time * (highest - value), 0.0))
        return (origin, highest, time, farthest), (farthest, allowed)

    start = (positions[0], values[0], jnp.array(-1), jnp.zeros((), values.dtype))
    _, (farthest, allowed) = jax.lax.scan(body, start, (positions, values, restarts))
    return farthest, allowed


def is_second_order_stationary(
    function: Function, position: Float[Array, "d"], *, tolerance: Number, hessian_lipschitz: Number
) -> Bool[Array, ""]:
    """Whether a point is ε-second-order stationary: ‖∇f(x)‖ ≤ ε and λ_min(∇²f(x)) ≥ −√(ρε) (arora Def. 7.1.5).

    Uses the dense Hessian: for dimensions up to a few hundred.
    """
    flat = jnp.linalg.norm(jax.grad(function)(position)) <= tolerance
    lowest = jnp.linalg.eigvalsh(jax.hessian(function)(position))[0]
    return flat & (lowest >= -jnp.sqrt(hessian_lipschitz * tolerance))


doors(__name__, step_size="[0, ∞)", radius="[0, ∞)", tolerance="[0, ∞)", hessian_lipschitz="[0, ∞)")
