"""A recurrent network that learns parities, told the last answer only or the answer after every step (handbook 14.3.1).

h_t = tanh(W h_{t−1} + u x_t + b), and the sign of v·h_t + c says the parity of the bits so far. Network, examples and
optimizer are the same in both cases; only how many of the answers count in the loss differs.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Bool, Float, Key

from deeptheory.foundations.entrances import doors
from deeptheory.foundations.randomness import generator

__all__ = ["Recurrent", "all_bits", "answers", "init_recurrent", "running_parity", "train_recurrent"]


class Recurrent(NamedTuple):
    """Weights of the recurrent cell and of its answer."""

    again: Float[Array | np.ndarray, "*ensemble width width"]
    reads: Float[Array | np.ndarray, "*ensemble width"]
    bias: Float[Array | np.ndarray, "*ensemble width"]
    says: Float[Array | np.ndarray, "*ensemble width"]
    offset: Float[Array | np.ndarray, "*ensemble"]


def init_recurrent(key: Key[Array, ""], *, width: int = 16, ensemble: tuple[int, ...] = ()) -> Recurrent:
    """Draw normal weights, those of the state of variance 1/width, so that it neither dies nor explodes at first."""
    rng = generator(key)
    return Recurrent(
        rng.standard_normal((*ensemble, width, width)) / width**0.5,
        rng.standard_normal((*ensemble, width)),
        0.1 * rng.standard_normal((*ensemble, width)),
        rng.standard_normal((*ensemble, width)) / width**0.5,
        np.zeros(ensemble),
    )


def all_bits(length: int) -> Bool[np.ndarray, "count length"]:
    """Return all strings of so many bits."""
    return (np.arange(2**length)[:, None] >> np.arange(length) & 1).astype(bool)


def running_parity(bits: Bool[np.ndarray, "n length"]) -> Bool[np.ndarray, "n length"]:
    """Return after each bit whether an odd number of them was true so far: the intermediate answers."""
    return np.cumsum(bits, axis=-1) % 2 == 1


def answers(network: Recurrent, bits: Bool[Array | np.ndarray, "n length"]) -> Float[Array, "n length"]:
    """Return the network's answer after each bit, above zero for odd."""
    signs = jnp.where(jnp.asarray(bits), 1.0, -1.0)

    def step(state, sign):
        state = jnp.tanh(state @ network.again.T + sign[:, None] * network.reads + network.bias)
        return state, state @ network.says + network.offset

    _, said = jax.lax.scan(step, jnp.zeros((len(signs), network.reads.shape[-1])), signs.T)
    return said.T


def train_recurrent(
    network: Recurrent,
    bits: Bool[np.ndarray, "n length"],
    *,
    told: Float[np.ndarray, "networks length"],
    steps: int = 300,
    step_size: float = 0.02,
) -> tuple[Recurrent, Float[Array, "steps *ensemble"]]:
    """Train an ensemble by Adam on all examples at once; returns the networks and the losses before each step.

    `told` weighs for each network the cross entropy of the answer after each bit: all alike for supervision of the
    steps, only the last for that of the answer. Every array of `network` has one leading axis, as long as `told`.
    """
    if told.min() < 0 or told.sum(1).min() <= 0:
        raise ValueError(f"told must be weights from 0 on, not all zero, got a least one of {told.min():.3g}")
    if len(told) != len(network.reads):
        raise ValueError(f"told must have a row for each of {len(network.reads)} networks, got {len(told)}")
    weights = jnp.asarray(told / told.sum(1, keepdims=True))
    signs = np.where(running_parity(bits), 1.0, -1.0)
    return _descended(jax.tree.map(jnp.asarray, network), weights, bits, signs, step_size, steps)


@partial(jax.jit, static_argnames="steps")
def _descended(network, weights, bits, signs, step_size, steps):
    optimizer = optax.adam(step_size)

    def loss(each, weights):
        return jnp.mean(jax.nn.softplus(-signs * answers(each, bits)) @ weights)

    def descend(each, weights):
        def step(state, _):
            each, memory = state
            value, slope = jax.value_and_grad(loss)(each, weights)
            update, memory = optimizer.update(slope, memory)
            return (optax.apply_updates(each, update), memory), value

        (each, _), losses = jax.lax.scan(step, (each, optimizer.init(each)), length=steps)
        return each, losses

    return jax.vmap(descend, out_axes=(0, 1))(network, weights)


doors(__name__, width="[1, 4096]", length="[1, 20]", steps="[1, 1e5]", step_size="(0, ∞)")
