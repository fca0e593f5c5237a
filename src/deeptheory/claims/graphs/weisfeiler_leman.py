"""Bridges and cut vertices: invisible to colour refinement, visible to it with distances (handbook 3.3)."""

from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Annotated, Literal

import networkx as nx
import numpy as np
from annotated_types import Interval

from deeptheory.graphs.biconnectivity import block_counts, bridges
from deeptheory.graphs.weisfeiler_leman import (
    colour_refinement,
    computation_tree,
    edge_colours,
    graphs_up_to,
    labels_by_colour,
    mixed_colours,
    node_colours,
    resistance_distances,
    shortest_path_distances,
)
from deeptheory.lab import Counterexample, Exact, claim
from deeptheory.lab.pictures import Curves, Dots, Graph, Line, Row, Stack

DISTANCES = {"neighbours": None, "shortest paths": shortest_path_distances, "resistances": resistance_distances}
Sight = Literal["neighbours", "shortest paths", "resistances"]


def bridge_labels(graphs):
    """Whether each edge is a bridge, keyed as `edge_colours` keys edges."""
    found = [bridges(graph) for graph in graphs]
    return {(i, frozenset(e)): frozenset(e) in found[i] for i, graph in enumerate(graphs) for e in graph.edges}


def cut_labels(graphs):
    """Whether each node is a cut vertex, that is in two blocks or more, keyed as `node_colours` keys nodes."""
    return {(i, v): blocks > 1 for i, graph in enumerate(graphs) for v, blocks in block_counts(graph).items()}


# What a node of a graph with six nodes may see: up to five neighbours with up to five colours.
MULTISETS = [each for size in range(6) for each in combinations_with_replacement(range(1, 6), size)]


def numbered(names):
    """Names replaced by their order of first appearance: equal lists of numbers are equal partitions."""
    order = {}
    return [order.setdefault(name, len(order)) for name in names]


@claim(
    items={
        "H3.6": (
            "smallest failures",
            "graphs that are confused",
            "colours in two graphs",
            "colours by walks",
            "graphs unrolled into trees",
            "a pair of graphs",
            "sums that tell multisets apart",
        )
    },
    says="Colour refinement, and with it every message-passing network, misses bridges and cut vertices: two "
    "triangles joined by a bridge look to it like a hexagon with a long chord. Of all graphs with up to six nodes "
    "only these two are so confused.",
    needs="nodes carry no features and see the multiset of their neighbours",
    symbols={
        r"k": "the number of rounds of refinement, or of layers of the network",
        r"c": "a colour, as a whole number",
        r"6^c": "the number that stands for colour $c$, so that no colour occurs as often as the next one weighs",
    },
    why="A node's colour after a round is decided by its own colour and the multiset of its neighbours' colours, so "
    "nodes share a colour after $k$ rounds exactly when their neighbourhoods unroll to the same tree of depth $k$. In "
    "both graphs a node with three neighbours sees one like itself and two with two neighbours, and each of those sees "
    "one of either kind. The trees are then equal to any depth, whatever the network adds up, although an edge that a "
    "tree cannot tell from others separates one graph and not the other. Adding up is not what loses it: sums tell "
    "multisets of up to five colours apart once colour $c$ is written as $6^c$.",
    notice="Each node has a twin of its own colour in the other graph, with neighbours of the same colours. Only the "
    "left graph falls apart when the edge in the middle is cut. Let nodes see shortest-path or resistance distances "
    "instead, and the twins get different colours.",
    explore={"sees": ("neighbours", "shortest paths", "resistances")},
)
def colour_refinement_misses_bridges(*, sees: Sight = "neighbours"):
    graphs = graphs_up_to(6)
    missed = []
    for n in range(1, 7):
        small = [graph for graph in graphs if len(graph) <= n]
        colouring = colour_refinement(small, distance=DISTANCES[sees])
        edges = mixed_colours(edge_colours(small, colouring), bridge_labels(small))
        nodes = mixed_colours(node_colours(small, colouring), cut_labels(small))
        missed.append([len(edges), len(nodes)])

    colouring = colour_refinement(graphs)
    by_edge, by_node = edge_colours(graphs, colouring), node_colours(graphs, colouring)
    mixed, mixed_nodes = mixed_colours(by_edge, bridge_labels(graphs)), mixed_colours(by_node, cut_labels(graphs))
    confused = {i for (i, _), colour in by_edge.items() if colour in mixed}
    confused_nodes = {i for (i, _), colour in by_node.items() if colour in mixed_nodes}
    found = next(iter(mixed.values()))
    pair = [graphs[found[has_bridge][0]] for has_bridge in (True, False)]
    colours = [sorted(each.values()) for each in colour_refinement(pair, distance=DISTANCES[sees]).colours]
    trees = [sorted(str(computation_tree(graph, v, 6)) for v in graph) for graph in pair]
    counts = [len(bridges(graph)) for graph in pair]

    small = graphs_up_to(5)
    unrolled, rounds = [], np.arange(6)
    for depth in rounds.tolist():
        after = colour_refinement(small, distance=DISTANCES[sees], rounds=depth)
        unrolled.append([computation_tree(graph, v, depth) for graph in small for v in graph])
        unrolled.append(list(node_colours(small, after).values()))
    return {
        "smallest failures": Exact(
            missed,
            [[0, 0]] * 5 + [[1, 1]],
            along={
                "nodes up to": np.arange(1, 7),
                "colours that mix": ["bridges and other edges", "cut and other nodes"],
            },
        ),
        "graphs that are confused": Exact(
            [len(confused), len(confused_nodes), len(confused | confused_nodes)], [2, 2, 2]
        ),
        "colours in two graphs": Exact(*colours, along={"node": np.arange(6)}),
        "colours by walks": Exact(*trees, along={"node": np.arange(6)}),
        "graphs unrolled into trees": Exact(
            [numbered(each) for each in unrolled[::2]], [numbered(each) for each in unrolled[1::2]]
        ),
        "a pair of graphs": Counterexample(
            instance={name: np.array(graph.edges) for name, graph in zip(("with", "without"), pair, strict=True)},
            quantity=counts[0],
            bound=counts[1],
            violated=trees[0] == trees[1] and counts[0] > counts[1],
            how="bridges of two graphs whose nodes unroll to the same trees",
        ),
        "sums that tell multisets apart": Exact(
            len({sum(6**colour for colour in each) for each in MULTISETS}), len(MULTISETS)
        ),
    }


@colour_refinement_misses_bridges.control(
    "injective sums find every bridge, as printed", erratum="H3.6a", of="smallest failures"
)
def nothing_missed(evidence):
    return replace(evidence, right=np.zeros_like(evidence.right))


@colour_refinement_misses_bridges.control("plain sums tell multisets apart", of="sums that tell multisets apart")
def plain_sums(evidence):
    return replace(evidence, left=len({sum(each) for each in MULTISETS}))


colour_refinement_misses_bridges.control(
    "the pair ties for shortest-path distances too", of="colours in two graphs", sees="shortest paths"
)
colour_refinement_misses_bridges.control(
    "the pair ties for resistance distances too", of="colours in two graphs", sees="resistances"
)


@colour_refinement_misses_bridges.picture
def confused_pair(pieces, settings):
    """Two triangles with a bridge and a hexagon with a chord, in their final colours; and how many colours mix."""
    found = pieces["smallest failures"]
    pair = [nx.Graph(pieces["a pair of graphs"].instance[name].tolist()) for name in ("with", "without")]
    nodes, mixed = found.along["nodes up to"], np.asarray(found.left)[:, 0]
    marks = [
        Line("bridges and other edges", nodes, mixed),
        Dots("bridges and other edges", nodes, mixed),
        Line("", nodes, np.zeros(len(nodes)), rival="every bridge found, as printed"),
    ]
    return Stack(
        [
            coloured(pair, settings["sees"]),
            Curves(marks, x="nodes of a graph, up to", y="colours that mix", ys=(-0.1, 1.2)),
        ]
    )


def coloured(pair, sees):
    """Two triangles joined by a bridge and a hexagon with a chord, drawn in their common colours."""
    colours = colour_refinement(pair, distance=DISTANCES[sees]).colours
    order = {colour: place for place, colour in enumerate(sorted({c for each in colours for c in each.values()}), 1)}
    shown = []
    for graph, own, title in zip(pair, colours, ("two triangles and a bridge", "a hexagon and a chord"), strict=True):
        where, cut = nx.kamada_kawai_layout(graph), bridges(graph)
        names = {v: place for place, v in enumerate(graph)}
        shown.append(
            Graph(
                [where[v] for v in graph],
                [(names[u], names[v]) for u, v in graph.edges],
                kinds=[f"colour {order[own[v]]}" for v in graph],
                edge_kinds=["bridge" if {u, v} in cut else "other edge" for u, v in graph.edges],
                labels=[str(order[own[v]]) for v in graph],
                title=title,
            )
        )
    return Row(shown)


def shuffled(graph):
    """The same graph with its nodes in other places: those at odd places come first."""
    names = dict(zip([*list(graph)[1::2], *list(graph)[::2]], graph, strict=True))
    copy = nx.empty_graph(graph)
    copy.add_edges_from((names[u], names[v]) for u, v in graph.edges)
    return copy


def rationals(rows):
    """Square tables of distances as one list of the nearest fractions that up to five nodes can have, −1 for infinity.

    Denominators of resistances divide the number of spanning trees, at most 5³.
    """
    numbers = [number for table in rows for row in table for number in row]
    return np.array([Fraction(-1) if x == np.inf else Fraction(x).limit_denominator(5**3) for x in numbers])


def other_routes(graphs):
    """Both distances by other algorithms, and Foster's sum of the resistances of all edges."""
    hops, resistances = ([way(graph) for graph in graphs] for way in (shortest_path_distances, resistance_distances))
    walks, inverses = [nx.floyd_warshall_numpy(graph) for graph in graphs], []
    for graph, walk in zip(graphs, walks, strict=True):
        adjacency = nx.to_numpy_array(graph)
        inverse = np.linalg.pinv(np.diag(adjacency.sum(0)) - adjacency, hermitian=True)
        own = np.diag(inverse)
        inverses.append(np.where(np.isinf(walk), np.inf, own[:, None] + own - 2 * inverse))

    def same(ours, theirs):
        rows = [[[row[u] for u in graph] for row in far.values()] for graph, far in zip(graphs, ours, strict=True)]
        return Exact(rationals(rows), rationals(theirs))

    sums = [sum(far[u][v] for u, v in graph.edges) for graph, far in zip(graphs, resistances, strict=True)]
    joined = [len(graph) - nx.number_connected_components(graph) for graph in graphs]
    return {
        "path lengths by another route": same(hops, walks),
        "resistances by another route": same(resistances, inverses),
        "sum of all resistances": Exact(sums, joined),
    }


@claim(
    items={
        "H3.7": (
            "bridges",
            "cut vertices",
            "bridges and cut vertices by definition",
            "names do not matter",
            "path lengths by another route",
            "resistances by another route",
            "sum of all resistances",
        )
    },
    says="On all graphs with up to seven nodes, refined together, colours by shortest-path distances tell every "
    "bridge from every other edge, and colours by resistance distances every cut vertex from every other node.",
    needs="distances are exact; infinite between components",
    symbols={
        r"\text{colour}": (
            "what a node has heard of the others after rounds of refinement: the colours of all, each with its distance"
        ),
        r"\text{bridge, cut vertex}": "an edge, or a node, without which its component falls apart",
        r"\text{resistance distance}": "the resistance between two nodes when every edge is a resistor of one ohm",
    },
    why=r"A node that sees how far away all others are knows much more than its neighbours. A bridge parts the nodes "
    r"into those nearer to one end and those nearer to the other, with no further edge between them. Resistances fall "
    r"with every further path, and that from $u$ to $v$ is the sum of those to $w$ and from it exactly if all paths "
    r"go through $w$, which is then a cut vertex; lengths of shortest paths add up at other nodes as well. That "
    r"colours can use this in every graph is a theorem of Zhang, Luo, Wang and He; here it is enumerated. Up to five "
    r"nodes it is also seen that their names do not matter, and that the resistances of all edges add up to nodes "
    r"less components, as Foster found.",
    notice="Plain refinement gives the twins in these two graphs one colour. With distances they have different ones, "
    "left and right, and the bridge joins two nodes of a colour that no other edge joins.",
)
def distance_colours_show_bridges(
    *,
    nodes: Annotated[int, Interval(ge=2, le=7)] = 7,
    bridges_by: Sight = "shortest paths",
    cuts_by: Sight = "resistances",
):
    graphs = graphs_up_to(nodes)
    colourings = {sight: colour_refinement(graphs, distance=DISTANCES[sight]) for sight in {bridges_by, cuts_by}}

    def told(colours, labels):
        guessed = labels_by_colour(colours, labels)
        return Exact(np.array([guessed[each] for each in colours]), np.array([labels[each] for each in colours]))

    # A finer colouring tells more, be it nonsense: so colours must not see names, nor distances be anything else.
    few = [graph for graph in graphs if len(graph) < 6]
    edges, cuts = bridge_labels(few), cut_labels(few)
    chains = [set(map(frozenset, nx.bridges(graph))) for graph in few]
    points = [set(nx.articulation_points(graph)) for graph in few]
    named, renamed = [], []
    for distance in (DISTANCES[bridges_by], DISTANCES[cuts_by]):
        colours = colour_refinement(few + list(map(shuffled, few)), distance=distance).colours
        named += [colour for each in colours[: len(few)] for colour in sorted(each.values())]
        renamed += [colour for each in colours[len(few) :] for colour in sorted(each.values())]
    return {
        "bridges": told(edge_colours(graphs, colourings[bridges_by]), bridge_labels(graphs)),
        "cut vertices": told(node_colours(graphs, colourings[cuts_by]), cut_labels(graphs)),
        "bridges and cut vertices by definition": Exact(
            np.array([*edges.values(), *cuts.values()]),
            np.array([*(edge in chains[i] for i, edge in edges), *(v in points[i] for i, v in cuts)]),
        ),
        "names do not matter": Exact(named, renamed),
        **other_routes(few),
    }


distance_colours_show_bridges.control(
    "neighbours are enough for bridges", of="bridges", nodes=6, bridges_by="neighbours", cuts_by="neighbours"
)
distance_colours_show_bridges.control(
    "shortest paths are enough for cut vertices", of="cut vertices", cuts_by="shortest paths"
)


@distance_colours_show_bridges.picture
def told_apart(pieces, settings):
    """The two smallest graphs that plain refinement confuses, in the colours of refinement with distances."""
    triangles = [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (0, 3)]
    hexagon = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0), (0, 3)]
    return coloured([nx.Graph(triangles), nx.Graph(hexagon)], settings["bridges_by"])
