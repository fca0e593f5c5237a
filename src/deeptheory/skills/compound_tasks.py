"""Compound tasks: success that needs k sub-tasks at once, where it rises, and what the metric makes of it.

If every sub-task succeeds with chance p, independently, all k of them do with chance pᵏ. Put behind a scaling law of
the loss of one step, −ln p = (N_c/N)^a, this is a Gumbel curve in ln N: k moves it and does not sharpen it. The same
outputs scored step by step show no threshold. References: handbook Sec. 15.2, arora Sec. 15.3; Schaeffer, Miranda and
Koyejo (2023), Are emergent abilities of large language models a mirage?

`exponent` is a and `critical` N_c of the law of one step.
"""

from typing import Annotated

import numpy as np
from jaxtyping import Float, Int

from deeptheory.foundations.arrays import HostReals
from deeptheory.foundations.entrances import doors

__all__ = [
    "breakthrough_score",
    "compound_success",
    "correlated_success",
    "level_scale",
    "level_step",
    "linearity_score",
    "onset",
    "resolvable_success",
    "scaled_success",
    "steepest_logistic_rise",
    "transition_width",
    "with_guessing",
]

Counts = int | Int[np.ndarray, "..."]


def compound_success(step: Annotated[HostReals, "[0, 1]"], k: Counts) -> HostReals:
    """Chance pᵏ that k independent sub-tasks all succeed, each with chance `step` = p: a power of p, steepest at p = 1.

    Not for sub-tasks that fail together: see `correlated_success`. Reference: handbook Sec. 15.2.2.
    """
    return np.power(np.asarray(step, float), k)[()]


def level_step(level: Annotated[HostReals, "(0, 1)"], k: Counts) -> HostReals:
    """The p at which pᵏ passes a level: level^(1/k). Half height is at 2^(−1/k) ≈ 1 − (ln 2)/k, near 1 for many steps.

    The handbook (Sec. 15.2.3) names 0.5 to 0.7, which is true of one or two sub-tasks only.
    """
    return np.power(np.asarray(level, float), 1 / np.asarray(k, float))[()]


def scaled_success(scale: HostReals, k: Counts, exponent: HostReals, *, critical: HostReals = 1.0) -> HostReals:
    """Chance exp(−k (N_c/N)^a) of k steps at scale N, if one step has the loss −ln p = (N_c/N)^a.

    `exponent` is a and `critical` the scale N_c at which one step has loss 1; k = 1 gives the chance of one step.
    """
    return np.exp(-np.asarray(k, float) * (np.asarray(critical, float) / scale) ** exponent)[()]


def level_scale(
    level: Annotated[HostReals, "(0, 1)"], k: Counts, exponent: HostReals, *, critical: HostReals = 1.0
) -> HostReals:
    """The scale at which `scaled_success` passes a level: N_c (k / ln(1/level))^(1/a), proportional to k^(1/a)."""
    return (critical * (np.asarray(k, float) / -np.log(level)) ** (1 / np.asarray(exponent, float)))[()]


def transition_width(
    exponent: HostReals, *, low: Annotated[float, "(0, 1)"] = 0.1, high: Annotated[float, "(0, 1)"] = 0.9
) -> HostReals:
    """How long `scaled_success` takes between two levels, in nats of ln N: ln(ln(1/low)/ln(1/high))/a for all k.

    From 10 % to 90 % this is 3.084/a nats: 17.6 decades for Kaplan's a = 0.076, so that a rise over one decade is not
    made by multiplying steps alone.
    """
    if low >= high:
        raise ValueError(f"low must be below high = {high}, got {low}")
    return (np.log(np.log(low) / np.log(high)) / np.asarray(exponent, float))[()]


def steepest_logistic_rise(k: Counts, rate: HostReals = 1.0) -> HostReals:
    """Largest slope dP/d ln N of P = pᵏ if p is logistic in ln N with this rate s: s (k/(k+1))^(k+1).

    It grows from s/4 at k = 1 to s/e only: multiplying steps sharpens a logistic by a factor 4/e = 1.47 at most.
    """
    k = np.asarray(k, float)
    return (rate * np.exp((k + 1) * np.log1p(-1 / (k + 1))))[()]


def correlated_success(a: HostReals, b: HostReals, k: Counts) -> HostReals:
    """Chance that k sub-tasks all succeed if they share one random p ~ Beta(a, b): ∏_{j<k} (a+j)/(a+b+j).

    Never below (E p)ᵏ with E p = a/(a+b), which a, b → ∞ reach; for a, b → 0 the sub-tasks succeed together or not at
    all and the chance is E p whatever k. Reference: handbook Sec. 15.2.2 without its independence.
    """
    a, b, k = (np.asarray(each, float) for each in (a, b, k))
    # ln Γ(a+k)Γ(a+b)/Γ(a)Γ(a+b+k) by Stirling's series from a + 20 on, in differences: of large arguments the four
    # logarithms leave no digits.
    with np.errstate(over="ignore"):
        steps = sum(np.log1p(b / (a + j) * (k / (a + j + b + k))) for j in range(20))
    a = a + 20
    far = (a - 0.5) * np.log1p(b / a * (k / (a + b + k))) - b * np.log1p(k / (a + b)) - k * np.log1p(b / (a + k))
    return np.exp(far + _stirling(a + k) - _stirling(a) - _stirling(a + b + k) + _stirling(a + b) - steps)[()]


def _stirling(x: HostReals) -> HostReals:
    """What ln Γ(x) has beyond (x − ½) ln x − x + ½ ln 2π, for x ≥ 20."""
    return sum((1 / x) ** n / c for n, c in ((1, 12), (3, -360), (5, 1260), (7, -1680), (9, 1188)))


def with_guessing(success: Annotated[HostReals, "[0, 1]"], guess: Annotated[HostReals, "[0, 1]"]) -> HostReals:
    """Success when what is not solved is guessed: g + (1 − g) P, the chance floor of multiple choice."""
    return (guess + (1 - np.asarray(guess, float)) * success)[()]


def resolvable_success(items: Counts, *, missed: Annotated[float, "(0, 1)"] = 0.5) -> HostReals:
    """The chance of success below which a test of M `items` shows no success at all with chance `missed`.

    From (1 − P)^M = missed: P = 1 − missed^(1/M), about 0.69/M for one half. A test reads zero below it.
    """
    return -np.expm1(np.log(missed) / np.asarray(items, float))[()]


def breakthrough_score(scores: Float[np.ndarray, "*batch scales"]) -> Float[np.ndarray, "*batch"]:
    """How much of a rise over growing scales happens at once: (max − min)/√median(step²), signed by order.

    Even steps score their number; a curve that is flat but for one jump has median step 0 and scores infinity. Scores
    must stand in the order of growing scales. Reference: BIG-bench (Srivastava et al. 2022), breakthroughness.
    """
    return _rise_over(scores, np.median)


def linearity_score(scores: Float[np.ndarray, "*batch scales"]) -> Float[np.ndarray, "*batch"]:
    """How even a rise over growing scales is: (max − min)/√mean(step²), signed by which comes first.

    At most √steps for one jump and the number of steps for even ones. Reference: BIG-bench (Srivastava et al. 2022).
    """
    return _rise_over(scores, np.mean)


def _rise_over(scores: np.ndarray, middle) -> np.ndarray:
    if scores.shape[-1] < 2:
        raise ValueError(f"scores must be given at two scales or more, got {scores.shape[-1]}")
    rise = np.sign(scores.argmax(-1) - scores.argmin(-1)) * (scores.max(-1) - scores.min(-1))
    steps = np.diff(scores, axis=-1)
    unit = np.abs(steps).max() or 1.0  # squares of very large or small steps are not floating-point numbers
    step = unit * np.sqrt(middle((steps / unit) ** 2, axis=-1))
    return np.divide(rise, step, out=np.where(rise == 0, 0.0, np.copysign(np.inf, rise)), where=step > 0)


def onset(
    scales: Float[np.ndarray, " scales"],
    scores: Float[np.ndarray, "*batch scales"],
    *,
    baseline: float = 0.0,
    share: Annotated[float, "(0, 1)"] = 0.1,
) -> Float[np.ndarray, "*batch"]:
    """First scale at which scores have left the baseline by a share of their largest distance from it.

    The critical scale of the handbook's definition of emergence (Sec. 15.1), for scores in the order of growing scales
    and the `baseline` of random answers. Scores that never leave the baseline have no onset: infinity.
    """
    if np.any(np.diff(scales) <= 0):
        raise ValueError("scales must increase")
    above = scores - baseline
    left = (above >= share * above.max(-1, keepdims=True)) & (above > 0)
    return np.where(left.any(-1), scales[left.argmax(-1)], np.inf)


POSITIVE = "(0, ∞)"
doors(
    __name__, k="[1, ∞)", items="[1, ∞)", scale=POSITIVE, exponent=POSITIVE, critical=POSITIVE, rate=POSITIVE,
    a=POSITIVE, b=POSITIVE,
)  # fmt: skip
