"""Shapley values of large games from random orders or random sets, with intervals that are stated, not hoped for.

The utility is a vectorised function of boolean masks and is called with many masks at once, so that what it trains or
evaluates for them can be one compiled call.

Reference: arora Sec. 10.2.1; Castro, Gómez and Tejada 2009; Jia et al. 2019.
"""

from collections.abc import Callable
from math import ceil, log
from typing import Annotated, NamedTuple

import numpy as np
from jaxtyping import Array, Bool, Float, Key

from deeptheory.attribution.shapley import coalitions, players_of
from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.concentration import hoeffding_radius
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import affordable
from deeptheory.foundations.randomness import generator

__all__ = [
    "Estimate",
    "group_testing_constant",
    "group_testing_estimate",
    "group_testing_radius",
    "group_testing_values",
    "permutation_estimate",
    "permutation_radius",
    "permutations_needed",
    "set_sizes",
]

Utility = Callable[[Bool[np.ndarray, "subsets players"]], Float[AnyArray, " subsets"]]


class Estimate(NamedTuple):
    """Estimated Shapley values; all true ones lie within `radius` of them with the probability that was asked for.

    `errors` are standard errors estimated from the draws, far smaller than the radius as a rule but without a promise;
    `evaluations` counts calls of the utility.
    """

    values: Float[np.ndarray, " players"]
    radius: float
    errors: Float[np.ndarray, " players"]
    evaluations: int


def permutation_radius(players: int, permutations: int, largest: float, *, delta: float = 0.05) -> float:
    """Return the radius R√(2 ln(2n/δ)/m) that all n estimates from m random orders keep to with probability 1 − δ.

    largest: R, a bound on |U(S∪i) − U(S)|. Hoeffding's inequality for a width of 2R, and the union over players. Tight
    in its exponent where marginal gains are ±R. Reference: arora Sec. 10.2.1.
    """
    return float(hoeffding_radius(permutations, delta, width=2 * largest, log_means=log(players)))


def permutations_needed(players: int, largest: float, accuracy: float, *, delta: float = 0.05) -> int:
    """Return the number of random orders, 2R²n ln(2n/δ)/ε², after which ‖ŝ − s‖₂ ≤ ε with probability 1 − δ.

    Each value is then within ε/√n. Every order takes n evaluations of the utility. R = `largest` bounds every gain
    |U(S∪i) − U(S)|, ε is the `accuracy`. Reference: arora Sec. 10.2.1.
    """
    return ceil(2 * largest**2 * players * log(2 * players / delta) / accuracy**2)


def permutation_estimate(
    key: Key[Array, ""],
    utility: Utility,
    players: int,
    *,
    permutations: Annotated[int, "[1, 1e8]"],
    largest: float,
    delta: float = 0.05,
    batch: int = 2**16,
) -> Estimate:
    """Estimate Shapley values by the mean gain U(π_{≤i}) − U(π_{<i}) over random orders π.

    Args:
        utility: (masks, subsets × players) → their utilities.
        largest: a bound R on |U(S∪i) − U(S)|; only the stated radius depends on it.
        batch: about how many masks one call of the utility gets.

    U(∅) and U([n]) are evaluated once, each order takes n − 1 evaluations more. The values add up to U([n]) − U(∅)
    exactly. Reference: arora Sec. 10.2.1; Castro, Gómez and Tejada 2009.
    """
    affordable(masks=(min(permutations * players, batch + players), players))
    draw = generator(key)
    ends = _evaluated(utility, np.array([np.zeros(players, bool), np.ones(players, bool)]))
    at_once = max(batch // max(players - 1, 1), 1)
    total, squares = np.zeros(players), np.zeros(players)
    for start in range(0, permutations, at_once):
        count = min(at_once, permutations - start)
        places = draw.permuted(np.tile(np.arange(players), (count, 1)), axis=1)  # when each player comes
        masks = places[:, None, :] <= np.arange(players - 1)[:, None]
        inner = _evaluated(utility, masks.reshape(-1, players)).reshape(count, players - 1)
        path = np.concatenate([np.full((count, 1), ends[0]), inner, np.full((count, 1), ends[1])], 1)
        gains = np.take_along_axis(np.diff(path, axis=1), places, axis=1)
        total += gains.sum(0)
        squares += (gains**2).sum(0)
    mean = total / permutations
    errors = np.sqrt(np.maximum(squares / permutations - mean**2, 0) / max(permutations - 1, 1))
    radius = permutation_radius(players, permutations, largest, delta=delta)
    return Estimate(mean, radius, errors, permutations * (players - 1) + 2)


def group_testing_constant(players: int) -> float:
    """Z = 2Σ_{k<n} 1/k, about 2 ln n: the normalizer of the law of set sizes in group testing."""
    return float(2 * np.sum(1 / np.arange(1, players)))


def set_sizes(players: int) -> Float[np.ndarray, " players"]:
    """The law q(k) = (1/k + 1/(n − k))/Z of the size of a random set, k = 1 … n − 1; entry 0 is 0.

    Reference: Jia et al. 2019.
    """
    k = np.arange(1, players)
    return np.append(0.0, (1 / k + 1 / (players - k)) / group_testing_constant(players))


def group_testing_values(table: Float[AnyArray, " subsets"]) -> Float[np.ndarray, " players"]:
    """Return the mean of the group-testing estimator over all sets, which is the vector of Shapley values.

    Z·E[U(T)(1{i∈T} − |T|/n)] + (U([n]) − U(∅))/n by enumeration: the identity behind `group_testing_estimate`.
    Reference: arora Problem 10.2.7.
    """
    table = np.asarray(table, float)
    players = players_of(table)
    if players == 1:
        return np.array([table[1] - table[0]])
    masks = coalitions(players)[1:-1]
    size = masks.sum(1)
    chance = set_sizes(players)[size] / np.bincount(size, minlength=players)[size]
    tests = masks - size[:, None] / players
    return group_testing_constant(players) * (chance * table[1:-1]) @ tests + (table[-1] - table[0]) / players


def group_testing_radius(players: int, samples: int, low: float, high: float, *, delta: float = 0.05) -> float:
    """Return the radius of n group-testing estimates from m sets, by Bernstein's inequality, with probability 1 − δ.

    With B = (high − low)/2 a bound on the centred utility, one term is at most BZ in size and has variance at most
    B²Z(n − 1)/n, because P(|T| = k)·k(n − k)/n² adds up to (n − 1)/(nZ). With ℓ = ln(2n/δ) and r = 2BZℓ/3 it is
    (r + √(r² + 2mℓB²Z(n − 1)/n))/m.
    """
    bound, z, level = (high - low) / 2, group_testing_constant(players), log(2 * players / delta)
    variance, reach = bound**2 * z * (players - 1) / players, 2 * bound * z
    third = reach * level / 3
    return (third + (third**2 + 2 * samples * variance * level) ** 0.5) / samples


def group_testing_estimate(
    key: Key[Array, ""],
    utility: Utility,
    players: int,
    *,
    samples: Annotated[int, "[1, 1e8]"],
    low: float,
    high: float,
    delta: float = 0.05,
    batch: int = 2**16,
) -> Estimate:
    """Estimate Shapley values from random sets, each of which is used for every player.

    A set T has size k with chance q(k) ∝ 1/k + 1/(n − k) and is uniform of that size; then
    s_i − s_j = Z·E[U(T)(1{i∈T} − 1{j∈T})], and since values add up to U([n]) − U(∅) their differences give them all:
    no value need be estimated first.

    Args:
        samples: number of sets m; two evaluations more give the sum of the values.
        low, high: the least and the largest utility, over sets that are neither empty nor full; what is sampled is
            U − (low + high)/2.

    To reach ‖ŝ − s‖₂ ≤ ε takes about (high − low)²n ln²n/ε² evaluations, where random orders take R²n² ln n/ε²:
    better where single players change much of the utility, worse where many change it a little each.

    Reference: arora Problem 10.2.7; Jia et al. 2019.
    """
    if high < low:
        raise ValueError(f"high must be at least low = {low}, got {high}")
    affordable(masks=(min(samples, batch), players))
    draw, z = generator(key), group_testing_constant(players)
    ends = _evaluated(utility, np.array([np.zeros(players, bool), np.ones(players, bool)]))
    total, squares = np.zeros(players), np.zeros(players)
    for start in range(0, samples, batch):
        count = min(batch, samples - start)
        sizes = draw.choice(players, count, p=set_sizes(players))
        masks = draw.permuted(np.tile(np.arange(players), (count, 1)), axis=1) < sizes[:, None]
        centred = _evaluated(utility, masks) - (low + high) / 2
        terms = z * centred[:, None] * (masks - sizes[:, None] / players)
        total += terms.sum(0)
        squares += (terms**2).sum(0)
    mean = total / samples
    errors = np.sqrt(np.maximum(squares / samples - mean**2, 0) / max(samples - 1, 1))
    radius = group_testing_radius(players, samples, low, high, delta=delta)
    return Estimate(mean + (ends[1] - ends[0]) / players, radius, errors, samples + 2)


def _evaluated(utility: Utility, masks: Bool[np.ndarray, "subsets players"]) -> Float[np.ndarray, " subsets"]:
    if not len(masks):
        return np.zeros(0)
    values = np.asarray(utility(masks), float)
    if values.shape != (len(masks),):
        raise ValueError(f"utility must return one number for each of {len(masks)} masks, got shape {values.shape}")
    return values


doors(
    __name__,
    players="[2, 1e6]",
    permutations="[1, 1e9]",
    samples="[1, 1e9]",
    largest="(0, ∞)",
    accuracy="(0, ∞)",
    delta="(0, 1)",
    batch="[1, 1e7]",
)
