import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import chi2, multivariate_normal, norm

from deeptheory.generative.likelihoods import (
    atoms_mixture,
    bits_per_dimension,
    expected_fit_divergence,
    expected_likelihood_gap,
    gaussian_fit,
    gaussian_log_likelihood,
    isotropic_fit,
    kolmogorov_distance_to_normal,
    spiked_mixture,
)
from deeptheory.generative.mixtures import log_density


def test_fits_have_the_highest_likelihood():
    points = np.random.default_rng(0).standard_normal((40, 3)) * [1.0, 2.0, 0.5]
    for fitted in (gaussian_fit(points), isotropic_fit(points)):
        best = gaussian_log_likelihood(fitted, points)
        by_scipy = multivariate_normal(fitted.mean, fitted.covariance).logpdf(points).mean()
        assert best == pytest.approx(by_scipy, rel=1e-12)
        for factor in (0.98, 1.02):
            assert gaussian_log_likelihood(fitted._replace(covariance=factor * fitted.covariance), points) < best
            assert gaussian_log_likelihood(fitted._replace(mean=fitted.mean + factor - 1), points) < best
    assert bits_per_dimension(-3 * np.log(2), 3) == pytest.approx(1)


@pytest.mark.item("A14.5")
def test_means_over_fits_on_the_line():
    # For d = 1: (n/χ²)(1 + 1/n) with χ² of n − 1 degrees, integrated over its density.
    n = 9
    inverse = quad(lambda u: n / u * (1 + 1 / n) * chi2.pdf(u, n - 1), 0, 200)[0]
    logs = quad(lambda u: np.log(u / n) * chi2.pdf(u, n - 1), 0, 200)[0]
    assert expected_likelihood_gap(n, 1) == pytest.approx((inverse - 1) / 2, rel=1e-7)
    assert expected_fit_divergence(n, 1) == pytest.approx((inverse - 1 + logs) / 2, rel=1e-7)


def test_spikes_and_atoms():
    mixture = spiked_mixture(np.array([0.3]), 0.01)
    expected = 0.5 * norm.pdf(0.31) + 0.5 * norm(0.3, 0.01).pdf(0.31)
    assert np.exp(log_density(mixture, np.array([[0.31]])))[0] == pytest.approx(expected, rel=1e-12)
    assert kolmogorov_distance_to_normal(atoms_mixture(1, 1.0)) < 1e-12
    assert kolmogorov_distance_to_normal(atoms_mixture(2, 1e-7)) == pytest.approx(0.25, abs=1e-5)


def test_too_few_points_are_refused():
    with pytest.raises(ValueError, match="samples must"):
        expected_likelihood_gap(4, 2)
    with pytest.raises(ValueError, match="the number of points"):
        gaussian_fit(np.zeros((2, 2)))
