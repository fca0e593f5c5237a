"""Blocks, bridges, cut vertices and their tree: against deletion, against networkx, and by hand."""

from collections import Counter

import networkx as nx
import pytest

from deeptheory.graphs.biconnectivity import block_counts, block_cut_tree, blocks, bridges, cut_vertices
from deeptheory.graphs.weisfeiler_leman import graphs_up_to
from graph_deletion import bridges_by_deletion, pieces_without

pytestmark = pytest.mark.item("H3.5")


def test_two_triangles_at_a_node_a_bridge_and_a_lone_node_by_hand():
    graph = nx.Graph([(u, v) for u, v in ("ab", "bc", "ca", "cd", "de", "ec", "ef")])
    graph.add_node("g")
    tree = block_cut_tree(graph)
    assert set(tree) == set(map(frozenset, ("abc", "cde", "ef", "c", "e")))
    joins = {frozenset(map(frozenset, pair)) for pair in (("abc", "c"), ("cde", "c"), ("cde", "e"), ("ef", "e"))}
    assert set(map(frozenset, tree.edges)) == joins
    assert cut_vertices(graph) == {"c", "e"}
    assert bridges(graph) == {frozenset("ef")}
    assert block_counts(graph) == {"a": 1, "b": 1, "c": 2, "d": 1, "e": 2, "f": 1, "g": 0}


@pytest.mark.slow
def test_every_graph_with_up_to_seven_nodes_as_networkx_has_it():
    for graph in graphs_up_to(7):
        assert Counter(blocks(graph)) == Counter(map(frozenset, nx.biconnected_components(graph)))
        assert cut_vertices(graph) == set(nx.articulation_points(graph))
        assert bridges(graph) == set(map(frozenset, nx.bridges(graph)))


@pytest.mark.parametrize("seed", range(6))
def test_larger_graphs_by_deletion(seed):
    graph = nx.gnm_random_graph(30, 28 + 3 * seed, seed=seed)
    assert block_counts(graph) == {v: pieces_without(graph, v) for v in graph}
    assert bridges(graph) == bridges_by_deletion(graph)
    # Every edge lies in exactly one block, so counting the blocks of an edge cannot find bridges.
    assert all(sum(set(edge) <= block for block in blocks(graph)) == 1 for edge in graph.edges)


def test_a_long_path_does_not_exhaust_the_stack():
    path = nx.path_graph(20_000)
    assert len(blocks(path)) == 19_999
    path.add_edge(0, 19_999)
    assert blocks(path) == [frozenset(range(20_000))]


@pytest.mark.parametrize(
    ("graph", "why"),
    [(nx.DiGraph([(0, 1)]), "directed"), (nx.MultiGraph([(0, 1)]), "a multigraph"), (nx.Graph([(1, 1)]), "loop at 1")],
)
def test_other_kinds_of_graph_are_refused(graph, why):
    with pytest.raises(ValueError, match=f"graph must be undirected, without loops and parallel edges; .*{why}"):
        blocks(graph)
