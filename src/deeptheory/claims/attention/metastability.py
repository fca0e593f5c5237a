"""Clusters wait before they merge, exponentially long in the inverse temperature (jagannath, chapter 14)."""

from dataclasses import replace
from typing import Annotated

import jax
import numpy as np
from annotated_types import Interval

from deeptheory.attention.blocks import sphere_flow
from deeptheory.attention.clusters import cluster_count, random_tokens, token_velocity
from deeptheory.attention.metastability import merging_speed, merging_time, waiting_time
from deeptheory.attention.regimes import metastable_share
from deeptheory.lab import Exact, Identity, Limit, claim
from deeptheory.lab.pictures import Curves, HeatMap, Line, Row

velocities = jax.jit(jax.vmap(jax.vmap(token_velocity, (0, None))))
"""of several sets of tokens at each of several temperatures"""


BETAS, DIMENSIONS = np.array([1.0, 2.0, 3.0, 4.0, 6.0, 9.0, 12.0]), np.array([2.0, 3.0, 4.0, 8.0, 16.0])
"""of the diagram of who waits"""


@jax.jit
def waiting(keys, betas, dimensions):
    """Share of pairs of 16 tokens in different clusters at time 10 and still at 40, by temperature, dimension, seed."""

    def at(beta, dimension, key):
        return metastable_share(key, beta, dimension, 10.0, 40.0, 1e-2, count=16, most=16, steps=60)

    return jax.vmap(jax.vmap(jax.vmap(at, (None, None, 0)), (None, 0, None)), (0, None, None))(betas, dimensions, keys)


def together(starts, betas, times, clocks):
    """Sets of tokens, each at its temperature and on its clock, followed as one system."""
    kinds, count, dimension = starts.shape

    def velocity(_, tokens):
        moved = jax.vmap(token_velocity)(tokens.reshape(starts.shape), betas) * clocks[:, None, None]
        return moved.reshape(kinds * count, dimension)

    path = sphere_flow(velocity, starts.reshape(-1, dimension), times, tolerance=1e-9)
    return path.reshape(-1, *starts.shape)


@claim(
    items={
        "J14.12": (
            "speed at which two clusters approach",
            "overlap at the predicted time",
            "wait in the cold",
            "clusters at the end",
        )
    },
    says=r"Two clusters at overlap $g$ with shares $p,q$ of the tokens approach at $\dot g=(1-g^2)\big(\frac{qs}{p+qs}+"
    r"\frac{ps}{q+ps}\big)$, $s=e^{-\beta(1-g)}$, and wait about $e^{\beta(1-g)}/(\beta(\frac pq+\frac qp)(1-g^2))$ "
    r"before they merge. Random tokens gather in a few clusters, which merge one after another into a single one.",
    needs="Q = K = V = I; for the wait, large β",
    symbols={
        r"g": "the overlap of the two clusters, the cosine of their angle",
        r"p,q": "the shares of all tokens that they hold",
        r"\beta": "the inverse temperature",
        r"s": "the attention to a token of the other cluster, in units of that to a token of one's own",
    },
    why=r"Tokens in one place stay together, so two clusters are two heavy particles. Each pays the other an attention "
    r"that is smaller by $e^{-\beta(1-g)}$, and this is the only force. It grows as they approach, so nearly all "
    r"time passes within $1/\beta$ of the start, where the integral $\int dg/\dot g$ is elementary.",
    notice=r"In logarithmic time the number of clusters is a staircase: it falls to a few early and stays there, the "
    "longer the colder. In the end all tokens are in one. Over temperature and dimension those who wait fill a zone: "
    "above it, in the heat, all have met; to its right, in many dimensions, either all meet at once or, in the cold, "
    "none has met yet.",
    explore={"overlap": (-0.5, 0.0, 0.5)},
)
def clusters_wait_before_they_merge(
    key,
    *,
    overlap: Annotated[float, Interval(ge=-0.8, le=0.6)] = 0.0,
    count: Annotated[int, Interval(ge=4, le=16)] = 10,
    betas: Annotated[tuple[float, ...], Interval(ge=3.0, le=7.0)] = (4.0, 5.5, 7.0),
):
    small, large = 2, 3
    share, target, cold = small / (small + large), (1 + overlap) / 2, np.asarray(betas)
    levels = np.linspace(overlap, 0.95, 6)
    apart = np.stack([[np.ones(6), np.zeros(6)], [levels, np.sqrt(1 - levels**2)]]).transpose(2, 0, 1)
    groups = np.repeat(apart, [small, large], axis=1)
    moving = np.asarray(velocities(np.repeat(groups[None], len(cold), 0), cold))
    speeds = np.sum(moving[:, :, 0] * groups[:, -1] + moving[:, :, -1] * groups[:, 0], -1)
    law, equal = (np.stack([merging_speed(levels, part, beta) for beta in cold]) for part in (share, 0.5))
    # Each temperature has its clock, on which the predicted time is one.
    clocks = np.array([merging_time(target, overlap, share, beta) for beta in cold])
    # Beside them, pairs on the clock of the wait in the cold, whose next term is missing.
    clocks = np.concatenate([clocks, [waiting_time(overlap, share, beta) for beta in cold]])
    ends = together(np.repeat(groups[:1], 2 * len(cold), 0), np.tile(cold, 2), np.ones(1), clocks)[0]
    ends, waited = np.sum(ends[:, 0] * ends[:, -1], -1).reshape(2, -1)
    colder = np.array([20.0, 40.0, 80.0, 160.0])
    waits = np.array([merging_time(target, overlap, share, b) / waiting_time(overlap, share, b) for b in colder])

    # Random tokens on the circle, until the coldest have merged from anywhere: opposite ones wait about e^{2β}.
    times = np.geomspace(0.1, 1e8, 91)
    paths = together(np.repeat(random_tokens(key, 1, count, 2), len(cold), 0), cold, times, np.ones(len(cold)))
    found = np.array([[cluster_count(tokens, 1e-2) for tokens in path] for path in paths.swapaxes(0, 1)])
    return {
        "speed at which two clusters approach": Identity(
            speeds, law, scale=1.0, size=small + large, aside={"equal shares": equal}
        ),
        "overlap at the predicted time": Identity(
            ends,
            np.full(len(cold), target),
            scale=1.0,
            # The solver's tolerance a step, added up over the wait.
            error=1e-4,
            aside={"after the wait in the cold": waited},
        ),
        "wait in the cold": Limit(colder, np.abs(waits - 1), order=1.0, aside={"waits": waits}),
        "clusters at the end": Exact(
            found[:, -1],
            np.ones(len(cold), int),
            aside={
                "counts": found,
                "times": times,
                "betas": cold,
                "early": found[:, np.searchsorted(times, 3.0)],
                "waiting": np.asarray(waiting(jax.random.split(key, 8), BETAS, DIMENSIONS)).mean(-1),
            },
        ),
    }


@clusters_wait_before_they_merge.control("equal shares", of="speed at which two clusters approach")
def equal_shares(evidence):
    return replace(evidence, right=evidence.aside["equal shares"])


@clusters_wait_before_they_merge.control("the wait in the cold at every β", of="overlap at the predicted time")
def coldest(evidence):
    return replace(evidence, left=evidence.aside["after the wait in the cold"])


@clusters_wait_before_they_merge.control("twice that wait", of="wait in the cold")
def twice_the_wait(evidence):
    return replace(evidence, y=np.abs(np.asarray(evidence.aside["waits"]) / 2 - 1))


@clusters_wait_before_they_merge.control("one cluster already at time 3", of="clusters at the end")
def early(evidence):
    return replace(evidence, left=np.asarray(evidence.aside["early"]))


@clusters_wait_before_they_merge.picture
def staircases(pieces):
    """Clusters of random tokens on the circle in logarithmic time; pairs in different clusters at times 10 and 40."""
    aside = pieces["clusters at the end"].aside
    lines = [
        Line(f"β = {beta:g}", aside["times"], each)
        for beta, each in zip(aside["betas"], np.asarray(aside["counts"]), strict=True)
    ]
    zone = HeatMap(
        np.asarray(aside["waiting"]),
        [f"{beta:g}" for beta in BETAS],
        [f"{dimension:g}" for dimension in DIMENSIONS],
        y="inverse temperature β",
        x="dimension d",
        value="share of pairs that wait",
    )
    return Row([Curves(lines, x="time t", y="number of clusters", log="x"), zone])
