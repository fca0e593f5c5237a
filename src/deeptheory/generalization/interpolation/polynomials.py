"""Polynomial regression on [0, 1]: monomials, and Legendre polynomials, in which the test error is a sum of squares.

Reference: arora Sec. 5.1.2; Szegő, Orthogonal Polynomials (1939).
"""

import numpy as np
from jaxtyping import Float

from deeptheory.foundations.entrances import doors

__all__ = ["legendre_features", "monomial_features", "monomials_in_legendre"]


def monomial_features(x: Float[np.ndarray, " n"], degree: int) -> Float[np.ndarray, "n p"]:
    """Columns 1, x, …, x^N: the loss Σ(yᵢ − Σθⱼxᵢʲ)² is least squares in them.

    `degree` is N. Reference: arora Sec. 5.1.2.
    """
    return np.vander(x, degree + 1, increasing=True)


def legendre_features(x: Float[np.ndarray, " n"], degree: int) -> Float[np.ndarray, "n p"]:
    """Shifted Legendre polynomials √(2j + 1)·P_j(2x − 1), orthonormal for uniform x on [0, 1].

    The expected squared difference of two polynomials is the squared distance of their coefficients. j goes up to
    `degree`.
    """
    return np.polynomial.legendre.legvander(2 * x - 1, degree) * np.sqrt(2 * np.arange(degree + 1) + 1)


def monomials_in_legendre(coefficients: Float[np.ndarray, " p"]) -> Float[np.ndarray, " p"]:
    """Coefficients in the orthonormal Legendre polynomials of Σ θⱼ xʲ."""
    shifted = np.polynomial.Polynomial(coefficients)(np.polynomial.Polynomial([0.5, 0.5]))  # x = (1 + u)/2
    found = np.polynomial.legendre.poly2leg(np.atleast_1d(shifted.coef))
    full = np.zeros(len(coefficients))
    full[: len(found)] = found
    return full / np.sqrt(2 * np.arange(len(full)) + 1)


doors(__name__, degree="[0, 1e4]")
