"""Birthdays in rationals, unequal laws by enumeration, and estimates of known supports."""

from fractions import Fraction
from itertools import product
from math import isqrt, prod

import numpy as np
import pytest
from scipy.spatial.distance import pdist
from scipy.stats import binomtest

from deeptheory.generative.supports import (
    birthday_test,
    closest_pairs,
    collision_probability,
    effective_support,
    near_duplicates,
    uniform_collision_probability,
)


def exact(support, sample):
    return float(1 - prod(Fraction(support - i, support) for i in range(sample)))


@pytest.mark.item("A16.18")
@pytest.mark.parametrize(("support", "sample"), [(365, 23), (365, 38), (365, 19), (10, 11), (2, 2), (10**9, 60_000)])
def test_birthdays_in_rationals(support, sample):
    small = sample < 1000
    expected = exact(support, sample) if small else -np.expm1(np.sum(np.log1p(-np.arange(sample) / support)))
    assert uniform_collision_probability(float(support), sample) == pytest.approx(expected, rel=1e-9)


@pytest.mark.item("A16.18")
def test_two_roots_suffice_for_every_support_but_two():
    """With the sample rounded down the claim fails at N = 2 alone, where 2√2 is cut to 2."""
    short = [n for n in range(1, 400) if exact(n, isqrt(4 * n)) < 1 - np.exp(-1)]
    assert short == [2]


def test_both_branches_of_the_product_agree():
    sizes = np.geomspace(3e3, 1e12, 50)
    direct = [-np.expm1(np.sum(np.log1p(-np.arange(2000) / n))) for n in sizes]
    np.testing.assert_allclose(uniform_collision_probability(sizes, 2000), direct, rtol=1e-6)
    assert uniform_collision_probability(1500.0, 2000) == 1
    # On either side of the length at which the formula changes, and of the ratio at which its series takes over.
    for sample, size in ((1999, 5e4), (2000, 5e4), (2000, 1.99e7), (2000, 2.01e7), (5000, 4.9e7), (5000, 5.1e7)):
        by_factors = -np.expm1(np.sum(np.log1p(-np.arange(sample) / size)))
        assert uniform_collision_probability(size, sample) == pytest.approx(by_factors, rel=1e-6)
    # As many values as draws: all different in N!/Nᴺ of the cases, which nobody sees.
    assert uniform_collision_probability(2000.0, 2000) == 1


@pytest.mark.item("A16.19")
def test_unequal_laws_by_enumeration():
    law = np.array([0.4, 0.3, 0.2, 0.1])
    for sample in (2, 3, 4):
        expected = sum(prod(law[list(each)]) for each in product(range(4), repeat=sample) if len(set(each)) < sample)
        assert collision_probability(law, sample) == pytest.approx(expected, rel=1e-12)
    assert collision_probability(law, 5) == 1.0
    assert collision_probability(np.full(50, 0.02), 9) == pytest.approx(exact(50, 9), rel=1e-12)
    assert effective_support(np.full(50, 0.02)) == pytest.approx(50)


@pytest.mark.item("A16.19")
def test_the_test_inverts_the_exact_probability():
    """At N = 365 with 23 people 507 of a thousand rooms hold a pair."""
    found = birthday_test(507, 1000, 23)
    assert found.size == pytest.approx(365, rel=0.01)
    assert found.low < 365 < found.high
    assert birthday_test(0, 100, 23).size == np.inf
    assert birthday_test(100, 100, 23).low >= 1
    # The median rule: a sample that collides half of the time is about 1.18 roots of the support.
    assert birthday_test(500, 1000, 1000).size == pytest.approx(1000**2 / (2 * np.log(2)), rel=2e-3)


def test_limits_of_a_support_are_the_exact_limits_of_its_share():
    for delta in (0.05, 0.001):
        found = birthday_test(507, 1000, 23, delta=delta)
        share = binomtest(507, 1000).proportion_ci(1 - delta, method="exact")
        assert uniform_collision_probability(found.low, 23) == pytest.approx(share.high, rel=1e-6)
        assert uniform_collision_probability(found.high, 23) == pytest.approx(share.low, rel=1e-6)


@pytest.mark.item("A16.19")
def test_known_supports_with_noise_on_every_sample():
    draw = np.random.default_rng(5)
    for support in (100, 2000):
        centres = draw.standard_normal((support, 20))
        size = int(1.2 * np.sqrt(support))
        samples = centres[draw.integers(support, size=(600, size))] + 1e-3 * draw.standard_normal((600, size, 20))
        found = birthday_test(int(near_duplicates(samples, 0.1).sum()), 600, size, delta=1e-5)
        assert found.low < support < found.high < 2 * support


def test_closest_pairs_by_another_library():
    sample = np.random.default_rng(0).standard_normal((15, 3))
    pairs, distances = closest_pairs(sample, 7)
    np.testing.assert_allclose(distances, np.sort(pdist(sample))[:7])
    np.testing.assert_allclose(np.linalg.norm(sample[pairs[:, 0]] - sample[pairs[:, 1]], axis=1), distances)
    assert len(closest_pairs(sample[:2])[1]) == 1
