"""Nets and laws on few points: frequencies counted exactly, means by hand."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import chi, norm

from deeptheory.generative.finite_generators import (
    collapsed_law,
    feature_advantage,
    generated,
    point_generator,
    sample_detector,
    woken_units,
)


@pytest.mark.item("A16.16")
@pytest.mark.parametrize(("count", "dimension"), [(1, 3), (2, 1), (7, 4), (40, 9)])
def test_every_point_has_its_share_of_the_seeds(count, dimension):
    points = np.random.default_rng(count).standard_normal((count, dimension))
    net = point_generator(points)
    seeds = (np.arange(1000 * count) + 0.5) / (1000 * count)
    made = generated(net, seeds)
    expected = points[np.arange(1000 * count) // 1000]
    away = np.linalg.norm(made - expected, axis=1) > 1e-6 * (1 + np.abs(points).max())
    assert away.sum() == 0  # ramps are narrower than the distance of seeds from their edges
    assert net.parameters == 2 * (count - 1) * (dimension + 2) + dimension


def test_ramps_have_their_middles_where_the_shares_meet():
    points = np.random.default_rng(5).standard_normal((5, 2))
    halfway = generated(point_generator(points, ramp=0.05), np.arange(1, 5) / 5)
    np.testing.assert_allclose(halfway, (points[1:] + points[:-1]) / 2, atol=1e-12)


@pytest.mark.item("A16.13")
def test_a_detector_by_hand():
    sample = np.array([[2.0, 0.0], [0.0, 3.0]])
    np.testing.assert_allclose(sample_detector(sample, np.array([[1.0, 1.0], [0.4, 0.3]])), [3.0, 0.0])
    np.testing.assert_allclose(sample_detector(sample, np.array([[1.0, 1.0]]), level=2.5), [0.5])


@pytest.mark.item("A16.15", "A16.17")
def test_few_points_with_the_same_means():
    draw = np.random.default_rng(2)
    features, law = draw.standard_normal((60, 5)), draw.dirichlet(np.ones(60))
    few = collapsed_law(features, law)
    assert np.sum(few > 1e-12) <= 6
    np.testing.assert_allclose(few @ features, law @ features, atol=1e-10)
    assert feature_advantage(features, law, few) == pytest.approx(0, abs=1e-10)
    directions = draw.standard_normal((500, 5))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    other = draw.dirichlet(np.ones(60))
    searched = np.max(directions @ (features.T @ (other - law)))
    assert 0.5 * feature_advantage(features, law, other) < searched <= feature_advantage(features, law, other)


@pytest.mark.item("A16.13")
def test_units_that_a_fresh_point_wakes_by_quadrature_and_by_hand():
    """For d = 1 the ratio of two Gaussians is Cauchy's; else an integral over the length of a sample point."""
    assert woken_units(1, 1000, share=0.5) == pytest.approx(1000 * (0.5 - np.arctan(0.5) / np.pi))
    for d, share in ((4, 0.95), (30, 0.6)):
        mean, _ = quad(lambda r, d=d, share=share: chi.pdf(r, d) * norm.sf(share * r), 0, np.inf, epsabs=1e-15)
        assert woken_units(d, 10, share=share) == pytest.approx(10 * mean, rel=1e-6)
    sample = np.array([[1.0, 0.0], [0.0, 2.0]])
    levels = 0.5 * np.sum(sample**2, axis=1)
    np.testing.assert_allclose(sample_detector(sample, np.array([[1.0, 1.5], [0.0, 0.9]]), level=levels), [1.5, 0.0])
