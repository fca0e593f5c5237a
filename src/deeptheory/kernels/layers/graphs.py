"""Graph networks for `limit_kernel`: what a node hears, and the network whose tangent kernel is the GNTK.

Reference: Du et al. 2019, Graph neural tangent kernel; arora 9.5.
"""

from collections.abc import Sequence
from math import sqrt

import numpy as np
from jaxtyping import Float

from deeptheory.foundations.entrances import doors
from deeptheory.kernels.layers.activations import Activation, Relu
from deeptheory.kernels.layers.combinators import Serial, serial
from deeptheory.kernels.layers.dense import Dense
from deeptheory.kernels.layers.pooling import GlobalPool
from deeptheory.kernels.layers.positions import Aggregate

__all__ = ["closed_neighbourhoods", "graph_network", "padded_graphs"]

RELU = Relu()


def closed_neighbourhoods(
    adjacency: Float[np.ndarray, "*graphs n n"], *, average: bool = False
) -> Float[np.ndarray, "*graphs n n"]:
    """Return the pattern for `Aggregate` by which each node sums, or averages, itself and its neighbours: A + I.

    Entry [tail, head] is what the head hears of the tail. Nodes without edges are left as they are.
    """
    pattern = adjacency + np.eye(adjacency.shape[-1])
    return pattern / pattern.sum(axis=-2, keepdims=True) if average else pattern


def padded_graphs(
    features: Sequence[Float[np.ndarray, "_ d"]], adjacencies: Sequence[Float[np.ndarray, "_ _"]]
) -> tuple[Float[np.ndarray, "graphs n d"], Float[np.ndarray, "graphs n n"]]:
    """Put graphs of different sizes into one array, with nodes that have no edge and the feature zero.

    They stay zero in a network without biases whose activation vanishes at 0, and add nothing to a sum over nodes.
    """
    if len(features) != len(adjacencies) or any(len(f) != len(a) for f, a in zip(features, adjacencies, strict=False)):
        raise ValueError("every graph needs an adjacency matrix with one row for each row of its features")
    size = max(len(each) for each in features)
    wide = [np.pad(each, ((0, size - len(each)), (0, 0))) for each in features]
    square = [np.pad(each, (0, size - len(each))) for each in adjacencies]
    return np.stack(wide).astype(float), np.stack(square).astype(float)


def graph_network(
    *, blocks: int, layers: int = 1, width: int = 1, activation: Activation = RELU, weight_scale: float = sqrt(2)
) -> Serial:
    """Return the network of the graph tangent kernel: blocks of aggregation and dense layers, then a sum over nodes.

    Each block aggregates by the pattern given to `limit_kernel` and applies `layers` times σ(√(c/m) W·), c =
    weight_scale²; nodes are summed and read out linearly (Du et al. 2019; arora 9.5). At infinite width, with K and Θ
    between all pairs of nodes: aggregation P takes both to PᵀKP, a layer takes K to c E[σσ′] and Θ to c Θ E[σ̇σ̇′]
    plus the new K; the kernel of two graphs is the sum over all pairs of nodes.
    """
    block = (Aggregate(), *(Dense(width, weight_scale), activation) * layers)
    return serial(*block * blocks, GlobalPool(False), Dense(1))


doors(__name__, blocks="[1, 1000]", layers="[1, 1000]", width="[1, 1e7]")
