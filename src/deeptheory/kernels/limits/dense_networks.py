"""Fully connected networks, the `networks.MLP` of the books: its wide limit, and its finite kernels layer by layer."""

from collections.abc import Sequence

import jax.numpy as jnp
from jaxtyping import Array, Float

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors
from deeptheory.kernels.layers.activations import Activation, Relu
from deeptheory.kernels.layers.combinators import Serial, serial
from deeptheory.kernels.layers.dense import Dense
from deeptheory.networks.mlp import MLP, backpropagate

__all__ = ["conditional_covariance", "fully_connected", "layerwise_ntk"]

RELU = Relu()


def fully_connected(
    inputs: int,
    *,
    hidden_layers: int,
    activation: Activation = RELU,
    weight_scale: float = 1.0,
    bias_scale: float = 0.0,
    input_scale: float = 1.0,
) -> Serial:
    """Return the network whose `limit_kernel` is that of a `networks.MLP` with infinitely wide hidden layers.

    Σ⁽¹⁾ = s² xᵀx′ + σ_b² and Θ⁽¹⁾ = Σ⁽¹⁾; then, with the expectations at the covariance Σ⁽ᵏ⁾ of the pair,
    Σ⁽ᵏ⁺¹⁾ = σ_w² E[φφ′] + σ_b², Θ⁽ᵏ⁺¹⁾ = Θ⁽ᵏ⁾ · σ_w² E[φ̇φ̇′] + Σ⁽ᵏ⁺¹⁾ (arora 9.15 and end of 9.4, lucchi Thm 57 and
    7.3, jagannath Thms 8.4 and 8.6).
    """
    bias = float(bias_scale) or None
    # A Dense layer divides by the fan-in, which the first layer of an MLP does not.
    first = Dense(1, float(input_scale) * inputs**0.5, bias)
    return serial(first, *(activation, Dense(1, float(weight_scale), bias)) * hidden_layers)


def layerwise_ntk(
    network: MLP,
    x: Float[AnyArray, "n d"],
    other: Float[AnyArray, "m d"] | None = None,
    *,
    backward_weights: Sequence[Float[AnyArray, "_ _"]] | None = None,
) -> Float[Array, "layers n m out out"]:
    """Return what each layer contributes to the tangent kernel, Σ_θ ∂f(x) ⊗ ∂f(x′) over its weights and biases.

    Gradients of a layer are outer products, so its Gram matrix is (⟨g, g′⟩ + σ_b²)⟨b, b′⟩ (arora 9.4; jagannath Def.
    8.5 without the printed factor 1/√p). The sum over layers is `tangent_kernel(…, trace_axes=())`.
    `backward_weights` as in `networks.backpropagate`.
    """
    forward, backward = backpropagate(network, x, backward_weights)
    other_forward, other_backward = (
        (forward, backward) if other is None else backpropagate(network, other, backward_weights)
    )
    layers = zip(forward, other_forward, backward, other_backward, strict=True)
    return jnp.stack(
        [
            (g @ h.T + network.bias_scale**2)[:, :, None, None] * jnp.einsum("nij,mkj->nmik", b, c)
            for g, h, b, c in layers
        ]
    )


def conditional_covariance(network: MLP, x: Float[AnyArray, "n d"]) -> Float[Array, "n n"]:
    """Return the covariance of each output given the hidden layers, (σ_w²/n_L) φ(f)φ(f)ᵀ + σ_b² (arora 9.16).

    Its mean over initialisations is the covariance of the outputs, with the chance in the last layer integrated out.
    """
    before = network.preactivations(x)
    hidden = network.activation(before[-2]) if len(before) > 1 else jnp.asarray(x)
    features = network.scales()[-1] * hidden
    return features @ features.T + network.bias_scale**2


doors(__name__, hidden_layers="[0, 1e4]")
