"""Kernels as integral operators and as Hilbert spaces: eigenfunctions, Mercer's expansion, and norms of functions.

NumPy in, NumPy out; JAX likewise.

Reference: jagannath Def. 8.2; Mercer 1909; Aronszajn 1950; Rasmussen and Williams 2006, Gaussian Processes for Machine
Learning, 4.3.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors

__all__ = [
    "Eigenfunctions",
    "brownian_eigenfunctions",
    "brownian_kernel",
    "gaussian_eigenfunctions",
    "mercer_kernel",
    "mercer_norm_square",
    "minimum_norm_square",
    "nystrom",
    "rkhs_norm_square",
]

Points = Float[AnyArray, "n d"]
Line = Float[AnyArray, " n"]
Square = Float[AnyArray, "n n"]
Scalar = Float[AnyArray, ""] | np.floating
Kernel = Callable[[AnyArray, AnyArray], AnyArray]


class Eigenfunctions(NamedTuple):
    """Eigenvalues of φ ↦ ∫K(·, x)φ(x) dμ(x), largest first, and the eigenfunctions, orthonormal for μ, at points."""

    values: Float[AnyArray, " k"]
    functions: Callable[[AnyArray], AnyArray]


def nystrom(kernel: Kernel, points: Points, weights: Line, *, count: int) -> Eigenfunctions:
    """Return the leading eigenfunctions for the measure Σ wⱼδ_{xⱼ}, a quadrature rule or a sample (weights 1/n).

    Eigenvectors of W^{1/2}KW^{1/2}, extended from the nodes by φᵢ(x) = λᵢ⁻¹ Σⱼ wⱼK(x, xⱼ)φᵢ(xⱼ); only as many as have
    λ above rounding make sense. jagannath Def. 8.2.
    """
    xp = points.__array_namespace__()
    if not 1 <= count <= points.shape[0]:
        raise ValueError(f"count must be from 1 to the number of points {points.shape[0]}, got {count}")
    root = xp.sqrt(weights)
    values, vectors = xp.linalg.eigh(root[:, None] * xp.asarray(kernel(points, points)) * root)
    values, vectors = values[::-1][:count], vectors[:, ::-1][:, :count]

    def functions(x: Points) -> Float[AnyArray, "n k"]:
        return xp.asarray(kernel(x, points)) @ (root[:, None] * vectors) / values

    return Eigenfunctions(values, functions)


def brownian_kernel(x: Points, other: Float[AnyArray, "m d"] | None = None) -> Float[AnyArray, "n m"]:
    """Return ∏ᵢ min(xᵢ, xᵢ′) for points of [0, 1]ᵈ.

    In one dimension its Hilbert space is that of functions with f(0) = 0 and norm² ∫f′²; the least interpolant is the
    broken line through the data, flat after the last point. Reference: Wahba 1990, Spline Models for Observational
    Data.
    """
    xp = x.__array_namespace__()
    return xp.prod(xp.minimum(x[:, None], (x if other is None else other)[None]), axis=-1)


def brownian_eigenfunctions(count: int) -> Eigenfunctions:
    """Return λ_k = ((k − ½)π)⁻² and √2 sin((k − ½)πx), k = 1, 2, …, of min(x, x′) on [0, 1] with Lebesgue measure.

    Reference: the Karhunen–Loève expansion, Loève 1978, Probability Theory II.
    """
    frequencies = (np.arange(1, count + 1) - 0.5) * np.pi

    def functions(x: Line) -> Float[AnyArray, "n k"]:
        return np.sqrt(2) * x.__array_namespace__().sin(x[:, None] * frequencies)

    return Eigenfunctions(frequencies**-2.0, functions)


def gaussian_eigenfunctions(count: int, *, scale: float = 1.0, deviation: float = 1.0) -> Eigenfunctions:
    """Return eigenvalues and functions of exp(−(x − x′)²/(2s²)) for the normal measure N(0, σ²) on the line.

    With a = 1/(4σ²), b = 1/(2s²), c = √(a² + 2ab) and A = a + b + c: λ_k = √(2a/A)(b/A)ᵏ for k = 0, 1, …, and
    φ_k(x) = (c/a)^{1/4} e^{−(c−a)x²} H_k(√(2c)x)/√(2ᵏk!) (Zhu, Williams, Rohwer and Morciniec 1998). `scale` is s,
    `deviation` σ.
    """
    a, b = 1 / (4 * deviation**2), 1 / (2 * scale**2)
    c = np.sqrt(a**2 + 2 * a * b)
    total = a + b + c
    values = np.sqrt(2 * a / total) * (b / total) ** np.arange(count)

    def functions(x: Line) -> Float[AnyArray, "n k"]:
        xp = x.__array_namespace__()
        u = np.sqrt(2 * c) * x
        # Normalised Hermite polynomials by their recurrence: H_k itself overflows, and the bell in front of them
        # underflows where a later function is large. So the size is carried as a logarithm.
        size = -(c - a) * x**2 + 0.25 * np.log(c / a)
        last, this = xp.zeros_like(u), xp.ones_like(u)
        columns = []
        for k in range(1, count + 1):
            columns.append(this * xp.exp(size))
            last, this = this, np.sqrt(2 / k) * u * this - np.sqrt((k - 1) / k) * last
            grown = xp.maximum(xp.maximum(xp.abs(this), xp.abs(last)), 1e-300)
            last, this, size = last / grown, this / grown, size + xp.log(grown)
        return xp.stack(columns, axis=1)

    return Eigenfunctions(values, functions)


def mercer_kernel(
    values: Float[AnyArray, " k"], functions: Float[AnyArray, "n k"], others: Float[AnyArray, "m k"]
) -> Float[AnyArray, "n m"]:
    """Return Σ λᵢφᵢ(x)φᵢ(x′) from the eigenfunctions at two sets of points (jagannath Def. 8.2)."""
    return (functions * values) @ others.T


def mercer_norm_square(values: Float[AnyArray, " k"], coefficients: Float[AnyArray, " k"]) -> Scalar:
    """Return ‖f‖² = Σ cᵢ²/λᵢ in the Hilbert space of the kernel, of f = Σ cᵢφᵢ.

    `values` are λᵢ > 0 and `coefficients` cᵢ.
    """
    return (coefficients**2 / values).sum()


def rkhs_norm_square(kernel: Square, weights: Line) -> Scalar:
    """Return ‖h‖² = αᵀKα in the Hilbert space of the kernel, of h = Σ αᵢK(·, xᵢ) (arora (3.9))."""
    return weights @ kernel @ weights


def minimum_norm_square(kernel: Square, y: Line) -> Scalar:
    """Return yᵀK⁻¹y, the least ‖h‖² of all functions with h(xᵢ) = yᵢ; for K invertible.

    From a start f₀ pass y − f₀(X): then it is ‖f_∞ − f₀‖² of kernel descent (arora (3.9), handbook 6.4.2).
    """
    xp = kernel.__array_namespace__()
    size = xp.max(xp.abs(y))
    unit = y / xp.where(size > 0, size, 1)
    with np.errstate(over="ignore"):
        return size * size * (unit @ xp.linalg.solve(kernel, unit))


doors(__name__, count="[1, 1e4]", symmetric=("kernel",), scale="(0, ∞)", deviation="(0, ∞)")
