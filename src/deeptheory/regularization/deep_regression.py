"""Dropout on the top hidden layer of a deep network, squared loss: what it adds, and which neurons pay.

The network is f(x) = W_k σ(W_{k−1} σ(… σ(W₁x))); `weights` lists W₁, …, W_k (out × in), and a mask multiplies the last
hidden layer, before W_k.

`rate` is the chance p that a unit is dropped, and λ = p/(1−p).

Reference: arora 11.2; lucchi Thm 74; Arora, Bartlett, Mianjy and Srebro 2021, Dropout: explicit forms and capacity
control.
"""

from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from deeptheory.foundations.arrays import AnyArray, Scalar
from deeptheory.foundations.entrances import doors
from deeptheory.regularization.masks import dropout_strength, mean_over_masks

__all__ = [
    "explicit_dropout_loss",
    "neuron_penalties",
    "regression_loss",
    "top_dropout_loss",
    "top_features",
    "two_layer_linear_penalty",
]

Weights = Sequence[Float[AnyArray, "_ _"]]
Activation = Callable[[Array], Array]


def top_features(
    weights: Weights, inputs: Float[AnyArray, "n d"], *, activation: Activation = jax.nn.relu
) -> Float[Array, "n _"]:
    """Return the activations a_{k−1}(x) of the last hidden layer, a row for each input; the inputs if k = 1."""
    before = inputs.shape[1]
    for matrix in weights:
        if matrix.shape[1] != before:
            raise ValueError(
                f"weights must fit inputs and each other, got {matrix.shape[1]} columns after {before} units"
            )
        before = matrix.shape[0]
    hidden = jnp.asarray(inputs)
    for matrix in weights[:-1]:
        hidden = activation(hidden @ jnp.asarray(matrix).T)
    return hidden


def regression_loss(
    weights: Weights,
    inputs: Float[AnyArray, "n d"],
    labels: Float[AnyArray, "n k"],
    mask: Float[AnyArray, " width"] | Float[AnyArray, "n width"] | None = None,
    *,
    activation: Activation = jax.nn.relu,
) -> Float[Array, ""]:
    """Return mean ‖yᵢ − W_k B a_{k−1}(xᵢ)‖² with the mask B on the last hidden layer, or without one.

    `mask` is one for all examples, or a row for each of them, as dropout is run on batches: the mean over masks is the
    same.
    """
    features = top_features(weights, inputs, activation=activation)
    if mask is not None and np.shape(mask)[-1] != features.shape[1]:
        raise ValueError(
            f"mask must have one entry for each of {features.shape[1]} hidden units, got {np.shape(mask)[-1]}"
        )
    if labels.shape[1] != len(weights[-1]):
        raise ValueError(f"labels must have a column for each of {len(weights[-1])} outputs, got {labels.shape[1]}")
    kept = features if mask is None else features * mask
    return jnp.mean(jnp.sum((labels - kept @ jnp.asarray(weights[-1]).T) ** 2, axis=1))


def top_dropout_loss(
    weights: Weights,
    inputs: Float[AnyArray, "n d"],
    labels: Float[AnyArray, "n k"],
    rate: Scalar,
    *,
    activation: Activation = jax.nn.relu,
) -> Float[Array, ""]:
    """Return the dropout objective by its definition, the mean over all masks of the top layer. arora eq. 11.8.

    Exponential in the width, at most 20: an oracle for `explicit_dropout_loss`. lucchi eq. 11.25.
    """

    def loss(mask: Float[Array, " width"]) -> Float[Array, ""]:
        return regression_loss(weights, inputs, labels, mask, activation=activation)

    return mean_over_masks(loss, weights[-1].shape[1], rate)


def neuron_penalties(
    weights: Weights, inputs: Float[AnyArray, "n d"], rate: Scalar, *, activation: Activation = jax.nn.relu
) -> Float[Array, " width"]:
    """Return what each top hidden neuron pays under dropout: λ ‖W_k(:, j)‖² mean a_j(xᵢ)², j = 1 … d_{k−1}.

    Their sum is the regularizer. Any activation; the labels do not enter. arora Prop. 11.2.1; lucchi Thm 74.
    """
    features = top_features(weights, inputs, activation=activation)
    outgoing, incoming = jnp.sum(jnp.asarray(weights[-1]) ** 2, axis=0), jnp.mean(features**2, axis=0)
    return jnp.asarray(dropout_strength(rate) * outgoing * incoming)


def explicit_dropout_loss(
    weights: Weights,
    inputs: Float[AnyArray, "n d"],
    labels: Float[AnyArray, "n k"],
    rate: Scalar,
    *,
    activation: Activation = jax.nn.relu,
) -> Float[Array, ""]:
    """Return the dropout objective as loss plus penalty, at the cost of one pass for any width.

    The squared loss only: for others the mean over masks is no sum of two such terms. arora Prop. 11.2.1.
    """
    loss = regression_loss(weights, inputs, labels, activation=activation)
    return loss + jnp.sum(neuron_penalties(weights, inputs, rate, activation=activation))


def two_layer_linear_penalty(
    left: Float[AnyArray, "d2 d1"], right: Float[AnyArray, "d0 d1"], covariance: Float[AnyArray, "d0 d0"]
) -> Float[Array, ""]:
    """Return Σⱼ ‖uⱼ‖² vⱼᵀ C vⱼ, what dropout adds over λ in the linear network x ↦ U Vᵀ x with E xxᵀ = C.

    Its least value over all factors of M = U Vᵀ is ‖M C^½‖_*²/d₁, for d₁ ≥ rank M: Gaussian sensing with M C^½ for M.
    arora Sec. 11.2 and 11.4, after Mianjy and Arora 2019.
    """
    return jnp.sum(jnp.sum(jnp.asarray(left) ** 2, axis=0) * jnp.einsum("aj,ab,bj->j", right, covariance, right))


doors(__name__, symmetric=("covariance",))
