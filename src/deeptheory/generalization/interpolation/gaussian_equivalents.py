"""Limiting risk of ridge and ridgeless regression on random features φ(Wx), through their Gaussian equivalent.

Inputs x ∈ ℝᵈ are uniform on the sphere of radius √d, the N rows of W on the unit sphere, labels y = xᵀβ + noise for n
samples, and N, n, d grow together. The estimator minimises ‖y − Φa‖²/n + λ‖a‖². For the risk φ(wᵀx) may be replaced by
μ₀ + μ₁wᵀx + μ⋆ξ with ξ independent normals: the features are then correlated Gaussian ones of covariance
μ₁²WWᵀ + μ⋆² that see the labels only in part, and the risk is that of `deeptheory.generalization.correlated_risk`.

Reference: handbook Sec. 13.1.2; Mei and Montanari 2022; Hu and Lu 2023 for the equivalence.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from deeptheory.foundations.entrances import doors
from deeptheory.foundations.hermite import hermite_coefficients
from deeptheory.generalization.interpolation.correlated_risk import Population, correlated_bias_variance
from deeptheory.spectra.marchenko_pastur import marchenko_pastur_nodes

__all__ = [
    "Equivalent",
    "RandomFeatureRisk",
    "gaussian_equivalent",
    "random_feature_population",
    "random_feature_risk",
]

Scalar = float | int | np.floating | np.integer
Numbers = Scalar | Float[np.ndarray, "*shape"]


class Equivalent(NamedTuple):
    """What an activation is to random features: φ(z) ≈ μ₀ + μ₁z + μ⋆ξ."""

    mean: float
    linear: float
    rest: float


def gaussian_equivalent(activation: Callable[[Any], Any]) -> Equivalent:
    """Return μ₀ = E φ(z), μ₁ = E zφ(z) and μ⋆ = (E φ² − μ₀² − μ₁²)^½ for a standard normal z."""
    mean, linear = hermite_coefficients(activation, 1)
    square = hermite_coefficients(lambda z: activation(z) ** 2, 0)[0]
    rest = square - mean**2 - linear**2
    # Rounding is all that is left of a linear activation.
    return Equivalent(float(mean), float(linear), float(rest) ** 0.5 if rest > 1e-12 * square else 0.0)


def random_feature_population(
    linear: Scalar, rest: Scalar, features_per_input: Scalar, *, nodes: int = 200
) -> tuple[Population, float, float]:
    """Return the population of the equivalent features, and which shares of ‖β‖² they carry and leave out.

    Eigenvalues μ₁²s + μ⋆² with s from the Marchenko–Pastur law of the ratio N/d. The best coefficients on given
    features, μ₁(μ₁²WWᵀ + μ⋆²)⁻¹Wβ, have the squared norm r² (N/d) E μ₁²s/(μ₁²s + μ⋆²)², and
    r²(1 − (N/d) E μ₁²s/(μ₁²s + μ⋆²)) of the labels' variance is out of their reach. `linear` is μ₁, `rest` μ⋆ and
    `features_per_input` N/d.
    """
    if not (linear != 0 and rest >= 0):
        raise ValueError(f"linear must differ from zero and rest must not be negative, not {linear} and {rest}")
    points, weights = marchenko_pastur_nodes(features_per_input, count=nodes)
    values = linear**2 * points + rest**2
    reached = np.divide(linear**2 * points, values, out=np.zeros_like(values), where=values > 0)
    energy = features_per_input * weights * np.divide(reached, values, out=np.zeros_like(values), where=values > 0)
    carried = energy.sum()
    missed = float(1 - features_per_input * (weights @ reached))
    return Population(values, weights, energy / carried), float(carried), max(missed, 0.0)


class RandomFeatureRisk(NamedTuple):
    """Excess risk in three parts: what no function of the features reaches, bias, and variance given the features."""

    missed: Scalar
    bias: Any
    variance: Any

    @property
    def risk(self) -> Any:
        """Return the sum of the three."""
        return self.missed + self.bias + self.variance


def random_feature_risk(
    equivalent: Equivalent,
    *,
    inputs: Scalar,
    features: Scalar,
    samples: Scalar,
    ridge: Numbers = 0.0,
    signal: Scalar,
    noise: Scalar,
) -> RandomFeatureRisk:
    """Return the limiting excess risk of regression on random features less their mean; only N/d and n/d matter.

    What the features leave out is missed, and is fitted as noise besides. Mei and Montanari 2022; ridgeless for λ = 0,
    with its peak at N = n. d `inputs`, N `features`, n `samples`, λ the `ridge`, ‖β‖² the `signal` and the labels'
    variance the `noise`.
    """
    population, carried, missed = random_feature_population(equivalent.linear, equivalent.rest, features / inputs)
    bias, variance = correlated_bias_variance(
        population, features / samples, ridge, signal=signal * carried, noise=noise + signal * missed
    )
    return RandomFeatureRisk(signal * missed, bias, variance)


doors(
    __name__, nodes="[1, 2000]", inputs="(0, ∞)", features="(0, ∞)", samples="(0, ∞)", signal="[0, ∞)", noise="[0, ∞)"
)
