"""Message-passing networks: a node's state is updated by what its neighbours send, added up, averaged or maximised.

h_v ← tanh(h_v W + AGGREGATE{{h_u A : u seen by v}} + b), once for each layer (handbook 3.1). What a node sees are
`Views`, the same as those of colour refinement, so that the two can be compared node by node. Where entries carry
labels (distances), each label has its own matrix A, and the network sees what refinement with distances sees.

`widths` are those of the states, from the first on; `ensemble` are leading axes of networks drawn independently.

Reference: handbook 3.1; Gilmer et al. 2017; Xu, Hu, Leskovec and Jegelka 2019.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import affordable
from deeptheory.foundations.randomness import generator
from deeptheory.graphs.refinement import Views

__all__ = ["Aggregator", "Layer", "averaged", "greatest", "init_layers", "pass_messages", "summed"]

Messages = Float[AnyArray, "entries width"]
Places = Int[AnyArray, " entries"]
Aggregator = Callable[[Messages, Places, int], Float[Array, "places width"]]
"""(messages, place to which each goes, number of places) → one row a place; places without messages get zeros"""


class Layer(NamedTuple):
    """Weights of one layer: of a node's own state, of what it hears under each label, and a bias."""

    own: Float[AnyArray, "*ensemble _ _"]
    heard: Float[AnyArray, "*ensemble _ _ _"]
    bias: Float[AnyArray, "*ensemble _"]


def summed(messages: Messages, places: Places, count: int) -> Float[Array, "count width"]:
    """Add up the messages of each place: the only one of the three that counts them."""
    affordable(answer=(count, messages.shape[1]))
    return jax.ops.segment_sum(jnp.asarray(messages), places, count)


def averaged(messages: Messages, places: Places, count: int) -> Float[Array, "count width"]:
    """Average the messages of each place: tells their proportions, and not how many there are."""
    affordable(answer=(count, messages.shape[1]))
    numbers = jax.ops.segment_sum(jnp.ones(len(messages)), places, count)
    return summed(messages, places, count) / jnp.maximum(numbers, 1)[:, None]


def greatest(messages: Messages, places: Places, count: int) -> Float[Array, "count width"]:
    """Take the largest entry of the messages of each place: tells which occur, and not how often."""
    affordable(answer=(count, messages.shape[1]))
    largest = jax.ops.segment_max(jnp.asarray(messages), places, count)
    return jnp.where(jnp.isfinite(largest), largest, 0)


def init_layers(
    key: Key[Array, ""], widths: Sequence[int], *, labels: int = 1, ensemble: tuple[int, ...] = ()
) -> list[Layer]:
    """Draw normal weights of variance 1/(fan in), those of what is heard smaller by the number of labels."""
    rng = generator(key)
    return [
        Layer(
            rng.standard_normal((*ensemble, n, m)) / n**0.5,
            rng.standard_normal((*ensemble, labels, n, m)) / (n * labels) ** 0.5,
            0.1 * rng.standard_normal((*ensemble, m)),
        )
        for n, m in pairwise(widths)
    ]


def pass_messages(
    layers: Sequence[Layer],
    states: Float[AnyArray, "nodes in"],
    views: Views,
    *,
    aggregate: Aggregator = summed,
) -> list[Float[Array, "nodes _"]]:
    """Return the states of all nodes before the first layer and after each one (handbook 3.1).

    The states of a whole graph are `aggregate(states, graph of each node, number of graphs)`. Map over an ensemble of
    weights with `jax.vmap`, and wrap it in `jax.jit`. Every message is written out, one row for each of the two
    directions of an edge: memory is twice the edges times the width, so that graphs of some ten million edges at width
    16 fill a few gigabytes.
    """
    nodes = len(views.starts) - 1
    if len(states) != nodes:
        raise ValueError(f"states must have a row for each of {nodes} nodes, got {len(states)}")
    places = jnp.repeat(jnp.arange(nodes), jnp.diff(views.starts), total_repeat_length=len(views.seen))
    labels = np.zeros(len(views.seen), int) if views.labels is None else views.labels
    found = [jnp.asarray(states)]
    for layer in layers:
        if (width := found[-1].shape[1]) != len(layer.own):
            raise ValueError(f"states must have {len(layer.own)} entries a node for this layer, got {width}")
        spoken = jnp.einsum("ni,lio->lno", found[-1], layer.heard)
        heard = aggregate(spoken[labels, views.seen], places, nodes)
        found.append(jnp.tanh(found[-1] @ layer.own + heard + layer.bias))
    return found


doors(__name__, labels="[1, 1e4]", count="[1, ∞)")
