"""Spectral matching and Grönwall's bound against enumeration and closed forms."""

from itertools import permutations

import jax
import numpy as np
import pytest

from deeptheory.kernels.limits.gaussian_processes import band_coverage
from deeptheory.kernels.limits.inequalities import gronwall_bound, random_normal_matrix, spectral_matching


def test_matching_is_the_best_of_all_permutations(key):
    one, two = (random_normal_matrix(each, 5) for each in jax.random.split(key))
    np.testing.assert_allclose(one @ one.conj().T, one.conj().T @ one, atol=1e-12)
    left, right = np.linalg.eigvals(one), np.linalg.eigvals(two)
    best = min(np.sum(np.abs(left - right[list(order)]) ** 2) for order in permutations(range(5)))
    assert spectral_matching(one, two) == pytest.approx(best)
    hermitian = random_normal_matrix(key, 4, hermitian=True)
    np.testing.assert_allclose(hermitian, hermitian.conj().T, atol=1e-12)
    given = random_normal_matrix(key, 3, basis=np.eye(3, dtype=complex))
    assert np.count_nonzero(given) == np.count_nonzero(np.diagonal(given).imag) == 3


def test_gronwall_bound_of_a_cosine():
    times = np.array([0.3, 1.0, 2.5])
    np.testing.assert_allclose(gronwall_bound(np.cos, -2.0, times), -2 * np.exp(np.sin(times)), rtol=1e-12)


def test_a_band_has_no_negative_width():
    with pytest.raises(ValueError, match="deviations must lie in"):
        band_coverage(-1.0)
