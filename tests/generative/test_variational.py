import numpy as np
import pytest
from scipy.stats import multivariate_normal

from deeptheory.generative.variational import (
    LinearGaussian,
    best_isotropic_encoder,
    gaussian_gradient_estimates,
    isotropic_bound,
    isotropic_gap,
    linear_evidence,
    linear_posterior,
    mean_field_ascent,
    square_estimator_moments,
    table_bound,
    table_evidence,
    table_posterior,
)

MODEL = LinearGaussian(np.random.default_rng(0).standard_normal((6, 3)), 0.7)
POINTS = np.random.default_rng(1).standard_normal((4, 6))


def test_bounds_of_a_table_by_hand():
    joint, law = np.array([0.1, 0.3]), np.array([0.5, 0.5])
    by_hand = 0.5 * np.log(0.1) + 0.5 * np.log(0.3) + np.log(2)
    assert table_bound(joint, law) == pytest.approx(by_hand)
    assert table_evidence(joint) == pytest.approx(np.log(0.4))
    np.testing.assert_allclose(table_posterior(joint), [0.25, 0.75])
    assert table_bound(np.array([0.0, 0.4]), law) == -np.inf
    assert table_bound(np.array([0.0, 0.4]), np.array([0.0, 1.0])) == pytest.approx(np.log(0.4))


def test_evidence_and_posterior_of_a_linear_model():
    loadings, noise = MODEL
    law = multivariate_normal(np.zeros(6), loadings @ loadings.T + noise**2 * np.eye(6))
    np.testing.assert_allclose(linear_evidence(MODEL, POINTS), law.logpdf(POINTS), rtol=1e-12)
    means, precision = linear_posterior(MODEL, POINTS)
    # Bayes' rule at a point: p(x, z) = p(x) p(z | x).
    z = np.array([0.3, -0.2, 0.9])
    joint = multivariate_normal(loadings @ z, noise**2 * np.eye(6)).logpdf(POINTS[0]) - 0.5 * (
        z @ z + 3 * np.log(2 * np.pi)
    )
    posterior = multivariate_normal(means[0], np.linalg.inv(precision)).logpdf(z)
    assert joint == pytest.approx(law.logpdf(POINTS[0]) + posterior, rel=1e-12)


def test_the_best_round_encoder():
    means, variance = best_isotropic_encoder(MODEL, POINTS)
    best = isotropic_bound(MODEL, POINTS, means, variance)
    np.testing.assert_allclose(linear_evidence(MODEL, POINTS) - best, isotropic_gap(MODEL), rtol=1e-10)
    for factor in (0.97, 1.03):
        assert np.all(isotropic_bound(MODEL, POINTS, means, factor * variance) < best)
        assert np.all(isotropic_bound(MODEL, POINTS, means + factor - 1, variance) < best)
    # The bound against its definition, by samples of the hidden variable.
    z = means[0] + variance**0.5 * np.random.default_rng(2).standard_normal((50_000, 3))
    logs = multivariate_normal(np.zeros(6), 0.49 * np.eye(6)).logpdf(POINTS[0] - z @ MODEL.loadings.T)
    logs += multivariate_normal(np.zeros(3), np.eye(3)).logpdf(z)
    logs -= multivariate_normal(means[0], variance * np.eye(3)).logpdf(z)
    assert logs.mean() == pytest.approx(best[0], abs=6 * logs.std() / len(z) ** 0.5)


def test_more_hidden_than_seen_coordinates():
    wide = LinearGaussian(np.array([[1.0, 2.0, 0.5]]), 0.6)
    x = np.array([[0.7]])
    gap = linear_evidence(wide, x) - isotropic_bound(wide, x, *best_isotropic_encoder(wide, x))
    assert gap[0] == pytest.approx(isotropic_gap(wide), rel=1e-10)


def test_mean_field_finds_mean_and_inverse_diagonal():
    precision = np.array([[2.0, 0.8, 0.1], [0.8, 1.5, -0.3], [0.1, -0.3, 1.0]])
    centre, variances, trace = mean_field_ascent(np.array([1.0, -2.0, 0.5]), precision, sweeps=60)
    np.testing.assert_allclose(centre, [1.0, -2.0, 0.5], atol=1e-9)
    np.testing.assert_allclose(variances, 1 / np.diag(precision))
    assert np.all(np.diff(trace) <= 1e-12)
    assert trace[-1] == pytest.approx(0.5 * (np.log(np.diag(precision)).sum() - np.linalg.slogdet(precision)[1]))


def test_estimators_by_draws():
    noise = np.random.default_rng(3).standard_normal(400_000)
    both = gaussian_gradient_estimates(np.square, lambda z: 2 * z, 1.3, 1.0, noise)
    moments = square_estimator_moments(1.3, 1.0)
    for name in ("reparametrized", "score"):
        values = getattr(both, name)
        assert values[0].mean() == pytest.approx(2.6, abs=0.06)
        assert values[0].var() == pytest.approx(moments[name], rel=0.04)
        assert values[1].mean() == pytest.approx(2.0, abs=0.15)
    assert moments["score"] == pytest.approx(41.5161)
