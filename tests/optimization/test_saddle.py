"""Perturbed gradient descent against a plain loop, its sampler against the ball, its certificate against all pairs."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from scipy import stats

from deeptheory.optimization.landscapes import CubicSaddle, Quadratic, QuarticSaddle
from deeptheory.optimization.promises import improve_or_localize
from deeptheory.optimization.runs import trajectory
from deeptheory.optimization.saddle import perturbed_gradient_descent, uniform_ball

pytestmark = pytest.mark.slow


@pytest.mark.item("A7.6")
@pytest.mark.parametrize("dimension", [1, 3, 40])
def test_uniform_ball(key, dimension):
    points = uniform_ball(key, (20_000, dimension), radius=2.0)
    distance = np.linalg.norm(points, axis=1)
    assert stats.kstest((distance / 2) ** dimension, "uniform").pvalue > 1e-4
    expected = 4 * dimension / (dimension + 2)
    assert abs(np.mean(distance**2) - expected) < 5 * np.std(distance**2) / 20_000**0.5
    # A coordinate of the ball: (x/r)² is Beta(1/2, (d+1)/2), which a wrong radius law would break too.
    law = stats.beta(0.5, (dimension + 1) / 2).cdf
    assert stats.kstest((points[:, 0] / 2) ** 2, law).pvalue > 1e-4


@pytest.mark.item("A7.6")
def test_perturbed_descent_against_a_plain_loop(key):
    function, settings = QuarticSaddle(0.5), dict(step_size=0.25, radius=0.05, tolerance=0.02, patience=12)
    draws = uniform_ball(key, (150, 3))
    method = perturbed_gradient_descent(**settings)
    start = jnp.array([0.0, 0.3, -0.2])
    states = jax.jit(lambda draws: trajectory(function, method, start, steps=150, draws=draws))(jnp.asarray(draws))
    states = jax.tree.map(np.asarray, states)

    gradient = lambda x: x * (np.array([-0.5, 1, 1]) + x @ x)  # noqa: E731
    x, t, move, last, times, path = np.asarray(start), 0, 0, -np.inf, [], []
    while move < 150:  # t counts the iterations of the book, whose perturbation and gradient step are two moves of ours
        path.append(x)
        if np.linalg.norm(gradient(x)) <= 0.02 and t - last > 12:
            x, last = x - 0.25 * 0.05 * draws[move], t
            move += 1
            times.append(move)
        x, t, move = x - 0.25 * gradient(x), t + 1, move + 1
    assert np.array_equal(np.flatnonzero(states.memory.perturbed), times) and len(times) > 2
    kept = states.position[:150][~states.memory.perturbed[:150]]
    np.testing.assert_allclose(kept, np.array(path)[: len(kept)], atol=1e-12)
    assert float(states.value[-1]) == pytest.approx(float(function.minimum), rel=1e-3)


@pytest.mark.item("A7.6")
@pytest.mark.parametrize("patience", [0, 3])
def test_the_first_move_from_a_stationary_point_is_a_perturbation(patience):
    """On a plane every gradient is small: moves number 0, patience + 2, 2(patience + 2) … are perturbations."""
    method = perturbed_gradient_descent(step_size=0.5, radius=0.2, tolerance=0.0, patience=patience)
    draws = jnp.asarray(np.eye(2)[np.arange(12) % 2])
    states = trajectory(lambda x: jnp.sum(0.0 * x), method, jnp.zeros(2), steps=12, draws=draws)
    moved = np.any(np.diff(np.asarray(states.position), axis=0) != 0, axis=1)
    assert np.flatnonzero(moved).tolist() == list(range(0, 12, patience + 2))
    np.testing.assert_allclose(states.position[1], [-0.1, 0.0], rtol=1e-12)


def test_gradient_descent_never_leaves_the_stable_manifold():
    states = trajectory(QuarticSaddle(0.5), optax.sgd(0.25), jnp.array([0.0, 0.3, -0.2]), steps=500)
    assert np.all(np.asarray(states.position)[:, 0] == 0.0)
    assert float(jnp.linalg.norm(states.position[-1])) < 1e-12


@pytest.mark.item("A7.11")
def test_certificate_against_all_pairs(key):
    function = CubicSaddle(0.2, 1.0)
    method = perturbed_gradient_descent(step_size=1.0, radius=0.05, tolerance=0.02, patience=15)
    draws = jnp.asarray(uniform_ball(key, (90, 2)))

    @jax.jit
    def certified(draws):
        states = trajectory(function, method, jnp.array([0.0, 0.5]), steps=90, draws=draws)
        return states, improve_or_localize(
            states.position, states.value, step_size=1.0, restarts=states.memory.perturbed
        )

    states, (farthest, allowed) = jax.tree.map(np.asarray, certified(draws))
    positions, values = np.asarray(states.position), np.asarray(states.value)
    for t in range(91):
        first = max(np.flatnonzero(states.memory.perturbed[: t + 1]), default=0)
        distances = np.linalg.norm(positions[first : t + 1] - positions[first], axis=1)
        assert float(farthest[t]) == pytest.approx(distances.max(), abs=1e-14)
        assert float(allowed[t]) == pytest.approx(np.sqrt(2 * (t - first) * (values[first] - values[t])), abs=1e-12)
    assert np.all(np.asarray(farthest) <= np.asarray(allowed) + 1e-9)


@pytest.mark.item("A7.11")
def test_certificate_on_a_slope_and_on_a_parabola():
    slope = lambda x: 3.0 * x[0]  # noqa: E731
    states = trajectory(slope, optax.sgd(0.7), jnp.zeros(1), steps=9)
    farthest, allowed = improve_or_localize(states.position, states.value, step_size=0.7)
    np.testing.assert_allclose(farthest[1:] / allowed[1:], 0.5**0.5, rtol=1e-12)
    for step_size, holds in ((0.5, True), (0.55, False)):  # smoothness 2: the lemma ends exactly at η = 1/ℓ
        parabola = Quadratic(jnp.array([[2.0]]), jnp.zeros(1))
        states = trajectory(parabola, optax.sgd(step_size), jnp.ones(1), steps=1)
        farthest, allowed = improve_or_localize(states.position, states.value, step_size=step_size)
        assert (float(farthest[1]) <= float(allowed[1]) + 1e-12) == holds
