"""Lengths and distances of a Gaussian and a ball against sampling and direct integration."""

import mpmath
import numpy as np
import pytest
from scipy.integrate import dblquad, quad
from scipy.stats import chi, norm

from deeptheory.robustness.gaussian_ball import (
    ball_marginal_cdf,
    ball_marginal_total_variation,
    ball_total_variation,
    gaussian_length_moments,
)


@pytest.mark.item("A18.16")
@pytest.mark.parametrize("dimension", [1, 2, 5, 50])
def test_length_moments(dimension):
    mean, deviation = gaussian_length_moments(dimension)
    assert mean == pytest.approx(chi.mean(dimension) / np.sqrt(dimension), rel=1e-10)
    assert deviation == pytest.approx(chi.std(dimension) / np.sqrt(dimension), rel=1e-8)


@pytest.mark.item("A18.16")
def test_total_variation_by_integration():
    # d = 1: ½∫|φ − 1/2·1{|t| ≤ 1}|; d = 2: over the plane.
    line = quad(lambda t: 0.5 * abs(norm.pdf(t) - 0.5 * (abs(t) <= 1)), -12, 12, points=[-1, 1], limit=200)[0]
    assert ball_total_variation(1) == pytest.approx(line, abs=1e-8)
    assert ball_marginal_total_variation(1) == pytest.approx(line, abs=1e-6)
    radius = np.sqrt(2)
    plane = dblquad(
        lambda r, a: 0.5 * r * abs(np.exp(-r * r / 2) / (2 * np.pi) - (r <= radius) / (2 * np.pi)),
        0,
        2 * np.pi,
        0,
        radius,
    )[0]
    outside = 0.5 * np.exp(-1)
    assert ball_total_variation(2) == pytest.approx(plane + outside, abs=1e-8)


@pytest.mark.item("A18.16")
def test_marginal_of_the_ball_by_its_density():
    for dimension in (2, 3, 20):
        radius = np.sqrt(dimension)
        volume = quad(lambda t, d=dimension, r=radius: (1 - t * t / r / r) ** ((d - 1) / 2), -radius, radius)[0]
        inside = quad(
            lambda t, d=dimension, r=radius, v=volume: (
                0.5 * abs((1 - t * t / r / r) ** ((d - 1) / 2) / v - norm.pdf(t))
            ),
            -radius,
            radius,
            limit=400,
        )[0]
        assert ball_marginal_total_variation(dimension) == pytest.approx(inside + norm.sf(radius), abs=1e-6)


@pytest.mark.item("A18.16")
def test_marginal_distribution_in_three_dimensions():
    # The density of a coordinate is ¾(1 − t²/3)/√3 on |t| ≤ √3.
    t = np.linspace(-2, 2, 9)
    inner = np.clip(t, -np.sqrt(3), np.sqrt(3))
    expected = 0.5 + 0.75 / np.sqrt(3) * (inner - inner**3 / 9)
    np.testing.assert_allclose(ball_marginal_cdf(t, 3), expected, atol=1e-13)


@pytest.mark.item("A18.16")
def test_marginal_distribution_in_one_and_two_dimensions_and_its_slope():
    # d = 1 is uniform on [−1, 1]; on the disc of radius √2 the density is √(2 − t²)/π.
    t = np.linspace(-1.4, 1.4, 29)
    np.testing.assert_allclose(ball_marginal_cdf(t, 1), np.clip((t + 1) / 2, 0, 1), atol=1e-13)
    expected = 0.5 + (t * np.sqrt(2 - t * t) / 2 + np.arcsin(t / np.sqrt(2))) / np.pi
    np.testing.assert_allclose(ball_marginal_cdf(t, 2), expected, atol=1e-13)
    t = t[np.abs(t) < 1.3]
    slope = (ball_marginal_cdf(t + 1e-5, 2) - ball_marginal_cdf(t - 1e-5, 2)) / 2e-5
    np.testing.assert_allclose(slope, np.sqrt(2 - t * t) / np.pi, rtol=1e-7)


@pytest.mark.item("A18.16")
def test_distances_that_have_a_closed_form():
    # The ball's density lies above the Gaussian's all over the ball for d ≤ 2: what is left is the Gaussian outside.
    assert ball_total_variation(1) == pytest.approx(2 * norm.sf(1), rel=1e-12)
    assert ball_marginal_total_variation(1) == pytest.approx(2 * norm.sf(1), rel=1e-7)
    assert ball_total_variation(2) == pytest.approx(np.exp(-1), rel=1e-12)


@pytest.mark.parametrize("dimension", [3, 1999, 2000, 10**6, 10**9, 10**12])
def test_lengths_in_any_dimension(dimension):
    with mpmath.workdps(60):
        half = mpmath.mpf(dimension) / 2
        mean = mpmath.gammaprod([half + mpmath.mpf("0.5")], [half]) / mpmath.sqrt(half)
        found = gaussian_length_moments(dimension)
        assert abs(found[0] / mean - 1) < 1e-11
        assert abs(found[1] / mpmath.sqrt(1 - mean**2) - 1) < 1e-8


def test_distances_do_not_fade_into_rounding_in_high_dimension():
    """Gaussian and ball stay apart, by all but about 1/√(πd) and a little; their coordinates meet like 1/d."""
    before, near, far = (ball_total_variation(dimension) for dimension in (1998, 1999, 2000))
    assert far - near == pytest.approx(near - before, rel=1e-2)
    assert ball_total_variation(10**17) == pytest.approx(1.0, abs=1e-6)
    scaled = [10**power * ball_marginal_total_variation(10**power) for power in (5, 6, 7, 12, 16)]
    assert scaled == pytest.approx([scaled[1]] * 5, rel=1e-3)
