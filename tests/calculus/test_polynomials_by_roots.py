"""Roots by formulas of degree two and three, and growth orders by going through the whole numbers."""

import cmath

import numpy as np
import pytest

from deeptheory.calculus.polynomials_by_roots import companion_matrix, growth_order, order_threshold, polynomial_roots


@pytest.mark.item("A19.4")
def test_the_two_exercises():
    # 5x² − 3x = 5 and 7x³ − 2x = 1, by the quadratic formula and by Cardano's.
    found = polynomial_roots(np.array([-5.0, -3.0, 5.0]))
    np.testing.assert_allclose(found, [(3 - np.sqrt(109)) / 10, (3 + np.sqrt(109)) / 10], rtol=1e-14)
    p, q = -2 / 7, -1 / 7
    cube = (-q / 2 + cmath.sqrt(q * q / 4 + p**3 / 27)) ** (1 / 3)
    turns = [cmath.exp(2j * cmath.pi * k / 3) * cube for k in range(3)]
    expected = sorted((u - p / (3 * u) for u in turns), key=lambda z: (round(z.real, 9), z.imag))
    np.testing.assert_allclose(polynomial_roots(np.array([-1.0, -2.0, 0.0, 7.0])), expected, atol=1e-13)
    np.testing.assert_allclose([round(expected[2].real, 5), round(expected[1].imag, 5)], [0.69988, 0.28576])


def test_companion_matrix_and_trailing_zeros():
    np.testing.assert_array_equal(companion_matrix(np.array([6.0, -5.0, 1.0])), [[0, -6], [1, 5]])
    np.testing.assert_allclose(polynomial_roots(np.array([6.0, -5.0, 1.0, 0.0])), [2, 3])
    with pytest.raises(ValueError, match="degree 1"):
        polynomial_roots(np.array([2.0, 0.0]))
    with pytest.raises(ValueError, match="not all be zero"):
        growth_order(np.zeros(2), np.ones(2))


@pytest.mark.item("L12.12")
def test_the_three_examples():
    quartic, fourth = np.array([5.0, 0, 0, -2, 6]), np.array([0.0, 0, 0, 0, 1])
    line, first = np.array([4.0, 3.0]), np.array([0.0, 1.0])
    assert growth_order(quartic, fourth) == "Θ"
    assert growth_order(line, first) == "Θ"
    assert growth_order(np.array([0.0, 0, 1]), np.array([0.0, 0, 0, 1])) == "o"
    assert growth_order(fourth, line) == "ω"
    assert order_threshold(line, first, 3.0, side="Ω") == 0  # 3n + 4 > 3n from the first n on
    assert order_threshold(quartic, fourth, 5.0) == np.inf
    # n² = o(n³): below every multiple of n³ from some n on, one over the multiple.
    assert order_threshold(np.array([0.0, 0, 1]), np.array([0.0, 0, 0, 1]), 0.01) == 100


@pytest.mark.item("L12.12")
@pytest.mark.parametrize("constant", [6.0, 6.5, 7.0, 9.0])
def test_thresholds_by_going_through_the_numbers(constant):
    n = np.arange(1, 2000)
    f, g = 6.0 * n**4 - 2.0 * n**3 + 5, 1.0 * n**4
    broken = n[~(np.abs(f) < constant * g)]
    expected = broken.max() if len(broken) else 0
    assert order_threshold(np.array([5.0, 0, 0, -2, 6]), np.array([0.0, 0, 0, 0, 1]), constant) == expected


def test_equal_polynomials_are_never_strictly_below_each_other():
    assert order_threshold(np.array([1.0, 2.0]), np.array([1.0, 2.0]), 1.0) == np.inf
    assert order_threshold(np.array([1.0, 2.0]), np.array([1.0, 2.0]), 1.5) == 0
