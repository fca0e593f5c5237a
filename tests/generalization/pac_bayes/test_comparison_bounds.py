"""Moments against sums in rationals, inverses against closed forms, the worst posterior against a solver."""

from fractions import Fraction
from math import comb

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import rel_entr
from scipy.stats import binom

from deeptheory.foundations.concentration import binomial_log_probabilities
from deeptheory.generalization.pac_bayes.bounds import binary_kl_upper_inverse
from deeptheory.generalization.pac_bayes.comparison_bounds import (
    catoni_bound,
    catoni_comparison,
    comparison_bound,
    gibbs_gap,
    gibbs_risk,
    kl_comparison,
    kl_log_moment,
    log_moment,
    log_moment_at,
    simplified_pac_bayes_bound,
    square_comparison,
    weaker_pac_bayes_bound,
    worst_excess,
)


def test_binomial_law_against_scipy_with_its_ends():
    for risk in (0.0, 1e-9, 0.37, 1.0):
        np.testing.assert_allclose(
            np.exp(binomial_log_probabilities(30, risk)), binom.pmf(range(31), 30, risk), rtol=1e-11
        )


def test_moment_of_kl_is_a_rational_number():
    for n, printed in ((1, 2.0), (2, 2.5), (3, 2.889), (4, 3.219), (100, 13.21)):
        exact = sum(Fraction(comb(n, k) * k**k * (n - k) ** (n - k), n**n) for k in range(n + 1))
        assert np.exp(kl_log_moment(n)) == pytest.approx(float(exact), rel=1e-12)
        assert np.exp(kl_log_moment(n)) == pytest.approx(printed, abs=6e-3)
        assert log_moment_at(kl_comparison(), n, 0.3) == pytest.approx(float(np.log(float(exact))), rel=1e-9)


def test_moments_of_squares():
    for factor, expected in ((1.0, (1.386, 1.408, 1.412)), (2.0, (2.57, 3.70, 5.15))):
        values = [np.exp(log_moment(square_comparison(factor), n)) for n in (10, 50, 200)]
        np.testing.assert_allclose(values, expected, atol=6e-3)


def test_the_search_for_the_worst_risk_is_not_confined_to_the_grid():
    coarse = log_moment(square_comparison(2.0), 7, points=12)
    assert coarse == pytest.approx(max(log_moment_at(square_comparison(2.0), 7, np.linspace(0, 1, 20_001))), rel=1e-9)


def test_catoni_costs_nothing_and_inverts_to_its_closed_form():
    assert log_moment(catoni_comparison(2.0), 25) == pytest.approx(0, abs=1e-12)
    budget = (3.0 + np.log(1 / 0.05)) / 400
    solved = comparison_bound(catoni_comparison(2.0), 0.1, budget)
    assert float(catoni_bound(0.1, 3.0, 400, 0.05, temperature=2.0)) == pytest.approx(float(solved), rel=1e-12)
    with pytest.raises(ValueError, match="temperature must be positive"):
        catoni_bound(0.1, 3.0, 400, 0.05, temperature=0.0)


def test_inverting_the_other_comparisons():
    empirical = np.array([0.0, 0.05, 0.4])
    solved = comparison_bound(kl_comparison(), empirical, 0.02)
    np.testing.assert_allclose(solved, binary_kl_upper_inverse(empirical, 0.02), rtol=1e-12)
    np.testing.assert_allclose(comparison_bound(square_comparison(2.0), empirical, 0.02), empirical + 0.1, rtol=1e-12)
    assert float(comparison_bound(square_comparison(2.0), 0.9, 1.0)) == pytest.approx(1.0)


def test_printed_bounds_by_hand():
    assert float(weaker_pac_bayes_bound(0.1, 2.0, 800, 0.1)) == pytest.approx(0.1 + np.sqrt((2 + np.log(20)) / 400))
    assert float(simplified_pac_bayes_bound(0.1, 2.0, 800, 0.1)) == pytest.approx(
        0.1 + np.sqrt((2 + np.log(8000)) / 1600)
    )


@pytest.mark.parametrize("comparison", [kl_comparison(), square_comparison(2.0), catoni_comparison(1.0)])
def test_slopes_against_finite_differences(comparison):
    risk, empirical, step = 0.3, 0.12, 1e-6
    by_risk, by_empirical = comparison.slopes(risk, empirical)
    rise = comparison.value(risk + step, empirical) - comparison.value(risk - step, empirical)
    assert float(by_risk) == pytest.approx(rise / (2 * step), rel=1e-6)
    rise = comparison.value(risk, empirical + step) - comparison.value(risk, empirical - step)
    assert float(by_empirical) == pytest.approx(rise / (2 * step), rel=1e-6)


@pytest.mark.parametrize("comparison", [kl_comparison(), square_comparison(2.0)])
def test_worst_posterior_against_a_solver_with_many_starts(comparison):
    rng = np.random.default_rng(0)
    prior, risks = rng.dirichlet(np.ones(4)), np.array([0.2, 0.3, 0.4, 0.5])
    empirical = rng.binomial(20, risks, (4, 4)) / 20
    found = worst_excess(comparison, prior, risks, empirical, 20)
    for row, value in zip(empirical, found, strict=True):

        def negative(logits, row=row):
            law = np.exp(logits - np.logaddexp.reduce(logits))
            return rel_entr(law, prior).sum() - 20 * comparison.value(law @ risks, law @ row)

        best = max(-minimize(negative, 3 * rng.standard_normal(4), method="BFGS").fun for _ in range(12))
        assert value == pytest.approx(best, abs=1e-4)


def test_gibbs_risk_and_gap_by_hand():
    law, risks, seen = np.array([0.5, 0.3, 0.2]), np.array([0.1, 0.3, 0.5]), np.array([0.0, 0.4, 0.5])
    assert float(gibbs_risk(law, risks)) == pytest.approx(0.24)
    assert float(gibbs_gap(law, risks, seen)) == pytest.approx(0.05)


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="samples must "):
        binomial_log_probabilities(0, 0.5)
