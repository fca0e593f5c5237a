"""Two clusters against tokens by loops, quadrature against a differential equation, and a staircase."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from deeptheory.attention.metastability import cluster_history, merging_speed, merging_time, waiting_time


@pytest.mark.item("J14.12")
def test_speed_is_that_of_the_tokens():
    g, beta = 0.3, 2.5
    first, second = np.array([1.0, 0.0]), np.array([g, np.sqrt(1 - g**2)])
    tokens = [first] + 3 * [second]

    def velocity(x):
        weights = np.array([np.exp(beta * x @ y) for y in tokens])
        pull = weights @ np.array(tokens) / weights.sum()
        return pull - (x @ pull) * x

    assert np.isclose(merging_speed(g, 0.25, beta), velocity(first) @ second + first @ velocity(second))


@pytest.mark.item("J14.12")
@pytest.mark.parametrize("beta", [0.5, 6.0])
def test_time_inverts_the_equation(beta):
    time = merging_time(0.9, -0.2, 0.3, beta)
    path = solve_ivp(lambda _, g: merging_speed(g, 0.3, beta), (0, time), [-0.2], rtol=1e-10, atol=1e-12)
    assert np.isclose(path.y[0, -1], 0.9, atol=1e-6)


def test_wait_in_the_cold():
    ratios = [merging_time(0.5, -0.3, 0.3, beta) / waiting_time(-0.3, 0.3, beta) for beta in (50.0, 100.0)]
    assert abs(ratios[1] - 1) < 0.6 * abs(ratios[0] - 1) < 0.05
    with pytest.raises(ValueError, match="larger than the start"):
        merging_time(0.1, 0.2, 0.5, 1.0)


def test_history_of_two_pairs():
    """Two pairs of near tokens at a right angle: four, then two, then one."""
    angles = np.array([0.0, 0.2, 1.5, 1.7])
    tokens = np.stack([np.cos(angles), np.sin(angles)], -1)
    assert list(cluster_history(tokens, np.array([0.01, 20.0, 1e4]), 8.0)) == [4, 2, 1]
