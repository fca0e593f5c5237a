"""PAC-Bayes with any convex comparison of risk and empirical risk, for 0–1 losses: the moment it costs, exactly.

For a convex Δ(risk, empirical risk) on the unit square, with probability 1 − δ over n examples and for all Q at once,
Δ(E_Q R, E_Q R_S) ≤ (KL(Q‖P) + log J/δ)/n, J = sup_r Σ_k Bin(k; n, r)·exp(n·Δ(r, k/n)) (lucchi Thm 69). The sum is
exact because n·R_S is a binomial variable (lucchi 9.3); everything here is plain double precision, off the device.
"""

from collections.abc import Callable
from typing import Annotated, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp, rel_entr, xlogy

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.concentration import binomial_log_probabilities, log_binomial_coefficient
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import inside, positive

__all__ = [
    "Comparison",
    "catoni_bound",
    "catoni_comparison",
    "comparison_bound",
    "gibbs_gap",
    "gibbs_risk",
    "kl_comparison",
    "kl_log_moment",
    "log_moment",
    "log_moment_at",
    "simplified_pac_bayes_bound",
    "square_comparison",
    "weaker_pac_bayes_bound",
    "worst_excess",
]

Numbers = float | int | np.number | Float[AnyArray, "..."] | Int[AnyArray, "..."]
Values = float | np.floating | Float[np.ndarray, "..."]
Enumerated = Annotated[int, "[1, 1e6]"]
"""samples whose numbers of errors are gone through one by one"""
MOST = 50_000_000
"""moments of numbers of errors that are computed for one search"""
BLOCK = 10_000_000
"""and at a time"""


class Comparison(NamedTuple):
    """A convex Δ(risk, empirical risk) and its two partial derivatives, in that order."""

    value: Callable[[Values, Values], Values]
    slopes: Callable[[Values, Values], tuple[Values, Values]]


def square_comparison(factor: Values = 1.0) -> Comparison:
    """Δ = factor·(risk − empirical)²; factor 2 is what Pinsker leaves of kl, factor ½ gives arora (5.8)."""
    return Comparison(
        lambda risk, empirical: factor * (risk - empirical) ** 2,
        lambda risk, empirical: (2 * factor * (risk - empirical), 2 * factor * (empirical - risk)),
    )


def kl_comparison() -> Comparison:
    """Δ = kl(empirical ‖ risk), the tightest: its moment does not depend on the risk."""

    def slopes(risk, empirical):
        risk, empirical = np.clip(risk, 1e-300, 1 - 1e-16), np.clip(empirical, 1e-300, 1 - 1e-16)
        by_empirical = np.log(empirical / risk) - np.log1p(-empirical) + np.log1p(-risk)
        return (risk - empirical) / (risk * (1 - risk)), by_empirical

    return Comparison(
        lambda risk, empirical: rel_entr(empirical, risk) + rel_entr(1 - empirical, 1 - np.asarray(risk)), slopes
    )


def catoni_comparison(temperature: float) -> Comparison:
    """Δ = −log(1 − risk·(1 − e^−C)) − C·empirical, whose moment is 1 whatever the risk; C is the temperature."""
    share = -np.expm1(-temperature)

    def slopes(risk, empirical):
        return share / (1 - share * risk), np.broadcast_to(-float(temperature), np.shape(empirical))

    return Comparison(lambda risk, empirical: -np.log1p(-share * risk) - temperature * empirical, slopes)


def log_moment_at(comparison: Comparison, samples: Enumerated, risk: Numbers) -> Values:
    """log E exp(n·Δ(risk, R_S)) over the binomial law of the empirical risk."""
    risk = np.asarray(risk, float)[..., None]
    exponents = samples * comparison.value(risk, np.arange(samples + 1) / samples)
    return np.asarray(logsumexp(binomial_log_probabilities(samples, risk[..., 0]) + exponents, axis=-1))[()]


def log_moment(comparison: Comparison, samples: Enumerated, *, points: int = 201) -> float:
    """log J: the largest log-moment over all risks, from a grid and a search around its best point."""
    if points * samples > MOST:
        raise ValueError(f"points must be at most {MOST // samples:,} for {samples:,} samples, got {points:,}")
    grid = np.linspace(0, 1, points)[1:-1]
    parts = np.array_split(grid, 1 + points * samples // BLOCK)
    values = np.concatenate([np.asarray(log_moment_at(comparison, samples, part)) for part in parts if len(part)])
    best = int(np.argmax(values))
    around = (max(grid[best] - 1 / (points - 1), 0.0), min(grid[best] + 1 / (points - 1), 1.0))
    found = minimize_scalar(
        lambda risk: -float(log_moment_at(comparison, samples, risk)), bounds=around, method="bounded"
    )
    return float(max(values[best], -found.fun))  # pyright: ignore[reportAttributeAccessIssue]


def kl_log_moment(samples: Enumerated) -> float:
    """log ξ(n), ξ(n) = Σ_k Bin(k; n, k/n): the moment of kl; between log √n and log 2√n, at most log n from n = 3."""
    k = np.arange(samples + 1)
    choices = log_binomial_coefficient(samples, k)
    return float(np.asarray(logsumexp(choices + xlogy(k, k / samples) + xlogy(samples - k, 1 - k / samples))))


def comparison_bound(comparison: Comparison, empirical: Numbers, budget: Numbers) -> Values:
    """Largest risk with Δ(risk, empirical) ≤ budget, at most 1, by bisection above the empirical risk."""
    inside(0, 1, empirical=empirical)
    inside(0, np.inf, budget=budget)
    empirical, budget = np.broadcast_arrays(np.asarray(empirical, float), np.asarray(budget, float))
    low, high = empirical.copy(), np.ones_like(empirical)
    for _ in range(100):
        middle = (low + high) / 2
        with np.errstate(divide="ignore"):
            allowed = comparison.value(middle, empirical) <= budget
        low, high = np.where(allowed, middle, low), np.where(allowed, high, middle)
    return low


def _check(empirical: Numbers, divergence: Numbers, samples: Numbers, delta: Numbers, *, least: int = 1) -> None:
    inside(0, 1, empirical=empirical)
    inside(0, np.inf, divergence=divergence)
    inside(least, np.inf, samples=samples)
    inside(0, 1, "(]", delta=delta)


def catoni_bound(
    empirical: Numbers, divergence: Numbers, samples: Numbers, delta: Numbers, *, temperature: float
) -> Values:
    """Catoni's risk bound (1 − exp(−C·R_S − (KL + log 1/δ)/n))/(1 − e^−C), for a temperature C fixed beforehand.

    `divergence` is KL.
    """
    positive(temperature=temperature)
    _check(empirical, divergence, samples, delta)
    budget = (np.asarray(divergence, float) + np.log(1 / np.asarray(delta, float))) / samples
    return np.expm1(-temperature * np.asarray(empirical, float) - budget) / np.expm1(-temperature)


def simplified_pac_bayes_bound(empirical: Numbers, divergence: Numbers, samples: Numbers, delta: Numbers) -> Values:
    """Risk bound empirical + √((KL + log n/δ)/2n) of handbook 11.1.2, true for losses in [0, 1] and n ≥ 3.

    `divergence` is KL.
    """
    _check(empirical, divergence, samples, delta, least=3)
    budget = (np.asarray(divergence, float) + np.log(samples / np.asarray(delta, float))) / samples
    return np.asarray(empirical, float) + np.sqrt(budget / 2)


def weaker_pac_bayes_bound(empirical: Numbers, divergence: Numbers, samples: Numbers, delta: Numbers) -> Values:
    """Risk bound empirical + √(2(KL + log 2/δ)/m) of arora (5.8).

    True for losses in [0, 1]: it pays 2 for the moment of ½(risk − empirical)², which never exceeds 2/√3. `divergence`
    is KL.
    """
    _check(empirical, divergence, samples, delta)
    budget = (np.asarray(divergence, float) + np.log(2 / np.asarray(delta, float))) / samples
    return np.asarray(empirical, float) + np.sqrt(2 * budget)


def gibbs_risk(posterior: Float[np.ndarray, "... h"], risks: Float[np.ndarray, "... h"]) -> Values:
    """E_Q R: the risk of the classifier that draws a fresh hypothesis for every answer (lucchi §9.1)."""
    return np.sum(posterior * risks, axis=-1)


def gibbs_gap(
    posterior: Float[np.ndarray, "... h"], risks: Float[np.ndarray, "... h"], empirical: Float[np.ndarray, "... h"]
) -> Values:
    """E_Q max(0, R − R_S), at least E_Q R − E_Q R_S and zero only if no hypothesis drawn is worse than it looks."""
    return gibbs_risk(posterior, np.maximum(0, np.asarray(risks) - empirical))


def worst_excess(
    comparison: Comparison,
    prior: Float[np.ndarray, " h"],
    risks: Float[np.ndarray, " h"],
    empirical: Float[np.ndarray, "t h"],
    samples: float | int,
    *,
    rounds: int = 30,
) -> Float[np.ndarray, " t"]:
    """sup over all Q of n·Δ(E_Q R, E_Q R_S) − KL(Q‖P), for each sample: the statement fails where it exceeds log J/δ.

    Δ lies above its tangents, and for a tangent the best Q is a Gibbs posterior; repeating that climbs. Climbed from P
    and from the hypotheses that look better, and worse, than they are by most, the best is kept: there is a summit on
    either side. What is returned is attained by some Q. `rounds` are the repetitions.
    """
    log_prior = np.log(prior)
    points = samples * comparison.value(risks, empirical) + log_prior
    best = np.max(points, axis=1)
    gaps, corners = risks - empirical, np.eye(len(prior))
    starts = np.broadcast_to(prior, empirical.shape), corners[np.argmax(gaps, axis=1)], corners[np.argmin(gaps, axis=1)]
    for posterior in starts:
        for _ in range(rounds):
            risk, seen = gibbs_risk(posterior, risks), gibbs_risk(posterior, empirical)
            by_risk, by_empirical = np.asarray(comparison.slopes(risk, seen))[..., None]
            weights = log_prior + samples * (by_risk * risks + by_empirical * empirical)
            weights = weights - np.asarray(logsumexp(weights, axis=1, keepdims=True))
            posterior = np.exp(weights)
            divergence = np.sum(posterior * (weights - log_prior), axis=1)
            risk, seen = gibbs_risk(posterior, risks), gibbs_risk(posterior, empirical)
            best = np.maximum(best, samples * comparison.value(risk, seen) - divergence)
    return best


doors(__name__, samples="[1, ∞)", rounds="[1, 1e4]", points="[3, 1e5]")
