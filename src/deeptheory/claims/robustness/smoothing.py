"""Randomized smoothing: what Gaussian votes guarantee, and which classifiers attain it."""

from dataclasses import replace
from typing import Annotated, Literal

import jax
import numpy as np
from annotated_types import Interval
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from deeptheory.foundations.binomial import clopper_pearson_lower, clopper_pearson_upper
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Identity, Inequality, Rate, Reals, Share, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Level, Line, Row, seen
from deeptheory.robustness.gaussian_ball import ball_marginal_cdf
from deeptheory.robustness.smoothing import (
    certified_radius,
    halfspace_probability,
    smoothed_probability_bound,
    votes,
    worst_profile,
)

Scale = Annotated[float, Interval(ge=0.01, le=100)]
WEIGHTS, BIAS = np.array([3.0, 0.0, -4.0]), 0.5
POINT = np.array([0.3, 1.0, -0.1])  # at distance 0.36 from the boundary
DISTANCE = float(POINT @ WEIGHTS + BIAS) / 5
BETAS = np.array([0.2, 0.4, 0.8, 1.6])
STRIPS = np.array([[0.1, 0.4], [0.5, 0.7], [1.3, 1.4], [0.2, 2.5], [-0.3, 0.9]])
"""Where a first label ends and another begins along a line, with a third between them."""


def halfspace(points):
    return (points @ WEIGHTS + BIAS > 0).astype(int)


def lead(move, first, last, noise):
    """By how much the label up to `first` is likelier than that from `last` on, once the point has moved."""
    return ndtr((first - move) / noise) - ndtr((move - last) / noise)


@claim(
    items={
        "A18.11": ("share of the votes", "error of the share"),
        "A18.13": ("radius with two labels", "radius with three labels"),
    },
    says=r"Gaussian copies of $x$ fall on the side $w\cdot x+b>0$ with probability $\Phi((w\cdot x+b)/(\beta\|w\|))$, "
    "which $n$ votes estimate with error of order $n^{-1/2}$. The certified radius "
    r"$\frac\beta2(\Phi^{-1}(p_1)-\Phi^{-1}(p_2))$ is the distance to the boundary, or to where two of three tie.",
    needs="a linear classifier, or one whose labels are strips across a line",
    full=dict(trials=2000),
    symbols={
        "x": "the point to be classified",
        "w, b": r"the half-space $w\cdot x+b>0$",
        r"\beta": "the standard deviation of the noise in each coordinate",
        r"\Phi": "the normal distribution function",
        "n": "the number of noisy copies, each one vote",
        "p_1, p_2": "the probabilities of the likeliest label and of the next",
    },
    why=r"Across the boundary the noise is one Gaussian of standard deviation $\beta$, so the share of votes is a "
    r"function of the distance over $\beta$ alone, and $\Phi^{-1}$ reads the distance off it. With three labels in "
    r"strips, moving towards the runner-up lowers the quantile of the first by the distance over $\beta$ and raises "
    "that of the other as much: they meet half-way. It is not enough to know the first label's share, unless all the "
    "rest is one label.",
    notice="The votes lie on one curve, though each dot has its own distance and its own noise. On the right, four "
    "times the votes halve the error.",
)
def halfspace_votes(key, *, trials: Trials = 400):
    # A point of its own for each β, nearer to the boundary or farther from it.
    moves = np.array([0.0, -0.1, 0.5])
    places = POINT + moves[:, None] * WEIGHTS / 5
    counts = [
        votes(jax.random.fold_in(key, i), halfspace, place, beta=beta, samples=150_000)[0, 0]
        for i, (place, beta) in enumerate(zip(places, BETAS[1:], strict=True))
    ]
    stated = [halfspace_probability(WEIGHTS, BIAS, place, b) for place, b in zip(places, BETAS[1:], strict=True)]
    predicted = np.array([halfspace_probability(WEIGHTS, BIAS, POINT, beta) for beta in BETAS])
    sizes = np.array([100, 400, 1600])
    shares = [
        votes(jax.random.fold_in(key, 10 + i), halfspace, POINT, beta=0.8, samples=n, repeats=trials)[:, 1] / n
        for i, n in enumerate(sizes)
    ]
    radii = certified_radius(predicted, 1 - predicted, BETAS)
    # Φ⁻¹ magnifies the rounding of a probability by p/(φ(z)·z).
    normal = ndtri(predicted)
    condition = predicted / (np.exp(-(normal**2) / 2) / np.sqrt(2 * np.pi) * normal)
    # Three labels in strips across a line: where the first and the last are equally likely is found by bisection.
    ends = np.repeat(STRIPS, 2, axis=0)
    noise = np.tile(BETAS[1:3], len(STRIPS))
    top, rest = ndtr(ends[:, 0] / noise), ndtr(-ends[:, 1] / noise)
    ties = [brentq(lead, 0, 5, args=(*end, b), xtol=1e-14) for end, b in zip(ends, noise, strict=True)]
    return {
        "share of the votes": Share(
            np.array(counts),
            150_000,
            1 - np.array(stated),
            along={"beta": BETAS[1:]},
            aside={"distance": DISTANCE + moves},
        ),
        "radius with three labels": Identity(
            certified_radius(top, rest, noise),
            np.array(ties),
            scale=1.0,
            condition=100.0,
            aside={"top": top, "noise": noise, "ends": ends},
        ),
        "error of the share": Rate(sizes, np.abs(np.stack(shares) - predicted[2]), exponent=-0.5, rivals=(-1.0, 0.0)),
        "radius with two labels": Identity(radii, np.full(4, DISTANCE), condition=condition, along={"beta": BETAS}),
    }


@halfspace_votes.control("the noise level enters as a variance", of="share of the votes")
def variance_for_deviation(evidence):
    return replace(evidence, predicted=ndtr(-evidence.aside["distance"] / np.asarray(evidence.along["beta"]) ** 2))


@halfspace_votes.control("the radius without its factor one half", of="radius with two labels")
def no_half(evidence):
    return replace(evidence, left=2 * evidence.left)


@halfspace_votes.control("the runner-up has all that the first label leaves", of="radius with three labels")
def rest_for_runner_up(evidence):
    top, noise = evidence.aside["top"], evidence.aside["noise"]
    return replace(evidence, left=certified_radius(top, 1 - top, noise))


@halfspace_votes.picture
def votes_and_radii(pieces):
    """Shares of votes against the distance in units of the noise (left), and the error of so many votes (right)."""
    counted, error = pieces["share of the votes"], pieces["error of the share"]
    z = np.linspace(0, 1.2, 100)
    at = counted.aside["distance"] / counted.along["beta"]
    shares = [
        Line("Φ(−distance/β)", z, ndtr(-z)),
        Dots("votes across the boundary", at, counted.count / counted.trials),
    ]
    sizes = np.asarray(error.x, float)
    falls = [
        seen("mean error", sizes, error.y),
        Line("order 1/√n", sizes, np.mean(error.y[-1]) * (sizes / sizes[-1]) ** -0.5),
    ]
    return Row(
        [
            Curves(shares, x="distance to the boundary, over β", y="share of votes"),
            Curves(falls, x="votes n", y="error of the share", log="xy"),
        ]
    )


@claim(
    items={"A18.12": ""},
    says=r"If Gaussian copies of $x$ get a label with probability $p$, copies of $x'$ get it with probability at least "
    r"$\Phi(\Phi^{-1}(p)-\|x-x'\|/\beta)$, whatever the classifier. No larger bound holds for all.",
    needs="Gaussian noise; the label's region drawn and searched along x′ − x as a half line and an interval",
    over=dict(edges=Reals(-4, 4, shape=(3,)), shift=Reals(0.05, 3.0), deviation=Reals(0.2, 5, log=True)),
    each="array",
    draws=128,
    symbols={
        "x, x'": "a point, and where it moves",
        "p": "the probability of the label at $x$",
        r"\Phi": "the normal distribution function",
        r"\beta": "the standard deviation of the noise in each coordinate",
    },
    why="Of all regions with probability $p$ under one Gaussian, which has least under a shifted one? By Neyman and "
    "Pearson, the one that takes points in order of the ratio of the two densities, and this ratio is monotone along "
    r"$x'-x$: a half-space. For a half-space the quantile $\Phi^{-1}$ of the probability falls by exactly the "
    r"distance over $\beta$.",
    notice="In normal quantiles a label can lose no more than the distance, whatever its region; it may gain. Regions "
    "found by the search lie on the line: they are half-spaces. A bound that is lower by a tenth, or by a fiftieth, "
    "is crossed.",
)
def smoothing_stability(
    edges, shift, deviation, *, noise: Literal["gaussian", "ball"] = "gaussian", saving: Scale = 1.0
):
    # Edges and the move are drawn in units of β, the deviation of the noise.
    places, distance = np.sort(edges, axis=1) * deviation[:, None], shift * deviation

    def probability(centre):
        cumulative = ndtr if noise == "gaussian" else lambda t: ball_marginal_cdf(t, 3)
        first, second, third = cumulative((places - centre[:, None]) / deviation[:, None]).T
        return first + third - second

    here, there = probability(0 * distance), probability(distance)
    # The rounding of p near 1 is magnified by Φ⁻¹: at |t| ≤ 4 by at most 1/φ(4).
    kept = np.clip(here, 0, 1)
    bound = smoothed_probability_bound(kept, distance * saving, deviation)
    aside = {"here": here, "there": there, "shift": shift, "without β": ndtr(ndtri(kept) - distance)}
    return Inequality(bound, there, error=1e-11, aside=aside)


@smoothing_stability.control("the distance itself, not in units of β")
def without_deviation(evidence):
    return replace(evidence, quantity=np.reshape(evidence.aside["without β"], np.shape(evidence.quantity)))


smoothing_stability.control("noise uniform on the ball of radius β√d, said to be very close", noise="ball")
smoothing_stability.control("tightened a bit with nothing more known", saving=0.98)


@smoothing_stability.picture
def quantiles_fall_by_the_distance(pieces):
    """How far the normal quantile of a label's probability falls when the point moves, for every region tried."""
    aside = pieces[""].aside
    here, there = (np.clip(aside[name], 1e-9, 1 - 1e-9) for name in ("here", "there"))
    ends = np.array([0.0, 3.0])
    marks = [
        Dots("regions, random and searched", aside["shift"], ndtri(here) - ndtri(there)),
        Line("no more than the distance", ends, ends),
        Line("no more than the distance", ends, 0.9 * ends, rival="a tenth less"),
    ]
    return Curves(marks, x="distance moved, over β", y="fall of the normal quantile, Φ⁻¹(p) − Φ⁻¹(p′)", ys=(-3, 3.2))


@claim(
    items={
        "A18.12": ("smoothed networks lose less", "half-spaces lose the most"),
        "A18.14": ("least probability by two routes", "other profiles lose less"),
    },
    says=r"Among all profiles with the same probability at $x$ the one that keeps least at $x'$ is 1 up to "
    r"$\Phi^{-1}(p)$ and 0 beyond: a linear programme finds it, other profiles keep more, half-spaces attain it, and "
    r"votes of random networks never fall below.",
    needs="Gaussian noise; networks judged by exact limits of their votes at one in a billion",
    full=dict(trials=60),
    symbols={
        "x, x'": "a point, and where it moves",
        "p": "the probability of the label at $x$",
        r"\Phi^{-1}": "the normal quantile",
    },
    why="Averaged over all directions but that of the movement, a classifier is a profile between 0 and 1 on a line. "
    "To keep least at $x'$ for a given probability at $x$, give the label where the Gaussian at $x$ is large beside "
    "that at $x'$: on a half line, behind $x$. As a linear programme it has one equality, so that an optimal profile "
    "is 0 or 1 on all cells but one.",
    notice="The worst profile is a step that reaches to minus infinity; one that is 1 from $x$ on only would have too "
    "small a probability. All other profiles keep more. On the right, the linear programme's values lie on "
    r"$\Phi(\Phi^{-1}(p)-s)$: the probability is down to one half after a distance $\beta\Phi^{-1}(p)$, soon if "
    "$p$ is just above one half.",
)
def worst_case_profile(key, *, trials: Trials = 20, samples: Annotated[int, Interval(ge=1000, le=10**6)] = 20_000):
    random = generator(key)
    probabilities, shifts = (grid.ravel() for grid in np.meshgrid([0.6, 0.8, 0.95], [0.3, 1.0]))
    bounds = smoothed_probability_bound(probabilities, shifts, 1.0)
    edges = [np.sort(np.append(np.linspace(-4, 4, 61), ndtri(p))) for p in probabilities]
    solved = [worst_profile(e, p, s)[1] for e, p, s in zip(edges, probabilities, shifts, strict=True)]
    # Profiles of the same probability: random values on cells, decreasing or not, mixed with 0 or 1 to hit p exactly.
    cells = np.linspace(-4, 4, 41)
    masses = [np.diff(ndtr(np.concatenate([[-np.inf], cells, [np.inf]]) - s)) for s in (0.0, 1.0)]
    values = random.random((trials, 42))
    values[::2] = -np.sort(-values[::2])
    share = values @ masses[0]
    values = np.where(
        (share > 0.8)[:, None], values * (0.8 / share)[:, None], 1 - (1 - values) * (0.2 / (1 - share))[:, None]
    )
    lower, upper, unmoved = np.empty((3, trials))
    for t in range(trials):
        d = 2 + t % 9
        first, second = random.standard_normal((d, 16)), random.standard_normal((16, 3))
        move = random.standard_normal(d) * 0.8 / np.sqrt(d)

        def classify(points, first=first, second=second):
            return np.argmax(np.maximum(points @ first, 0) @ second, axis=1)

        counts = [
            votes(jax.random.fold_in(key, 2 * t + i), classify, point, beta=1.0, samples=samples, labels=3)[0]
            for i, point in enumerate((np.zeros(d), move))
        ]
        label = int(np.argmax(counts[0]))
        unmoved[t] = clopper_pearson_lower(int(counts[0][label]), samples, 1e-9)
        lower[t] = smoothed_probability_bound(float(unmoved[t]), float(np.linalg.norm(move)), 1.0)
        upper[t] = clopper_pearson_upper(int(counts[1][label]), samples, 1e-9)
    here = halfspace_probability(WEIGHTS, BIAS, POINT, 0.5)
    moved = np.array([halfspace_probability(WEIGHTS, BIAS, POINT - s * WEIGHTS / 5, 0.5) for s in (0.1, 0.5, 1.0)])
    attained, squared = (smoothed_probability_bound(here, np.array([0.1, 0.5, 1.0]), beta) for beta in (0.5, 0.25))
    labels = {"p": probabilities, "shift": shifts}
    shown = {"p": 0.8, "cells": cells, "values": values}
    return {
        "least probability by two routes": Identity(
            np.array(solved), bounds, error=1e-7, along=labels
        ),  # feasibility tolerance of HiGHS
        "other profiles lose less": Inequality(
            float(smoothed_probability_bound(0.8, 1.0, 1.0)), values @ masses[1], aside=shown
        ),
        "half-spaces lose the most": Identity(attained, moved, condition=8.0, aside={"squared": squared}),
        "smoothed networks lose less": Inequality(lower, upper, aside={"unmoved": unmoved}),
    }


@worst_case_profile.control("the profile is 1 from x on, not from minus infinity", of="least probability by two routes")
def from_x_on(evidence):
    p, shift = np.asarray(evidence.along["p"]), np.asarray(evidence.along["shift"])
    return replace(evidence, right=ndtr(ndtri(p) - shift) - ndtr(-shift))


@worst_case_profile.control("the noise level enters as a variance", of="half-spaces lose the most")
def squared_noise(evidence):
    return replace(evidence, left=evidence.aside["squared"])


@worst_case_profile.control("votes do not fall at all", of="smoothed networks lose less")
def votes_stay(evidence):
    return replace(evidence, quantity=evidence.aside["unmoved"])


@worst_case_profile.control("the shift the other way: Φ(Φ⁻¹(p) + shift)", of="other profiles lose less")
def other_way(evidence):
    bound = np.asarray(evidence.quantity)
    return replace(evidence, quantity=ndtr(2 * ndtri(evidence.aside["p"]) - ndtri(bound)))


@worst_case_profile.control("the probability falls linearly, by shift·φ(0)", of="least probability by two routes")
def linear_fall(evidence):
    p, shift = np.asarray(evidence.along["p"]), np.asarray(evidence.along["shift"])
    return replace(evidence, right=p - shift / np.sqrt(2 * np.pi))


@worst_case_profile.picture
def profiles_and_what_they_keep(pieces):
    """Profiles of probability 0.8 at x (left), and what the worst one keeps as the point moves (right)."""
    found, solved = pieces["other profiles lose less"], pieces["least probability by two routes"]
    cells, values = found.aside["cells"], found.aside["values"]
    edge = float(ndtri(found.aside["p"]))
    shape = [
        Line("others", cells, values[0][1:]),
        Line("others", cells, values[1][1:]),
        Line("keeps least", [-4, edge, edge, 4], [1, 1, 0, 0]),
        Line("keeps least", [-4, 0, 0, edge, edge, 4], [0, 0, 1, 1, 0, 0], rival="only from x on"),
        Level("x", x=0.0),
    ]
    p, shift, move = solved.along["p"], solved.along["shift"], np.linspace(0, 1.5, 60)
    keeps = []
    for own in np.unique(p):
        keeps += [
            Line(f"p = {own:g}", move, ndtr(ndtri(own) - move)),
            Dots(f"p = {own:g}", shift[p == own], solved.left[p == own]),
        ]
    return Row(
        [
            Curves(shape, x="along x′ − x, in units of β", y="share of the label"),
            Curves(keeps, x="distance moved, over β", y="least probability kept", ys=(0, 1)),
        ]
    )
