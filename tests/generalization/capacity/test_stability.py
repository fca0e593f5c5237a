"""Stability: enumeration, coupled runs, bounds by their numbers."""

import numpy as np
import pytest

from deeptheory.generalization.capacity.stability import (
    bounded_loss_stability,
    convex_sgd_stability,
    coupled_sgd,
    escape_distances,
    ghost_gaps,
    nonconvex_sgd_stability,
    on_average_bound,
    regularized_stability,
    strongly_convex_sgd_stability,
)


def test_coupled_runs_step_by_step():
    data, other = np.array([[1.0], [2.0], [3.0]]), np.array([[1.0], [-2.0], [3.0]])
    order, steps = np.array([[0, 1, 1, 2], [2, 2, 0, 0]]), np.array([0.1, 0.2, 0.3, 0.4])
    ends = coupled_sgd(lambda w, z: w - z, np.array([0.5]), data, other, order, steps)
    for values, found in zip((data, other), ends, strict=True):
        for run in range(2):
            w = 0.5
            for i, eta in zip(order[run], steps, strict=True):
                w -= eta * (w - values[i, 0])
            assert found[run, 0] == pytest.approx(w)


def test_the_mean_as_an_algorithm():
    found = ghost_gaps(lambda z: z.mean(0), lambda w, z: (w - z[:, 0]) ** 2, np.array([[0.0], [1.0], [3.0]]), 3)
    variance = np.var([0, 1, 3])
    # E[R − R_S] of a sample mean is 2·variance/n; replacing one example moves it by up to 3/n.
    assert found["gap"] == pytest.approx(2 * variance / 3)
    assert found["change"] == pytest.approx(found["gap"])
    assert found["training"] == pytest.approx(variance * 2 / 3)
    assert found["moved"] == pytest.approx(2 * variance / 9)


def test_uniform_stability_is_the_largest_change_at_any_example():
    def loss(w, z):
        return np.abs(w[0]) * (z[:, 0] == 1)

    found = ghost_gaps(lambda z: z.mean(0), loss, np.array([[0.0], [1.0], [3.0]]), 2)
    assert found["stability"] == pytest.approx(1.5)  # a 3 for a 0 moves the mean, and only the example 1 sees it


def test_escape_by_simulation_of_one_run():
    w, distances = 0.1, []
    for _ in range(5):
        distances.append(2 * w)
        w -= 0.1 * (-w / np.sqrt(1 + w**2))
    np.testing.assert_allclose(escape_distances(0.1, 5), distances)


def test_bounds_by_their_numbers():
    assert convex_sgd_stability(2.0, np.array([0.1, 0.3]), 10) == pytest.approx(8 * 0.4 / 10)
    assert strongly_convex_sgd_stability(3.0, 0.4, 10) == pytest.approx(18 / 4)
    assert regularized_stability(2.0, 0.5, 10) == pytest.approx(0.8)
    assert bounded_loss_stability(3.0, 2, 4) == pytest.approx(3 * (1 - 9 / 16))
    assert nonconvex_sgd_stability(1.0, 2.0, 0.5, 100, 11) == pytest.approx(2 / 10 * 1.0**0.5 * 10)
    assert nonconvex_sgd_stability(2.0, 1.0, 0.5, 16, 11) == pytest.approx(0.3 * 4 ** (2 / 3) * 16 ** (1 / 3))
    assert on_average_bound(0.5, 0.1, 2.0, 4.0) == pytest.approx(0.25 + 0.3)
