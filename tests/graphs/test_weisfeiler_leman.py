"""Colour refinement and distances against definitions, linear programming, unrolled trees and whole enumerations."""

from collections import Counter
from fractions import Fraction
from itertools import combinations, pairwise, permutations
from math import inf

import networkx as nx
import numpy as np
import pytest
from scipy.optimize import linprog

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
from graph_deletion import bridges_by_deletion, pieces_without

pytestmark = pytest.mark.slow

TWO_TRIANGLES = nx.Graph([(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (0, 3)])
CHORDED_HEXAGON = nx.Graph([(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0), (0, 3)])
DISTANCES = {"1-WL": None, "shortest path": shortest_path_distances, "resistance": resistance_distances}


def bridge_labels(graphs):
    return {
        (i, frozenset(edge)): frozenset(edge) in found
        for i, graph in enumerate(graphs)
        for found in [bridges_by_deletion(graph)]
        for edge in graph.edges
    }


def cut_labels(graphs):
    return {(i, v): pieces_without(graph, v) > 1 for i, graph in enumerate(graphs) for v in graph}


def histogram(colours):
    return tuple(sorted(colours.values()))


def fractionally_isomorphic(first, second):
    """Whether a doubly stochastic S has A S = S B, which is what a tie of colour refinement means (Tinhofer)."""
    n = len(first)
    a, b, one = nx.to_numpy_array(first), nx.to_numpy_array(second), np.eye(n)
    rows = [np.kron(a, one) - np.kron(one, b.T), np.kron(one, np.ones((1, n))), np.kron(np.ones((1, n)), one)]
    right = np.concatenate([np.zeros(n * n), np.ones(2 * n)])
    return linprog(np.zeros(n * n), A_eq=np.vstack(rows), b_eq=right, method="highs").status == 0


def test_atlas_holds_every_graph_once():
    for n in range(1, 6):
        pairs = list(combinations(range(n), 2))
        relabellings = [[pairs.index(tuple(sorted((p[u], p[v])))) for u, v in pairs] for p in permutations(range(n))]
        canonical = {
            min(sum(1 << to for bit, to in enumerate(move) if code >> bit & 1) for move in relabellings)
            for code in range(1 << len(pairs))
        }
        ours = [graph for graph in graphs_up_to(n) if len(graph) == n]
        codes = {sum(1 << pairs.index(tuple(sorted(edge))) for edge in graph.edges) for graph in ours}
        forms = {min(sum(1 << to for b, to in enumerate(m) if code >> b & 1) for m in relabellings) for code in codes}
        assert len(ours) == len(canonical)
        assert forms == canonical
    assert Counter(len(graph) for graph in graphs_up_to(7)) == {1: 1, 2: 2, 3: 4, 4: 11, 5: 34, 6: 156, 7: 1044}
    connected = Counter(len(graph) for graph in graphs_up_to(7, connected=True))
    assert (connected[6], connected[7]) == (112, 853)


def test_shortest_paths_are_those_of_floyd_and_warshall():
    for graph in graphs_up_to(5):
        ours = shortest_path_distances(graph)
        other = nx.floyd_warshall(graph)
        assert all(ours[u][v] == other[u][v] for u in graph for v in graph)


def test_resistances_are_those_of_the_pseudoinverse():
    for graph in graphs_up_to(6)[::7]:
        ours = resistance_distances(graph)
        inverse = np.linalg.pinv(nx.laplacian_matrix(graph, nodelist=list(graph)).toarray().astype(float))
        place = {v: i for i, v in enumerate(graph)}
        for u in graph:
            for v in graph:
                i, j = place[u], place[v]
                if v in nx.node_connected_component(graph, u):
                    assert float(ours[u][v]) == pytest.approx(
                        inverse[i, i] + inverse[j, j] - 2 * inverse[i, j], abs=1e-9
                    )
                else:
                    assert ours[u][v] == inf


def test_resistances_known_exactly():
    cycle = resistance_distances(nx.cycle_graph(7))
    assert [cycle[0][k] for k in range(7)] == [Fraction(k * (7 - k), 7) for k in range(7)]
    tree = nx.from_prufer_sequence([3, 3, 1, 0, 5])
    assert resistance_distances(tree) == shortest_path_distances(tree)
    for graph in graphs_up_to(6, connected=True):
        resistances = resistance_distances(graph)
        # Foster: over the edges of a connected graph they add up to one less than its nodes.
        assert sum((resistances[u][v] for u, v in graph.edges), Fraction(0)) == len(graph) - 1


@pytest.mark.item("H3.8")
def test_colours_after_k_rounds_are_trees_of_depth_k():
    graphs = graphs_up_to(5)
    for depth in range(6):
        colours = node_colours(graphs, colour_refinement(graphs, rounds=depth))
        trees = {(i, v): computation_tree(graph, v, depth) for i, graph in enumerate(graphs) for v in graph}
        assert not mixed_colours(colours, trees)
        assert not mixed_colours(trees, colours)


@pytest.mark.item("H3.2")
@pytest.mark.parametrize("distance", DISTANCES.values(), ids=DISTANCES)
def test_refinement_refines_ignores_names_and_ends(distance):
    for graph in graphs_up_to(6)[::5]:
        renamed = nx.relabel_nodes(graph, dict(zip(graph, reversed(list(graph)), strict=True)))
        one, two = colour_refinement([graph, renamed], distance=distance).colours
        assert histogram(one) == histogram(two)
        assert colour_refinement([graph], distance=distance).rounds <= len(graph) - 1
        finer = [colour_refinement([graph], distance=distance, rounds=k).colours[0] for k in range(4)]
        for coarse, fine in pairwise(finer):
            assert not mixed_colours(fine, coarse)


@pytest.mark.item("H3.2")
def test_ties_are_fractional_isomorphisms():
    graphs = [graph for graph in graphs_up_to(6) if len(graph) == 6]
    colours = colour_refinement(graphs).colours
    compared = ties = 0
    for i, j in combinations(range(len(graphs)), 2):
        if sorted(dict(graphs[i].degree).values()) == sorted(dict(graphs[j].degree).values()):
            tie = histogram(colours[i]) == histogram(colours[j])
            assert tie == fractionally_isomorphic(graphs[i], graphs[j])
            compared, ties = compared + 1, ties + tie
    assert (compared > 50, ties) == (True, 4)


def test_trees_are_always_decided():
    trees = [tree for n in range(1, 10) for tree in nx.nonisomorphic_trees(n)]
    assert len({histogram(colours) for colours in colour_refinement(trees).colours}) == len(trees)


@pytest.mark.item("H3.6")
def test_smallest_graphs_in_which_colours_miss_a_bridge():
    small = graphs_up_to(5)
    colouring = colour_refinement(small)
    assert not mixed_colours(edge_colours(small, colouring), bridge_labels(small))
    assert not mixed_colours(node_colours(small, colouring), cut_labels(small))

    graphs = graphs_up_to(6)
    colouring = colour_refinement(graphs)
    (edges,) = mixed_colours(edge_colours(graphs, colouring), bridge_labels(graphs)).values()
    (nodes,) = mixed_colours(node_colours(graphs, colouring), cut_labels(graphs)).values()
    for bearers in (edges, nodes):
        assert nx.is_isomorphic(graphs[bearers[True][0]], TWO_TRIANGLES)
        assert nx.is_isomorphic(graphs[bearers[False][0]], CHORDED_HEXAGON)


@pytest.mark.item("H3.6")
def test_the_pair_ties_for_neighbours_and_not_for_distances():
    pair = [TWO_TRIANGLES, CHORDED_HEXAGON]
    tied = {
        name: histogram(one) == histogram(two)
        for name, distance in DISTANCES.items()
        for one, two in [colour_refinement(pair, distance=distance).colours]
    }
    assert tied == {"1-WL": True, "shortest path": False, "resistance": False}
    assert fractionally_isomorphic(*pair)
    assert computation_tree(pair[0], 0, 7) == computation_tree(pair[1], 0, 7)
    assert bridges_by_deletion(pair[0]) == {frozenset({0, 3})}
    assert bridges_by_deletion(pair[1]) == set()
    assert [pieces_without(graph, 0) for graph in pair] == [2, 1]


@pytest.mark.item("H3.7")
@pytest.mark.parametrize(
    ("name", "unidentified", "edges", "nodes"),
    [
        ("1-WL", (6, 34), (1, 1), (1, 5)),
        ("shortest path", (4, 24), (0, 0), (0, 1)),
        ("resistance", (0, 0), (0, 0), (0, 0)),
    ],
)
def test_what_each_distance_misses_among_connected_graphs(name, unidentified, edges, nodes):
    for k, n in enumerate((6, 7)):
        graphs = [graph for graph in graphs_up_to(n, connected=True) if len(graph) == n]
        colouring = colour_refinement(graphs, distance=DISTANCES[name])
        tied = Counter(histogram(colours) for colours in colouring.colours)
        assert sum(count for count in tied.values() if count > 1) == unidentified[k]
        assert len(mixed_colours(edge_colours(graphs, colouring), bridge_labels(graphs))) == edges[k]
        assert len(mixed_colours(node_colours(graphs, colouring), cut_labels(graphs))) == nodes[k]


def test_labels_are_guessed_from_the_first_of_a_colour():
    colours, labels = {"a": 1, "b": 1, "c": 2}, {"a": True, "b": False, "c": False}
    assert labels_by_colour(colours, labels) == {"a": True, "b": True, "c": False}
    assert mixed_colours(colours, labels) == {1: {True: "a", False: "b"}}


def test_the_atlas_ends_at_seven():
    with pytest.raises(ValueError, match=r"nodes must lie in \[1, 7\].*got 8"):
        graphs_up_to(8)
