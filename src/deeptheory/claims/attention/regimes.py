"""Where tokens cluster, over temperature and dimension (jagannath, chapter 14)."""

from dataclasses import replace
from typing import Annotated

import jax
import numpy as np
from annotated_types import Interval, MinLen

from deeptheory.attention.clusters import token_flow
from deeptheory.attention.equiangular import equiangular_overlap, equiangular_time
from deeptheory.attention.regimes import share_after
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Chance, Law, Rate, Sizes, Trials, claim
from deeptheory.lab.pictures import HeatMap

TOKENS, PAIRS = 8, np.triu_indices(8, 1)
COUNT = 16
DIMENSIONS = np.array([2.0, 3.0, 8.0, 16.0])
HOT, COLD = np.array([0.25, 0.5, 1.0]), np.array([2.0, 4.0, 9.0])


@jax.jit
def diagram(keys, betas, dimensions):
    """Share of pairs that are together at time 40, for all temperatures, dimensions and seeds."""

    def at(beta, dimension, key):
        return share_after(key, beta, dimension, 40.0, count=COUNT, most=COUNT, steps=100)

    return jax.vmap(jax.vmap(jax.vmap(at, (None, None, 0)), (None, 0, None)), (0, None, None))(betas, dimensions, keys)


@jax.jit
def overlaps(starts, times, betas):
    """Overlaps of all pairs, for each set of tokens, at each temperature with its time."""

    def at(tokens, time, beta):
        moved = token_flow(tokens, time[None], beta, substeps=48)[-1]
        return (moved @ moved.T)[PAIRS]

    return jax.vmap(jax.vmap(at, (0, None, None)), (None, 0, 0))(starts, times, betas)


@claim(
    items={
        "J14.11": (
            "one cluster where it is proven",
            "mean overlap in high dimension",
            "spread of the overlaps in high dimension",
        )
    },
    says=r"Random tokens meet in one cluster for $\beta\le1$ in every dimension. In high dimension all overlaps follow "
    r"$\dot g=2(1-g)((n-1)g+1)/(e^{\beta(1-g)}+n-1)$, with a start that is exponentially slow in the cold, and spread "
    r"around it by $d^{-1/2}$.",
    needs="Q = K = V = I; tokens drawn uniformly on the sphere; for the curve, many more dimensions than tokens",
    symbols={
        r"\text{token}": "a point on the unit sphere, which attention moves towards the others",
        "Q, K, V": "the matrices of queries, keys and values",
        r"\beta": "the inverse temperature: the larger, the more a token attends to those near it alone",
        r"g": "the overlap of two tokens, the cosine of their angle",
        r"n": "the number of tokens",
        r"d": "the number of dimensions",
    },
    why=r"Hot tokens see everyone, and are pulled to where most are. Cold ones see those near them and gather in "
    r"several places. In high dimension no one is near: all overlaps are of the order $d^{-1/2}$, and the flow depends "
    "smoothly on its start, so it stays that near to the flow of orthonormal tokens.",
    notice=r"One cluster (all pairs together) in the upper rows, whatever the dimension. In the cold few dimensions "
    r"hold a few large clusters; in sixteen all still meet at $\beta=4$, and at $\beta=9$ most pairs have not.",
    full=dict(trials=256, starts=384),
)
def hot_tokens_cluster_in_every_dimension(
    key,
    *,
    trials: Trials = 24,
    starts: Trials = 96,
    share: Annotated[float, Interval(ge=0.01, le=0.5)] = 0.05,
    sizes: Annotated[Sizes, MinLen(3)] = (1000, 10_000, 100_000),
):
    rng = generator(key)
    found = np.asarray(diagram(jax.random.split(key, trials), np.concatenate([HOT, COLD]), DIMENSIONS))
    apart = np.sum(found < 1, axis=(1, 2))
    # Tokens in d dimensions are rotated into the span of all, which they never leave. Coordinates there are drawn at
    # once (Bartlett): normal ones towards the tokens before, and one whose square is χ² with what is left of d.
    betas = np.array([1.0, 3.0, 5.0])
    times = np.array([equiangular_time(0.5, TOKENS, beta) for beta in betas])
    left = np.sqrt(rng.chisquare(np.reshape(sizes, (-1, 1, 1)) - np.arange(TOKENS), (len(sizes), starts, TOKENS)))
    drawn = np.tril(rng.standard_normal((len(sizes), starts, TOKENS, TOKENS)), -1) + left[..., None] * np.eye(TOKENS)
    unit = (drawn / np.linalg.norm(drawn, axis=-1, keepdims=True)).reshape(-1, TOKENS, TOKENS)
    met = np.asarray(overlaps(unit, times, betas)).reshape(len(betas), len(sizes), starts, -1).swapaxes(0, 1)
    others = [equiangular_overlap(time[None], TOKENS + 1, beta)[0] for time, beta in zip(times, betas, strict=True)]
    return {
        # The theorems say never; a share is what finitely many starts can exclude.
        "one cluster where it is proven": Chance(
            np.sum(apart[: len(HOT)]),
            len(HOT) * len(DIMENSIONS) * trials,
            share,
            aside={
                "apart in the cold": np.sum(apart[len(HOT) :]),
                "shares": found.mean(-1),
                "betas": np.concatenate([HOT, COLD]),
                "dimensions": DIMENSIONS,
            },
        ),
        "mean overlap in high dimension": Law(
            np.full(len(betas), 0.5),
            met.mean(-1),
            sizes=sizes,
            order=1.0,
            along={"inverse temperature": betas},
            aside={"one token more": np.array(others)},
        ),
        "spread of the overlaps in high dimension": Rate(
            sizes, np.mean((met[:, 0] - 0.5) ** 2, -1), exponent=-1.0, rivals=(-2.0, -0.5)
        ),
    }


@hot_tokens_cluster_in_every_dimension.control(
    "the same at β = 2, 4 and 9 by the same time", of="one cluster where it is proven"
)
def cold_tokens(evidence):
    return replace(evidence, failures=evidence.aside["apart in the cold"])


@hot_tokens_cluster_in_every_dimension.control("n for n − 1 in the equation", of="mean overlap in high dimension")
def one_more(evidence):
    return replace(evidence, predicted=evidence.aside["one token more"])


@hot_tokens_cluster_in_every_dimension.picture
def phases(pieces):
    """Share of pairs of 16 random tokens that are together at time 40, over temperature and dimension."""
    aside = pieces["one cluster where it is proven"].aside
    return HeatMap(
        np.asarray(aside["shares"]),
        [f"{beta:g}" for beta in aside["betas"]],
        [f"{d:g}" for d in aside["dimensions"]],
        y="inverse temperature β",
        x="dimension d",
        value="share of pairs together",
    )
