"""The learner's exact loss by enumeration and by simulation, its two power laws by long sums."""

from itertools import product

import jax
import mpmath
import numpy as np
import pytest

from deeptheory.scaling.memorization import (
    fact_chances,
    memorization_law,
    memorization_loss,
    memorization_variance,
    memorize,
)
from deeptheory.scaling.power_laws import loss_at


@pytest.mark.item("H13.8")
def test_loss_and_variance_by_enumeration_of_what_was_seen():
    chances, samples, capacity = np.array([0.5, 0.2, 0.1]), 3.0, 2
    seen = 1 - np.exp(-samples * chances)
    law = [
        (
            np.prod([q if s else 1 - q for s, q in zip(each, seen, strict=True)]),
            1 - sum(chances[:capacity] * each[:capacity]),
        )
        for each in (np.array(bits) for bits in product((0, 1), repeat=3))
    ]
    mean = sum(chance * missed for chance, missed in law)
    assert memorization_loss(chances, capacity, samples) == pytest.approx(mean, rel=1e-13)
    variance = sum(chance * (missed - mean) ** 2 for chance, missed in law)
    assert memorization_variance(chances, capacity, samples) == pytest.approx(variance, rel=1e-12)
    losses = memorize(jax.random.key(0), chances, capacity, samples, runs=40_000)
    assert losses.mean() == pytest.approx(mean, abs=6 * np.sqrt(variance / 40_000))
    assert losses.var() == pytest.approx(variance, rel=0.05)
    averaged = memorize(jax.random.key(1), chances, capacity, samples, runs=40_000, learners=9)
    assert averaged.var() == pytest.approx(variance / 9, rel=0.05)


@pytest.mark.item("H13.8")
@pytest.mark.parametrize("alpha", [0.5, 1.0, 2.0])
def test_power_laws_are_the_limits_of_the_sums(alpha):
    law, chances = memorization_law(alpha), fact_chances(alpha, 10**6)
    for capacity in (1000, 3000):
        assert memorization_loss(chances, capacity, 1e14) == pytest.approx(loss_at(law, capacity, np.inf), rel=1e-3)
    beyond = 1 - chances.sum()  # facts that the sum leaves out, all of them unseen
    for samples in (300.0, 3000.0):
        missed = memorization_loss(chances, 10**6, samples)
        assert missed == pytest.approx(loss_at(law, np.inf, samples), rel=2e-3) and missed > beyond


def test_more_room_than_facts_is_no_room_more():
    chances = fact_chances(1.0, 5)
    assert memorize(jax.random.key(0), chances, 50, 1e9)[0] == pytest.approx(1 - chances.sum())
    assert memorization_loss(chances, 0, 10.0) == pytest.approx(1)


@pytest.mark.parametrize("alpha", [1e-300, 1e-12, 1e-3, 0.0199, 0.0201, 0.5, 50.0])
def test_chances_at_all_exponents_in_many_digits(alpha):
    with mpmath.workdps(400):
        exact = [float(1 / (mpmath.zeta(1 + mpmath.mpf(alpha)) * k ** (1 + mpmath.mpf(alpha)))) for k in (1, 2, 3)]
    np.testing.assert_allclose(fact_chances(alpha, 3), exact, rtol=2e-14)


def test_the_law_of_exponents_near_zero_tends_to_one():
    np.testing.assert_allclose(memorization_law(1e-12).coefficients, [1, 1], rtol=1e-10)


def test_the_variance_of_few_samples_is_linear_in_them():
    chances = np.array([0.5, 0.25, 0.1])
    assert memorization_variance(chances, 3, 1e-14) == pytest.approx(1e-14 * np.sum(chances**3), rel=1e-12)


def test_chances_that_add_up_to_more_than_one_are_refused(key):
    chances = np.array([0.7, 0.6])
    for call in (memorization_loss, memorization_variance):
        with pytest.raises(ValueError, match=r"chances must add up to at most one, got a sum of 1\.3"):
            call(chances, 2, 3.0)
    with pytest.raises(ValueError, match="chances must add up to at most one"):
        memorize(key, chances, 2, 3.0)
