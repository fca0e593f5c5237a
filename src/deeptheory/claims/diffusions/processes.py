"""Brownian motion and other processes with independent increments (arora 12.2)."""

from dataclasses import replace
from typing import Annotated

import numpy as np
from annotated_types import Interval
from scipy import special, stats

from deeptheory.diffusions.processes import (
    bridge_refined,
    compound_poisson_paths,
    gamma_paths,
    quadratic_variation,
    stable_paths,
    wiener_paths,
)
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Distribution, Law, Rate, Share, claim
from deeptheory.lab.pictures import Curves, Dots, Line, Row


@claim(
    items={
        "A12.7": (
            "law of gamma increments",
            "increments are uncorrelated",
            "intervals without a jump",
            "waves of stable increments",
        ),
        "A12.8": (
            "law of the increments",
            "covariance of two times",
            "squared distance of two paths",
            "quadratic variation",
            "slope of increments",
        ),
    },
    says=r"Brownian motion has increments $\mathcal N(0,\delta)$, covariance $\min(s,t)$ and squared increments that "
    r"add up to the time, with error $\sqrt{2/n}$; $|\Delta W|/\delta$ grows like $\delta^{-1/2}$. Gamma, compound "
    r"Poisson and stable processes jump; of the last $\mathbb E\cos\xi\Delta X=e^{-\delta|\xi|^\alpha}$.",
    needs="paths on a grid of times; a finer grid is filled in by Brownian bridges, the motion given its two ends",
    symbols={
        r"\mathcal N(0,\delta)": r"the Gaussian law of mean 0 and variance $\delta$",
        "s,t": "two times",
        r"\delta": "the length of a time interval",
        "n": "the number of intervals",
        r"\Delta W,\Delta X": "increments of Brownian motion and of a stable process",
        r"\xi": "a frequency",
        r"\alpha": "the index of a stable process, 2 for Brownian motion",
    },
    why="Independent increments make variances add, so the variance is in proportion to time and a typical move to "
    "its root. Divided by the time it took, such a move has no limit: there is no derivative. Squared moves do not "
    "cancel; their sum is an average of many independent terms. The same axioms without Gaussian increments allow "
    "any law that can be divided into arbitrarily many equal independent parts.",
    notice="Two Brownian paths from one start wander apart; drawn sixteen times finer (lines) they look no "
    "smoother than at the first times (dots). The gamma process only rises, the compound Poisson process waits and "
    "jumps, the stable one jumps both ways: Lévy processes if continuity is asked in probability, not of paths.",
)
def brownian_motion_among_levy_processes(key, *, trials: Annotated[int, Interval(ge=2000, le=400_000)] = 60000):
    random, steps = generator(key), 8
    wiener = bridge_refined(random, wiener_paths(random, trials, steps=steps // 2))
    gamma = gamma_paths(random, trials, steps=steps, rate=4.0)
    jumps = compound_poisson_paths(random, trials, steps=steps, rate=4.0)
    lag = 3
    # Increments of one lag from two different times, one from each half of the paths: one law.
    half = trials // 2
    moves, gains = (
        np.concatenate([each[:half, 1 + lag] - each[:half, 1], each[half:, 4 + lag] - each[half:, 4]])
        for each in (wiener, gamma)
    )
    times = np.arange(1, steps + 1) / steps
    products = wiener[:, 1:].T[:, None] * wiener[:, 1:].T[None]
    earlier, later = gamma[:, 4], gamma[:, 7] - gamma[:, 4]
    crossed = (earlier - earlier.mean()) * (later - later.mean()) / (earlier.std() * later.std())
    other = wiener_paths(random, trials, steps=steps)
    sizes = 2 ** np.arange(4, 11, 2)
    errors = [np.abs(quadratic_variation(wiener_paths(random, 400, steps=int(n))) - 1) for n in sizes]
    fine, strides = wiener_paths(random, 400, steps=256), 4 ** np.arange(4)
    slopes = [np.abs(fine[:, stride] - fine[:, 0]) / (stride / 256) for stride in strides]
    quiet = np.sum(np.diff(jumps, axis=1)[:, 0] == 0)
    indices, lags, waves = np.array([0.8, 1.0, 1.5]), np.array([1, 5]), np.array([0.5, 2.0])
    stable = np.stack([stable_paths(random, trials, steps=steps, index=index) for index in indices])
    leaps = np.stack([stable[..., 2 + each] - stable[..., 2] for each in lags], 1)
    waited = (lags / steps)[:, None]  # index × lag × frequency
    decay = waves ** indices[:, None, None]
    return {
        "law of the increments": Distribution(
            stats.norm.cdf(moves / np.sqrt(lag / steps)), aside={"wide": stats.norm.cdf(moves / (lag / steps))}
        ),
        "covariance of two times": Law(
            np.minimum.outer(times, times)[::3, ::3], products[::3, ::3], exact=True, scale=1.0
        ),
        "squared distance of two paths": Law(2 * times[1::3], (wiener[:, 2::3] - other[:, 2::3]).T ** 2, exact=True),
        "quadratic variation": Rate(sizes, np.array(errors), exponent=-0.5, rivals=(0.0, -1.0)),
        "slope of increments": Rate(strides / 256, np.array(slopes), exponent=-0.5, rivals=(0.0, -1.0)),
        "law of gamma increments": Distribution(
            special.gammainc(4.0 * lag / steps, gains),
            aside={"later": special.gammainc(4.0 * (lag + 1) / steps, gains)},
        ),
        "increments are uncorrelated": Law(0.0, crossed, exact=True, scale=1.0),
        "intervals without a jump": Share(
            quiet,
            trials,
            np.exp(-4.0 / steps),
            aside={
                "wiener": wiener[:2],
                "gamma": gamma_paths(random, 1, steps=256, rate=4.0)[0],
                "compound Poisson": compound_poisson_paths(random, 1, steps=256, rate=4.0)[0],
                "stable": stable_paths(random, 1, steps=256, index=1.5)[0],
                "times": np.append(0.0, times),
            },
        ),
        "waves of stable increments": Law(
            np.exp(-waited * decay),
            np.cos(waves[:, None] * leaps[:, :, None]),
            exact=True,
            scale=1.0,
            along={"index": indices, "lag": lags / steps, "frequency": waves},
            aside={"as Brownian": np.exp(-(waited ** (indices[:, None, None] / 2)) * decay)},
        ),
    }


@brownian_motion_among_levy_processes.control("a deviation of δ for √δ", of="law of the increments")
def linear_deviation(evidence):
    return replace(evidence, ranks=evidence.aside["wide"])


@brownian_motion_among_levy_processes.control("increments of the next longer lag", of="law of gamma increments")
def longer_lag(evidence):
    return replace(evidence, ranks=evidence.aside["later"])


@brownian_motion_among_levy_processes.control("scale √δ for every index", of="waves of stable increments")
def scaled_as_brownian(evidence):
    return replace(evidence, predicted=evidence.aside["as Brownian"])


@brownian_motion_among_levy_processes.control("covariance of the product st", of="covariance of two times")
def product_of_times(evidence):
    diagonal = np.diag(evidence.predicted)
    return replace(evidence, predicted=np.outer(diagonal, diagonal))


@brownian_motion_among_levy_processes.picture
def paths(pieces):
    """Two Brownian paths, filled in between their dots (left); three processes that jump, index 1.5 (right)."""
    aside = pieces["intervals without a jump"].aside
    times, fine, draw = aside["times"], aside["wiener"], np.random.default_rng(0)
    for _ in range(4):
        fine = bridge_refined(draw, fine)
    dense = np.linspace(0, 1, fine.shape[1])
    two = [Line(f"run {i + 1}", dense, path) for i, path in enumerate(fine)]
    two += [Dots(f"run {i + 1}", times, path) for i, path in enumerate(aside["wiener"])]
    held = np.repeat(np.linspace(0, 1, len(aside["gamma"])), 2)[1:]
    jumping = [Line(name, held, np.repeat(aside[name], 2)[:-1]) for name in ("gamma", "compound Poisson", "stable")]
    return Row([Curves(two, x="time", y="position W"), Curves(jumping, x="time", y="position")])
