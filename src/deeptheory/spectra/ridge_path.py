"""Ridge resolvents of a sample covariance in one direction: the path to the ridgeless bias, and its limit.

Here the p × n matrix X has the samples as columns, Σ̂ = XXᵀ/n, γ = p/n, and z > 0 is the ridge.

`values` are the eigenvalues of Σ̂, `seen` the coordinates of β on its eigenvectors, `ridge` z, `gamma` γ, and `signal`
r² = ‖β‖².

Reference: jagannath Ch. 7 Sec. 2; Hastie, Montanari, Rosset and Tibshirani 2022.
"""

from typing import Any

import numpy as np
from jaxtyping import Float

from deeptheory.foundations.arrays import AnyArray, RealScalar
from deeptheory.foundations.entrances import doors
from deeptheory.spectra.stieltjes import marchenko_pastur_stieltjes

__all__ = [
    "bilinear_resolvent",
    "ridge_bias",
    "ridge_bias_limit",
    "ridge_bias_slope",
    "ridge_bias_slope_bound",
    "ridge_inverse",
]


def ridge_inverse(matrix: Float[AnyArray, "*batch n m"], penalty: RealScalar) -> Float[AnyArray, "*batch n m"]:
    """Return (AAᵀ + δ)⁻¹A, which tends to (AAᵀ)⁺A as δ → 0, with an error of order δ. jagannath Ch. 7 Sec. 2."""
    xp = matrix.__array_namespace__()
    gram = matrix @ xp.swapaxes(matrix, -1, -2) + penalty * xp.eye(matrix.shape[-2])
    return xp.linalg.solve(gram, matrix)


def bilinear_resolvent(
    values: Float[AnyArray, "*batch p"], seen: Float[AnyArray, "*batch p"], ridge: Float[AnyArray, " k"]
) -> Float[AnyArray, "*batch k"]:
    """Return ⟨β, (Σ̂ + z)⁻¹β⟩ at several ridges from the eigenvalues of Σ̂ and the coordinates of β on its eigenvectors.

    It tends to r² S_γ(−z) for every direction that is fixed beforehand. jagannath Thm 7.6 (Rubio and Mestre 2011).
    """
    return (seen[..., None] ** 2 / (values[..., None] + ridge)).sum(-2)


def ridge_bias(
    values: Float[AnyArray, "*batch p"], seen: Float[AnyArray, "*batch p"], ridge: Float[AnyArray, " k"]
) -> Float[AnyArray, "*batch k"]:
    """Return f(z) = z⟨β, (Σ̂ + z)⁻¹β⟩, which falls to the ridgeless bias βᵀΠβ as z → 0; at most r²."""
    return ridge * bilinear_resolvent(values, seen, ridge)


def ridge_bias_slope(
    values: Float[AnyArray, "*batch p"], seen: Float[AnyArray, "*batch p"], ridge: Float[AnyArray, " k"]
) -> Float[AnyArray, "*batch k"]:
    """Return f'(z) = ⟨β, (Σ̂ + z)⁻²Σ̂β⟩. jagannath Ch. 7 Sec. 2."""
    return (seen[..., None] ** 2 * values[..., None] / (values[..., None] + ridge) ** 2).sum(-2)


def ridge_bias_slope_bound(
    smallest: Float[AnyArray, "*batch"] | RealScalar,
    largest: Float[AnyArray, "*batch"] | RealScalar,
    ridge: Float[AnyArray, " k"],
    signal: RealScalar,
) -> Any:
    """Bound |f'(z)| by r² λ_max/(λ_min⁺ + z)², λ_min⁺ the smallest nonzero eigenvalue.

    Attained where all nonzero eigenvalues are equal and β lies in their span. jagannath Ch. 7 Sec. 2.
    """
    smallest, largest = (np.asarray(each)[..., None] for each in (smallest, largest))
    return signal * largest / (smallest + ridge) ** 2


def ridge_bias_limit(
    ridge: Float[np.ndarray, " k"], gamma: RealScalar, signal: RealScalar = 1.0
) -> Float[np.ndarray, " k"]:
    """Return r² z S_γ(−z), the limit of f; at z = 0 it is r² max(0, 1 − 1/γ). jagannath Ch. 7 Sec. 2."""
    positive = np.where(ridge > 0, ridge, 1.0)
    path = positive * marchenko_pastur_stieltjes(-positive, gamma).real
    return np.asarray(signal) * np.where(ridge > 0, path, max(0.0, 1 - 1 / gamma))


doors(__name__, ridge="[0, ∞)", gamma="(0, ∞)", signal="[0, ∞)", penalty="[0, ∞)", smallest="[0, ∞)", largest="[0, ∞)")
