"""Layers of message passing written out node by node, aggregators against NumPy, twins against colours and bridges."""

from itertools import combinations_with_replacement

import jax
import networkx as nx
import numpy as np
import pytest

from deeptheory.graphs.aggregators import kept_by_maximum, kept_by_mean, kept_by_sum, multisets
from deeptheory.graphs.biconnectivity import bridges
from deeptheory.graphs.edge_flags import edge_scores, init_edge_flags, train_edge_flags
from deeptheory.graphs.message_passing import averaged, greatest, init_layers, pass_messages, summed
from deeptheory.graphs.twins import bridge_twins
from deeptheory.graphs.weisfeiler_leman import (
    best_accuracy,
    colour_refinement,
    graphs_up_to,
    shortest_path_distances,
    views_of,
)

MESSAGES, PLACES = np.array([[1.0, -2], [3, -4], [-5, 6]]), np.array([0, 0, 2])


@pytest.mark.item("H3.1")
def test_aggregators_on_three_messages():
    assert np.allclose(summed(MESSAGES, PLACES, 3), [[4, -6], [0, 0], [-5, 6]])
    assert np.allclose(averaged(MESSAGES, PLACES, 3), [[2, -3], [0, 0], [-5, 6]])
    assert np.allclose(greatest(MESSAGES, PLACES, 3), [[3, -2], [0, 0], [-5, 6]])


@pytest.mark.item("H3.1")
@pytest.mark.parametrize(("aggregate", "combine"), [(summed, np.sum), (averaged, np.mean), (greatest, np.max)])
def test_two_layers_with_distances_node_by_node(aggregate, combine):
    graph = nx.path_graph(4)
    distances = shortest_path_distances(graph)
    views = views_of([graph], distance=shortest_path_distances)
    layers = init_layers(jax.random.key(0), [2, 3, 3], labels=4)
    states = np.random.default_rng(1).standard_normal((4, 2))
    found = pass_messages(layers, states, views, aggregate=aggregate)
    for layer, after in zip(layers, found[1:], strict=True):
        heard = [
            combine([states[u] @ np.asarray(layer.heard)[int(distances[v][u])] for u in graph], axis=0) for v in graph
        ]
        states = np.tanh(states @ np.asarray(layer.own) + heard + np.asarray(layer.bias))
        assert np.allclose(after, states, atol=1e-5)


def test_numbers_of_values_by_fractions():
    for colours in (1, 2, 3):
        for size in (1, 2, 4, 6):
            counts = {
                tuple(each.count(c) for c in range(colours))
                for n in range(1, size + 1)
                for each in combinations_with_replacement(range(colours), n)
            }
            assert len(multisets(colours, size)) == kept_by_sum(colours, size) == len(counts)
            assert kept_by_mean(colours, size) == len({tuple(np.divide(c, np.gcd.reduce(c)).tolist()) for c in counts})
            assert kept_by_maximum(colours, size) == len({tuple(x > 0 for x in c) for c in counts})


def test_twins_share_colours_and_not_their_bridge():
    small = bridge_twins(nx.cycle_graph(3), 0, (1, 2))
    assert nx.is_isomorphic(small[0], nx.Graph([(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (0, 3)]))
    assert nx.is_isomorphic(small[1], nx.Graph([*nx.cycle_graph(6).edges, (0, 3)]))
    for graph in graphs_up_to(5, connected=True):
        circles = [edge for edge in graph.edges if frozenset(edge) not in bridges(graph)]
        for edge in circles[:2]:
            joined, crossed = bridge_twins(graph, 0, edge)
            first, second = colour_refinement([joined, crossed]).colours
            assert first == second
            middle = frozenset([(0, 0), (0, 1)])
            assert middle in bridges(joined)
            assert middle not in bridges(crossed)
            assert nx.is_connected(crossed)


def test_twins_need_an_edge_on_a_cycle():
    with pytest.raises(ValueError, match="edge must lie on a cycle, got the bridge"):
        bridge_twins(nx.path_graph(3), 0, (0, 1))
    with pytest.raises(ValueError, match="graph must be connected"):
        bridge_twins(nx.path_graph(3), 7, (0, 1))
    layers, views = init_layers(jax.random.key(0), [2, 3]), views_of([nx.path_graph(3)])
    with pytest.raises(ValueError, match="states must have a row for each of 3 nodes, got 4"):
        pass_messages(layers, np.ones((4, 2)), views)
    with pytest.raises(ValueError, match="states must have 2 entries a node for this layer, got 5"):
        pass_messages(layers, np.ones((3, 5)), views)


def test_best_accuracy_is_that_of_the_commonest_label():
    assert best_accuracy({"a": 1, "b": 1, "c": 1, "d": 2}, {"a": 0, "b": 0, "c": 5, "d": 5}) == 0.75


@pytest.mark.slow
def test_training_lowers_the_loss_and_scores_are_symmetric():
    pair = list(bridge_twins(nx.cycle_graph(3), 0, (1, 2)))
    views = views_of(pair, distance=shortest_path_distances)
    places = [{v: 6 * i + j for j, v in enumerate(graph)} for i, graph in enumerate(pair)]
    edges = np.array([(place[u], place[v]) for graph, place in zip(pair, places, strict=True) for u, v in graph.edges])
    flags = np.array([frozenset(edge) in bridges(graph) for graph in pair for edge in graph.edges])
    network = init_edge_flags(jax.random.key(0), width=6, depth=2, labels=5, ensemble=(2,))
    trained, losses = train_edge_flags(network, views, edges, flags, steps=150, step_size=0.05)
    assert np.all(np.asarray(losses[-1]) < 0.1)
    scores = jax.vmap(lambda one: edge_scores(one, views, edges))(trained)
    assert np.array_equal(np.asarray(scores) > 0, np.tile(flags, (2, 1)))
    assert np.allclose(scores, jax.vmap(lambda one: edge_scores(one, views, edges[:, ::-1]))(trained))
    with pytest.raises(ValueError, match="flags must hold both true and false, got 0 true of 14"):
        train_edge_flags(network, views, edges, np.zeros(14, bool))
