"""Margin bounds by norms of the layers. Orders without known constants are given with constant 1 and say so.

R ≤ R̂_γ + value, R̂_γ the margin loss; n samples, inputs with root mean square norm `size` or largest norm `radius`.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Array, Float

from deeptheory.generalization.norms import frobenius_norm, lipschitz_bound, row_group_norm, spectral_norm, stable_rank

__all__ = [
    "frobenius_product_bound",
    "handbook_spectral_bound",
    "neyshabur_bound",
    "spectral_complexity",
    "spectrally_normalized_bound",
    "stable_rank_bound",
]

Layers = Sequence[Float[Array | np.ndarray, "_out _in"]]


def _width(layers: Layers) -> int:
    return max(max(np.shape(layer)) for layer in layers)


def stable_rank_bound(layers: Layers, *, radius: float, margin: float, samples: int) -> float:
    """√(h·d²·max‖x‖²·∏‖Aᵢ‖₂²·Σ srank(Aᵢ)/(γ²m)), an order (constant and logarithms 1), d layers of width at most h.

    Reference: arora Thm 5.5.6 with max‖x‖ squared; printed to the first power it changes with the unit of length.
    """
    ranks = sum(stable_rank(layer) for layer in layers)
    depth, width = len(layers), _width(layers)
    return float(np.sqrt(width * ranks / samples) * depth * radius * lipschitz_bound(layers) / margin)


def handbook_spectral_bound(layers: Layers, *, size: float, margin: float, samples: int) -> float:
    """∏‖Aᵢ‖₂·(Σ srank(Aᵢ))^{1/2}·‖x‖/(γ√n), an order. Reference: handbook 8.3.2 with the input norm it leaves out."""
    ranks = sum(stable_rank(layer) for layer in layers)
    return float(size * lipschitz_bound(layers) * np.sqrt(ranks / samples) / margin)


def spectral_complexity(layers: Layers, reference: Layers | None = None) -> float:
    """R_A = ∏‖Aᵢ‖₂·(Σ (‖Aᵢᵀ − Mᵢᵀ‖₂,₁/‖Aᵢ‖₂)^{2/3})^{3/2} around reference matrices Mᵢ (default 0).

    Reference: Bartlett, Foster and Telgarsky 2017, as cited in handbook 8.3.
    """
    moved = (
        layers if reference is None else [np.asarray(a) - np.asarray(m) for a, m in zip(layers, reference, strict=True)]
    )
    terms = [(row_group_norm(b) / spectral_norm(a)) ** (2 / 3) for a, b in zip(layers, moved, strict=True)]
    return float(lipschitz_bound(layers) * sum(terms) ** 1.5)


def spectrally_normalized_bound(
    layers: Layers, *, size: float, margin: float, samples: int, delta: float, reference: Layers | None = None
) -> float:
    """‖X‖_F·R_A·ln W/(γn) + √(ln(1/δ)/n), an order, with ‖X‖_F = size·√n and W the largest width.

    Reference: Bartlett, Foster and Telgarsky 2017, as cited in handbook 8.3.
    """
    capacity = size * spectral_complexity(layers, reference) * np.log(_width(layers)) / (margin * np.sqrt(samples))
    return float(capacity + np.sqrt(np.log(1 / delta) / samples))


def neyshabur_bound(layers: Layers, *, radius: float, margin: float, samples: int, delta: float) -> float:
    """√((B²L²h·ln(Lh)·∏‖Aᵢ‖₂²·Σ srank(Aᵢ) + ln(Ln/δ))/(γ²n)), an order, from PAC-Bayes.

    Reference: Neyshabur, Bhojanapalli and Srebro 2018, as cited in handbook 8.3. Its confidence term is divided by γ²
    too, so that it is not invariant to the unit of the outputs.
    """
    depth, width = len(layers), _width(layers)
    ranks = sum(stable_rank(layer) for layer in layers)
    capacity = (radius * depth * lipschitz_bound(layers)) ** 2 * width * np.log(depth * width) * ranks
    return float(np.sqrt((capacity + np.log(depth * samples / delta)) / samples) / margin)


def frobenius_product_bound(layers: Layers, *, size: float, margin: float, samples: int, delta: float) -> float:
    """2·size·∏‖Aᵢ‖_F·(√(2L·ln 2) + 1)/(γ√n) + √(ln(1/δ)/(2n)), with its constants, for two classes and one output.

    Complexity of the class with these Frobenius norms by Golowich, Rakhlin and Shamir 2018, the ramp loss of slope 1/γ,
    and `complexity_deviation`; for norms fixed beforehand.
    """
    product = np.prod([frobenius_norm(layer) for layer in layers])
    complexity = size * product * (np.sqrt(2 * len(layers) * np.log(2)) + 1) / np.sqrt(samples)
    return float(2 * complexity / margin + np.sqrt(np.log(1 / delta) / (2 * samples)))
