"""The statistics are themselves tested: false alarms, power, and what a smaller sample may do."""

import numpy as np
import pytest
from scipy import stats

from deeptheory.lab import Chance, Distribution, Law, Share, Trend
from deeptheory.lab.evidence import intervals
from deeptheory.lab.run import repeated

NULLS = {
    "normal": lambda rng, size: 1 + rng.standard_normal(size),
    "exponential": lambda rng, size: rng.exponential(size=size),
    "chi2": lambda rng, size: rng.chisquare(1, size),
    "lognormal": lambda rng, size: rng.lognormal(-0.5, 1.0, size),
}
REPLICATES = 3000


def refuted(evidence_of, rng, trials, level):
    """Whether the engine refutes: a refutation counts if it repeats on fresh draws, four times as many."""
    first = {"": evidence_of(rng, trials).judge(level)}
    if first[""].verdict != "refuted":
        return False
    return repeated(first, {"": evidence_of(rng, 4 * trials).judge(level)})[""].verdict == "refuted"


@pytest.mark.parametrize("null", NULLS)
@pytest.mark.parametrize("level", [0.01, 0.001])
def test_true_means_are_refuted_no_more_often_than_the_level(null, level):
    rng = np.random.default_rng(1)

    def law(rng, trials):
        return Law(predicted=1.0, observed=NULLS[null](rng, trials), exact=True)

    alarms = sum(refuted(law, rng, 64, level) for _ in range(REPLICATES))
    assert stats.binom.sf(alarms - 1, REPLICATES, level) > 1e-6


@pytest.mark.parametrize("null", NULLS)
def test_at_the_level_of_a_claim_no_false_alarm_is_seen(null):
    rng = np.random.default_rng(2)
    assert not any(
        refuted(lambda r, n: Law(predicted=1.0, observed=NULLS[null](r, n), exact=True), rng, 64, 1e-6)
        for _ in range(REPLICATES)
    )


@pytest.mark.parametrize("null", NULLS)
@pytest.mark.parametrize("exact", [True, False])
def test_a_prediction_tilted_by_twice_the_resolution_is_refuted(null, exact):
    rng = np.random.default_rng(3)
    for _ in range(20):
        draws = NULLS[null](rng, (2, 100_000) if not exact else 100_000)
        extra = {"exact": True} if exact else {"sizes": (10, 1000), "order": 1.0}
        assert Law(predicted=1.0, observed=draws, **extra).judge().verdict == "holds"
        assert Law(predicted=1.1, observed=draws, **extra).judge().verdict == "refuted"
        assert Law(predicted=0.9, observed=draws, **extra).judge().verdict == "refuted"


@pytest.mark.parametrize("tilt", [0.0, 0.1])
def test_a_smaller_sample_never_makes_a_statement_hold(tilt):
    """Among samples too small to resolve 5 %, none holds, whether the statement is true or not."""
    rng = np.random.default_rng(4)
    for trials in (8, 16, 64, 256):
        verdicts = [
            Law(predicted=1.0 + tilt, observed=rng.exponential(size=trials), exact=True).judge().verdict
            for _ in range(200)
        ]
        assert "holds" not in verdicts


def test_an_extrapolated_law_sees_the_limit_and_not_the_finite_size():
    rng = np.random.default_rng(5)
    sizes = np.array([20, 40, 80])
    observed = 1 + 2 / sizes[:, None] + 0.3 * rng.standard_normal((3, 40_000))
    assert Law(predicted=1.0, observed=observed, sizes=sizes, order=1).judge().verdict == "holds"
    assert Law(predicted=1.1, observed=observed, sizes=sizes, order=1).judge().verdict == "refuted"
    curved = 1 + 2 / sizes[:, None] + 0.001 * rng.standard_normal((3, 400))
    wrong = Law(predicted=1.0, observed=curved, sizes=sizes, order=0.5).judge()
    assert wrong.verdict != "holds"


def test_binomial_limits_are_those_of_scipy():
    low, high = intervals.binomial(np.array([0, 3, 50, 100]), np.array(100), 0.05)
    for count, a, b in zip([0, 3, 50, 100], low, high, strict=True):
        exact = stats.binomtest(count, 100).proportion_ci(0.95, "exact")
        assert (a, b) == pytest.approx((exact.low, exact.high), rel=1e-9, abs=1e-12)


def test_chance_holds_at_its_level_and_falls_at_twice():
    rng = np.random.default_rng(6)
    verdict = lambda p, n: Chance(rng.binomial(n, p), n, 0.05).judge().verdict  # noqa: E731
    assert all(verdict(0.05, 4000) != "refuted" for _ in range(300))
    assert all(verdict(0.1, 4000) == "refuted" for _ in range(300))
    assert all(verdict(0.03, 4000) == "holds" for _ in range(300))
    assert all(verdict(0.03, 40) != "holds" for _ in range(300))


def test_share_is_two_sided():
    rng = np.random.default_rng(7)
    verdict = lambda p, n: Share(rng.binomial(n, p), n, 0.3).judge().verdict  # noqa: E731
    assert all(verdict(0.3, 200_000) == "holds" for _ in range(100))
    assert all(verdict(0.33, 200_000) == "refuted" for _ in range(100))
    assert all(verdict(0.27, 200_000) == "refuted" for _ in range(100))
    assert all(verdict(0.3, 100) == "inconclusive" for _ in range(100))


def test_distribution_distance_is_that_of_scipy_and_sees_a_shift():
    rng = np.random.default_rng(8)
    samples = rng.standard_normal(20_000)
    evidence = Distribution(ranks=stats.norm.cdf(samples))
    assert evidence.distance() == pytest.approx(stats.kstest(samples, "norm").statistic, rel=1e-12)
    assert evidence.judge().verdict == "holds"
    assert Distribution(ranks=stats.norm.cdf(samples + 0.3)).judge().verdict == "refuted"
    assert Distribution(ranks=stats.norm.cdf(samples[:100])).judge().verdict == "inconclusive"


def test_trend_needs_the_right_sign_and_enough_trials():
    rng = np.random.default_rng(9)
    assert Trend(1 + rng.standard_normal(400)).judge().verdict == "holds"
    assert Trend(-1 + rng.standard_normal(400)).judge().verdict == "refuted"
    assert Trend(0.1 + rng.standard_normal(40)).judge().verdict == "inconclusive"
