"""Branch and bound: the largest value of something over a box, between what is met and what is possible."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from deeptheory.foundations.guards import inside

__all__ = ["Bounds"]

BATCH = 128
"""boxes looked at in one pass"""
NARROW = 1e-12
"""the share of the whole below which a box is not cut further"""

OnBoxes = Callable[[Float[np.ndarray, "k d"], Float[np.ndarray, "k d"]], Float[np.ndarray, "k"]]


class Bounds(NamedTuple):
    """A number that is certainly not below `lower` and not above `upper`."""

    lower: float
    upper: float


def narrowed(
    above: OnBoxes, attained: OnBoxes, low: Any, high: Any, tolerance: float, boxes: int, *, least: float
) -> Bounds:
    """Halve boxes where the upper bound is largest until it is within reach of the best value met, or boxes run out.

    `above` bounds the value on each of `BATCH` boxes, `attained` is a value met in each; `least` is one known before.
    """
    inside(low, np.inf, "[)", high=high)
    scale = np.where(high > low, high - low, 1.0)
    lows, highs, bounds = low[None], high[None], np.array([np.inf])
    best, settled, looked_at = least, -np.inf, 0
    fresh = lows, highs
    while True:
        count = len(fresh[0])
        full = [np.concatenate([each, np.repeat(each[-1:], BATCH - count, 0)]) for each in fresh]
        # Half a box is bounded by the whole box too: `bounds` starts with those of the boxes that were halved.
        bounds[:count] = np.minimum(bounds[:count], above(*full)[:count])
        best, looked_at = max(best, float(attained(*full)[:count].max())), looked_at + count
        # What is as good as attained, or too small to be cut, needs no further look, but counts for the upper bound.
        open_ = (bounds > best + tolerance / 2 * abs(best)) & (((highs - lows) / scale).max(1) > NARROW)
        settled = max(settled, float(bounds[~open_].max(initial=-np.inf)))
        lows, highs, bounds = lows[open_], highs[open_], bounds[open_]
        top = max(settled, float(bounds.max(initial=-np.inf)), best)
        if top - best <= tolerance * max(abs(top), abs(best)) < np.inf or looked_at >= boxes or not len(lows):
            return Bounds(best, top)
        order = np.argsort(-bounds, kind="stable")
        cut, rest = order[: BATCH // 2], order[BATCH // 2 :]
        fresh, known = (lows[cut], highs[cut]), bounds[cut]
        while 2 * len(known) <= BATCH:  # a pass costs the same for few boxes as for many
            fresh, known = _halves(*fresh, scale), np.tile(known, 2)
        lows, highs = (np.concatenate([new, old[rest]]) for new, old in zip(fresh, (lows, highs), strict=True))
        bounds = np.concatenate([known, bounds[rest]])


def _halves(lows: Any, highs: Any, scale: Any) -> tuple[Any, Any]:
    """Cut every box across its longest side, as a share of the whole."""
    each, axis = np.arange(len(lows)), np.argmax((highs - lows) / scale, 1)
    middle, left, right = lows[each, axis] / 2 + highs[each, axis] / 2, highs.copy(), lows.copy()
    left[each, axis] = right[each, axis] = middle
    return np.concatenate([lows, right]), np.concatenate([left, highs])
