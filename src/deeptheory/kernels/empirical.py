"""The tangent kernel of a finite network: layer by layer without the Jacobian, and how far training moves it."""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from deeptheory.networks.mlp import MLP, backpropagate

Inputs = Float[Array | np.ndarray, "n d"]


def layerwise_ntk(
    network: MLP,
    x: Inputs,
    other: Float[Array | np.ndarray, "m d"] | None = None,
    *,
    backward_weights: Sequence[Float[Array | np.ndarray, "_ _"]] | None = None,
) -> Float[Array, "layers n m out out"]:
    """Return what each layer contributes to the tangent kernel, Σ_θ ∂f(x) ⊗ ∂f(x′) over its weights and biases.

    Gradients of a layer are outer products, so its Gram matrix is (⟨g, g′⟩ + σ_b²)⟨b, b′⟩ (arora 9.4; jagannath Def.
    8.5 without the printed factor 1/√p). Memory is that of two passes, O(n · width), where the Jacobian takes
    O(n · parameters). `backward_weights` as in `networks.backpropagate`.
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


def empirical_ntk(
    network: MLP, x: Inputs, other: Float[Array | np.ndarray, "m d"] | None = None
) -> Float[Array, "n m"]:
    """Return the tangent kernel Θ̂(x, x′) = ⟨∂_θ f(x), ∂_θ f(x′)⟩ of a network with one output."""
    outputs = network.weights[-1].shape[-2]
    if outputs != 1:
        raise ValueError(f"the network has {outputs} outputs, not 1: sum `layerwise_ntk` over its first axis instead")
    return layerwise_ntk(network, x, other).sum(0)[:, :, 0, 0]


class TrainingTrace(NamedTuple):
    """Outputs on training and on other inputs, before each step and after the last, and the trained network."""

    outputs: Float[Array, "time n"]
    other_outputs: Float[Array, "time m"]
    network: MLP


@partial(jax.jit, static_argnames="steps")
def train(
    network: MLP,
    x: Inputs,
    y: Float[Array | np.ndarray, " n"],
    other: Float[Array | np.ndarray, "m d"],
    *,
    step_size: float | Float[Array, ""],
    steps: int,
) -> TrainingTrace:
    """Train all layers by gradient descent on ½‖f(X) − y‖², watching the outputs on X and on other inputs."""

    def loss(network):
        outputs = network(x)[:, 0]
        return 0.5 * jnp.sum((outputs - y) ** 2), outputs

    def step(network, _):
        gradient, outputs = jax.grad(loss, has_aux=True)(network)
        return jax.tree.map(lambda p, g: p - step_size * g, network, gradient), (outputs, network(other)[:, 0])

    network = jax.tree.map(jnp.asarray, network)
    trained, (outputs, other_outputs) = jax.lax.scan(step, network, None, length=steps)
    return TrainingTrace(
        jnp.concatenate([outputs, trained(x).T]), jnp.concatenate([other_outputs, trained(other).T]), trained
    )


class KernelTrace(NamedTuple):
    """A training run with its kernel: outputs before each step and after the last, drift at the end of each part."""

    outputs: Float[Array, "time n"]
    other_outputs: Float[Array, "time m"]
    drift: Float[Array, " parts"]


@partial(jax.jit, static_argnames=("steps", "parts"))
def train_with_kernel(
    network: MLP,
    x: Inputs,
    y: Float[Array | np.ndarray, " n"],
    other: Float[Array | np.ndarray, "m d"],
    *,
    step_size: float | Float[Array, ""],
    steps: int,
    parts: int = 4,
) -> KernelTrace:
    """Train as `train` does, and measure after each of several equal parts how far the tangent kernel has moved.

    The drift is ‖Θ̂_t − Θ̂_0‖/‖Θ̂_0‖ on the training inputs (lucchi Thm 58, jagannath Thm 8.7).
    """
    if steps % parts:
        raise ValueError(f"steps must be a multiple of parts, got steps={steps} and parts={parts}")
    start = empirical_ntk(network, x)

    def part(network, _):
        trace = train(network, x, y, other, step_size=step_size, steps=steps // parts)
        drift = relative_drift(empirical_ntk(trace.network, x), start)
        return trace.network, (trace.outputs[:-1], trace.other_outputs[:-1], drift)

    network = jax.tree.map(jnp.asarray, network)
    trained, (outputs, other_outputs, drift) = jax.lax.scan(part, network, None, length=parts)
    return KernelTrace(
        jnp.concatenate([outputs.reshape(steps, -1), trained(x).T]),
        jnp.concatenate([other_outputs.reshape(steps, -1), trained(other).T]),
        drift,
    )


def kernel_training(
    kernel: Float[Array | np.ndarray, "n n"],
    other_kernel: Float[Array | np.ndarray, "m n"],
    outputs: Float[Array | np.ndarray, " n"],
    other_outputs: Float[Array | np.ndarray, " m"],
    y: Float[Array | np.ndarray, " n"],
    *,
    step_size: float | Float[Array, ""],
    steps: int,
) -> tuple[Float[Array, "time n"], Float[Array, "time m"]]:
    """Return the same outputs as `train` for a model whose tangent kernel Θ never moves.

    f_t(X) = y + (I − ηΘ)ᵗ(f₀(X) − y) and f_t(x) = f₀(x) − ηΘ(x, X) Σ_{s<t} (f_s(X) − y): the flow
    ḟ = −Θ(f − y) of lucchi Thm 58 at finite steps, so that comparing with gradient descent leaves the motion of the
    kernel as the only difference.
    """
    values, vectors = jnp.linalg.eigh(jnp.asarray(kernel))
    start = vectors.T @ (jnp.asarray(outputs) - y)
    residuals = ((1 - step_size * values) ** jnp.arange(steps + 1)[:, None] * start) @ vectors.T
    passed = jnp.concatenate([jnp.zeros_like(residuals[:1]), jnp.cumsum(residuals[:-1], axis=0)])
    return y + residuals, jnp.asarray(other_outputs) - step_size * passed @ jnp.asarray(other_kernel).T


def relative_drift(after: Float[Array, "n m"], before: Float[Array, "n m"]) -> Float[Array, ""]:
    """Return ‖Θ̂_t − Θ̂_0‖/‖Θ̂_0‖ in the Frobenius norm."""
    return jnp.linalg.norm(after - before) / jnp.linalg.norm(before)


def conditional_covariance(network: MLP, x: Inputs) -> Float[Array, "n n"]:
    """Return the covariance of each output given the hidden layers, (σ_w²/n_L) φ(f)φ(f)ᵀ + σ_b² (arora 9.16).

    Its mean over initialisations is the covariance of the outputs, with the chance in the last layer integrated out.
    """
    before = network.preactivations(x)
    hidden = network.activation(before[-2]) if len(before) > 1 else jnp.asarray(x)
    features = network.scales()[-1] * hidden
    return features @ features.T + network.bias_scale**2
