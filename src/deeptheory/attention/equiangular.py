"""Equiangular tokens under self-attention: the whole flow closes on their one common overlap, solved in closed form.

Reference: jagannath Sec. 14.2; Geshkovski, Letrouit, Polyanskiy and Rigollet 2024 for orthogonal tokens; the closed
form is ours.
"""

from typing import Annotated

import numpy as np
from jaxtyping import Float
from scipy.optimize import root_scalar
from scipy.special import exp1, expi

from deeptheory.foundations.entrances import doors

__all__ = ["equiangular_overlap", "equiangular_time", "equiangular_tokens", "equiangular_velocity"]

LATEST = 100.0
"""log(((n−1)g + 1)/(1 − g)) at which an overlap g is 1 in floating point, for any number of tokens"""


def _check(count: int, overlap: float, inverse_temperature: float = 0.0) -> None:
    if count < 2:
        raise ValueError(f"count must be at least 2 tokens, got {count}")
    if not -1 / (count - 1) < overlap < 1:
        raise ValueError(f"the common overlap of {count} tokens must lie in (-1/{count - 1}, 1), got {overlap}")
    if not 0 <= inverse_temperature <= 200:
        raise ValueError(f"inverse_temperature must lie in [0, 200], got {inverse_temperature}")


def equiangular_tokens(count: Annotated[int, "[2, 1e4]"], overlap: float = 0.0) -> Float[np.ndarray, "count count"]:
    """Unit vectors in R^count with every pairwise overlap equal; orthonormal by default.

    `overlap` is g, `count` n, below 1 + 1/|g| where g < 0. They are the rows of the symmetric root of (1 − g)I + g11ᵀ.
    """
    _check(count, overlap)
    # The symmetric square root of (1 − g) I + g 11ᵀ, whose eigenvalues are 1 − g and 1 + (n − 1) g.
    low, high = np.sqrt(1 - overlap), np.sqrt(1 + (count - 1) * overlap)
    return low * np.eye(count) + (high - low) / count


def equiangular_velocity(
    overlap: float | Float[np.ndarray, "*shape"], count: int, inverse_temperature: float
) -> float | Float[np.ndarray, "*shape"]:
    """Speed of the common overlap g of equiangular tokens, exact for the flow (SA) of jagannath, chapter 14.

    ġ = 2 e^{βg} (1 − g)((n − 1)g + 1) / (e^β + (n − 1) e^{βg}): all tokens play the same part, so the overlaps stay
    equal for ever. Needs d ≥ n for a start at g ≥ 0, for example orthonormal tokens. `overlap` is g, `count` n and
    `inverse_temperature` β.
    """
    return 2 * (1 - overlap) * ((count - 1) * overlap + 1) / (np.exp(inverse_temperature * (1 - overlap)) + count - 1)


def equiangular_time(overlap: float, count: int, inverse_temperature: float, *, start: float = 0.0) -> float:
    """Time that equiangular tokens take from one common overlap to another, in closed form.

    The scalar equation separates. With u(g) = log(((n−1)g + 1)/(1 − g)), which grows at 2n/(n − 1 + e^{β(1−g)}),

        2n t = [ (n−1) u(g) − Ei(β(1−g)) − e^{βn/(n−1)} E₁(β(g + 1/(n−1))) ]  between the two overlaps;

    at β = 0 simply 2t = u(g) − u(g₀), that is g(t) = (e^{2t} − 1)/(e^{2t} + n − 1) for orthonormal tokens. `start` is
    g₀, `overlap` g, `count` n and `inverse_temperature` β.
    """
    _check(count, start, inverse_temperature)
    _check(count, overlap)
    return _elapsed(1 - overlap, 1 - start, count, inverse_temperature)


def _elapsed(gap, first_gap, count, beta):
    # In terms of 1 − g, so that times very close to consensus keep their digits.
    others = count - 1
    climbed = np.log((count - others * gap) / gap) - np.log((count - others * first_gap) / first_gap)
    if beta == 0:
        return climbed / 2
    reach = count / others
    near = expi(beta * first_gap) - expi(beta * gap)
    far = np.exp(beta * reach) * (exp1(beta * (reach - first_gap)) - exp1(beta * (reach - gap)))
    return (others * climbed + near + far) / (2 * count)


def equiangular_overlap(
    times: Float[np.ndarray, "t"], count: int, inverse_temperature: float, *, start: float = 0.0
) -> Float[np.ndarray, "t"]:
    """Common overlap of equiangular tokens at the given times: the inverse of `equiangular_time`, to rounding.

    Near consensus 1 − g(t) ∝ e^{−2t} at every β; for β ≫ 1 orthonormal tokens leave slowly, ġ(0) = 2/(e^β + n − 1).
    Arguments as in `equiangular_time`.
    """
    _check(count, start, inverse_temperature)
    if not np.all(np.asarray(times) >= 0):
        raise ValueError(f"times must not be negative, got {times}")
    others, first_gap = count - 1, 1 - start
    first = np.log((count - others * first_gap) / first_gap)
    slowest = 2 * count / (others + np.exp(inverse_temperature * first_gap))

    def overlap_at(time):
        def too_late(u):
            return _elapsed(count / (np.exp(u) + others), first_gap, count, inverse_temperature) - time

        if too_late(LATEST) <= 0:
            return 1.0
        # u grows at least at its first speed and at most at 2, which brackets the root up to rounding.
        margin = 1e-9 * (1 + time)
        bracket = first + slowest * time - margin, min(first + 2 * time + margin, LATEST)
        u = root_scalar(too_late, bracket=bracket, xtol=1e-14, rtol=1e-14).root
        return 1 - count / (np.exp(u) + others)

    return np.array([overlap_at(float(time)) for time in times])


doors(__name__, count="[2, 1e6]")
