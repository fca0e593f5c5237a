"""A single neuron, or generalized linear model: its squared loss, what its gradient points to, and a convex surrogate.

The model is y = σ(⟨w*, x⟩) + ε with E[ε|x] = 0 and a known monotone σ. Expectations over x are means over the rows of
`inputs`, exact for a law on finitely many points; for Gaussian x two activations have a closed form.

`target` is w*, the weights of the neuron that made the labels.
"""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from deeptheory.foundations.entrances import doors

__all__ = [
    "MatchingLoss",
    "NeuronLoss",
    "erf_neuron_loss",
    "relu_neuron_loss",
    "secant_correlation",
]

Activation = Callable[[Float[Array, "*k"]], Float[Array, "*k"]]
Vector = Float[Array, "d"]


class NeuronLoss(eqx.Module):
    """The squared loss of a neuron without its noise, ½E(σ(⟨w*,x⟩) − σ(⟨w,x⟩))² (arora eq. 6.4).

    The noise adds the constant ½Eε², for its product with the rest has mean zero. Not convex in general; for monotone σ
    its gradient never points away from w*: see `secant_correlation`.
    """

    inputs: Float[Array, "n d"]
    target: Vector
    activation: Activation = eqx.field(static=True)

    def __call__(self, w: Vector) -> Float[Array, ""]:
        difference = self.activation(self.inputs @ self.target) - self.activation(self.inputs @ w)
        return jnp.mean(difference**2) / 2


class MatchingLoss(eqx.Module):
    """The convex surrogate g(w) = E[τ(⟨w,x⟩) − σ(⟨w*,x⟩)⟨w,x⟩] with τ' = σ (arora Sec. 6.2.2).

    ∇g = E[(σ(⟨w,x⟩) − σ(⟨w*,x⟩))x] is the gradient of the squared loss without its factor σ'; so it vanishes at w* and
    does not in flat regions of σ. ∇²g = E[σ'(⟨w,x⟩)xxᵀ] is positive semidefinite for monotone σ. `integral` is τ, up to
    a constant: softplus for the logistic function, log cosh for tanh, ½max(u, 0)² for ReLU.
    """

    inputs: Float[Array, "n d"]
    target: Vector
    activation: Activation = eqx.field(static=True)
    integral: Activation = eqx.field(static=True)

    def __call__(self, w: Vector) -> Float[Array, ""]:
        level = self.inputs @ w
        return jnp.mean(self.integral(level) - self.activation(self.inputs @ self.target) * level)


def secant_correlation(
    inputs: Float[Array, "n d"], w: Vector, target: Vector, activation: Activation, *, nodes: int = 40
) -> Float[Array, ""]:
    """E[σ'(ξ)σ'(⟨w,x⟩)⟨w−w*,x⟩²], to which ⟨∇L(w), w − w*⟩ is equal (arora Sec. 6.2.1).

    σ'(ξ) is the slope of the secant between ⟨w*,x⟩ and ⟨w,x⟩, by the mean value theorem the slope of σ at some point
    between; it is computed as the mean of σ' over the segment, by Gauss–Legendre quadrature: for smooth σ. Where σ' > 0
    between the two it is positive unless w = w* on the support of x, and bounded below it is a restricted secant
    inequality.
    """
    places, weights = (jnp.asarray(each) for each in np.polynomial.legendre.leggauss(nodes))
    slope = jax.vmap(jax.vmap(jax.grad(lambda u: activation(u).sum())))
    here, there = inputs @ w, inputs @ target
    between = there[:, None] + (here - there)[:, None] * (places + 1) / 2
    secant = slope(between) @ weights / 2
    return jnp.mean(secant * slope(here[:, None])[:, 0] * (here - there) ** 2)


def erf_neuron_loss(w: Vector, target: Vector) -> Float[Array, ""]:
    """½E(erf⟨w*,x⟩ − erf⟨w,x⟩)² for standard Gaussian x, in closed form.

    E[erf⟨a,x⟩ erf⟨b,x⟩] = (2/π) arcsin(2⟨a,b⟩/√((1+2‖a‖²)(1+2‖b‖²))) (Williams 1997).
    """

    def product(a: Vector, b: Vector) -> Float[Array, ""]:
        return 2 / jnp.pi * jnp.arcsin(2 * a @ b / jnp.sqrt((1 + 2 * a @ a) * (1 + 2 * b @ b)))

    return (product(w, w) + product(target, target) - 2 * product(w, target)) / 2


def relu_neuron_loss(w: Vector, target: Vector) -> Float[Array, ""]:
    """½E(max(⟨w*,x⟩,0) − max(⟨w,x⟩,0))² for standard Gaussian x, in closed form.

    E[max(⟨a,x⟩,0)max(⟨b,x⟩,0)] = ‖a‖‖b‖(sin θ + (π−θ)cos θ)/2π for vectors at the angle θ (Cho and Saul 2009).
    """
    lengths = jnp.linalg.norm(w) * jnp.linalg.norm(target)
    cosine = jnp.clip(w @ target / jnp.where(lengths > 0, lengths, 1.0), -1.0, 1.0)
    angle = jnp.arccos(cosine)
    product = lengths * (jnp.sqrt(1 - cosine**2) + (jnp.pi - angle) * cosine) / (2 * jnp.pi)
    return (w @ w + target @ target) / 4 - product


doors(__name__, nodes="[1, 1000]")
