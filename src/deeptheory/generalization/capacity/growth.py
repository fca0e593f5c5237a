"""What a class can do on finitely many points: dichotomies by enumeration, growth functions, shattering, VC dimension.

A class is given by the function that lists its dichotomies of a set of points, one row of booleans for each.

Reference: lucchi Sec. 8.3, Defs. 27 and 28; handbook Sec. 7.3.1; Vapnik and Chervonenkis 1971.
"""

from collections.abc import Callable
from itertools import combinations, product
from math import comb
from typing import Annotated

import numpy as np
from jaxtyping import Bool, Float

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import inside

__all__ = [
    "cover_count",
    "half_space_dichotomies",
    "interval_dichotomies",
    "linearly_separable",
    "radon_labels",
    "rectangle_dichotomies",
    "sauer_power",
    "sauer_sum",
    "shatters",
    "sine_frequency",
    "sine_signs",
    "threshold_dichotomies",
    "vc_dimension",
]

Points = Float[np.ndarray, "n d"]
Dichotomies = Bool[np.ndarray, "count n"]


def threshold_dichotomies(points: Float[np.ndarray, "n 1"]) -> Dichotomies:
    """All patterns of x ↦ 1{x ≤ t} on the points: one for each value a point takes, and the empty one."""
    x = points[:, 0]
    return np.unique([x <= t for t in [-np.inf, *x]], axis=0)


def interval_dichotomies(points: Float[np.ndarray, "n 1"]) -> Dichotomies:
    """All patterns of x ↦ 1{a ≤ x ≤ b} on the points."""
    x = points[:, 0]
    pairs = [(a, b) for a in x for b in x if a <= b]
    return np.unique([(a <= x) & (x <= b) for a, b in [*pairs, (np.inf, -np.inf)]], axis=0)


def rectangle_dichotomies(points: Points) -> Dichotomies:
    """All patterns of boxes with sides along the axes: the subsets whose bounding box holds no other point."""
    found = [np.zeros(len(points), bool)]
    for count in range(1, len(points) + 1):
        for chosen in combinations(range(len(points)), count):
            low, high = points[list(chosen)].min(0), points[list(chosen)].max(0)
            held = np.all((low <= points) & (points <= high), axis=1)
            if held.sum() == count:
                found.append(held)
    return np.array(found)


def linearly_separable(points: Float[AnyArray, "n d"], labels: Float[AnyArray, " n"]) -> bool:
    """Say whether a hyperplane (with offset) separates labels ±1: feasibility of yᵢ(w·xᵢ + b) ≥ 1, a linear program.

    Reference: Boyd and Vandenberghe, Convex Optimization (2004), Sec. 8.6.1.
    """
    from scipy.optimize import linprog

    points = np.asarray(points, float)
    scaled = points / (np.abs(points).max() or 1.0)  # a program of huge or tiny numbers has no answer
    signed = -np.asarray(labels, float)[:, None] * np.column_stack([scaled, np.ones(len(points))])
    found = linprog(np.zeros(signed.shape[1]), A_ub=signed, b_ub=-np.ones(len(signed)), bounds=(None, None))
    return found.status == 0


def half_space_dichotomies(points: Points) -> Dichotomies:
    """All patterns of x ↦ 1{w·x + b > 0}, each of the 2ⁿ labelings tried by a linear program.

    A labeling y ∈ {±1}ⁿ is possible when yᵢ(w·xᵢ + b) ≥ 1 is feasible; with a labeling its opposite is, so half are
    tried. Reference: lucchi Def. 27, handbook 7.3.1.
    """
    found = []
    for rest in product((False, True), repeat=len(points) - 1):
        labels = np.array([True, *rest])
        if linearly_separable(points, np.where(labels, 1.0, -1.0)):
            found += [labels, ~labels]
    return np.array(found)


def shatters(dichotomies: Callable[[np.ndarray], Dichotomies], points: Points) -> bool:
    """Whether every labeling of the points occurs. Reference: lucchi Def. 28."""
    return len(dichotomies(points)) == 2 ** len(points)


def vc_dimension(members: Bool[np.ndarray, "class domain"]) -> int:
    """Size of the largest shattered set of a finite class on a finite domain, by trying all sets of columns.

    A row is a member of the class, a column a point of the domain. Reference: lucchi Def. 28.
    """
    size, domain = members.shape
    largest = 0
    for count in range(1, min(domain, int(np.log2(size))) + 1):
        codes = 1 << np.arange(count)
        if not any(
            len(np.unique(members[:, list(chosen)] @ codes)) == 2**count
            for chosen in combinations(range(domain), count)
        ):
            break
        largest = count
    return largest


def cover_count(points: int, dimension: int) -> int:
    """Dichotomies of n points in general position in ℝᵈ by half-spaces: 2·Σ_{i≤d} C(n−1, i) (Cover 1965).

    Reference: lucchi 8.3, handbook 7.3.1. In the plane 2, 4, 8, 14, 22, 32.
    """
    return 2 * sauer_sum(points - 1, dimension)


def sauer_sum(points: int, dimension: int) -> int:
    """Sauer–Shelah: a class of VC dimension h has at most Σ_{i≤h} C(n, i) dichotomies of n points.

    Equal to 2ⁿ for n ≤ h, a polynomial of degree h in n afterwards; attained by the subsets with at most h elements.
    Reference: lucchi Lemma 61.
    """
    inside(0, np.inf, points=points, dimension=dimension)
    return sum(comb(points, i) for i in range(dimension + 1))


def sauer_power(points: int, dimension: Annotated[int, "[1, ∞)"]) -> float:
    """(en/h)^h, at least `sauer_sum` for n ≥ h ≥ 1 and not otherwise. Reference: lucchi Lemma 61."""
    inside(dimension, np.inf, points=points)
    return (np.e * points / dimension) ** dimension


def radon_labels(points: Points) -> Bool[np.ndarray, " n"]:
    """A labeling of d + 2 points that no half-space realises: the two sides of their Radon partition.

    The points have an affine dependence Σ cᵢxᵢ = 0, Σ cᵢ = 0; the convex hulls of {cᵢ > 0} and {cᵢ ≤ 0} meet.
    Reference: the upper half of lucchi 8.3 and handbook 7.3.1.
    """
    n, d = points.shape
    if n != d + 2:
        raise ValueError(f"Radon's partition is of d + 2 points; in dimension {d} got {n}")
    lifted = np.vstack([points.T, np.ones(n)])
    return np.linalg.svd(lifted)[2][-1] > 0


def sine_frequency(labels: Bool[np.ndarray, " n"]) -> int:
    """The k for which sin(πk·x) has these signs at x = 1/10, 1/100, …: one frequency for every labeling.

    k = 1 + Σ (1 − yᵢ)·10ⁱ. Reference: the class of infinite VC dimension in handbook 7.3.1.
    """
    return 1 + sum(10 ** (i + 1) for i, label in enumerate(labels) if not label)


def sine_signs(frequency: int, count: int) -> Bool[np.ndarray, " n"]:
    """Whether sin(πk·10⁻ⁱ) > 0 for i = 1 … n, in whole numbers: k modulo 2·10ⁱ lies strictly below 10ⁱ.

    k is the `frequency`, n the `count`. Reference: Vapnik, The Nature of Statistical Learning Theory (1995), Ch. 3.
    """
    return np.array([0 < frequency % (2 * 10**i) < 10**i for i in range(1, count + 1)])


doors(__name__, count="[1, 60]", frequency="[0, ∞)", dimension="[0, 1000]")
