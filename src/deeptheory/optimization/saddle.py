"""Leaving strict saddles: gradient descent that shakes itself when it stands still."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Bool, Float, Int, Key, UInt32

from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import affordable
from deeptheory.foundations.randomness import generator

__all__ = [
    "PerturbedState",
    "perturbed_gradient_descent",
    "uniform_ball",
]

Number = float | Float[Array, ""]


def uniform_ball(
    key: Key[Array, ""] | UInt32[Array, "2"], shape: tuple[int, ...], *, radius: float = 1.0
) -> Float[np.ndarray, "..."]:
    """Points drawn uniformly from a Euclidean ball, as an array of the given shape with coordinates on the last axis.

    A Gaussian direction times r·U^{1/d}: P(‖ξ‖ ≤ s) = (s/r)^d and E‖ξ‖² = r² d/(d+2). Reference: Muller 1959; arora
    7.2.
    """
    if not shape:
        raise ValueError("shape must have an axis of coordinates, got ()")
    affordable(shape=shape)
    random = generator(key)
    direction = random.standard_normal(shape)
    distance = radius * random.uniform(size=(*shape[:-1], 1)) ** (1 / shape[-1])
    return distance * direction / np.linalg.norm(direction, axis=-1, keepdims=True)


class PerturbedState(NamedTuple):
    """What perturbed gradient descent remembers.

    waited: gradient steps since the last perturbation. perturbed: whether the last move was one.
    """

    waited: Int[Array, "*k"]
    perturbed: Bool[Array, "*k"]


def perturbed_gradient_descent(
    *, step_size: Number, radius: Number, tolerance: Number, patience: int
) -> optax.GradientTransformationExtraArgs:
    """Gradient descent that perturbs the point when the gradient is small and no perturbation came in the last steps.

    If ‖∇f(x)‖ ≤ ε and none was added in the last T = `patience` steps the move is −ηrξ, otherwise −η∇f(x): a
    perturbation is a move of its own, and a gradient step from where it led comes next. The method has optax's shape;
    `update` asks for `draw`, a point ξ of the unit ball, from `uniform_ball`. With η = 1/ℓ, r of order ε and T of order
    ℓ/√(ρε), up to logarithms, some iterate is a second-order stationary point with high probability.

    Reference: arora 7.2 and Thm 7.2.1; Jin et al. 2021.
    """

    def init(params: Any) -> PerturbedState:
        return PerturbedState(jnp.array(patience + 1), jnp.array(False))

    def update(updates: Any, state: PerturbedState, params: Any = None, *, draw: Any, **_: Any) -> tuple:
        length = jnp.sqrt(sum(jnp.vdot(g, g) for g in jax.tree.leaves(updates)))
        perturb = (length <= tolerance) & (state.waited > patience)
        move = jax.tree.map(lambda g, xi: -step_size * jnp.where(perturb, radius * xi, g), updates, draw)
        return move, PerturbedState(jnp.where(perturb, 0, state.waited + 1), perturb)

    return optax.GradientTransformationExtraArgs(init, update)  # type: ignore[arg-type]


doors(__name__, step_size="[0, ∞)", radius="[0, ∞)", tolerance="[0, ∞)")
