import jax
import jax.numpy as jnp
import numpy as np
import pytest

from deeptheory.dynamics.online import exit_probability, interpolated, online_descent, online_step


def squared_error(point, sample):
    x, y = sample
    return (y - point["slope"] @ x - point["shift"]) ** 2


def test_descent_of_a_tree_is_the_loop_written_out(key):
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((7, 3)), rng.standard_normal(7)
    start = {"slope": jnp.array([0.1, -0.2, 0.3]), "shift": jnp.array(0.5)}
    last, path = jax.jit(
        lambda s: online_descent(squared_error, start, s, step=0.05, statistics=lambda p: p["slope"] @ p["slope"])
    )((x, y))
    slope, shift, seen = np.array([0.1, -0.2, 0.3]), 0.5, []
    for a, b in zip(x, y, strict=True):
        seen.append(slope @ slope)
        error = b - slope @ a - shift
        slope, shift = slope + 0.1 * error * a, shift + 0.1 * error
    np.testing.assert_allclose(path, [*seen, slope @ slope], rtol=1e-12)
    np.testing.assert_allclose(last["slope"], slope, rtol=1e-12)
    assert float(last["shift"]) == pytest.approx(shift)


@pytest.mark.item("J11.1")
def test_the_mean_step_over_a_finite_law_is_a_step_down_the_population_loss():
    inputs = np.array([[1.0, 2.0], [-1.0, 0.5], [0.3, -0.7]])
    answers = np.array([0.2, -1.0, 0.4])
    x, step = np.array([0.4, -0.3]), 0.1

    def loss(x, sample):
        return (sample[1] - sample[0] @ x) ** 2

    moved = jax.vmap(lambda a, y: online_step(loss, x, (a, y), step))(inputs, answers)
    slope = -2 * ((answers - inputs @ x)[:, None] * inputs).mean(0)
    np.testing.assert_allclose(np.mean(moved, 0), x - step * slope, rtol=1e-12)


def test_interpolation_passes_through_the_iterates_and_half_way_between():
    path = np.array([[1.0, 5.0], [3.0, 1.0], [2.0, 0.0]])
    between = interpolated(path, np.array([0.0, 0.05, 0.1, 0.175, 0.2, 9.0]), step=0.1)
    expected = [[1, 5], [2, 3], [3, 1], [2.25, 0.25], [2, 0], [2, 0]]
    np.testing.assert_allclose(between, expected, atol=1e-12)


def test_exit_probability_is_the_share_of_simulated_chains():
    rng = np.random.default_rng(0)
    x, out = np.zeros(100_000), np.zeros(100_000, bool)
    for _ in range(10):
        x = 0.9 * x + 0.1 * rng.standard_normal(100_000)
        out |= np.abs(x) > 0.4
    assert exit_probability(step=0.1, radius=0.4) == pytest.approx(out.mean(), abs=5 * (out.mean() / 100_000) ** 0.5)
    assert exit_probability(step=0.1, radius=0.4, nodes=800) == pytest.approx(exit_probability(step=0.1, radius=0.4))


def test_parameters_that_are_no_numbers_are_refused():
    with pytest.raises(TypeError, match="start must be made of real numbers"):
        online_descent(squared_error, {"slope": np.array(["a"]), "shift": 0.0}, np.ones((2, 1)), step=0.1)
    with pytest.raises(
        ValueError, match=r"samples must have arrays with a first axis of one length, got \[\(2,\), \(3,\)\]"
    ):
        online_descent(squared_error, {"slope": np.ones(1), "shift": 0.0}, (np.ones((2, 1)), np.ones(3)), step=0.1)
