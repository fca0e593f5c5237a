"""Finitely many hypotheses: the union bound, what it costs, and the exact law of the largest deviation beside it.

Losses lie in an interval of length `width`; `sides` is 1 for R − R_S alone and 2 for its absolute value.

Reference: lucchi Secs. 8.1 and 8.2; arora Thm 5.2.1.
"""

import numpy as np
from jaxtyping import Array, Float, Key, Num

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.concentration import hoeffding_radius, log_binomial_deviation, log_binomial_tail
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import affordable, inside
from deeptheory.foundations.randomness import generator

__all__ = [
    "empirical_risk",
    "finite_class_deviation",
    "independent_log_tail",
    "independent_sup_deviation",
    "log_union_tail",
    "misclassification_risk",
    "union_deviation",
]

Numbers = float | int | Num[AnyArray, "..."] | np.number


def misclassification_risk(weights: Float[np.ndarray, " atoms"], predictions, labels) -> float:
    """Risk of a classifier under a law with finitely many atoms: the weight of the atoms where it is wrong.

    R(f) = E 1{f(x) ≠ y}. Reference: lucchi Ch. 8, whose introduction prints the indicator of f(x) = y.
    """
    return float(np.sum(np.where(np.asarray(predictions) != np.asarray(labels), weights, 0.0)))


def empirical_risk(losses: Float[np.ndarray, "... n"]) -> Float[np.ndarray, "..."]:
    """Mean loss over the sample, the last axis. Reference: arora eq. 5.1, handbook 7.1, lucchi Ch. 8."""
    return np.mean(losses, axis=-1)


def log_union_tail(deviation: Numbers, samples: Numbers, hypotheses: Numbers, *, sides: int = 1) -> Numbers:
    """Logarithm of the union bound N·sides·exp(−2nε²) on the chance that some hypothesis deviates by ε or more.

    Losses in [0, 1], n independent samples, N hypotheses fixed beforehand. Reference: lucchi eqs. 8.8–8.12.
    """
    inside(0, np.inf, deviation=deviation)
    inside(1, np.inf, samples=samples, hypotheses=hypotheses)
    return np.log(sides * np.asarray(hypotheses, float)) - 2 * np.asarray(samples) * np.asarray(deviation) ** 2


def union_deviation(
    samples: Numbers, hypotheses: Numbers, delta: Numbers, *, sides: int = 2, width: float = 1.0
) -> Numbers:
    """With probability 1 − δ no hypothesis deviates by more than width·√((log N + log(sides/δ))/(2n)).

    Reference: lucchi eqs. 8.2–8.3, handbook 7.2; the excess risk of the empirical minimiser is at most twice this.
    """
    inside(1, np.inf, samples=samples, hypotheses=hypotheses)
    log_means = np.log(np.asarray(hypotheses, float))
    return hoeffding_radius(samples, delta, width=width, sides=sides, log_means=log_means)


def finite_class_deviation(samples: Numbers, hypotheses: Numbers, delta: Numbers) -> Numbers:
    """With probability 1 − δ every hypothesis has R − R_S ≤ 2√((log N + log 1/δ)/m), for losses in [0, 1].

    Reference: arora Thm 5.2.1; √8 times `union_deviation` with one side.
    """
    inside(1, np.inf, samples=samples, hypotheses=hypotheses)
    inside(0, 1, "(]", delta=delta)
    return 2 * np.sqrt(np.log(np.asarray(hypotheses, float) / delta) / np.asarray(samples))


def independent_log_tail(
    deviation: Numbers, samples: Numbers, hypotheses: Numbers, risk: Numbers, *, sides: int = 1
) -> Numbers:
    """Exact log P(max R − R_S ≥ ε) over N hypotheses of one risk whose errors are independent of each other.

    1 − (1 − q)^N with q the binomial tail of one of them; nothing correlated more loses more to the union bound. `risk`
    is R, N the number of `hypotheses`, ε the `deviation`.
    """
    n, p = np.asarray(samples), np.asarray(risk, float)
    if sides == 1:
        one = log_binomial_tail(n, 1 - p, n * (1 - p + deviation))
    else:
        one = log_binomial_deviation(n, p, n * np.asarray(deviation, float))
    with np.errstate(divide="ignore"):
        none = np.asarray(hypotheses) * np.log1p(-np.exp(np.minimum(one, 0.0)))
        # Where one hypothesis's tail is below rounding, N of them have N times that tail.
        return np.where(none > -1e-12, np.log(hypotheses) + one, np.log(-np.expm1(none)))


def independent_sup_deviation(
    key: Key[Array, ""], samples: int, hypotheses: int, risk: float, trials: int
) -> Float[np.ndarray, " trials"]:
    """Draw max (R − R_S) over N hypotheses with independent errors, sample by sample rather than from its law.

    `risk` is the R of all of them, N the number of `hypotheses`.
    """
    affordable(errors=(hypotheses, samples))
    rng, worst = generator(key), np.empty(trials)
    for t in range(trials):
        errors = np.where(rng.random((hypotheses, samples)) < risk, 1.0, 0.0)
        worst[t] = np.max(risk - empirical_risk(errors))
    return worst


doors(__name__, sides="[1, 2]", trials="[1, 1e5]", hypotheses="[1, ∞)", deviation="[0, ∞)")
