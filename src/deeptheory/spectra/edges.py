"""The laws of extreme eigenvalues: Tracy–Widom, by Fredholm determinants, and the hard edge of square matrices."""

import numpy as np
import scipy.special
from jaxtyping import Array, Bool, Float, Key, UInt32

from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import affordable
from deeptheory.foundations.randomness import generator
from deeptheory.spectra.arguments import Numbers

__all__ = ["hard_edge_cdf", "smallest_eigenvalue_scaling", "tracy_widom_cdf", "wishart_eigenvalue_below"]


def tracy_widom_cdf(x: Numbers, *, symmetry: int = 1, nodes: int = 40) -> Float[np.ndarray, "*shape"] | np.floating:
    """Return the limiting law of the largest eigenvalue of real (1) or complex (2) Hermitian matrices.

    det(1 − B) and det(1 − B²) with B(u, v) = Ai(u + v + x) on the half line (Ferrari and Spohn 2005), by Gauss–Legendre
    nodes (Bornemann 2010): ten digits for x ≥ −8.
    """
    if symmetry not in (1, 2):
        raise ValueError(f"symmetry must be 1 (real) or 2 (complex), not {symmetry}")
    # Beyond these ends the law is 0 and 1 to the last digit.
    x = np.clip(np.asarray(x, float), -40.0, 20.0)
    legendre, weights = np.polynomial.legendre.leggauss(nodes)
    # The Airy function is below 1e-20 beyond 16.
    length = 16 + np.maximum(0.0, -x)[..., None]
    points, root = length * (legendre + 1) / 2, (length * weights / 2) ** 0.5
    sums = points[..., :, None] + points[..., None, :] + x[..., None, None]
    kernel = root[..., :, None] * scipy.special.airy(sums)[0] * root[..., None, :]
    # Far to the left the determinant is rounding, of either sign.
    return np.clip(np.linalg.det(np.eye(nodes) - (kernel if symmetry == 1 else kernel @ kernel)), 0.0, 1.0)


def smallest_eigenvalue_scaling(dimension: int, samples: int) -> tuple[float, float]:
    """Return centre and scale of log λ_min of a real Wishart matrix XXᵀ/M with N < M.

    (centre − log λ)/scale is Tracy–Widom in the limit. With μ = (√(M−½) − √(N−½))² and
    σ = (√(M−½) − √(N−½))(1/√(N−½) − 1/√(M−½))^⅓ the centre is log(μ/M) + τ²/8 and the scale τ = σ/μ: accurate to N^-⅔
    (Ma 2012).
    """
    if not 1 <= dimension < samples:
        raise ValueError(f"needs 1 ≤ dimension < samples, not {dimension} and {samples}")
    wide, narrow = (samples - 0.5) ** 0.5, (dimension - 0.5) ** 0.5
    scale = (wide - narrow) * (1 / narrow - 1 / wide) ** (1 / 3) / (wide - narrow) ** 2
    return 2 * np.log(wide - narrow) - np.log(samples) + scale**2 / 8, scale


def wishart_eigenvalue_below(
    key: Key[Array, ""] | UInt32[Array, "2"], dimension: int, samples: int, level: float, trials: int
) -> Bool[np.ndarray, " trials"]:
    """Say of each of many real Wishart matrices XXᵀ/M, N ≤ M, whether its smallest eigenvalue lies below a level.

    The matrix is never made. Reflections turn X into a bidiagonal B of independent chi variables, with M, M − 1, …
    degrees of freedom on the diagonal and N − 1, N − 2, … below it (Dumitriu and Edelman 2002); an eigenvalue lies
    below the level just if a pivot of the tridiagonal BBᵀ/M − level is negative (Sturm). O(N) a trial, so that N may
    be thousands.
    """
    if not 1 <= dimension <= samples:
        raise ValueError(f"needs 1 ≤ dimension ≤ samples, not {dimension} and {samples}")
    affordable(draws=(trials, dimension))
    random, below = generator(key), np.zeros(trials, bool)
    pivot, diagonal = np.ones(trials), np.zeros(trials)
    for i in range(dimension):
        # Squares of the entry under the last diagonal one and of the diagonal one beside it.
        under = random.chisquare(dimension - i, trials) / samples if i else np.zeros(trials)
        coupling = diagonal * under
        diagonal = random.chisquare(samples - i, trials) / samples
        pivot = diagonal + under - level - coupling / pivot
        below |= pivot < 0
    return below


def hard_edge_cdf(x: Numbers) -> Float[np.ndarray, "*shape"] | np.floating:
    """Return the limiting law of n² λ_min(XᵀX/n) for a square Gaussian X: 1 − exp(−x/2 − √x), zero for negative x.

    Near zero like √x, so that 1/λ_min has no mean. Edelman 1988; lucchi 13.2 calls the inverse ill-defined there.
    """
    x = np.maximum(np.asarray(x, float), 0.0)
    return -np.expm1(-x / 2 - np.sqrt(x))


doors(__name__, nodes="[1, 500]", infinite=("x",))
