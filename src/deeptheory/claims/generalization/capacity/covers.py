"""Covers of the parameter ball and what they say about losses that are Lipschitz in their parameters (arora 5.2)."""

from dataclasses import replace
from typing import Annotated

import jax.numpy as jnp
import numpy as np
from annotated_types import Interval

from deeptheory.foundations.concentration import log_binomial_deviation
from deeptheory.foundations.randomness import generator
from deeptheory.generalization.capacity.covers import (
    cover_deviation,
    cover_size,
    greedy_cover,
    interval_cover_size,
    log_normed_class_failure,
    normed_class_deviation,
)
from deeptheory.lab import Chain, Exact, Identity, Inequality, Limit, Reals, Trials, assume, claim
from deeptheory.lab.evidence import NEVER
from deeptheory.lab.pictures import Curves, Dots, Level, Line, Plane, Row, compared

RADII = (0.9, 0.5, 0.25)


def ball_grid(dimension, step):
    """Points of the unit ball on a cubic grid."""
    axis = np.arange(-np.floor(1 / step), np.floor(1 / step) + 1) * step
    points = np.stack(np.meshgrid(*[axis] * dimension), axis=-1).reshape(-1, dimension)
    return points[np.linalg.norm(points, axis=1) <= 1 + 1e-12]


def volumes(radius):
    """Length, area and volume of the balls of this radius in one, two and three dimensions."""
    return np.array([2 * radius, np.pi * radius**2, 4 / 3 * np.pi * radius**3])


@claim(
    items={
        "A5.8": (
            "sizes of covers",
            "packings of the interval",
            "ratio of the volumes",
            "least covers of the interval",
            "least covers below the bound",
        )
    },
    says=r"At most $(1+2/\rho)^k$ points of the unit ball of $\mathbb R^k$ are pairwise $\rho$ or more apart, attained "
    r"for $k=1$ when $2/\rho$ is whole; so a greedy $\rho$-cover, whose points are farther apart, has fewer, and any "
    r"cover has at least $\rho^{-k}$.",
    needs="0 < ρ ≤ 1; the ball is represented by a fine grid, whose spacing enters the lower bound",
    symbols={
        r"\rho": "the distance within which every point of the ball has a point of the cover",
        r"k": "the dimension of the ball",
    },
    why=r"Balls of radius $\rho/2$ around points that are $\rho$ apart do not overlap and lie in the ball of radius "
    r"$1+\rho/2$; the ratio of the volumes is $(1+2/\rho)^k$. The greedy choice takes a point farther than $\rho$ "
    r"from all before it until there is none, so it is such a packing, and a cover when it ends. Balls of radius "
    r"$\rho$ that cover the unit ball must have its volume together: $\rho^{-k}$ of them at least.",
    notice=r"Around the centres of a greedy cover of the disc the small discs, of radius $\rho/2$, do not touch, and "
    r"the large ones, of radius $\rho$, leave nothing out: packing and cover at once.",
)
def covers_of_the_ball(*, dimensions: Annotated[tuple[int, ...], Interval(ge=1, le=3)] = (1, 2, 3)):
    sizes, least, most = [], [], []
    centres = greedy_cover(ball_grid(2, 0.02), RADII[1])
    for k in dimensions:
        # Every point of the ball has a grid point of the ball within step·√k, so these balls, enlarged, cover it.
        step = (0.002, 0.02, 0.07)[k - 1]
        grid = ball_grid(k, step)
        for radius in RADII:
            sizes.append(len(greedy_cover(grid, radius)))
            least.append((radius + step * np.sqrt(k)) ** -k)
            most.append(cover_size(radius, k))
    # Halving what is left over, the greedy choice fills [−1, 1] evenly when 2/ρ is a power of two.
    whole = 2.0 ** -np.arange(0, 7)
    packings = [len(greedy_cover(ball_grid(1, whole[-1] / 2), radius * (1 - 1e-9))) for radius in whole]
    return {
        "sizes of covers": Chain(
            {"volume": (np.array(least), np.array(sizes, float)), "fewer": (np.array(sizes) + 1.0, np.ceil(most))},
            aside={"dimension": np.repeat(dimensions, len(RADII)), "centres": centres},
        ),
        "packings of the interval": Identity(
            np.array(packings, float), np.array([cover_size(radius, 1) for radius in whole])
        ),
        "ratio of the volumes": Identity(
            np.array([[cover_size(radius, k) for radius in RADII] for k in (1, 2, 3)]),
            np.array([volumes(1 + radius / 2) / volumes(radius / 2) for radius in RADII]).T,
            aside={"larger": np.array([volumes(1 + radius / 2) / volumes(radius) for radius in RADII]).T},
        ),
        # From left to right, each interval as far as it may be from the last.
        "least covers of the interval": Exact(
            np.array([interval_cover_size(radius) for radius in (1.0, *RADII, 0.15)]),
            np.array([len(np.arange(-1, 1, 2 * radius)) for radius in (1.0, *RADII, 0.15)]),
        ),
        "least covers below the bound": Inequality(
            np.array([interval_cover_size(radius) for radius in RADII], float),
            np.array([cover_size(radius, 1) for radius in RADII]),
        ),
    }


@covers_of_the_ball.control("the printed size", erratum="A5.8a", of="least covers below the bound")
def printed_size(evidence):
    return replace(evidence, bound=np.array([(2 + radius) / (2 * radius) for radius in RADII]))


@covers_of_the_ball.control(
    "at least (2/ρ)^k, as if the balls of a cover were no larger than a packing's", of="sizes of covers"
)
def packing_for_cover(evidence):
    least, sizes = evidence.links["volume"]
    return replace(evidence, links={"volume": (least * 2.0 ** evidence.aside["dimension"], sizes)})


@covers_of_the_ball.control("small balls of radius ρ, not ρ/2", of="ratio of the volumes")
def balls_twice_as_large(evidence):
    return replace(evidence, right=evidence.aside["larger"])


@covers_of_the_ball.control("the announced number of steps", of="packings of the interval")
def announced_steps(evidence):
    return replace(evidence, right=np.asarray(evidence.right) - 1)


@covers_of_the_ball.picture
def packed_and_covered(pieces):
    """A greedy cover of the unit disc, ρ = ½, with discs of radius ρ and, dashed, ρ/2; and covers of the interval."""
    centres, turn = pieces["sizes of covers"].aside["centres"], np.linspace(0, 2 * np.pi, 60)
    circle = np.stack([np.cos(turn), np.sin(turn)])
    rings = [
        Line(name, *(centre[:, None] + radius * circle), thin=True, dashed=dashed)
        for name, radius, dashed in (("radius ρ", RADII[1], False), ("radius ρ/2", RADII[1] / 2, True))
        for centre in centres
    ]
    disc = Plane([*rings, Line("unit disc", *circle), Dots("centres", *centres.T)])
    interval = compared(
        RADII,
        lambda radius: (2 + radius) / radius,
        np.asarray(pieces["least covers below the bound"].quantity),
        rivals={"half of it, as printed": lambda radius: (2 + radius) / (2 * radius)},
        names=("(2 + ρ)/ρ, a bound", "least covers of the interval"),
        x="radius ρ",
        y="number of intervals",
        ys=(0, 10),
    )
    return Row([disc, interval])


@claim(
    items={},
    says=r"Between two parameters at distance $\rho$ the gap $R-R_S$ of a 1-Lipschitz loss may move by $2\rho$. Yet "
    r"with the smaller of their two losses at every point, $\ell$, each gap is at most $\rho+(\mathbb E-\mathbb "
    r"E_S)\ell$.",
    needs="one parameter, |w·x − y| on two atoms of the population, of which the sample contains only the first",
    over=dict(w=Reals(-1, 1), v=Reals(-1, 1), rare=Reals(0, 1), y=Reals(-1, 1)),
    symbols={
        r"\rho": "the distance of the two parameters",
        r"R,\ R_S": "the mean loss on the population and the sample",
        r"\ell": "at every point the smaller loss of the two parameters",
        r"\mathbb E,\ \mathbb E_S": "the mean over the population and over the sample",
    },
    why=r"Training and test loss may each move by $\rho$, in opposite directions. But a loss is at most $\rho$ above "
    r"the smaller of the two and nowhere below it, so measured from there only the test loss moves.",
    notice=r"Each dot is a pair of parameters. The gap may move by twice their distance, on the steeper line; "
    r"measured from the smaller of the two losses it moves by the distance at most.",
)
def gap_between_neighbours(w, v, rare, y):
    def losses(parameter):
        return jnp.stack([jnp.abs(parameter - y), jnp.abs(-parameter - y)])

    def gap(values):
        return (1 - rare) * values[0] + rare * values[1] - values[0]

    distance, smaller = jnp.abs(w - v), jnp.minimum(losses(w), losses(v))
    moved = gap(losses(w)) - gap(losses(v))
    above = gap(losses(w)) - gap(smaller)
    return Inequality(jnp.stack([moved, above]), jnp.stack([2 * distance, distance]), scale=1.0)


@gap_between_neighbours.control("ρ between neighbours, in place of 2ρ")
def one_change(evidence):
    return replace(evidence, bound=evidence.bound * np.asarray([0.5, 1.0]))


@gap_between_neighbours.control("half of ρ above the smaller of two losses")
def half_a_change(evidence):
    return replace(evidence, bound=evidence.bound * np.asarray([1.0, 0.5]))


@gap_between_neighbours.picture
def moves_of_the_gap(pieces):
    """How far the gap of one parameter lies from another's, and from that of the smaller loss, along their distance."""
    (piece,) = pieces.values()
    distance = np.asarray(piece.bound)[:, 1]
    moved, above = np.asarray(piece.quantity).T
    ends = np.array([0.0, 2.0])
    return Curves(
        [
            Line("twice the distance", ends, 2 * ends),
            Line("the distance", ends, ends),
            Dots("from the other parameter's gap", distance, moved),
            Dots("from that of the smaller loss", distance, above),
        ],
        x="distance ρ of the two parameters", y="difference of the gaps", ys=(-0.5, 4),
    )  # fmt: skip


@claim(
    items={
        "A5.9": (
            "deviation by cells",
            "probability of failure",
            "bound is reached",
            "term for the confidence",
            "values by hand",
        )
    },
    says=r"If losses in $[0,1]$ of parameters within $\rho\le1$ of each other differ by at most $\gamma$ on every "
    r"point, all of the unit ball of $\mathbb R^k$ has $R-R_S\le\gamma+2\sqrt{k\log(2/\rho)/m}$ with probability at "
    r"least $1-(5/256)^k$. For large $m$ the bound, $\gamma$, is reached.",
    needs="independent samples; the confidence is not printed, and is what the constants give",
    symbols={
        r"\rho": "a distance in parameter space",
        r"\gamma": "the most by which losses of two parameters so near each other differ, on any point",
        r"k": "the number of parameters",
        r"R,\ R_S": "the mean loss on the population and on the sample",
        r"m": "the size of the sample",
    },
    why=r"Cut the ball into at most $(1+4/\rho)^k$ cells of diameter $\rho$ and take in each cell the smallest loss "
    r"at every point. A member's test loss is at most $\gamma$ above it, and its training loss is nowhere below: so "
    r"one $\gamma$ is paid, not two. What is left is Hoeffding's bound for as many functions as there are cells. "
    r"Going from a cover's centre to its neighbours instead, both losses may move, and the same argument gives "
    r"$2\gamma$.",
    notice=r"A class of one parameter that fits every sample with losses 0 and $\gamma$ has a gap that comes to "
    r"$\gamma$ from below, the bound from above. Twice $\gamma$ is true as well, but nothing comes near it.",
    explore={"change": (0.1, 0.3, 0.8)},
)
def cover_bound(
    key,
    *,
    trials: Trials = 100,
    samples: Annotated[int, Interval(ge=10, le=10_000)] = 200,
    change: Annotated[float, Interval(ge=0.01, le=1)] = 0.3,
):
    draw = generator(key)
    x, y = draw.standard_normal((16, 2)), draw.uniform(-0.5, 0.5, 16)
    x /= 2 * np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1)
    grid = ball_grid(2, 0.1)
    losses = np.abs(grid @ x.T - y)
    assume(losses.max() <= 1, "the losses lie in [0, 1]")
    share = draw.multinomial(samples, np.full(16, 1 / 16), trials).T / samples

    def deviations(values):
        return np.max(values.mean(1)[:, None] - values @ share, axis=0)

    radii = np.array([0.2, 0.5, 1.0])
    cells = np.stack([deviations(smallest_in_cells(grid, losses, radius)) for radius in radii])
    once = np.linalg.norm(x, axis=1).max() * radii[:, None]
    # One parameter, losses (1 ± h)/2 on two atoms: the largest gap is the deviation of a binomial share.
    m, radius, p = np.meshgrid([20, 100, 500], [1.0, 0.3, 0.1, 0.01], [0.5, 0.2], indexing="ij")
    root = np.vectorize(normed_class_deviation)(0.0, radius, 1, m)
    # One parameter that picks any labels on m² atoms, losses 0 and γ: 0 on the sample, γ on what was not drawn.
    grown = 4 ** np.arange(2, 8)
    unseen = np.array([1 - len(np.unique(draw.integers(0, n * n, n))) / n**2 for n in grown])
    bound = np.array([normed_class_deviation(change, 1.0, 1, int(n)) for n in grown])
    few = np.array([10, 100, 1000])
    return {
        "deviation by cells": Inequality(
            np.broadcast_to(deviations(losses), cells.shape), once + cells, aside={"once": once}
        ),
        "probability of failure": Inequality(
            log_two_atoms(m, p, radius / 2 + root),
            np.vectorize(log_normed_class_failure)(radius, 1),
            log=True,
            aside={"samples": m, "share": p, "change": radius / 2, "root": root},
        ),
        "bound is reached": Limit(
            grown, bound - change * unseen, order=0.5, aside={"bound": bound, "gap": change * unseen, "change": change}
        ),
        # Of two equally likely atoms one alone is drawn with probability 2^−m; the gap is then ½.
        "term for the confidence": Inequality(
            0.5,
            np.array([cover_deviation(0.5, 0.01, 1, n, 0.5**n) for n in few.tolist()]),
            aside={"printed": np.array([normed_class_deviation(0.005, 0.01, 1, n) for n in few.tolist()])},
        ),
        # log(2/ρ) = 2 at ρ = 2/e²; at ρ = 1 there are five cells a dimension and the failure (5/256)^k, at ½ nine.
        "values by hand": Identity(
            np.array(
                [
                    normed_class_deviation(0.1, 2 / np.e**2, 2, 16),
                    normed_class_deviation(0.3, 2 / np.e**2, 8, 4),
                    log_normed_class_failure(1.0, 3),
                    log_normed_class_failure(0.5, 2),
                    cover_deviation(0.25, 1.0, 3, 50, 1 / 5),
                    cover_deviation(0.5, 0.5, 2, 8, 1 / 9),
                ]
            ),
            np.array(
                [
                    *(1.1, 4.3, 3 * np.log(5 / 256), 2 * np.log(9 / 65536)),
                    *(0.25 + np.sqrt(np.log(5.0) / 25), 0.25 + np.sqrt(3 * np.log(9) / 16)),
                ]
            ),
            condition=8.0,
            aside={"one parameter": np.array([0.1 + np.sqrt(0.5), 0.3 + np.sqrt(2.0)])},
        ),
    }


def smallest_in_cells(points, losses, diameter):
    """The pointwise smallest loss of each cell: the points nearest to one centre of a cover of half the diameter."""
    centres = greedy_cover(points, diameter / 2)
    nearest = np.argmin(np.linalg.norm(points[:, None] - centres, axis=2), axis=1)
    return np.stack([losses[nearest == cell].min(axis=0) for cell in range(len(centres))])


def log_two_atoms(samples, share, deviation):
    return np.maximum(log_binomial_deviation(samples, share, samples * deviation), NEVER)


@cover_bound.control("the cells' smallest losses alone, without γ", of="deviation by cells")
def without_change(evidence):
    return replace(evidence, bound=evidence.bound - evidence.aside["once"])


@cover_bound.control("the root without its factor two", of="probability of failure")
def without_two(evidence):
    aside = evidence.aside
    half = aside["change"] + aside["root"] / 2
    return replace(evidence, quantity=log_two_atoms(aside["samples"], aside["share"], half))


@cover_bound.control("twice γ is reached, what a cover and its neighbours give", of="bound is reached")
def twice_the_change(evidence):
    return replace(evidence, y=np.asarray(evidence.y) + evidence.aside["change"])


@cover_bound.control("for every sample, whatever its probability", of="term for the confidence")
def for_every_sample(evidence):
    return replace(evidence, bound=evidence.aside["printed"])


@cover_bound.control("the price of one parameter, however many there are", of="values by hand")
def one_parameter(evidence):
    right = np.array(evidence.right)
    right[:2] = evidence.aside["one parameter"]
    return replace(evidence, right=right)


@cover_bound.picture
def once_and_twice(pieces):
    """The gap of a class of one parameter that fits every sample, under the bound, as the sample grows."""
    piece = pieces["bound is reached"]
    change = float(piece.aside["change"])
    return compared(
        piece.x, piece.aside["bound"], piece.aside["gap"], Level("γ", y=change),
        rivals={"bound with 2γ, from a cover and its neighbours": piece.aside["bound"] + change},
        names=("bound", "gap observed"), x="samples m", y="generalization gap R − R_S", log="x",
    )  # fmt: skip
