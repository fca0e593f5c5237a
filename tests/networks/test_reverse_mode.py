import jax
import jax.numpy as jnp
import numpy as np
import pytest

from deeptheory.networks.computation_graphs import ComputationGraph, clamped_derivative, evaluate, perceptron_graph
from deeptheory.networks.operations import OPERATIONS
from deeptheory.networks.reverse_mode import (
    backpropagate,
    forward_accumulation,
    gradient_graph,
    hessian_vector_graph,
    hessian_vector_product,
    sum_over_paths,
    trace,
)

SHAPES = {"matmul": [(2, 3), (3, 4)], "transpose": [(2, 3)], "spread": [(), (2, 3)]}
SHAPES |= {"correlate": [(2,), (5,)], "convolve": [(3,), (4,)]}


def random_graph(seed, *, leaves=3, steps=12):
    """Numbers only, any operation whose values stay moderate, every node read later or the output."""
    rng = np.random.default_rng(seed)
    names, table = [f"x{i}" for i in range(leaves)], {}
    one, two = ["sin", "cos", "tanh", "sigmoid", "softplus", "negate", "copy"], ["add", "subtract", "multiply"]
    for i in range(steps):
        if rng.random() < 0.5:
            table[f"u{i}"] = (str(rng.choice(one)), str(rng.choice(names)))
        else:
            table[f"u{i}"] = (str(rng.choice(two)), *map(str, rng.choice(names, 2)))
        names.append(f"u{i}")
    table["f"] = ("add", *(f"u{i}" for i in range(steps)))
    return ComputationGraph(table, "f")


def at_random(graph, seed):
    rng = np.random.default_rng(seed)
    return dict(zip(graph.leaves, rng.standard_normal(len(graph.leaves)), strict=True))


@pytest.mark.item("A4.4")
@pytest.mark.item("A4.5")
@pytest.mark.parametrize("seed", range(5))
def test_four_ways_to_the_derivatives_of_a_random_graph(seed):
    graph = random_graph(seed)
    leaves = at_random(graph, seed + 100)
    run, forward = backpropagate(graph, leaves), forward_accumulation(graph, leaves)
    last = dict(zip(forward.nodes, forward.derivatives[forward.nodes.index("f")], strict=True))
    for node in graph.nodes:
        expected = clamped_derivative(graph, leaves, node)
        assert run.derivatives[node] == pytest.approx(expected, rel=1e-11, abs=1e-12)
        assert last[node] == pytest.approx(expected, rel=1e-11, abs=1e-12)
        assert sum_over_paths(graph, leaves, node)[0] == pytest.approx(expected, rel=1e-11, abs=1e-12)
    assert len(run.messages) == len(graph.edges)
    assert forward.products <= len(graph.nodes) * len(graph.edges)


def random_tensor_graph(seed, *, steps=8):
    """Vectors of five entries, filters of three, and matrices that carry vectors over, added up at the end."""
    rng = np.random.default_rng(seed)
    names, table = ["x0", "x1"], {}
    for i in range(steps):
        kind, one, two = str(rng.choice(["one", "two", "filter", "matrix"])), *map(str, rng.choice(names, 2))
        if kind == "one":
            table[f"u{i}"] = (str(rng.choice(["tanh", "softmax", "normalize", "relu", "sigmoid"])), one)
        elif kind == "two":
            table[f"u{i}"] = (str(rng.choice(["add", "subtract", "multiply"])), one, two)
        elif kind == "filter":
            table |= {f"v{i}": ("convolve", "w", one), f"u{i}": ("correlate", "w", f"v{i}")}
        else:  # u = the middle of (A·A)∗one: a message through a matrix, a total and a filter
            table |= {f"p{i}": ("matmul", "a", "a"), f"t{i}": ("total", f"p{i}"), f"s{i}": ("spread", f"t{i}", one)}
            table[f"u{i}"] = ("multiply", f"s{i}", one)
        names.append(f"u{i}")
    table |= {"sum": ("add", *(f"u{i}" for i in range(steps))), "f": ("log_sum_exp", "sum")}
    graph, shapes = ComputationGraph(table, "f"), {"w": (3,), "a": (2, 2)}
    return graph, {leaf: 0.7 * rng.standard_normal(shapes.get(leaf, (5,))) for leaf in graph.leaves}


def numbers(seed):
    graph = random_graph(seed)
    return graph, at_random(graph, seed + 1)


@pytest.mark.item("A4.7")
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("drawn", [numbers, random_tensor_graph])
def test_leaf_gradients_against_jax_on_a_random_graph(drawn, seed):
    graph, leaves = drawn(seed)
    theirs = jax.grad(lambda z: evaluate(graph, z)["f"])({k: jnp.asarray(v) for k, v in leaves.items()})
    ours = backpropagate(graph, leaves).derivatives
    for leaf in graph.leaves:
        np.testing.assert_allclose(ours[leaf], theirs[leaf], rtol=1e-10, atol=1e-12)


@pytest.mark.item("A4.7")
def test_filters_and_normalization_by_hand():
    def value(name, *inputs):
        leaves = {f"x{i}": np.array(each, float) for i, each in enumerate(inputs)}
        return evaluate(ComputationGraph({"u": (name, *leaves)}, "u"), leaves)["u"]

    np.testing.assert_allclose(value("correlate", [1, 2], [1, 10, 100]), [21, 210])
    np.testing.assert_allclose(value("convolve", [1, 2], [1, 10, 100]), [1, 12, 120, 200])
    np.testing.assert_allclose(value("normalize", [1, 1, 5, 5]), np.array([-2, -2, 2, 2]) / np.sqrt(4 + 1e-5))
    with pytest.raises(ValueError, match="shape"):
        value("correlate", [1, 2, 3], [1, 2])


@pytest.mark.item("A4.7")
@pytest.mark.parametrize("name", OPERATIONS)
def test_every_rule_against_differences_of_the_operation(name):
    rng = np.random.default_rng(3)
    shapes = SHAPES.get(name, [(2, 3)] * (OPERATIONS[name].arity or 3))
    leaves = {f"x{i}": rng.uniform(0.5, 2, shape) for i, shape in enumerate(shapes)}
    steps = {"u": (name, *leaves), "w": ("multiply", "u", "weight"), "f": ("total", "w")}
    graph = ComputationGraph(steps, "f")
    leaves["weight"] = rng.standard_normal(np.shape(evaluate(ComputationGraph({"u": steps["u"]}, "u"), leaves)["u"]))
    ours = backpropagate(graph, leaves).derivatives
    for leaf, value in leaves.items():
        for place in np.ndindex(np.shape(value)):
            up, down = np.array(value), np.array(value)
            up[place], down[place] = up[place] + 1e-6, down[place] - 1e-6
            difference = evaluate(graph, leaves | {leaf: up})["f"] - evaluate(graph, leaves | {leaf: down})["f"]
            assert np.asarray(ours[leaf])[place] == pytest.approx(difference / 2e-6, abs=2e-8)


@pytest.mark.item("A4.8")
def test_a_matrix_message_is_the_transposed_jacobian_written_out():
    rng = np.random.default_rng(4)
    w, z, s = rng.standard_normal((2, 3)), rng.standard_normal((3, 4)), rng.standard_normal((2, 4))
    run = backpropagate(ComputationGraph({"u": ("matmul", "w", "z")}, "u"), {"w": w, "z": z}, message=s)
    jacobian = np.array([[w[i, k] * (j == m) for k in range(3) for m in range(4)] for i in range(2) for j in range(4)])
    np.testing.assert_allclose(run.derivatives["z"], (jacobian.T @ s.ravel()).reshape(3, 4), rtol=1e-13)
    np.testing.assert_allclose(run.derivatives["w"], s @ z.T, rtol=1e-13)


def test_a_message_of_ones_differentiates_a_batch_at_once():
    graph = random_graph(9)
    rng = np.random.default_rng(1)
    batch = {leaf: rng.standard_normal(5) for leaf in graph.leaves}
    run = backpropagate(graph, batch, message=np.ones(5))
    for i in range(5):
        single = backpropagate(graph, {leaf: value[i] for leaf, value in batch.items()})
        for node in graph.nodes:
            assert run.derivatives[node][i] == pytest.approx(single.derivatives[node], rel=1e-12, abs=1e-14)


@pytest.mark.item("A4.11")
def test_the_gradient_as_a_graph_has_the_values_of_the_messages():
    for seed in range(5):
        graph = random_graph(seed)
        leaves = at_random(graph, seed)
        made = gradient_graph(graph)
        values = evaluate(made.graph, leaves)
        for leaf, node in made.slopes.items():
            assert values[node] == pytest.approx(clamped_derivative(graph, leaves, leaf), rel=1e-11, abs=1e-12)


@pytest.mark.item("A4.12")
def test_hessian_products_against_the_dense_hessian_of_jax():
    graph = random_graph(2)
    leaves, vector = at_random(graph, 5), at_random(graph, 6)
    names = list(graph.leaves)

    def flat(z):
        return evaluate(graph, dict(zip(names, z, strict=True)))["f"]

    dense = jax.jit(jax.hessian(flat))(jnp.array([leaves[name] for name in names]))
    ours = hessian_vector_product(graph, leaves, vector)
    expected = np.asarray(dense) @ [vector[name] for name in names]
    np.testing.assert_allclose([ours[name] for name in names], expected, rtol=1e-10, atol=1e-12)


@pytest.mark.item("A4.12")
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("drawn", [numbers, random_tensor_graph])
def test_hessian_products_against_those_of_jax_on_a_random_graph(drawn, seed):
    graph, leaves = drawn(seed)
    rng = np.random.default_rng(seed + 50)
    vector = {name: rng.standard_normal(np.shape(value))[()] for name, value in leaves.items()}
    at, along = ({name: jnp.asarray(value) for name, value in each.items()} for each in (leaves, vector))
    _, theirs = jax.jvp(jax.grad(lambda z: evaluate(graph, z)["f"]), (at,), (along,))
    ours = hessian_vector_product(graph, leaves, vector)
    for leaf in graph.leaves:
        np.testing.assert_allclose(ours[leaf], theirs[leaf], rtol=1e-8, atol=1e-10)


def test_third_derivatives_by_differentiating_three_times():
    once = gradient_graph(ComputationGraph({"f": ("sin", "x")}, "f"))
    twice = gradient_graph(ComputationGraph(once.graph.steps, once.slopes["x"]))
    thrice = gradient_graph(ComputationGraph(twice.graph.steps, twice.slopes["x"]))
    assert evaluate(thrice.graph, {"x": 0.7})[thrice.slopes["x"]] == pytest.approx(-np.cos(0.7), rel=1e-14)


def test_sizes_stay_a_constant_times_the_graph():
    for widths in [(2, 2, 1), (6, 6, 6, 1), (10, 10, 10, 10, 1)]:
        graph = perceptron_graph(widths, activation="tanh")
        assert gradient_graph(graph).graph.size < 4 * graph.size
        assert hessian_vector_graph(graph).graph.size < 16 * graph.size


def test_the_number_of_paths_doubles_with_every_layer_while_messages_grow_by_two():
    steps = {f"u{i + 1}": ("add", f"u{i}", f"u{i}") for i in range(10)}
    graph = ComputationGraph(steps, "u10")
    assert sum_over_paths(graph, {"u0": 1.0}, "u0") == (1024.0, 1024)
    assert len(backpropagate(graph, {"u0": 1.0}).messages) == 20


@pytest.mark.item("L2.13")
def test_the_worked_example_digit_by_digit():
    """The 2-2-1 network of sigmoids by hand: δ = (ŷ − y)ŷ(1 − ŷ), and what follows from it."""
    weights = {"w1_1_1": 0.15, "w1_2_1": 0.2, "w1_1_2": 0.25, "w1_2_2": 0.3, "w2_1_1": 0.4, "w2_2_1": 0.45}
    x1, x2, y = 0.05, 0.1, 0.01
    h1, h2 = (1 / (1 + np.exp(-(0.15 * x1 + 0.2 * x2))), 1 / (1 + np.exp(-(0.25 * x1 + 0.3 * x2))))
    out = 1 / (1 + np.exp(-(0.4 * h1 + 0.45 * h2)))
    delta = (out - y) * out * (1 - out)
    slopes = backpropagate(perceptron_graph((2, 2, 1)), {"x1": x1, "x2": x2, "y": y, **weights}).derivatives
    assert slopes["h2_1"] == pytest.approx(out - y, rel=1e-14)
    assert slopes["w2_1_1"] == pytest.approx(delta * h1, rel=1e-14)
    assert slopes["w2_2_1"] == pytest.approx(delta * h2, rel=1e-14)
    assert slopes["h1_1"] == pytest.approx(delta * 0.4, rel=1e-14)
    assert slopes["w1_1_1"] == pytest.approx(delta * 0.4 * h1 * (1 - h1) * x1, rel=1e-14)
    assert slopes["w1_2_1"] == pytest.approx(delta * 0.4 * h1 * (1 - h1) * x2, rel=1e-14)
    assert slopes["w1_1_2"] == pytest.approx(delta * 0.45 * h2 * (1 - h2) * x1, rel=1e-14)


def test_the_trace_shows_values_then_messages_layer_by_layer():
    graph = ComputationGraph({"a": ("multiply", "x", "x"), "f": ("add", "a", "x")}, "f")
    assert trace(graph, {"x": 3.0}).splitlines() == [
        "x = 3.",
        "a = 9.",
        "f = 12.",
        "S(f) = 1",
        "f → a: 1.   S(a) = 1.",
        "f → x: 1.   S(x) = 1.",
        "a → x: 3.   S(x) = 4.",
        "a → x: 3.   S(x) = 7.",
    ]


def test_outputs_that_are_no_number_need_a_message():
    graph = ComputationGraph({"u": ("tanh", "x")}, "u")
    with pytest.raises(ValueError, match="the output must be a number unless a message is given"):
        backpropagate(graph, {"x": np.ones(3)})
    with pytest.raises(ValueError, match=r"message must have the shape of the output, \(3,\), got \(2,\)"):
        backpropagate(graph, {"x": np.ones(3)}, message=np.ones(2))
    with pytest.raises(ValueError, match="every node must be a number"):
        forward_accumulation(graph, {"x": np.ones(3)})


def test_what_the_output_does_not_read_has_no_derivative():
    graph = ComputationGraph({"f": ("exp", "x"), "idle": ("multiply", "x", "y")}, "f")
    assert backpropagate(graph, {"x": 0.0, "y": 2.0}).derivatives == {"f": 1, "x": 1, "y": 0, "idle": 0}
    made = gradient_graph(graph)
    assert evaluate(made.graph, {"x": 0.0, "y": 2.0})[made.slopes["y"]] == 0
