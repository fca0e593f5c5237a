"""A network beside its own linearization, in the scalings that make it lazy and in those that do not.

Reference: handbook 6.2 to 6.4; lucchi 7.3; Chizat, Oyallon and Bach 2019, On lazy training in differentiable
programming.
"""

from dataclasses import replace
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors
from deeptheory.kernels.finite.tangents import functional, relative_drift, tangent_kernel
from deeptheory.kernels.lazy.training import train
from deeptheory.kernels.regression.predictions import kernel_training
from deeptheory.networks.mlp import MLP

__all__ = [
    "Laziness",
    "Rescaled",
    "doubled",
    "fan_out",
    "laziness",
    "loss_curvature",
    "padded",
    "parameter_norm",
]


class Rescaled(MLP):
    """A network with a further factor in front of each weight matrix that is not trained.

    One compiled training serves all parametrisations that differ by such factors: tangent (all 1), mean-field (a last
    factor 1/√m), the α of lazy training, and networks of different widths padded to one shape.
    """

    factors: tuple[Float[AnyArray, "*ensemble"], ...] = ()

    def scaled(self) -> MLP:
        """Return the plain network that computes the same function."""
        weights = [jax.lax.stop_gradient(c) * w for c, w in zip(self.factors, self.weights, strict=True)]
        scales = self.weight_scale, self.bias_scale, self.input_scale
        return MLP(tuple(weights), self.biases, self.activation, *scales)

    def preactivations(self, x: Float[AnyArray, "n d"]) -> list[Float[Array, "n _"]]:
        return self.scaled().preactivations(x)


def _rescaled(network: MLP, values: list[float]) -> Rescaled:
    factors = tuple(np.full(network.weights[0].shape[:-2], value) for value in values)
    scales = network.weight_scale, network.bias_scale, network.input_scale
    return Rescaled(network.weights, network.biases, network.activation, *scales, factors)


def padded(network: MLP, width: int, *, output_factor: float = 1.0) -> Rescaled:
    """Return the same network with its hidden layers filled up to a width by neurons that never do anything.

    Filled with zeros, a neuron of an activation with φ(0) = 0 has neither output nor gradient, so it stays zero in
    training; the factors undo the larger fan-in. `output_factor` multiplies the last of them.
    """
    hidden = [w.shape[-2] for w in network.weights[:-1]]
    if max(hidden, default=0) > width:
        raise ValueError(f"width must be at least that of the widest hidden layer, {max(hidden)}, got {width}")
    if float(network.activation(jnp.zeros(()))) != 0:
        raise ValueError("only networks of an activation that is zero at zero can be filled up with zeros")
    last = len(network.weights) - 1
    weights, biases = [], []
    for place, (weight, bias) in enumerate(zip(network.weights, network.biases, strict=True)):
        ahead = 0 if place == last else width - weight.shape[-2]
        behind = 0 if place == 0 else width - weight.shape[-1]
        ensemble = [(0, 0)] * (np.ndim(weight) - 2)
        weights.append(np.pad(weight, [*ensemble, (0, ahead), (0, behind)]))
        biases.append(np.pad(bias, [*ensemble, (0, ahead)]))
    factors = [1.0, *((width / n) ** 0.5 for n in hidden)]
    factors[-1] *= output_factor
    filled = replace(network, weights=tuple(weights), biases=tuple(biases))
    return _rescaled(filled, factors)


def fan_out(network: MLP) -> Rescaled:
    """Return the network with every layer divided by the root of its own width, as lucchi 7.3 prints.

    f⁽ˡ⁾ = (σ_w/√n_l) W⁽ˡ⁾h + σ_b b⁽ˡ⁾: the first layer then vanishes, and the output grows like √width.
    """
    own = [w.shape[-2] ** -0.5 * network.weight_scale for w in network.weights]
    scales = network.scales()
    return _rescaled(network, [wanted / scale for wanted, scale in zip(own, scales, strict=True)])


def doubled(network: MLP) -> MLP:
    """Return a network of twice the width whose output is zero: every neuron twice, with opposite output weights.

    Its tangent kernel is that of the network it is made from. One hidden layer; leading ensemble axes are kept.
    """
    if len(network.weights) != 2:
        raise ValueError(f"only a network with one hidden layer is doubled, this one has {len(network.weights) - 1}")
    (first, last), (inner, outer) = network.weights, network.biases
    weights = np.concatenate([first, first], -2), np.concatenate([last, -np.asarray(last)], -1)
    return replace(network, weights=weights, biases=(np.concatenate([inner, inner], -1), np.zeros_like(outer)))


def parameter_norm(network: MLP, start: MLP | None = None) -> Float[Array, ""]:
    """Return ‖θ‖, or with a start ‖θ − θ₀‖: in tangent scaling the first grows with the width, the second does not."""
    leaves = [jax.tree.leaves((each.weights, each.biases)) for each in (network, start) if each is not None]
    moved = leaves[0] if len(leaves) == 1 else [one - two for one, two in zip(*leaves, strict=True)]
    return jnp.sqrt(sum((jnp.sum(jnp.asarray(leaf) ** 2) for leaf in moved), start=jnp.zeros(())))


def loss_curvature(
    network: MLP, x: Float[AnyArray, "n d"], residual: Float[AnyArray, " n"]
) -> Float[Array, "width block block"]:
    """Return the part Σᵢ rᵢ ∂²f(xᵢ) of the Hessian of ½‖f(X) − y‖² that its linearization lacks, neuron by neuron.

    The Hessian is JᵀJ, that of the linearized network and never negative, plus this part. With one hidden layer and no
    bias no two neurons meet in ∂²f, so it consists of blocks in (a_r, w_r), of order 1/√width: what convexity lacks
    (handbook 6.4.1). The residual is r = f(X) − y.
    """
    if len(network.weights) != 2 or network.bias_scale:
        raise ValueError("loss_curvature needs one hidden layer and no bias")
    factor = network.weight_scale / network.weights[1].shape[-1] ** 0.5

    def weighed(neuron: Float[Array, " block"]) -> Array:
        values = network.activation(network.input_scale * jnp.asarray(x) @ neuron[1:])
        return factor * neuron[0] * values @ jnp.asarray(residual)

    neurons = jnp.concatenate([jnp.asarray(network.weights[1]).T, jnp.asarray(network.weights[0])], 1)
    return jax.vmap(jax.hessian(weighed))(neurons)


class Laziness(NamedTuple):
    """One training run beside that of the linearized network, and how far parameters and tangent kernel went."""

    outputs: Float[Array, "time n"]
    other_outputs: Float[Array, "time m"]
    linear_outputs: Float[Array, "time m"]
    drift: Float[Array, ""]
    displacement: Float[Array, ""]

    @property
    def gap(self) -> Float[Array, "*runs"]:
        """The largest |f − f_lin| over all steps and other inputs."""
        return jnp.max(jnp.abs(self.other_outputs - self.linear_outputs), axis=(-2, -1))


def laziness(
    network: MLP,
    x: Float[AnyArray, "n d"],
    y: Float[AnyArray, " n"],
    other: Float[AnyArray, "m d"],
    *,
    step_size: float | Float[Array, ""],
    steps: int,
) -> Laziness:
    """Train a network by gradient descent on ½‖f(X) − y‖² and measure how nearly it is its own linearization.

    f_lin takes the same steps, in closed form, with the tangent kernel Θ̂₀ of this very network (lucchi 7.3, handbook
    6.2). `drift` is the relative change of that kernel on x, `displacement` ‖θ_t − θ₀‖.
    """
    count, everything = len(x), jnp.concatenate([jnp.asarray(x), jnp.asarray(other)])
    kernel = tangent_kernel(*functional(network), everything, everything[:count])
    trace = train(network, x, y, other, step_size=step_size, steps=steps)
    start, other_start = trace.outputs[0], trace.other_outputs[0]
    linear = kernel_training(
        kernel[:count], kernel[count:], start, other_start, y, step_size=step_size, steps=steps
    )  # fmt: skip
    after = tangent_kernel(*functional(trace.network), everything[:count])
    return Laziness(
        trace.outputs,
        trace.other_outputs,
        linear[1],
        relative_drift(after, kernel[:count]),
        parameter_norm(trace.network, network),
    )


doors(__name__, steps="[0, 1e7]", width="[1, 1e5]", step_size="[0, ∞)")
