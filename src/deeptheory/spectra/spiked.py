"""Spiked models: when a planted direction shows in the spectrum, where its eigenvalue lies, how much it is overlapped.

`strength` is θ: the covariance is I + θ uuᵀ, the symmetric matrix is θ uuᵀ plus noise of spectral variance one. `ratio`
is dimension over samples. The transition is that of Baik, Ben Arous and Péché (2005).
"""

from typing import Any

import numpy as np
from jaxtyping import Float

from deeptheory.foundations.arrays import AnyArray, AnyKey, RealScalar
from deeptheory.foundations.entrances import doors
from deeptheory.spectra.entries import draw_entries
from deeptheory.spectra.semicircle import wigner_matrix

__all__ = [
    "spiked_covariance_data",
    "spiked_covariance_eigenvalue",
    "spiked_covariance_overlap",
    "spiked_covariance_threshold",
    "spiked_wigner_eigenvalue",
    "spiked_wigner_matrix",
    "spiked_wigner_overlap",
]

Strength = float | int | Float[AnyArray, "*shape"]


def _positive(strength: Strength, ratio: RealScalar = 1.0) -> np.ndarray:
    strength = np.asarray(strength, float)
    if not (np.all(strength > 0) and ratio > 0):
        raise ValueError(f"strength and ratio must be positive, not {strength} and {ratio}")
    return strength


def spiked_covariance_threshold(ratio: RealScalar) -> Any:
    """Return the strength √a below which a spike leaves no trace in the largest eigenvalue."""
    return ratio**0.5


def spiked_covariance_eigenvalue(strength: Strength, ratio: RealScalar) -> Any:
    """Return the limit of the largest eigenvalue: (1 + θ)(1 + a/θ) for θ > √a, else the edge (1 + √a)²."""
    strength = _positive(strength, ratio)
    outlier = np.maximum(strength, ratio**0.5)
    return (1 + outlier) * (1 + ratio / outlier)


def spiked_covariance_overlap(strength: Strength, ratio: RealScalar) -> Any:
    """Return the limit of ⟨u, v⟩² for the top eigenvector v: (1 − a/θ²)/(1 + a/θ) for θ > √a, else 0."""
    strength = _positive(strength, ratio)
    return np.maximum(1 - ratio / strength**2, 0) / (1 + ratio / strength)


def spiked_wigner_eigenvalue(strength: Strength) -> Any:
    """Return the limit of the largest eigenvalue: θ + 1/θ for θ > 1, else the edge 2."""
    outlier = np.maximum(_positive(strength), 1.0)
    return outlier + 1 / outlier


def spiked_wigner_overlap(strength: Strength) -> Any:
    """Return the limit of ⟨u, v⟩² for the top eigenvector v: 1 − 1/θ² for θ > 1, else 0."""
    return np.maximum(1 - 1 / _positive(strength) ** 2, 0)


def spiked_covariance_data(
    key: AnyKey, dimension: int, samples: int, strength: RealScalar, trials: int = 1, *, entries: str = "gaussian"
) -> Float[np.ndarray, "t n m"]:
    """Draw data whose samples are columns of covariance I + θ e₁e₁ᵀ: the first coordinate is scaled by √(1 + θ)."""
    x = draw_entries(key, (trials, dimension, samples), entries)
    x[:, 0] *= (1 + strength) ** 0.5
    return x


def spiked_wigner_matrix(
    key: AnyKey, size: int, strength: RealScalar, trials: int = 1, *, entries: str = "gaussian"
) -> Float[np.ndarray, "t n n"]:
    """Draw θ uuᵀ plus a symmetric noise matrix of spectral variance one, u the flat unit vector."""
    return wigner_matrix(key, size, trials, entries=entries) + strength / size


doors(__name__, dimension="[1, 1e5]", samples="[1, 1e6]", trials="[1, 1e6]", size="[1, 1e4]", ratio="(0, ∞)")
