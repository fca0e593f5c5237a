import numpy as np
import pytest
from scipy.integrate import quad

from deeptheory.approximation.boxes import BoxNetwork
from deeptheory.approximation.errors import best_in_span, certified_error, grid_points, measured_error, sampled
from deeptheory.approximation.shallow import ShallowNetwork
from deeptheory.approximation.staircases import hinges, sigmoid_staircase, staircase
from deeptheory.foundations.activations import relu

ZERO, ONE = np.zeros(1), np.ones(1)


@pytest.mark.item("L3.1")
def test_norms_of_a_difference_are_those_of_quadrature():
    def gap(x):
        return np.sin(5 * x) - x**2

    f, g = (lambda x: np.sin(5 * x[..., 0])), (lambda x: x[..., 0] ** 2)
    found = [measured_error(f, g, ZERO, 2 * ONE, norm=norm, points=4001) for norm in ("L1", "L2", "sup")]
    mean = quad(lambda x: abs(gap(x)), 0, 2, points=[0.55, 1.2, 1.9], limit=200)[0] / 2
    square = quad(lambda x: gap(x) ** 2, 0, 2)[0] / 2
    np.testing.assert_allclose(found, [mean, np.sqrt(square), np.abs(gap(np.linspace(0, 2, 10**6))).max()], rtol=1e-5)
    assert found[0] < found[1] < found[2]


def test_thin_edges_and_jumps_are_seen_on_a_coarse_grid():
    thin = BoxNetwork(np.array([[0.25, 0.25]]), np.array([[0.2501, 0.75]]), np.array([1000.0]), 0.0)
    found = measured_error(thin, lambda x: 0 * x[..., 0], np.zeros(2), np.ones(2), norm="L1", points=3)
    np.testing.assert_allclose(found, 1000 * 1e-4 * 0.5, rtol=1e-9)
    steps = staircase(lambda x: x, 10)
    found = measured_error(steps, lambda x: x[..., 0], ZERO, ONE, points=2)
    np.testing.assert_allclose(found, 0.1, rtol=1e-12)


def test_a_certificate_is_above_every_measurement_and_near_it():
    def f(x):
        return np.sin(7 * x) + np.abs(x - 0.4)

    for network in (hinges(f, 12), staircase(f, 30)):
        fine = measured_error(network, lambda x: f(x[..., 0]), ZERO, ONE, points=200_001)
        certified = certified_error(network, f, 8.0, 0.0, 1.0)
        assert fine <= certified <= fine + 8.0 * 2 / 4096
    with pytest.raises(ValueError, match="thresholds or ReLUs"):
        certified_error(sigmoid_staircase(f, 5), f, 8.0, 0.0, 1.0)


def test_a_unit_that_agrees_with_relu_where_it_was_looked_at_is_not_taken_for_one():
    # clip(z, 0, 6) has the values of ReLU at −2, −1, 1, 2 and bends at 6, which is no knot.
    steep = ShallowNetwork(20 * ONE[:, None], ZERO, ONE, lambda z: np.clip(z, 0, 6))
    with pytest.raises(ValueError, match="thresholds or ReLUs"):
        certified_error(steep, lambda x: 20 * x, 20.0, 0.0, 1.0)


def test_a_certificate_of_a_line_is_what_was_worked_out_by_hand():
    # One ReLU, 2x, against x on [0, 1] in one cell: errors 0 and 1 at its ends, so 1/2 + (2 + 1)/2 = 2 inside.
    double = ShallowNetwork(ONE[:, None], ZERO, 2 * ONE, relu)
    found = [certified_error(double, lambda x: x, 1.0, 0.0, 1.0, norm=n, cells=1) for n in ("sup", "L1", "L2")]
    np.testing.assert_allclose(found, 2.0, rtol=1e-12)
    # In two cells the bounds are 1/4 + 3/4 and 3/4 + 3/4.
    found = [certified_error(double, lambda x: x, 1.0, 0.0, 1.0, norm=n, cells=2) for n in ("sup", "L1", "L2")]
    np.testing.assert_allclose(found, [1.5, 1.25, np.sqrt((1 + 2.25) / 2)], rtol=1e-12)


@pytest.mark.item("L3.1")
def test_the_best_combination_is_chebyshevs_and_legendres():
    # x³ on [−1, 1] from 1, x, x²: nearest in sup at distance 1/4, in L2 (mean square) at √(4/175).
    x = np.cos(np.pi * np.arange(361) / 360)
    features = np.stack([np.ones_like(x), x, x**2], 1)
    best = best_in_span(features, x**3)
    np.testing.assert_allclose(best.error, 1 / 4, rtol=1e-9)
    np.testing.assert_allclose(best.coefficients, [0, 3 / 4, 0], atol=1e-6)
    even = grid_points(-ONE, ONE, 4001, ends=False)[:, 0]
    features = np.stack([np.ones_like(even), even, even**2], 1)
    np.testing.assert_allclose(best_in_span(features, even**3, norm="L2").error, np.sqrt(4 / 175), rtol=1e-5)
    # The nearest constant in L1 is a median.
    values = np.array([0.0, 1.0, 5.0, 6.0, 30.0])
    best = best_in_span(np.ones((5, 1)), values, norm="L1")
    np.testing.assert_allclose([best.coefficients[0], best.error], [5, (5 + 4 + 1 + 25) / 5], atol=1e-9)


@pytest.mark.item("L3.1")
def test_more_units_never_take_one_further_away():
    rng, x = np.random.default_rng(1), np.linspace(0, 1, 101)
    features = np.tanh(4 * np.outer(x, rng.normal(size=12)) + rng.normal(size=12))
    found = [best_in_span(features[:, :m], np.cos(6 * x)).error for m in range(1, 13)]
    assert np.all(np.diff(found) <= 1e-9)


def test_values_that_are_no_numbers_are_refused():
    with pytest.raises(ValueError, match="one number a point"):
        sampled(lambda x: x[:2], np.ones(4))
    with pytest.raises(ValueError, match="finite"):
        sampled(lambda x: np.inf * x, np.ones(4))
    with pytest.raises(ValueError, match="coordinates"):
        measured_error(ShallowNetwork(np.ones((1, 2)), ONE, ONE, np.tanh), lambda x: x[..., 0], ZERO, ONE)


@pytest.mark.parametrize("norm", ["sup", "L1", "L2"])
def test_the_combination_of_features_has_the_error_it_is_said_to_have(norm):
    x = np.linspace(-1, 2, 41)
    features, target = np.stack([1 + 0 * x, 3 * x, x + x**2], 1), np.exp(x)
    found = best_in_span(features, target, norm=norm)
    gap = np.abs(features @ found.coefficients - target)
    said = {"sup": gap.max(), "L1": gap.mean(), "L2": np.sqrt(np.mean(gap**2))}
    assert found.error == pytest.approx(said[norm], rel=1e-9)


@pytest.mark.parametrize("unit", [1e-300, 1e-8, 1e20, 1e300])
@pytest.mark.parametrize("norm", ["sup", "L1", "L2"])
def test_the_best_combination_does_not_depend_on_the_unit(unit, norm):
    features, target = np.arange(1.0, 5)[:, None], np.array([1.0, 1.0, 2.0, 5.0])
    one, other = best_in_span(features, target, norm=norm), best_in_span(features, unit * target, norm=norm)
    np.testing.assert_allclose(other.coefficients / unit, one.coefficients, rtol=1e-9)
    assert other.error / unit == pytest.approx(one.error)
