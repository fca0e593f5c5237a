import jax
import jax.numpy as jnp
import numpy as np
import pytest

from deeptheory.networks.computation_graphs import ComputationGraph, clamped_derivative, evaluate
from deeptheory.networks.recurrences import clipped_gradient, recurrent_states, through_time, tie, unroll
from deeptheory.networks.reverse_mode import backpropagate

CELL = {"pre": ("multiply", "w", "before"), "sum": ("add", "pre", "x"), "h": ("tanh", "sum")}


@pytest.mark.item("A4.9")
def test_a_convolution_is_a_dense_layer_with_tied_weights():
    """(w₁, w₂) slid over x: free entries of the 2 × 3 matrix, the four that are tied, and the derivative by hand."""
    steps = {f"z{i}{j}": ("multiply", f"a{i}{j}", f"x{i + j}") for i in range(2) for j in range(2)}
    steps |= {f"u{i}": ("add", f"z{i}0", f"z{i}1") for i in range(2)}
    steps |= {f"s{i}": ("square", f"u{i}") for i in range(2)} | {"f": ("add", "s0", "s1")}
    tied = tie(tie(ComputationGraph(steps, "f"), ["a00", "a10"], "w1"), ["a01", "a11"], "w2")
    x, w = np.array([0.3, -1.2, 0.7]), np.array([0.4, 2.0])
    slopes = backpropagate(tied, {"w1": w[0], "w2": w[1], **{f"x{i}": x[i] for i in range(3)}}).derivatives
    u = np.correlate(x, w)
    assert slopes["w1"] == pytest.approx(2 * u @ x[:2], rel=1e-14)
    assert slopes["w2"] == pytest.approx(2 * u @ x[1:], rel=1e-14)
    assert slopes["w1"] == slopes["a00"] + slopes["a10"]


@pytest.mark.item("A4.10")
def test_unrolled_network_against_the_recursion_and_a_complex_step():
    graph = unroll(CELL, carried={"before": "h"}, output="h", length=4, inputs=["x"])
    x = {f"x@{t}": 0.3 * t - 0.5 for t in range(1, 5)}
    leaves = {"w": 1.3, "h@0": 0.2, **x}
    state = 0.2
    for pushed in x.values():
        state = np.tanh(1.3 * state + pushed)
    assert evaluate(graph, leaves)["h@4"] == pytest.approx(state, rel=1e-15)
    slope = backpropagate(graph, leaves).derivatives["w"]
    assert slope == pytest.approx(clamped_derivative(graph, leaves, "w"), rel=1e-14)
    free = unroll(CELL, carried={"before": "h"}, output="h", length=4, inputs=["x"], tied=False)
    copies = backpropagate(free, {"h@0": 0.2, **x, **{f"w@{t}": 1.3 for t in range(1, 5)}}).derivatives
    assert slope == pytest.approx(sum(copies[f"w@{t}"] for t in range(1, 5)), rel=1e-14)


@pytest.mark.item("A4.10")
@pytest.mark.parametrize("linear", [False, True])
def test_through_time_against_jax(linear):
    rng = np.random.default_rng(0)
    w, drive, initial = rng.standard_normal((3, 3)), rng.standard_normal((6, 3)), rng.standard_normal(3)
    slopes = rng.standard_normal((6, 3))

    def loss(w, drive, initial):
        def step(h, pushed):
            h = w @ h + pushed if linear else jnp.tanh(w @ h + pushed)
            return h, h

        return jnp.sum(jax.lax.scan(step, initial, drive)[1] * slopes)

    theirs = jax.jit(jax.grad(loss, argnums=(0, 1, 2)))(w, drive, initial)
    ours = through_time(w, drive, initial, slopes, linear=linear)
    np.testing.assert_allclose(ours.recurrent, theirs[0], rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(ours.drive, theirs[1], rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(ours.messages[0], theirs[2], rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(ours.messages[-1], slopes[-1])


def test_states_by_hand():
    states = recurrent_states(np.array([[0.5]]), np.array([[1.0], [0.0]]), np.array([2.0]), linear=True)
    np.testing.assert_array_equal(states, [[2.0], [2.0], [1.0]])


def test_clipping_keeps_the_direction_and_caps_the_length():
    np.testing.assert_allclose(clipped_gradient(np.array([3.0, 4.0]), radius=1.0), [0.6, 0.8])
    np.testing.assert_allclose(clipped_gradient(np.array([3e200, 4e200]), radius=1.0), [0.6, 0.8])
    np.testing.assert_array_equal(clipped_gradient(np.array([3.0, 4.0]), radius=6.0), [3.0, 4.0])


def test_what_cannot_be_tied_or_unrolled_is_refused():
    graph = ComputationGraph({"f": ("multiply", "a", "b")}, "f")
    with pytest.raises(ValueError, match="occurrences must be leaves of the graph, got 'f'"):
        tie(graph, ["f"], "u")
    with pytest.raises(ValueError, match="shared must be a new name, got 'b'"):
        tie(graph, ["a"], "b")
    with pytest.raises(ValueError, match="carried must name steps, got 'zebra'"):
        unroll(CELL, carried={"before": "zebra"}, output="h", length=2)
    with pytest.raises(ValueError, match="inputs must name what some step reads, got 'zebra'"):
        unroll(CELL, carried={"before": "h"}, output="h", length=2, inputs=["zebra"])
    with pytest.raises(ValueError, match="must have no cycle"):
        unroll({"a": ("exp", "b"), "b": ("exp", "a")}, carried={}, output="a", length=2)
