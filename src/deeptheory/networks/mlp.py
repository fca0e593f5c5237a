"""Fully connected network in tangent-kernel parametrisation: standard normal weights, scales in the forward pass.

`weight_scale` is σ_w, `bias_scale` σ_b, `input_scale` s; `widths` run from the input to the output.

Reference: Jacot, Gabriel and Hongler 2018; arora 9.4; lucchi 7.3; jagannath Ch. 8 Sec. 4.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import sqrt

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from deeptheory.foundations.activations import slope_of
from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.randomness import generator

__all__ = ["MLP", "backpropagate", "init_mlp", "parameter_count", "relu_excess_kurtosis"]

Activation = Callable[[Float[Array, "..."]], Float[Array, "..."]]


class MLP(eqx.Module):
    """A network whose k-th layer computes f⁽ᵏ⁺¹⁾ = (σ_w/√n_k) W⁽ᵏ⁾ φ(f⁽ᵏ⁾) + σ_b b⁽ᵏ⁾, with f⁽¹⁾ = s W⁽⁰⁾ x + σ_b b⁽⁰⁾.

    One parametrisation holds three books: s = 1, σ_w² = c_σ = 1/E φ(z)², no bias (arora 9.12); s = σ_w (lucchi 7.3,
    with the fan-in under the root); s = 1/√n₀, σ_w = 1, σ_b = β (jagannath 8.4). Weights and biases may carry leading
    ensemble axes, to be mapped over with `jax.vmap`.
    """

    weights: tuple[Float[AnyArray, "*ensemble _ _"], ...]
    biases: tuple[Float[AnyArray, "*ensemble _"], ...]
    activation: Activation = eqx.field(static=True, default=jax.nn.relu)
    weight_scale: float = eqx.field(static=True, default=1.0)
    bias_scale: float = eqx.field(static=True, default=0.0)
    input_scale: float = eqx.field(static=True, default=1.0)

    def __call__(self, x: Float[AnyArray, "n d"]) -> Float[Array, "n out"]:
        return self.preactivations(x)[-1]

    def scales(self) -> list[float]:
        """Return the factor in front of each weight matrix."""
        return [self.input_scale, *(self.weight_scale / sqrt(w.shape[-1]) for w in self.weights[1:])]

    def preactivations(self, x: Float[AnyArray, "n d"]) -> list[Float[Array, "n _"]]:
        """Return f⁽¹⁾, …, f⁽ᴸ⁺¹⁾ for a batch of inputs; the last is the output."""
        x, result = jnp.asarray(x), []
        for scale, w, b in zip(self.scales(), self.weights, self.biases, strict=True):
            hidden = self.activation(result[-1]) if result else x
            result.append(scale * (hidden @ w.T) + self.bias_scale * b)
        return result


def init_mlp(
    key: Key[Array, ""],
    widths: Sequence[int],
    *,
    ensemble: tuple[int, ...] = (),
    activation: Activation = jax.nn.relu,
    weight_scale: float = 1.0,
    bias_scale: float = 0.0,
    input_scale: float = 1.0,
) -> MLP:
    """Draw all weights and biases from N(0,1); widths run from the input to the output.

    `ensemble` are leading axes of networks drawn independently; the scales σ_w, σ_b and that of the inputs stand in the
    forward pass, as `MLP` says. Reference: Jacot, Gabriel and Hongler 2018; arora (9.12); lucchi 7.3.
    """
    if len(widths) < 2 or min(widths) < 1:
        raise ValueError(f"widths needs an input and an output of at least 1 each, got {tuple(widths)}")
    rng = generator(key)
    weights = tuple(rng.standard_normal((*ensemble, m, n)) for n, m in pairwise(widths))
    biases = tuple(rng.standard_normal((*ensemble, m)) for m in widths[1:])
    return MLP(weights, biases, activation, float(weight_scale), float(bias_scale), float(input_scale))


def parameter_count(widths: Sequence[int]) -> int:
    """Return p = Σ_l n_{l+1}(n_l + 1), weights and biases together (jagannath 8.4)."""
    return sum(m * (n + 1) for n, m in pairwise(widths))


def backpropagate(
    network: MLP,
    x: Float[AnyArray, "n d"],
    backward_weights: Sequence[Float[AnyArray, "_ _"]] | None = None,
) -> tuple[list[Float[Array, "n _"]], list[Float[Array, "n out _"]]]:
    """Return the two factors of every weight gradient, ∂f/∂W⁽ʰ⁾ = b⁽ʰ⁾ g⁽ʰ⁻¹⁾ᵀ (arora 9.13, 9.14).

    The forward factors g carry the scale in front of their weights, so the product is the gradient as it stands;
    the backward factors are b⁽ʰ⁾ = ∂f/∂f⁽ʰ⁾, one row for each output: b⁽ᴸ⁺¹⁾ = 1 and
    b⁽ʰ⁾ = (σ_w/√n_h) φ′(f⁽ʰ⁾) ∘ W⁽ʰ⁺¹⁾ᵀ b⁽ʰ⁺¹⁾. The gradient with respect to the bias of that layer is σ_b b⁽ʰ⁾.
    Other weights may be used on the way back (`backward_weights`): an independent copy leaves the limit of the
    kernel unchanged, which is how the limit is derived (arora 9.17).
    """
    before = network.preactivations(x)
    forward = [jnp.asarray(x), *(network.activation(f) for f in before[:-1])]
    scales = network.scales()
    outputs = before[-1].shape[-1]
    backward = [jnp.broadcast_to(jnp.eye(outputs, dtype=before[-1].dtype), (len(x), outputs, outputs))]
    weights = network.weights if backward_weights is None else backward_weights
    wanted, found = ([np.shape(w) for w in each] for each in (network.weights, weights))
    if found != wanted:
        raise ValueError(f"backward_weights must have the shapes of the network's weights, got {found!r:.100}")
    for f, w, scale in zip(before[-2::-1], weights[:0:-1], scales[:0:-1], strict=True):
        slope = slope_of(network.activation)(f)
        backward.insert(0, scale * slope[:, None, :] * (backward[0] @ w))
    return [scale * g for scale, g in zip(scales, forward, strict=True)], backward


def relu_excess_kurtosis(hidden_widths: Sequence[int]) -> float:
    """Return the excess kurtosis of the output of a bias-free ReLU network at initialisation, 3(∏_h (1 + 5/n_h) − 1).

    Exact at every width, for every input: given the last hidden layer the output is Gaussian with variance ‖g‖², and
    ‖g⁽ʰ⁾‖²/‖g⁽ʰ⁻¹⁾‖² is (2/n_h) times a sum of n_h independent rectified squares of mean ½ and variance 5/4. To first
    order 15 Σ 1/n_h: outputs become Gaussian like 1/width (arora 9.4, lucchi Thm 57, jagannath Thm 8.4).
    """
    return 3 * float(np.expm1(np.sum([np.log1p(5 / n) for n in hidden_widths])))


doors(__name__)
