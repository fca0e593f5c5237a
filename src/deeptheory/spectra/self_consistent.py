"""Sample covariances of a general population: Silverstein's equation, its density and the edges of its support.

The population has eigenvalues tₖ with shares wₖ; `ratio` is dimension over samples, a. The companion transform
v = aS − (1 − a)/z is that of the Gram matrix XᵀX/M and solves z = −1/v + a Σ wₖ tₖ/(1 + tₖ v).

`population` are the tₖ and `weights` the wₖ.

Reference: Marchenko and Pastur 1967; Silverstein 1995; Silverstein and Choi 1995.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Complex, Float

from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import inside
from deeptheory.spectra.arguments import Numbers

__all__ = [
    "EffectiveRidge",
    "effective_ridge",
    "general_edges",
    "general_moment",
    "general_pdf",
    "general_stieltjes",
    "silverstein_inverse",
]

Scalar = float | int | np.floating | np.integer
Vector = Float[np.ndarray, " k"]
BISECTIONS = 100
SMALLEST = 1e-16
"""Below this ratio an interval of the support is as narrow as a few roundings of its place."""


def _checked(population: Numbers, weights: Numbers, ratio: Scalar) -> tuple[Vector, Vector]:
    population, weights = np.asarray(population, float), np.asarray(weights, float)
    if not (ratio > 0 and np.all(population > 0) and np.all(weights > 0)):
        raise ValueError(f"ratio, population and weights must be positive, not {ratio}, {population}, {weights}")
    if abs(weights.sum() - 1) > 1e-9:
        raise ValueError(f"weights must add up to one, not {weights.sum()}")
    return population, weights


def silverstein_inverse(v: Numbers, population: Numbers, weights: Numbers, ratio: Scalar) -> Any:
    """Return z(v) = −1/v + a Σ wₖ tₖ/(1 + tₖ v), the inverse of the companion transform."""
    population, weights = _checked(population, weights, ratio)
    v = np.asarray(v)
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
    z: Numbers, population: Numbers, weights: Numbers, ratio: Scalar
) -> Complex[np.ndarray, "*shape"] | np.complexfloating:
    """Return the transform of the limiting spectrum of a sample covariance, for Im z > 0.

    Silverstein 1995. One population eigenvalue s² gives the Marchenko–Pastur law.
    """
    population, weights = _checked(population, weights, ratio)
    z = np.asarray(z, complex)
    if not np.all(np.imag(z) > 0):
        raise ValueError("z must lie in the upper half plane; elsewhere use S(z̄) = conjugate of S(z)")
    # −(1/z) Σ w/(1 + tv), and not (v + (1 − a)/z)/a, in which small a leave nothing but rounding.
    v = _companion(z, population, weights, ratio)
    return -(weights / (1 + population * v[..., None])).sum(-1) / z


def general_pdf(
    x: Numbers, population: Numbers, weights: Numbers, ratio: Scalar
) -> Float[np.ndarray, "*shape"] | np.floating:
    """Return the density of the continuous part, Im v(x)/(πa): on the support the equation has one complex pair."""
    population, weights = _checked(population, weights, ratio)
    x = np.asarray(x, float)
    ends = general_edges(population, weights, ratio)
    inside = ((x[..., None] > ends[:, 0]) & (x[..., None] < ends[:, 1])).any(-1)
    return np.where(inside, np.imag(_companion(x, population, weights, ratio)), 0.0) / (np.pi * ratio)


def _crossing(passed: Callable[[np.ndarray], np.ndarray], low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Bisect to where a condition starts to hold on the way from low, where it does not, to high, where it does."""
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        beyond = passed(middle)
        low, high = np.where(beyond, low, middle), np.where(beyond, middle, high)
    return high


def general_edges(population: Numbers, weights: Numbers, ratio: Scalar) -> Float[np.ndarray, "parts 2"]:
    """Return the intervals that make up the continuous part of the support, a row each, upwards.

    Their ends are the values z(v) at real v with z'(v) = 0 (Silverstein and Choi 1995). In u = 1/v that is
    g(u) = 1 − a Σ wt²/(u + t)² = 0, and g is concave between neighbouring poles u = −t: it has one zero on either side
    of all poles, and two or none between two of them. The lowest interval starts at zero for a = 1.
    """
    population, weights = _checked(population, weights, ratio)
    inside(SMALLEST, np.inf, "[)", ratio=ratio)
    values, kind = np.unique(population, return_inverse=True)
    shares = ratio * np.bincount(kind, weights)

    def positive(u):
        return (shares * (values / (u[:, None] + values)) ** 2).sum(1) < 1

    def falling(u):
        return (shares * values**2 / (u[:, None] + values) ** 3).sum(1) < 0

    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):  # beside a pole
        left, right = -values[1:], -values[:-1]
        tops = _crossing(falling, left, right)
        gaps = positive(tops)
        top, least, root = values[-1], values[0], ratio**0.5
        # Every zero between a pole, where g is −∞, and a place where it is positive.
        poles = np.concatenate([left[gaps], right[gaps], [-top, -least]])
        places = np.concatenate(
            [tops[gaps], tops[gaps], [-top * (1 + root), (root - 1) * (least if root < 1 else top)]]
        )
        u = _crossing(positive, poles, places)
    ends = -u + (shares * values * u[:, None] / (u[:, None] + values)).sum(1)
    return np.sort(ends).reshape(-1, 2)


class EffectiveRidge(NamedTuple):
    """The ridge that the population feels when the sample is given λ, and its derivative in λ."""

    value: Any
    slope: Any


def effective_ridge(ridge: Numbers, population: Numbers, weights: Numbers, ratio: Scalar) -> EffectiveRidge:
    """Return κ = 1/v(−λ) and dκ/dλ = v'(−λ)/v(−λ)² of the companion transform, for ridges λ ≥ 0.

    λ = κ(1 − a Σ wt/(t + κ)) and dλ/dκ = 1 − a Σ wt²/(t + κ)². As matrices (Σ̂ + λ)⁻¹λ behaves like (Σ + κ)⁻¹κ. At
    λ = 0 it is zero for a ≤ 1 and positive above: interpolation carries a ridge of its own. Eigenvalues may be zero.
    Reference: Dobriban and Wager 2018; Hastie, Montanari, Rosset and Tibshirani 2022.
    """
    ridge, population, weights = (np.asarray(each, float) for each in (ridge, population, weights))
    inside(0, np.inf, "()", ratio=ratio)
    inside(0, np.inf, "[)", population=population, weights=weights, ridge=ridge)
    if abs(weights.sum() - 1) > 1e-9:
        raise ValueError(f"weights must add up to one, not {weights.sum()}")
    kept = population > 0
    values, shares = population[kept], ratio * weights[kept]
    whole = shares.sum()
    # λ is a convex function of κ: from the right Newton's steps come down to the root and never pass it.
    value = ridge + shares @ values
    for _ in range(BISECTIONS):
        seen = values / (values + value[..., None])
        step = (value * (1 - seen @ shares) - ridge) / np.maximum(1 - seen**2 @ shares, np.finfo(float).tiny)
        value = np.maximum(value - step, 0.0)
        if np.all(step <= 1e-16 * value):
            break
    value = np.where((ridge == 0) & (whole <= 1), 0.0, value)[()]
    with np.errstate(divide="ignore"):
        return EffectiveRidge(value, 1 / (1 - (values / (values + value[..., None])) ** 2 @ shares))


def general_moment(order: int, population: Numbers, weights: Numbers, ratio: Scalar) -> float:
    """Return the moment of `order` 1, 2 or 3: m₁, m₂ + a m₁², m₃ + 3a m₁m₂ + a² m₁³ in those of the population."""
    population, weights = _checked(population, weights, ratio)
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


doors(__name__, order="[0, 100]")
