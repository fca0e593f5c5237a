"""Margin bounds by norms of the layers. Orders without known constants are given with constant 1 and say so.

R ≤ R̂_γ + value, R̂_γ the margin loss; n samples, inputs with root mean square norm `size` or largest norm `radius`.

Reference: arora Sec. 5.5; handbook Sec. 8.3; Bartlett, Foster and Telgarsky 2017; Golowich, Rakhlin and Shamir 2018.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors
from deeptheory.generalization.capacity.rademacher_bounds import empirical_complexity_deviation
from deeptheory.generalization.networks.norms import (
    frobenius_norm,
    lipschitz_bound,
    path_norm,
    row_group_norm,
    spectral_norm,
    stable_rank,
)

__all__ = [
    "deciding",
    "frobenius_product_bound",
    "handbook_spectral_bound",
    "network_factor",
    "neyshabur_bound",
    "path_norm_bound",
    "peeled_deviation",
    "spectral_complexity",
    "spectrally_normalized_bound",
    "stable_rank_bound",
]

Layers = Sequence[Float[AnyArray, "_out _in"]]


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
    """2c·qᵏ + 3√(ln(2/δₖ)/(2n)) with qᵏ the first power of q = 2^¼ from `ratio` on and δₖ = 2δ/(3(|k|+1)(|k|+2)).

    Above R − R̂_γ for all networks and all margins γ at once, where c·B is the empirical Rademacher complexity of those
    of norm at most B, and `ratio` is norm/γ: neither has to be fixed before the data, because a share δₖ of δ is
    spent on each power and Σ δₖ = δ. Ramp loss of slope 1/γ; `empirical_complexity_deviation`. Reference: Koltchinskii
    and Panchenko 2002 for all margins at once; the constants are ours.
    """
    if not ratio > 0:
        raise ValueError(f"the ratio of norm and margin must be positive, got {ratio}")
    power = int(np.ceil(4 * np.log2(ratio)))
    share = 2 * delta / (3 * (abs(power) + 1) * (abs(power) + 2))
    return float(empirical_complexity_deviation(complexity * 2 ** (power / 4), samples, share))


def deciding(layers: Layers) -> list[Float[np.ndarray, "_out _in"]]:
    """The layers with a last one of least norm among those with the same margins: all that k outputs decide by.

    A row common to all outputs moves no margin. Of two outputs their difference is left, one row; of more the rows
    around their mean, which is where the sum of their squares is smallest.
    """
    last = np.asarray(layers[-1], float)
    rows = last[1:] - last[:1] if len(last) == 2 else last - last.mean(axis=0) if len(last) > 2 else last
    return [*(np.asarray(layer, float) for layer in layers[:-1]), rows]


def network_factor(depth: int, outputs: int) -> float:
    """What `depth` layers with ReLU between and so many outputs cost: c of `peeled_deviation` is size/√n times this.

    One output: E sup ‖Σ εᵢh(xᵢ)‖ over all last hidden layers h is peeled layer by layer. For g convex and increasing on
    [0, ∞) each ReLU costs a factor 2 before g (Golowich et al. 2018, Lemma 1), the linear last layer nothing. With
    g = z² that leaves 2^((L−1)/2) times the root of E‖Σ εᵢxᵢ‖² = n·size²; with g = exp(λz) it leaves √(2(L−1)ln 2) + 1
    (their Thm 1, which counts the last layer too). The smaller is returned: at one layer 1, lucchi Lemma 63.

    k > 1 outputs: the ramp of minⱼ(f_y − fⱼ) is Lipschitz in these k − 1 differences, so that by vector contraction
    (Maurer 2016) the complexity is at most √2 times that with a sign for each difference. By Cauchy's inequality the
    last layer of Frobenius norm M gives M·√(Σⱼ E sup ‖Σᵢ eᵢⱼh(xᵢ)‖²), eᵢⱼ the sum of the signs that meet output j: of
    k − 1 for the label, of one for each other output, of 2(k − 1) together for an example. Hence 2√(k − 1) times the
    root of a mean square, in which g = exp costs one more: the variance of the supremum is at most n·size² (Efron and
    Stein).
    """
    squares, exponentials = 2 ** ((depth - 1) / 2), np.sqrt(2 * (depth - 1) * np.log(2)) + 1
    if outputs == 1:
        return float(min(squares, exponentials))
    return float(2 * np.sqrt(outputs - 1) * min(squares, np.hypot(exponentials, 1)))


def frobenius_product_bound(layers: Layers, *, size: float, margin: float, samples: int, delta: float) -> float:
    """`peeled_deviation` of bias-free ReLU networks by ∏‖Aᵢ‖_F, the last layer as `deciding` leaves it.

    c = size/√n times `network_factor`. Reference: Golowich, Rakhlin and Shamir 2018, Thm 1; one layer: lucchi Lemma 63.
    """
    layers = deciding(layers)
    complexity = size * network_factor(len(layers), len(layers[-1])) / np.sqrt(samples)
    ratio = float(np.prod([frobenius_norm(layer) for layer in layers])) / margin
    return peeled_deviation(complexity, ratio, samples=samples, delta=delta)


def path_norm_bound(layers: Layers, *, size: float, margin: float, samples: int, delta: float) -> float:
    """`peeled_deviation` of bias-free ReLU networks by `path_norm`, the last layer as `deciding` leaves it.

    c = size·∏√hᵢ/√n times `network_factor`, hᵢ the widths of the hidden layers: with units scaled to incoming weights
    of norm 1 a layer is peeled as before, and √hᵢ pays for choosing its units. Reference: Neyshabur, Tomioka and Srebro
    2015, Thm 1 with p = 2, where each ReLU costs 2.
    """
    layers = deciding(layers)
    widths = np.array([len(layer) for layer in layers[:-1]], float)
    chosen = network_factor(len(layers), len(layers[-1])) * float(np.prod(np.sqrt(widths)))
    return peeled_deviation(size * chosen / np.sqrt(samples), path_norm(layers) / margin, samples=samples, delta=delta)


doors(__name__, size="(0, ∞)", margin="(0, ∞)", radius="(0, ∞)", samples="[1, ∞)", delta="(0, 1)")
