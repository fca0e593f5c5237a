"""Finite probability spaces by enumeration, expectations against SciPy's distributions."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy import stats

from deeptheory.calculus.expectations import (
    affine_gaussian,
    empirical_tail_integral,
    expectation_by_density,
    expectation_by_tail,
    gaussian_expectation,
    probability_by_density,
)
from deeptheory.calculus.probability_spaces import (
    atoms,
    event_probability,
    is_measurable,
    is_sigma_algebra,
    push_forward,
    sigma_algebra,
)

DICE = list(product(range(1, 7), repeat=2))


@pytest.mark.item("L1.14")
def test_printed_algebras():
    """Those of the book, and the smallest family with the axioms, grown from the generators one union at a time."""
    assert sigma_algebra(list("abc"), []) == {frozenset(), frozenset("abc")}
    assert len(sigma_algebra(list("abc"), [{"a"}, {"b"}])) == 8
    assert sigma_algebra((1, 2, 3, 4), [(1, 2), (3, 4)]) == set(map(frozenset, ((), (1, 2), (3, 4), (1, 2, 3, 4))))
    assert sigma_algebra(list("abc"), [{"a"}]) == set(map(frozenset, ("", "a", "bc", "abc")))
    family = {frozenset({1, 2}), frozenset({2, 3})}
    while True:
        grown = family | {frozenset(range(1, 6)) - a for a in family} | {a | b for a in family for b in family}
        if grown == family:
            break
        family = grown
    assert sigma_algebra(range(1, 6), [{1, 2}, {2, 3}]) == family and len(family) == 2 ** len(
        atoms(range(1, 6), [{1, 2}, {2, 3}])
    )
    assert is_sigma_algebra(range(1, 6), family) and not is_sigma_algebra(range(1, 6), family - {frozenset({2})})


@pytest.mark.item("L1.14")
def test_the_sum_of_two_dice():
    masses = dict.fromkeys(DICE, Fraction(1, 36))
    law = push_forward(masses, sum)
    assert law == {total: Fraction(6 - abs(total - 7), 36) for total in range(2, 13)}
    assert event_probability(masses, [(1, 1), (6, 6)]) == Fraction(1, 18)
    assert not is_measurable(sum, DICE, [(), DICE])
    few = list(product((1, 2, 3), repeat=2))
    assert is_measurable(sum, few, sigma_algebra(few, [[each] for each in few]))
    assert is_measurable(sum, few, sigma_algebra(few, [[w for w in few if sum(w) <= t] for t in range(2, 7)]))
    with pytest.raises(ValueError, match="add up to 1"):
        push_forward({"a": 0.4, "b": 0.5}, str)


@pytest.mark.item("L1.15")
@pytest.mark.parametrize(
    "law", [stats.expon(scale=0.4), stats.gamma(2.5, scale=0.7), stats.halfnorm(), stats.lomax(3.0)]
)
def test_expectations_by_density_and_by_tail(law):
    assert expectation_by_density(law.pdf, 0.0, np.inf) == pytest.approx(law.mean(), rel=1e-8)
    assert expectation_by_tail(law.sf) == pytest.approx(law.mean(), rel=1e-8)
    assert probability_by_density(law.pdf, 0.3, 1.1) == pytest.approx(law.cdf(1.1) - law.cdf(0.3), rel=1e-8)


@pytest.mark.item("L1.15")
def test_the_tail_of_a_sample_integrates_to_its_mean():
    samples = np.random.default_rng(0).exponential(size=101)
    assert empirical_tail_integral(samples) == pytest.approx(samples.mean(), rel=1e-13)
    with pytest.raises(ValueError, match="samples must"):
        empirical_tail_integral(-samples)


@pytest.mark.item("L1.20")
def test_gaussian_moments_by_quadrature():
    """Mean, covariance and a fourth moment (Isserlis) of two variables, and their affine image's."""
    mean, covariance = np.array([1.0, -2.0]), np.array([[2.0, 0.6], [0.6, 0.5]])
    assert np.allclose(gaussian_expectation(lambda x: x, mean, covariance), mean, atol=1e-12)
    found = gaussian_expectation(lambda x: x[:, :, None] * x[:, None], mean, covariance) - np.outer(mean, mean)
    assert np.allclose(found, covariance, atol=1e-12)
    fourth = gaussian_expectation(lambda x: (x[:, 0] - 1) ** 2 * (x[:, 1] + 2) ** 2, mean, covariance)
    assert fourth == pytest.approx(2 * 0.5 + 2 * 0.6**2)
    matrix, shift = np.array([[1.0, 2.0], [0.0, -1.0], [3.0, 1.0]]), np.array([1.0, 0, -1])
    image = affine_gaussian(mean, covariance, matrix, shift)
    ours = gaussian_expectation(lambda x: (x @ matrix.T + shift)[:, 0] ** 3, mean, covariance)
    assert ours == pytest.approx(image.mean[0] ** 3 + 3 * image.mean[0] * image.covariance[0, 0])


def test_a_narrow_gaussian_keeps_its_width():
    found = gaussian_expectation(lambda x: x[:, 0] ** 2 * x[:, 1] ** 2, np.zeros(2), np.diag([0.01, 4.0]))
    assert found == pytest.approx(0.04)


@pytest.mark.parametrize("reach", [10.0, 1e6, 1e100, np.inf])
def test_long_intervals_are_not_stepped_over(reach):
    def density(x):
        return np.exp(-min(x * x, 1e3) / 2) / np.sqrt(2 * np.pi)

    assert probability_by_density(density, -reach, reach) == pytest.approx(1, abs=1e-9)
    assert probability_by_density(density, -reach, np.inf) == pytest.approx(1, abs=1e-9)
    assert expectation_by_density(density, -reach, reach, lambda x: min(x * x, 1e3)) == pytest.approx(1, abs=1e-8)
    for scale in (1e-3, 1.0, 1e3):
        if reach > 50 * scale:
            assert expectation_by_tail(lambda t, s=scale: np.exp(-t / s), reach) == pytest.approx(scale, rel=1e-8)
