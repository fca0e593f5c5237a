"""Operator norms against NumPy, an optimizer over directions, and closed forms; Cauchy–Schwarz in rationals."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import minimize

from deeptheory.calculus.operator_norms import cauchy_schwarz, operator_norm, vector_norm


@pytest.mark.item("L1.2")
def test_vector_norms_against_numpy():
    vectors = np.random.default_rng(0).normal(size=(5, 4))
    for p in (1.0, 1.5, 2.0, 3.0, np.inf):
        assert np.allclose(vector_norm(vectors, p), np.linalg.norm(vectors, p, axis=1), rtol=1e-14)
    assert vector_norm(np.array([3e200, 4e200])) == pytest.approx(5e200) and vector_norm(np.zeros(3), 3.0) == 0


@pytest.mark.item("L1.2")
@pytest.mark.item("L1.17")
def test_exact_operator_norms_against_numpy():
    matrix = np.random.default_rng(1).normal(size=(5, 3))
    for p in (1.0, 2.0, np.inf):
        found = operator_norm(matrix, p)
        assert found.lower == pytest.approx(np.linalg.norm(matrix, p), rel=1e-13) and found.upper == found.lower
        assert vector_norm(matrix @ found.direction, p) / vector_norm(found.direction, p) == pytest.approx(found.lower)
    assert operator_norm(matrix).lower == pytest.approx(np.linalg.eigvalsh(matrix.T @ matrix)[-1] ** 0.5)


@pytest.mark.item("L1.2")
@pytest.mark.parametrize("p", [1.2, 1.7, 3.0, 6.0])
def test_bounds_hold_the_norm_between_them(p):
    """The best of many directions, polished by an optimizer, lies between the bounds; they meet without signs."""
    rng = np.random.default_rng(2)
    matrix = rng.normal(size=(4, 3))

    def stretch(x, a):
        return -vector_norm(a @ x, p) / vector_norm(x, p)

    for a in (matrix, np.abs(matrix)):
        best = max(
            -minimize(stretch, x, args=(a,), method="Nelder-Mead", options={"xatol": 1e-9}).fun
            for x in rng.normal(size=(12, 3))
        )
        found = operator_norm(a, p)
        assert best == pytest.approx(found.lower, rel=1e-6)
        assert found.lower <= found.upper and best <= found.upper * (1 + 1e-12)
    assert found.upper == pytest.approx(found.lower, rel=1e-9)  # of the matrix without signs


def test_the_norm_of_a_matrix_of_ones_is_known():
    """‖11ᵀ‖ₚ of m × n ones is m^{1/p} n^{1−1/p} (Hölder)."""
    for p in (1.0, 1.3, 2.0, 4.0, np.inf):
        found = operator_norm(np.ones((3, 5)), p)
        assert found.lower == pytest.approx(3 ** (1 / p) * 5 ** (1 - 1 / p)) == found.upper
    with pytest.raises(ValueError, match="p must"):
        operator_norm(np.ones((2, 2)), 0.5)


def test_sums_and_differences_attain_the_chord():
    """Of x + y, x − y the norm is the chord of Riesz and Thorin itself: 2^{1/p} below 2, 2^{1−1/p} above (Clarkson)."""
    for p in (1.1, 1.5, 2.0, 3.0, 10.0):
        assert operator_norm(np.array([[1.0, 1], [1, -1]]), p).upper == pytest.approx(2 ** max(1 / p, 1 - 1 / p))


@pytest.mark.item("L1.3")
def test_cauchy_schwarz_in_rationals():
    """The slack is the sum of (xᵢyⱼ − xⱼyᵢ)² over pairs (Lagrange), zero for parallel vectors only."""
    rng = np.random.default_rng(3)
    for x, y in (*rng.integers(-5, 6, (20, 2, 4)), ([1, 2, 3, 4], [-2, -4, -6, -8]), ([1, 0, 0, 0], [0, 0, 0, 0])):
        found = cauchy_schwarz(np.array(x, float), np.array(y, float))
        slack = sum(Fraction(int(x[i]) * int(y[j]) - int(x[j]) * int(y[i])) ** 2 for i in range(4) for j in range(i))
        assert found.bound - found.square == slack and found.discriminant == -4 * slack
        assert found.nearest * np.dot(y, y) == pytest.approx(np.dot(x, y), abs=1e-12)  # what is left is orthogonal to y


@pytest.mark.parametrize("unit", [1e-300, 1e-160, 1e160, 1e300])
@pytest.mark.parametrize("p", [1.0, 1.5, 2.0, 3.0, np.inf])
def test_bounds_of_all_sizes_hold(unit, p):
    matrix = np.array([[1.0, -0.3, 0.2], [0.4, 0.9, -0.7]])
    one, other = operator_norm(matrix, p), operator_norm(unit * matrix, p)
    assert other.lower / unit == pytest.approx(one.lower, rel=1e-9)
    assert other.upper / unit == pytest.approx(one.upper, rel=1e-9)
