"""The noise of mini-batch gradients: its covariance, how it changes with the batch, and how SVAG amplifies it.

The gradients of the m examples are the rows of a matrix. A batch of B has mean noise of scale σ = 1/√B around the full
gradient, with the covariance Σ of single examples; that is a noisy gradient oracle with scale (arora Def. 12.1.2).
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from deeptheory.foundations.arrays import HostReals
from deeptheory.foundations.entrances import doors

__all__ = [
    "Schedule",
    "batch_covariance",
    "gradient_covariance",
    "linearly_scaled",
    "scaled_batch_cumulants",
    "svag_gradient",
    "svag_moment_factors",
    "svag_weights",
]


def gradient_covariance(gradients: Float[np.ndarray, "*n m d"]) -> Float[np.ndarray, "*n d d"]:
    """The covariance Σ = (1/m)Σᵢ(gᵢ − ḡ)(gᵢ − ḡ)ᵀ of the gradient of one example drawn uniformly."""
    deviations = gradients - gradients.mean(-2, keepdims=True)
    return np.swapaxes(deviations, -1, -2) @ deviations / gradients.shape[-2]


def batch_covariance(
    gradients: Float[np.ndarray, "*n m d"], batch: int, *, replacement: bool = True
) -> Float[np.ndarray, "*n d d"]:
    """The covariance of the mean gradient of a batch: Σ/B with replacement, Σ(m − B)/(B(m − 1)) without.

    Without replacement the batches of one epoch have noises that add up to zero, so they are not independent.
    Reference: arora Problem 12.1.1.
    """
    m = gradients.shape[-2]
    if replacement:
        return gradient_covariance(gradients) / batch
    if not m >= 2 or batch > m:
        raise ValueError(f"batch must be at most the number of examples {m} (two or more) without replacement")
    return gradient_covariance(gradients) * (m - batch) / (batch * (m - 1))


def scaled_batch_cumulants(cumulants: Float[np.ndarray, " orders"], batch: int) -> Float[np.ndarray, " orders"]:
    """The cumulants κ₁, κ₂, … of z = (batch mean)/σ, σ = 1/√B, from those of one example's deviation: κₙB^(1−n/2).

    The variance stays and the skewness falls like 1/√B = σ: larger batches are closer to Gaussian.
    """
    orders = np.arange(1, len(cumulants) + 1)
    return cumulants * float(batch) ** (1 - orders / 2)


class Schedule(NamedTuple):
    """What describes a run: learning rate, batch size, number of steps."""

    rate: float
    batch: int
    steps: int


def linearly_scaled(schedule: Schedule, factor: int) -> Schedule:
    """The run with κ times the batch, κ times the rate and one κ-th of the steps: the same epochs (arora Def. 12.1.3).

    For plain stochastic gradient descent. Adam and RMSprop want √κ times the rate instead, and momentum another rule.
    It fails where κη comes near 2 over the largest curvature. `factor` is κ.
    """
    if schedule.steps % factor:
        raise ValueError(f"factor must divide the {schedule.steps} steps, got {factor}")
    return Schedule(schedule.rate * factor, schedule.batch * factor, schedule.steps // factor)


def svag_weights(amplification: HostReals) -> tuple[HostReals, HostReals]:
    """The weights (1 ± √(2ℓ − 1))/2 of the two gradients that SVAG combines; they add up to one (arora Def. 12.4.1).

    `amplification` is ℓ ≥ 1, by which the covariance is multiplied; from ℓ = 1 on one weight is zero or negative.
    """
    root = np.sqrt(2 * np.asarray(amplification, float) - 1)
    return (1 + root) / 2, (1 - root) / 2


def svag_gradient(
    first: Float[np.ndarray, "*shape"], second: Float[np.ndarray, "*shape"], amplification: HostReals
) -> Float[np.ndarray, "*shape"]:
    """Combine two independent stochastic gradients into one of the same mean and ℓ times the covariance.

    Take ℓ steps of size η/ℓ with it for one of size η: the diffusion stays, the steps become fine. ℓ = 1 gives the
    first gradient back. It is ½(g₁ + g₂) + ½√(2ℓ − 1)(g₁ − g₂), ℓ = `amplification`. Reference: arora Def. 12.4.1.
    """
    root = np.sqrt(2 * np.asarray(amplification, float) - 1)
    return (first + second) / 2 + root / 2 * (first - second)


def svag_moment_factors(amplification: HostReals) -> Float[np.ndarray, "4 ..."]:
    """What SVAG multiplies the cumulants κ₁…κ₄ of the noise by: 1, ℓ, (3ℓ − 1)/2, (ℓ² + 2ℓ − 1)/2.

    Per unit of variance the skewness goes like (3ℓ − 1)/(2ℓ^(3/2)) to zero, the excess kurtosis only to one half. ℓ is
    `amplification`. Reference: arora Sec. 12.4.
    """
    ell = np.asarray(amplification, float)
    return np.stack([np.ones_like(ell), ell, (3 * ell - 1) / 2, (ell**2 + 2 * ell - 1) / 2])


doors(__name__, batch="[1, 1e9]", factor="[1, 1e9]", amplification="[1, ∞)")
