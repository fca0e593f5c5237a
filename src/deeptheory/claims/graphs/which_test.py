"""Which graphs each test tells apart: neighbours, distances, pairs and triples of nodes (handbook 3.2)."""

from dataclasses import replace

import jax
import networkx as nx
import numpy as np

from deeptheory.graphs.higher_order import rook_graph, shrikhande_graph, tuple_refinement
from deeptheory.graphs.message_passing import init_layers, pass_messages
from deeptheory.graphs.weisfeiler_leman import (
    colour_refinement,
    graphs_up_to,
    indistinguishable,
    resistance_distances,
    shortest_path_distances,
    views_of,
)
from deeptheory.lab import Exact, Identity, Trials, claim
from deeptheory.lab.pictures import Graph, HeatMap, Row, Stack

TESTS = {
    "neighbours": colour_refinement,
    "shortest paths": lambda graphs: colour_refinement(graphs, distance=shortest_path_distances),
    "resistances": lambda graphs: colour_refinement(graphs, distance=resistance_distances),
    "pairs of nodes": tuple_refinement,
    "triples of nodes": lambda graphs: tuple_refinement(graphs, order=3),
}
HEXAGON, TRIANGLES = nx.cycle_graph(6), nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3))
JOINED = nx.Graph([*TRIANGLES.edges, (0, 3)])
CHORDED = nx.Graph([*HEXAGON.edges, (0, 3)])
PAIRS = {
    "hexagon, two triangles": (HEXAGON, TRIANGLES),
    "these two with a chord": (CHORDED, JOINED),
    "rook and Shrikhande": (rook_graph(), shrikhande_graph()),
}
TOLD = [[0, 1, 1, 1, 1], [0, 1, 1, 1, 1], [0, 0, 0, 0, 1]]


VIEWS = views_of(PAIRS["hexagon, two triangles"])


@jax.jit
def readouts(layers, first):
    """What networks with these layers add up over the hexagon, and over the two triangles."""
    states = jax.vmap(lambda each: pass_messages(each, first, VIEWS)[-1])(layers)
    return states[:, :6].sum(1), states[:, 6:].sum(1)


def regular(nodes):
    """All regular graphs with up to so many nodes, with (nodes, degree) of each."""
    graphs = [graph for graph in graphs_up_to(nodes) if len({d for _, d in graph.degree}) == 1]
    return graphs, [(len(graph), graph.degree(next(iter(graph)))) for graph in graphs]


@claim(
    items={"H3.4": ("hexagon and two triangles in random networks", "which test tells which pair", "regular graphs")},
    says="No message passing tells a hexagon from two triangles, or any two regular graphs of one size and degree. "
    "Distances do, but not the two strongly regular graphs with 16 nodes and degree 6, which also pairs of nodes "
    "confuse; triples tell these apart.",
    needs="nodes carry no features; regular graphs with up to seven nodes; networks with three layers that add up",
    symbols={
        r"\text{regular}": "all nodes have equally many neighbours",
        r"\text{strongly regular}": "so do any two joined nodes in common, and any two that are not joined",
        r"\text{pairs, triples of nodes}": "colours of ordered pairs or triples, refined by replacing one entry",
    },
    why="In a regular graph all nodes start alike and see equally many others of the same colour, so that they stay "
    "alike for ever: only size and degree are seen. A node of the hexagon is up to three steps away from the others, "
    "one of a triangle never reaches three of them, and distances show that. In a strongly regular graph distances, "
    "resistances and the colours of pairs depend on nothing but whether two nodes are joined. Triples see more: the "
    "six neighbours of a node form a cycle in Shrikhande's graph, and two triangles in the rook's.",
    notice="Above, the two graphs: each node has two neighbours, and stays in one colour. Below, dark where a test "
    "tells the pair apart. No column is dark throughout but the last.",
)
def what_each_test_tells(key, *, marked: bool = False, networks: Trials = 16):
    first = np.ones((12, 1))
    first[0] += marked
    hexagon, triangles = np.asarray(readouts(init_layers(key, [1, 8, 8, 8], ensemble=(networks,)), first))
    graphs, sorts = regular(7)
    colours = [tuple(sorted(each.values())) for each in colour_refinement(graphs).colours]
    return {
        "hexagon and two triangles in random networks": Identity(hexagon, triangles, scale=6.0, size=36),
        "which test tells which pair": Exact(
            [[int(not indistinguishable(test(pair))) for test in TESTS.values()] for pair in PAIRS.values()],
            TOLD,
            along={"pair": list(PAIRS), "test": list(TESTS)},
        ),
        "regular graphs": Exact(
            [len(set(colours)), len({colour for each in colours for colour in each})],
            [len(set(sorts)), len({degree for _, degree in sorts})],
            aside={"graphs": [len(graphs), len(set(sorts))]},
        ),
    }


what_each_test_tells.control("one node is marked", of="hexagon and two triangles in random networks", marked=True)


@what_each_test_tells.control("resistances tell all pairs that triples tell", of="which test tells which pair")
def resistances_suffice(evidence):
    rival = np.array(evidence.right)
    rival[:, 2] = rival[:, 4]
    return replace(evidence, right=rival)


@what_each_test_tells.control("refinement tells regular graphs apart by themselves", of="regular graphs")
def all_of_them(evidence):
    return replace(evidence, right=np.asarray(evidence.aside["graphs"]))


@what_each_test_tells.picture
def hexagon_and_triangles(pieces):
    """A hexagon and two triangles in the one colour that refinement gives their nodes; what each test tells apart."""
    piece = pieces["which test tells which pair"]
    turn = np.exp(2j * np.pi * np.arange(6) / 6)
    apart = np.concatenate([0.5 * turn[::2] - 0.8, 0.5 * turn[::2] + 0.8])
    shown = [
        Graph(
            np.stack([np.real(places), np.imag(places)], 1),
            list(graph.edges),
            kinds=["the only colour"] * 6,
            title=title,
        )
        for graph, places, title in ((HEXAGON, turn, "hexagon"), (TRIANGLES, apart, "two triangles"))
    ]
    table = HeatMap(
        piece.left,
        list(piece.along["pair"]),
        list(piece.along["test"]),
        x="what is coloured or seen",
        value="told apart",
    )
    return Stack([Row(shown), table])
