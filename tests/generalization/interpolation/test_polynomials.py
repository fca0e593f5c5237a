"""Polynomial features against quadrature and NumPy's polynomials."""

import numpy as np
import pytest

from deeptheory.generalization.interpolation import polynomials as p


def test_legendre_features_are_orthonormal_on_the_unit_interval():
    nodes, weights = np.polynomial.legendre.leggauss(30)
    features = p.legendre_features((nodes + 1) / 2, 12)
    np.testing.assert_allclose(features.T * (weights / 2) @ features, np.eye(13), atol=1e-12)


def test_the_two_bases_describe_the_same_polynomial():
    x, coefficients = np.linspace(0, 1, 9), np.asarray([1.0, -2.0, 0.5, 3.0])
    values = np.polynomial.polynomial.polyval(x, coefficients)
    np.testing.assert_allclose(p.monomial_features(x, 3) @ coefficients, values)
    np.testing.assert_allclose(p.legendre_features(x, 3) @ p.monomials_in_legendre(coefficients), values, atol=1e-14)
    np.testing.assert_allclose(p.monomials_in_legendre(np.asarray([2.0, 0.0, 0.0])), [2, 0, 0], atol=1e-15)


def test_negative_degrees_are_refused():
    with pytest.raises(ValueError, match=r"degree must lie in \[0, 10000\], got -1"):
        p.monomial_features(np.ones(2), -1)
