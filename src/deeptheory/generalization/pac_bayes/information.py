"""Information between a sample and what is learnt from it, and the generalization gap it allows; finite and exact.

A learning rule is a channel: for each sample a law on hypotheses. Samples are n-tuples of outcomes of a finite law and
are enumerated, so that information, gap and stability are sums without chance. Information is in nats throughout.

Reference: handbook Sec. 11.2; Russo and Zou 2016; Xu and Raginsky 2017.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.stats import binom

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.entropies import finite_kl
from deeptheory.foundations.guards import affordable, inside

__all__ = [
    "FiniteSamples",
    "coordinate_information",
    "enumerate_samples",
    "expected_gap",
    "gaussian_mean_information",
    "information_bound",
    "mutual_information",
    "on_average_stability",
    "sample_information",
    "zero_loss_witness",
]


class FiniteSamples(NamedTuple):
    """All samples of n outcomes: their entries, and their probabilities."""

    outcomes: Int[np.ndarray, "s n"]
    law: Float[np.ndarray, " s"]


def enumerate_samples(outcome_law: Float[AnyArray, " z"], samples: int) -> FiniteSamples:
    """Every sample of n independent outcomes with its probability."""
    outcome_law = np.asarray(outcome_law, float)
    if not (np.all(outcome_law >= 0) and np.isclose(outcome_law.sum(), 1, rtol=0, atol=1e-9)):
        raise ValueError(f"outcome_law must be probabilities that sum to 1, got {outcome_law}")
    inside(1, 30, samples=samples)
    affordable(outcomes=(len(outcome_law),) * samples)
    outcomes = np.stack(np.meshgrid(*[np.arange(len(outcome_law))] * samples, indexing="ij"), -1).reshape(-1, samples)
    return FiniteSamples(outcomes, np.prod(outcome_law[outcomes], axis=1))


def mutual_information(joint: Float[AnyArray, "s h"]) -> float:
    """I = KL(joint ‖ product of its marginals) in nats, for a joint law on a finite product (handbook 11.2.1)."""
    joint = np.asarray(joint, float)
    alone = joint.sum(1, keepdims=True) * joint.sum(0, keepdims=True)
    total = finite_kl(joint.ravel(), alone.ravel())
    return max(float(total), 0.0)  # of independent variables only rounding is left, with either sign


def sample_information(samples: FiniteSamples, channel: Float[AnyArray, "s h"]) -> float:
    """I(A(S); S) of a learning rule; at most the entropy of A(S), so at most log of the number of hypotheses.

    `channel` has a row a sample: the law of A(S) given S. Reference: Xu and Raginsky 2017.
    """
    return mutual_information(samples.law[:, None] * channel)


def coordinate_information(samples: FiniteSamples, channel: Float[AnyArray, "s h"]) -> Float[np.ndarray, " n"]:
    """I(A(S); Zᵢ) for every place i of the sample; for independent outcomes they sum to at most I(A(S); S).

    Reference: Bu, Zou and Veeravalli 2020.
    """
    joint = samples.law[:, None] * channel
    found = []
    for column in samples.outcomes.T:
        part = np.zeros((int(samples.outcomes.max()) + 1, joint.shape[1]))
        np.add.at(part, column, joint)
        found.append(mutual_information(part))
    return np.array(found)


def expected_gap(
    samples: FiniteSamples,
    channel: Float[AnyArray, "s h"],
    losses: Float[AnyArray, "h z"],
    outcome_law: Float[AnyArray, " z"],
) -> float:
    """E[R(A(S)) − R_S(A(S))] over samples and the rule's own randomness.

    `losses` has a row a hypothesis and a column an outcome; `channel` as in `sample_information`.
    """
    risks = np.asarray(losses) @ np.asarray(outcome_law)
    empirical = np.asarray(losses)[:, samples.outcomes].mean(-1).T
    return float(np.sum(samples.law[:, None] * channel * (risks - empirical)))


def on_average_stability(
    samples: FiniteSamples,
    channel: Float[AnyArray, "s h"],
    losses: Float[AnyArray, "h z"],
    outcome_law: Float[AnyArray, " z"],
) -> float:
    """Mean over i of E[ℓ(A(S⁽ⁱ⁾), Zᵢ) − ℓ(A(S), Zᵢ)], S⁽ⁱ⁾ being S with Zᵢ replaced by a fresh outcome.

    Equal to the expected gap, because (S⁽ⁱ⁾, Zᵢ) is a sample with a fresh point. Reference: handbook 10.1.2, 11.2.2.
    """
    channel, losses = np.asarray(channel), np.asarray(losses)
    size, places = len(outcome_law), samples.outcomes.shape[1]
    strides = size ** np.arange(places - 1, -1, -1)
    index = samples.outcomes @ strides  # where a sample stands in the enumeration
    total = 0.0
    for place, stride in enumerate(strides):
        own = losses[:, samples.outcomes[:, place]].T
        for fresh, chance in enumerate(np.asarray(outcome_law, float)):
            replaced = channel[index + (fresh - samples.outcomes[:, place]) * stride]
            total += chance * float(np.sum(samples.law[:, None] * (replaced - channel) * own))
    return total / places


def information_bound(
    information: float | Float[AnyArray, "..."], samples: int, *, proxy: float | Float[AnyArray, "..."] = 0.25
) -> np.floating | Float[np.ndarray, "..."]:
    """√(2σ²I/n): bound on |E[R − R_S]| for losses that are sub-Gaussian with variance proxy σ² under the data law.

    Losses in [0, 1] have proxy ¼, and √(I/2n). The variance in its place is not enough (handbook 11.2.2 prints it).
    Reference: Russo and Zou; Xu and Raginsky.
    """
    inside(0, np.inf, information=information, proxy=proxy)
    inside(1, np.inf, samples=samples)
    return np.sqrt(2 * np.asarray(proxy, float) * np.asarray(information, float) / samples)


def gaussian_mean_information(samples: int, *, spread: float, noise: float) -> float:
    """I = ½·log(1 + spread²/(n·noise²)) for A(S) = mean of n values N(μ, spread²) plus noise N(0, noise²).

    Without noise the output is a continuous function of the sample and the information is infinite.
    """
    inside(0, np.inf, spread=spread, noise=noise)
    inside(1, np.inf, samples=samples)
    if noise == 0:
        return float("inf")
    # By logarithms: the square of the quotient overflows where its logarithm is a few hundred.
    return float(0.5 * np.logaddexp(0.0, 2 * (np.log(spread) - np.log(noise)) - np.log(samples)))


def zero_loss_witness(probability: float, hypotheses: int) -> tuple[float, float]:
    """Gap and information of a rule that picks uniformly among hypotheses without loss on its one example.

    K hypotheses have independent losses, 0 with probability p, else 1; where none is 0 any one is picked. Then
    E[R − R_S] = (1 − p) − (1 − p)^K and I = log K − E log N, N the number of zeros, with N = K where there is none.
    """
    counts = np.arange(1, hypotheses + 1)
    chances = binom.pmf(counts, hypotheses, probability)
    information = np.sum(chances * (np.log(hypotheses) - np.log(counts)))
    # (1 − p)(1 − (1 − p)^(K−1)), of which nothing is lost for small p.
    none = np.expm1((hypotheses - 1) * np.log1p(-probability)) if probability < 1 else -1.0
    return float(-(1 - probability) * none), float(information)


doors(
    __name__,
    spread="(0, ∞)",
    noise="[0, ∞)",
    information="[0, ∞)",
    proxy="[0, ∞)",
    probability="[0, 1]",
    hypotheses="[1, 1e6]",
)
