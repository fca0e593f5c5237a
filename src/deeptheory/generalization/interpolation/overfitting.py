"""How badly noise hurts a method that fits it exactly: benign, tempered and catastrophic interpolants.

All of them are linear in the labels; their weights go to `smoothers.smoother_bias_variance`. Excess risks here are in
units of the label noise and leave the bias out, which vanishes as the data grow dense. lucchi 13.3, after Mallinar et
al. 2022.
"""

import math
from collections.abc import Callable

import numpy as np
from jaxtyping import Float
from scipy.integrate import quad
from scipy.special import exp1

from deeptheory.foundations.entrances import doors

__all__ = [
    "TEMPERED",
    "broken_line_weights",
    "catastrophic_rate",
    "chebyshev_nodes",
    "hilbert_excess",
    "lagrange_weights",
    "laplace_weights",
]

TEMPERED = {"broken line": 2 / 3, "Laplace kernel": 2 / 3, "nearest neighbour": 1.0, "Chebyshev polynomial": 1.0}
"""Limits of the excess risk over σ²: E[u² + (1−u)²] for u uniform; one label; n orthogonal functions of norm² 1/n.

The hyperbolic sines of the Laplace kernel become straight as the gaps close.
"""


def broken_line_weights(points: Float[np.ndarray, " n"], queries: Float[np.ndarray, " m"]) -> Float[np.ndarray, "m n"]:
    """Return the weights of linear interpolation between neighbours, for increasing points and queries between them."""
    return _between(points, queries, lambda part, whole: part / whole)


def laplace_weights(
    points: Float[np.ndarray, " n"], queries: Float[np.ndarray, " m"], *, scale: float = 1.0
) -> Float[np.ndarray, "m n"]:
    """Return the weights of ridgeless regression with the kernel exp(−|x − x′|/s) on a line.

    Only the two neighbours a < x < b count, with sinh((b − x)/s)/sinh((b − a)/s) and its mirror image: the Gaussian
    process of this kernel is Markov. Increasing points, queries between them. `scale` is s.
    """
    return _between(points, queries, lambda part, whole: np.sinh(part / scale) / np.sinh(whole / scale))


def _between(
    points: np.ndarray, queries: np.ndarray, share: Callable[[np.ndarray, np.ndarray], np.ndarray]
) -> np.ndarray:
    if np.any(np.diff(points) <= 0):
        raise ValueError("points must increase")
    if np.any(queries < points[0]) or np.any(queries > points[-1]):
        raise ValueError(f"queries must lie between {points[0]} and {points[-1]}")
    left = np.clip(np.searchsorted(points, queries, side="right") - 1, 0, len(points) - 2)
    low, high = points[left], points[left + 1]
    weights = np.zeros((len(queries), len(points)))
    rows = np.arange(len(queries))
    weights[rows, left] = share(high - queries, high - low)
    weights[rows, left + 1] = share(queries - low, high - low)
    return weights


def lagrange_weights(points: Float[np.ndarray, " n"], queries: Float[np.ndarray, " m"]) -> Float[np.ndarray, "m n"]:
    """Return the Lagrange polynomials ∏_{k≠j} (x − x_k)/(x_j − x_k): the weights of the interpolant of degree n − 1.

    Each is a product of ratios, so that weights of any size keep their digits.
    """
    gaps = points[:, None] - points
    np.fill_diagonal(gaps, 1.0)
    ratios = (queries[:, None, None] - points) / gaps
    diagonal = np.arange(len(points))
    ratios[:, diagonal, diagonal] = 1.0
    return np.prod(ratios, axis=2)


def chebyshev_nodes(count: int) -> Float[np.ndarray, " n"]:
    """Return the zeros of the Chebyshev polynomial of degree n, increasing in (−1, 1)."""
    if count < 1:
        raise ValueError(f"count must be at least 1, not {count}")
    return -np.cos((np.arange(count) + 0.5) * np.pi / count)


def hilbert_excess(samples: int) -> float:
    """Return the mean of Σwᵢ² at the centre of a ball for weights ∝ ‖x − Xᵢ‖^{−d} and n uniform points in it.

    n ∫₀^∞ e^{−s} E₂(s)^{n−1} ds with E₂ the exponential integral, in every dimension d, from 1/S² = ∫ s e^{−sS} ds;
    like 1/log n as n grows. So the Hilbert kernel interpolates and yet forgets the noise, very slowly.
    """
    if samples < 1:
        raise ValueError(f"samples must be at least 1, not {samples}")

    # With s = eᵗ: E₂(s)ⁿ⁻¹ falls from one to zero around s = 1/(n log n). E₂ = e⁻ˢ − s E₁ there is one less a little.
    def integrand(t: float) -> float:
        s = math.exp(t)
        lost = math.expm1(-s) - s * float(exp1(s))
        return samples * math.exp(t - s + (samples - 1) * math.log1p(lost)) if lost > -1 else 0.0

    middle = -math.log(samples)
    pieces = [(-40 + middle, middle - 6), (middle - 6, middle), (middle, middle + 6), (middle + 6, max(middle + 12, 7))]
    return math.fsum(quad(integrand, *piece, epsabs=1e-12, epsrel=1e-10, limit=200)[0] for piece in pieces)


def catastrophic_rate() -> float:
    """Return lim log(Σwᵢ²)/n for polynomials through points spread evenly on an interval: 2 log 2.

    Twice the difference of the logarithmic potential of the uniform law between an end and the middle.
    """
    return 2 * math.log(2)


doors(__name__, count="[1, 1e6]", scale="(0, ∞)")
