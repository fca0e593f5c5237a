"""Refinement on arrays of edges against dictionaries of sorted tuples, and against networkx's hashes."""

import warnings

import networkx as nx
import numpy as np
import pytest

from deeptheory.graphs import refinement
from deeptheory.graphs.refinement import Views, distinct_views, neighbour_views, refine


def by_dictionary(edges, nodes, start, rounds):
    colours = list(start)
    for _ in range(rounds):
        table = {}
        seen = [[] for _ in range(nodes)]
        for one, other in edges:
            seen[one].append(colours[other])
            seen[other].append(colours[one])
        colours = [table.setdefault((own, *sorted(each)), len(table)) for own, each in zip(colours, seen, strict=True)]
    return colours


@pytest.mark.item("H3.2")
@pytest.mark.parametrize("seed", range(6))
def test_colours_are_those_of_a_dictionary(seed):
    draw = np.random.default_rng(seed)
    nodes = 40
    edges = draw.integers(nodes, size=(30 + 10 * seed, 2))  # with loops, parallel edges and lonely nodes
    start = draw.integers(3, size=nodes) if seed % 2 else np.zeros(nodes, int)
    for rounds in range(1, 5):
        found = refine(neighbour_views(edges, nodes), start=start, rounds=rounds)
        assert found.colours.tolist() == by_dictionary(edges.tolist(), nodes, start.tolist(), rounds)
        assert found.classes[-1] == len(set(found.colours.tolist()))


@pytest.mark.item("H3.2")
def test_as_many_classes_after_each_round_as_networkx_has_hashes():
    graph = nx.gnm_random_graph(300, 500, seed=3)
    found = refine(neighbour_views(np.array(graph.edges), 300), rounds=4)
    with warnings.catch_warnings(action="ignore"):
        hashes = nx.weisfeiler_lehman_subgraph_hashes(graph, iterations=4)
    assert found.classes == [1, *(len(set(each)) for each in zip(*hashes.values(), strict=True))]


def test_an_empty_graph_and_one_without_edges():
    none = np.zeros((0, 2), int)
    assert refine(neighbour_views(none, 3)) == (pytest.approx([0, 0, 0]), [1])
    assert refine(neighbour_views(none, 0)).classes == [0]


def test_labels_are_seen():
    path = Views(np.array([0, 1, 3, 4]), np.array([1, 0, 2, 1]), np.array([0, 0, 1, 1]))
    assert refine(path).classes[-1] == 3
    assert refine(path._replace(labels=None)).classes[-1] == 2


def test_numbers_that_collide_are_drawn_again(monkeypatch):
    """With equal numbers for all things multisets of one size have one sum; comparing them finds that out."""

    class Unlucky:
        def __init__(self, seed):
            self.good, self.drawn = np.random.Generator(np.random.PCG64(seed)), 0

        def integers(self, high, size, dtype):
            self.drawn += 1
            return np.ones(size, dtype) if self.drawn <= 2 else self.good.integers(high, size=size, dtype=dtype)

    monkeypatch.setattr(refinement.np.random, "default_rng", Unlucky)
    own, starts = np.zeros(3, int), np.array([0, 2, 4, 6])
    assert distinct_views(own, starts, np.array([1, 2, 1, 1, 2, 1])).tolist() == [0, 1, 0]


def test_an_edge_beyond_the_nodes_is_refused():
    with pytest.raises(ValueError, match="edges must join nodes 0 to 2, got one from 0 to 3"):
        neighbour_views(np.array([[0, 3]]), 3)
