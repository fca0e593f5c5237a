"""Inequalities that the analysis of wide networks leans on: of perturbed spectra, of growth in time, of light tails."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Array, Complex, Float, Key

from deeptheory.foundations.entrances import doors
from deeptheory.foundations.randomness import generator

__all__ = [
    "gronwall_bound",
    "random_normal_matrix",
    "spectral_matching",
]


def random_normal_matrix(
    key: Key[Array, ""], size: int, *, hermitian: bool = False, basis: Complex[np.ndarray, "n n"] | None = None
) -> Complex[np.ndarray, "n n"]:
    """Draw UΛU* with standard complex normal eigenvalues (real if Hermitian), U unitary: of Haar law unless given.

    `basis` is U. Reference: Mezzadri 2007, How to generate random matrices from the classical compact groups.
    """
    if basis is not None and len(basis) != size:
        raise ValueError(f"basis must have {size} columns, one for every eigenvalue, got {len(basis)}")
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
    if not np.isfinite(costs).all():
        raise ValueError("the eigenvalues are too far apart: the squares of their distances overflow")
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


doors(__name__, size="[1, 3000]")
