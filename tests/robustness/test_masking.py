"""Hidden gradients: zero where they hide, and the ways round them beside exact worst cases."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from deeptheory.robustness.attacks import ascend
from deeptheory.robustness.masking import expected_slopes, quantise, quantised_margin, straight_through
from deeptheory.robustness.threats import Threat

RNG = np.random.default_rng(0)
WEIGHTS, POINTS = RNG.standard_normal(4), RNG.random((6, 4))
SIGNS = np.array([1.0, -1, 1, -1, 1, -1])
THREAT = Threat(0.2, np.inf, 0.0, 1.0)


@pytest.mark.item("A18.9")
def test_rounding_hides_the_slope_and_the_straight_through_attack_reaches_the_exact_worst_case():
    def loss(points, see):
        return -SIGNS * (see(points) @ WEIGHTS + 0.1)

    def rounded(points):
        return quantise(points, 5)

    masked = ascend(lambda x: loss(x, rounded), POINTS, THREAT, steps=10)
    np.testing.assert_array_equal(masked.points, POINTS)
    through = ascend(lambda x: loss(x, straight_through(rounded)), POINTS, THREAT, steps=10)
    np.testing.assert_allclose(-through.values, quantised_margin(WEIGHTS, 0.1, POINTS, SIGNS, THREAT, 5), rtol=1e-12)


def test_three_levels_are_nought_a_half_and_one():
    np.testing.assert_array_equal(quantise(np.array([[0.0, 0.2, 0.3, 0.7, 0.8, 1.0]]), 3), [[0, 0, 0.5, 0.5, 1, 1]])


def test_the_least_quantised_margin_is_that_of_all_levels_in_reach():
    for point, sign, least in zip(POINTS, SIGNS, quantised_margin(WEIGHTS, 0.1, POINTS, SIGNS, THREAT, 6), strict=True):
        fine = np.clip(point[:, None] + np.linspace(-0.2, 0.2, 41), 0, 1)
        reach = [np.unique(np.round(5 * row) / 5) for row in fine]
        every = [sign * (np.array(choice) @ WEIGHTS + 0.1) for choice in itertools.product(*reach)]
        assert least == pytest.approx(min(every), rel=1e-12)


def test_straight_through_has_the_values_of_the_one_and_the_slope_of_the_other():
    see = straight_through(lambda x: quantise(x, 3))
    np.testing.assert_allclose(see(jnp.asarray(POINTS)), quantise(POINTS, 3), atol=1e-15)
    slope = jax.grad(lambda x: jnp.sum(see(x) @ WEIGHTS))(jnp.asarray(POINTS))
    np.testing.assert_allclose(slope, np.broadcast_to(WEIGHTS, (6, 4)))


def test_the_expected_slope_is_the_mean_of_the_slopes():
    masks = RNG.integers(0, 2, (5, 4)).astype(float)
    slopes = expected_slopes(lambda x, mask: (x * mask) @ WEIGHTS, masks)(POINTS)
    np.testing.assert_allclose(slopes, np.broadcast_to(masks.mean(0) * WEIGHTS, (6, 4)), rtol=1e-12)
