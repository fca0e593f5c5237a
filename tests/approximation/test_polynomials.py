from fractions import Fraction
from math import comb

import mpmath
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import binom

from deeptheory.approximation.polynomials import (
    BernsteinPolynomial,
    bernstein_basis,
    bernstein_degree,
    bernstein_polynomial,
    landau_constant,
    landau_error_bound,
    landau_polynomial,
    lipschitz_bernstein_bound,
)

X = np.linspace(0, 1, 201)


@pytest.mark.item("L3.6")
@pytest.mark.parametrize("degree", [1, 3, 40, 3000])
def test_the_basis_is_the_binomial_law(degree):
    basis = bernstein_basis(degree, X)
    np.testing.assert_allclose(basis, binom.pmf(np.arange(degree + 1)[:, None], degree, X), rtol=1e-8, atol=1e-13)
    np.testing.assert_allclose(basis.sum(0), 1, rtol=1e-10)
    if degree == 40:
        np.testing.assert_allclose(X[basis.argmax(1)] * 40, np.arange(41), atol=1e-12)
    with pytest.raises(ValueError, match=r"must lie in \[0, 1\]"):
        bernstein_basis(3, np.array([0.5, 1.1]))


@pytest.mark.item("L3.6", "L3.8")
def test_the_polynomial_is_its_definition_in_rationals():
    f = [Fraction(3), Fraction(-1, 2), Fraction(7, 3), Fraction(2)]
    low, high = Fraction(-1), Fraction(3, 2)
    polynomial = BernsteinPolynomial(np.array([float(each) for each in f]), float(low), float(high))
    for x in (Fraction(-1), Fraction(1, 7), Fraction(5, 4), Fraction(3, 2)):
        t = (x - low) / (high - low)
        exact = sum(c * comb(3, k) * t**k * (1 - t) ** (3 - k) for k, c in enumerate(f))
        np.testing.assert_allclose(polynomial(float(x)), float(exact), rtol=1e-13)
        np.testing.assert_allclose(np.polynomial.polynomial.polyval(float(t), polynomial.powers()), float(exact))


@pytest.mark.item("L3.7")
def test_a_square_is_missed_by_x_times_one_minus_x_over_m():
    for degree in (1, 5, 64):
        gap = bernstein_polynomial(lambda x: x**2, degree)(X) - X**2
        np.testing.assert_allclose(gap, X * (1 - X) / degree, atol=1e-14)


@pytest.mark.item("L3.7")
def test_degrees_are_as_promised():
    def kink(x):
        return np.abs(x - 0.5)

    # |x − y| ≤ δ moves the kink by δ at most: δ = ε/2, and R = 1/2.
    assert bernstein_degree(0.25, 0.125, 0.5) == 65  # the least whole number above 64
    assert np.abs(bernstein_polynomial(kink, 65)(X) - kink(X)).max() <= 0.25
    for degree in (2, 20, 200):
        error = np.abs(bernstein_polynomial(kink, degree)(X) - kink(X)).max()
        np.testing.assert_allclose(error, comb(degree, degree // 2) / 2 ** (degree + 1), rtol=1e-10)
        assert error <= lipschitz_bernstein_bound(1.0, degree) == 1 / (2 * np.sqrt(degree))


@pytest.mark.item("L3.13")
def test_landaus_constants_and_polynomials_are_their_integrals():
    for n in (1, 4, 30):
        np.testing.assert_allclose(landau_constant(n), quad(lambda u, n=n: (1 - u * u) ** n, -1, 1)[0], rtol=1e-10)
        second = quad(lambda u, n=n: u * u * (1 - u * u) ** n, -1, 1)[0]
        np.testing.assert_allclose(landau_constant(n + 1) / (2 * (n + 1)), second, rtol=1e-9)
        for x in (0.0, 0.3, 1.0):
            whole = quad(lambda t, n=n, x=x: np.sin(3 * t) * (1 - (t - x) ** 2) ** n, 0, 1)[0] / landau_constant(n)
            found = landau_polynomial(lambda t: np.sin(3 * t), n, np.array([x]))
            np.testing.assert_allclose(found, whole, rtol=1e-9)
    assert landau_constant(1) == pytest.approx(4 / 3)


@pytest.mark.item("L3.13")
def test_landaus_bound_by_hand():
    # ε/2 + M/(δ²(n + 1)) with ε = 0.4, δ = 0.5, M = 3, n = 11
    assert landau_error_bound(0.4, 0.5, 3.0, 11) == pytest.approx(0.2 + 1.0)


@pytest.mark.parametrize("n", [3, 10**4, 10**7])
def test_landau_at_all_degrees(n):
    """J_n in thirty digits; of t(1 − t) the middle value is ¼ − 1/(2n + 3) but for the tails."""
    assert landau_constant(n) == pytest.approx(float(mpmath.beta(0.5, n + 1)), rel=1e-13)
    if n > 3:
        found = landau_polynomial(lambda t: t * (1 - t), n, np.array([0.5]), panels=4)
        assert found[0] == pytest.approx(0.25 - 1 / (2 * n + 3), abs=1e-11)
