"""Two-layer ReLU networks of which the first layer is trained: their Gram matrix, its limit, series and complexity."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

Inputs = Float[Array | np.ndarray, "n d"]


def first_layer_gram(weights: Float[Array | np.ndarray, "m d"], x: Inputs) -> Float[Array, "n n"]:
    """Return H_ij = (1/m) xᵢ·xⱼ #{r: w_r·xᵢ ≥ 0, w_r·xⱼ ≥ 0}, the tangent kernel of m^{-1/2} Σ relu(w_r·x).

    Signs in front of the neurons do not matter (lucchi Ex. 7 P1).
    """
    x, weights = jnp.asarray(x), jnp.asarray(weights)
    active = (x @ weights.T >= 0).astype(x.dtype)
    return (x @ x.T) * (active @ active.T) / weights.shape[0]


def first_layer_limit(x: Inputs) -> Float[Array, "n n"]:
    """Return H^∞_ij = xᵢ·xⱼ (π − ∠(xᵢ, xⱼ))/2π, for w ~ N(0, I) and inputs of any length (arora 9.8 with xᵢ·xⱼ).

    The diagonal is ‖xᵢ‖²/2: the trace is n/2 on the sphere (lucchi 7.14).
    """
    x = jnp.asarray(x)
    product, length = x @ x.T, jnp.linalg.norm(x, axis=1)
    size = length[:, None] * length
    cosine = jnp.clip(product / jnp.where(size > 0, size, 1), -1, 1)
    cosine = jnp.where(jnp.eye(x.shape[0], dtype=bool), 1, cosine)
    return product * (jnp.pi - jnp.arccos(cosine)) / (2 * jnp.pi)


def first_layer_series(cosines: Float[Array | np.ndarray, "..."], *, terms: int) -> Float[np.ndarray, "..."]:
    """Return ρ/4 + (1/2π) Σ_{l<terms} (2l)!/(4ˡ(l!)²) ρ^{2l+2}/(2l + 1), which sums to ρ/4 + ρ arcsin(ρ)/2π.

    Terms fall like l^{-3/2} at |ρ| = 1, so there the error falls only like terms^{-1/2} (lucchi Ex. 7 P2a).
    """
    rho = np.asarray(cosines, float)
    total, coefficient = rho / 4, 1.0
    for order in range(terms):
        total = total + coefficient * rho ** (2 * order + 2) / ((2 * order + 1) * 2 * np.pi)
        coefficient *= (2 * order + 1) / (2 * order + 2)
    return np.asarray(total)


def tangent_complexity(gram: Float[Array | np.ndarray, "n n"], y: Float[Array | np.ndarray, " n"]) -> float:
    """Return √(2 yᵀH⁺y tr H)/n, the complexity of a target for a kernel (lucchi Ex. 7 P2b)."""
    gram, y = np.asarray(gram, float), np.asarray(y, float)
    energy = float(y @ np.linalg.lstsq(gram, y, rcond=None)[0])
    return float(np.sqrt(2 * energy * np.trace(gram))) / len(y)
