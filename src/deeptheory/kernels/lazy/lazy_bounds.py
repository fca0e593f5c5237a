"""How near a wide two-layer network stays to its limit kernel: concentration, movement, drift, eigenvalues.

`samples` is n, `width` m, `delta` the chance δ of failure, `residual` the bound C on every |uᵢ − yᵢ|, `slope` B and
`curvature` L those on |σ′| and |σ″|.

Reference: arora 9.2; lucchi Ch. 8 exercises; Du, Zhai, Poczos and Singh 2019, Gradient descent provably optimizes
over-parameterized neural networks.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Num
from scipy.special import poch

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.concentration import hoeffding_radius
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import inside, positive

__all__ = [
    "Closeness",
    "closeness",
    "concentration_tolerance",
    "concentration_width",
    "drift_bound",
    "entry_tolerance",
    "least_eigenvalue_bound",
    "movement_bound",
    "sampled_gram_deviation",
    "width_for_least_eigenvalue",
]

Number = float | int | np.number | Num[AnyArray, "..."]
MOST_TERMS = 10**7


def entry_tolerance(width: Number, samples: Number, delta: Number, *, spread: Number = 2.0, sides: int = 2) -> Number:
    """Return the s with 2 exp(−2ms²/R²) = δ/n²: Hoeffding for one entry of H(0), R the `spread` of its terms.

    R = 2 gives √((2/m) log(2n²/δ)) (arora Lemma 9.2.2, terms in [−1, 1]); for the ReLU R = 1 suffices. `sides` is the
    factor 2 before the exponential: 1 for a bound on one side.
    """
    return hoeffding_radius(width, delta, width=spread, sides=sides, log_means=2 * np.log(samples))


def concentration_tolerance(width: Number, samples: Number, delta: Number) -> Number:
    """Return ε = 4n √(log(n/δ)/m): with probability 1 − δ, ‖H(0) − H*‖₂ ≤ ε (arora Lemma 9.2.2); n ≥ 2, δ < 1."""
    positive(width=width)
    inside(2, np.inf, samples=samples)
    inside(0, 1, "(]", delta=delta)
    return 4 * samples * np.sqrt(np.log(samples / delta) / width)


def concentration_width(samples: Number, tolerance: Number, delta: Number) -> Number:
    """Return the width m = 16 n² log(n/δ)/ε² that Lemma 9.2.2 of arora asks for. `samples` is n, `tolerance` ε."""
    inside(2, np.inf, samples=samples)
    inside(0, 1, "(]", delta=delta)
    positive(tolerance=tolerance)
    return 16 * samples**2 * np.log(samples / delta) / tolerance**2


def movement_bound(residual: Number, time: Number, samples: Number, width: Number, *, slope: Number = 1.0) -> Number:
    """Return BCtn/√m ≥ ‖w_r(t) − w_r(0)‖, while every |uᵢ − yᵢ| ≤ C, for |σ′| ≤ B and unit inputs (arora Lemma 9.2.3).

    It holds for gradient flow, and for gradient descent with t the number of steps times their size.
    """
    return slope * residual * time * samples / np.sqrt(width)


def drift_bound(
    residual: Number, time: Number, samples: Number, width: Number, *, slope: Number = 1.0, curvature: Number = 1.0
) -> Number:
    """Return 2BL·(BCtn/√m) ≥ |H_ij(t) − H_ij(0)| for |σ′| ≤ B, |σ″| ≤ L; times n it bounds ‖H(t) − H(0)‖₂.

    Through the Frobenius norm: n entries a row cost a factor n, where a sum over all entries costs n² (arora 9.2.3).
    """
    return 2 * slope * curvature * movement_bound(residual, time, samples, width, slope=slope)


class Closeness(NamedTuple):
    """How far two symmetric matrices are apart, from the least of four measures to the largest."""

    eigenvalues: Float[np.ndarray, "*batch"]
    spectral: Float[np.ndarray, "*batch"]
    frobenius: Float[np.ndarray, "*batch"]
    entries: Float[np.ndarray, "*batch"]


def closeness(one: Float[AnyArray, "*batch n n"], two: Float[AnyArray, "*batch n n"]) -> Closeness:
    """Return maxᵢ|λᵢ(A) − λᵢ(B)| ≤ ‖A − B‖₂ ≤ ‖A − B‖_F ≤ n max|A_ij − B_ij| (arora 9.2, Weyl; lucchi Thm 67)."""
    one, two = np.asarray(one, float), np.asarray(two, float)
    apart = one - two
    moved = np.abs(np.linalg.eigvalsh(one) - np.linalg.eigvalsh(two)).max(-1)
    largest = one.shape[-1] * np.abs(apart).max((-2, -1))
    return Closeness(moved, np.linalg.norm(apart, 2, (-2, -1)), np.linalg.norm(apart, "fro", (-2, -1)), largest)


def sampled_gram_deviation(width: Number, inputs: Number, delta: Number, *, slope: Number = 1.0) -> Number:
    """Return 2B²‖X‖_F²/√m + 6B²‖X‖_F² √(log(2/δ)/2m), the bound on ‖Ĝ − G‖₂ of lucchi 8.28; `inputs` is ‖X‖_F²."""
    size = slope**2 * inputs
    return 2 * size / np.sqrt(width) + 6 * size * hoeffding_radius(width, delta)


def width_for_least_eigenvalue(least: Number, inputs: Number, delta: Number, *, slope: Number = 1.0) -> Number:
    """Return the width at which λ_min(Ĝ) ≥ λ_min(G)/2 with probability 1 − δ: there lucchi's 8.28 equals λ_min(G)/2.

    `least` is λ_min(G), `inputs` is ‖X‖_F², `slope` the bound B on |σ′|.
    """
    positive(least=least)
    return (2 * sampled_gram_deviation(1.0, inputs, delta, slope=slope) / least) ** 2


def least_eigenvalue_bound(cosine: float, samples: int) -> float:
    """Return Σ_p c_p (1 − (n − 1)ρᵖ)₊ ≤ λ_min(H*), for n unit inputs whose cosines are at most ρ < 1 in size.

    H* = Σ c_p K^{∘p} with K^{∘p} ⪰ 1 − (n − 1)ρᵖ by Gershgorin; positive terms exist for every ρ < 1, so H* is
    positive definite when no two inputs are parallel (arora 9.3). Equality for orthonormal inputs, where it is 1/2.
    ρ so near to 1 that more than 10⁷ powers count is refused.
    """
    inside(0, 1, "[)", cosine=cosine)
    inside(1, np.inf, samples=samples)
    others = float(samples) - 1
    alone = max(1 - others * cosine, 0.0) / 4
    if others * cosine == 0:
        return alone + 0.25
    # Even powers: from `first` on their terms are positive, from `last` on others·ρᵖ is no more than rounding.
    first, last = (max(2.0, np.log(size * others) / -np.log(cosine)) for size in (1, 1e18))
    inside(0, MOST_TERMS, powers_until_the_others_vanish=last)
    powers = np.arange(2, last + 4, 2.0)
    # Γ((p − 1)/2)/Γ(p/2) is √π (p − 3)!!/(p − 2)!!
    coefficients = 1 / (poch((powers - 1) / 2, 0.5) * 2 * np.pi**1.5 * (powers - 1))
    counted = powers >= first
    positive_part = 0.25 - coefficients[~counted].sum()
    return float(
        alone + positive_part - np.exp(np.log(others) + powers * np.log(cosine))[counted] @ coefficients[counted]
    )


doors(
    __name__,
    sides="[1, 2]",
    samples="[1, ∞)",
    width="(0, ∞)",
    inputs="[0, ∞)",
    residual="[0, ∞)",
    time="[0, ∞)",
    slope="[0, ∞)",
    curvature="[0, ∞)",
)
