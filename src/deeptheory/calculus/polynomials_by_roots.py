"""Roots of polynomials as eigenvalues, and what they decide: from where on one polynomial stays below another.

Reference: arora Sec. 19.6; lucchi Sec. 12.3.1; Horn and Johnson, Matrix Analysis (1985), Sec. 3.3.
"""

from math import inf
from typing import Literal

import numpy as np
from jaxtyping import Complex, Float

from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import among, positive

__all__ = ["companion_matrix", "growth_order", "order_threshold", "polynomial_roots"]

Coefficients = Float[np.ndarray, " _n"]


def companion_matrix(coefficients: Coefficients) -> Float[np.ndarray, "k k"]:
    """The matrix whose characteristic polynomial is this one over its leading coefficient; constant term first.

    Reference: Horn and Johnson, Matrix Analysis (1985), Sec. 3.3.
    """
    trimmed = _trimmed(coefficients)
    degree = len(trimmed) - 1
    if degree < 1:
        raise ValueError("coefficients must be those of a polynomial of degree 1 at least")
    matrix = np.diag(np.ones(degree - 1), -1)
    matrix[:, -1] -= trimmed[:-1] / trimmed[-1]
    return matrix


def polynomial_roots(coefficients: Coefficients) -> Complex[np.ndarray, " k"]:
    """All complex roots, by real part and imaginary part: eigenvalues of the companion matrix, then two Newton steps.

    Multiple roots are accurate to about the root of the precision only. Reference: arora Exercises 19.6-1 and 19.6-2.
    """
    trimmed = _trimmed(coefficients)
    roots = np.linalg.eigvals(companion_matrix(trimmed)).astype(complex)
    for _ in range(2):
        value = np.polynomial.polynomial.polyval(roots, trimmed)
        slope = np.polynomial.polynomial.polyval(roots, np.polynomial.polynomial.polyder(trimmed))
        step = np.where(slope != 0, value / np.where(slope != 0, slope, 1), 0)
        moved = roots - step
        better = np.abs(np.polynomial.polynomial.polyval(moved, trimmed)) < np.abs(value)
        roots = np.where(better, moved, roots)
    return roots[np.lexsort((np.imag(roots), np.real(roots)))]


def growth_order(f: Coefficients, g: Coefficients) -> Literal["o", "Θ", "ω"]:
    """How f grows beside g: "o" if f/g → 0, "Θ" if f = O(g) and f = Ω(g), "ω" if f/g → ∞.

    Polynomials by their coefficients, constant term first, constants with them. Reference: lucchi 12.3.1.
    """
    difference = len(_trimmed(f)) - len(_trimmed(g))
    return "Θ" if difference == 0 else "o" if difference < 0 else "ω"


def order_threshold(f: Coefficients, g: Coefficients, constant: float, *, side: str = "O") -> float:
    """Least whole N with |f(n)| < C·g(n) for all n > N (side "O"), or |f(n)| > C·g(n) (side "Ω"); ∞ if there is none.

    Beyond the largest real root of C·g ∓ f the signs do not change. `constant` is C. Reference: lucchi 12.3.1, Fig.
    12.3.
    """
    among(("O", "Ω"), side=side)
    positive(constant=constant)
    polynomial = np.polynomial.polynomial
    both = [polynomial.polysub(constant * np.asarray(g, float), sign * np.asarray(f, float)) for sign in (1, -1)]
    last = 0.0
    for each in both:
        if np.any(each) and len(_trimmed(each)) > 1:
            roots = polynomial_roots(each)
            real = np.real(roots)[np.abs(np.imag(roots)) < 1e-9 * (1 + np.abs(roots))]
            last = max(last, *real, 0.0) if len(real) else last

    def holds(n: float) -> bool:
        small = abs(polynomial.polyval(n, f)), constant * polynomial.polyval(n, g)
        return bool(small[0] < small[1] if side == "O" else small[0] > small[1])

    beyond = float(np.ceil(last)) + 1
    if not holds(beyond):
        return inf
    while beyond > 0 and holds(beyond):
        beyond -= 1
    return 0.0 if beyond == 0 and holds(1.0) else beyond


def _trimmed(coefficients: Coefficients) -> np.ndarray:
    trimmed = np.trim_zeros(np.asarray(coefficients, float), "b")
    if len(trimmed) == 0:
        raise ValueError("coefficients must not all be zero")
    return trimmed


doors(__name__)
