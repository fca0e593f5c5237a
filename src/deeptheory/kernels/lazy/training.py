"""Gradient descent on squared loss in full, all layers trained, and how far the tangent kernel moves meanwhile.

Reference: lucchi Thm 58; jagannath Thm 8.7; handbook 6.3 and 6.4.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors
from deeptheory.kernels.finite.tangents import relative_drift
from deeptheory.kernels.limits.dense_networks import layerwise_ntk
from deeptheory.networks.mlp import MLP

__all__ = ["KernelTrace", "TrainingTrace", "train", "train_with_kernel"]


class TrainingTrace(NamedTuple):
    """Outputs on training and on other inputs, before each step and after the last, and the trained network."""

    outputs: Float[Array, "time n"]
    other_outputs: Float[Array, "time m"]
    network: MLP


@partial(jax.jit, static_argnames="steps")
def train(
    network: MLP,
    x: Float[AnyArray, "n d"],
    y: Float[AnyArray, " n"],
    other: Float[AnyArray, "m d"],
    *,
    step_size: float | Float[Array, ""],
    steps: int,
) -> TrainingTrace:
    """Train all layers by gradient descent on ½‖f(X) − y‖², watching the outputs on X and on other inputs.

    θ ← θ − η∇, `steps` times with η = `step_size`; the network has one output, and its own scaling decides how lazy it
    is.
    """

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
    x: Float[AnyArray, "n d"],
    y: Float[AnyArray, " n"],
    other: Float[AnyArray, "m d"],
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

    def kernel(network):  # layer by layer: half the time of the general `tangent_kernel` on an ensemble of small nets
        return layerwise_ntk(network, x).sum(0)

    start = kernel(network)

    def part(network, _):
        trace = train(network, x, y, other, step_size=step_size, steps=steps // parts)
        drift = relative_drift(kernel(trace.network), start)
        return trace.network, (trace.outputs[:-1], trace.other_outputs[:-1], drift)

    network = jax.tree.map(jnp.asarray, network)
    trained, (outputs, other_outputs, drift) = jax.lax.scan(part, network, None, length=parts)
    return KernelTrace(
        jnp.concatenate([outputs.reshape(steps, -1), trained(x).T]),
        jnp.concatenate([other_outputs.reshape(steps, -1), trained(other).T]),
        drift,
    )


doors(__name__, steps="[1, 1e7]", parts="[1, 1e5]", step_size="[0, ∞)")
