"""Compound tasks by enumeration, exact fractions, root finding and SciPy."""

from fractions import Fraction
from itertools import product

import mpmath
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq, minimize_scalar
from scipy.stats import beta

from deeptheory.skills.compound_tasks import (
    breakthrough_score,
    compound_success,
    correlated_success,
    level_scale,
    level_step,
    linearity_score,
    onset,
    resolvable_success,
    scaled_success,
    steepest_logistic_rise,
    transition_width,
    with_guessing,
)


@pytest.mark.item("H15.2")
def test_success_of_all_steps_by_enumeration_of_outcomes():
    p = Fraction(3, 10)
    for k in (1, 2, 5):
        law = {outcome: p ** sum(outcome) * (1 - p) ** (k - sum(outcome)) for outcome in product((0, 1), repeat=k)}
        assert sum(law.values()) == 1
        assert compound_success(0.3, k) == pytest.approx(float(law[(1,) * k]), rel=1e-14)
    assert compound_success(0.1, 8) == pytest.approx(1e-8)


@pytest.mark.item("H15.3")
def test_levels_by_root_finding():
    halves = [level_step(0.5, k) for k in (2, 3, 5, 10, 30)]
    np.testing.assert_allclose(halves, [0.707, 0.794, 0.871, 0.933, 0.977], atol=5e-4)
    for k, level in ((2, 0.1), (10, 0.9), (30, 0.5)):
        assert level_step(level, k) == pytest.approx(brentq(lambda p, k=k, q=level: p**k - q, 0, 1), rel=1e-10)


@pytest.mark.item("H15.4")
def test_curve_in_the_logarithm_of_scale_by_root_finding_and_search():
    a, critical = 0.3, 50.0
    for k in (1, 4, 100):
        roots = [
            brentq(lambda u, k=k, q=q: scaled_success(np.exp(u), k, a, critical=critical) - q, -10, 60, xtol=1e-13)
            for q in (0.1, 0.9)
        ]
        assert np.log(level_scale(0.1, k, a, critical=critical)) == pytest.approx(roots[0], abs=1e-9)
        assert transition_width(a) == pytest.approx(roots[1] - roots[0], rel=1e-9)
    assert transition_width(1.0) == pytest.approx(3.084, abs=5e-4)
    assert transition_width(0.076) / np.log(10) == pytest.approx(17.6, abs=0.05)
    for k in (1, 2, 7):
        found = minimize_scalar(
            lambda u, k=k: -k * (1 + np.exp(-u)) ** (-k - 1) * np.exp(-u), bounds=(-5, 9), method="bounded"
        )
        assert steepest_logistic_rise(k) == pytest.approx(-found.fun, rel=1e-9)
    assert steepest_logistic_rise(10**9) == pytest.approx(np.exp(-1), rel=1e-6)
    with pytest.raises(ValueError, match="low must be below high"):
        transition_width(1.0, low=0.9, high=0.1)


@pytest.mark.item("H15.7")
def test_shared_chance_by_quadrature_and_its_two_ends():
    for a, b, k in ((2.0, 3.0, 4), (0.5, 0.25, 3), (7.0, 1.0, 9)):
        expected = quad(lambda p, a=a, b=b, k=k: p**k * beta.pdf(p, a, b), 0, 1)[0]
        assert correlated_success(a, b, k) == pytest.approx(expected, rel=1e-7)
    assert correlated_success(2.0, 3.0, 2) == pytest.approx(float(Fraction(2, 5) * Fraction(3, 6)))
    assert correlated_success(4e7, 6e7, 5) == pytest.approx(0.4**5, rel=1e-6)
    assert correlated_success(4e-7, 6e-7, 5) == pytest.approx(0.4, rel=1e-5)
    assert with_guessing(0.6, 0.25) == pytest.approx(0.7)


@pytest.mark.item("H15.5")
def test_what_a_test_of_few_items_can_see():
    for items, missed in ((1, 0.5), (20, 0.5), (1000, 0.05)):
        assert (1 - resolvable_success(items, missed=missed)) ** items == pytest.approx(missed, rel=1e-9)
    assert resolvable_success(1000) == pytest.approx(np.log(2) / 1000, rel=1e-3)


@pytest.mark.item("H15.1")
def test_detector_flags_a_step_and_not_a_ramp():
    ramp, step = np.linspace(0, 1, 9), np.array([0.0, 0.01, 0.0, 0.01, 0.02, 0.9, 0.91, 0.9, 0.92])
    assert breakthrough_score(ramp) == pytest.approx(8) and linearity_score(ramp) == pytest.approx(8)
    # By hand: the squared steps of 0.01 are the median, the jump of 0.88 nearly all of the mean.
    assert breakthrough_score(step) == pytest.approx(92)
    assert linearity_score(step) == pytest.approx(0.92 / np.sqrt((6 * 1e-4 + 0.88**2 + 4e-4) / 8))
    assert breakthrough_score(-ramp) == pytest.approx(-8)
    assert np.isposinf(breakthrough_score(np.array([0.0, 0, 0, 1, 1]))) and breakthrough_score(np.zeros(4)) == 0
    scales = 10.0 ** np.arange(9)
    assert onset(scales, step) == 1e5 and onset(scales, ramp) == 10.0 and np.isinf(onset(scales, np.zeros(9)))
    np.testing.assert_array_equal(onset(scales, np.stack([step, ramp])), [1e5, 10.0])
    assert onset(scales, 0.25 + 0.75 * step, baseline=0.25) == 1e5
    with pytest.raises(ValueError, match="scales must increase"):
        onset(scales[::-1].copy(), step)
    with pytest.raises(ValueError, match="two scales or more"):
        breakthrough_score(np.array([0.5]))


def test_correlated_success_over_hundreds_of_decades():
    for a, b, k in product(
        (1e-300, 1e-8, 0.5, 25.0, 1e12, 1e100), (1e-300, 0.5, 25.0, 1e12, 1e100), (1, 3, 10**6, 10**15)
    ):
        with mpmath.workdps(300):
            first, both, count = mpmath.mpf(a), mpmath.mpf(a) + mpmath.mpf(b), mpmath.mpf(k)
            log = mpmath.loggamma(first + count) - mpmath.loggamma(first)
            log = float(log - mpmath.loggamma(both + count) + mpmath.loggamma(both))
        found = correlated_success(a, b, k)
        if log > -600:
            assert found == pytest.approx(np.exp(log), rel=1e-14 * max(10, -log)), (a, b, k)
        else:
            assert found < 1e-250


def test_the_steepest_rise_of_very_many_steps():
    assert steepest_logistic_rise(10**15) == pytest.approx(np.exp(-1), rel=1e-13)


@pytest.mark.parametrize("score", [breakthrough_score, linearity_score])
@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_scores_of_a_rise_do_not_depend_on_its_unit(score, unit):
    rise = np.array([0.0, 0.1, 0.15, 0.9, 1.0])
    assert score(unit * rise) == pytest.approx(score(rise))
