"""Doors: a number outside the range a formula is true for is refused in one sentence that names it and the range.

Values under `jit`, `vmap` or `grad` are not known yet and pass unchecked; an array passes if all its entries do, and
nan never does.
"""

from typing import Any

import numpy as np
from jax.core import Tracer

__all__ = ["inside", "positive"]


def positive(**named: Any) -> None:
    """Refuse every named value that is not above zero."""
    inside(0, np.inf, "(]", **named)


def inside(low: Any, high: Any, ends: str = "[]", /, **named: Any) -> None:
    """Refuse every named value outside the interval from `low` to `high`; `ends` says which ends belong to it.

    `inside(0, 1, "(]", delta=delta)` admits 0 < δ ≤ 1. An infinite end that is open ("[)") asks for a finite value.
    """
    for name, value in named.items():
        if any(isinstance(v, Tracer) for v in (value, low, high)):
            continue
        number = np.asarray(value)
        above = number >= low if ends[0] == "[" else number > low
        below = number <= high if ends[1] == "]" else number < high
        if not np.all(above & below):
            raise ValueError(f"{name} must {_words(low, high, ends)}, got {value}")


def _words(low: Any, high: Any, ends: str) -> str:
    unbounded = np.all(np.equal(high, np.inf))
    if unbounded and ends == "(]" and np.all(np.equal(low, 0)):
        return "be positive"
    if unbounded and ends[1] == "]":
        return f"be at least {low}" if ends[0] == "[" else f"exceed {low}"
    return f"lie in {ends[0]}{low}, {'∞' if unbounded else high}{ends[1]}"
