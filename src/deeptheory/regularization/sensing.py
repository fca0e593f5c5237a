"""Dropout in matrix sensing, M = U Vᵀ with U of d₂×d₁ and V of d₀×d₁: the objective and the penalty that it adds.

A mask drops column j of U and of V together. `left` is U and `right` is V.

`measurements` are the Aᵢ, d₂ × d₀ each, along the first axis; `rate` is the chance p that a column is dropped.

Reference: arora 11.1; Arora, Bartlett, Mianjy and Srebro 2021, Dropout: explicit forms and capacity control.
"""

import jax.numpy as jnp
from jaxtyping import Array, Float

from deeptheory.foundations.arrays import AnyArray, Scalar
from deeptheory.foundations.entrances import doors
from deeptheory.regularization.masks import mean_over_masks

__all__ = [
    "convolutional_sensing",
    "dropout_objective",
    "dropout_regularizer",
    "expected_dropout_regularizer",
    "nearest_interpolator",
    "regularizer_variance",
    "sensing_gradients",
    "sensing_loss",
]


def sensing_loss(
    left: Float[AnyArray, "d2 d1"],
    right: Float[AnyArray, "d0 d1"],
    measurements: Float[AnyArray, "n d2 d0"],
    labels: Float[AnyArray, " n"],
) -> Float[Array, ""]:
    """Return the empirical squared loss of matrix sensing, L̂ = mean (yᵢ − ⟨U Vᵀ, Aᵢ⟩)². arora eq. 11.1."""
    return jnp.mean((labels - jnp.einsum("aj,iab,bj->i", left, measurements, right)) ** 2)


def sensing_gradients(
    left: Float[AnyArray, "d2 d1"],
    right: Float[AnyArray, "d0 d1"],
    measurements: Float[AnyArray, "n d2 d0"],
    labels: Float[AnyArray, " n"],
) -> tuple[Float[Array, "d2 d1"], Float[Array, "d0 d1"]]:
    """Return the gradients of the loss in U and V: −2 G V and −2 Gᵀ U with G = mean (yᵢ − ⟨U Vᵀ, Aᵢ⟩) Aᵢ."""
    residuals = labels - jnp.einsum("aj,iab,bj->i", left, measurements, right)
    slope = -2 * jnp.tensordot(residuals, measurements, 1) / len(labels)
    return slope @ right, slope.T @ left


def nearest_interpolator(
    measurements: Float[AnyArray, "n d2 d0"], labels: Float[AnyArray, " n"], matrix: Float[AnyArray, "d2 d0"]
) -> Float[Array, "d2 d0"]:
    """Return the matrix nearest to a given one, in the Frobenius norm, among those with ⟨M, Aᵢ⟩ = yᵢ for all i.

    From zero it is the interpolator of least norm; from far away it fits the data as well and has as large a risk as
    one likes, which is why fitting is not enough. The measurements must be linearly independent. arora Sec. 11.1.
    """
    rows = jnp.reshape(jnp.asarray(measurements), (len(labels), -1))
    missing = labels - rows @ jnp.ravel(matrix)
    return jnp.asarray(matrix) + jnp.reshape(rows.T @ jnp.linalg.solve(rows @ rows.T, missing), matrix.shape)


def dropout_objective(
    left: Float[AnyArray, "d2 d1"],
    right: Float[AnyArray, "d0 d1"],
    measurements: Float[AnyArray, "n d2 d0"],
    labels: Float[AnyArray, " n"],
    rate: Scalar,
) -> Float[Array, ""]:
    """Return the dropout objective by its definition: the loss of U B Vᵀ averaged over all 2^d₁ masks B.

    The cost is exponential in the width; the point is to be an oracle for L̂ + λ R̂. arora eq. 11.2.
    """
    return mean_over_masks(lambda mask: sensing_loss(left * mask, right, measurements, labels), left.shape[1], rate)


def dropout_regularizer(
    left: Float[AnyArray, "d2 d1"], right: Float[AnyArray, "d0 d1"], measurements: Float[AnyArray, "n d2 d0"]
) -> Float[Array, ""]:
    """Return the empirical regularizer that dropout adds, R̂ = Σⱼ mean (uⱼᵀ Aᵢ vⱼ)². arora eq. 11.4."""
    return jnp.sum(jnp.mean(jnp.einsum("aj,iab,bj->ij", left, measurements, right) ** 2, axis=0))


def expected_dropout_regularizer(left: Float[AnyArray, "d2 d1"], right: Float[AnyArray, "d0 d1"]) -> Float[Array, ""]:
    """Return the mean of R̂ over measurements with independent standard normal entries, R = Σⱼ ‖uⱼ‖²‖vⱼ‖².

    Any centred entries of unit variance that are uncorrelated give the same. arora section 11.1.1.
    """
    return jnp.sum(jnp.sum(left**2, axis=0) * jnp.sum(right**2, axis=0))


def regularizer_variance(left: Float[AnyArray, "d2 d1"], right: Float[AnyArray, "d0 d1"]) -> Float[Array, ""]:
    """Return the variance of Σⱼ (uⱼᵀ A vⱼ)² over one matrix A of independent standard normal entries, 2 Σⱼₖ C²ⱼₖ.

    The numbers uⱼᵀ A vⱼ are jointly normal with covariance C = UᵀU ∘ VᵀV. Over n measurements R̂ has the n-th part, so
    that it is within about √(2/n) ‖C‖ of its mean tr C: the concentration that arora Sec. 11.1 speaks of.
    """
    return 2 * jnp.sum((left.T @ left) ** 2 * (right.T @ right) ** 2)


def convolutional_sensing(
    left: Float[AnyArray, "d2 d1"], right: Float[AnyArray, "d0 d1"], measurement: Float[AnyArray, "d2 d0"]
) -> tuple[Float[Array, ""], Float[Array, "d2 d1"]]:
    """Return ⟨U Vᵀ, A⟩ as the output of a convolutional network of two linear layers, and its hidden units.

    The first layer applies the same d₁ filters V to every row of A; the second weighs unit (row, filter) by U and adds.
    Dropout of whole filters is that of matrix sensing. arora Sec. 11.4.
    """
    hidden = jnp.asarray(measurement) @ right
    return jnp.sum(left * hidden), hidden


doors(__name__)
