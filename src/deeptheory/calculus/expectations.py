"""Expectations of real random variables: by the density, by the tail, and what affine maps do to Gaussians.

Reference: lucchi Sec. 1.5.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import Annotated, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.integrate import quad

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import inside

__all__ = [
    "GaussianLaw",
    "affine_gaussian",
    "empirical_tail_integral",
    "expectation_by_density",
    "expectation_by_tail",
    "gaussian_expectation",
    "gaussian_product_rule",
    "probability_by_density",
]

Density = Callable[[float], float]
MOST_POINTS = 2**20


def probability_by_density(density: Density, low: float, high: float) -> float:
    """Return Pr(a ≤ X ≤ b) = ∫ₐᵇ f(x) dx by adaptive quadrature; ends may be infinite.

    a is `low`, b `high`. Reference: lucchi eq. 1.29.
    """
    return _integral(density, low, high)


def expectation_by_density(
    density: Density, low: float, high: float, function: Callable[[float], float] | None = None
) -> float:
    """Return E[g(X)] = ∫ g(x) f(x) dx over the support from `low` to `high`; g(x) = x where none is given.

    Adaptive quadrature to about eight digits. It cannot see that an expectation does not exist: Cauchy's law gives
    nonsense. A narrow peak far from zero it sees only if `low` and `high` are near. `function` is g. Reference: lucchi
    Sec. 1.5.
    """
    return _integral(lambda x: (x if function is None else function(x)) * density(x), low, high)


def expectation_by_tail(tail: Density, high: float = np.inf) -> float:
    """Return E[X] = ∫₀^∞ Pr(X ≥ t) dt of a random variable that is never negative, from its tail Pr(X ≥ t).

    Whether the tail is Pr(X ≥ t) or Pr(X > t) does not matter: they differ at countably many t. Of a variable that may
    be negative it is the expectation of its positive part. `high` is where the tail ends, if it does.

    Reference: lucchi Sec. 1.5.
    """
    inside(0, np.inf, "(]", high=high)
    return _integral(tail, 0.0, high)


def empirical_tail_integral(samples: Float[AnyArray, "n"]) -> float:
    """Return ∫₀^∞ (share of samples ≥ t) dt exactly, a sum over gaps of the sorted sample: its mean.

    Reference: lucchi Sec. 1.5.
    """
    inside(0, np.inf, samples=samples)
    ordered = np.sort(np.asarray(samples, float))
    gaps = np.diff(ordered, prepend=0.0)
    return float(np.sum(gaps * np.arange(len(ordered), 0, -1)) / len(ordered))


def _integral(function: Density, low: float, high: float) -> float:
    """Cut at zero and at powers of ten: the nodes of one long interval would step over what is near zero."""
    inside(low, np.inf, "[]", high=high)
    total = 0.0
    for start, stop in pairwise((low, 0.0, high) if low < 0 < high else (low, high)):
        decades = np.sign(start + stop) * 10.0 ** np.arange(-6, 308)
        inner = decades[(decades > start) & (decades < stop)] if np.isfinite([start, stop]).all() else []
        total += quad(
            function, start, stop, epsabs=1e-12, epsrel=1e-10, limit=1000, points=inner if len(inner) else None
        )[0]
    return float(total)


class GaussianLaw(NamedTuple):
    """A normal law by its mean and covariance, which may be singular."""

    mean: Float[np.ndarray, "k"]
    covariance: Float[np.ndarray, "k k"]


def affine_gaussian(
    mean: Float[AnyArray, "k"],
    covariance: Float[AnyArray, "k k"],
    matrix: Float[AnyArray, "p k"],
    shift: Float[AnyArray, "p"],
) -> GaussianLaw:
    """Return the law N(Aμ + b, AΣAᵀ) of AX + b for X ~ N(μ, Σ). Reference: lucchi Ch. 1 Problem 4(c)."""
    a = np.asarray(matrix, float)
    return GaussianLaw(a @ np.asarray(mean) + np.asarray(shift), a @ np.asarray(covariance) @ a.T)


def gaussian_product_rule(
    axes: Annotated[int, "[0, 32]"], nodes: Annotated[int, "[1, 60]"] = 12
) -> tuple[Float[np.ndarray, "points axes"], Float[np.ndarray, " points"]]:
    """Return points and weights, summing to 1, of a product of Gauss–Hermite rules for standard normals.

    Exact for polynomials of degree below 2·`nodes` in each variable; `nodes` to the power `axes` points. Reference:
    Davis and Rabinowitz, Methods of Numerical Integration (1984).
    """
    if nodes**axes > MOST_POINTS:
        raise ValueError(f"nodes ** axes must be at most 2**20 points, got {nodes} ** {axes}; draw at random instead")
    points, rule = np.polynomial.hermite_e.hermegauss(nodes)
    grids = np.meshgrid(*[points] * axes, indexing="ij")
    weights = np.ones(1)
    for _ in range(axes):
        weights = np.outer(weights, rule / rule.sum()).ravel()
    return np.stack([grid.ravel() for grid in grids], axis=-1) if axes else np.zeros((1, 0)), weights


def gaussian_expectation(
    function: Callable[[Float[np.ndarray, "n k"]], Float[np.ndarray, "n ..."]],
    mean: Float[AnyArray, "k"],
    covariance: Float[AnyArray, "k k"],
    *,
    nodes: Annotated[int, "[1, 60]"] = 20,
) -> Float[np.ndarray, "..."]:
    """Return E[g(X)] for X ~ N(μ, Σ) by a product of Gauss and Hermite's rules; g takes rows of points.

    Exact for polynomials of degree up to 2·`nodes` − 1 in each variable. `nodes` to the power k points: for few
    variables. The variance of one variable is Σ₁₁ = σ², which the book's N(μ, σ) means too.

    Reference: lucchi Ch. 1 Problem 4.
    """
    centre, sigma = np.asarray(mean, float), np.asarray(covariance, float)
    values, vectors = np.linalg.eigh(sigma)
    inside(-1e-9 * np.abs(values).max(), np.inf, eigenvalues_of_covariance=values)
    grid, chances = gaussian_product_rule(len(centre), nodes)
    points = centre + grid * np.sqrt(np.maximum(values, 0.0)) @ vectors.T
    return np.tensordot(chances, np.asarray(function(points)), 1)


doors(__name__, infinite=("low", "high"), symmetric=("covariance",))
