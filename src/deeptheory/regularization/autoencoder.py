"""The linear autoencoder with tied weights under dropout, ‖M − UUᵀ‖² + λ Σ‖uᵢ‖⁴: value, slopes, optimum, ways down.

U has d₀ rows and d₁ columns, one a hidden unit; `weights` is U, `matrix` the symmetric M, `strength` is λ = p/(1−p).
"""

from typing import Annotated

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Num

from deeptheory.foundations.entrances import doors
from deeptheory.regularization.shrinkage import dropout_shrinkage

__all__ = [
    "autoencoder_curvature",
    "autoencoder_gradient",
    "autoencoder_loss",
    "autoencoder_optimum",
    "autoencoder_risk",
    "autoencoder_target",
    "equalizing_curvature",
    "least_autoencoder_loss",
    "moved_mass",
]

AnyArray = Array | np.ndarray
Scalar = float | int | Num[AnyArray, ""]
Weights = Float[AnyArray, "d0 d1"]
Matrix = Float[AnyArray, "d0 d0"]


def autoencoder_target(cross: Matrix) -> Float[Array, "d0 d0"]:
    """Return M = (C_yx + C_xy)/2, all that the loss of UUᵀ sees of the cross covariance C_yx = E yxᵀ."""
    return (jnp.asarray(cross) + jnp.asarray(cross).T) / 2


def autoencoder_risk(weights: Weights, cross: Matrix, power: Scalar) -> Float[Array, ""]:
    """Return E‖y − UUᵀx‖² for isotropic inputs, E xxᵀ = I: ‖M − UUᵀ‖² + E‖y‖² − ‖M‖², M the `autoencoder_target`.

    `cross` is E yxᵀ and `power` is E‖y‖² = tr C_y. arora Sec. 11.3, where the constant is printed with C_yx for M.
    """
    target = autoencoder_target(cross)
    return autoencoder_loss(weights, target, 0.0) + power - jnp.sum(target**2)


def autoencoder_loss(weights: Weights, matrix: Matrix, strength: Scalar) -> Float[Array, ""]:
    """Return ‖M − UUᵀ‖² + λ Σᵢ ‖uᵢ‖⁴, the risk under dropout of hidden units less a constant. arora eq. 11.11."""
    weights = jnp.asarray(weights)
    return jnp.sum((matrix - weights @ weights.T) ** 2) + strength * jnp.sum(jnp.sum(weights**2, axis=0) ** 2)


def autoencoder_gradient(weights: Weights, matrix: Matrix, strength: Scalar) -> Float[Array, "d0 d1"]:
    """Return 4(UUᵀ − M)U + 4λ U diag(UᵀU) for a symmetric M. arora Sec. 11.3."""
    weights = jnp.asarray(weights)
    return 4 * ((weights @ weights.T - matrix) @ weights + strength * weights * jnp.sum(weights**2, axis=0))


def autoencoder_curvature(weights: Weights, matrix: Matrix, strength: Scalar, direction: Weights) -> Float[Array, ""]:
    """Return the second derivative along D: 2‖UDᵀ + DUᵀ‖² − 4⟨M − UUᵀ, DDᵀ⟩ + λ Σ (8⟨uᵢ, dᵢ⟩² + 4‖uᵢ‖²‖dᵢ‖²)."""
    weights, direction = jnp.asarray(weights), jnp.asarray(direction)
    turned = weights @ direction.T
    residual = matrix - weights @ weights.T
    loss = 2 * jnp.sum((turned + turned.T) ** 2) - 4 * jnp.sum(residual * (direction @ direction.T))
    overlaps, norms = jnp.sum(weights * direction, axis=0), jnp.sum(weights**2, axis=0)
    return loss + strength * jnp.sum(8 * overlaps**2 + 4 * norms * jnp.sum(direction**2, axis=0))


def autoencoder_optimum(matrix: Matrix, width: Annotated[int, "[1, 1e6]"], strength: Scalar) -> Float[Array, "d0 d0"]:
    """Return the product UUᵀ at every global minimum: eigenvalues of M lowered to `dropout_shrinkage`.

    With λ₁ ≥ λ₂ ≥ … and κⱼ the mean of the first j: ρ is the last j ≤ d₁ with λⱼ(d₁ + λj) > λjκⱼ, and the threshold is
    λρκ_ρ/(d₁ + λρ). The letter r of arora Thm 11.3.1 is the hidden width d₁ here. Negative eigenvalues are dropped.
    """
    values, vectors = jnp.linalg.eigh(jnp.asarray(matrix))
    shrunk, _ = dropout_shrinkage(jnp.maximum(values[::-1], 0), width, strength)
    return (vectors[:, ::-1] * shrunk) @ vectors[:, ::-1].T


def least_autoencoder_loss(matrix: Matrix, width: Annotated[int, "[1, 1e6]"], strength: Scalar) -> Float[Array, ""]:
    """Return the least value of ‖M − UUᵀ‖² + λ Σ‖uᵢ‖⁴: at the optimum all d₁ columns have one length.

    So it is ‖M − P‖² + λ(tr P)²/d₁ with P = `autoencoder_optimum`. arora Thm 11.3.1 and Lemma 11.3.3.
    """
    product = autoencoder_optimum(matrix, width, strength)
    return jnp.sum((matrix - product) ** 2) + strength * jnp.trace(product) ** 2 / width


def moved_mass(weights: Weights, distance: Scalar) -> Float[Array, "d0 d1"]:
    """Turn the longest and the shortest column into each other a little: the product stays, the penalty falls.

    û₁ = √(1−δ²) u₁ + δ u₂ and û₂ = √(1−δ²) u₂ − δ u₁ with the sign of δ against that of u₁ᵀu₂ (any sign if they are
    orthogonal), and |δ| such that the result is within `distance` of U, or where both are equally long if that is
    nearer. Equalized weights come back as they were. arora, proof of Lemma 11.3.3.
    """
    weights = jnp.asarray(weights)
    norms = jnp.sum(weights**2, axis=0)
    longest, shortest = jnp.argmax(norms), jnp.argmin(norms)
    first, second = weights[:, longest], weights[:, shortest]
    total, excess, overlap = norms[longest] + norms[shortest], norms[longest] - norms[shortest], first @ second
    # ‖û₁‖² − ‖û₂‖² is excess·cos 2θ + 2·overlap·sin 2θ with δ = sin θ: zero at tan 2θ = −excess/(2·overlap).
    full = jnp.arctan2(excess, 2 * jnp.abs(overlap)) / 2
    allowed = 2 * jnp.arcsin(jnp.minimum(distance / (2 * jnp.sqrt(jnp.maximum(total, jnp.finfo(norms.dtype).tiny))), 1))
    angle = -jnp.minimum(full, allowed) * jnp.where(overlap >= 0, 1, -1)
    cosine, sine = jnp.cos(angle), jnp.sin(angle)
    moved = weights.at[:, longest].set(cosine * first + sine * second)
    moved = moved.at[:, shortest].set(cosine * second - sine * first)
    return jnp.where(excess > 0, moved, weights)


def equalizing_curvature(weights: Weights, strength: Scalar) -> Float[Array, ""]:
    """Return −4λ(‖u₁‖² − ‖u₂‖²)², the second derivative in δ along `moved_mass` at a critical point.

    u₁ is the longest and u₂ the shortest column; at a critical point they are orthogonal unless equally long. Negative
    unless all columns are equally long, so such a point is a strict saddle. arora Lemma 11.3.6, whose display omits λ.
    """
    norms = jnp.sum(jnp.asarray(weights) ** 2, axis=0)
    return -4 * strength * (norms.max() - norms.min()) ** 2


doors(__name__, strength="[0, ∞)", distance="[0, ∞)", power="[0, ∞)")
