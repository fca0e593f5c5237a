"""The Gibbs risk of linear classifiers against drawn ones, the best width against a search."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from deeptheory.generalization.pac_bayes.bounds import maurer_budget, pac_bayes_kl
from deeptheory.generalization.pac_bayes.change_of_measure import diagonal_gaussian_kl
from deeptheory.generalization.pac_bayes.linear_posteriors import (
    best_linear_posterior,
    linear_gibbs_risk,
    scale_free_kl,
    scale_free_variance,
)


def test_gibbs_risk_against_drawn_classifiers():
    rng = np.random.default_rng(0)
    x, signs, direction = rng.standard_normal((5, 3)), np.array([1.0, -1, 1, 1, -1]), np.array([1.0, 0.5, -0.3])
    for scale in (0.2, 3.0):  # the risk does not depend on it
        drawn = scale * (direction + rng.standard_normal((100_000, 3)))
        wrong = np.mean(np.sign(drawn @ x.T) != signs)
        assert float(linear_gibbs_risk(direction, x, signs)) == pytest.approx(wrong, abs=5e-3)


def test_best_width_against_a_search():
    direction = np.array([2.0, -1.0, 0.5, 3.0])

    def divergence(log):
        return float(diagonal_gaussian_kl(np.exp(log / 2) * direction, np.full(4, log), np.zeros(4), np.zeros(4)))

    found = minimize_scalar(divergence, bounds=(-5, 1), method="bounded", options=dict(xatol=1e-9))
    assert float(scale_free_variance(direction)) == pytest.approx(np.exp(found.x), rel=1e-6)
    assert float(scale_free_kl(direction)) == pytest.approx(found.fun, rel=1e-10)


def test_the_optimum_is_stationary_and_reported_consistently():
    rng = np.random.default_rng(1)
    x = rng.standard_normal((300, 5))
    signs = np.sign(x[:, 0] + 0.2 * rng.standard_normal(300))
    found = best_linear_posterior(x, signs, delta=0.05)

    def bound(direction):
        budget = maurer_budget(scale_free_kl(direction), 300, 0.05)
        return float(pac_bayes_kl(linear_gibbs_risk(direction, x, signs), budget))

    assert found.bound == pytest.approx(bound(found.direction), rel=1e-12)
    assert found.bound < 0.3 and found.risk < found.bound
    assert all(bound(found.direction + 0.05 * each) > found.bound - 1e-6 for each in rng.standard_normal((20, 5)))
