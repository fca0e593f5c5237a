"""Weierstrass' theorem twice: Bernstein's polynomials and Landau's, with the degree that a wanted error needs.

Reference: lucchi Thm 17 and Ch. 3 Problem 1; Bernstein 1912; Landau 1908.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, sqrt
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.special import gammaln, roots_legendre, xlog1py, xlogy

from deeptheory.approximation.errors import sampled
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import affordable

__all__ = [
    "BernsteinPolynomial",
    "bernstein_basis",
    "bernstein_degree",
    "bernstein_polynomial",
    "landau_constant",
    "landau_error_bound",
    "landau_polynomial",
    "lipschitz_bernstein_bound",
]


def bernstein_basis(degree: int, x: Float[np.ndarray, "*n"]) -> Float[np.ndarray, "_ *n"]:
    """Return b_k^m(x) = C(m, k) xᵏ (1 − x)^(m − k) for k = 0, …, m and x in [0, 1] (lucchi eq. 3.5).

    They are the probabilities of k heads in m throws: nowhere negative, with sum 1, and largest at x = k/m. By
    logarithms, so that large degrees neither overflow nor lose digits to powers.
    """
    _in_unit_interval(x)
    affordable(basis=(degree + 1, x.size))
    k = np.arange(degree + 1.0).reshape(-1, *[1] * x.ndim)
    choose = gammaln(degree + 1) - gammaln(k + 1) - gammaln(degree - k + 1)
    return np.exp(choose + xlogy(k, x) + xlog1py(degree - k, -x))


@dataclass(frozen=True)
class BernsteinPolynomial:
    """q(x) = Σₖ cₖ b_k^m((x − a)/(b − a)), a polynomial of degree m on [a, b] = [`low`, `high`] (lucchi 3.7, Prop. 18).

    It lies between the least and the largest coefficient. Outside [a, b] it is a polynomial all the same, but its
    values there say nothing about the function it approximates.
    """

    coefficients: Float[np.ndarray, " _"]
    low: float = 0.0
    high: float = 1.0

    def __call__(self, x: Any) -> Any:
        """Return the values at x by de Casteljau's repeated averages, which rounding does not harm."""
        t = (np.asarray(x, float) - self.low) / (self.high - self.low)
        values = np.broadcast_to(self.coefficients.reshape(-1, *[1] * t.ndim), (len(self.coefficients), *t.shape))
        while len(values) > 1:
            values = (1 - t) * values[:-1] + t * values[1:]
        return values[0]

    def powers(self) -> Float[np.ndarray, " _"]:
        """Return the coefficients of 1, t, t², … in t = (x − a)/(b − a): αⱼ = C(m, j) Δʲc₀; they grow like 3ᵐ."""
        degree = len(self.coefficients) - 1
        differences = [np.diff(self.coefficients, j)[0] for j in range(degree + 1)]
        j = np.arange(degree + 1)
        return np.rint(np.exp(gammaln(degree + 1) - gammaln(j + 1) - gammaln(degree - j + 1))) * differences


def bernstein_polynomial(
    f: Callable[..., Any], degree: int, low: float = 0.0, high: float = 1.0
) -> BernsteinPolynomial:
    """Return Bernstein's polynomial q_m = Σ f(a + (b − a)k/m) b_k^m of a function on [a, b] (lucchi eq. 3.7).

    f takes an array of numbers. The error is f(x) less the mean of f at a binomial average: at most ρ(b − a)/(2√m) for
    a ρ-Lipschitz function, (b − a)² max|f″|/(8m) for a smooth one; for x² exactly 1/(4m). Where fast convergence
    matters take Chebyshev interpolation; this one keeps bounds, monotonicity and convexity. [a, b] = [`low`, `high`].
    """
    if not low < high:
        raise ValueError(f"low must lie below high, got {low} and {high}")
    nodes = low + (high - low) * np.arange(degree + 1) / degree
    return BernsteinPolynomial(sampled(f, nodes), low, high)


def bernstein_degree(error: float, modulus: float, oscillation: float) -> int:
    """Return the least whole m > R/(2εδ²): of that degree Bernstein's polynomial on [0, 1] is within ε (lucchi Thm 17).

    `error` is ε; `modulus` is a δ such that |x − y| ≤ δ implies |f(x) − f(y)| ≤ ε/2; `oscillation` is R, the largest
    |f(x) − f(y)|. Points within δ cost ε/2; all others have the share x(1 − x)/(mδ²) at most, by Chebyshev.
    """
    return int(np.floor(oscillation / (2 * error * modulus**2))) + 1


def lipschitz_bernstein_bound(lipschitz: float, degree: int) -> float:
    """Return ρ/(2√m), which bounds the error of Bernstein's polynomial of a ρ-Lipschitz function on [0, 1].

    The mean distance of k/m from x is at most its standard deviation √(x(1 − x)/m). The order cannot be bettered:
    for |x − ½| the error is ρ/√(2πm) in the limit.
    """
    return lipschitz / (2 * np.sqrt(degree))


def landau_constant(n: int) -> float:
    """Return J_n = ∫₋₁¹ (1 − u²)ⁿ du = 2^(2n+1) n!²/(2n + 1)!, about √(π/n) (lucchi eq. 3.10)."""
    # As the product of 2k/(2k + 1): factorials of this size leave eight digits.
    return float(2 * np.exp(np.sum(np.log1p(-1 / (2 * np.arange(1.0, n + 1) + 1)))))


def landau_polynomial(
    f: Callable[..., Any], n: int, x: Float[np.ndarray, "*k"], *, panels: int = 128
) -> Float[np.ndarray, "*k"]:
    """Return P_n(x) = (1/J_n) ∫₀¹ f(t) [1 − (t − x)²]ⁿ dt, Landau's polynomial of degree 2n, at x in [0, 1].

    f takes an array of numbers. P_n → f uniformly if f is continuous with f(0) = f(1) = 0; otherwise P_n tends to
    half of f at the ends, so subtract the chord first. By Gauss–Legendre quadrature with 16 nodes on each of `panels`
    panels, or √n/4 of them if that is more, as the kernel is some n^(−1/2) wide; a kink of f in a panel costs its width
    squared.
    """
    _in_unit_interval(x)
    panels = max(panels, ceil(sqrt(n) / 4))
    affordable(kernel=(16 * panels, x.size))
    at, weights = roots_legendre(16)
    t = ((np.arange(panels)[:, None] + (1 + at) / 2) / panels).ravel()
    kernel = np.exp(n * np.log1p(-((t - x[..., None]) ** 2)))
    return kernel @ (np.tile(weights / (2 * panels), panels) * sampled(f, t)) / landau_constant(n)


def landau_error_bound(error: float, modulus: float, largest: float, n: int) -> float:
    """Return ε/2 + M/(δ²(n + 1)), which bounds |P_n − f| on [0, 1] if f is continuous and f(0) = f(1) = 0.

    `error` is ε and `modulus` δ, with |f(x) − f(y)| ≤ ε/2 for |x − y| < δ (f being 0 outside [0, 1]); `largest` is
    M ≥ |f|. From |f(x + u) − f(x)| ≤ ε/2 + 2Mu²/δ² and ∫u²(1 − u²)ⁿ du = J_{n+1}/(2(n + 1)) (lucchi Ch. 3 Problem 1).
    """
    return error / 2 + largest / (modulus**2 * (n + 1))


def _in_unit_interval(x: np.ndarray) -> None:
    if np.any((x < 0) | (x > 1)):
        raise ValueError(f"x must lie in [0, 1], got {x[(x < 0) | (x > 1)].flat[0]}")


doors(
    __name__,
    degree="[1, 100000]",
    n="[1, 10000000]",
    panels="[1, 100000]",
    error="(0, ∞)",
    modulus="(0, ∞)",
    oscillation="[0, ∞)",
    largest="[0, ∞)",
    lipschitz="[0, ∞)",
)
