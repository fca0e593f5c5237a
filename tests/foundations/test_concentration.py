"""Tail bounds and exact tails against SciPy, rationals, mpmath and enumeration."""

from fractions import Fraction
from itertools import product
from math import comb

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
import scipy.stats
from hypothesis import given, strategies as st

from deeptheory.foundations import concentration as c
from deeptheory.foundations.randomness import generator


@given(st.integers(1, 300), st.floats(0, 1), st.floats(-5, 310))
def test_log_binomial_tail_is_the_survival_function(n, p, k):
    expected = scipy.stats.binom.sf(np.ceil(k) - 1, n, p)
    assert np.exp(c.log_binomial_tail(n, p, k)) == pytest.approx(expected, rel=1e-9, abs=1e-200)


def test_log_binomial_tail_far_below_the_smallest_double():
    # P[Binomial(2000, 1/10) ≥ 1900], summed in rationals.
    exact = sum(comb(2000, k) * Fraction(1, 10) ** k * Fraction(9, 10) ** (2000 - k) for k in range(1900, 2001))
    with mpmath.workdps(30):
        expected = float(mpmath.log(mpmath.mpf(exact.numerator)) - mpmath.log(mpmath.mpf(exact.denominator)))
    assert float(c.log_binomial_tail(2000, 0.1, 1900)) == pytest.approx(expected, rel=1e-12)
    assert c.log_binomial_tail(10, 0.5, 11) == -np.inf


@pytest.mark.parametrize(
    ("n", "p", "t"), [(7, 0.3, 1.9), (10, 0.5, 3.0), (1, 0.25, 0.75), (40, 0.05, 2.0), (3, 0.7, 1.1)]
)
def test_log_binomial_deviation_counts_both_sides_and_touching_values(n, p, t):
    counts = np.arange(n + 1)
    inside = np.abs(counts - n * p) >= t - 1e-9
    expected = scipy.stats.binom.pmf(counts, n, p)[inside].sum()
    assert np.exp(c.log_binomial_deviation(n, p, t)) == pytest.approx(expected, rel=1e-12)


def test_poisson_binomial_by_enumeration(key):
    p = generator(key).uniform(0, 1, (2, 6))
    law = c.poisson_binomial(p)
    for row, chances in zip(law, p, strict=True):
        expected = np.zeros(7)
        for bits in product((0, 1), repeat=6):
            expected[sum(bits)] += np.prod([q if bit else 1 - q for bit, q in zip(bits, chances, strict=True)])
        np.testing.assert_allclose(row, expected, atol=1e-15)


@pytest.mark.parametrize("u", [-1.0, -0.999, -0.5, -1e-4, 1e-7, 9.99e-4, 1.01e-3, 0.7, 40.0])
def test_bennett_exponent_keeps_its_accuracy(u):
    with mpmath.workdps(40):
        x = mpmath.mpf(u)
        expected = (1 + x) * mpmath.log(1 + x) - x if u > -1 else mpmath.mpf(1)
        assert float(c.bennett_exponent(u)) == pytest.approx(float(expected), rel=1e-12)


def test_bounds_at_known_values():
    # Reference run: mean 1, δ = 9.
    assert np.exp(c.log_chernoff_upper(1.0, 9.0)) == pytest.approx(6.3e-4, rel=1e-2)
    assert c.log_chernoff_small(2.0, 1.5) == pytest.approx(-1.5)
    assert np.exp(c.both_sides(c.log_hoeffding(30.0, np.full(100, 2.0)))) == pytest.approx(2.2e-2, rel=2e-2)
    assert float(c.square_exponential_bound(0.5 * 7, 1 / 28)) == pytest.approx(2 / 3**0.5)
    assert c.log_bernstein(3.0, 2.0, 1.5) == pytest.approx(-4.5 / 3.5)


def test_bounds_are_differentiable_and_map():
    slope = jax.grad(lambda t: c.log_hoeffding(t, jnp.ones(4)))(2.0)
    assert slope == pytest.approx(-2.0)
    found = jax.vmap(c.log_bernstein, (0, None, None))(jnp.asarray([1.0, 2.0]), 1.0, 3.0)
    np.testing.assert_allclose(found, [-0.25, -2 / 3])
    assert jax.jit(c.hoeffding_radius)(100.0, 0.05) == pytest.approx((np.log(40) / 200) ** 0.5)


def test_the_proxy_of_a_coin():
    assert c.bernoulli_proxy(0.5) == 0.25
    assert c.bernoulli_proxy(0.1) == pytest.approx(0.8 / (2 * np.log(9)))
    near = 0.5 + np.array([1e-12, -1e-7, 1e-4])  # 1/4 − x²/3 + …, by atanh without cancellation
    np.testing.assert_allclose(c.bernoulli_proxy(near), 0.25 - (near - 0.5) ** 2 / 3, rtol=1e-12)
    assert c.bernoulli_proxy(1e-300) == pytest.approx(1 / (2 * 300 * np.log(10)), rel=1e-12)


def test_the_radius_of_many_means_does_not_overflow():
    many = c.hoeffding_radius(100, 0.1, sides=1, log_means=1e6 * np.log(2))
    assert many == pytest.approx((1e6 * np.log(2) + np.log(10)) ** 0.5 / 200**0.5)
    assert c.hoeffding_radius(100, 0.1, log_means=np.log(7)) == pytest.approx(c.hoeffding_radius(100, 0.1 / 7))


def test_radius_samples_and_confidence_are_inverse():
    radius = c.hoeffding_radius(250, 0.05, width=2.0)
    assert c.hoeffding_samples(radius, 0.05, width=2.0) == pytest.approx(250)
    assert c.hoeffding_confidence(250, radius, width=2.0) == pytest.approx(0.05)


def test_normal_distance_against_the_empirical_one():
    # A law with n equal weights on the values is what kstest calls the sample.
    values = np.sort(np.random.default_rng(3).gumbel(size=50))
    expected = scipy.stats.kstest(values, scipy.stats.norm.cdf).statistic
    assert c.normal_distance(values, np.full(50, 0.02), standardize=False) == pytest.approx(expected, rel=1e-12)
    standard = (values - values.mean()) / values.std()
    expected = scipy.stats.kstest(standard, scipy.stats.norm.cdf).statistic
    assert c.normal_distance(values, np.full(50, 0.02)) == pytest.approx(expected, rel=1e-12)


def test_finite_law_of_no_weights_is_uniform():
    np.testing.assert_allclose(c.finite_law(np.asarray([[0.0, 0.0], [1.0, 3.0]])), [[0.5, 0.5], [0.25, 0.75]])


@pytest.mark.parametrize(
    "call",
    [
        lambda: c.markov_bound(1.0, 0.0),
        lambda: c.chebyshev_bound(1.0, -1.0),
        lambda: c.hoeffding_radius(10, 0.0),
        lambda: c.hoeffding_samples(-0.1, 0.5),
        lambda: c.square_exponential_bound(2.0, 0.25),
        lambda: c.gaussian_small_ball(0.0),
    ],
)
def test_bad_input_is_refused(call):
    with pytest.raises(ValueError, match="must"):
        call()


def test_limits_of_a_small_ball_by_hand():
    assert c.gaussian_small_ball(0.5, 2.0) == pytest.approx((1 / 6, 0.2))
