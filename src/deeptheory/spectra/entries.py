"""Matrices with independent entries of a named law, and the exact mean moments of their sample covariances.

Reference: jagannath Def. 6.3; for moments Bai and Silverstein 2010, Spectral Analysis of Large Dimensional Random
Matrices, ch. 3.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache

import numpy as np
from jaxtyping import Array, Key, UInt32

from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import affordable
from deeptheory.foundations.randomness import generator

__all__ = ["ENTRY_LAWS", "draw_entries", "entry_moment", "expected_spectral_moment"]

ENTRY_LAWS = ("gaussian", "rademacher", "uniform", "exponential", "student")
DEGREES = 10
"""Degrees of freedom of the Student entries: moments below the tenth exist, and the fourth is four."""


def entry_moment(entries: str, order: int) -> Fraction:
    """Return the mean of xᵏ for one of the standardised entry laws.

    `entries` is a law as of `draw_entries`, `order` is k.
    """
    if entries not in ENTRY_LAWS:
        raise ValueError(f"entries must be one of {', '.join(ENTRY_LAWS)}, not {entries!r}")
    if entries == "exponential":  # shifted to mean zero: skewed, fourth moment nine
        return Fraction(sum(math.comb(order, j) * math.factorial(j) * (-1) ** (order - j) for j in range(order + 1)))
    if order % 2:
        return Fraction(0)
    half = order // 2
    if entries == "student" and order >= DEGREES:
        raise ValueError(f"student entries have moments below order {DEGREES} only, not {order}")
    match entries:
        case "gaussian":
            return Fraction(math.factorial(order), 2**half * math.factorial(half))
        case "uniform":
            return Fraction(3**half, order + 1)
        case "student":
            factors = (Fraction((2 * i - 1) * (DEGREES - 2), DEGREES - 2 * i) for i in range(1, half + 1))
            return math.prod(factors, start=Fraction(1))
        case _:
            return Fraction(1)


def draw_entries(
    key: Key[Array, ""] | UInt32[Array, "2"], shape: tuple[int, ...], entries: str = "gaussian"
) -> np.ndarray:
    """Draw independent entries of mean zero and variance one from a named law.

    `entries` is one of `ENTRY_LAWS`: "gaussian", "rademacher" (±1), "uniform", "exponential" (shifted to mean zero) or
    "student" (ten degrees of freedom).
    """
    entry_moment(entries, 1)
    affordable(shape=shape)
    draw = generator(key)
    match entries:
        case "gaussian":
            return draw.standard_normal(shape)
        case "rademacher":
            return 2.0 * draw.integers(0, 2, shape) - 1
        case "uniform":
            return draw.uniform(-(3**0.5), 3**0.5, shape)
        case "student":
            return draw.standard_t(DEGREES, shape) * (1 - 2 / DEGREES) ** 0.5
        case _:
            return draw.standard_exponential(shape) - 1


def _partitions(size: int) -> Iterator[tuple[int, ...]]:
    """List the set partitions of `size` positions as restricted growth strings."""

    def extend(prefix):
        if len(prefix) == size:
            yield tuple(prefix)
            return
        for block in range(max(prefix, default=-1) + 2):
            yield from extend([*prefix, block])

    return extend([])


@lru_cache(maxsize=64)
def _trace_coefficients(order: int, entries: str) -> dict[tuple[int, int], Fraction]:
    """Count the closed walks i₁ k₁ i₂ k₂ … of tr (XXᵀ)ᵏ by how many rows and columns they visit, with their moments."""
    weights: defaultdict[tuple[int, int], Fraction] = defaultdict(Fraction)
    for rows in _partitions(order):
        for columns in _partitions(order):
            visits = Counter(
                pair for j in range(order) for pair in ((rows[j], columns[j]), (rows[(j + 1) % order], columns[j]))
            )
            weight = math.prod((entry_moment(entries, count) for count in visits.values()), start=Fraction(1))
            if weight:
                weights[max(rows) + 1, max(columns) + 1] += weight
    return dict(weights)


def expected_spectral_moment(order: int, dimension: int, samples: int, entries: str = "gaussian") -> Fraction:
    """Return the exact mean of tr(Wᵏ)/N for W = XXᵀ/M with independent entries, at finite N and M.

    A sum over all ways in which the indices of the trace may coincide: Bell(k)² terms, so the order stops at six. The
    Marchenko–Pastur moment is its limit, which is the moment proof of the law; the difference is of order 1/N and
    carries the fourth moment of the entries.

    `order` is k, `dimension` N, `samples` M.
    """
    if not 1 <= order <= 6:
        raise ValueError(f"order must be in 1..6, not {order}")
    if dimension < 1 or samples < 1:
        raise ValueError(f"dimension and samples must be positive, not {dimension} and {samples}")
    total = sum(
        weight * math.perm(dimension, rows) * math.perm(samples, columns)
        for (rows, columns), weight in _trace_coefficients(order, entries).items()
    )
    return total / (dimension * Fraction(samples) ** order)


doors(__name__, order="[0, 1000]")
