"""Stieltjes transforms of measures on the line, and the way back from a transform to its measure.

The sign is that of jagannath Def. 6.11: S(z) = ∫ dμ(x)/(x − z), which maps the upper half plane into itself and is the
normalised trace of the resolvent for a spectral measure.

`transform` is S, `ratio` a is dimension over samples and `variance` s² that of the entries; `height` is Im z, `epsilon`
ε.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Complex, Float

from deeptheory.foundations.arrays import AnyArray, RealScalar
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import inside
from deeptheory.spectra.arguments import Numbers, complexes, floating
from deeptheory.spectra.marchenko_pastur import marchenko_pastur_edges

__all__ = [
    "inverted_density",
    "inverted_mass",
    "marchenko_pastur_equation",
    "marchenko_pastur_iteration",
    "marchenko_pastur_stieltjes",
    "stieltjes_difference_bound",
    "stieltjes_transform",
    "total_mass",
]

Transform = Callable[[Any], Any]


def stieltjes_transform(
    points: Numbers, z: Numbers, weights: Numbers | None = None
) -> Complex[AnyArray, "*out"] | np.complexfloating:
    """Return Σ wᵢ/(xᵢ − z) of a discrete measure, by default with equal weights 1/n; z's axes come last.

    For the eigenvalues of W it is tr (W − z)⁻¹/N. jagannath Def. 6.11, which leaves out the 1/N.
    """
    points, z = floating(points), complexes(z)
    points = points.reshape(points.shape or (1,))
    shape = (*points.shape, *(1,) * z.ndim)
    shares = 1 / points.shape[-1] if weights is None else floating(weights).reshape(-1, *(1,) * z.ndim)
    return (shares / (points.reshape(shape) - z)).sum(points.ndim - 1)


def marchenko_pastur_stieltjes(z: Numbers, ratio: RealScalar, variance: RealScalar = 1.0) -> Any:
    """Return the Stieltjes transform of the Marchenko–Pastur law at any z off its support, atom at zero included.

    The root of a s² z S² + (z − s²(1 − a)) S + 1 = 0 that vanishes at infinity: √((z − λ₋)(z − λ₊)) is a product of two
    principal roots. At −z it is (−(1 − a + z) + √((1 − a + z)² + 4az))/(2az) for s = 1. jagannath Sec. 6.3.1 with
    a = 1/α, and eq. (7.1).
    """
    low, high = marchenko_pastur_edges(ratio, variance)
    z = complexes(z)
    xp = z.__array_namespace__()
    linear = z - variance * (1 - ratio)
    root = xp.sqrt(z - low) * xp.sqrt(z - high)
    plus, minus = root - linear, -root - linear
    # The two forms of one root of the quadratic; each cancels where the other does not.
    direct = abs(plus) >= abs(minus)
    return xp.where(direct, plus / (2 * ratio * variance * z), 2 / xp.where(minus == 0, 1, minus))


def marchenko_pastur_equation(
    transform: Any, z: Any, ratio: RealScalar | Float[np.ndarray, "..."], variance: RealScalar = 1.0
) -> Any:
    """Return the defect 1 + zS − s²S/(1 + a s² S) of the self-consistency equation. jagannath Sec. 6.3.1, a = 1/α."""
    return 1 + z * transform - variance * transform / (1 + ratio * variance * transform)


def marchenko_pastur_iteration(z: Numbers, ratio: RealScalar, variance: RealScalar = 1.0, *, steps: int = 200) -> Any:
    """Solve the self-consistency equation by repeating S ← −1/(z − s²/(1 + a s² S)), from −1/z.

    Every step maps the upper half plane into itself, so the root is the right one; the contraction is slow near the
    real axis, where the closed form should be used: an ArithmeticError says that the steps were too few.
    """
    z = complexes(z)
    value = -1 / z
    for _ in range(steps):
        value = -1 / (z - variance / (1 + ratio * variance * value))
    defect = abs(marchenko_pastur_equation(value, z, ratio, variance)).max(initial=0.0)
    if not defect <= 1e-9:
        raise ArithmeticError(f"after {steps} steps the equation is still off by {defect:.1e}; take more of them")
    return value


def inverted_density(transform: Transform, x: Numbers, epsilon: RealScalar) -> Any:
    """Return Im S(x + iε)/π: the density at x of the measure after a Cauchy variable of scale ε is added.

    It tends to the density itself as ε falls to zero. jagannath Thm 6.13.
    """
    if not epsilon > 0:
        raise ValueError(f"epsilon must be positive, not {epsilon}")
    return transform(floating(x) + 1j * epsilon).imag / math.pi


def inverted_mass(
    transform: Transform, low: RealScalar, high: RealScalar, epsilon: RealScalar, *, order: int = 16
) -> Any:
    """Return ∫ Im S(x + iε)/π dx over an interval, which tends to the mass of its inside plus half of its end points'.

    Gauss–Legendre nodes on panels about as wide as ε. jagannath Thm 6.13, which asks for no mass at the end points.
    """
    if not low <= high:
        raise ValueError(f"low must not exceed high, not {low} and {high}")
    if not epsilon > 0:
        raise ValueError(f"epsilon must be positive, not {epsilon}")
    inside(0, 1e6, panels=(high - low) / epsilon)
    panels = math.ceil((high - low) / epsilon) + 1
    nodes, weights = np.polynomial.legendre.leggauss(order)
    edges = np.linspace(low, high, panels + 1)
    points = edges[:-1, None] + np.diff(edges)[:, None] * (nodes + 1) / 2
    return float((inverted_density(transform, points, epsilon) @ weights).sum() * (edges[1] - edges[0]) / 2)


def total_mass(transform: Transform, height: RealScalar) -> Any:
    """Return −iy S(iy), which tends to the mass of the measure as y grows."""
    return (-1j * height * transform(np.asarray(1j * height))).real


def stieltjes_difference_bound(distance: Any, height: Any) -> Any:
    """Return 2D/v, which |S(z) − S'(z)| cannot exceed at Im z = v if the distribution functions are D apart at most.

    ∫ |cos 2θ| dθ = 2 over a half turn, after x = Re z + v tan θ in ∫ (F − F')/(x − z)² dx. A point mass against two
    half masses far out on either side comes as near as one likes. The constant is ours; jagannath Thm 6.14 has no rate.
    """
    return 2 * distance / height


doors(
    __name__,
    order="[1, 500]",
    steps="[1, 1e5]",
    height="(0, ∞)",
    distance="[0, ∞)",
    epsilon="(0, ∞)",
    ratio="(0, ∞)",
    variance="(0, ∞)",
)
