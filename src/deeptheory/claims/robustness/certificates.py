"""Certificates of randomized smoothing: from finitely many votes, and of classifiers trained on noisy copies."""

from dataclasses import replace
from typing import Annotated, Literal

import jax
import numpy as np
from annotated_types import Interval
from scipy.special import ndtr
from scipy.stats import binom

from deeptheory.foundations.binomial import clopper_pearson_lower
from deeptheory.lab import Chance, Identity, Inequality, Trend, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Level, Line
from deeptheory.robustness.noise_training import certified_accuracy, fit_on_noisy_copies, two_moons
from deeptheory.robustness.smoothing import (
    boundary_distance,
    certificate_failure_probability,
    certified_radius,
    certify,
    smoothed_field,
    votes,
)


@claim(
    items={"A18.13": ("wrong certificates that were drawn", "probability of a wrong certificate")},
    says=r"A smoothed classifier lets noisy copies of an input vote. A certificate from the exact lower confidence "
    r"limit of the winning label's share, with the label chosen from separate votes, is wrong with probability at "
    r"most $\alpha$.",
    needs="two labels; the votes that choose the label are not those that measure it",
    full=dict(trials=40_000),
    symbols={
        r"\text{votes}": "the labels that a classifier gives to noisy copies of one input",
        r"\text{certificate}": "a distance up to which no change of the input takes the majority from the winning "
        "label; it grows with that label's share",
        r"\alpha": "the probability of a wrong certificate that is allowed",
    },
    why="The radius is wrong only if the lower limit of the winning label's share is above the true share, and an "
    r"exact binomial limit is so with probability at most $\alpha$, whatever the share. This needs votes that have "
    "not been looked at before: choosing the label by the same votes prefers labels that were lucky, and the limit "
    "forgets this.",
    notice=r"The exact chance of failure is a saw, since votes come in whole numbers: it touches $\alpha$ again and "
    "again and never passes it, for any number of votes. The dots are shares of certificates that were wrong among "
    "thousands, with two standard errors. Counting one vote too many breaks the promise.",
    explore={"votes_each": (30, 100, 400), "alpha": (0.05, 0.1, 0.2)},
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
    margins, noises = np.array([0.005, 0.5, 1.2]), np.array([0.4, 2.5, 1.0])  # distance to the boundary over β, and β
    failures, larger = np.empty((2, 3), int)
    for i, (margin, beta) in enumerate(zip(margins, noises, strict=True)):
        count, select = (
            votes(
                jax.random.fold_in(key, 2 * i + j),
                lambda x: (x[:, 0] > 0).astype(int),
                np.array([margin * beta]),
                beta=beta,
                samples=votes_each,
                repeats=trials,
            )
            for j in range(2)
        )
        level = alpha if limit == "confidence" else 0.5
        label, radius = certify(select if choosing == "separate" else count, count, beta=beta, delta=level)
        failures[i] = np.sum((label == 0) | ((label == 1) & (radius > margin * beta)))
        larger[i] = np.sum((label == 0) | ((label == 1) & (radius * beta > margin * beta)))
    p, n = np.meshgrid(np.linspace(0.005, 0.995, 199), [10, 30, 100, 300])
    exact = [certificate_failure_probability(row, int(size[0]), alpha) for row, size in zip(p, n, strict=True)]
    one_more = [
        binom.sf(
            np.searchsorted(clopper_pearson_lower(np.arange(size[0]) + 1, int(size[0]), alpha), row) - 1, size, row
        )
        for row, size in zip(p, n, strict=True)
    ]
    return {
        "wrong certificates that were drawn": Chance(
            failures, trials, alpha, along={"distance over beta": margins}, aside={"squared": larger}
        ),
        "probability of a wrong certificate": Inequality(
            np.array(exact), alpha, along={"votes": n[:, 0], "share": p[0]}, aside={"one vote more": np.array(one_more)}
        ),
    }


certificate_coverage.control(
    "one set of votes chooses and measures", of="wrong certificates that were drawn", choosing="same"
)
certificate_coverage.control(
    "the middle of the confidence interval for its lower end", of="wrong certificates that were drawn", limit="plug-in"
)


@certificate_coverage.control("β² for β in the radius", of="wrong certificates that were drawn")
def squared_noise(evidence):
    return replace(evidence, failures=evidence.aside["squared"])


@certificate_coverage.control("the limit of one vote more than was counted", of="probability of a wrong certificate")
def one_vote_more(evidence):
    return replace(evidence, quantity=evidence.aside["one vote more"])


@certificate_coverage.picture
def failures_by_share(pieces, settings):
    """How often the limit exceeds the true share of votes, exactly (line), and certificates seen to be wrong (dots)."""
    coverage = pieces["wrong certificates that were drawn"]
    votes_each, alpha = settings["votes_each"], settings["alpha"]
    limits = np.asarray(clopper_pearson_lower(np.arange(votes_each + 1), votes_each, alpha))
    # Both sides of each jump; of several hundred teeth some.
    teeth = limits[limits > 0.4][:: max(1, votes_each // 120)]
    share = np.sort(np.concatenate([teeth - 1e-9, teeth]))
    late = binom.sf(np.searchsorted(limits[1:], share, side="right") - 1, votes_each, share)
    failed = np.asarray(coverage.failures) / coverage.trials
    error = 2 * np.sqrt(failed * (1 - failed) / coverage.trials)
    marks = [
        Line("exact", share, certificate_failure_probability(share, votes_each, alpha)),
        Dots("observed", ndtr(np.asarray(coverage.along["distance over beta"])), failed, error),
        Line("", share, late, rival="the limit of one vote more"),
        Level("α", y=alpha),
    ]
    return Curves(marks, x="true share of the winning label", y="chance of a wrong certificate", xs=(0.4, 1.0))


def smoothed_labels(base, spacing, beta):
    """The shares of both labels in the votes at each point of a grid, and the radius that they certify there."""
    yes, no = smoothed_field(base * 1.0, spacing, beta), smoothed_field(~base * 1.0, spacing, beta)
    # A label that is certain to rounding counts as almost certain, which lowers its radius and keeps it finite.
    top, other = np.minimum(np.maximum(yes, no), 1 - 2.0**-53), np.maximum(np.minimum(yes, no), 1e-300)
    return yes, no, np.asarray(certified_radius(top, other, beta))


@claim(
    items={
        "A18.15": (
            "no attack within the radius",
            "certified below attacked accuracy",
            "clean accuracy falls with noise",
            "largest radius grows with noise",
        ),
        "A18.13": ("no attack within the radius", "votes of a half-plane", "radius of a half-plane"),
    },
    says="Train on Gaussian copies, smooth, certify: no perturbation inside the certified radius changes the smoothed "
    "label, so certified accuracy lies below attacked accuracy at every radius. More noise lowers clean accuracy and "
    "raises the largest radius.",
    needs="two moons in the plane; the classifier constant on cells of a grid, its votes exact, every cell attacked",
    scale="printed: deep nets on images; here: random features in the plane",
    symbols={
        r"\text{smoothed label}": "what most Gaussian copies of a point are called",
        r"\text{certified accuracy}": (
            "the share of points called rightly, with a certified radius of at least the one given"
        ),
        r"\text{attacked accuracy}": "the share still called rightly after the worst perturbation of that length",
    },
    full=dict(trials=64),
    why="The certificate is a statement about the smoothed classifier, which takes the majority of noisy copies, and "
    "holds whatever was trained; for a half-plane its radius is exact. Training on noisy copies makes the base "
    "classifier good at what it will be asked, so that majorities are large. The radius grows in proportion to the "
    "noise, but noise also blurs what it should tell apart.",
    notice="Each certified curve lies below the accuracy that survives the strongest attack in the plane, found by "
    "trying every cell. Little noise certifies more points near by and none far out; much noise costs accuracy "
    "near by and reaches farther.",
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
    clear = np.abs(scaled) < 4
    return {
        "votes of a half-plane": Identity(fields, ndtr(scaled), scale=1.0, size=len(axis)),
        # Φ⁻¹ magnifies the rounding of a probability near 1 by 1/φ.
        "radius of a half-plane": Identity(
            lengths[clear], np.abs(scaled * np.array(betas)[:, None])[clear], scale=1.0, condition=1e4
        ),
        "no attack within the radius": Inequality(radii, distances, error=1e-9),
        "certified below attacked accuracy": Inequality(
            curves[0], curves[1], aside={"radius": at, "noise": np.array(betas)}
        ),
        "clean accuracy falls with noise": Trend(clean[0] - clean[1]),
        "largest radius grows with noise": Trend(reach[1] - reach[0]),
    }


@noise_trained_certificates.control("the radius without its factor one half", of="radius of a half-plane")
def twice_the_radius(evidence):
    return replace(evidence, left=2 * evidence.left)


noise_trained_certificates.control(
    "the certificate covers the base classifier", of="no attack within the radius", certified="base"
)


@noise_trained_certificates.picture
def accuracy_by_radius(pieces):
    """Accuracy that is certified, and that survives every attack, by radius, for little noise and for much."""
    curve = pieces["certified below attacked accuracy"]
    radius, marks = curve.aside["radius"], []
    for b, beta in enumerate(curve.aside["noise"]):
        marks += [
            Line(f"certified, β = {beta:g}", radius, curve.quantity[:, b].mean(0)),
            Line(f"attacked, β = {beta:g}", radius, curve.bound[:, b].mean(0), dashed=True),
        ]
    return Curves(marks, x="radius", y="accuracy, mean over training sets", ys=(0, 1))
