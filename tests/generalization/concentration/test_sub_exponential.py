"""Proxies, norms, tails and maxima of light-tailed laws against closed forms, mpmath, quadrature and exact tails."""

import jax
import mpmath
import numpy as np
import pytest
import scipy.stats
from scipy.integrate import quad
from scipy.optimize import minimize_scalar

from deeptheory.foundations.concentration import log_bernstein
from deeptheory.generalization.concentration.sub_exponential import (
    SubExponential,
    SubGamma,
    bounded_variance_proxy,
    finite_log_moment,
    independent_sum,
    log_light_tail,
    log_sub_gamma_tail,
    log_two_regime_tail,
    maximum_bound,
    orlicz_norm,
    square_of_sub_gaussian,
    sub_gamma_as_sub_exponential,
    sub_gamma_deviation,
    variance_proxy,
)


def test_finite_log_moment_against_mpmath_where_exponentials_overflow():
    values, chances = np.array([-1.0, 0.5, 3.0]), np.array([0.5, 0.3, 0.2])
    with mpmath.workdps(30):
        mean = sum(mpmath.mpf(v) * mpmath.mpf(p) for v, p in zip(values, chances, strict=True))
        for rate in (-900.0, -0.3, 1e-3, 900.0):
            total = sum(mpmath.mpf(p) * mpmath.exp(rate * (v - mean)) for v, p in zip(values, chances, strict=True))
            assert finite_log_moment(rate, values, chances) == pytest.approx(float(mpmath.log(total)), rel=1e-12)
    assert finite_log_moment(2.0, values, chances, centred=False) == pytest.approx(np.log(chances @ np.exp(2 * values)))


@pytest.mark.parametrize(
    ("log_moment", "variance", "expected"),
    [
        (lambda r: np.logaddexp(r, -r) - np.log(2), 1.0, 1.0),
        (lambda r: 0.7 * r * r / 2, 0.7, 0.7),
        (lambda r: abs(r) + np.log(-np.expm1(-2 * abs(r)) / (2 * abs(r))), 1 / 3, 1 / 3),
        (lambda r: 0.5 * r**2, 0.2, 1.0),
    ],
)
def test_variance_proxy_of_strictly_sub_gaussian_laws(log_moment, variance, expected):
    assert variance_proxy(log_moment, variance=variance) == pytest.approx(expected, rel=1e-7)


def test_variance_proxy_within_reach_of_an_exponential():
    # −λ − log(1 − λ) over λ²/2 increases, so that the edge 1/b decides; at b = 2 it is 8(log 2 − 1/2).
    def log_moment(rate):
        return -rate - np.log1p(-rate)

    assert variance_proxy(log_moment, variance=1.0, reach=0.5) == pytest.approx(8 * (np.log(2) - 0.5), rel=1e-12)
    assert variance_proxy(log_moment, variance=1.0, reach=1e-3) == pytest.approx(1 + 2e-3 / 3, rel=1e-5)
    with pytest.raises(ValueError, match="reach must be positive"):
        variance_proxy(log_moment, variance=1.0, reach=0.0)


@pytest.mark.parametrize("chance", [0.1, 0.9])
def test_skew_to_either_side(chance):
    """The worst rate has the sign of the longer tail; Kearns and Saul's constant for a coin."""

    def log_moment(rate):
        return np.logaddexp(np.log(chance) + rate * (1 - chance), np.log1p(-chance) - rate * chance)

    expected = (1 - 2 * chance) / (2 * np.log((1 - chance) / chance))
    assert variance_proxy(log_moment, variance=chance * (1 - chance)) == pytest.approx(expected, rel=1e-9)


def test_bounded_variables_have_the_proxy_of_the_fair_coin():
    assert bounded_variance_proxy(-1.0, 1.0) == 1.0
    assert bounded_variance_proxy(-1.0, 2.0) == np.var([-1.0, 2.0])
    with pytest.raises(ValueError, match="must not end before"):
        bounded_variance_proxy(1.0, 0.0)


def test_orlicz_norms_in_closed_form():
    assert orlicz_norm(lambda s: -np.log1p(-s) if s < 1 else np.inf, order=1) == pytest.approx(2.0, rel=1e-13)
    gaussian = orlicz_norm(lambda s: -0.5 * np.log1p(-2 * s) if s < 0.5 else np.inf, order=2)
    assert gaussian == pytest.approx(np.sqrt(8 / 3), rel=1e-13)
    assert orlicz_norm(lambda s: s * 9.0, order=2) == pytest.approx(3 / np.sqrt(np.log(2)), rel=1e-13)
    for size in (1e-40, 1e-3, 1e40):
        assert orlicz_norm(lambda s, size=size: s * size, order=1) == pytest.approx(size / np.log(2), rel=1e-12)
    assert orlicz_norm(lambda s: 0.0, order=1) == 0.0
    with mpmath.workdps(30):
        uniform = mpmath.findroot(lambda s: (mpmath.exp(s) - 1) / s - 2, 1.2)
    found = orlicz_norm(lambda s: float(np.log(np.expm1(s) / s)), order=1)
    assert found == pytest.approx(1 / float(uniform), rel=1e-12)


def test_orlicz_norm_where_the_moment_jumps_to_infinity():
    # Density proportional to e^{−x}/(1 + x)⁴: the moment at 1 is finite and below 2, beyond 1 infinite.
    total = quad(lambda x: np.exp(-x) / (1 + x) ** 4, 0, np.inf)[0]
    at_one = (1 / 3) / total
    assert at_one < 2

    def log_moment(rate):
        if rate > 1:
            return np.inf
        return np.log(quad(lambda x: np.exp((rate - 1) * x) / (1 + x) ** 4, 0, np.inf)[0] / total)

    assert orlicz_norm(log_moment, order=1) == pytest.approx(1.0, rel=1e-12)
    with pytest.raises(ValueError, match="must be finite for some s > 0"):
        orlicz_norm(lambda s: np.inf, order=1)


@pytest.mark.parametrize("law", [SubExponential(4.0, 4.0), SubExponential(0.3, 2.0), SubExponential(5.0, 0.1)])
def test_light_tail_is_the_legendre_transform(law):
    for t in (1e-3, 0.4, 3.0, 60.0):
        best = minimize_scalar(
            lambda rate, t=t: rate**2 * law.proxy / 2 - rate * t,
            bounds=(0, 1 / law.scale),
            method="bounded",
            options={"xatol": 1e-12},
        ).fun  # pyright: ignore[reportAttributeAccessIssue]
        assert float(log_light_tail(t, law)) == pytest.approx(best, rel=1e-6, abs=1e-12)
        assert float(log_two_regime_tail(t, law)) >= float(log_light_tail(t, law)) - 1e-15
    bend = law.proxy / law.scale
    assert float(log_two_regime_tail(bend, law)) == pytest.approx(float(log_light_tail(bend, law)), rel=1e-14)


def test_without_scale_it_is_the_gaussian_tail():
    t = np.array([0.0, 1.0, 5.0])
    np.testing.assert_allclose(log_light_tail(t, SubExponential(2.0)), -(t**2) / 4)
    np.testing.assert_allclose(log_two_regime_tail(t, SubExponential(2.0)), -(t**2) / 4)
    assert np.all(scipy.stats.norm.logsf(t, scale=np.sqrt(2)) <= log_light_tail(t, SubExponential(2.0)))
    assert float(jax.grad(log_light_tail)(3.0, SubExponential(2.0))) == pytest.approx(-1.5)


def test_maximum_is_the_best_of_all_rates():
    for count, law in ((2, SubExponential(1.0)), (1000, SubExponential(1.5, 2.0)), (7, SubExponential(3.0, 0.01))):
        rates = np.geomspace(1e-3, 1 / law.scale if law.scale else 1e3, 200_001)
        expected = np.min(np.log(count) / rates + rates * law.proxy / 2)
        assert float(maximum_bound(count, law)) == pytest.approx(expected, rel=1e-8)
    with pytest.raises(ValueError, match="count must be at least 2"):
        maximum_bound(1, SubExponential(1.0))


def test_sums_add_proxies_and_keep_the_largest_scale():
    found = independent_sum(SubExponential(np.array([[1.0, 3.0, 1.0], [1.0, 4.0, 1.0]]), np.array([2.0, 0.5, 0.0])))
    np.testing.assert_allclose(found.proxy, [5.0, 6.0])
    np.testing.assert_allclose(found.scale, [2.0, 2.0])
    assert independent_sum(SubExponential(np.ones(4))) == (4.0, 0.0)


def test_sub_gamma_tail_against_mpmath_and_its_inverse():
    for v, c, t in ((2.0, 2.0, 1e-9), (1.0, 0.3, 2.0), (5.0, 4.0, 300.0), (1.0, 0.0, 3.0)):
        with mpmath.workdps(40):
            u = mpmath.mpf(c) * t / v
            exact = -mpmath.mpf(v) / c**2 * (1 + u - mpmath.sqrt(1 + 2 * u)) if c else -(mpmath.mpf(t) ** 2) / (2 * v)
        assert float(log_sub_gamma_tail(t, SubGamma(v, c))) == pytest.approx(float(exact), rel=1e-12)
        back = sub_gamma_deviation(-log_sub_gamma_tail(t, SubGamma(v, c)), SubGamma(v, c))
        assert float(back) == pytest.approx(t, rel=1e-12)
        assert float(log_sub_gamma_tail(t, SubGamma(v, c))) <= log_bernstein(t, v, 3 * c) * (1 - 1e-14)


def test_squares_of_signs_gaussians_and_rare_values():
    # A law on −1, 0, 1 with rare ends, whose square is far from its mean.
    values, chances = np.array([-1.0, 0.0, 1.0]), np.array([0.01, 0.98, 0.01])
    proxy = variance_proxy(lambda r: finite_log_moment(r, values, chances), variance=0.02)
    law = square_of_sub_gaussian(proxy)
    for rate in np.concatenate([-np.geomspace(1e-2, 100, 30), np.linspace(0.01, 0.99, 30) / law.scale]):
        allowed = rate**2 * law.variance / (2 * (1 - law.scale * max(rate, 0.0)))
        assert finite_log_moment(rate, values**2, chances) <= allowed
        wide = sub_gamma_as_sub_exponential(law)
        if 0 < rate <= 1 / wide.scale:
            assert allowed <= wide.proxy * rate**2 / 2 * (1 + 1e-14)
    assert square_of_sub_gaussian(1.0) == (16.0, 2.0)


@pytest.mark.parametrize("tail", [log_light_tail, log_two_regime_tail])
def test_negative_deviations_are_refused(tail):
    with pytest.raises(ValueError, match="deviation must be at least 0"):
        tail(-1.0, SubExponential(1.0, 1.0))
    with pytest.raises(ValueError, match="deviation must be at least 0"):
        log_sub_gamma_tail(-1.0, SubGamma(1.0, 1.0))
    with pytest.raises(ValueError, match="exponent must be at least 0"):
        sub_gamma_deviation(-1.0, SubGamma(1.0, 1.0))
