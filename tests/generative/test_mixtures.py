import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

from deeptheory.generative.mixtures import (
    crabs,
    decoded,
    encoded,
    expectation_maximization,
    gaussian_mixture,
    line_mixture_cdf,
    log_density,
    pearson_mixture,
    responsibilities,
    sample_mixture,
)

MIXTURE = gaussian_mixture(
    np.array([0.3, 0.7]),
    np.array([[-1.0, 0.5], [1.0, 0.0]]),
    np.array([[[0.5, 0.2], [0.2, 0.3]], [[1.0, 0], [0, 0.4]]]),
)


@pytest.mark.item("A14.1")
def test_density_and_posterior_by_bayes():
    points = np.random.default_rng(0).standard_normal((20, 2))
    parts = np.stack(
        [
            w * multivariate_normal(m, c).pdf(points)
            for w, m, c in zip(MIXTURE.weights, MIXTURE.means, MIXTURE.covariances, strict=True)
        ],
        1,
    )
    np.testing.assert_allclose(np.exp(log_density(MIXTURE, points)), parts.sum(1), rtol=1e-12)
    np.testing.assert_allclose(responsibilities(MIXTURE, points), parts / parts.sum(1, keepdims=True), rtol=1e-12)
    axis = np.linspace(-8, 8, 161)
    grid = np.stack(np.meshgrid(axis, axis), -1).reshape(-1, 2)
    assert np.exp(log_density(MIXTURE, grid)).sum() * 0.01 == pytest.approx(1, abs=1e-9)


def test_draws_have_the_moments_of_the_mixture():
    draw = np.random.default_rng(1)
    points = sample_mixture(draw, MIXTURE, 40_000)
    again = decoded(draw, MIXTURE, encoded(draw, MIXTURE, points))
    mean = MIXTURE.weights @ MIXTURE.means
    second = np.einsum(
        "k,kij->ij", MIXTURE.weights, MIXTURE.covariances + MIXTURE.means[:, :, None] * MIXTURE.means[:, None]
    )
    for sample in (points, again):
        np.testing.assert_allclose(sample.mean(0), mean, atol=0.04)
        np.testing.assert_allclose(sample.T @ sample / len(sample), second, atol=0.06)


def test_the_likelihood_climbs_to_a_stationary_point():
    points = sample_mixture(np.random.default_rng(2), MIXTURE, 2000)
    fit, trace = expectation_maximization(MIXTURE, points, steps=300, floor=0.0)
    assert np.all(np.diff(trace) >= -1e-12)
    # No small change of a mean does better, to first order.
    for k in range(2):
        for i in range(2):
            slopes = []
            for sign in (1, -1):
                means = fit.means.copy()
                means[k, i] += sign * 1e-5
                slopes.append(log_density(fit._replace(means=means), points).mean())
            assert abs(slopes[0] - slopes[1]) / 2e-5 < 1e-3


def test_pearson_finds_the_mixture_that_made_the_moments():
    # Quantiles of a fine grid have the moments of the mixture but for the tails.
    truth = gaussian_mixture(np.array([0.4, 0.6]), np.array([[-2.0], [1.0]]), np.array([[[0.5]], [[1.0]]]))
    x = np.linspace(-9, 9, 400_001)
    cdf = line_mixture_cdf(truth, x)
    np.testing.assert_allclose(cdf, 0.4 * norm.cdf((x + 2) / 0.5**0.5) + 0.6 * norm.cdf(x - 1), atol=1e-12)
    points = np.interp((np.arange(200_000) + 0.5) / 200_000, cdf, x)
    found = pearson_mixture(points)
    np.testing.assert_allclose(found.weights, truth.weights, atol=2e-3)
    np.testing.assert_allclose(found.means, truth.means, atol=5e-3)
    np.testing.assert_allclose(found.covariances, truth.covariances, atol=1e-2)


def test_the_crabs_are_a_thousand():
    ratios = crabs()
    assert len(ratios) == 1000
    # Pearson's (1894) means are 0.6326 and 0.6566 with 41 % in the first; he corrected his moments for the classes.
    found = pearson_mixture(ratios)
    np.testing.assert_allclose(found.means[:, 0], [0.6326, 0.6566], atol=1e-3)
    assert found.weights[0] == pytest.approx(0.4145, abs=0.02)


def test_what_is_no_density_is_refused():
    with pytest.raises(ValueError, match="the sum of weights"):
        gaussian_mixture(np.array([0.5, 0.6]), np.zeros((2, 1)), np.ones((2, 1, 1)))
    with pytest.raises(ValueError, match="least eigenvalue"):
        gaussian_mixture(np.ones(1), np.zeros((1, 2)), np.ones((1, 2, 2)))
    with pytest.raises(ValueError, match="no mixture of two Gaussians"):
        pearson_mixture(np.array([-5.0, -1.0, 0.0, 0.0, 0.0, 1.0, 5.0]))  # symmetric with heavy tails
