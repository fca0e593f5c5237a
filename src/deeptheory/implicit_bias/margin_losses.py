"""Losses of the margin, and what the theorems on separable data ask of them.

The margin u of a point is its output times its label: right answers are positive, and every loss here decreases in u.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from deeptheory.foundations.entrances import doors

__all__ = [
    "EXPONENTIAL",
    "HALF_QUADRATIC",
    "LOGISTIC",
    "LossAssumptions",
    "MarginLoss",
    "loss_assumptions",
    "polynomial_tail",
]


class MarginLoss(NamedTuple):
    """A decreasing loss of the margin: its value, log(−ℓ′) and the smoothness constant β = sup ℓ″."""

    value: Callable[[Any], Any]
    log_slope: Callable[[Any], Any]
    smoothness: float


def _positive(u: Any) -> Any:
    return u.__array_namespace__().where(u > 0, u, 0.0)


EXPONENTIAL = MarginLoss(
    value=lambda u: u.__array_namespace__().exp(-u),
    log_slope=lambda u: -u,
    smoothness=np.inf,
)
LOGISTIC = MarginLoss(
    value=lambda u: u.__array_namespace__().logaddexp(0.0 * u, -u),
    log_slope=lambda u: -u.__array_namespace__().logaddexp(0.0 * u, u),
    smoothness=0.25,
)
# Exponential for correct answers, quadratic for wrong ones: smooth, decreasing and exponential-tailed as the theorem
# asks, but unlike the logistic loss its gradient grows with the error, so steps that are too long blow up.
HALF_QUADRATIC = MarginLoss(
    value=lambda u: u.__array_namespace__().exp(-_positive(u)) + _positive(-u) + _positive(-u) ** 2 / 2,
    log_slope=lambda u: u.__array_namespace__().log1p(_positive(-u)) - _positive(u),
    smoothness=1.0,
)


def polynomial_tail(power: float) -> MarginLoss:
    """Return the loss (1+u)^(−p)/p for u ≥ 0, continued by its tangent below: the tail the theorem excludes."""
    if power <= 0:
        raise ValueError(f"power must be positive, got {power}")
    return MarginLoss(
        value=lambda u: (1 + _positive(u)) ** (-power) / power + _positive(-u),
        log_slope=lambda u: -(power + 1) * u.__array_namespace__().log1p(_positive(u)),
        smoothness=power + 1,
    )


class LossAssumptions(NamedTuple):
    """What a loss of the margin was found to satisfy on the range it was looked at."""

    positive: bool  # ℓ > 0
    decreasing: bool  # ℓ′ < 0
    vanishing: bool  # ℓ and ℓ′ go to 0 on the right
    pushing: bool  # ℓ′ does not go to 0 on the left
    smoothness: float  # β = sup |ℓ″|, infinite where it keeps growing to the left or right
    rate: float  # a of the tail −ℓ′(u) ≈ c e^(−au), nan where there is none
    scale: float  # c of it
    tight: bool  # |−ℓ′(u) e^(au)/c − 1| falls exponentially

    @property
    def smooth_decreasing(self) -> bool:
        """Positive, decreasing to zero, pushing on the left, and β-smooth with a finite β."""
        basic = self.positive and self.decreasing and self.vanishing and self.pushing
        return basic and bool(np.isfinite(self.smoothness))


def loss_assumptions(loss: Callable[[Float[Array, ""]], Any], *, reach: float = 30.0) -> LossAssumptions:
    """Look whether a loss u ↦ ℓ(u) is what the max-margin theorem asks: smooth, decreasing, with an exponential tail.

    Derivatives are automatic, in double precision, at 4,001 margins from −reach to reach. β counts as infinite if it
    doubles between half the range and all of it; the tail counts as exponential if its rate at the end of the range
    is positive and the same as at half of it. It is a look, not a proof: what happens beyond `reach` is not seen, and a
    tail below 1e-300 is rounded to zero. Reference: lucchi Assumptions 3 and 4, Def. 30 (the lower bound for u > u₋).
    """
    with jax.enable_x64(True):
        slope = jax.grad(loss)
        margins = jnp.linspace(-reach, reach, 4001)
        value, first, second = jax.jit(lambda u: [jax.vmap(f)(u) for f in (loss, slope, jax.grad(slope))])(margins)
        value, first, second, margins = (np.asarray(each) for each in (value, first, second, margins))
    half = np.abs(margins) <= reach / 2
    widest, narrower = np.abs(second).max(), np.abs(second[half]).max()
    right = margins >= reach / 2
    falls = value[-1] < 1e-2 * value[margins >= 0][0] and -first[-1] < 1e-2 * np.abs(first[margins >= 0][0])
    rate, scale, tight = np.nan, np.nan, False
    if (first[right] < 0).all():
        logs, there = np.log(-first[right]), margins[right]
        rate = float(-(logs[-1] - logs[-2]) / (there[-1] - there[-2]))
        before = -(logs[1] - logs[0]) / (there[1] - there[0])
        # An exponential correction to the tail is invisible here, a power of u is not.
        tight = bool(rate > 0 and abs(rate - before) < 1e-3 * rate)
        rate, scale = (rate, float(np.exp(logs[-1] + rate * there[-1]))) if tight else (np.nan, np.nan)
    return LossAssumptions(
        positive=bool((value > 0).all()),
        decreasing=bool((first < 0).all()),
        vanishing=bool(falls),
        pushing=bool(-first[0] > 1e-3),
        smoothness=float(widest) if widest < 2 * narrower else np.inf,
        rate=rate,
        scale=scale,
        tight=tight,
    )


doors(__name__, nan=("loss_assumptions",), power="(0, ∞)", reach="[10, 300]")
