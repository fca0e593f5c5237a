"""Generators of finitely many points: as nets, as laws that a bounded discriminator cannot tell from the real one.

A discriminator that is linear in k features with coefficients in the unit ball sees of two laws the distance of their
mean features and nothing else.

Reference: arora 16.3; Arora, Ge, Liang, Ma and Zhang 2017.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.optimize import linprog
from scipy.stats import t as student

from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import affordable, inside, laws

__all__ = [
    "PointGenerator",
    "collapsed_law",
    "feature_advantage",
    "generated",
    "point_generator",
    "sample_detector",
    "woken_units",
]


class PointGenerator(NamedTuple):
    """A net of one hidden layer: x = offset + outputs·relu(slopes·h − thresholds), for a seed h uniform on [0, 1]."""

    slopes: Float[np.ndarray, " units"]
    thresholds: Float[np.ndarray, " units"]
    outputs: Float[np.ndarray, "d units"]
    offset: Float[np.ndarray, " d"]

    @property
    def parameters(self) -> int:
        return sum(np.size(part) for part in self)


def point_generator(points: Float[np.ndarray, "m d"], *, ramp: float = 1e-6) -> PointGenerator:
    """A net that maps a uniform seed to each of m points with probability 1/m, up to ramps between them.

    Two units a step: relu((h − t)/r) − relu((h − t)/r − 1) rises from 0 to 1 on [t, t + r], and the outputs are the
    differences of consecutive points. A seed falls on a ramp with probability (m − 1)r. 2(m−1)(d+2) + d parameters,
    of order m·d, where O(m·d²) was asked for; a narrower ramp costs digits, the slopes being 1/r.
    Reference: arora Problem 16.3.4.
    """
    steps = len(points) - 1
    inside(0, 1 / (2 * len(points)), "(]", ramp=ramp)
    starts = np.arange(1, steps + 1) / len(points) - ramp / 2
    differences = np.diff(points, axis=0).T
    thresholds = np.stack([starts / ramp, starts / ramp + 1], axis=1).ravel()
    outputs = np.stack([differences, -differences], axis=2).reshape(points.shape[1], 2 * steps)
    return PointGenerator(np.full(2 * steps, 1 / ramp), thresholds, outputs, points[0])


def generated(net: PointGenerator, seeds: Float[np.ndarray, " n"]) -> Float[np.ndarray, "n d"]:
    """What the net makes of seeds in [0, 1]."""
    inside(0, 1, seeds=seeds)
    affordable(hidden=(len(seeds), max(len(net.slopes), 1)))
    hidden = np.maximum(seeds[:, None] * net.slopes - net.thresholds, 0.0)
    return net.offset + hidden @ net.outputs.T


def sample_detector(
    sample: Float[np.ndarray, "m d"],
    x: Float[np.ndarray, "n d"],
    *,
    level: float | Float[np.ndarray, " m"] | None = None,
) -> Float[np.ndarray, " n"]:
    """∑ᵢ relu(⟨xᵢ, x⟩ − level): a net with a unit for each point of a sample, zero on what is not in it.

    With level d/2, the default, it tells a sample of N(0, I_d) from fresh ones of the same law, since independent
    points are nearly orthogonal; that takes d above about 16·log m. With a level of 0.95‖xᵢ‖² for each unit, still
    positive on its own sample, d³ points take d of about 60 (`woken_units`). Reference: arora Example 16.3.1.
    """
    affordable(products=(len(sample), len(x)))
    threshold = sample.shape[1] / 2 if level is None else level
    return np.maximum(x @ sample.T - threshold, 0.0).sum(1)


def woken_units(dimension: int, units: int, *, share: float = 0.95) -> float:
    """How many units of `sample_detector` with levels share·‖xᵢ‖² a fresh point wakes on average: m·P(T_d > share·√d).

    Given xᵢ the product ⟨xᵢ, x⟩ is ‖xᵢ‖ times a standard normal, which over ‖xᵢ‖/√d has Student's law with d degrees.
    Below one over the number of fresh points the net is silent on most samples of that size.
    """
    return float(units * student.sf(share * np.sqrt(dimension), dimension))


def feature_advantage(
    features: Float[np.ndarray, "n k"],
    law: Float[np.ndarray, " n"],
    other: Float[np.ndarray, "*batch n"],
) -> Float[np.ndarray, "*batch"] | float:
    """max over ‖a‖ ≤ 1 of E_law a·φ − E_other a·φ = ‖E φ − E′ φ‖: the best discriminator linear in k features.

    For the other law uniform on m draws from the first, its mean square is tr Cov φ / m, whatever the support.
    """
    laws(law=law, other=other)
    return np.linalg.norm((other - law) @ features, axis=-1)


def collapsed_law(features: Float[np.ndarray, "n k"], law: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """A law on at most k + 1 of the n points with the same mean features: no discriminator linear in them objects.

    Carathéodory's theorem, by a vertex of the linear program {w ≥ 0, ∑w = 1, ∑wφ = E φ}: the support of such a
    generator is bounded by the discriminator and not by the data. At most 20 000 points and 200 features.
    """
    laws(law=law)
    if features.shape[0] > 20_000 or features.shape[1] > 200:
        raise ValueError(f"features must be at most 20000 points by 200 features, got {features.shape}")
    scale = np.maximum(np.abs(features).max(0), np.finfo(float).tiny)
    conditions = np.vstack([features.T / scale[:, None], np.ones(len(law))])
    # The dual simplex method ends in a vertex; any cost will do.
    precise = {"primal_feasibility_tolerance": 1e-10}
    cost = np.arange(len(law)) % 7.0
    found = linprog(cost, A_eq=conditions, b_eq=conditions @ law, method="highs-ds", options=precise)
    if found.x is None:
        raise ValueError(f"collapsed_law has no answer for these values: {found.message.splitlines()[0]:.120}")
    return found.x / found.x.sum()


doors(__name__, ramp="(0, 0.5]", dimension="[1, 1e9]", units="[0, 1e15]", share="(0, 1)")
