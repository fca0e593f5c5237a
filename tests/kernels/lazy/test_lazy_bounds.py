"""Bounds of the lazy regime against hand-computed numbers and exact probabilities."""

import numpy as np
import pytest
from scipy.special import gammaln
from scipy.stats import binom

from deeptheory.kernels.finite.first_layer import first_layer_coefficient, first_layer_limit
from deeptheory.kernels.lazy.lazy_bounds import (
    closeness,
    concentration_tolerance,
    concentration_width,
    drift_bound,
    entry_tolerance,
    least_eigenvalue_bound,
    movement_bound,
    sampled_gram_deviation,
    width_for_least_eigenvalue,
)

RNG = np.random.default_rng(92)


def test_numbers_worked_out_by_hand():
    # n = 10, δ = 0.05: log 200 = 5.298317, log 4000 = 8.294050, log 40 = 3.688879.
    assert concentration_tolerance(1e4, 10, 0.05) == pytest.approx(0.9207229, rel=1e-6)
    assert concentration_width(10, 0.5, 0.05) == pytest.approx(33909.23, rel=1e-6)
    assert entry_tolerance(100, 10, 0.05) == pytest.approx(0.4072849, rel=1e-6)
    assert sampled_gram_deviation(100, 10.0, 0.05) == pytest.approx(2 + 60 * 0.13581013, rel=1e-6)
    assert movement_bound(2.0, 3.0, 5, 9, slope=0.5) == pytest.approx(5.0)
    assert drift_bound(2.0, 3.0, 5, 9, slope=0.5, curvature=0.25) == pytest.approx(1.25)
    assert sampled_gram_deviation(width_for_least_eigenvalue(0.2, 10.0, 0.1), 10.0, 0.1) == pytest.approx(0.1)


def test_hoeffding_holds_for_the_exact_binomial():
    for width in (1, 7, 50, 400):
        tolerance = entry_tolerance(width, 3, 0.1, spread=1.0)
        counts = np.arange(width + 1)
        outside = np.abs(counts / width - 0.5) >= tolerance
        assert binom.pmf(counts, width, 0.5)[outside].sum() <= 0.1 / 9


def test_closeness_of_two_matrices_against_norms_one_by_one():
    ones, twos = (a + np.swapaxes(a, 1, 2) for a in RNG.standard_normal((2, 8, 4, 4)))
    batch = closeness(ones, twos)
    for index, (one, two) in enumerate(zip(ones, twos, strict=True)):
        found = [part[index] for part in batch]
        moved = max(abs(a - b) for a, b in zip(np.linalg.eigvalsh(one), np.linalg.eigvalsh(two), strict=True))
        assert found[0] == pytest.approx(moved)
        assert found[1] == pytest.approx(np.abs(np.linalg.eigvalsh(one - two)).max())
        assert found[2] == pytest.approx(np.sqrt(np.sum((one - two) ** 2)))
        assert found[3] == pytest.approx(4 * np.abs(one - two).max())


def test_least_eigenvalue_bound_is_the_sum_of_its_positive_terms():
    degrees = np.arange(1, 201)
    coefficients = np.array([first_layer_coefficient(int(p)) for p in degrees])
    for n, cosine in [(3, 0.1), (12, 0.45), (100, 0.8)]:
        summed = coefficients @ np.maximum(1 - (n - 1) * cosine**degrees, 0) + 0.5 - coefficients.sum()
        assert least_eigenvalue_bound(cosine, n) == pytest.approx(summed, abs=1e-13)
    many, degrees = 10**15, np.arange(2.0, 4e6, 2)
    coefficients = np.exp(gammaln((degrees - 1) / 2) - gammaln(degrees / 2)) / (2 * np.pi**1.5 * (degrees - 1))
    summed = coefficients @ np.maximum(1 - many * 0.3**degrees, 0) + 0.25 - coefficients.sum()
    assert least_eigenvalue_bound(0.3, many) == pytest.approx(summed, abs=1e-9)
    with pytest.raises(ValueError, match="powers"):
        least_eigenvalue_bound(1 - 1e-9, 10)


@pytest.mark.parametrize(("n", "d"), [(3, 5), (8, 5), (20, 6)])
def test_least_eigenvalue_is_above_its_bound(n, d):
    x = RNG.standard_normal((n, d))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    cosine = float(np.abs(x @ x.T - np.eye(n)).max())
    least = np.linalg.eigvalsh(first_layer_limit(x))[0]
    assert 0 < least_eigenvalue_bound(cosine, n) <= least
    assert least_eigenvalue_bound(0.0, n) == pytest.approx(0.5)
    with pytest.raises(ValueError, match="cosine"):
        least_eigenvalue_bound(1.0, n)
