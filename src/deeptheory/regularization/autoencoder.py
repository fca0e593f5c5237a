"""The linear autoencoder with tied weights under dropout, ‖M − UUᵀ‖² + λ Σ‖uᵢ‖⁴: value, slopes, optimum, ways down.

U has d₀ rows and d₁ columns, one a hidden unit; `weights` is U, `matrix` the symmetric M, `strength` is λ = p/(1−p).

Reference: arora 11.3; Mianjy, Arora and Vidal 2018, On the implicit bias of dropout.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from deeptheory.foundations.arrays import AnyArray, Scalar, traced
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import inside
from deeptheory.regularization.shrinkage import dropout_shrinkage

__all__ = [
    "autoencoder_curvature",
    "autoencoder_gradient",
    "autoencoder_loss",
    "autoencoder_optimum",
    "autoencoder_risk",
    "autoencoder_target",
    "equalizing_curvature",
    "equalizing_turn",
    "least_autoencoder_loss",
    "moved_mass",
    "turned_pair",
]

Weights = Float[AnyArray, "d0 d1"]
Matrix = Float[AnyArray, "d0 d0"]
Place = int | Int[AnyArray, ""]


def symmetric_only(matrix: Matrix) -> Matrix:
    """Refuse a matrix that is not symmetric, of which the formulas here are not true; one that is comes back."""
    if not traced(matrix):
        known = np.asarray(matrix)
        if (gap := np.abs(known - known.T).max()) > 1e-6 * np.abs(known).max():
            raise ValueError(
                f"matrix must be symmetric, got entries across the diagonal {gap:.3g} apart: see autoencoder_target"
            )
    return matrix


def autoencoder_target(cross: Matrix) -> Float[Array, "d0 d0"]:
    """Return M = (C_yx + C_xy)/2, all that the loss of UUᵀ sees of the cross covariance C_yx = E yxᵀ."""
    return (jnp.asarray(cross) + jnp.asarray(cross).T) / 2


def autoencoder_risk(weights: Weights, cross: Matrix, power: Scalar) -> Float[Array, ""]:
    """Return E‖y − UUᵀx‖² for isotropic inputs, E xxᵀ = I: ‖M − UUᵀ‖² + E‖y‖² − ‖M‖², M the `autoencoder_target`.

    `cross` is E yxᵀ and `power` is E‖y‖² = tr C_y. arora Sec. 11.3, where the constant is printed with C_yx for M.
    """
    product = jnp.asarray(weights) @ jnp.asarray(weights).T
    return jnp.sum(product * (product - 2 * autoencoder_target(cross))) + power


def autoencoder_loss(weights: Weights, matrix: Matrix, strength: Scalar) -> Float[Array, ""]:
    """Return ‖M − UUᵀ‖² + λ Σᵢ ‖uᵢ‖⁴, the risk under dropout of hidden units less a constant. arora eq. 11.11."""
    weights = jnp.asarray(weights)
    return jnp.sum((matrix - weights @ weights.T) ** 2) + strength * jnp.sum(jnp.sum(weights**2, axis=0) ** 2)


def autoencoder_gradient(weights: Weights, matrix: Matrix, strength: Scalar) -> Float[Array, "d0 d1"]:
    """Return 4(UUᵀ − M)U + 4λ U diag(UᵀU) for a symmetric M. arora Sec. 11.3."""
    weights = jnp.asarray(weights)
    return 4 * (
        (weights @ weights.T - symmetric_only(matrix)) @ weights + strength * weights * jnp.sum(weights**2, axis=0)
    )


def autoencoder_curvature(weights: Weights, matrix: Matrix, strength: Scalar, direction: Weights) -> Float[Array, ""]:
    """Return the second derivative along D: 2‖UDᵀ + DUᵀ‖² − 4⟨M − UUᵀ, DDᵀ⟩ + λ Σ (8⟨uᵢ, dᵢ⟩² + 4‖uᵢ‖²‖dᵢ‖²).

    `direction` is D.
    """
    weights, direction = jnp.asarray(weights), jnp.asarray(direction)
    turned = weights @ direction.T
    residual = symmetric_only(matrix) - weights @ weights.T
    loss = 2 * jnp.sum((turned + turned.T) ** 2) - 4 * jnp.sum(residual * (direction @ direction.T))
    overlaps, norms = jnp.sum(weights * direction, axis=0), jnp.sum(weights**2, axis=0)
    return loss + strength * jnp.sum(8 * overlaps**2 + 4 * norms * jnp.sum(direction**2, axis=0))


def autoencoder_optimum(matrix: Matrix, width: Scalar, strength: Scalar) -> Float[Array, "d0 d0"]:
    """Return the product UUᵀ at every global minimum: eigenvalues of M lowered to `dropout_shrinkage`.

    With λ₁ ≥ λ₂ ≥ … and κⱼ the mean of the first j: ρ is the last j ≤ d₁ with λⱼ(d₁ + λj) > λjκⱼ, and the threshold is
    λρκ_ρ/(d₁ + λρ). The letter r of arora Thm 11.3.1 is the hidden width d₁ here. Negative eigenvalues are dropped.
    """
    values, vectors = jnp.linalg.eigh(jnp.asarray(symmetric_only(matrix)))
    shrunk, _ = dropout_shrinkage(jnp.maximum(values[::-1], 0), width, strength)
    return (vectors[:, ::-1] * shrunk) @ vectors[:, ::-1].T


def least_autoencoder_loss(matrix: Matrix, width: Scalar, strength: Scalar) -> Float[Array, ""]:
    """Return the least value of ‖M − UUᵀ‖² + λ Σ‖uᵢ‖⁴: at the optimum all d₁ columns have one length.

    So it is ‖M − P‖² + λ(tr P)²/d₁ with P = `autoencoder_optimum`. arora Thm 11.3.1 and Lemma 11.3.3.
    """
    product = autoencoder_optimum(matrix, width, strength)
    return jnp.sum((matrix - product) ** 2) + strength * jnp.trace(product) ** 2 / width


def turned_pair(weights: Weights, first: Place, second: Place, sine: Scalar) -> Float[Array, "d0 d1"]:
    """Turn two columns into each other: û₁ = √(1−δ²) u₁ + δ u₂ and û₂ = √(1−δ²) u₂ − δ u₁, `sine` is δ.

    The product UUᵀ stays, and U moves by √(2(1 − √(1−δ²))(‖u₁‖² + ‖u₂‖²)). arora, proof of Lemma 11.3.3.
    """
    weights = jnp.asarray(weights)
    if not traced(first, second):
        inside(0, weights.shape[1] - 1, first=first, second=second)
        if first == second:
            raise ValueError(f"first and second must be two columns, got {first} twice")
    return _turned(weights, first, second, sine)


def _turned(weights: Array, first: Place, second: Place, sine: Scalar) -> Array:
    one, other, cosine = weights[:, first], weights[:, second], jnp.sqrt((1 - sine) * (1 + sine))
    return weights.at[:, first].set(cosine * one + sine * other).at[:, second].set(cosine * other - sine * one)


def equalizing_turn(weights: Weights, distance: Scalar) -> tuple[Int[Array, ""], Int[Array, ""], Float[Array, ""]]:
    """Return which columns are the longest and the shortest, and the δ of `turned_pair` that moves length between them.

    Its sign is against that of u₁ᵀu₂, and either will do if they are orthogonal, where the book's sign function gives
    zero. |δ| is such that U moves by `distance`, or to where both are equally long if that is nearer.
    """
    weights = jnp.asarray(weights)
    norms = jnp.sum(weights**2, axis=0)
    longest, shortest = jnp.argmax(norms), jnp.argmin(norms)
    overlap, excess = weights[:, longest] @ weights[:, shortest], norms[longest] - norms[shortest]
    # ‖û₁‖² − ‖û₂‖² is excess·cos 2θ + 2·overlap·sin 2θ with δ = sin θ: zero at tan 2θ = −excess/(2·overlap).
    full = jnp.arctan2(excess, 2 * jnp.abs(overlap)) / 2
    total = jnp.maximum(norms[longest] + norms[shortest], jnp.finfo(norms.dtype).tiny)
    allowed = 2 * jnp.arcsin(jnp.minimum(distance / (2 * jnp.sqrt(total)), 1))
    return longest, shortest, -jnp.sin(jnp.minimum(full, allowed)) * jnp.where(overlap >= 0, 1, -1)


def moved_mass(weights: Weights, distance: Scalar) -> Float[Array, "d0 d1"]:
    """Move length from the longest to the shortest column, by at most `distance`: the same product, a smaller penalty.

    Equalized weights come back as they were. arora, proof of Lemma 11.3.3.
    """
    return _turned(jnp.asarray(weights), *equalizing_turn(weights, distance))


def equalizing_curvature(weights: Weights, strength: Scalar) -> Float[Array, ""]:
    """Return −4λ(‖u₁‖² − ‖u₂‖²)², the second derivative in δ along `moved_mass` at a critical point.

    u₁ is the longest and u₂ the shortest column; at a critical point they are orthogonal unless equally long. Negative
    unless all columns are equally long, so such a point is a strict saddle. arora Lemma 11.3.6, whose display omits λ.
    """
    norms = jnp.sum(jnp.asarray(weights) ** 2, axis=0)
    return jnp.asarray(-4 * strength * (norms.max() - norms.min()) ** 2)


doors(__name__, width="[1, ∞)", sine="[-1, 1]", strength="[0, ∞)", distance="[0, ∞)", power="[0, ∞)")
