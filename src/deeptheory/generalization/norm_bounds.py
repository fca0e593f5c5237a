"""Margin bounds by norms of the layers. Orders without known constants are given with constant 1 and say so.

R ≤ R̂_γ + value, R̂_γ the margin loss; n samples, inputs with root mean square norm `size` or largest norm `radius`.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Array, Float

from deeptheory.doors import doors
from deeptheory.generalization.norms import (
    frobenius_norm,
    lipschitz_bound,
    path_norm,
    row_group_norm,
    spectral_norm,
    stable_rank,
)
from deeptheory.generalization.rademacher_bounds import empirical_complexity_deviation

__all__ = [
    "frobenius_product_bound",
    "handbook_spectral_bound",
    "linear_margin_bound",
    "neyshabur_bound",
    "path_norm_bound",
    "peeled_deviation",
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


def peeled_deviation(complexity: float, ratio: float, *, samples: int, delta: float) -> float:
    """2c·2ᵏ + 3√(ln(2/δₖ)/(2n)) with 2ᵏ the first power of two from `ratio` on and δₖ = 2δ/(3(|k|+1)(|k|+2)).

    Above R − R̂_γ for all networks and all margins γ at once, where c·B is the empirical Rademacher complexity of those
    of norm at most B, and `ratio` is norm/γ: neither has to be fixed before the data, because a share δₖ of δ is
    spent on each power of two and Σ δₖ = δ. Ramp loss of slope 1/γ; `empirical_complexity_deviation`.
    """
    if not ratio > 0:
        raise ValueError(f"the ratio of norm and margin must be positive, got {ratio}")
    power = int(np.ceil(np.log2(ratio)))
    share = 2 * delta / (3 * (abs(power) + 1) * (abs(power) + 2))
    return float(empirical_complexity_deviation(complexity * 2.0**power, samples, share))


def linear_margin_bound(weights: Layers, *, size: float, margin: float, samples: int, delta: float) -> float:
    """`peeled_deviation` of linear classifiers x ↦ ⟨w, x⟩: c = size/√n, norm ‖w‖. Reference: lucchi Lemma 63."""
    _one_output(weights)
    ratio = frobenius_norm(weights[-1]) / margin
    return peeled_deviation(size / np.sqrt(samples), ratio, samples=samples, delta=delta)


def frobenius_product_bound(layers: Layers, *, size: float, margin: float, samples: int, delta: float) -> float:
    """`peeled_deviation` of bias-free ReLU networks with L layers and one output: c = size·(√(2L·ln 2) + 1)/√n.

    The norm is ∏‖Aᵢ‖_F. Of two outputs pass the difference of the last layer's rows. Reference: Golowich, Rakhlin and
    Shamir 2018, Thm 1.
    """
    _one_output(layers)
    complexity = size * (np.sqrt(2 * len(layers) * np.log(2)) + 1) / np.sqrt(samples)
    ratio = float(np.prod([frobenius_norm(layer) for layer in layers])) / margin
    return peeled_deviation(complexity, ratio, samples=samples, delta=delta)


def path_norm_bound(layers: Layers, *, size: float, margin: float, samples: int, delta: float) -> float:
    """`peeled_deviation` of bias-free ReLU networks with one output by `path_norm`: c = size·∏ 2√hᵢ/√n.

    hᵢ are the widths of the hidden layers: with units scaled to incoming weights of norm 1 each hidden layer costs 2
    for its ReLU and √hᵢ for choosing its units. Reference: Neyshabur, Tomioka and Srebro 2015, Thm 1 with p = 2.
    """
    _one_output(layers)
    widths = np.array([len(layer) for layer in layers[:-1]], float)
    complexity = size * float(np.prod(2 * np.sqrt(widths))) / np.sqrt(samples)
    return peeled_deviation(complexity, path_norm(layers) / margin, samples=samples, delta=delta)


def _one_output(layers: Layers) -> None:
    if len(layers[-1]) != 1:
        raise ValueError(f"this bound is for one output, got {len(layers[-1])}: pass the difference of two rows")


doors(__name__, size="(0, ∞)", margin="(0, ∞)", radius="(0, ∞)", samples="[1, ∞)", delta="(0, 1)")
