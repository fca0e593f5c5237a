"""A shallow network near its initial weights: its linearization, and how far it can be from it.

`signs` are ±1, one for each of the m units; `initial` is W₀.

Reference: lucchi Ch. 6 Problem 2; Chizat, Oyallon and Bach 2019.
"""

from collections.abc import Callable
from typing import Annotated

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from deeptheory.foundations.entrances import doors

__all__ = ["LARGEST_CURVATURE", "linearization_bound", "linearized_shallow", "shallow_gradient", "shallow_output"]

Weights = Float[Array, "m d"]
Signs = Float[Array, "m"]
Activation = Callable[[Float[Array, "..."]], Float[Array, "..."]]

LARGEST_CURVATURE = {"tanh": 4 / (3 * 3**0.5), "sigmoid": 1 / (6 * 3**0.5), "softplus": 0.25}
"""β, the largest |σ''|, of activations that are smooth; ReLU is not"""


def shallow_output(weights: Weights, signs: Signs, x: Float[Array, "d"], activation: Activation) -> Float[Array, ""]:
    """f(W) = Σ_j a_jσ(⟨w_j, x⟩) with fixed outer weights a_j = `signs`/√m, each ±1/√m (lucchi Ch. 6 Problem 2)."""
    return signs @ activation(weights @ x) / len(signs) ** 0.5


def shallow_gradient(weights: Weights, signs: Signs, x: Float[Array, "d"], activation: Activation) -> Weights:
    """∇f(W) = D a xᵀ with D = diag(σ'(⟨w_j, x⟩)) and a = `signs`/√m."""
    slope = jax.vmap(jax.grad(lambda level: activation(level)))(weights @ x)
    return (signs * slope / len(signs) ** 0.5)[:, None] * x


def linearized_shallow(
    weights: Weights, initial: Weights, signs: Signs, x: Float[Array, "d"], activation: Activation
) -> Float[Array, ""]:
    """f₀(W) = f(W₀) + ⟨∇f(W₀), W − W₀⟩, the network to first order around its initial weights."""
    slope = shallow_gradient(initial, signs, x, activation)
    return shallow_output(initial, signs, x, activation) + jnp.sum(slope * (weights - initial))


def linearization_bound(
    width: Annotated[int, "[1, 1e12]"],
    curvature: float | Float[Array, "*k"],
    *,
    moved: float | Float[Array, "*k"],
    square: float | Float[Array, "*k"],
) -> float | Float[Array, "*k"]:
    """|f(W) − f₀(W)| ≤ β/(2√m) ‖W − W₀‖²‖x‖², for β = `curvature` the largest |σ''| and m = `width`.

    `moved` is ‖W − W₀‖² and `square` is ‖x‖². Attained by σ(u) = ½βu² if all signs are equal and all neurons move along
    x. The same movement counts less in a wider network (lucchi Ch. 6 Problem 2c).
    """
    return curvature / (2 * width**0.5) * moved * square


doors(__name__, curvature="[0, ∞)", moved="[0, ∞)", square="[0, ∞)")
