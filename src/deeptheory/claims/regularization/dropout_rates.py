"""Matrix completion with dropout, trained: a larger rate, a smaller gap; a larger ball for the rows, a larger one."""

from dataclasses import replace
from functools import partial
from typing import Annotated, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval, MinLen

from deeptheory.foundations.randomness import generator
from deeptheory.lab import Inequality, Law, Sizes, Trend, Trials, claim
from deeptheory.lab.pictures import Curves, Line, Stack, seen
from deeptheory.regularization.completion import (
    completion_loss,
    completion_regularizer,
    completion_terms,
    weighted_optimum,
    weighted_trace_norm,
)
from deeptheory.regularization.descents import dropout_descent, max_norm_projection
from deeptheory.regularization.masks import dropout_strength

TALL, WIDE, WIDTH = 12, 10, 4
ROW_LAW, COLUMN_LAW = (law / law.sum() for law in (1 / np.arange(3.0, 3 + TALL), 1 / np.arange(3.0, 3 + WIDE)))
DELTA = 0.1


@partial(jax.jit, static_argnames="steps")
def minimizers(starts, shares, targets, strengths, square, *, steps=400):
    """Factors that minimise the dropout objective of completion, rows kept within a squared norm.

    `shares` says how often each entry was seen and `targets` with which mean label, a matrix for each problem, so that
    any number of entries costs the same. Steps have momentum: rare entries have small slopes, and took four times as
    many without.
    """

    def run(start, share, target, strength):
        def objective(factors):
            left, right = factors[:TALL], factors[TALL:]
            loss = jnp.sum(share * (target - left @ right.T) ** 2)
            return TALL * WIDE * (loss + strength * jnp.sum(share * (left**2 @ (right**2).T)))

        def body(_, state):
            now, before = state
            ahead = now + 0.9 * (now - before)
            return max_norm_projection(ahead - 0.02 / (1 + strength) * jax.grad(objective)(ahead), square), now

        return jax.lax.fori_loop(0, steps, body, (start, start))[0]

    return jax.vmap(run)(starts, shares, targets, strengths)


measures = jax.jit(
    jax.vmap(
        lambda factors, rows, columns, labels: (
            completion_loss(factors[:TALL], factors[TALL:], rows, columns, labels),
            WIDTH * completion_regularizer(factors[:TALL], factors[TALL:], rows, columns),
        )
    )
)


class Trained(NamedTuple):
    """Training error, error on all entries and capacity, a row for each rate and a column for each trial."""

    training: np.ndarray
    testing: np.ndarray
    capacity: np.ndarray


def sampled(draw, target, count, trials, noise):
    """Entries of a target drawn with noise on their labels; how often each was seen, and its mean label."""
    rows, columns = (draw.choice(len(one), (trials, count), p=one) for one in (ROW_LAW, COLUMN_LAW))
    labels = target[rows, columns] + noise * draw.standard_normal((trials, count))
    shares, sums = np.zeros((2, trials, TALL, WIDE))
    trial = np.arange(trials)[:, None]
    np.add.at(shares, (trial, rows, columns), 1 / count)
    np.add.at(sums, (trial, rows, columns), labels / count)
    return (rows, columns, labels), shares, np.divide(sums, shares, out=np.zeros_like(sums), where=shares > 0)


def population_errors(target, factors, noise):
    """The mean squared error over all entries, with noise on their labels."""
    made = factors[:, :TALL] @ np.swapaxes(factors[:, TALL:], 1, 2)
    return np.sum(np.outer(ROW_LAW, COLUMN_LAW) * (target - made) ** 2, axis=(1, 2)) + noise**2


def trained(draw, target, strengths, count, trials, square, noise=0.0):
    """Draw entries of a target, with noise on their labels, and minimise the dropout objective at each strength."""
    seen_at, shares, means = sampled(draw, target, count, trials, noise)
    starts = 0.3 * draw.standard_normal((trials, TALL + WIDE, WIDTH))
    cases = [np.tile(each, (len(strengths), 1, 1)) for each in (starts, shares, means)]
    factors = np.asarray(minimizers(*cases, np.repeat(strengths, trials), square))
    losses, capacities = map(np.asarray, measures(factors, *(np.tile(each, (len(strengths), 1)) for each in seen_at)))
    errors = population_errors(target, factors, noise)
    return Trained(*(each.reshape(len(strengths), trials) for each in (losses, errors, capacities)))


def popular_target(draw):
    """A target of rank two, its largest entry one, with rows and columns as long as they are likely, in random ways.

    Its squared weighted trace norm is about twice the one without weights, so that the two are told apart; for a target
    of random entries they can agree.
    """
    angles = draw.uniform(0, 2 * np.pi, TALL + WIDE)
    lengths = np.concatenate([ROW_LAW, COLUMN_LAW])
    sides = lengths[:, None] * np.column_stack([np.cos(angles), np.sin(angles)])
    target = sides[:TALL] @ sides[TALL:].T
    return target / np.abs(target).max()


def terms(found, entries, square):
    """The two terms of the bound, with both open constants one, at the capacity that was found."""
    return np.asarray(
        sum(completion_terms(entries=entries, larger=TALL, capacity=found.capacity, square=square, delta=DELTA))
    )


@claim(
    items={
        "A11.14": "gap below the two terms",
        "A11.17": ("capacity for many entries", "capacity falls", "gap with noisy labels falls"),
    },
    says=r"Completion with dropout at a larger rate has a smaller capacity $\alpha=d_1\hat R$; for many entries "
    r"$\alpha$ is the squared weighted trace norm of the optimum. The gap stays below "
    r"$(1+\gamma)\sqrt{\alpha d_2\log d_2/n}+(1+\gamma^2)\sqrt{\log(2/\delta)/2n}$, and falls with the rate if "
    "labels are noisy.",
    needs=r"entries of the target at most one; $C=C'=1$, which the book leaves open; rows of squared norm at most "
    r"$\gamma$",
    symbols={
        r"\alpha": r"the capacity: the width $d_1$ times the dropout penalty $\hat R$ of the trained factors",
        r"\gamma": "the largest squared norm that a row of the factors may have",
        "d_2": "the number of rows, the larger one",
        "n": "the number of entries seen",
        r"\delta": "the chance that the bound may fail with, here a tenth",
    },
    why=r"Dropout minimises loss plus $\frac p{1-p}\hat R$, so a larger rate buys a smaller $\hat R$. A small $\hat R$ "
    "means a small weighted trace norm, and few matrices have one: fewer can fit by chance what was seen and miss the "
    r"rest. With many entries $\hat R$ is near its mean, whose least value over factors is the squared weighted trace "
    "norm of the product over the width, and the product is the optimum that shrinkage gives.",
    notice="Above, the capacity falls with the rate, to what it is for infinitely many entries, in which no training "
    "enters. Below, with noisy labels: training error rises, the error on all entries falls, and the gap closes.",
    full=dict(trials=64),
)
def dropout_rate_closes_the_gap(
    key,
    *,
    rates: Annotated[tuple[float, ...], Interval(ge=0.02, le=0.9), MinLen(2)] = (0.2, 0.5, 0.8),
    entries: Annotated[int, Interval(ge=30, le=2000)] = 160,
    sizes: Sizes = (8000, 32_000),
    trials: Trials = 16,
    square: Annotated[float, Interval(ge=0.5, le=10.0)] = 2.0,
):
    draw = generator(key)
    target = popular_target(draw)
    strengths = np.asarray([dropout_strength(rate) for rate in rates])
    # Noise as large as the largest entry: what is fitted by chance is then most of the gap, and its fall is plain.
    few, noisy, large = (
        trained(draw, size * target, strengths, entries, trials, square, noise)
        for size, noise in ((1, 0), (1, 1), (30, 0))
    )
    many = np.asarray([trained(draw, target, strengths, size, trials, square).capacity for size in sizes])
    optima = [weighted_optimum(target, ROW_LAW, COLUMN_LAW, WIDTH, rate) for rate in rates]
    gap = noisy.testing - noisy.training
    along, later = {"rate": np.asarray(rates)}, {"rate": np.asarray(rates[1:])}
    return {
        "gap below the two terms": Inequality(
            few.testing - few.training,
            terms(few, entries, square),
            along=along,
            aside={"gap of a large target": large.testing - large.training, "its bound": terms(large, entries, square)},
        ),
        "capacity for many entries": Law(
            np.asarray([weighted_trace_norm(each, ROW_LAW, COLUMN_LAW) ** 2 for each in optima]),
            many,
            sizes=sizes,
            order=1,
            along=along,
            aside={
                "few": few.capacity,
                "not shrunk": np.full(len(rates), weighted_trace_norm(target, ROW_LAW, COLUMN_LAW) ** 2),
                "not weighted": np.asarray([np.linalg.norm(each, "nuc") ** 2 / TALL / WIDE for each in optima]),
            },
        ),
        "capacity falls": Trend(few.capacity[:-1] - few.capacity[1:], along=later),
        "gap with noisy labels falls": Trend(
            gap[:-1] - gap[1:], along=later, aside={"training": noisy.training, "testing": noisy.testing}
        ),
    }


@dropout_rate_closes_the_gap.control("entries of the target up to thirty", of="gap below the two terms")
def large_target(evidence):
    return replace(evidence, quantity=evidence.aside["gap of a large target"], bound=evidence.aside["its bound"])


@dropout_rate_closes_the_gap.control("the trace norm of the target, not of the optimum", of="capacity for many entries")
def not_shrunk(evidence):
    return replace(evidence, predicted=evidence.aside["not shrunk"])


@dropout_rate_closes_the_gap.control("the trace norm without weights", of="capacity for many entries")
def not_weighted(evidence):
    return replace(evidence, predicted=evidence.aside["not weighted"])


@dropout_rate_closes_the_gap.picture
def capacity_and_gap(pieces):
    """Capacity against the dropout rate (above); errors with noisy labels, on the entries seen and on all (below)."""
    law, noisy = pieces["capacity for many entries"], pieces["gap with noisy labels falls"]
    rates = np.asarray(law.along["rate"])
    capacities = [
        Line("infinitely many entries", rates, law.predicted),
        seen("most entries", rates, np.asarray(law.observed)[-1]),
        seen("few entries", rates, law.aside["few"]),
    ]
    errors = [seen("entries seen", rates, noisy.aside["training"]), seen("all entries", rates, noisy.aside["testing"])]
    rate = "dropout rate p"
    return Stack([Curves(capacities, x=rate, y="capacity α"), Curves(errors, x=rate, y="mean squared error")])


@partial(jax.jit, static_argnames="steps")
def confined(keys, starts, shares, targets, rate, square, *, steps=1500):
    """Factors after dropout descent, a fresh mask at every step, each followed by the projection of all rows."""

    def run(key, start, share, target):
        def loss(factors, mask):
            return TALL * WIDE * jnp.sum(share * (target - (factors[:TALL] * mask) @ factors[TALL:].T) ** 2)

        within = partial(max_norm_projection, square=square)
        return dropout_descent(key, loss, within(start), width=WIDTH, rate=rate, step=0.005, steps=steps, after=within)[
            0
        ]

    return jax.vmap(run)(keys, starts, shares, targets)


@claim(
    items={"A11.16": ("rows stay in the ball", "training error falls", "gap grows")},
    says=r"Dropout with a projection after each step, of every row to the ball of squared norm $\gamma$, never leaves "
    r"the ball. With a larger $\gamma$ the training error of completion is smaller and the gap is larger.",
    needs="labels with noise; fewer entries than would average it away",
    symbols={r"\gamma": "the largest squared norm that a row of the factors may have"},
    why="The entry of a product of two factors is at most the product of the lengths of two rows, so a small ball "
    "holds products of small entries only. A larger ball holds all that a smaller one does, and more: labels are "
    "fitted better, their noise too, and what was fitted by chance is not found again on the other entries.",
    notice="With the ball the training error falls all the way, and the error on all entries soon rises: the gap "
    "between them opens.",
    full=dict(trials=192),
)
def a_wider_ball_opens_the_gap(
    key,
    *,
    squares: Annotated[tuple[float, ...], Interval(ge=0.05, le=4.0), "increasing", MinLen(2)] = (0.2, 0.5, 1.25),
    rate: Annotated[float, Interval(ge=0.05, le=0.5)] = 0.2,
    entries: Annotated[int, Interval(ge=60, le=1000)] = 160,
    trials: Trials = 64,
):
    draw = generator(key)
    target = popular_target(draw)
    seen_at, shares, means = sampled(draw, target, entries, trials, 1.0)
    starts = 0.3 * draw.standard_normal((trials, TALL + WIDE, WIDTH))
    keys = jax.random.split(jax.random.fold_in(key, 1), trials)
    # The same entries, starts and masks for all balls.
    ends = np.asarray([confined(keys, starts, shares, means, rate, square) for square in squares])
    training = np.asarray([measures(factors, *seen_at)[0] for factors in ends])
    testing = np.asarray([population_errors(target, factors, 1.0) for factors in ends])
    gap, balls = testing - training, np.asarray(squares)
    later = {"square": balls[1:]}
    return {
        "rows stay in the ball": Inequality(
            np.sum(ends**2, axis=3).max(2), balls[:, None], error=1e-12, along={"square": balls}
        ),
        "training error falls": Trend(
            training[:-1] - training[1:],
            along=later,
            aside={"training": training, "testing": testing, "squares": balls},
        ),
        # By a tenth of the noise at least, more than the error on all entries does.
        "gap grows": Trend(
            gap[1:] - gap[:-1] - 0.1, along=later, aside={"on all entries": testing[1:] - testing[:-1] - 0.1}
        ),
    }


@a_wider_ball_opens_the_gap.control("γ bounds the norm, not its square", of="rows stay in the ball")
def norm_for_square(evidence):
    return replace(evidence, quantity=np.sqrt(evidence.quantity))


@a_wider_ball_opens_the_gap.control("the error on all entries alone, not the gap", of="gap grows")
def error_on_all_entries(evidence):
    return replace(evidence, differences=evidence.aside["on all entries"])


@a_wider_ball_opens_the_gap.control("the error on all entries falls with it", of="training error falls")
def better_everywhere(evidence):
    testing = np.asarray(evidence.aside["testing"])
    return replace(evidence, differences=testing[:-1] - testing[1:])


@a_wider_ball_opens_the_gap.picture
def errors_against_the_ball(pieces):
    """Mean squared errors, on the entries seen and on all, against the largest squared norm of a row."""
    aside = pieces["training error falls"].aside
    marks = [
        seen("entries seen", aside["squares"], aside["training"]),
        seen("all entries", aside["squares"], aside["testing"]),
    ]
    return Curves(marks, x="largest squared norm of a row γ", y="mean squared error", log="x")
