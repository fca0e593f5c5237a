"""Union bounds against exact enumeration."""

from itertools import product

import jax
import numpy as np
import pytest
from scipy.stats import binom

from deeptheory.generalization.capacity.finite_classes import (
    empirical_risk,
    finite_class_deviation,
    independent_log_tail,
    independent_sup_deviation,
    log_union_tail,
    misclassification_risk,
    union_deviation,
)


@pytest.mark.item("A5.1", "A5.15")
def test_the_gap_of_a_class_by_enumeration_of_all_samples():
    # Three hypotheses on four atoms; every sample of size 3 and its probability.
    weights = np.array([0.1, 0.2, 0.3, 0.4])
    wrong = np.array([[1, 0, 0, 1], [0, 1, 1, 0], [1, 1, 0, 0]], float)
    risks = [misclassification_risk(weights, row, np.zeros(4)) for row in wrong]
    np.testing.assert_allclose(risks, wrong @ weights)
    means, largest = np.zeros(3), 0.0
    for sample in product(range(4), repeat=3):
        chance = np.prod(weights[list(sample)])
        means += chance * empirical_risk(wrong[:, list(sample)])
        largest = max(largest, np.max(np.abs(risks - empirical_risk(wrong[:, list(sample)]))))
    np.testing.assert_allclose(means, risks)
    assert largest == pytest.approx(0.7)  # three times the first atom, seen by the third hypothesis of risk 0.3


def test_the_exact_tail_by_summation_over_all_outcomes():
    n, p, hypotheses, deviation = 6, 0.4, 3, 0.2
    counts = np.arange(n + 1)
    one = {side: 0.0 for side in (1, 2)}
    for count in counts:
        gap = p - count / n
        one[1] += binom.pmf(count, n, p) * (gap >= deviation)
        one[2] += binom.pmf(count, n, p) * (abs(gap) >= deviation)
    for sides in (1, 2):
        exact = 1 - (1 - one[sides]) ** hypotheses
        assert np.exp(independent_log_tail(deviation, n, hypotheses, p, sides=sides)) == pytest.approx(exact)


def test_the_exact_tail_below_rounding():
    one = independent_log_tail(0.49, 500, 1, 0.5)
    assert one == pytest.approx(binom.logcdf(5, 500, 0.5))
    assert independent_log_tail(0.5, 1200, 10, 0.5) == pytest.approx(np.log(10) - 1200 * np.log(2))
    assert independent_log_tail(0.1, 10, 1, 0.3) == pytest.approx(binom.logcdf(2, 10, 0.3))
    assert independent_log_tail(0.49, 500, 10**6, 0.5) == pytest.approx(one + np.log(10**6))


def test_deviations_invert_the_tail():
    for sides in (1, 2):
        deviation = union_deviation(50, 200, 0.1, sides=sides)
        assert log_union_tail(deviation, 50, 200, sides=sides) == pytest.approx(np.log(0.1))
    assert finite_class_deviation(50, 200, 0.1) == pytest.approx(8**0.5 * union_deviation(50, 200, 0.1, sides=1))
    assert union_deviation(50, 200, 0.1, width=3.0) == pytest.approx(3 * union_deviation(50, 200, 0.1))
    assert union_deviation(10, 1, 1.0, sides=1) == 0


def test_draws_follow_the_exact_law():
    for risk, deviation in ((0.5, 0.3), (0.2, 0.2)):
        draws = independent_sup_deviation(jax.random.key(1), 10, 4, risk, 4000)
        predicted = np.exp(independent_log_tail(deviation, 10, 4, risk))
        assert abs(np.mean(draws >= deviation - 1e-9) - predicted) < 6 * np.sqrt(predicted / 4000)


@pytest.mark.parametrize(("samples", "hypotheses", "delta"), [(0, 1, 0.1), (1, 0, 0.1), (1, 1, 0.0), (1, 1, 1.5)])
def test_bad_input_is_refused(samples, hypotheses, delta):
    with pytest.raises(ValueError, match="must"):
        union_deviation(samples, hypotheses, delta)
