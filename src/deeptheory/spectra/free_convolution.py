"""Free convolutions: the spectrum of a sum or a product of large matrices in general position to each other.

Transforms are functions of z in the upper half plane, S(z) = ∫ dμ/(x − z); moments are exact for rational numbers.

`first` and `second` are the two measures: their moments m₁, m₂, …, or their transforms as functions.

Reference: Voiculescu 1986 and 1987; Nica and Speicher 2006, Lectures on the Combinatorics of Free Probability; Mingo
and Speicher 2017, Free Probability and Random Matrices.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from jaxtyping import Complex

from deeptheory.foundations.entrances import doors

__all__ = [
    "free_additive_moments",
    "free_additive_stieltjes",
    "free_cumulants",
    "free_multiplicative_moments",
    "free_multiplicative_stieltjes",
    "moments_of_free_cumulants",
]

Transform = Callable[[Any], Any]
Exact = int | float | np.floating | Fraction


def _powers(series: Sequence[Any], highest: int) -> list[list[Any]]:
    """Powers 0 … highest of a power series with these coefficients of x⁰, x¹, …, to the same length."""
    size = len(series)
    found = [[1] + [0] * (size - 1)]
    for _ in range(highest):
        found.append([sum(found[-1][j] * series[i - j] for j in range(i + 1)) for i in range(size)])
    return found


def free_cumulants(moments: Sequence[Exact]) -> list[Any]:
    """Return the free cumulants κ₁, κ₂, … of the moments m₁, m₂, …: M(x) = 1 + Σ κₙ xⁿ M(x)ⁿ.

    They are the coefficients of the R-transform, R(x) = Σ κₙ xⁿ⁻¹.
    """
    powers = _powers([1, *moments], len(moments))
    found: list[Any] = []
    for n in range(1, len(moments) + 1):
        found.append(moments[n - 1] - sum(found[k - 1] * powers[k][n - k] for k in range(1, n)))
    return found


def moments_of_free_cumulants(cumulants: Sequence[Exact]) -> list[Any]:
    """Return the moments that belong to free cumulants: the inverse of `free_cumulants`."""
    moments: list[Any] = []
    for n in range(1, len(cumulants) + 1):
        powers = _powers([1, *moments, *[0] * (len(cumulants) - len(moments))], n)
        moments.append(sum(cumulants[k - 1] * powers[k][n - k] for k in range(1, n + 1)))
    return moments


def _same_length(first: Sequence[Exact], second: Sequence[Exact]) -> None:
    if len(first) != len(second):
        raise ValueError(f"both measures need the same number of moments, not {len(first)} and {len(second)}")


def free_additive_moments(first: Sequence[Exact], second: Sequence[Exact]) -> list[Any]:
    """Return the moments of the free additive convolution: free cumulants add."""
    _same_length(first, second)
    return moments_of_free_cumulants(
        [a + b for a, b in zip(free_cumulants(first), free_cumulants(second), strict=True)]
    )


def _s_series(moments: Sequence[Any]) -> list[Any]:
    """Coefficients of the S-transform χ(y)(1 + y)/y, with χ the inverse of ψ(x) = Σ mₖ xᵏ."""
    count = len(moments)
    # The inverse series term by term: ψ(χ(y)) = y.
    inverse: list[Any] = [0, 1 / Fraction(1) / moments[0] if not isinstance(moments[0], float) else 1 / moments[0]]
    for n in range(2, count + 1):
        powers = _powers([*inverse, *[0] * (n + 1 - len(inverse))], n)
        rest = sum(moments[k - 1] * powers[k][n] for k in range(2, n + 1))
        inverse.append(-rest / moments[0])
    shifted = inverse[1:]
    return [shifted[i] + (shifted[i - 1] if i else 0) for i in range(count)]


def free_multiplicative_moments(first: Sequence[Exact], second: Sequence[Exact]) -> list[Any]:
    """Return the moments of the free multiplicative convolution: S-transforms multiply, where means are not zero.

    Reference: Voiculescu 1987.
    """
    _same_length(first, second)
    if first[0] == 0 or second[0] == 0:
        raise ValueError("both means must differ from zero for an S-transform")
    count = len(first)
    one, two = _s_series(first), _s_series(second)
    product = [sum(one[j] * two[i - j] for j in range(i + 1)) for i in range(count)]
    # χ(y) = S(y) y/(1 + y), and ψ is its inverse.
    signs = [(-1) ** i for i in range(count)]
    chi = [sum(product[j] * signs[i - j] for j in range(i + 1)) for i in range(count)]
    moments: list[Any] = [1 / chi[0]]
    for n in range(2, count + 1):
        powers = _powers([0, *moments, *[0] * (n - len(moments))], n)
        rest = sum(chi[k - 1] * powers[k][n] for k in range(2, n + 1))
        moments.append(-rest / chi[0])
    return moments


def free_additive_stieltjes(
    z: Complex[np.ndarray, "*shape"],
    first: Transform,
    second: Transform,
    *,
    steps: int = 2000,
    tolerance: float = 1e-13,
) -> Complex[np.ndarray, "*shape"]:
    """Return the transform of the free additive convolution by subordination.

    With H(w) = −1/S(w) − w, the fixed point ω = z + H₂(z + H₁(ω)) gives S(z) = S₁(ω); iteration converges from any
    start in the upper half plane (Belinschi and Bercovici 2007), slowly near the real axis.
    """

    def gap(transform, w):
        return -1 / transform(w) - w

    return first(_fixed_point(lambda w: z + gap(second, z + gap(first, w)), z + 1j, steps, tolerance))


def free_multiplicative_stieltjes(
    z: Complex[np.ndarray, "*shape"],
    first: Transform,
    second: Transform,
    *,
    steps: int = 2000,
    tolerance: float = 1e-13,
) -> Complex[np.ndarray, "*shape"]:
    """Return the transform of the free multiplicative convolution of measures on the half line by subordination.

    With ψ(x) = −1 − S(1/x)/x, η = ψ/(1 + ψ) and h(x) = η(x)/x, the fixed point ω = x h₂(x h₁(ω)) gives η(x) = η₁(ω).
    Reference: Belinschi and Bercovici 2007.
    """

    def eta(transform, x):
        # ψ/(1 + ψ) = 1 − 1/(1 + ψ) and 1 + ψ = −S(1/x)/x.
        return 1 + x / transform(1 / x)

    x = 1 / z
    omega = _fixed_point(
        lambda w: x * eta(second, x * eta(first, w) / w) / (x * eta(first, w) / w), x + 0j, steps, tolerance
    )
    return -x / (1 - eta(first, omega))


def _fixed_point(step: Transform, start: np.ndarray, steps: int, tolerance: float) -> np.ndarray:
    value = start
    for _ in range(steps):
        value, before = step(value), value
        if np.max(abs(value - before)) <= tolerance * np.max(abs(value)):
            return value
    raise ArithmeticError(f"no fixed point after {steps} steps; take z farther from the real axis")


doors(__name__, steps="[1, 1e6]")
