"""A learner with an exact scaling law: facts with chances like a power of their rank, known once they are seen.

Fact k is asked for with chance p_k ∝ k^−(1+α). A learner with room for the N most frequent facts that has read a
Poisson number of examples, D on average, answers what it has room for and has seen. The share it misses is a sum of two
power laws, N^−α and D^−α/(1+α). References: Hutter (2021), Learning curve theory; Michaud et al. (2023), The
quantization model of neural scaling; handbook Sec. 13.2.

`alpha` is α, `chances` are the p_k, `capacity` is N, `samples` D.
"""

from typing import Annotated

import numpy as np
from jaxtyping import Array, Float, Int, Key
from scipy.special import gamma, zeta

from deeptheory.foundations.arrays import HostReals
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import ROUNDING, affordable
from deeptheory.foundations.randomness import generator
from deeptheory.scaling.power_laws import ScalingLaw

__all__ = ["fact_chances", "memorization_law", "memorization_loss", "memorization_variance", "memorize"]

Chances = Annotated[Float[np.ndarray, " facts"], "[0, 1]"]
Counts = int | Int[np.ndarray, "..."]
STIELTJES = np.array(
    [0.5772156649015329, -0.07281584548367672, -0.00484518159643616, 3.42305736717224e-4, 9.68904193944710e-5]
)
"""γₙ/n! with Stieltjes' constants: ζ(1 + α) = 1/α + Σ γₙ(−α)ⁿ/n!"""


def fact_chances(alpha: float, facts: int) -> Float[np.ndarray, " facts"]:
    """Chances k^−(1+α)/ζ(1+α) of the first so many facts; what they lack to 1 belongs to rarer ones."""
    return np.arange(1.0, facts + 1) ** -(1 + alpha) / _zeta_beyond_one(alpha)


def _zeta_beyond_one(alpha: float) -> float:
    """ζ(1 + α), near its pole by its Laurent series with Stieltjes' constants: 1 + α has lost the digits of α."""
    if alpha > 0.02:
        return float(zeta(1 + alpha))
    return 1 / alpha + float(np.polynomial.polynomial.polyval(-alpha, STIELTJES))


def _held(chances: Chances, capacity: Counts, samples: HostReals) -> tuple[np.ndarray, np.ndarray]:
    """Which facts there is room for, and how many examples of each are expected."""
    _shared(chances)
    capacity, samples = np.broadcast_arrays(np.asarray(capacity), np.asarray(samples, float))
    affordable(facts=(*capacity.shape, len(chances)))
    return np.arange(len(chances)) < capacity[..., None], samples[..., None] * chances


def _shared(chances: Chances) -> None:
    if np.sum(chances) > 1 + ROUNDING:
        raise ValueError(f"chances must add up to at most one, got a sum of {np.sum(chances):.6g}")


def memorization_loss(chances: Chances, capacity: Counts, samples: HostReals) -> HostReals:
    """Expected share of questions missed: Σ_{k≤N} p_k e^(−D p_k) + Σ_{k>N} p_k, with N = `capacity` and D = `samples`.

    Facts beyond those given count as missed. Sizes broadcast.
    """
    held, seen = _held(chances, capacity, samples)
    return (1 - (held * chances * -np.expm1(-seen)).sum(-1))[()]


def memorization_variance(chances: Chances, capacity: Counts, samples: HostReals) -> HostReals:
    """Variance of the share missed over draws of the examples: Σ_{k≤N} p_k² q_k(1 − q_k), q_k = e^(−D p_k)."""
    held, seen = _held(chances, capacity, samples)
    return (held * chances**2 * np.exp(-seen) * -np.expm1(-seen)).sum(-1)[()]


def memorize(
    key: Key[Array, ""], chances: Chances, capacity: int, samples: float, *, runs: int = 1, learners: int = 1
) -> Float[np.ndarray, " runs"]:
    """Let learners read their examples: the share of questions missed in each run, averaged over its `learners`.

    Facts are seen independently of each other, since the number of examples is Poisson's; how many of a run's learners
    have seen a fact is binomial.
    """
    affordable(facts=(runs, len(chances)))
    _shared(chances)
    held = chances[:capacity]
    knowing = generator(key).binomial(learners, -np.expm1(-samples * held), (runs, len(held)))
    return 1 - knowing @ held / learners


def memorization_law(alpha: float) -> ScalingLaw:
    """The two power laws that the share missed tends to for large N and D, over infinitely many facts.

    N^−α/(α ζ) + Γ(α/(1+α)) ζ^(−1/(1+α))/(1+α) · D^−α/(1+α) with ζ = ζ(1+α): sums replaced by integrals. They add up
    where D is small beside N^(1+α) or N^(1+α) beside D, and where both limit the loss it is less than their sum.
    """
    power, total = 1 + alpha, _zeta_beyond_one(alpha)
    data = float(gamma(alpha / power)) * total ** (-1 / power) / power
    return ScalingLaw(np.array(0.0), np.array([1 / (alpha * total), data]), np.array([alpha, alpha / power]))


doors(
    __name__,
    alpha="(0, 50]",
    facts="[1, 1e8]",
    capacity="[0, ∞)",
    samples="[0, 1e15]",
    runs="[1, 1e7]",
    learners="[1, 1e9]",
)
