"""Gibbs measures against exact fractions, finite differences and their limits."""

from fractions import Fraction

import numpy as np
import pytest

from deeptheory.attention.gibbs import gibbs_entropy, gibbs_measure, log_partition, mean_energy

ENERGIES = np.array([0.0, 1.0, 3.0, 1.0])


@pytest.mark.item("J14.15")
def test_measure_is_that_of_rational_weights():
    """At β = log 2 the weights are powers of two."""
    weights = [Fraction(1, 2 ** int(energy)) for energy in ENERGIES]
    exact = [float(weight / sum(weights)) for weight in weights]
    assert np.allclose(gibbs_measure(ENERGIES, np.log(2)), exact, rtol=1e-14)
    assert np.isclose(log_partition(ENERGIES, np.log(2)), np.log(float(sum(weights)) / 4))


@pytest.mark.item("J14.15")
def test_log_partition_generates_mean_and_variance():
    at, step = 0.7, 1e-4
    low, middle, high = (float(log_partition(ENERGIES, at + shift)) for shift in (-step, 0, step))
    p = np.exp(-at * ENERGIES) / np.exp(-at * ENERGIES).sum()
    mean = p @ ENERGIES
    assert np.isclose((low - high) / (2 * step), mean, atol=1e-7)
    assert np.isclose((high - 2 * middle + low) / step**2, p @ (ENERGIES - mean) ** 2, atol=1e-5)
    assert np.isclose(mean_energy(ENERGIES, at), mean)
    assert np.isclose(gibbs_entropy(ENERGIES, at), -p @ np.log(p))


def test_limits_and_prior():
    prior = np.log([0.1, 0.2, 0.3, 0.4])
    assert np.allclose(gibbs_measure(ENERGIES, 0.0, prior), np.exp(prior))
    assert np.allclose(gibbs_measure(ENERGIES - 1.0, 200.0), [1, 0, 0, 0])
    assert np.isclose(log_partition(ENERGIES, 0.0, prior), 0)
    assert np.isclose(gibbs_entropy(ENERGIES, 0.0), np.log(4))
