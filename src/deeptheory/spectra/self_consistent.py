"""Sample covariances of a general population: Silverstein's equation, its density and the edges of its support.

The population has eigenvalues tₖ with shares wₖ; `ratio` is dimension over samples, a. The companion transform
v = aS − (1 − a)/z is that of the Gram matrix XᵀX/M and solves z = −1/v + a Σ wₖ tₖ/(1 + tₖ v).
"""

import math
from typing import Any

import numpy as np
from jaxtyping import Float, Num

__all__ = [
    "general_edges",
    "general_moment",
    "general_pdf",
    "general_stieltjes",
    "silverstein_inverse",
]

Scalar = float | int | np.floating
Vector = Float[np.ndarray, " k"]


def _check(population: Vector, weights: Vector, ratio: Scalar) -> None:
    if not (ratio > 0 and np.all(population > 0) and np.all(weights > 0)):
        raise ValueError(f"ratio, population and weights must be positive, not {ratio}, {population}, {weights}")
    if abs(weights.sum() - 1) > 1e-9:
        raise ValueError(f"weights must add up to one, not {weights.sum()}")


def silverstein_inverse(v: Num[np.ndarray, "*shape"], population: Vector, weights: Vector, ratio: Scalar) -> Any:
    """Return z(v) = −1/v + a Σ wₖ tₖ/(1 + tₖ v), the inverse of the companion transform."""
    _check(population, weights, ratio)
    return -1 / v + ratio * (weights * population / (1 + population * v[..., None])).sum(-1)


def _companion(z: np.ndarray, population: Vector, weights: Vector, ratio: Scalar) -> np.ndarray:
    """The solution of the largest imaginary part; the only one in the upper half plane where z is in it.

    With u = 1/v the equation is u + (z − a Σ wt) + Σ awt²/(u + t) = 0: the eigenvalues of an arrowhead matrix.
    """
    count = len(population)
    arrow = np.zeros((*z.shape, count + 1, count + 1), complex)
    arrow[..., 0, 0] = ratio * (weights * population).sum() - z
    arrow[..., 0, 1:] = arrow[..., 1:, 0] = 1j * (ratio * weights) ** 0.5 * population
    arrow[..., np.arange(1, count + 1), np.arange(1, count + 1)] = -population
    roots = 1 / np.linalg.eigvals(arrow)
    return np.take_along_axis(roots, roots.imag.argmax(-1)[..., None], -1)[..., 0]


def general_stieltjes(
    z: Num[np.ndarray, "*shape"], population: Vector, weights: Vector, ratio: Scalar
) -> Num[np.ndarray, "*shape"] | np.complexfloating:
    """Return the transform of the limiting spectrum of a sample covariance, for Im z > 0.

    Silverstein 1995. One population eigenvalue s² gives the Marchenko–Pastur law.
    """
    _check(population, weights, ratio)
    z = np.asarray(z, complex)
    if not np.all(np.imag(z) > 0):
        raise ValueError("z must lie in the upper half plane; elsewhere use S(z̄) = conjugate of S(z)")
    return (_companion(z, population, weights, ratio) + (1 - ratio) / z) / ratio


def general_pdf(
    x: Float[np.ndarray, "*shape"], population: Vector, weights: Vector, ratio: Scalar
) -> Float[np.ndarray, "*shape"] | np.floating:
    """Return the density of the continuous part, Im v(x)/(πa): on the support the equation has one complex pair."""
    _check(population, weights, ratio)
    imaginary = np.imag(_companion(np.asarray(x, float), population, weights, ratio))
    # Off the support all roots are real, up to rounding.
    return np.where(imaginary > 1e-7, imaginary, 0.0) / (np.pi * ratio)


def general_edges(population: Vector, weights: Vector, ratio: Scalar) -> Float[np.ndarray, "parts 2"]:
    """Return the intervals that make up the continuous part of the support, a row each, upwards.

    Their ends are the values z(v) at real v with z'(v) = 0, that is 1/v² = a Σ wt²/(1 + tv)² (Silverstein and Choi
    1995). The lowest interval starts at zero for a = 1.
    """
    _check(population, weights, ratio)
    # (1/v² − Σ …) times v² Π(1 + tv)², as a polynomial.
    factors = [np.polynomial.Polynomial([1.0, t]) ** 2 for t in population]
    one, square = np.polynomial.Polynomial([1.0]), np.polynomial.Polynomial([0, 0, 1.0])
    whole = math.prod(factors, start=one)
    for k, (t, w) in enumerate(zip(population, weights, strict=True)):
        others = math.prod((f for j, f in enumerate(factors) if j != k), start=one)
        whole = whole - ratio * w * t**2 * square * others
    # At a = 1 the leading coefficient vanishes and a root goes to infinity, where z is zero.
    coefficients = whole.coef[: 2 * len(population) + (0 if abs(ratio - 1) < 1e-12 else 1)]
    roots = np.asarray(np.polynomial.Polynomial(coefficients).roots(), complex)
    real = np.real(roots)[abs(np.imag(roots)) < 1e-7 * (1 + abs(roots))]
    ends = np.sort(silverstein_inverse(real, population, weights, ratio))
    return (np.insert(ends, 0, 0.0) if len(ends) % 2 else ends).reshape(-1, 2)


def general_moment(order: int, population: Vector, weights: Vector, ratio: Scalar) -> float:
    """Return the first three moments: m₁, m₂ + a m₁², m₃ + 3a m₁m₂ + a² m₁³ in those of the population."""
    _check(population, weights, ratio)
    first, second, third = ((weights * population**k).sum() for k in (1, 2, 3))
    match order:
        case 1:
            return float(first)
        case 2:
            return float(second + ratio * first**2)
        case 3:
            return float(third + 3 * ratio * first * second + ratio**2 * first**3)
        case _:
            raise ValueError(f"order must be 1, 2 or 3, not {order}")
