"""The semicircle law of symmetric random matrices and the circular law of matrices without symmetry.

Reference: Wigner 1958; Ginibre 1965; Anderson, Guionnet and Zeitouni 2010, An Introduction to Random Matrices; Tao and
Vu 2010 for the circular law.
"""

import math
from typing import Any

import numpy as np
import scipy.special
from jaxtyping import Float, Num

from deeptheory.foundations.arrays import AnyArray, AnyKey, RealScalar
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import affordable
from deeptheory.spectra.arguments import Numbers, complexes, floating
from deeptheory.spectra.entries import draw_entries

__all__ = [
    "circular_radius_cdf",
    "ginibre_largest_cdf",
    "ginibre_radial_moment",
    "ginibre_radius_cdf",
    "semicircle_cdf",
    "semicircle_moment",
    "semicircle_pdf",
    "semicircle_stieltjes",
    "square_matrix",
    "wigner_matrix",
]


def _radius(variance: RealScalar) -> Any:
    if not variance > 0:
        raise ValueError(f"variance must be positive, not {variance}")
    return 2 * variance**0.5


def semicircle_pdf(x: Numbers, variance: RealScalar = 1.0) -> Float[AnyArray, "*shape"] | np.floating:
    """Return the density √(4s² − x²)/(2πs²) on [−2s, 2s]. `variance` is s²."""
    x = floating(x)
    xp, radius = x.__array_namespace__(), _radius(variance)
    return xp.sqrt(xp.maximum(radius**2 - x**2, 0.0)) / (2 * math.pi * variance)


def semicircle_cdf(x: Numbers, variance: RealScalar = 1.0) -> Float[AnyArray, "*shape"] | np.floating:
    """Return ½ + (u√(1 − u²) + arcsin u)/π with u = x/(2s), clipped to the support. `variance` is s²."""
    x = floating(x)
    xp = x.__array_namespace__()
    place = xp.clip(x / _radius(variance), -1.0, 1.0)
    return 0.5 + (place * xp.sqrt((1 - place) * (1 + place)) + xp.arcsin(place)) / math.pi


def semicircle_moment(order: int, variance: Any = 1) -> Any:
    """Return the mean of xᵏ: s²ʲ times the j-th Catalan number for k = 2j, zero for odd k.

    `order` is k and `variance` s².
    """
    if order < 0:
        raise ValueError(f"order must be 0 or more, not {order}")
    half, odd = divmod(order, 2)
    return 0 if odd else variance**half * (math.comb(order, half) // (half + 1))


def semicircle_stieltjes(z: Numbers, variance: RealScalar = 1.0) -> Any:
    """Return the root of s²S² + zS + 1 = 0 that vanishes at infinity, for z off the support.

    `variance` is s²; S(z) = ∫ dμ/(x − z).
    """
    z = complexes(z)
    xp, radius = z.__array_namespace__(), _radius(variance)
    return -2 / (z + xp.sqrt(z - radius) * xp.sqrt(z + radius))


def wigner_matrix(key: AnyKey, size: int, trials: int = 1, *, entries: str = "gaussian") -> Float[np.ndarray, "t n n"]:
    """Draw symmetric matrices of spectral variance one: entries of variance 1/n, 2/n on the diagonal if Gaussian.

    For Gaussian entries it is the orthogonal ensemble. Other laws have variance 1/n on the diagonal too, which the
    limit does not see.
    """
    drawn = draw_entries(key, (trials, size, size), entries)
    if entries == "gaussian":
        return (drawn + np.swapaxes(drawn, 1, 2)) / (2 * size) ** 0.5
    upper = np.triu(drawn)
    return (upper + np.swapaxes(np.triu(drawn, 1), 1, 2)) / size**0.5


def square_matrix(key: AnyKey, size: int, trials: int = 1, *, entries: str = "gaussian") -> Num[np.ndarray, "t n n"]:
    """Draw matrices without symmetry: complex entries of mean square 1/n with independent parts (Ginibre)."""
    parts = draw_entries(key, (2, trials, size, size), entries)
    return (parts[0] + 1j * parts[1]) / (2 * size) ** 0.5


def circular_radius_cdf(radius: Numbers) -> Float[AnyArray, "*shape"] | np.floating:
    """Return the share of eigenvalues of modulus at most r under the circular law, min(1, r²); zero for negative r."""
    radius = floating(radius)
    return radius.__array_namespace__().clip(radius, 0.0, 1.0) ** 2


def ginibre_radial_moment(order: int, size: int) -> float:
    """Return the exact mean of |λ|²ᵏ over the eigenvalues of a complex Ginibre matrix of entries' mean square 1/n.

    The squared moduli, as a set, are independent Gamma variables of shapes 1 … n over n (Kostlan), so it is the mean of
    j(j+1)…(j+k−1)/nᵏ over j ≤ n, which tends to 1/(k + 1). Reference: Kostlan 1992.
    """
    if order < 0 or size < 1:
        raise ValueError(f"order must be 0 or more and size positive, not {order} and {size}")
    return float(scipy.special.poch(np.arange(1, size + 1), order).mean() / size**order)


def _shares(radius: Numbers, size: int) -> np.ndarray:
    """P(Γ_j ≤ nr²) for the shapes j = 1 … n, on the last axis; zero for negative r."""
    radius = np.maximum(np.asarray(floating(radius)), 0.0)
    affordable(radius=(*radius.shape, size))
    return scipy.special.gammainc(np.arange(1, size + 1), size * radius[..., None] ** 2)


def ginibre_radius_cdf(radius: Numbers, size: int) -> Float[np.ndarray, "*shape"] | np.floating:
    """Return the exact mean share of eigenvalues of modulus at most r: the mean over j ≤ n of P(Γ_j ≤ nr²).

    For complex Gaussian entries of mean square 1/n; tends to r² on [0, 1]. `size` is n, Γ_j a Gamma variable of shape
    j. Reference: Kostlan 1992.
    """
    return _shares(radius, size).mean(-1)


def ginibre_largest_cdf(radius: Numbers, size: int) -> Float[np.ndarray, "*shape"] | np.floating:
    """Return the probability that no eigenvalue has a modulus above r: the product over j ≤ n of P(Γ_j ≤ nr²).

    For complex Gaussian entries of mean square 1/n, arguments as of `ginibre_radius_cdf`. Reference: Kostlan 1992.
    """
    return _shares(radius, size).prod(-1)


doors(__name__, order="[0, 1000]", size="[1, 1e4]", trials="[1, 1e6]", infinite=("x", "radius"))
