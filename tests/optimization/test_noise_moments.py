"""Mean squared distances of stochastic gradient descent, against plain loops over all paths, and by hand."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from deeptheory.optimization.methods import variance_reduced
from deeptheory.optimization.noise_moments import (
    least_squares_solution,
    sgd_distances,
    sgd_plateau,
    variance_reduced_distances,
)
from deeptheory.optimization.runs import averaged_positions, random_iterate, trajectory

FEATURES = np.array([[1.0, 0.5], [-0.3, 0.8], [0.2, -1.1]])
LABELS = np.array([0.7, -0.4, 1.2])
START = np.array([2.0, -1.0])
SOLUTION = np.linalg.lstsq(FEATURES, LABELS)[0]


def gradient(x, i):
    return FEATURES[i] * (FEATURES[i] @ x - LABELS[i])


@pytest.mark.item("L5.20")
def test_distances_over_all_paths():
    rates = np.array([0.5, 0.1, 0.7, 0.3])
    squares, averages = np.zeros(5), np.zeros(5)
    for path in itertools.product(range(3), repeat=4):
        x, total = START, np.zeros(2)
        squares[0] += np.sum((x - SOLUTION) ** 2) / 81
        for k, i in enumerate(path):
            x = x - rates[k] * gradient(x, i)
            total = total + x
            squares[k + 1] += np.sum((x - SOLUTION) ** 2) / 81
            averages[k + 1] += np.sum((total / (k + 1) - SOLUTION) ** 2) / 81
    ours = sgd_distances(FEATURES, LABELS, START, rates)
    np.testing.assert_allclose(ours.iterate, squares, rtol=1e-12)
    np.testing.assert_allclose(ours.average[1:], averages[1:], rtol=1e-12)
    assert float(ours.average[0]) == pytest.approx(squares[0])
    np.testing.assert_allclose(least_squares_solution(FEATURES, LABELS), SOLUTION, rtol=1e-12)


@pytest.mark.item("L5.20")
def test_corrected_gradients_over_all_paths():
    squares = np.zeros(5)
    for path in itertools.product(range(3), repeat=4):
        x = START
        squares[0] += np.sum((x - SOLUTION) ** 2) / 81
        for k, i in enumerate(path):
            if k % 3 == 0:
                snapshot = x
                whole = np.mean([gradient(snapshot, j) for j in range(3)], axis=0)
            x = x - 0.4 * (gradient(x, i) - gradient(snapshot, i) + whole)
            squares[k + 1] += np.sum((x - SOLUTION) ** 2) / 81
    ours = variance_reduced_distances(FEATURES, LABELS, START, step_size=0.4, every=3, steps=4)
    np.testing.assert_allclose(ours, squares, rtol=1e-12)


@pytest.mark.item("L5.20")
def test_one_run_with_corrected_gradients_on_a_tree():
    def loss(w, picked):
        a = jnp.asarray(FEATURES)[picked]
        return jnp.mean((a @ jnp.stack([w["first"], w["second"]]) - jnp.asarray(LABELS)[picked]) ** 2) / 2

    path = np.array([2, 0, 0, 1, 2])
    method = variance_reduced(0.4, function=lambda w: loss(w, jnp.arange(3)), every=2)
    start = {"first": jnp.asarray(START[0]), "second": jnp.asarray(START[1])}
    run = trajectory(loss, method, start, steps=5, batches=jnp.asarray(path)[:, None])
    x = START
    for k, i in enumerate(path):
        if k % 2 == 0:
            snapshot, whole = x, np.mean([gradient(x, j) for j in range(3)], axis=0)
        x = x - 0.4 * (gradient(x, i) - gradient(snapshot, i) + whole)
        np.testing.assert_allclose([run.position["first"][k + 1], run.position["second"][k + 1]], x, rtol=1e-12)


@pytest.mark.item("L5.20")
def test_the_plateau_of_one_coordinate_by_hand():
    # a = 1, labels ±1: C = (1 − η)²C + η², so C = η/(2 − η).
    plateau = sgd_plateau(np.ones((2, 1)), np.array([1.0, -1.0]), step_size=0.5)
    assert float(plateau[0, 0]) == pytest.approx(1 / 3)
    late = sgd_distances(FEATURES, LABELS, START, np.full(3000, 0.2)).iterate[-1]
    assert float(jnp.trace(sgd_plateau(FEATURES, LABELS, step_size=0.2))) == pytest.approx(float(late), rel=1e-10)
    np.testing.assert_allclose(sgd_plateau(FEATURES, FEATURES @ START, step_size=0.2), 0.0, atol=1e-28)
    with pytest.raises(
        ValueError, match=r"step_size must be small enough .* got 2, at which .* multiplied by 1 a step"
    ):
        sgd_plateau(np.ones((2, 1)), np.array([1.0, -1.0]), step_size=2.0)
    with pytest.raises(ValueError, match=r"every must .*, got 0"):
        variance_reduced_distances(FEATURES, LABELS, START, step_size=0.4, every=0, steps=4)


@pytest.mark.item("L5.20", "L5.22")
def test_averages_and_random_iterates_of_a_run():
    run = trajectory(lambda x: jnp.sum(x**2) / 2, optax.sgd(0.5), jnp.array([8.0, -4.0]), steps=3)
    np.testing.assert_allclose(averaged_positions(run)[:, 0], [8.0, 4.0, 3.0, 7 / 3], rtol=1e-14)
    drawn = [random_iterate(key, run) for key in jax.random.split(jax.random.key(0), 60)]
    assert {int(time) for time, _ in drawn} == {0, 1, 2}
    for time, point in drawn[:5]:
        np.testing.assert_array_equal(point, run.position[time])
    still = trajectory(lambda x: jnp.sum(x**2), optax.sgd(0.5), jnp.ones(1), steps=0)
    with pytest.raises(ValueError, match="at least one step, got 0"):
        random_iterate(jax.random.key(0), still)
