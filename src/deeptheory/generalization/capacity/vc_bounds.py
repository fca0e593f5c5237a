"""Bounds in the growth function and the VC dimension, and how many samples a network would need by them.

Each is the deviation that R − R_S stays below for every classifier at once, with probability 1 − δ.

Reference: lucchi Thm 60 and Lemma 61; handbook Sec. 7.3.2; Vapnik and Chervonenkis 1971.
"""

import numpy as np
from jaxtyping import Num

from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import inside, positive

__all__ = [
    "growth_deviation",
    "log_growth_tail",
    "log_sauer",
    "piecewise_linear_dimension",
    "samples_for",
    "sauer_deviation",
    "vc_deviation",
    "vc_dimension_deviation",
]

Numbers = float | int | Num[np.ndarray, "..."] | np.number


def log_growth_tail(deviation: Numbers, samples: Numbers, log_growth: Numbers) -> Numbers:
    """Logarithm of 2·S(2n)·exp(−nε²/8), which bounds the chance that sup_f (R − R_S) exceeds ε (Vapnik–Chervonenkis).

    `log_growth` is log S(2n), the growth function at twice the sample.
    """
    inside(0, np.inf, deviation=deviation, samples=samples, log_growth=log_growth)
    return np.log(2.0) + np.asarray(log_growth) - np.asarray(samples) * np.asarray(deviation) ** 2 / 8


def growth_deviation(samples: Numbers, log_growth: Numbers, delta: Numbers) -> Numbers:
    """2√(2(log S(2n) + log(2/δ))/n): where `log_growth_tail` falls to log δ. Reference: lucchi Thm 60."""
    inside(1, np.inf, samples=samples)
    inside(0, 1, "(]", delta=delta)
    inside(0, np.inf, log_growth=log_growth)
    return 2 * np.sqrt(2 * (np.asarray(log_growth) + np.log(2 / np.asarray(delta))) / np.asarray(samples))


def log_sauer(points: Numbers, dimension: Numbers) -> Numbers:
    """Logarithm of the easy form of Sauer's bound: 2ⁿ up to the dimension h, (en/h)^h beyond. See lucchi Lemma 61."""
    positive(points=points, dimension=dimension)
    n, h = np.asarray(points, float), np.asarray(dimension, float)
    return np.where(n <= h, n * np.log(2.0), h * (np.log(np.maximum(n, h) / h) + 1))


def sauer_deviation(samples: Numbers, dimension: Numbers, delta: Numbers) -> Numbers:
    """`growth_deviation` by Sauer's bound: for 2n ≥ h the capacity is h(log(2n/h) + 1)."""
    inside(1, np.inf, samples=samples)
    return growth_deviation(samples, log_sauer(2 * np.asarray(samples), dimension), delta)


def vc_dimension_deviation(samples: Numbers, dimension: Numbers, delta: Numbers) -> Numbers:
    """2√(2(h(log 2n + 1) + log(2/δ))/n): `sauer_deviation` with the 1/h inside the logarithm dropped.

    Reference: lucchi, after Lemma 61.
    """
    inside(1, np.inf, samples=samples)
    positive(dimension=dimension)
    return growth_deviation(samples, np.asarray(dimension) * (np.log(2 * np.asarray(samples)) + 1), delta)


def vc_deviation(samples: Numbers, dimension: Numbers, delta: Numbers) -> Numbers:
    """√((8/n)(V·ln(2en/V) + ln(4/δ))): an explicit form of handbook 7.3.2 that is true for every n ≥ V.

    The handbook prints log(n/V), which is 0 at n = V and negative below.
    """
    inside(1, np.inf, samples=samples)
    inside(0, 1, "(]", delta=delta)
    positive(dimension=dimension)
    inside(dimension, np.inf, samples=samples)
    capacity = dimension * np.log(2 * np.e * np.asarray(samples) / dimension)
    return np.sqrt(8 / np.asarray(samples) * (capacity + np.log(4 / np.asarray(delta))))


def piecewise_linear_dimension(weights: Numbers, layers: Numbers) -> Numbers:
    """The order W·L·log₂W of the VC dimension of piecewise-linear networks with W weights in L layers (constant 1).

    Reference: lucchi 8.3, handbook 7.5; Bartlett, Harvey, Liaw and Mehrabian 2019.
    """
    inside(1, np.inf, weights=weights, layers=layers)
    return np.asarray(weights) * np.asarray(layers) * np.log2(weights)


def samples_for(gap: float, dimension: float | int, delta: float) -> int:
    """Smallest n from which on `sauer_deviation` is at most `gap`, by bisection; it grows like h times a logarithm."""
    positive(gap=gap)
    low, high = max(1, int(dimension)), max(2, int(dimension))
    while sauer_deviation(high, dimension, delta) > gap:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if sauer_deviation(middle, dimension, delta) > gap else (low, middle)
    return high


doors(__name__)
