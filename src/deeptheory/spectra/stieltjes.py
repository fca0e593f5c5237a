"""Stieltjes transforms of measures on the line, and the way back from a transform to its measure.

The sign is that of jagannath Def. 6.11: S(z) = ∫ dμ(x)/(x − z), which maps the upper half plane into itself and is the
normalised trace of the resolvent for a spectral measure.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Array, Complex, Float, Num

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

AnyArray = Array | np.ndarray
Scalar = float | int | np.floating | Float[AnyArray, ""]
Argument = complex | float | Num[AnyArray, "*shape"]
Transform = Callable[[Any], Any]


def stieltjes_transform(
    points: Float[AnyArray, "*batch n"], z: Argument, weights: Float[AnyArray, " n"] | None = None
) -> Complex[AnyArray, "*out"] | np.complexfloating:
    """Return Σ wᵢ/(xᵢ − z) of a discrete measure, by default with equal weights 1/n; z's axes come last.

    For the eigenvalues of W it is tr (W − z)⁻¹/N. jagannath Def. 6.11, which leaves out the 1/N.
    """
    z = np.asarray(z) if isinstance(z, (complex, float, int)) else z
    shape = (*points.shape, *(1,) * z.ndim)
    shares = 1 / points.shape[-1] if weights is None else weights.reshape(-1, *(1,) * z.ndim)
    return (shares / (points.reshape(shape) - z.astype(complex))).sum(points.ndim - 1)


def marchenko_pastur_stieltjes(z: Argument, ratio: Scalar, variance: Scalar = 1.0) -> Any:
    """Return the Stieltjes transform of the Marchenko–Pastur law at any z off its support, atom at zero included.

    The root of a s² z S² + (z − s²(1 − a)) S + 1 = 0 that vanishes at infinity: √((z − λ₋)(z − λ₊)) is a product of two
    principal roots. At −z it is (−(1 − a + z) + √((1 − a + z)² + 4az))/(2az) for s = 1. jagannath Sec. 6.3.1 with
    a = 1/α, and eq. (7.1).
    """
    if not (ratio > 0 and variance > 0):
        raise ValueError(f"ratio and variance must be positive, not {ratio} and {variance}")
    z = np.asarray(z, complex) if isinstance(z, (complex, float, int)) else z.astype(complex)
    xp = z.__array_namespace__()
    low, high = variance * (1 - ratio**0.5) ** 2, variance * (1 + ratio**0.5) ** 2
    linear = z - variance * (1 - ratio)
    root = xp.sqrt(z - low) * xp.sqrt(z - high)
    plus, minus = root - linear, -root - linear
    # The two forms of one root of the quadratic; each cancels where the other does not.
    direct = abs(plus) >= abs(minus)
    return xp.where(direct, plus / (2 * ratio * variance * z), 2 / xp.where(minus == 0, 1, minus))


def marchenko_pastur_equation(transform: Any, z: Argument, ratio: Scalar, variance: Scalar = 1.0) -> Any:
    """Return the defect 1 + zS − s²S/(1 + a s² S) of the self-consistency equation. jagannath Sec. 6.3.1, a = 1/α."""
    return 1 + z * transform - variance * transform / (1 + ratio * variance * transform)


def marchenko_pastur_iteration(z: Argument, ratio: Scalar, variance: Scalar = 1.0, *, steps: int = 200) -> Any:
    """Solve the self-consistency equation by repeating S ← −1/(z − s²/(1 + a s² S)), from −1/z.

    Every step maps the upper half plane into itself, so the root is the right one; the contraction is slow near the
    real axis, where the closed form should be used.
    """
    value = -1 / np.asarray(z, complex)
    for _ in range(steps):
        value = -1 / (z - variance / (1 + ratio * variance * value))
    return value


def inverted_density(transform: Transform, x: Float[AnyArray, "*shape"], epsilon: Scalar) -> Any:
    """Return Im S(x + iε)/π: the density at x of the measure after a Cauchy variable of scale ε is added.

    It tends to the density itself as ε falls to zero. jagannath Thm 6.13.
    """
    if not epsilon > 0:
        raise ValueError(f"epsilon must be positive, not {epsilon}")
    return transform(x + 1j * epsilon).imag / math.pi


def inverted_mass(transform: Transform, low: Scalar, high: Scalar, epsilon: Scalar, *, order: int = 16) -> Any:
    """Return ∫ Im S(x + iε)/π dx over an interval, which tends to the mass of its inside plus half of its end points'.

    Gauss–Legendre nodes on panels about as wide as ε. jagannath Thm 6.13, which asks for no mass at the end points.
    """
    panels = math.ceil((high - low) / epsilon) + 1
    nodes, weights = np.polynomial.legendre.leggauss(order)
    edges = np.linspace(low, high, panels + 1)
    points = edges[:-1, None] + np.diff(edges)[:, None] * (nodes + 1) / 2
    return float((inverted_density(transform, points, epsilon) @ weights).sum() * (edges[1] - edges[0]) / 2)


def total_mass(transform: Transform, height: Scalar) -> Any:
    """Return −iy S(iy), which tends to the mass of the measure as y grows."""
    return (-1j * height * transform(np.asarray(1j * height))).real


def stieltjes_difference_bound(distance: Any, height: Any) -> Any:
    """Return 2D/v, which |S(z) − S'(z)| cannot exceed at Im z = v if the distribution functions are D apart at most.

    ∫ |cos 2θ| dθ = 2 over a half turn, after x = Re z + v tan θ in ∫ (F − F')/(x − z)² dx. A point mass against two
    half masses far out on either side comes as near as one likes. The constant is ours; jagannath Thm 6.14 has no rate.
    """
    return 2 * distance / height
