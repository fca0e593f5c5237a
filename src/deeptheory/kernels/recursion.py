"""Limit kernels of infinitely wide fully connected networks: covariance at initialisation and tangent kernel."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

Kernel = Float[Array, "n m"]
Scale = float | Float[Array, ""]
Dual = Callable[[Kernel, Kernel, Kernel], tuple[Kernel, Kernel]]


class LimitKernels(NamedTuple):
    """The covariance Σ of the outputs at initialisation and the tangent kernel Θ."""

    nngp: Kernel
    ntk: Kernel


def relu_dual(variance: Kernel, other: Kernel, covariance: Kernel) -> tuple[Kernel, Kernel]:
    """Return E[φ(u)φ(v)] and E[φ′(u)φ′(v)] for the ReLU and a centred Gaussian pair (u, v).

    With a = Var u, b = Var v and ρ = cos t their correlation: √(ab)(sin t + (π − t) cos t)/2π and (π − t)/2π, the
    arc-cosine kernels (arora 9.4, lucchi Thm 57).
    """
    size = jnp.sqrt(variance * other)
    cosine = jnp.clip(covariance / jnp.where(size > 0, size, 1), -1, 1)
    angle = jnp.arccos(cosine)
    mean = size * (jnp.sqrt(jnp.maximum(1 - cosine**2, 0)) + (jnp.pi - angle) * cosine) / (2 * jnp.pi)
    return mean, (jnp.pi - angle) / (2 * jnp.pi)


def erf_dual(variance: Kernel, other: Kernel, covariance: Kernel) -> tuple[Kernel, Kernel]:
    """Return E[φ(u)φ(v)] and E[φ′(u)φ′(v)] for φ = erf and a centred Gaussian pair (u, v) (Williams 1997).

    (2/π) arcsin(2c/√((1+2a)(1+2b))) and (4/π)/√((1+2a)(1+2b) − 4c²).
    """
    product = (1 + 2 * variance) * (1 + 2 * other)
    mean = (2 / jnp.pi) * jnp.arcsin(2 * covariance / jnp.sqrt(product))
    return mean, (4 / jnp.pi) / jnp.sqrt(product - 4 * covariance**2)


def quadrature_dual(activation: Callable[[Array], Array], *, nodes: int = 64) -> Dual:
    """Return the dual of any smooth activation by a tensor Gauss–Hermite rule.

    For an analytic activation such as erf the error falls exponentially, faster the smaller the variances (64 nodes:
    1e-12 at variance 2, 1e-7 at variance 4); for one with a kink only like 1/nodes.
    """
    points, weights = np.polynomial.hermite_e.hermegauss(nodes)
    weights = weights / weights.sum()
    first, second = (grid.ravel() for grid in np.meshgrid(points, points))
    joint = np.outer(weights, weights).ravel()

    def dual(variance: Kernel, other: Kernel, covariance: Kernel) -> tuple[Kernel, Kernel]:
        left, right = jnp.sqrt(variance), jnp.sqrt(other)
        cosine = jnp.clip(covariance / (left * right), -1, 1)
        u = left[..., None] * first
        v = right[..., None] * (cosine[..., None] * first + jnp.sqrt(1 - cosine**2)[..., None] * second)
        value_u, slope_u = jax.jvp(activation, (u,), (jnp.ones_like(u),))
        value_v, slope_v = jax.jvp(activation, (v,), (jnp.ones_like(v),))
        return (value_u * value_v) @ joint, (slope_u * slope_v) @ joint

    return dual


@partial(jax.jit, static_argnames=("hidden_layers", "dual"))
def limit_kernels(
    x: Float[Array | np.ndarray, "n d"],
    other: Float[Array | np.ndarray, "m d"] | None = None,
    *,
    hidden_layers: int,
    dual: Dual = relu_dual,
    weight_scale: Scale = 1.0,
    bias_scale: Scale = 0.0,
    input_scale: Scale = 1.0,
) -> LimitKernels:
    """Return Σ and Θ of a network with infinitely wide hidden layers, in the parametrisation of `networks.MLP`.

    Σ⁽¹⁾ = s² xᵀx′ + σ_b² and Θ⁽¹⁾ = Σ⁽¹⁾; then, with the expectations at the covariance Σ⁽ᵏ⁾ of the pair,
    Σ⁽ᵏ⁺¹⁾ = σ_w² E[φφ′] + σ_b², Θ⁽ᵏ⁺¹⁾ = Θ⁽ᵏ⁾ · σ_w² E[φ̇φ̇′] + Σ⁽ᵏ⁺¹⁾ (arora 9.15 and end of 9.4, lucchi Thm 57 and
    7.3, jagannath Thms 8.4 and 8.6). Kernel matrices of n against m inputs; with `other` left out, of x against itself.
    """
    if hidden_layers < 0:
        raise ValueError(f"hidden_layers must not be negative, got {hidden_layers}")
    x = jnp.asarray(x)
    other = x if other is None else jnp.asarray(other)

    def first(product: Array) -> Array:
        return input_scale**2 * product + bias_scale**2

    # The variances of both sides travel along with the covariance: the next layer needs all three.
    left, right, covariance = first(jnp.sum(x**2, 1)), first(jnp.sum(other**2, 1)), first(x @ other.T)
    tangent = covariance
    for _ in range(hidden_layers):
        mean, slope = dual(*jnp.broadcast_arrays(left[:, None], right[None, :], covariance))
        covariance = weight_scale**2 * mean + bias_scale**2
        tangent = tangent * weight_scale**2 * slope + covariance
        left, right = (
            weight_scale**2 * dual(*[variance[:, None]] * 3)[0][:, 0] + bias_scale**2 for variance in (left, right)
        )
    return LimitKernels(covariance, tangent)
