"""Histograms of the overlaps of tokens, depth by depth (jagannath, chapter 14, Fig. 1.3)."""

from dataclasses import replace
from typing import Annotated

import jax
import numpy as np
from annotated_types import Interval

from deeptheory.attention.clusters import random_tokens, token_flow
from deeptheory.attention.equiangular import equiangular_overlap
from deeptheory.attention.trained import overlaps_by_depth
from deeptheory.lab import Identity, Trend, Trials, claim
from deeptheory.lab.pictures import Histogram, Row

DEPTHS = np.array([0.5, 2.0, 8.0])


@jax.jit
def states(starts, beta):
    """Every set of tokens at all depths."""
    return jax.vmap(lambda tokens: token_flow(tokens, DEPTHS, beta, substeps=32))(starts)


@claim(
    items={"J14.14": ("overlaps of orthonormal tokens", "mean overlap from depth to depth")},
    says=r"The overlaps $\langle x_i,x_j\rangle$ of random tokens under self-attention move toward 1 with depth. "
    r"Orthonormal tokens have one overlap at each depth, the solution of "
    r"$\dot g=2(1-g)((n-1)g+1)/(e^{\beta(1-g)}+n-1)$.",
    needs="the model Q = K = V = I in place of a trained network; few dimensions and β about 1 for the histograms",
    symbols={
        r"x_i": "token $i$, a unit vector",
        r"g": "the common overlap of orthonormal tokens",
        r"n": "the number of tokens",
        r"\beta": "the inverse temperature",
    },
    why=r"Attention moves every token toward an average of the others, so their overlaps grow in the mean; where all "
    "are equal they must stay equal, because no token is different from another.",
    notice=r"Near the start overlaps are spread over all values. Deeper they gather at the right end, where tokens "
    "agree. The same is reported of the layers of ALBERT, a trained network, which is not run here.",
    explore={"beta": (0.5, 1.0, 2.0)},
)
def overlaps_gather_at_one_with_depth(
    key,
    *,
    trials: Trials = 128,
    count: Annotated[int, Interval(ge=4, le=24)] = 16,
    beta: Annotated[float, Interval(ge=0.0, le=2.0)] = 1.0,
):
    starts = random_tokens(key, trials, count, 3)
    layers = np.concatenate([starts[:, None], np.asarray(states(starts, beta))], 1)
    overlaps = np.stack([overlaps_by_depth(each) for each in layers])
    equal = overlaps_by_depth(np.asarray(states(np.eye(count)[None], beta))[0])
    exact, more = (equiangular_overlap(DEPTHS, n, beta)[:, None] for n in (count, count + 1))
    return {
        # Runge–Kutta of order four in steps of at most 3/16.
        "overlaps of orthonormal tokens": Identity(equal, exact, scale=1.0, error=1e-5, aside={"one token more": more}),
        "mean overlap from depth to depth": Trend(
            np.diff(overlaps.mean(-1), axis=1).T,
            along={"up to depth": DEPTHS},
            aside={"overlaps": overlaps[:16].swapaxes(0, 1).reshape(len(DEPTHS) + 1, -1)},
        ),
    }


@overlaps_gather_at_one_with_depth.control("n for n − 1 in the equation", of="overlaps of orthonormal tokens")
def one_more(evidence):
    return replace(evidence, right=evidence.aside["one token more"])


@overlaps_gather_at_one_with_depth.control("overlaps spread out with depth", of="mean overlap from depth to depth")
def spreading(evidence):
    return replace(evidence, differences=-np.asarray(evidence.differences))


@overlaps_gather_at_one_with_depth.picture
def histograms(pieces):
    """Histograms of the overlaps of all pairs of random tokens, at the start and at two depths."""
    seen = np.asarray(pieces["mean overlap from depth to depth"].aside["overlaps"])
    return Row(
        [
            Histogram([], samples=np.clip(seen[layer], -1, 1), bins=20, x=f"overlap at depth {depth:g}", y="density")
            for layer, depth in ((0, 0.0), (2, DEPTHS[1]), (3, DEPTHS[2]))
        ]
    )
