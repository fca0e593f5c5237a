from itertools import product

import numpy as np
import pytest
from scipy.integrate import nquad

from deeptheory.approximation.boxes import (
    BoxNetwork,
    box_network,
    box_units,
    bump,
    bump_error,
    bump_error_bound,
    margin_for,
    piecewise_constant,
)
from deeptheory.approximation.errors import measured_error

RNG = np.random.default_rng(0)


def wave(x):
    return np.cos(3 * x[..., 0]) * x[..., 1]


@pytest.mark.item("L3.4")
def test_a_bump_is_one_on_its_box_and_nothing_beyond_the_margin():
    low, high, margin = np.array([0.2, -0.5, 0.1]), np.array([0.6, 0.3, 0.2]), 0.1
    x = RNG.uniform(-0.8, 0.9, size=(20_000, 3))
    far = np.maximum(np.maximum(low - x, x - high), 0)  # distance from the box in each coordinate
    expected = np.maximum(1 - np.minimum(far / margin, 1).sum(-1), 0)
    np.testing.assert_allclose(bump(x, low, high, margin), expected, atol=1e-12)


@pytest.mark.item("L3.4")
def test_what_a_bump_adds_in_one_two_and_three_dimensions():
    assert bump_error(np.array([0.3]), 0.1) == pytest.approx(0.1)  # two triangles
    sides, margin = np.array([0.3, 0.5]), 0.1
    corner = nquad(lambda s, t: max(0.0, 1 - s - t), [(0, 1), (0, 1)], opts={"limit": 20, "epsrel": 1e-4})[0]
    np.testing.assert_allclose(bump_error(sides, margin), 0.1 * (0.3 + 0.5) + 4 * margin**2 * corner, rtol=1e-4)
    assert bump_error_bound(sides, margin) == pytest.approx(0.5 * 0.7 - 0.3 * 0.5)
    sides = np.array([0.3, 0.5, 0.2])
    axes = [np.linspace(-0.1, side + 0.1, 81)[1:] - (side + 0.2) / 160 for side in sides]
    x = np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, 3)
    volume = np.prod(sides + 0.2)
    mean = bump(x, np.zeros(3), sides, 0.1).mean() * volume - np.prod(sides)
    np.testing.assert_allclose(bump_error(sides, 0.1), mean, rtol=2e-3)


@pytest.mark.item("L3.3")
def test_a_piecewise_constant_function_has_the_values_of_the_centres():
    low, high = np.array([-1.0, 0.0]), np.array([1.0, 3.0])
    h = piecewise_constant(wave, 5, low, high)
    x = RNG.uniform(low, high, size=(300, 2))
    centres = low + (np.floor((x - low) / (high - low) * 5) + 0.5) / 5 * (high - low)
    np.testing.assert_allclose(h(x), wave(centres), atol=1e-12)
    assert np.all(h(np.array([low, high])) != 0)  # the corners belong to boxes


@pytest.mark.item("L3.4")
def test_soft_boxes_cost_no_more_than_asked():
    heights, sides = np.array([1.0, -2.0, 0.5]), np.array([0.25, 0.5])
    margin = margin_for(0.01, heights, sides)
    np.testing.assert_allclose(3.5 * bump_error_bound(sides, margin), 0.01, rtol=1e-10)
    assert margin_for(0.01, np.zeros(3), sides) == np.inf
    low, high = np.zeros(2), np.ones(2)
    hard, soft = piecewise_constant(wave, 6, low, high), box_network(wave, 6, low, high, softness=0.02)
    cost = measured_error(hard, soft, low, high, norm="L1", points=61)
    assert 0 < cost <= 0.02 * np.abs(hard.heights).max()
    assert soft.units == 36 * 9


@pytest.mark.item("L3.5")
def test_units_are_counted_box_by_box():
    assert [box_units(d, 0.3) for d in (1, 2, 3)] == [5 * 4, 9 * 16, 13 * 64]
    network = box_network(wave, 4, np.zeros(2), np.ones(2))
    assert network.units == box_units(2, 0.25) == len(list(product(range(4), repeat=2))) * 9


def test_values_do_not_depend_on_how_many_points_are_asked_at_once():
    network = BoxNetwork(RNG.uniform(0, 0.4, size=(9, 2)), RNG.uniform(0.5, 1, size=(9, 2)), np.ones(9), 0.1)
    x = RNG.uniform(size=(50, 2))
    np.testing.assert_allclose(network(x), [float(network(point)) for point in x], atol=1e-13)


def test_knots_are_the_ends_of_boxes_and_of_their_margins():
    network = BoxNetwork(np.array([[0.0, 1.0]]), np.array([[0.5, 3.0]]), np.ones(1), 0.25)
    np.testing.assert_allclose(network.knots, [[-0.25, 0, 0.5, 0.75], [0.75, 1, 3, 3.25]])


@pytest.mark.parametrize("margin", [1e-300, 1e-16, 1e-9])
def test_a_bump_of_hardly_any_margin_is_one_on_its_box(margin):
    x = np.array([[0.5, 0.5], [0.0, 1.0], [1.5, 0.5], [1 / 3, 0.7]])
    np.testing.assert_array_equal(bump(x, np.zeros(2), np.ones(2), margin), [1, 1, 0, 1])


def test_boxes_of_any_size_have_a_margin_and_too_many_are_refused():
    def first(x):
        return x[:, 0]

    sides = np.full(2, 1e-100)
    assert box_network(first, 3, np.zeros(2), sides).margin == pytest.approx(
        1e-100 * box_network(first, 3, np.zeros(2), np.ones(2)).margin, rel=1e-9
    )
    with pytest.raises(ValueError, match="the number of boxes must lie in"):
        piecewise_constant(first, 10**4, np.zeros(2), np.ones(2))
