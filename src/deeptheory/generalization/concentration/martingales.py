"""Martingales and functions of independent variables: Azuma, McDiarmid, Burkholder, with every law computed exactly.

A martingale on a binary tree has at each node a step up or down with mean zero; its leaves can be enumerated, so that
tails and moments need no sampling.

Reference: jagannath Thms 6.20 and 6.21; lucchi Ch. 8 footnote 2; McDiarmid 1989.
"""

from collections.abc import Callable
from typing import Annotated, NamedTuple

import numpy as np
from jaxtyping import Float

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.concentration import log_binomial_coefficient, log_hoeffding
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import inside

__all__ = [
    "TreeMartingale",
    "bounded_differences",
    "burkholder_constants",
    "log_azuma",
    "log_azuma_ranges",
    "log_mcdiarmid",
    "moment_norm",
    "product_law",
    "stopped_walk",
    "tree_martingale",
    "walk_until_one",
]

Numbers = float | int | np.number | Float[AnyArray, "..."]


class TreeMartingale(NamedTuple):
    """Leaves of a tree of n steps: how probable each is, and the n increments on the way to it."""

    probabilities: Float[AnyArray, "*batch leaves"]
    increments: Float[AnyArray, "*batch leaves n"]

    def values(self) -> Float[AnyArray, "*batch leaves"]:
        """X_n, the sum of the increments."""
        return self.increments.sum(-1)

    def square_function(self) -> Float[AnyArray, "*batch leaves"]:
        """√Q_n, the root of the sum of squared increments."""
        return (self.increments**2).sum(-1) ** 0.5


def log_azuma(deviation: Numbers, bounds: Float[AnyArray, "*batch n"]) -> Numbers:
    """ln of Azuma's one-sided bound P[ΣD_k ≥ t] ≤ exp(−t²/(2Σc_k²)), martingale differences |D_k| ≤ c_k.

    `deviation` is t.

    Reference: jagannath Thm 6.20, whose exponent is twice this one and false.
    """
    inside(0, np.inf, deviation=deviation)
    return -(deviation**2) / (2 * (bounds**2).sum(-1))


def log_azuma_ranges(deviation: Numbers, widths: Float[AnyArray, "*batch n"]) -> Numbers:
    """ln of the bound with ranges: exp(−2t²/Σ(b_k − a_k)²) where D_k lies in an interval of width b_k − a_k.

    The interval may move with the past, its width may not. t is the `deviation`, `widths` are b_k − a_k. Reference:
    McDiarmid 1989.
    """
    return log_hoeffding(deviation, widths)


def log_mcdiarmid(deviation: Numbers, differences: Float[AnyArray, "*batch n"]) -> Numbers:
    """ln of McDiarmid's one-sided bound P[g(X) − E g(X) ≥ ε] ≤ exp(−2ε²/Σcᵢ²).

    X has independent coordinates and changing the i-th alone moves g by at most cᵢ. `deviation` is ε. Reference: lucchi
    Ch. 8 footnote 2.
    """
    return log_hoeffding(deviation, differences)


def bounded_differences(table: Float[AnyArray, "..."], *, variables: int) -> Float[np.ndarray, "*batch n"]:
    """The least cᵢ of a function given by its table, one of the last `variables` axes for each variable.

    cᵢ is the largest change of the function when variable i alone changes. Reference: McDiarmid 1989.
    """
    table = np.asarray(table)
    inside(1, table.ndim, variables=variables)
    others = tuple(range(table.ndim - variables, table.ndim))
    found = [np.ptp(table, axis=axis, keepdims=True).max(others) for axis in others]
    return np.stack(found, -1)


def product_law(probabilities: Float[AnyArray, "*batch n"]) -> Float[np.ndarray, "*batch leaves"]:
    """Probabilities of all 2ⁿ outcomes of independent bits, the first bit changing slowest."""
    p = np.asarray(probabilities)
    law = np.ones((*p.shape[:-1], 1))
    for i in range(p.shape[-1]):
        pair = np.stack([1 - p[..., i], p[..., i]], -1)
        law = (law[..., None] * pair[..., None, :]).reshape(*p.shape[:-1], -1)
    return law


def tree_martingale(up: Float[AnyArray, "*batch nodes"], down: Float[AnyArray, "*batch nodes"]) -> TreeMartingale:
    """The martingale that at each node moves by +up or by −down, with the chances that make the mean zero.

    Nodes come level by level, 2ⁿ − 1 of them; a node with up = 0 or down = 0 stays where it is.
    """
    up, down = np.asarray(up), np.asarray(down)
    nodes = up.shape[-1]
    levels = (nodes + 1).bit_length() - 1
    if nodes < 1 or nodes + 1 != 2**levels:
        raise ValueError(f"a tree of n steps has 2ⁿ − 1 nodes, got {nodes}")
    if np.any(up < 0) or np.any(down < 0):
        raise ValueError("steps must be nonnegative: up is added, down is subtracted")
    still = (up == 0) | (down == 0)
    total = np.where(still, 1.0, up + down)
    rise = np.where(still, 0.5, down / total)
    up, down = np.where(still, 0.0, up), np.where(still, 0.0, down)
    law, steps = np.ones((*up.shape[:-1], 1)), np.zeros((*up.shape[:-1], 1, 0))
    for level in range(levels):
        here = slice(2**level - 1, 2 ** (level + 1) - 1)
        chance = np.stack([rise[..., here], 1 - rise[..., here]], -1)
        move = np.stack([up[..., here], -down[..., here]], -1)
        law = (law[..., None] * chance).reshape(*up.shape[:-1], -1)
        past = np.repeat(steps, 2, axis=-2)
        steps = np.concatenate([past, move.reshape(*up.shape[:-1], -1, 1)], -1)
    return TreeMartingale(law, steps)


def moment_norm(values: Numbers, probabilities: Numbers, power: float) -> Numbers:
    """‖X‖_p = (E|X|^p)^(1/p) of a finite law along the last axis.

    `power` is p.
    """
    return (probabilities * abs(values) ** power).sum(-1) ** (1 / power)


def burkholder_constants(power: float) -> tuple[float, float]:
    """Constants (c_p, C_p) = (1/(p* − 1), p* − 1), p* = max(p, p/(p − 1)), of Burkholder's inequality.

    c_p ‖√Q_n‖_p ≤ ‖X_n‖_p ≤ C_p ‖√Q_n‖_p for every martingale and 1 < p < ∞. At p = 2 both are 1; C_p is the best one
    for p ≥ 2 and c_p for p ≤ 2 (Burkholder, 1991). `power` is p. Reference: jagannath Thm 6.21.
    """
    inside(1, np.inf, "()", power=power)
    largest = max(power, power / (power - 1)) - 1
    return 1 / largest, largest


def stopped_walk(
    steps: Annotated[int, "[1, 1e4]"], stops: Callable[[int, Float[np.ndarray, " positions"]], np.ndarray]
) -> tuple[Float[np.ndarray, " cells"], Float[np.ndarray, " cells"], Float[np.ndarray, " cells"]]:
    """Law of a fair ±1 walk stopped by a rule, at most `steps` steps: positions, times (its Q_n) and probabilities.

    `stops(time, positions)` says where the walk stops at that time; it is asked from time 1 on. Time grows with the
    square of `steps`.
    """
    positions = np.arange(-steps, steps + 1.0)
    law = np.zeros(2 * steps + 1)
    law[steps] = 1.0
    found = []
    for time in range(1, steps + 1):
        moved = np.zeros_like(law)
        moved[1:] += law[:-1] / 2
        moved[:-1] += law[1:] / 2
        halts = (np.asarray(stops(time, positions)) | (time == steps)) & (moved > 0)
        found.append((positions[halts], np.full(halts.sum(), float(time)), moved[halts]))
        law = np.where(halts, 0.0, moved)
    places, times, chances = (np.concatenate(part) for part in zip(*found, strict=True))
    return places, times, chances


def walk_until_one(
    steps: int,
) -> tuple[Float[np.ndarray, " cells"], Float[np.ndarray, " cells"], Float[np.ndarray, " cells"]]:
    """Law of a fair ±1 walk stopped at its first visit of 1, after at most `steps` steps, by the reflection principle.

    Positions, times (its Q_n) and probabilities as in `stopped_walk`, in time proportional to `steps`: P[τ = k] is
    P[S_k = 1]/k, and a walk that has not been at 1 is at j with P[S_n = j] − P[S_n = 2 − j]. Reference: Feller, An
    Introduction to Probability Theory and Its Applications I (1968), Ch. III.
    """

    def free(time, position):
        up = (time + position) / 2
        possible = np.abs(position) <= time
        chance = np.exp(log_binomial_coefficient(time, np.where(possible, up, 0.0)) - time * np.log(2))
        return np.where(possible, chance, 0.0)

    times = np.arange(1.0, steps + 1, 2)
    left = np.arange(-float(steps), 1.0, 2)
    staying = free(float(steps), left) - free(float(steps), 2 - left)
    return (
        np.concatenate([np.ones_like(times), left]),
        np.concatenate([times, np.full_like(left, float(steps))]),
        np.concatenate([free(times, 1.0) / times, staying]),
    )


doors(__name__, variables="[1, 30]", steps="[0, 1e7]", bounds="[0, ∞)", differences="[0, ∞)", widths="[0, ∞)")
