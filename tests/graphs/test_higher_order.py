"""Colours of tuples against their definition, known strongly regular graphs and the isomorphism test of networkx."""

from itertools import combinations, product

import networkx as nx
import pytest

from deeptheory.graphs.higher_order import rook_graph, shrikhande_graph, tuple_refinement
from deeptheory.graphs.weisfeiler_leman import graphs_up_to, indistinguishable


def by_definition(graphs, order):
    def kind(graph, each):
        return tuple((a == b, graph.has_edge(a, b)) for a, b in combinations(each, 2))

    colours = [{t: kind(graph, t) for t in product(graph, repeat=order)} for graph in graphs]
    classes = 0
    while len({c for each in colours for c in each.values()}) > classes:
        classes = len({c for each in colours for c in each.values()})
        table = {}
        colours = [
            {
                t: table.setdefault(
                    (own[t], tuple(sorted(tuple(own[(*t[:i], w, *t[i + 1 :])] for i in range(order)) for w in graph))),
                    len(table),
                )
                for t in own
            }
            for graph, own in zip(graphs, colours, strict=True)
        ]
    return colours


@pytest.mark.parametrize("order", [2, 3])
def test_colours_of_tuples_by_definition(order):
    graphs = graphs_up_to(4)
    ours = tuple_refinement(graphs, order=order).colours
    expected = by_definition(graphs, order)
    pairs = {(a[t], b[t]) for a, b in zip(ours, expected, strict=True) for t in a}
    assert len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})


def test_the_two_strongly_regular_graphs():
    pair = [rook_graph(), shrikhande_graph()]
    for graph in pair:
        assert {d for _, d in graph.degree} == {6}
        assert {len(list(nx.common_neighbors(graph, u, v))) for u, v in combinations(graph, 2)} == {2}
    assert not nx.is_isomorphic(*pair)
    assert indistinguishable(tuple_refinement(pair)) == [[0, 1]]
    assert indistinguishable(tuple_refinement(pair, order=3)) == []


def test_pairs_of_nodes_tell_all_graphs_with_up_to_six():
    assert indistinguishable(tuple_refinement(graphs_up_to(6))) == []
