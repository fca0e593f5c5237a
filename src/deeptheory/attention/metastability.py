"""Clusters that wait: two groups of tokens merge only after a time exponential in the inverse temperature.

Reference: jagannath Sec. 14.2.2; Geshkovski, Koubbi, Polyanskiy and Rigollet 2024.
"""

import numpy as np
from jaxtyping import Float, Num
from scipy.integrate import quad

from deeptheory.attention.blocks import sphere_flow
from deeptheory.attention.clusters import cluster_count, token_velocity
from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors

__all__ = ["cluster_history", "merging_speed", "merging_time", "waiting_time"]

Tokens = Float[AnyArray, "n d"]
Number = float | Float[np.ndarray, "*shape"]


def merging_speed(overlap: Number, share: float, inverse_temperature: float) -> Number:
    """Speed of the overlap g of two clusters that hold shares p and q = 1 − p of all tokens, exact for the flow (SA).

    ġ = (1 − g²) (q s/(p + q s) + p s/(q + p s)), s = e^{−β(1−g)}: each cluster attends to the other with a weight that
    is exponentially small until they are near. `overlap` is g, `share` p and `inverse_temperature` β.
    """
    other, seen = 1 - share, np.exp(-inverse_temperature * (1 - np.asarray(overlap)))
    pulls = other * seen / (share + other * seen) + share * seen / (other + share * seen)
    return ((1 - np.asarray(overlap) ** 2) * pulls)[()]


def merging_time(overlap: float, start: float, share: float, inverse_temperature: float) -> float:
    """Time that two clusters with shares p and 1 − p take from overlap `start` to a larger overlap: ∫ dg/ġ.

    By quadrature. `share` is p in (0, 1); it diverges as the overlap tends to 1.
    """
    if not start < overlap:
        raise ValueError(f"overlap must be larger than the start {start}, got {overlap}")
    # In units of the longest wait, so that nothing overflows on the way.
    scale = np.exp(-inverse_temperature * (1 - start))
    # Most of the time is spent within 1/β of the start.
    knee = min(start + 10 / (1 + inverse_temperature), overlap)
    spans = ((start, knee), (knee, overlap)) if knee < overlap else ((start, overlap),)
    return sum(
        quad(lambda g: scale / merging_speed(g, share, inverse_temperature), *span, epsabs=0, epsrel=1e-12, limit=200)[
            0
        ]
        for span in spans
    ) / float(scale)


def waiting_time(start: float, share: float, inverse_temperature: float) -> float:
    """How long two clusters at overlap g wait when β is large: e^{β(1−g)} / (β (p/q + q/p)(1 − g²)), to first order.

    `merging_time` divided by this tends to one like 1 + O(1/β), whatever the final overlap below one. `start` is g,
    `share` p, q = 1 − p.
    """
    ratio = share / (1 - share)
    return float(
        np.exp(inverse_temperature * (1 - start)) / (inverse_temperature * (ratio + 1 / ratio) * (1 - start**2))
    )


def cluster_history(
    tokens: Tokens,
    times: Float[AnyArray, "t"],
    inverse_temperature: float,
    *,
    tolerance: float = 1e-3,
) -> Num[np.ndarray, "t"]:
    """Number of clusters at increasing times; tokens that overlap by more than 1 − tolerance are joined.

    Adaptive and implicit where tokens wait, so that times may be spread over many decades.
    """
    path = sphere_flow(lambda _, state: token_velocity(state, inverse_temperature), tokens, times)
    return np.array([cluster_count(state, tolerance) for state in path])


doors(
    __name__,
    overlap="(-1, 1)",
    start="(-1, 1)",
    share="(0, 1)",
    inverse_temperature="(0, 300]",
    tolerance="(0, 1]",
    times="[0, ∞)",
)
