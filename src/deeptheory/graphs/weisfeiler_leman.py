"""Colour refinement on graphs, plain and with distances, and what its colours can and cannot tell.

One-dimensional Weisfeiler–Leman (1-WL) recolours a node by its own colour and the multiset of its neighbours' colours,
c(v) ← hash(c(v), {{c(u) : u ~ v}}); it bounds what a message-passing network can distinguish (handbook 3.2). The
generalised-distance version sees everyone and how far away they are, c(v) ← hash({{(d(v,u), c(u)) : u ∈ V}}) (Zhang,
Luo, Wang, He 2023).
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from math import inf
from typing import NamedTuple, TypeVar

import networkx as nx
import numpy as np

from deeptheory.foundations.entrances import doors
from deeptheory.graphs.refinement import Views, refine

Bearer = TypeVar("Bearer", bound=Hashable)
Colour = TypeVar("Colour", bound=Hashable)
Label = TypeVar("Label", bound=Hashable)
Distance = Callable[[nx.Graph], Mapping[Hashable, Mapping[Hashable, Hashable]]]

__all__ = [
    "Colouring",
    "best_accuracy",
    "colour_refinement",
    "computation_tree",
    "edge_colours",
    "graphs_up_to",
    "indistinguishable",
    "labels_by_colour",
    "mixed_colours",
    "node_colours",
    "resistance_distances",
    "shortest_path_distances",
    "views_of",
]


class Colouring(NamedTuple):
    """Colours of the nodes of several graphs from one shared table, and the rounds after which they stood still."""

    colours: list[dict[Hashable, int]]
    rounds: int


def graphs_up_to(nodes: int, *, connected: bool = False) -> list[nx.Graph]:
    """All graphs with 1 to `nodes` (at most 7) nodes, one of each isomorphism class, by nodes and then edges."""
    if not 1 <= nodes <= 7:
        raise ValueError(f"nodes must lie in [1, 7], the range of the graph atlas, got {nodes}")
    atlas = [graph for graph in nx.graph_atlas_g() if 1 <= len(graph) <= nodes]
    return [graph for graph in atlas if not connected or nx.is_connected(graph)]


def shortest_path_distances(graph: nx.Graph) -> dict[Hashable, dict[Hashable, int | float]]:
    """Number of edges on a shortest path between any two nodes, infinite between components."""
    reached = dict(nx.all_pairs_shortest_path_length(graph))
    return {v: {u: reached[v].get(u, inf) for u in graph} for v in graph}


def resistance_distances(graph: nx.Graph) -> dict[Hashable, dict[Hashable, Fraction | float]]:
    """Effective resistance between any two nodes with unit resistors on the edges, as exact fractions.

    R_uv = L⁺_uu + L⁺_vv − 2L⁺_uv with the Laplacian L; infinite between components. Any generalised inverse serves in
    place of L⁺, here the inverse of L with one node of the component grounded. Cost: n³ integer operations.
    """
    resistances: dict[Hashable, dict[Hashable, Fraction | float]] = {v: dict.fromkeys(graph, inf) for v in graph}
    for component in nx.connected_components(graph):
        ground, *others = component
        adjugate, determinant = _adjugate(
            [[graph.degree(v) if u == v else -int(graph.has_edge(u, v)) for u in others] for v in others]
        )
        for i, v in enumerate(others):
            resistances[v][ground] = resistances[ground][v] = Fraction(adjugate[i][i], determinant)
            for j, u in enumerate(others[:i]):
                sources = adjugate[i][i] + adjugate[j][j] - 2 * adjugate[i][j]
                resistances[v][u] = resistances[u][v] = Fraction(sources, determinant)
        for v in component:
            resistances[v][v] = Fraction(0)
    return resistances


def _adjugate(matrix: list[list[int]]) -> tuple[list[list[int]], int]:
    # Bareiss elimination stays in the integers; a positive definite matrix needs no pivoting.
    size = len(matrix)
    rows = [row + [int(i == j) for j in range(size)] for i, row in enumerate(matrix)]
    previous = 1
    for i in range(size):
        pivot = rows[i]
        for j in range(size):
            if j != i:
                factor = rows[j][i]
                rows[j] = [(pivot[i] * x - factor * y) // previous for x, y in zip(rows[j], pivot, strict=True)]
        previous = pivot[i]
    return [row[size:] for row in rows], previous


def views_of(graphs: Sequence[nx.Graph], *, distance: Distance | None = None) -> Views:
    """Number the nodes of several graphs through and list what each sees: its neighbours, or everyone by distance.

    With `distance` the label of an entry is the rank of its distance among all that occur, the same in all graphs.
    """
    seen, labels, degrees, total = [], [], [], 0
    for graph in graphs:
        numbers = {v: total + i for i, v in enumerate(graph)}
        rows = {v: dict.fromkeys(graph[v], 0) for v in graph} if distance is None else distance(graph)
        for v in graph:
            seen += [numbers[u] for u in rows[v]]
            labels += rows[v].values()
            degrees.append(len(rows[v]))
        total += len(graph)
    starts = np.cumsum([0, *degrees])
    if distance is None:
        return Views(starts, np.array(seen, int))
    ranks = {d: rank for rank, d in enumerate(sorted(set(labels)))}
    return Views(starts, np.array(seen, int), np.array([ranks[d] for d in labels], int))


def colour_refinement(
    graphs: Sequence[nx.Graph], *, distance: Distance | None = None, rounds: int | None = None
) -> Colouring:
    """Refine the colours of all nodes of several graphs together, until the partition stands still.

    Without `distance` this is 1-WL (handbook 3.2): all nodes start alike and look at their neighbours. With it, nodes
    look at every node of their graph and its distance. One table of colours serves all graphs, so equal numbers in
    different graphs mean equal colours. The stop is when the number of classes no longer grows, or after `rounds`.
    For graphs with many edges, as arrays, see `deeptheory.graphs.refinement`.
    """
    found = refine(views_of(graphs, distance=distance), rounds=rounds)
    ends = np.cumsum([0, *map(len, graphs)])
    colours = [
        dict(zip(graph, found.colours[i:j].tolist(), strict=True))
        for graph, (i, j) in zip(graphs, pairwise(ends), strict=True)
    ]
    return Colouring(colours, len(found.classes) - 1)


def indistinguishable(colouring: Colouring) -> list[list[int]]:
    """Positions of the graphs that share their colours, each as often, with another one: what the test cannot tell."""
    groups: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for place, colours in enumerate(colouring.colours):
        groups[tuple(sorted(colours.values()))].append(place)
    return [places for places in groups.values() if len(places) > 1]


def node_colours(graphs: Iterable[nx.Graph], colouring: Colouring) -> dict[tuple[int, Hashable], int]:
    """Colour of every node, keyed by (position of the graph, node)."""
    return {(i, v): colouring.colours[i][v] for i, graph in enumerate(graphs) for v in graph}


def edge_colours(graphs: Iterable[nx.Graph], colouring: Colouring) -> dict[tuple[int, frozenset], tuple[int, ...]]:
    """Unordered pair of end colours of every edge, keyed by (position of the graph, edge as a frozenset)."""
    return {
        (i, frozenset(edge)): tuple(sorted(colouring.colours[i][v] for v in edge))
        for i, graph in enumerate(graphs)
        for edge in graph.edges
    }


def mixed_colours(
    colours: Mapping[Bearer, Colour], labels: Mapping[Bearer, Label]
) -> dict[Colour, dict[Label, Bearer]]:
    """Colours whose bearers do not all carry the same label, with one bearer for each label: what colours cannot tell.

    Empty exactly when the label is a function of the colour.
    """
    found: dict[Colour, dict[Label, Bearer]] = defaultdict(dict)
    for bearer, colour in colours.items():
        found[colour].setdefault(labels[bearer], bearer)
    return {colour: bearers for colour, bearers in found.items() if len(bearers) > 1}


def best_accuracy(colours: Mapping[Bearer, Hashable], labels: Mapping[Bearer, Hashable]) -> float:
    """Share of bearers whose label is guessed by the best rule that knows colours only: the commonest label of each."""
    counts: dict[Hashable, Counter[Hashable]] = defaultdict(Counter)
    for bearer, colour in colours.items():
        counts[colour][labels[bearer]] += 1
    if not counts:
        raise ValueError("colours must have bearers, got none")
    return sum(max(count.values()) for count in counts.values()) / len(colours)


def labels_by_colour(colours: Mapping[Bearer, Colour], labels: Mapping[Bearer, Label]) -> dict[Bearer, Label]:
    """What one would answer for each bearer knowing its colour only: the label of the first bearer of that colour."""
    known: dict[Colour, Label] = {}
    return {bearer: known.setdefault(colour, labels[bearer]) for bearer, colour in colours.items()}


def computation_tree(graph: nx.Graph, node: Hashable, depth: int) -> tuple:
    """What message passing unrolls at a node in `depth` rounds, in canonical form: sorted nested tuples.

    Equal for two nodes exactly when their 1-WL colours agree after `depth` rounds (handbook 3.3.3). The size grows as
    the degree to the power of the depth.
    """
    if node not in graph:
        raise ValueError(f"node must be one of the graph's, got {node!r:.60}")
    if depth == 0:
        return ()
    return tuple(sorted(computation_tree(graph, u, depth - 1) for u in graph[node]))


doors(__name__, rounds="[0, 1e4]", depth="[0, 20]", nodes="[1, 7]")
