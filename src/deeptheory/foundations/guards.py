"""Doors: a number outside the range a formula is true for is refused in one sentence that names it and the range.

Values under `jit`, `vmap` or `grad` are not known yet and pass unchecked; an array passes if all its entries do, and
nan never does.
"""

import math
from collections.abc import Iterable
from numbers import Real
from typing import Any

import jax
import numpy as np
from jax.core import Tracer

__all__ = ["affordable", "among", "batched", "ends", "inside", "laws", "numeric", "positive", "symmetric"]

ROUNDING = 1e-5
"""how far from symmetric and semidefinite a matrix may be that was computed in single precision"""
MOST = 2**30
"""the most numbers an array may ask for: eight gigabytes"""


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
        if number.dtype.kind not in "biuf" and not (number.dtype == object and isinstance(value, Real)):
            raise TypeError(f"{name} must be a real number, got {value!r:.80}")
        above = number >= low if ends[0] == "[" else number > low
        below = number <= high if ends[1] == "]" else number < high
        if not np.all(above & below):
            shown = value if number.size < 9 and number.ndim < 2 else number[~(above & below)][0]
            raise ValueError(f"{name} must {_words(low, high, ends)}, got {' '.join(str(shown).split())}")


def ends(interval: str) -> tuple[float | int, float | int, str]:
    """Read an interval like "(0, 1]" or "[1, 1e6]" as the first arguments of `inside`."""
    low, high = (float(end.replace("∞", "inf")) for end in interval[1:-1].split(","))
    return _whole(low), _whole(high), interval[0] + interval[-1]


def _whole(number: float) -> float | int:
    return int(number) if number.is_integer() and abs(number) < 1e16 else number


def among(choices: Iterable[str], /, **named: Any) -> None:
    """Refuse every named word that is not one of the choices."""
    for name, value in named.items():
        if not isinstance(value, str) or value not in choices:
            raise ValueError(f"{name} must be one of {', '.join(choices)}, got {value!r:.40}")


def laws(**named: Any) -> None:
    """Refuse every named array whose last axis does not hold probabilities: none negative, adding up to one."""
    for name, value in named.items():
        if isinstance(value, Tracer):
            continue
        inside(0, 1 + ROUNDING, **{name: value})
        totals = np.asarray(np.sum(np.asarray(value, float), axis=-1))
        if np.any(np.abs(totals - 1) > ROUNDING):
            worst = totals.flat[np.argmax(np.abs(totals - 1))]
            raise ValueError(f"{name} must be probabilities that add up to one, got a sum of {worst:.6g}")


def symmetric(**named: Any) -> None:
    """Refuse every named matrix that is not symmetric up to rounding, or has a number below zero on its diagonal.

    That much of being a covariance is seen without eigenvalues; functions that compute those look at them. Compared in
    blocks of rows, so that no second matrix is needed.
    """
    for name, value in named.items():
        if isinstance(value, Tracer):
            continue
        matrix = np.asarray(value)
        size = matrix.shape[-1]
        rounding = ROUNDING * max(abs(matrix.max()), abs(matrix.min()))
        for start in range(0, size, 512):
            rows = matrix[..., start : start + 512, :]
            gap = np.abs(rows - np.swapaxes(matrix[..., start : start + 512], -1, -2)).max()
            if gap > rounding:
                raise ValueError(f"{name} must be a symmetric matrix, got entries across the diagonal {gap:.3g} apart")
        least = np.diagonal(matrix, axis1=-2, axis2=-1).min()
        if least < -rounding:
            raise ValueError(f"{name} must be positive semidefinite, got {least:.3g} on its diagonal")


def numeric(**trees: Any) -> None:
    """Refuse every named pytree whose leaves are not made of real numbers, or are all empty."""
    for name, tree in trees.items():
        leaves = jax.tree.leaves(tree)
        for leaf in leaves:
            kind = leaf.dtype if hasattr(leaf, "dtype") else np.asarray(leaf).dtype
            if not any(jax.numpy.issubdtype(kind, real) for real in (np.floating, np.integer, np.bool_)):
                raise TypeError(f"{name} must be made of real numbers, got {leaf!r:.60}".replace("\n", " "))
        if leaves and not any(np.size(leaf) for leaf in leaves):
            raise ValueError(f"{name} must not be empty, got {tree!r:.60}".replace("\n", " "))


def batched(**trees: Any) -> None:
    """Refuse every named pytree whose arrays of real numbers do not have a first axis of one length."""
    numeric(**trees)
    for name, tree in trees.items():
        lengths = {np.shape(leaf)[:1] for leaf in jax.tree.leaves(tree)}
        if len(lengths) != 1 or () in lengths:
            raise ValueError(f"{name} must have arrays with a first axis of one length, got {sorted(lengths)}")


def affordable(**shapes: tuple[int, ...]) -> None:
    """Refuse every named shape of more numbers than a machine should be asked for."""
    for name, shape in shapes.items():
        if math.prod(shape) > MOST:
            raise ValueError(f"{name} must have at most 2**30 entries, got {' × '.join(map(str, shape))}")


def _words(low: Any, high: Any, ends: str) -> str:
    unbounded = np.all(np.equal(high, np.inf))
    if unbounded and ends == "()" and np.all(np.equal(low, 0)):
        return "be positive and finite"
    if unbounded and ends == "(]" and np.all(np.equal(low, 0)):
        return "be positive"
    if unbounded and ends[1] == "]":
        return f"be at least {low}" if ends[0] == "[" else f"exceed {low}"
    return f"lie in {ends[0]}{low}, {'∞' if unbounded else high}{ends[1]}"
