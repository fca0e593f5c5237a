import numpy as np
import pytest

from deeptheory.approximation.errors import certified_error, measured_error
from deeptheory.approximation.staircases import (
    hinge_error_bound,
    hinges,
    sigmoid_staircase,
    staircase,
    staircase_units,
    steps_at,
)

X = np.linspace(0, 1, 1001)


@pytest.mark.item("L3.2")
def test_a_staircase_has_the_value_at_the_last_knot():
    network = staircase(np.cos, 8, 0.0, 2.0)
    x = np.linspace(0, 2, 997)
    np.testing.assert_allclose(network(x[:, None]), np.cos(np.minimum(np.floor(x * 4), 7) / 4), atol=1e-12)
    assert network.units == 8


@pytest.mark.item("L3.2")
def test_thresholds_as_many_as_the_theorem_asks():
    def wave(x):
        return np.sin(2 * np.pi * x)

    assert staircase_units(2 * np.pi, 0.1) == 63
    assert certified_error(staircase(wave, 63), wave, 2 * np.pi, 0.0, 1.0) <= 0.1
    assert (staircase_units(3.0, 0.5, 2.0), staircase_units(0.0, 0.5)) == (12, 1)
    line = measured_error(
        staircase(lambda x: 3 * x, 12, 0.0, 2.0), lambda x: 3 * x[..., 0], np.zeros(1), np.full(1, 2.0)
    )
    np.testing.assert_allclose(line, 0.5, rtol=1e-12)


@pytest.mark.item("H1.3")
def test_hinges_join_points_of_the_graph_by_lines():
    network = hinges(np.exp, 6, -1.0, 1.0)
    x, knots = np.linspace(-1, 1, 301), np.linspace(-1, 1, 6)
    np.testing.assert_allclose(network(x[:, None]), np.interp(x, knots, np.exp(knots)), atol=1e-13)
    found = [
        measured_error(
            hinges(np.sin, n + 1, 0.0, 2 * np.pi), lambda x: np.sin(x[..., 0]), np.zeros(1), np.full(1, 2 * np.pi)
        )
        for n in (8, 16, 32, 64)
    ]
    np.testing.assert_allclose(found, [0.0704, 0.01885, 0.00479, 0.001203], rtol=2e-3)
    np.testing.assert_allclose(hinge_error_bound(1.0, 9, 2 * np.pi), 0.0771, rtol=1e-3)
    parabola = measured_error(hinges(lambda x: x**2, 9), lambda x: x[..., 0] ** 2, np.zeros(1), np.ones(1))
    np.testing.assert_allclose(parabola, hinge_error_bound(2.0, 9), rtol=1e-9)


@pytest.mark.item("H1.3")
def test_steep_sigmoids_are_steps_between_the_knots():
    knots = np.linspace(0, 1, 9)
    away = X[np.abs(X * 8 % 1 - 0.5) > 0.1]
    network = sigmoid_staircase(np.cos, 9, steepness=400.0)
    np.testing.assert_allclose(network(away[:, None]), np.cos(knots[np.rint(away * 8).astype(int)]), atol=1e-12)
    for build in (sigmoid_staircase, hinges):
        with pytest.raises(ValueError, match="at least 2"):
            build(np.cos, 1)
    with pytest.raises(ValueError, match="low must lie below high"):
        staircase(np.cos, 4, 1.0, 1.0)


def test_steps_of_sigmoids_stand_in_the_middle_between_knots():
    network = sigmoid_staircase(np.exp, 4, 0.0, 3.0, steepness=200.0)
    np.testing.assert_allclose(network(np.array([[0.5], [1.5], [2.5]])), (np.exp([0, 1, 2]) + np.exp([1, 2, 3])) / 2)
    np.testing.assert_allclose(network(np.array([[0.0], [1.0], [2.0], [3.0]])), np.exp([0, 1, 2, 3]))
    elsewhere = sigmoid_staircase(np.exp, 4, -2.0, 1.0, steepness=200.0)
    np.testing.assert_allclose(elsewhere(np.array([[-1.5], [0.5]])), (np.exp([-2, 0]) + np.exp([-1, 1])) / 2)


@pytest.mark.item("L3.2")
def test_steps_at_given_places_by_hand():
    network = steps_at(lambda x: x**2, np.array([0.0, 0.5, 0.75]))
    np.testing.assert_allclose(network.output, [0, 0.25, 0.3125], rtol=1e-15)
    np.testing.assert_allclose(network(np.array([[-0.1], [0.4], [0.5], [0.7], [2.0]])), [0, 0, 0.25, 0.25, 0.5625])
    with pytest.raises(ValueError, match="knots must increase"):
        steps_at(np.sin, np.array([0.0, 0.5, 0.5]))
