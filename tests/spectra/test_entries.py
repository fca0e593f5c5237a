"""Exact moments of matrices with independent entries: extrapolation, full enumeration, published values, draws."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from deeptheory.spectra.entries import ENTRY_LAWS, draw_entries, entry_moment, expected_spectral_moment
from deeptheory.spectra.marchenko_pastur import marchenko_pastur_moment

pytestmark = pytest.mark.slow


@pytest.mark.item("J6.4")
@pytest.mark.parametrize("entries", [law for law in ENTRY_LAWS if law != "student"])
def test_moments_are_limits_of_exact_finite_moments(entries):
    # An exact statement: extrapolating the polynomial in 1/N with rational arithmetic gives the moment itself.
    ratio = Fraction(3, 2)
    for order in range(1, 6):
        sizes = [3 * (j + 5) for j in range(order + 1)]
        values = [expected_spectral_moment(order, size, size * 2 // 3, entries) for size in sizes]
        nodes = [Fraction(1, size) for size in sizes]
        limit = sum(
            value * np.prod([-other / (node - other) for other in nodes if other != node])
            for node, value in zip(nodes, values, strict=True)
        )
        assert limit == marchenko_pastur_moment(order, ratio)


def test_finite_moments_by_enumerating_sign_matrices():
    n, m = 2, 3
    matrices = np.array(list(itertools.product((-1, 1), repeat=n * m))).reshape(-1, n, m)
    gram = matrices @ matrices.transpose(0, 2, 1)
    for order in range(1, 6):
        trace = np.trace(np.linalg.matrix_power(gram, order), axis1=1, axis2=2)
        exact = Fraction(int(trace.sum()), len(matrices) * n * m**order)
        assert expected_spectral_moment(order, n, m, "rademacher") == exact


def test_finite_moments_of_one_dimension():
    # N = 1: W is a mean of squares; for normal entries a χ² variable with M(M+2)(M+4)… moments.
    for m in (1, 4, 9):
        assert expected_spectral_moment(4, 1, m) == Fraction(m * (m + 2) * (m + 4) * (m + 6), m**4)
    assert expected_spectral_moment(2, 1, 1, "exponential") == entry_moment("exponential", 4) == 9
    # The published third moment of a real Wishart matrix.
    n, m = 5, 7
    assert expected_spectral_moment(3, n, m) == Fraction(m * m + 3 * m * n + n * n + 3 * m + 3 * n + 4, m * m)


def test_entry_moments_match_the_draws(key):
    for entries in ENTRY_LAWS:
        draws = draw_entries(key, (400_000,), entries)
        for order in range(1, 5):
            error = np.std(draws**order) / len(draws) ** 0.5
            assert abs(np.mean(draws**order) - float(entry_moment(entries, order))) <= 5 * error + 1e-12


def test_bad_input_is_named(key):
    with pytest.raises(ValueError, match="entries"):
        draw_entries(key, (2,), "cauchy")
    with pytest.raises(ValueError, match="order 10"):
        entry_moment("student", 10)
    with pytest.raises(ValueError, match="order"):
        expected_spectral_moment(7, 3, 3)
