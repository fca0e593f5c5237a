"""Randomized smoothing: what Gaussian votes guarantee, exactly and from finitely many of them."""

from dataclasses import replace
from typing import Annotated, Literal

import jax
import numpy as np
from annotated_types import Interval
from scipy.special import ndtr, ndtri

from deeptheory.foundations.binomial import clopper_pearson_lower, clopper_pearson_upper
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Chance, Identity, Inequality, Rate, Reals, Share, Trend, Trials, claim
from deeptheory.robustness.gaussian_ball import ball_marginal_cdf
from deeptheory.robustness.noise_training import certified_accuracy, fit_on_noisy_copies, two_moons
from deeptheory.robustness.smoothing import (
    boundary_distance,
    certificate_failure_probability,
    certified_radius,
    certify,
    halfspace_probability,
    smoothed_field,
    smoothed_probability_bound,
    votes,
    worst_profile,
)

Scale = Annotated[float, Interval(ge=0.01, le=100)]
WEIGHTS, BIAS = np.array([3.0, 0.0, -4.0]), 0.5
POINT = np.array([0.3, 1.0, -0.1])  # at distance 0.36 from the boundary
DISTANCE = float(POINT @ WEIGHTS + BIAS) / 5
BETAS = np.array([0.2, 0.4, 0.8, 1.6])


def halfspace(points):
    return (points @ WEIGHTS + BIAS > 0).astype(int)


@claim(
    items={"A18.11": ("votes", "error"), "A18.13": "radius"},
    says=r"Gaussian copies of $x$ fall on the side $w\cdot x+b>0$ with probability $\Phi((w\cdot x+b)/(\beta\|w\|))$; "
    r"$n$ votes estimate it with error of order $n^{-1/2}$; and the certified radius is the distance to the boundary, "
    r"whatever $\beta$.",
    needs="a linear classifier",
    full=dict(trials=2000),
)
def halfspace_votes(key, *, trials: Trials = 400):
    counts = [
        votes(jax.random.fold_in(key, i), halfspace, POINT, beta=beta, samples=150_000)[0, 0]
        for i, beta in enumerate(BETAS[1:])
    ]
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
    return {
        "votes": Share(np.array(counts), 150_000, 1 - predicted[1:], along={"beta": BETAS[1:]}),
        "error": Rate(sizes, np.abs(np.stack(shares) - predicted[2]), exponent=-0.5, rivals=(-1.0, 0.0)),
        "radius": Identity(radii, np.full(4, DISTANCE), condition=condition, along={"beta": BETAS}),
    }


@halfspace_votes.control("the noise level enters as a variance", of="votes")
def variance_for_deviation(evidence):
    return replace(evidence, predicted=ndtr(-DISTANCE / np.asarray(evidence.along["beta"]) ** 2))


@halfspace_votes.control("the radius without its factor one half", of="radius")
def no_half(evidence):
    return replace(evidence, left=2 * evidence.left)


@claim(
    items={"A18.12": ""},
    says=r"If Gaussian copies of $x$ get a label with probability $p$, copies of $x'$ get it with probability at least "
    r"$\Phi(\Phi^{-1}(p)-\|x-x'\|/\beta)$, whatever the classifier. No larger bound holds for all.",
    needs="Gaussian noise; the label's region drawn and searched along x′ − x as a half line and an interval",
    over=dict(edges=Reals(-4, 4, shape=(3,)), shift=Reals(0.05, 3.0)),
    each="array",
    draws=128,
)
def smoothing_stability(edges, shift, *, noise: Literal["gaussian", "ball"] = "gaussian", saving: Scale = 1.0):
    def probability(centre):
        cumulative = ndtr if noise == "gaussian" else lambda t: ball_marginal_cdf(t, 3)
        first, second, third = cumulative(np.sort(edges, axis=1) - centre[:, None]).T
        return first + third - second

    here, there = probability(0 * shift), probability(shift)
    # The rounding of p near 1 is magnified by Φ⁻¹: at |t| ≤ 4 by at most 1/φ(4).
    bound = smoothed_probability_bound(np.clip(here, 0, 1), shift * saving, 1.0)
    return Inequality(bound, there, error=1e-11)


smoothing_stability.control("noise uniform on the ball of radius β√d, said to be very close", noise="ball")
smoothing_stability.control("tightened a bit with nothing more known", saving=0.98)


@claim(
    items={"A18.12": ("networks", "half-spaces"), "A18.14": ("threshold", "profiles")},
    says=r"Among all profiles with the same probability at $x$ the one that keeps least at $x'$ is 1 up to "
    r"$\Phi^{-1}(p)$ and 0 beyond: a linear programme finds it, other profiles keep more, half-spaces attain it, and "
    r"votes of random networks never fall below.",
    needs="Gaussian noise; networks judged by exact limits of their votes at one in a billion",
    full=dict(trials=60),
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
    lower, upper = np.empty((2, trials))
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
        lower[t] = smoothed_probability_bound(
            clopper_pearson_lower(int(counts[0][label]), samples, 1e-9), float(np.linalg.norm(move)), 1.0
        )
        upper[t] = clopper_pearson_upper(int(counts[1][label]), samples, 1e-9)
    here = halfspace_probability(WEIGHTS, BIAS, POINT, 0.5)
    moved = np.array([halfspace_probability(WEIGHTS, BIAS, POINT - s * WEIGHTS / 5, 0.5) for s in (0.1, 0.5, 1.0)])
    attained = smoothed_probability_bound(here, np.array([0.1, 0.5, 1.0]), 0.5)
    labels = {"p": probabilities, "shift": shifts}
    return {
        "threshold": Identity(np.array(solved), bounds, error=1e-7, along=labels),  # feasibility tolerance of HiGHS
        "profiles": Inequality(float(smoothed_probability_bound(0.8, 1.0, 1.0)), values @ masses[1]),
        "half-spaces": Identity(attained, moved, condition=8.0),
        "networks": Inequality(lower, upper),
    }


@worst_case_profile.control("the profile is 1 from x on, not from minus infinity", of="threshold")
def from_x_on(evidence):
    p, shift = np.asarray(evidence.along["p"]), np.asarray(evidence.along["shift"])
    return replace(evidence, right=ndtr(ndtri(p) - shift) - ndtr(-shift))


@worst_case_profile.control("the probability falls linearly, by shift·φ(0)", of="threshold")
def linear_fall(evidence):
    p, shift = np.asarray(evidence.along["p"]), np.asarray(evidence.along["shift"])
    return replace(evidence, right=p - shift / np.sqrt(2 * np.pi))


@claim(
    items={"A18.13": ("coverage", "exact coverage")},
    says=r"A certificate from the exact lower confidence limit of the winning label's share, with the label chosen "
    r"from separate votes, is wrong with probability at most $\alpha$.",
    needs="two labels; the votes that choose the label are not those that measure it",
    full=dict(trials=40_000),
    explore={"votes_each": (25, 100, 400), "alpha": (0.05, 0.1, 0.2)},
)
def certificate_coverage(
    key,
    *,
    trials: Trials = 8000,
    votes_each: Annotated[int, Interval(ge=10, le=10_000)] = 100,
    alpha: Annotated[float, Interval(ge=0.05, le=0.5)] = 0.05,
    choosing: Literal["separate", "same"] = "separate",
    limit: Literal["confidence", "plug-in"] = "confidence",
):
    margins = np.array([0.005, 0.5, 1.2])  # distance to the boundary over β
    failures = np.empty(3, int)
    for i, margin in enumerate(margins):
        count, select = (
            votes(
                jax.random.fold_in(key, 2 * i + j),
                lambda x: (x[:, 0] > 0).astype(int),
                np.array([margin]),
                beta=1.0,
                samples=votes_each,
                repeats=trials,
            )
            for j in range(2)
        )
        level = alpha if limit == "confidence" else 0.5
        label, radius = certify(select if choosing == "separate" else count, count, beta=1.0, delta=level)
        failures[i] = np.sum((label == 0) | ((label == 1) & (radius > margin)))
    p, n = np.meshgrid(np.linspace(0.005, 0.995, 199), [10, 30, 100, 300])
    exact = [certificate_failure_probability(row, int(size[0]), alpha) for row, size in zip(p, n, strict=True)]
    return {
        "coverage": Chance(failures, trials, alpha, along={"distance over beta": margins}),
        "exact coverage": Inequality(np.array(exact), alpha),
    }


certificate_coverage.control("one set of votes chooses and measures", of="coverage", choosing="same")
certificate_coverage.control("the middle of the confidence interval for its lower end", of="coverage", limit="plug-in")


def smoothed_labels(base, spacing, beta):
    """The shares of both labels in the votes at each point of a grid, and the radius that they certify there."""
    yes, no = smoothed_field(base * 1.0, spacing, beta), smoothed_field(~base * 1.0, spacing, beta)
    # A label that is certain to rounding counts as almost certain, which lowers its radius and keeps it finite.
    top, other = np.minimum(np.maximum(yes, no), 1 - 2.0**-53), np.maximum(np.minimum(yes, no), 1e-300)
    return yes, no, np.asarray(certified_radius(top, other, beta))


@claim(
    items={
        "A18.15": ("attacked", "curve", "accuracy falls", "reach grows"),
        "A18.13": ("attacked", "field", "radius"),
    },
    says=r"Train on Gaussian copies, smooth, certify: no perturbation inside the certified radius changes the smoothed "
    r"label, so the certified accuracy lies below the attacked one at every radius; for a half-plane the radius is the "
    r"distance to its edge, no more and no less; with more noise the clean accuracy falls and the largest certified "
    r"radius rises.",
    needs="two moons in the plane; the classifier constant on cells of a grid, its votes exact, every cell attacked",
    scale="printed: deep nets on images; here: random features in the plane",
    full=dict(trials=64),
)
def noise_trained_certificates(key, *, trials: Trials = 20, certified: Literal["smoothed", "base"] = "smoothed"):
    betas, spacing, at = (0.15, 0.6), 0.06, np.linspace(0.05, 0.8, 16)
    axis = np.arange(-2.7, 2.7, spacing)
    grid = np.stack(np.meshgrid(axis, axis, indexing="ij"), -1).reshape(-1, 2)
    radii, distances = np.empty((2, trials, 2, 100))
    curves, clean, reach = np.empty((2, trials, 2, len(at))), np.empty((2, trials)), np.empty((2, trials))
    for t in range(trials):
        train, fit, test = (jax.random.fold_in(key, 3 * t + i) for i in range(3))
        points, labels = two_moons(test, 100)
        i, j = np.rint((points - axis[0]) / spacing).astype(int).T
        for b, beta in enumerate(betas):
            classify = fit_on_noisy_copies(fit, *two_moons(train, 100), beta=beta, copies=8, features=64)
            base = classify(grid).reshape(len(axis), -1) > 0
            yes, no, radius = smoothed_labels(base, spacing, beta)
            radius = radius[i, j]
            distance = boundary_distance(yes > no if certified == "smoothed" else base, spacing)[i, j]
            correct = ((yes > no)[i, j] == (labels == 1)).astype(int)
            radii[t, b], distances[t, b] = radius, distance
            curves[:, t, b] = certified_accuracy(radius, correct, at), certified_accuracy(distance, correct, at)
            clean[b, t], reach[b, t] = np.mean(correct), np.max(radius * correct)
    # A half-plane whose edge runs between two columns of cells is one exactly, wherever the grid ends.
    edge = axis - (axis[44] + axis[45]) / 2
    halves = [smoothed_labels(np.broadcast_to(edge[:, None] > 0, base.shape), spacing, beta) for beta in betas]
    fields, lengths = np.array([[yes, radius] for yes, _, radius in halves])[..., 0].swapaxes(0, 1)
    scaled = edge / np.array(betas)[:, None]
    seen = np.abs(scaled) < 4
    return {
        "field": Identity(fields, ndtr(scaled), scale=1.0, size=len(axis)),
        # Φ⁻¹ magnifies the rounding of a probability near 1 by 1/φ.
        "radius": Identity(lengths[seen], np.abs(scaled * np.array(betas)[:, None])[seen], scale=1.0, condition=1e4),
        "attacked": Inequality(radii, distances, error=1e-9),
        "curve": Inequality(curves[0], curves[1]),
        "accuracy falls": Trend(clean[0] - clean[1]),
        "reach grows": Trend(reach[1] - reach[0]),
    }


@noise_trained_certificates.control("the radius without its factor one half", of="radius")
def twice_the_radius(evidence):
    return replace(evidence, left=2 * evidence.left)


noise_trained_certificates.control("the certificate covers the base classifier", of="attacked", certified="base")
