"""Higher-order colour refinement: colours of pairs and triples of nodes, and what they tell that nodes cannot.

Reference: Cai, Fürer and Immerman 1992.
"""

from collections.abc import Sequence
from itertools import pairwise, product

import networkx as nx
import numpy as np
from jaxtyping import Int

from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import affordable
from deeptheory.graphs.refinement import distinct_views
from deeptheory.graphs.weisfeiler_leman import Colouring

__all__ = ["rook_graph", "shrikhande_graph", "tuple_refinement"]


def tuple_refinement(graphs: Sequence[nx.Graph], *, order: int = 2) -> Colouring:
    """Refine the colours of all ordered tuples of `order` nodes of several graphs together until no class splits.

    c(v₁, …, v_k) ← hash(c(v₁, …, v_k), {{(c(w, v₂, …), …, c(…, v_{k−1}, w)) : w ∈ V}}), from colours that say which
    entries are equal and which are joined. This is the folklore version, which tells as much as (k + 1)-dimensional
    Weisfeiler–Leman; order 1 would see all nodes and no edges, so that it starts at 2 (Cai, Fürer, Immerman 1992).
    Cost: n^(k+1) for each graph and round.
    """
    if not graphs or not all(len(graph) for graph in graphs):
        raise ValueError(
            f"graphs must be some, each with a node, got {len(graphs)}, with {[*map(len, graphs)]!s:.60} nodes"
        )
    affordable(views=(sum(len(graph) ** (order + 1) for graph in graphs), order))
    sizes = [len(graph) for graph in graphs]
    ends = np.cumsum([0, *(n**order for n in sizes)])
    starts = np.concatenate([[0], np.cumsum(np.repeat(sizes, np.diff(ends)))])
    colours = np.concatenate([_types(graph, order) for graph in graphs])
    views = np.concatenate([_replaced(n, order) + i for n, i in zip(sizes, ends[:-1], strict=True)])
    rounds, classes = -1, 0
    while (found := len(np.unique(colours))) > classes:
        rounds, classes, things = rounds + 1, found, np.zeros(len(views), int)
        for column in views.T:  # one by one, so that the numbers of pairs, triples, … stay small
            things = np.unique(things * (colours.max() + 1) + colours[column], return_inverse=True)[1]
        colours = distinct_views(colours, starts, things)
    keyed = []
    for graph, (i, j) in zip(graphs, pairwise(ends), strict=True):
        keyed.append(dict(zip(product(graph, repeat=order), colours[i:j].tolist(), strict=True)))
    return Colouring(keyed, rounds)


def _types(graph: nx.Graph, order: int) -> Int[np.ndarray, " tuples"]:
    """Isomorphism type of every tuple: for each two entries whether they are equal, joined or neither."""
    n = len(graph)
    relation = np.array([[2 * (u == v) + graph.has_edge(u, v) for v in graph] for u in graph])
    places = np.indices((n,) * order).reshape(order, -1)
    kinds = np.zeros(n**order, int)
    for i in range(order):
        for j in range(i):
            kinds = 4 * kinds + relation[places[i], places[j]]
    return kinds


def _replaced(n: int, order: int) -> Int[np.ndarray, "views order"]:
    """For every tuple and every node w the places of the tuples in which w stands for one entry."""
    tuples, places = np.arange(n**order), np.indices((n,) * order).reshape(order, -1)
    columns = []
    for i in range(order):
        weight = n ** (order - 1 - i)
        columns.append((tuples - places[i] * weight)[:, None] + weight * np.arange(n))
    return np.stack(columns, -1).reshape(-1, order)


def rook_graph() -> nx.Graph:
    """Return the 16 squares of a 4 × 4 board, joined where a rook moves: strongly regular with (16, 6, 2, 2).

    Reference: Shrikhande 1959.
    """
    return nx.convert_node_labels_to_integers(nx.line_graph(nx.complete_bipartite_graph(4, 4)))


def shrikhande_graph() -> nx.Graph:
    """Return the other strongly regular graph with (16, 6, 2, 2): ℤ₄ × ℤ₄, joined at ±(0, 1), ±(1, 0) and ±(1, 1).

    Pairs of nodes do not tell it from `rook_graph`, triples do. Reference: Shrikhande 1959.
    """
    graph = nx.empty_graph(16)
    for x, y in np.ndindex(4, 4):
        for dx, dy in ((0, 1), (1, 0), (1, 1)):
            graph.add_edge(4 * x + y, 4 * ((x + dx) % 4) + (y + dy) % 4)
    return graph


doors(__name__, order="[2, 4]")
