"""What the theorems on separable data ask of a loss of the margin, looked at on a loss.

The margin u of a point is its output times its label. Losses to look at are in `deeptheory.foundations.margin_losses`.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from deeptheory.foundations.entrances import doors

__all__ = ["LossAssumptions", "loss_assumptions"]


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


doors(__name__, nan=("loss_assumptions",), reach="[10, 300]")
