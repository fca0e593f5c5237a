"""Games whose Shapley values need no enumeration of subsets, and the vote that makes them hard in general.

Reference: arora Sec. 10.2.1; Shapley and Shubik 1954 for votes; Garey and Johnson 1979 for PARTITION.
"""

from math import comb

import numpy as np
from jaxtyping import Bool, Float, Int

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import affordable, inside

__all__ = ["airport_shapley", "can_be_halved", "partition_vote", "voting_shapley", "voting_utility"]

Weights = Int[AnyArray, " players"]


def airport_shapley(costs: Float[AnyArray, " players"]) -> Float[np.ndarray, " players"]:
    """Return the Shapley values of U(S) = max_{i∈S} cost_i: each piece of runway is paid equally by those who need it.

    n log n operations. Costs are not negative. Reference: Littlechild and Owen 1973.
    """
    costs = np.asarray(costs, float)
    inside(0, np.inf, "[)", costs=costs)
    order = np.argsort(costs, kind="stable")
    pieces = np.diff(costs[order], prepend=0.0) / np.arange(len(costs), 0, -1)
    values = np.empty_like(costs)
    values[order] = np.cumsum(pieces)
    return values


def voting_utility(
    weights: Weights, quota: int, masks: Bool[AnyArray, "subsets players"]
) -> Float[np.ndarray, " subsets"]:
    """The weighted vote: U(S) = 1 where the weights of S reach the quota, else 0.

    A row of `masks` is a coalition S.

    Reference: Shapley and Shubik 1954.
    """
    return (np.asarray(masks) @ np.asarray(weights) >= quota).astype(float)


def voting_shapley(weights: Weights, quota: int) -> Float[np.ndarray, " players"]:
    """Return the Shapley values of a weighted vote, by counting coalitions by size and weight.

    s_i is the chance that i is pivotal in a random order. The count is a table of n sizes × quota weights, filled once
    and with one player taken out at a time, in integers: n²·quota operations, polynomial in the weights but not in
    their digits. Reference: Mann and Shapley 1962.
    """
    votes = [int(weight) for weight in np.asarray(weights)]
    players = len(votes)
    inside(0, np.inf, "[)", weights=np.array(votes))
    inside(1, np.inf, "[)", quota=quota)
    affordable(counts=(players, players, quota))
    values = np.zeros(players)
    for i, own in enumerate(votes):
        counts = np.zeros((players, quota), object)  # [size, weight] of coalitions of the others that miss the quota
        counts[0, 0] = 1
        for weight in votes[:i] + votes[i + 1 :]:
            if weight < quota:
                counts[1:, weight:] += counts[:-1, : quota - weight].copy()
        pivotal = counts[:, max(quota - own, 0) :].sum(1)
        values[i] = float(sum(int(ways) / comb(players - 1, size) for size, ways in enumerate(pivotal)) / players)
    return values


def partition_vote(numbers: Weights) -> tuple[Int[np.ndarray, " voters"], int]:
    """Return weights and quota of a vote whose last voter has a positive Shapley value exactly if PARTITION says yes.

    The numbers vote, and one more voter of weight 1; the quota is half of their sum and 1. The last voter is pivotal
    for the sets of numbers that add up to one half of the sum and for no others, so whoever computes Shapley values of
    votes with long numbers decides whether numbers can be halved, an NP-complete question. With an odd sum the answer
    is no, and the quota is rounded so that the last voter never decides.

    Reference: arora Sec. 10.2.1; Deng and Papadimitriou 1994.
    """
    numbers = np.asarray(numbers)
    inside(1, np.inf, "[)", numbers=numbers)
    total = int(numbers.sum())
    # Twice the numbers keep every sum even, so that an odd half is reached by none of them.
    return np.append(2 * numbers, 1), total + 1


def can_be_halved(numbers: Weights) -> bool:
    """Whether some of the numbers add up to half of their sum, by the sums that can be reached, as bits of an integer.

    Time and memory grow with the sum, not with its number of digits. Reference: Garey and Johnson 1979, Sec. 4.2.
    """
    values = [int(number) for number in np.asarray(numbers)]
    inside(1, np.inf, "[)", numbers=np.array(values))
    total, reached = sum(values), 1
    affordable(sums=(total,))
    for value in values:
        reached |= reached << value
    return total % 2 == 0 and bool(reached >> (total // 2) & 1)


doors(__name__)
