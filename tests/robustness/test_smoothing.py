"""Smoothing against closed forms, enumeration and sampling."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ndtr, ndtri
from scipy.stats import binom, norm

from deeptheory.foundations.binomial import clopper_pearson_lower, clopper_pearson_upper
from deeptheory.robustness.smoothing import (
    abstention_probability,
    boundary_distance,
    certificate_failure_probability,
    certified_radius,
    certify,
    gaussian_draws,
    gaussian_grid,
    halfspace_probability,
    shared_votes,
    smoothed_field,
    smoothed_probability_bound,
    smoothed_value_and_gradient,
    votes,
    worst_profile,
)


@pytest.mark.item("A18.11")
def test_votes_of_a_half_space(key):
    weights, point = np.array([1.0, -2.0, 0.5]), np.array([0.3, 0.1, -0.2])
    predicted = float(halfspace_probability(weights, 0.1, point, 0.7))
    counts = votes(key, lambda x: (x @ weights + 0.1 > 0).astype(int), point, beta=0.7, samples=20000)[0]
    assert counts.sum() == 20000
    assert abs(counts[1] / 20000 - predicted) < 5 * np.sqrt(predicted * (1 - predicted) / 20000)


@pytest.mark.item("A18.12", "A18.13")
def test_half_spaces_attain_the_bound_and_the_radius_is_their_distance():
    weights, point, bias = np.array([3.0, 4.0]), np.array([0.2, 0.1]), 0.4
    direction, distance = weights / 5, (point @ weights + bias) / 5
    for beta in (0.1, 1.0, 5.0):
        top = float(halfspace_probability(weights, bias, point, beta))
        moved = float(halfspace_probability(weights, bias, point - 0.3 * direction, beta))
        assert float(smoothed_probability_bound(top, 0.3, beta)) == pytest.approx(moved, abs=1e-12)
        assert float(certified_radius(top, 1 - top, beta)) == pytest.approx(distance, rel=1e-9)


@pytest.mark.item("A18.13")
def test_the_radius_depends_on_the_runner_up_and_not_on_the_rest():
    # A first label up to z = 1, another from z = 4 on, a third between: the first two tie half-way, at 5/2.
    for beta in (0.5, 1.0, 2.0):
        top, runner_up = ndtr(1 / beta), ndtr(-4 / beta)
        assert float(certified_radius(top, runner_up, beta)) == pytest.approx(2.5, rel=1e-9)
        assert ndtr((1 - 2.5) / beta) == pytest.approx(ndtr((2.5 - 4) / beta))


@pytest.mark.item("A18.13")
def test_lower_limit_and_its_failure_probability_by_direct_summation():
    for count in (1, 7, 50):
        limit = float(clopper_pearson_lower(count, 50, 0.05))
        assert binom.sf(count - 1, 50, limit) == pytest.approx(0.05, rel=1e-9)
    assert float(clopper_pearson_lower(0, 50, 0.05)) == 0.0
    assert binom.cdf(7, 50, float(clopper_pearson_upper(7, 50, 0.05))) == pytest.approx(0.05)
    assert float(clopper_pearson_upper(50, 50, 0.05)) == 1.0
    for p in (0.03, 0.5, 0.91):
        wrong = [k for k in range(31) if float(clopper_pearson_lower(k, 30, 0.1)) > p]
        expected = binom.pmf(wrong, 30, p).sum() if wrong else 0.0
        assert float(certificate_failure_probability(p, 30, 0.1)) == pytest.approx(expected, abs=1e-14)


def test_certificate_abstains_without_a_majority():
    selection, counts = np.array([[5, 6], [0, 9]]), np.array([[50, 50], [0, 100]])
    labels, radii = certify(selection, counts, beta=0.5, delta=0.05)
    np.testing.assert_array_equal(labels, [-1, 1])
    np.testing.assert_allclose(radii, [0.0, 0.5 * ndtri(0.05 ** (1 / 100))], rtol=1e-9)


@pytest.mark.item("A18.15")
@pytest.mark.parametrize(("trials", "delta"), [(7, 0.01), (10, 0.05), (20, 0.01), (33, 0.2)])
def test_abstention_by_asking_every_count(trials, delta):
    """The chance by summing over counts whose certificate is refused; of seven votes at 1 % only seven will do."""
    counts = np.stack([np.arange(trials + 1), trials - np.arange(trials + 1)], axis=1)
    silent = certify(np.broadcast_to([1, 0], counts.shape), counts, beta=1.0, delta=delta).label < 0
    for p in (0.3, 0.5, 0.62, 0.99):
        expected = binom.pmf(np.flatnonzero(silent), trials, p).sum()
        assert float(abstention_probability(p, trials, delta)) == pytest.approx(expected, rel=1e-9)
    assert float(abstention_probability(0.9, 7, 0.01)) == pytest.approx(1 - 0.9**7)
    assert float(abstention_probability(1.0, 6, 0.01)) == 1.0


@pytest.mark.item("A18.11")
def test_plurality_of_three_labels(key):
    def sectors(x):
        return ((np.arctan2(x[:, 1], x[:, 0]) + np.pi) // (2 * np.pi / 3)).astype(int) % 3

    counts = votes(key, sectors, np.zeros(2), beta=1.0, samples=500, repeats=60, labels=3)
    assert counts.shape == (60, 3) and np.all(counts.sum(1) == 500)
    np.testing.assert_allclose(counts.mean(0) / 500, 1 / 3, atol=5 * np.sqrt(2 / 9 / 30000))


def test_distance_to_the_boundary_of_a_disc():
    x = np.arange(-60, 61) * 0.05
    radius = np.hypot(x[:, None], x)
    np.testing.assert_allclose(boundary_distance(radius < 2, 0.05), np.abs(radius - 2), atol=0.071)


@pytest.mark.item("A18.14")
def test_worst_profile_is_a_threshold():
    p, shift = 0.8, 0.7
    edges = np.sort(np.append(np.linspace(-4, 4, 81), ndtri(p)))
    profile, value = worst_profile(edges, p, shift)
    assert value == pytest.approx(float(smoothed_probability_bound(p, shift, 1.0)), abs=1e-9)
    np.testing.assert_allclose(profile, np.append(-np.inf, edges) < ndtri(p) - 1e-12, atol=1e-7)


@pytest.mark.item("A18.17")
def test_gradient_by_stein_and_by_differentiation(key):
    def bounded(x):
        return jnp.tanh(x @ jnp.array([1.0, -0.5]) + 0.3 * jnp.sin(x[:, 0] * x[:, 1]))

    nodes, weights = gaussian_grid(2, 140)
    point = np.array([0.2, -0.4])
    _, gradient = smoothed_value_and_gradient(bounded, point, 0.8, nodes, weights)
    direct = jax.grad(lambda x: jnp.sum(weights * bounded(x + 0.8 * nodes)))(jnp.asarray(point))
    np.testing.assert_allclose(gradient, direct, rtol=1e-8)
    drawn = smoothed_value_and_gradient(bounded, point, 0.8, *gaussian_draws(key, 2, 40000))[1]
    np.testing.assert_allclose(gradient, drawn, atol=0.03)


@pytest.mark.item("A18.17")
def test_the_sign_of_a_half_space_has_the_largest_gradient():
    # E[|z|] = √(2/π): Stein's identity at the boundary of a half-space, by adaptive quadrature.
    value = quad(lambda z: np.sign(z) * z * norm.pdf(z), -12, 12, points=[0.0])[0]
    assert value == pytest.approx(np.sqrt(2 / np.pi), rel=1e-12)


def test_field_of_a_half_plane():
    spacing, beta = 0.05, 0.4
    x = np.arange(-2, 2 + spacing / 2, spacing) + 0.025
    field = smoothed_field((x[:, None] > 0) * np.ones((1, len(x))), spacing, beta)
    np.testing.assert_allclose(field[:, 40], ndtr(x / beta), atol=1e-12)


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="beta must be positive, got -1"):
        certified_radius(0.9, 0.1, -1.0)
    with pytest.raises(ValueError, match=r"dimension must lie in \[1, 4\]"):
        gaussian_grid(7, 10)


@pytest.mark.parametrize("count", [1, 127, 128, 200, 256])  # below, at and above the rows that are read at once
def test_votes_with_shared_draws_are_those_of_a_loop(count):
    rng = np.random.default_rng(7)
    weights, points, draws = rng.standard_normal((3, 4)), rng.standard_normal((5, 4)), rng.standard_normal((count, 4))
    counted = shared_votes(lambda x: x @ weights.T, points, draws, 0.7)
    answers = [np.argmax((point + 0.7 * draws) @ weights.T, axis=1) for point in points]
    np.testing.assert_array_equal(counted, [np.bincount(each, minlength=3) for each in answers])


def test_too_few_draws_are_refused():
    """Nine votes of nine show no share above one half at δ = 0.001, since 2⁻⁹ > 0.001; ten of ten do."""
    ten = certify(np.array([[10, 0]]), np.array([[10, 0]]), beta=1.0, delta=0.001)
    assert ten.label[0] == 0 and ten.radius[0] > 0
    with pytest.raises(ValueError, match="the votes in each row of counts must be at least 10"):
        certify(np.array([[10, 0]] * 2), np.array([[10, 0], [9, 0]]), beta=1.0, delta=0.001)
    with pytest.raises(ValueError, match="the votes in each row of counts must be at least 2,"):
        certify(np.array([[1, 0]]), np.array([[1, 0]]), beta=1.0, delta=0.5)
    with pytest.raises(ValueError, match="the votes in each row of selection must be at least 1"):
        certify(np.array([[0, 0]]), np.array([[10, 0]]), beta=1.0, delta=0.5)
    with pytest.raises(ValueError, match="the votes in each row of counts must be at least 2,"):
        certify(np.array([[1, 0]]), np.array([[0, 0]]), beta=1.0, delta=0.5)
