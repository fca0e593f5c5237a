"""The learner's exact loss by enumeration and by simulation, its two power laws by long sums."""

from itertools import product

import jax
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
