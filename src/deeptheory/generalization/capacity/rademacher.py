"""Rademacher complexity: exact over all signs where they are few, by draws otherwise; suprema in closed form.

A class enters through its supremum: the function from signs σ ∈ {±1}ⁿ (one row each) to sup_f Σᵢ σᵢ f(zᵢ).
R̂ = E_σ sup_f (1/n) Σᵢ σᵢ f(zᵢ), without an absolute value. Reference: lucchi Def. 29, handbook 7.4.1.
"""

from collections.abc import Callable

import numpy as np
from jaxtyping import Array, Float, Key

from deeptheory.foundations.bits import all_bits
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.randomness import generator

__all__ = [
    "absolute_ball_supremum",
    "all_signs",
    "ball_supremum",
    "exact_complexity",
    "finite_supremum",
    "kernel_ball_supremum",
    "relu_plane_supremum",
    "sampled_complexity",
    "threshold_supremum",
    "two_sample_threshold_complexity",
]

Signs = Float[np.ndarray, "draws n"]
Supremum = Callable[[Signs], Float[np.ndarray, " draws"]]
Inputs = Float[np.ndarray, "n d"]


def all_signs(n: int) -> Float[np.ndarray, "draws n"]:
    """The 2ⁿ rows of signs."""
    if not 1 <= n <= 20:
        raise ValueError(f"all signs are enumerated for 1 to 20 points, got {n}")
    return 1.0 - 2 * all_bits(n)


def exact_complexity(supremum: Supremum, n: int) -> float:
    """R̂ of n points as the mean over all 2ⁿ signs."""
    return float(np.mean(supremum(all_signs(n)))) / n


def sampled_complexity(key: Key[Array, ""], supremum: Supremum, n: int, draws: int) -> Float[np.ndarray, " draws"]:
    """Independent draws of sup_f (1/n) Σ σᵢ f(zᵢ), whose mean is R̂."""
    return supremum(generator(key).choice([-1.0, 1.0], (draws, n))) / n


def finite_supremum(values: Float[np.ndarray, "functions n"]) -> Supremum:
    """A finite class by its values on the points, one row a function."""
    return lambda signs: np.max(signs @ values.T, axis=1)


def ball_supremum(inputs: Inputs, radius: float = 1.0) -> Supremum:
    """Linear functions with ‖w‖₂ ≤ B: B·‖Σ σᵢxᵢ‖₂.

    `radius` is B. Reference: lucchi Lemma 63, arora Prob. 5.3.2.
    """
    return lambda signs: radius * np.linalg.norm(signs @ inputs, axis=1)


def absolute_ball_supremum(inputs: Inputs, radius: float = 1.0) -> Supremum:
    """Linear functions with ‖w‖₁ ≤ B: B·‖Σ σᵢxᵢ‖_∞.

    `radius` is B. Reference: Shalev-Shwartz and Ben-David, Understanding Machine Learning (2014), Sec. 26.2.
    """
    return lambda signs: radius * np.max(np.abs(signs @ inputs), axis=1)


def kernel_ball_supremum(gram: Float[np.ndarray, "n n"], radius: float = 1.0) -> Supremum:
    """The ball of radius B in the Hilbert space of a kernel: B·√(σᵀGσ). Reference: arora Prob. 5.3.3."""
    return lambda signs: radius * np.sqrt(np.maximum(np.sum((signs @ gram) * signs, axis=1), 0.0))


def threshold_supremum(points: Float[np.ndarray, " n"]) -> Supremum:
    """The indicators 1{z ≤ t}: the largest partial sum of the signs in the order of the points, or nothing.

    Equal points enter together, so a sum ends only at the last of them.
    """
    order = np.argsort(points)
    last = np.append(np.diff(points[order]) > 0, True)
    return lambda signs: np.maximum(np.max(np.cumsum(signs[:, order], axis=1)[:, last], axis=1), 0.0)


def relu_plane_supremum(inputs: Float[np.ndarray, "n 2"], *, both_signs: bool = False) -> Supremum:
    """One rectified unit in the plane: sup over ‖w‖ ≤ 1 of Σ σᵢ·relu(w·xᵢ), exactly, or of its absolute value.

    Between neighbouring directions orthogonal to an input the active set is fixed and the sum is v·w, largest along v
    if that lies in the arc and at an end otherwise. With an absolute value it is B⁻² times the supremum over two-layer
    nets with both Frobenius norms at most B, of any width. The latter where `both_signs`. Reference: lucchi Thm 65 at
    two layers.
    """
    angles = np.arctan2(inputs[:, 1], inputs[:, 0])
    ends = np.sort(np.mod(np.concatenate([angles + np.pi / 2, angles - np.pi / 2]), 2 * np.pi))
    middles = np.append((ends[1:] + ends[:-1]) / 2, np.mod((ends[0] + 2 * np.pi + ends[-1]) / 2, 2 * np.pi))
    directions = np.stack([np.cos(ends), np.sin(ends)])
    active = inputs @ np.stack([np.cos(middles), np.sin(middles)]) > 0

    def supremum(signs: Signs) -> Float[np.ndarray, " draws"]:
        at_ends = np.max(signs @ np.maximum(inputs @ directions, 0.0), axis=1)
        resultant = np.einsum("di,ia,ik->dak", signs, active * 1.0, inputs)
        size = np.linalg.norm(resultant, axis=2)
        along = resultant / np.maximum(size, 1e-300)[..., None]
        same = np.all((np.einsum("dak,ik->dai", along, inputs) > 0) == active.T, axis=2)
        return np.maximum(at_ends, np.max(np.where(same, size, 0.0), axis=1))

    return (lambda signs: np.maximum(supremum(signs), supremum(-signs))) if both_signs else supremum


def two_sample_threshold_complexity(m: int) -> float:
    """Exact two-sample complexity of thresholds: half the mean Kolmogorov–Smirnov distance of two samples of size m.

    E[(1/2m) sup_h |Σ_{S₁} ℓ − Σ_{S₂} ℓ|] with ℓ = 1{z ≤ h}, and P(mD ≥ k) = 2 Σ_{j≥1} (−1)^{j+1} C(2m, m−jk)/C(2m, m)
    (Gnedenko and Korolyuk); ~ ½·√(2/m)·√(π/2)·ln 2 for large m. Reference: arora eq. 5.3.
    """
    steps = np.arange(1, m + 1)
    # C(2m, m−i)/C(2m, m) for i = 0, 1, …, a product of (m − i + 1)/(m + i); it vanishes some √m·27 from the middle.
    ratios = np.exp(np.concatenate([[0.0], np.cumsum(np.log1p(-(2 * steps - 1) / (m + steps)))]))
    ratios = ratios[ratios > 0]
    return float(sum(ratios[k :: 2 * k].sum() - ratios[2 * k :: 2 * k].sum() for k in range(1, len(ratios))) / m)


doors(__name__, n="[1, 1e5]", draws="[1, 1e7]", m="[1, 1e6]", symmetric=("gram",), radius="(0, ∞)")
