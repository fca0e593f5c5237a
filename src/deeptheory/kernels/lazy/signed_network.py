"""The two-layer network of jagannath 9.1: smooth activation, fixed signs, first layer trained; its lazy constants."""

from collections.abc import Callable
from functools import partial
from math import sqrt
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.randomness import generator

__all__ = [
    "SHIFTED_TANH",
    "TANH",
    "SignedNetwork",
    "SignedProblem",
    "SmoothActivation",
    "compressed",
    "flow_to",
    "jacobian_lipschitz_bound",
    "jacobian_lipschitz_constant",
    "nonvanishing_degree",
    "signed_problem",
    "signed_weights",
]

Model = Callable[[Array], Array]


class SmoothActivation(NamedTuple):
    """An activation with its derivative and the supremum of its second derivative, `curvature`."""

    value: Callable[[Array], Array]
    slope: Callable[[Array], Array]
    curvature: float


TANH = SmoothActivation(jnp.tanh, lambda u: 1 - jnp.tanh(u) ** 2, 4 / (3 * sqrt(3)))
"""Odd: every second Hermite coefficient vanishes, the zeroth first."""
SHIFTED_TANH = SmoothActivation(lambda u: jnp.tanh(u + 0.5), lambda u: 1 - jnp.tanh(u + 0.5) ** 2, 4 / (3 * sqrt(3)))
"""tanh(u + ½), which no symmetry keeps from having all Hermite coefficients."""


class SignedNetwork(NamedTuple):
    """f(x) = (α/√m) Σ_j b_j φ(⟨w_j, x⟩) with b_j = 1 in the first half and −1 in the second; only w is trained."""

    activation: SmoothActivation = TANH
    scale: Any = 1.0

    def factors(self, width: int) -> Float[AnyArray, " m"]:
        """Return αb_j/√m."""
        if width < 2 or width % 2:
            raise ValueError(f"the width must be even and at least 2, for as many signs of each kind; got {width}")
        return self.scale * np.repeat([1.0, -1.0], width // 2) / sqrt(width)

    def outputs(self, weights: Float[AnyArray, "m d"], x: Float[AnyArray, "n d"]):
        """Return f at n inputs."""
        return self.activation.value(jnp.asarray(x) @ weights.T) @ self.factors(len(weights))

    def jacobian(self, weights: Float[AnyArray, "m d"], x: Float[AnyArray, "n d"]) -> Float[Array, "n p"]:
        """Return D f, rows (α/√m) b_j φ′(⟨w_j, x_i⟩) x_i, over the flattened weights."""
        slopes = self.activation.slope(jnp.asarray(x) @ weights.T) * self.factors(len(weights))
        return (slopes[:, :, None] * jnp.asarray(x)[:, None, :]).reshape(len(x), -1)

    def flat(self, x: Float[AnyArray, "n d"]) -> Model:
        """Return the outputs on x as a function of the flattened weights."""
        return lambda theta: self.outputs(theta.reshape(-1, x.shape[1]), x)


def signed_weights(
    key: Key[Array, ""],
    width: int,
    dimension: int,
    *,
    doubled: bool = False,
    ensemble: tuple[int, ...] = (),
    coordinates: int | None = None,
) -> Float[np.ndarray, "*ensemble m d"]:
    """Draw weights uniformly on the unit sphere; `doubled` gives both halves the same ones, so that f(θ₀) = 0.

    With `coordinates` only as many coordinates of each vector are drawn, the length of the others as a χ variable.
    """
    kept = dimension if coordinates is None else coordinates
    if not 1 <= kept <= dimension:
        raise ValueError(f"from 1 to {dimension} coordinates can be drawn, got {coordinates}")
    rng, count = generator(key), width // 2 if doubled else width
    drawn = rng.standard_normal((*ensemble, count, kept))
    squares = np.sum(drawn**2, axis=-1, keepdims=True)
    if kept < dimension:
        squares = squares + rng.chisquare(dimension - kept, squares.shape)
    drawn = drawn / np.sqrt(squares)
    return np.concatenate([drawn, drawn], axis=-2) if doubled else drawn


class SignedProblem(NamedTuple):
    """A network with fixed signs, the weights it starts from, inputs and targets."""

    network: SignedNetwork
    weights: Float[np.ndarray, "m d"]
    x: Float[np.ndarray, "n d"]
    y: Float[np.ndarray, " n"]


def signed_problem(
    key: Key[Array, ""],
    *,
    width: int,
    count: int,
    dimension: int,
    activation: SmoothActivation = TANH,
    scale: float = 1.0,
    doubled: bool = False,
) -> SignedProblem:
    """Draw the setting of jagannath Thm 9.2: Gaussian inputs, weights on the sphere, standard normal targets.

    `width` is m, `count` n and `dimension` d; `scale` is that of `SignedNetwork`.
    """
    first, second = jax.random.split(key)
    rng = generator(second)
    x, y = rng.standard_normal((count, dimension)), rng.standard_normal(count)
    weights = signed_weights(first, width, dimension, doubled=doubled)
    return SignedProblem(SignedNetwork(activation, scale), weights, x, y)


def compressed(
    weights: Float[np.ndarray, "*ensemble m d"], x: Float[np.ndarray, "*ensemble n d"]
) -> tuple[Float[np.ndarray, "*ensemble m r"], Float[np.ndarray, "*ensemble n r"]]:
    """Return weights and inputs in an orthonormal basis of the span of the inputs, r = min(n, d).

    Gradients of the weights are combinations of inputs, so training, distances and kernels stay what they are. For
    Gaussian inputs the new weights have the law of the first r coordinates (`signed_weights`).
    """
    basis = np.linalg.qr(np.swapaxes(x, -1, -2))[0]
    return weights @ basis, x @ basis


@partial(jax.jit, static_argnames=("activation", "steps"))
def flow_to(
    weights: Float[AnyArray, "m d"],
    x: Float[AnyArray, "n d"],
    y: Float[AnyArray, " n"],
    *,
    scale: Any,
    time: Any,
    steps: int,
    activation: SmoothActivation = TANH,
) -> Float[Array, "m d"]:
    """Return the weights after gradient flow on ‖y − f‖²/2n for a time, by equal Runge–Kutta steps of order four.

    Compiled, to be mapped over an ensemble; a step should be below n/s_max(D f)². `lazy.gradient_flow` chooses its own.
    """
    network = SignedNetwork(activation, scale)

    def velocity(present: Array) -> Array:
        hidden = jnp.asarray(x) @ present.T
        residual = (jnp.asarray(y) - activation.value(hidden) @ network.factors(present.shape[0])) / len(y)
        return (activation.slope(hidden) * residual[:, None] * network.factors(present.shape[0])).T @ x

    def step(_: Any, present: Array) -> Array:
        size = time / steps
        first = velocity(present)
        second = velocity(present + size / 2 * first)
        third = velocity(present + size / 2 * second)
        fourth = velocity(present + size * third)
        return present + size / 6 * (first + 2 * second + 2 * third + fourth)

    return jax.lax.fori_loop(0, steps, step, jnp.asarray(weights, jnp.result_type(weights, x, float)))


def jacobian_lipschitz_bound(network: SignedNetwork, x: Float[AnyArray, "n d"], *, width: int) -> float:
    """Return (α/√m) sup|φ″| ‖X‖_op max‖x_i‖, which bounds the Lipschitz constant of D f in the operator norm.

    Attained for orthogonal inputs. It bounds the constant in the Frobenius norm as well.
    """
    x = np.asarray(x, float)
    size = np.linalg.norm(x, 2) * np.linalg.norm(x, axis=1).max()
    return abs(network.scale) / sqrt(width) * network.activation.curvature * float(size)


def jacobian_lipschitz_constant(
    network: SignedNetwork, x: Float[AnyArray, "n d"], *, width: int, starts: int = 32, steps: int = 200
) -> float:
    """Return Lip(D f) = (α/√m) sup|φ″| max_{‖v‖=1} (Σ_i ⟨x_i, v⟩⁴)^{1/2}, for linearly independent inputs.

    Then one neuron can meet the largest curvature at all inputs at once. The maximum is climbed by power iteration,
    v ← Σ⟨x_i, v⟩³x_i, from each input and from `starts` fixed directions; each step increases it (a convex function
    on the sphere), but the global maximum is not certified: a lower bound, equal to the constant as a rule.
    """
    x = np.asarray(x, float)
    directions = np.concatenate([x, np.random.default_rng(0).standard_normal((starts, x.shape[1])) @ x.T @ x])
    for _ in range(steps):
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        directions = (directions @ x.T) ** 3 @ x
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    fourth = np.sum((directions @ x.T) ** 4, axis=1).max()
    return abs(network.scale) / sqrt(width) * network.activation.curvature * sqrt(fourth)


def nonvanishing_degree(coefficients: Float[np.ndarray, " powers"], *, tolerance: float = 1e-10) -> int:
    """Return the largest k₀ such that no Hermite coefficient up to k₀ vanishes; −1 if the zeroth does.

    The second part of Assumption 2 of jagannath 9.1: n ≲ d^{k₀} data are then told apart.
    """
    vanishing = np.flatnonzero(np.abs(np.asarray(coefficients)) <= tolerance)
    return int(vanishing[0]) - 1 if len(vanishing) else len(coefficients) - 1


doors(
    __name__,
    steps="[1, 1e6]",
    width="[1, 1e6]",
    starts="[1, 1e4]",
    count="[1, 1e5]",
    dimension="[1, 1e5]",
    tolerance="[0, ∞)",
)
