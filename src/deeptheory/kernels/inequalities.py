"""Inequalities that the analysis of wide networks leans on: of perturbed spectra, of growth in time, of light tails."""

from collections.abc import Callable
from math import log

import numpy as np
from jaxtyping import Array, Complex, Float, Key

from deeptheory.randomness import generator

__all__ = [
    "bounded_variance_proxy",
    "gronwall_bound",
    "random_normal_matrix",
    "spectral_matching",
    "sub_gaussian_variance",
    "two_point_variance_proxy",
]


def random_normal_matrix(
    key: Key[Array, ""], size: int, *, hermitian: bool = False, basis: Complex[np.ndarray, "n n"] | None = None
) -> Complex[np.ndarray, "n n"]:
    """Draw UΛU* with standard complex normal eigenvalues (real if Hermitian), U unitary: of Haar law unless given."""
    rng = generator(key)
    values = rng.standard_normal(size) + (0 if hermitian else 1j * rng.standard_normal(size))
    if basis is None:
        gaussian = rng.standard_normal((size, size)) + 1j * rng.standard_normal((size, size))
        basis, triangle = np.linalg.qr(gaussian)
        phases = np.diagonal(triangle) / np.abs(np.diagonal(triangle))
        basis = basis * phases
    return (basis * values) @ basis.conj().T


def spectral_matching(one: Complex[np.ndarray, "n n"], two: Complex[np.ndarray, "n n"]) -> float:
    """Return min_π Σ|λ_i(A) − λ_{π(i)}(B)|² over permutations: at most ‖A − B‖_F² for normal A, B (jagannath Thm 9.3).

    An assignment problem; for Hermitian matrices both spectra in order solve it.
    """
    from scipy.optimize import linear_sum_assignment

    costs = np.abs(np.linalg.eigvals(one)[:, None] - np.linalg.eigvals(two)) ** 2
    return float(costs[linear_sum_assignment(costs)].sum())


def gronwall_bound(
    growth: Callable[[np.ndarray], np.ndarray], start: float, times: Float[np.ndarray, " time"]
) -> Float[np.ndarray, " time"]:
    """Return u(0) exp ∫₀ᵗ β, which u(t) cannot exceed if u′ ≤ βu, whatever the signs of u and β (jagannath Thm 9.4).

    The integral by twenty Gauss points between neighbouring times, the first of which counts from 0.
    """
    nodes, weights = np.polynomial.legendre.leggauss(20)
    edges = np.concatenate([[0.0], np.asarray(times, float)])
    half, middle = np.diff(edges) / 2, (edges[1:] + edges[:-1]) / 2
    pieces = (growth(middle[:, None] + half[:, None] * nodes) @ weights) * half
    return start * np.exp(np.cumsum(pieces))


def sub_gaussian_variance(log_moments: Callable[[float], float], *, variance: float, reach: float = 60.0) -> float:
    """Return the least B² with E e^{λY} ≤ e^{λ²B²/2} for all λ: sup 2 log E e^{λY}/λ² (jagannath Def. 9.5).

    `log_moments(λ)` is log E e^{λY} of a centred variable, `variance` the limit of the ratio at λ = 0. Searched for λ
    in ±[0.01, reach], by a grid and then Brent's method around its best point.
    """
    from scipy.optimize import minimize_scalar

    def ratio(rate: float) -> float:
        return 2 * log_moments(rate) / rate**2

    positive = np.geomspace(0.01, reach, 120)
    best = variance
    for grid in (positive, -positive[::-1]):
        at = int(np.argmax([ratio(rate) for rate in grid]))
        around = (grid[max(at - 1, 0)], grid[min(at + 1, len(grid) - 1)])
        found = minimize_scalar(lambda rate: -ratio(rate), bounds=around, method="bounded", options={"xatol": 1e-9})
        best = max(best, -float(found.fun))  # pyright: ignore[reportAttributeAccessIssue]
    return best


def two_point_variance_proxy(probability: float) -> float:
    """Return the sub-Gaussian B² of a centred coin, 1 − p with probability p and −p otherwise (Kearns, Saul 1998).

    (1 − 2p)/(2 log((1 − p)/p)), and ¼ at p = ½; larger than the variance p(1 − p) for every other p.
    """
    if not 0 < probability < 1:
        raise ValueError(f"a probability strictly between 0 and 1 is needed, got {probability}")
    if abs(probability - 0.5) < 1e-6:
        return 0.25
    return (1 - 2 * probability) / (2 * log((1 - probability) / probability))


def bounded_variance_proxy(low: float, high: float) -> float:
    """Return (b − a)²/4, a B² of Z − E Z for every Z with values in [a, b] (Hoeffding's lemma).

    The least for all of them: the fair coin on the two ends has this variance.
    """
    if high < low:
        raise ValueError(f"the interval must not end before it begins, got [{low}, {high}]")
    return (high - low) ** 2 / 4
