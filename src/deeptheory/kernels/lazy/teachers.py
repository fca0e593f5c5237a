"""What the tangent kernel of the first layer learns: label energies of teachers, noise, and what they promise.

`amplitudes` are the αⱼ, `directions` has the βⱼ as rows, `power` is p; `gram` is H, and `noise` the share q of labels
drawn anew.

Reference: arora 9.3; Arora, Du, Hu, Li and Wang 2019, Fine-grained analysis of optimization and generalization.
"""

import numpy as np
from jaxtyping import Float

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import inside
from deeptheory.generalization.capacity.rademacher_bounds import empirical_complexity_deviation, label_energy
from deeptheory.kernels.finite.first_layer import first_layer_coefficient

__all__ = [
    "cosine_energy_bound",
    "cosine_energy_limit",
    "cosine_teacher",
    "expected_noisy_energy",
    "kernel_rademacher_bound",
    "power_energy_bound",
    "power_teacher",
    "risk_bound",
]

Gram = Float[AnyArray, "n n"]
Directions = Float[AnyArray, "k d"]
Amplitudes = Float[AnyArray, " k"]


def power_teacher(
    x: Float[AnyArray, "n d"], amplitudes: Amplitudes, directions: Directions, *, power: int
) -> Float[np.ndarray, " n"]:
    """Return the labels Σⱼ αⱼ(βⱼ·x)ᵖ (arora 9.3.1)."""
    return (np.asarray(x) @ np.asarray(directions).T) ** power @ np.asarray(amplitudes)


def cosine_teacher(
    x: Float[AnyArray, "n d"], amplitudes: Amplitudes, directions: Directions
) -> Float[np.ndarray, " n"]:
    """Return the labels Σⱼ αⱼ(cos(βⱼ·x) − 1) (arora 9.3.1)."""
    # −2 sin²(z/2) keeps the digits that cos z − 1 loses at small z.
    return -2 * np.sin(np.asarray(x) @ np.asarray(directions).T / 2) ** 2 @ np.asarray(amplitudes)


def power_energy_bound(amplitudes: Amplitudes, directions: Directions, *, power: int) -> float:
    """Return Σⱼ|αⱼ|‖βⱼ‖ᵖ/√c_p ≥ √(yᵀH*⁻¹y) for the teacher Σ αⱼ(βⱼ·x)ᵖ with p = 1 or even, on any unit inputs.

    Since H* ⪰ c_p K^{∘p}; p = 1 gives 2Σ|αⱼ|‖βⱼ‖ (arora Ch. 9 Ex. 3). Divided by √n it bounds the complexity.
    """
    coefficient = first_layer_coefficient(power)
    if coefficient == 0:
        raise ValueError(f"the kernel has only powers 1 and even ones, got power = {power}")
    lengths = np.linalg.norm(np.asarray(directions, float), axis=1)
    return float(np.abs(amplitudes) @ lengths**power / np.sqrt(coefficient))


def cosine_energy_bound(amplitudes: Amplitudes, directions: Directions) -> float:
    """Return 3Σⱼ|αⱼ|‖βⱼ‖ sinh‖βⱼ‖ ≥ √(yᵀH*⁻¹y) for the cosine teacher, from 1/√c_p ≤ 3p (arora 9.3.1, corrected)."""
    lengths = np.linalg.norm(np.asarray(directions, float), axis=1)
    return float(3 * np.abs(amplitudes) @ (lengths * np.sinh(lengths)))


def cosine_energy_limit(amplitudes: Amplitudes, directions: Directions, *, terms: int = 60) -> float:
    """Return Σⱼ|αⱼ| Σ_{k≥1} ‖βⱼ‖^{2k}/((2k)! √c_{2k}), the same before rounding up.

    `amplitudes` are αⱼ and the rows of `directions` βⱼ; c_{2k} is `first_layer_coefficient(2k)`, and `terms` of the
    series are summed.
    """
    lengths = np.linalg.norm(np.asarray(directions, float), axis=1)
    total, term = np.zeros_like(lengths), np.ones_like(lengths)
    for k in range(1, terms + 1):
        term = term * lengths**2 / ((2 * k - 1) * 2 * k)
        total = total + term / np.sqrt(first_layer_coefficient(2 * k))
    return float(np.abs(amplitudes) @ total)


def expected_noisy_energy(gram: Gram, y: Float[AnyArray, " n"], noise: float) -> float:
    """Return E yᵀH⁻¹y when each label ±1 is replaced with probability q by a fair sign.

    (1 − q)² yᵀH⁻¹y + (1 − (1 − q)²) tr H⁻¹: it rises with q whenever the clean labels are cheaper than random ones.
    """
    inside(0, 1, noise=noise)
    kept = (1 - noise) ** 2
    random = float(np.sum(1 / np.linalg.eigvalsh(np.asarray(gram, float))))
    return kept * float(label_energy(gram, y)) + (1 - kept) * random


def kernel_rademacher_bound(gram: Gram) -> float:
    """Return √(tr H)/n, never below the Rademacher complexity of the unit ball, and equal to it for a diagonal H.

    Reference: Bartlett and Mendelson 2002; arora 9.3.
    """
    return float(np.sqrt(np.trace(np.asarray(gram, float)))) / len(gram)


def risk_bound(gram: Gram, y: Float[AnyArray, " n"], *, delta: float) -> float:
    """Return 2√(yᵀH⁺y)·√(tr H)/n + 3√(log(2/δ)/2n), for the risk of k(x, X)H⁺y under a 1-Lipschitz loss in [0, 1].

    Twice the Rademacher complexity of the ball that holds the predictor, √2 times the measure printed as arora 9.11,
    and the confidence term that is missing there. On the sphere the first term is √(2yᵀH⁻¹y/n) (Arora et al. 2019).
    """
    radius = np.sqrt(label_energy(gram, y))
    return float(empirical_complexity_deviation(radius * kernel_rademacher_bound(gram), len(y), delta))


doors(__name__, terms="[1, 1e4]", power="[1, 1000]", symmetric=("gram",), noise="[0, ∞)", delta="(0, 1]")
