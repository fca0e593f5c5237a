"""How many different things a generator makes: the birthday paradox, exactly, and the test that rests on it.

`probabilities` is p.

Reference: arora 16.3.1; Arora and Zhang 2017.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import gammaln

from deeptheory.foundations.binomial import clopper_pearson_lower, clopper_pearson_upper
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import affordable, inside, laws

__all__ = [
    "SupportEstimate",
    "birthday_test",
    "closest_pairs",
    "collision_probability",
    "effective_support",
    "near_duplicates",
    "uniform_collision_probability",
]

Sizes = float | Float[np.ndarray, "..."]
LARGEST = 1e30
"""supports beyond this are not told from infinite ones"""


class SupportEstimate(NamedTuple):
    """The size of the uniform law with as many collisions, and an interval that covers it with the confidence asked."""

    size: float
    low: float
    high: float


def uniform_collision_probability(support: Sizes, sample: int) -> Float[np.ndarray, "..."]:
    """1 − ∏_{i<s}(1 − i/N): the chance that s draws from N equally likely values are not all different.

    Near 1 − exp(−s(s−1)/2N); at s = 2√N above 1 − 1/e, for √N about 39 %. The support need not be whole: the formula
    is its continuation. Reference: arora Problem 16.3.5.
    """
    inside(1, LARGEST, support=support)
    size = np.asarray(support, float)
    if sample < 2000:
        steps = np.minimum(np.arange(sample) / size[..., None], 1.0)
        with np.errstate(divide="ignore"):
            return np.asarray(-np.expm1(np.log1p(-steps).sum(-1)))
    # For long samples the product is N!/(N−s)!N^s; where that cancels, its series in s/N has more digits.
    enough = np.maximum(size, sample)
    exact = gammaln(enough + 1) - gammaln(enough - sample + 1) - sample * np.log(enough)
    series = -sample * (sample - 1) / (2 * enough) - (sample - 1) * sample * (2 * sample - 1) / (12 * enough**2)
    chance = -np.expm1(np.where(enough > 1e4 * sample, series, np.minimum(exact, 0.0)))
    return np.asarray(np.where(size < sample, 1.0, chance))


def collision_probability(probabilities: Float[np.ndarray, " n"], sample: int) -> float:
    """The chance that s draws from a law on a finite set are not all different: 1 − s!·e_s(p), summed exactly.

    e_s is the elementary symmetric polynomial. The uniform law has the fewest collisions of all laws on n values.
    Reference: Munford 1977, A note on the uniformity assumption in the birthday problem.
    """
    laws(probabilities=probabilities)
    if sample > len(probabilities):
        return 1.0
    affordable(steps=(len(probabilities), max(sample, 1)))
    different = np.zeros(sample + 1)  # of k draws all different, values so far: k!·e_k
    different[0] = 1.0
    for p in probabilities:
        different[1:] += np.arange(1, sample + 1) * p * different[:-1]
    return float(max(1 - different[sample], 0.0))


def effective_support(probabilities: Float[np.ndarray, " n"]) -> float:
    """1/∑p²: the size of the uniform law in which two draws coincide as often; never above the true support."""
    laws(probabilities=probabilities)
    return float(1 / np.sum(probabilities**2))


def closest_pairs(
    points: Float[np.ndarray, "s d"], pairs: int = 20
) -> tuple[Int[np.ndarray, "pairs 2"], Float[np.ndarray, " pairs"]]:
    """The pairs of points at least distance, closest first, and their distances; all pairs where there are fewer.

    The second step of the birthday test: what is flagged here is looked at by a human, or by `near_duplicates`.
    """
    affordable(differences=(len(points), len(points), points.shape[1]))
    first, second = np.triu_indices(len(points), 1)
    distances = np.linalg.norm(points[first] - points[second], axis=1)
    order = np.argsort(distances, kind="stable")[:pairs]
    return np.stack([first[order], second[order]], axis=1), distances[order]


def near_duplicates(drawn: Float[np.ndarray, "batches s d"], tolerance: float) -> Bool[np.ndarray, " batches"]:
    """Which samples contain two points no farther apart than the tolerance."""
    found = np.zeros(len(drawn), bool)
    for i in range(drawn.shape[1] - 1):
        gaps = np.linalg.norm(drawn[:, i + 1 :] - drawn[:, i : i + 1], axis=-1)
        found |= np.any(gaps <= tolerance, axis=1)
    return found


def birthday_test(collisions: int, batches: int, sample: int, *, delta: float = 0.05) -> SupportEstimate:
    """The support size told by how many of several samples contain a duplicate, with an interval of level 1 − δ.

    The share of samples with a collision is inverted exactly through `uniform_collision_probability`, its interval is
    Clopper and Pearson's. For a law that is not uniform the answer is near `effective_support`, a lower bound of the
    support. No collision in any sample gives an infinite estimate, all of them give the size of a sample at least.
    Reference: Arora and Zhang 2017; arora 16.3.1.
    """
    inside(0, batches, collisions=collisions)
    low = clopper_pearson_lower(collisions, batches, delta / 2)
    high = clopper_pearson_upper(collisions, batches, delta / 2)
    size, least, most = _sizes(np.array([collisions / batches, high, low], float), sample)
    return SupportEstimate(float(size), float(least), float(most))


def _sizes(shares: Float[np.ndarray, " k"], sample: int) -> Float[np.ndarray, " k"]:
    """The real N at which s draws collide with these probabilities, by bisection of its logarithm."""
    low, high = np.zeros(len(shares)), np.full(len(shares), np.log(LARGEST))
    for _ in range(64):
        middle = (low + high) / 2
        above = uniform_collision_probability(np.exp(middle), sample) > shares
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return np.where(shares > 0, np.exp((low + high) / 2), np.inf)


doors(
    __name__, sample="[2, 1e7]", pairs="[1, 1e7]", tolerance="[0, ∞)", batches="[1, 1e9]", delta="(0, 1)",
    collisions="[0, 1e9]",
)  # fmt: skip
