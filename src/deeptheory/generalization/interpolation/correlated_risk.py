"""Limiting risk of ridge and ridgeless regression on correlated features, well specified or not.

Labels are y = X β + noise with n rows of covariance Σ and p columns, p/n → γ. The estimator minimises
‖y − Xw‖²/n + λ‖w‖², of least norm for λ = 0. Risks are the excess over the noise of a fresh label; `signal` is
r² = ‖β‖² and `noise` the variance s². Everything runs through the effective ridge κ(λ) of
`deeptheory.spectra.self_consistent`, the reciprocal of the companion Stieltjes transform at −λ.

Reference: Dobriban and Wager 2018; Hastie, Montanari, Rosset and Tibshirani 2022.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from deeptheory.foundations.entrances import doors
from deeptheory.generalization.interpolation.ridge_risk import optimal_ridge
from deeptheory.generalization.interpolation.ridgeless import BiasVariance
from deeptheory.spectra.self_consistent import effective_ridge

__all__ = [
    "Population",
    "SeenModel",
    "correlated_bias_variance",
    "correlated_optimal_risk",
    "population_of",
    "seen_model",
]

Vector = Float[np.ndarray, " k"]
Scalar = float | int | np.floating | np.integer
Numbers = Scalar | Float[np.ndarray, "*shape"]


class Population(NamedTuple):
    """Eigenvalues of a covariance, the share of the dimensions at each, and the share of ‖β‖² in each eigenspace.

    A signal without preferred direction has an `alignment` equal to its `weights`.
    """

    eigenvalues: Vector
    weights: Vector
    alignment: Vector


def population_of(covariance: Float[np.ndarray, "p p"], coefficients: Float[np.ndarray, " p"]) -> Population:
    """Return the eigenvalues of a covariance with equal weights, and how the coefficients spread over eigenvectors."""
    values, vectors = np.linalg.eigh(covariance)
    seen = (coefficients @ vectors) ** 2
    return Population(np.maximum(values, 0.0), np.full(len(values), 1 / len(values)), seen / seen.sum())


def correlated_bias_variance(
    population: Population, gamma: Scalar, ridge: Numbers = 0.0, *, signal: Scalar, noise: Scalar
) -> BiasVariance:
    """Return the limits of bias and variance as n and p grow with p/n = γ, for any ridge λ ≥ 0.

    With κ = 1/v(−λ): r² κ' κ² Σ gₖ tₖ/(tₖ + κ)² and s² κ' γ Σ wₖ tₖ²/(tₖ + κ)², where κ' = dκ/dλ = v'(−λ)/v(−λ)², so
    that the variance is s²(κ' − 1). Ridgeless it is 0 and s²γ/(1 − γ) for γ < 1, whatever Σ, and for γ > 1 the same two
    sums at the κ with γ Σ wₖ tₖ/(tₖ + κ) = 1. Rows Σ^½z with independent entries z of slightly more than four moments.
    Dobriban and Wager 2018; Hastie, Montanari, Rosset and Tibshirani 2022. `gamma` is γ, `ridge` λ.
    """
    values, weights, alignment = population
    if not np.isclose(alignment.sum(), 1) or np.any(alignment < 0):
        raise ValueError(f"alignment must hold shares of sum one, not {alignment}")
    kappa, slope = effective_ridge(ridge, values, weights, gamma)
    total = values + kappa[..., None]
    seen = np.divide(values, total, out=np.zeros_like(total), where=total > 0)
    missed = np.divide(kappa[..., None], total, out=np.zeros_like(total), where=total > 0)
    spread = (missed**2 * values) @ alignment
    # At the threshold without ridge the slope is infinite and the bias still vanishes.
    bias = signal * np.multiply(spread, slope, out=np.zeros_like(spread), where=spread > 0)
    return BiasVariance(bias, noise * gamma * (seen**2 @ weights) * slope)


def correlated_optimal_risk(
    eigenvalues: Vector, weights: Vector, gamma: Scalar, *, signal: Scalar, noise: Scalar
) -> Numbers:
    """Return the limiting risk at the optimal ridge for a signal without preferred direction, s²(κ/λ − 1).

    That ridge is λ = γ s²/r² for every Σ, by `optimal_ridge`: the posterior mean for coefficients N(0, r²/p). Dobriban
    and Wager 2018. `gamma` is γ = p/n.
    """
    if not (signal > 0 and noise > 0):
        raise ValueError(f"signal and noise must be positive, not {signal} and {noise}")
    ridge = optimal_ridge(float(gamma), signal=float(signal), noise=float(noise))
    return noise * (effective_ridge(ridge, eigenvalues, weights, gamma).value / ridge - 1)


class SeenModel(NamedTuple):
    """The linear model that is left when only some features are seen."""

    covariance: Float[np.ndarray, "k k"]
    coefficients: Float[np.ndarray, " k"]
    noise: Scalar
    """The variance that the seen features leave unexplained: added to the noise of the labels, and missed as well."""


def seen_model(covariance: Float[np.ndarray, "p p"], coefficients: Float[np.ndarray, " p"], used: int) -> SeenModel:
    """Return the best linear model on the first `used` of all features, exact for Gaussian ones.

    With Σ in blocks, coefficients β₁ + Σ₁₁⁻¹Σ₁₂β₂ and noise β₂ᵀ(Σ₂₂ − Σ₂₁Σ₁₁⁻¹Σ₁₂)β₂: unseen features act through what
    they share with the seen ones, and the rest of them is noise. Hastie, Montanari, Rosset and Tibshirani 2022, Sec. 5.
    """
    if not 1 <= used <= len(coefficients):
        raise ValueError(f"used must lie in 1..{len(coefficients)}, not {used}")
    seen, shared, unseen = covariance[:used, :used], covariance[:used, used:], covariance[used:, used:]
    hidden = coefficients[used:]
    carried = np.linalg.solve(seen, shared @ hidden)
    residual = float(hidden @ unseen @ hidden - (shared @ hidden) @ carried)
    return SeenModel(seen, coefficients[:used] + carried, max(residual, 0.0))


doors(__name__, symmetric=("covariance",), gamma="(0, ∞)", signal="[0, ∞)", noise="[0, ∞)", ridge="[0, ∞)")
