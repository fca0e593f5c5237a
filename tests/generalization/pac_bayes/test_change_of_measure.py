"""Divergences against SciPy, mpmath and sampled log-ratios; the change of measure against brute force."""

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import rel_entr
from scipy.stats import multivariate_normal

from deeptheory.generalization.pac_bayes.change_of_measure import (
    change_of_measure_gap,
    diagonal_gaussian_kl,
    flat_minimum_variances,
    gaussian_kl,
    gibbs_posterior,
    isotropic_gaussian_kl,
)


def test_gaussians_on_the_line_against_multiprecision_quadrature():
    for m, v, n, w in [(0.3, 0.5, -0.2, 1.7), (0.0, 2.0, 1.0, 0.4)]:

        def integrand(x, m=m, v=v, n=n, w=w):
            density = mpmath.exp(-((x - m) ** 2) / (2 * v)) / mpmath.sqrt(2 * mpmath.pi * v)
            return density * (mpmath.log(w / v) / 2 - (x - m) ** 2 / (2 * v) + (x - n) ** 2 / (2 * w))

        expected = float(mpmath.quad(integrand, [-mpmath.inf, m, mpmath.inf]))
        assert float(gaussian_kl(*map(np.array, ([m], [[v]], [n], [[w]])))) == pytest.approx(expected, rel=1e-10)
        assert float(diagonal_gaussian_kl(m, np.log(v), n, np.log(w))) == pytest.approx(expected, rel=1e-10)


def test_gaussians_in_space_against_sampled_ratios():
    rng = np.random.default_rng(1)
    roots = rng.standard_normal((2, 4, 4))
    first, second = roots @ roots.transpose(0, 2, 1) + 0.5 * np.eye(4)
    mean, other = rng.standard_normal((2, 4))
    points = rng.multivariate_normal(mean, first, 200_000)
    ratios = multivariate_normal(mean, first).logpdf(points) - multivariate_normal(other, second).logpdf(points)
    error = ratios.std() / np.sqrt(len(ratios))
    assert abs(float(gaussian_kl(mean, first, other, second)) - ratios.mean()) < 5 * error


def test_equal_widths_leave_the_shift():
    mean, other = np.array([1.0, -2.0, 0.5]), np.array([0.0, 1.0, 1.0])
    distance = np.linalg.norm(mean - other)
    expected = gaussian_kl(mean, 0.3 * np.eye(3), other, 0.3 * np.eye(3))
    assert float(isotropic_gaussian_kl(distance, 0.3)) == pytest.approx(float(expected), rel=1e-12)


def test_diagonal_divergence_is_accurate_for_nearly_equal_laws_and_differentiable():
    # ½(e^r − 1 − r) = r²/4 for a small ratio r of log-variances.
    assert float(diagonal_gaussian_kl(0.0, 1e-6, 0.0, 0.0)) == pytest.approx(2.5e-13, rel=1e-3)
    slope = jax.grad(lambda m: diagonal_gaussian_kl(m, jnp.zeros(3), jnp.zeros(3), jnp.log(2.0)))(jnp.ones(3))
    np.testing.assert_allclose(slope, 0.5, rtol=1e-12)


def test_gibbs_law_is_the_optimum_found_by_a_solver():
    rng = np.random.default_rng(2)
    prior, score = rng.dirichlet(np.ones(6)), rng.standard_normal(6)

    def objective(logits):
        law = np.exp(logits - np.logaddexp.reduce(logits))
        return -law @ score + rel_entr(law, prior).sum()

    found = minimize(objective, np.zeros(6), method="BFGS", options=dict(gtol=1e-9)).x
    law = np.exp(found - np.logaddexp.reduce(found))
    np.testing.assert_allclose(gibbs_posterior(prior, score), law, atol=1e-6)
    assert float(change_of_measure_gap(gibbs_posterior(prior, score), prior, score)) == pytest.approx(0, abs=1e-14)


def test_change_of_measure_is_never_violated():
    rng = np.random.default_rng(3)
    q, p = rng.dirichlet(np.full(5, 0.3), (2, 10_000)) + 1e-12
    q, p = q / q.sum(-1, keepdims=True), p / p.sum(-1, keepdims=True)
    score = 5 * rng.standard_normal((10_000, 5))
    gap = np.asarray(change_of_measure_gap(q, p, score))
    direct = rel_entr(q, p).sum(-1) + np.log((p * np.exp(score)).sum(-1)) - (q * score).sum(-1)
    np.testing.assert_allclose(gap, direct, atol=1e-11)
    assert gap.min() > -1e-12


def test_flat_directions_stay_wide():
    variances = flat_minimum_variances(np.array([0.0, 1.0, 100.0]), 0.5, 10.0)
    np.testing.assert_allclose(variances, [0.5, 1 / 12, 1 / 1002])
    with pytest.raises(ValueError, match="prior_variance must be positive"):
        flat_minimum_variances(np.ones(2), -1.0, 1.0)
