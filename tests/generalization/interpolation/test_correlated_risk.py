"""Risks on correlated features against closed forms, dense algebra, numerical minimisation and drawn designs."""

import numpy as np
import pytest
import scipy.optimize

from deeptheory.foundations.filters import ridge_filter, spectral_operator
from deeptheory.foundations.randomness import generator
from deeptheory.generalization.interpolation import correlated_risk as cr
from deeptheory.generalization.interpolation.ridge_risk import (
    limiting_ridge_bias_variance,
    optimal_ridge,
    optimal_ridge_risk,
)
from deeptheory.generalization.interpolation.ridgeless import bias_variance_of_operator, limiting_bias_variance

ISOTROPIC = cr.Population(np.ones(1), np.ones(1), np.ones(1))
PEOPLE = cr.Population(np.array([0.5, 3.0]), np.array([0.6, 0.4]), np.array([0.1, 0.9]))


@pytest.mark.parametrize("gamma", (0.2, 0.9, 1.0, 1.1, 4.0))
def test_isotropic_features_are_a_special_case(gamma):
    ridge = np.geomspace(1e-3, 10, 5)
    found = cr.correlated_bias_variance(ISOTROPIC, gamma, ridge, signal=2.0, noise=0.3)
    known = limiting_ridge_bias_variance(gamma, ridge, signal=2.0, noise=0.3)
    np.testing.assert_allclose(found.bias, known.bias, rtol=1e-12)
    # The closed form of the variance cancels for small ridges.
    np.testing.assert_allclose(found.variance, known.variance, rtol=1e-11)
    ridgeless = cr.correlated_bias_variance(ISOTROPIC, gamma, signal=2.0, noise=0.3)
    np.testing.assert_allclose(ridgeless, limiting_bias_variance(gamma, signal=2.0, noise=0.3), rtol=1e-12)
    tuned = cr.correlated_optimal_risk(np.ones(1), np.ones(1), gamma, signal=2.0, noise=0.3)
    assert tuned == pytest.approx(float(optimal_ridge_risk(gamma, signal=2.0, noise=0.3)), rel=1e-12)


def test_repeated_eigenvalues_and_units_do_not_matter():
    split = cr.Population(np.array([0.5, 0.5, 3.0]), np.array([0.2, 0.4, 0.4]), np.array([0.1, 0.0, 0.9]))
    for gamma, ridge in ((0.5, 0.2), (2.0, 0.0)):
        whole = cr.correlated_bias_variance(PEOPLE, gamma, ridge, signal=1.0, noise=0.3)
        np.testing.assert_allclose(
            cr.correlated_bias_variance(split, gamma, ridge, signal=1.0, noise=0.3), whole, rtol=1e-13
        )
        scaled = cr.Population(4 * PEOPLE.eigenvalues, *PEOPLE[1:])
        np.testing.assert_allclose(
            cr.correlated_bias_variance(scaled, gamma, 4 * ridge, signal=0.25, noise=0.3), whole, rtol=1e-12
        )


@pytest.mark.parametrize(("samples", "ridge"), [(240, 0.2), (60, 0.2), (60, 1e-9)])
def test_drawn_designs(key, samples, ridge):
    draw = generator(key)
    root = draw.standard_normal((120, 120)) / 120**0.5 + np.eye(120)
    covariance, target = root @ root.T, draw.standard_normal(120) / 120**0.5
    designs = draw.standard_normal((40, samples, 120)) @ root.T
    operator = spectral_operator(designs, ridge_filter(samples * ridge))
    seen = bias_variance_of_operator(operator, designs, target, covariance, 0.3)
    people = cr.population_of(covariance, target)
    found = cr.correlated_bias_variance(people, 120 / samples, ridge, signal=target @ target, noise=0.3)
    for drawn, limit in zip(seen, found, strict=True):
        # Half a per cent is what the limit leaves out at this size.
        assert abs(np.mean(drawn) - limit) < 4 * np.std(drawn) / 40**0.5 + 0.005 * limit


@pytest.mark.parametrize("gamma", (0.5, 3.0))
def test_best_ridge_by_numerical_minimisation(gamma):
    anywhere = PEOPLE._replace(alignment=PEOPLE.weights)

    def risk(log):
        return float(cr.correlated_bias_variance(anywhere, gamma, np.exp(log), signal=2.0, noise=0.3).risk)

    best = scipy.optimize.minimize_scalar(risk, (-4, 0), tol=1e-10)
    assert np.exp(best.x) == pytest.approx(float(optimal_ridge(gamma, signal=2.0, noise=0.3)), rel=1e-4)
    known = cr.correlated_optimal_risk(*anywhere[:2], gamma, signal=2.0, noise=0.3)
    assert best.fun == pytest.approx(float(known), rel=1e-12)


def test_alignment_is_the_share_of_each_eigenvector():
    draw = np.random.default_rng(0)
    root = draw.standard_normal((6, 6))
    covariance, beta = root @ root.T, np.ones(6)
    found = cr.population_of(covariance, beta)
    for power in (0, 1, 2):  # moments of βᵀΣᵏβ tell the shares apart
        moment = beta @ np.linalg.matrix_power(covariance, power) @ beta
        assert np.sum(found.alignment * found.eigenvalues**power) * 6 == pytest.approx(moment, rel=1e-10)


def test_seen_part_of_a_model():
    draw = np.random.default_rng(0)
    root = draw.standard_normal((7, 7))
    covariance, beta = root @ root.T, draw.standard_normal(7)
    found = cr.seen_model(covariance, beta, 4)
    # The best linear prediction by the normal equations, and the unseen part's conditional variance by the precision.
    np.testing.assert_allclose(found.coefficients, np.linalg.solve(covariance[:4, :4], covariance[:4] @ beta))
    conditional = np.linalg.inv(np.linalg.inv(covariance)[4:, 4:])
    assert found.noise == pytest.approx(beta[4:] @ conditional @ beta[4:])
    whole = cr.seen_model(covariance, beta, 7)
    assert whole.noise == 0
    np.testing.assert_allclose(whole.coefficients, beta)


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="used"):
        cr.seen_model(np.eye(3), np.ones(3), 4)
    with pytest.raises(ValueError, match="alignment"):
        cr.correlated_bias_variance(PEOPLE._replace(alignment=np.array([1.0, 1.0])), 0.5, signal=1.0, noise=1.0)
    with pytest.raises(ValueError, match="noise"):
        cr.correlated_optimal_risk(*PEOPLE[:2], 0.5, signal=1.0, noise=0.0)
    with pytest.raises(ValueError, match="ridge"):
        cr.correlated_bias_variance(PEOPLE, 0.5, -1.0, signal=1.0, noise=1.0)
