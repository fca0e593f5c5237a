import jax
import jax.numpy as jnp
import networkx as nx
import numpy as np
import pytest

from deeptheory.networks.computation_graphs import (
    ComputationGraph,
    clamped_derivative,
    evaluate,
    perceptron_graph,
    random_network_graph,
)
from deeptheory.networks.operations import OPERATIONS

DIAMOND = ComputationGraph({"f": ("multiply", "a", "b"), "a": ("sin", "x"), "b": ("add", "a", "x", 2.0)}, "f")


def test_values_layers_and_edges_of_a_diamond_by_hand():
    values = evaluate(DIAMOND, {"x": 0.5})
    assert values["f"] == pytest.approx(np.sin(0.5) * (np.sin(0.5) + 2.5), rel=1e-15)
    assert DIAMOND.layers == {"x": 0, "a": 1, "b": 2, "f": 3}
    assert DIAMOND.leaves == ("x",)
    assert sorted(DIAMOND.edges) == [("a", "b"), ("a", "f"), ("b", "f"), ("x", "a"), ("x", "b")]
    assert DIAMOND.size == 9


def test_layers_are_the_longest_paths_of_another_program():
    graph = perceptron_graph((3, 4, 2, 1))
    directed = nx.DiGraph(graph.edges)
    for node, layer in graph.layers.items():
        below = directed.subgraph(nx.ancestors(directed, node) | {node})
        assert layer == nx.dag_longest_path_length(below)


@pytest.mark.item("A4.1")
def test_clamping_cuts_a_node_off_from_its_inputs():
    # f = a(a + x + 2): with a held, x moves f through b alone; with b held, a moves it by b alone.
    x, a = 0.5, np.sin(0.5)
    assert evaluate(DIAMOND, {"x": x}, clamped={"a": 3.0})["f"] == 3 * (3 + x + 2)
    assert clamped_derivative(DIAMOND, {"x": x}, "b") == pytest.approx(a, rel=1e-15)
    assert clamped_derivative(DIAMOND, {"x": x}, "a") == pytest.approx(2 * a + x + 2, rel=1e-15)
    assert clamped_derivative(DIAMOND, {"x": x}, "x") == pytest.approx((2 * a + x + 2) * np.cos(x) + a, rel=1e-15)
    assert clamped_derivative(DIAMOND, {"x": x}, "f") == 1


def test_values_are_those_of_jax_and_can_be_traced(key):
    graph = ComputationGraph(
        {
            "u": ("matmul", "w", "z"),
            "p": ("softmax", "u"),
            "l": ("log_sum_exp", "u"),
            "s": ("softplus", "u"),
            "r": ("relu", "u"),
            "g": ("sigmoid", "u"),
            "t": ("total", "s"),
            "f": ("add", "l", "t"),
        },
        "f",
    )
    w = 30 * jax.random.normal(key, (3, 4))
    z = jnp.ones((4, 2))
    values = jax.jit(lambda w: evaluate(graph, {"w": w, "z": z}))(w)
    ours = evaluate(graph, {"w": np.asarray(w), "z": np.asarray(z)})
    u = w @ z
    theirs = {
        "p": jax.nn.softmax(u, axis=(0, 1)),
        "l": jax.scipy.special.logsumexp(u),
        "s": jax.nn.softplus(u),
        "r": jax.nn.relu(u),
        "g": jax.nn.sigmoid(u),
    }
    for name, value in theirs.items():
        np.testing.assert_allclose(values[name], value, rtol=1e-12)
        np.testing.assert_allclose(ours[name], value, rtol=1e-12)


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        ({"h": ("tanh", "u"), "u": ("add", "h", "x")}, "must have no cycle, got h → u → h"),
        ({"h": ("tanh", "h")}, "must have no cycle, got h → h"),
        ({"h": ("zebra", "u")}, "must be an operation and its inputs"),
        ({"h": ("tanh", "u", "v")}, "must have 1 inputs for tanh, got 2"),
        ({"h": ("add",)}, "must have some inputs"),
        ({"h": ("exp", np.nan)}, "names and finite numbers"),
        ({"g": ("exp", "x")}, "output must be one of the 2 nodes, got 'h'"),
    ],
)
def test_what_is_no_acyclic_graph_is_refused_in_a_sentence(steps, said):
    with pytest.raises(ValueError, match=said):
        ComputationGraph(steps, "h")


@pytest.mark.parametrize(
    ("leaves", "said"),
    [
        ({"u": 1.0}, "no value for 'v'"),
        ({"u": 1.0, "v": 1.0, "w": 1.0}, "a value for 'w'"),
        ({"u": 1.0, "v": np.ones(3)}, r"add at 'h' must get inputs that fit, got shapes \[\(\), \(3,\)\]"),
        ({"u": 1.0, "v": np.inf}, "the leaf 'v' must be made of finite real numbers"),
        ({"u": 1.0, "v": "3"}, "the leaf 'v' must be made of finite real numbers"),
    ],
)
def test_leaves_that_do_not_fit_are_refused(leaves, said):
    graph = ComputationGraph({"h": ("add", "u", "v")}, "h")
    with pytest.raises(ValueError, match=said):
        evaluate(graph, leaves)


def test_every_operation_has_a_rule_for_each_input():
    for name, operation in OPERATIONS.items():
        assert len(operation.rules) == (operation.arity or 1), name


def test_networks_have_the_inputs_and_units_that_were_asked_for():
    leaves = perceptron_graph((2, 3, 1)).leaves
    assert {leaf for leaf in leaves if leaf[0] == "x"} == {"x1", "x2"}
    assert sum(leaf[0] == "w" for leaf in leaves) == 2 * 3 + 3 * 1
    drawn = random_network_graph(jax.random.key(0), inputs=2, units=60)
    assert {leaf for leaf in drawn.leaves if leaf[0] == "x"} == {"x1", "x2"}
    assert sum(node[0] == "h" for node in drawn.nodes) == 60
