"""Networks that flag edges of graphs: message passing, then a rule on the states of both ends; and their training.

Reference: handbook 3.1 and 3.3; Zhang, Luo, Wang and He 2023, Rethinking the expressive power of GNNs via graph
biconnectivity.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Bool, Float, Int, Key

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.margin_losses import logistic_loss
from deeptheory.foundations.randomness import generator
from deeptheory.foundations.training import trained
from deeptheory.graphs.message_passing import Layer, init_layers, pass_messages
from deeptheory.graphs.refinement import Views

__all__ = ["EdgeFlags", "edge_scores", "init_edge_flags", "train_edge_flags"]


class EdgeFlags(NamedTuple):
    """Layers of message passing, and a hidden layer and weights that score an edge by what its ends have in sum."""

    layers: list[Layer]
    hidden: Float[AnyArray, "*ensemble width width"]
    bias: Float[AnyArray, "*ensemble width"]
    out: Float[AnyArray, "*ensemble width"]


def init_edge_flags(
    key: Key[Array, ""], *, width: int = 16, depth: int = 3, labels: int = 1, ensemble: tuple[int, ...] = ()
) -> EdgeFlags:
    """Draw a network that starts from one constant feature a node; `labels` is the number of kinds of views."""
    first, second = jax.random.split(key)
    rng = generator(second)
    return EdgeFlags(
        init_layers(first, [1] + [width] * depth, labels=labels, ensemble=ensemble),
        rng.standard_normal((*ensemble, width, width)) / width**0.5,
        np.zeros((*ensemble, width)),
        rng.standard_normal((*ensemble, width)) / width**0.5,
    )


def edge_scores(network: EdgeFlags, views: Views, edges: Int[AnyArray, "edges 2"]) -> Float[Array, " edges"]:
    """Score every edge, above zero where it is flagged; symmetric in its ends."""
    states = pass_messages(network.layers, np.ones((len(views.starts) - 1, 1)), views)[-1]
    both = states[edges[:, 0]] + states[edges[:, 1]]
    return jnp.tanh(both @ network.hidden + network.bias) @ network.out


def train_edge_flags(
    network: EdgeFlags,
    views: Views,
    edges: Int[np.ndarray, "edges 2"],
    flags: Bool[np.ndarray, " edges"],
    *,
    steps: int = 500,
    step_size: float = 0.01,
) -> tuple[EdgeFlags, Float[Array, "steps *ensemble"]]:
    """Train an ensemble of networks by Adam on all edges at once; returns them and the losses before each step.

    The loss is the mean cross entropy with both classes weighted alike, so that rare bridges count. Every array of
    `network` has one leading axis, one network for each entry.
    """
    if not 0 < np.count_nonzero(flags) < flags.size:
        raise ValueError(f"flags must hold both true and false, got {np.count_nonzero(flags)} true of {flags.size}")
    weights = np.where(flags, 0.5 / flags.sum(), 0.5 / (~flags).sum())
    signs = np.where(flags, 1.0, -1.0)
    return _descended(jax.tree.map(jnp.asarray, network), views, edges, weights * signs, step_size, steps)


@partial(jax.jit, static_argnames="steps")
def _descended(network, views, edges, weights, step_size, steps):
    def loss(each):
        return jnp.abs(weights) @ logistic_loss(jnp.sign(weights) * edge_scores(each, views, edges))

    descend = jax.vmap(lambda each: trained(loss, optax.adam(step_size), each, steps=steps), out_axes=(0, 1))
    return descend(network)


doors(__name__, width="[1, 4096]", depth="[1, 64]", labels="[1, 1e4]", steps="[1, 1e6]", step_size="(0, ∞)")
