"""Gaussian processes: the law of their paths, with and without given values."""

from dataclasses import replace
from typing import Literal

import jax
import numpy as np
from scipy.special import ndtr

from deeptheory.foundations.randomness import generator
from deeptheory.kernels.finite.features import rbf_kernel, sample_gaussian_process, zero_crossing_rate
from deeptheory.kernels.limits.gaussian_processes import conditional_law
from deeptheory.kernels.regression.predictions import GaussianLaw
from deeptheory.lab import Distribution, Law, Trials, claim
from deeptheory.lab.pictures import Curves, Line

rbf = jax.jit(rbf_kernel)
SPOTS = np.array([0.0, 0.2, 0.8, 1.2, 1.8, 3.0])
DRIFT = 0.5 + 0.3 * SPOTS
SCALES = np.array([0.5, 1.0, 1.6])
GIVEN, ASKED = np.array([0, 2, 4]), np.array([1, 3, 5])
"""Which spots are known and which are asked for, in the conditional law."""
STEPS = np.arange(161) / 10
conditioned = jax.jit(lambda covariance, values: conditional_law(GaussianLaw(DRIFT, covariance), GIVEN, values))


@claim(
    items={
        "L7.8": (
            "covariance of paths",
            "means of paths",
            "law of one value",
            "law of a sum of values",
            "covariance given some values",
        ),
        "L7.9": ("correlation at a distance", "zeros a unit of length"),
    },
    says=r"Given some values a Gaussian process with mean $\mu$ and covariance $\Sigma$ has at $t$ the mean "
    r"$\mu+\Sigma_{tX}\Sigma_{XX}^{-1}(f_X-\mu_X)$, and the Schur complement as covariance. For the RBF kernel of "
    r"scale $s$ a centred path has $1/(\pi s)$ zeros a unit of length.",
    needs="crossings: mean zero, and a grid much finer than the scale",
    full=dict(trials=500_000),
    symbols={
        r"\mu,\Sigma": "mean and covariance of the process",
        r"f_X": r"the values at given places $X$; $t$ is another place",
        r"s": r"the length scale of the RBF kernel $e^{-h^2/2s^2}$, $h$ the distance of two places",
        r"\text{Schur complement}": r"$\Sigma_{tt}-\Sigma_{tX}\Sigma_{XX}^{-1}\Sigma_{Xt}$",
    },
    why=r"All finite sets of values are jointly Gaussian with these moments, so what is known of some fixes the rest "
    r"up to a Gaussian that is independent of it: subtract the best linear prediction, and what is left is "
    r"uncorrelated with the given values, hence independent. By Rice's formula a smooth centred process crosses zero "
    r"at the rate $\frac1\pi\sqrt{-k''(0)/k(0)}$, which for the RBF kernel, whose correlation at distance $h$ is "
    r"$e^{-h^2/2s^2}$, is $1/\pi s$.",
    notice=r"Paths of three length scales: the longer the scale the slower they wander. They cross zero about $1/\pi "
    r"s$ times a unit of length.",
)
def gaussian_process_paths(key, *, trials: Trials = 100_000, paths: Literal["gaussian", "mixture"] = "gaussian"):
    found, rates, shown = [], [], []
    for draw, scale in zip(jax.random.split(key, len(SCALES)), SCALES, strict=True):
        law = GaussianLaw(DRIFT, rbf(SPOTS[:, None], scale=float(scale)))
        drawn = sample_gaussian_process(draw, law, count=trials)
        if paths == "mixture":  # a size of its own for each path, with mean square one: the same covariance
            drawn = DRIFT + (drawn - DRIFT) * np.sqrt(generator(draw).exponential(size=(trials, 1)))
        found.append(drawn)
        grid = scale * STEPS  # a step of a tenth of the scale misses one crossing in 1,200
        law = GaussianLaw(np.zeros(len(grid)), rbf(grid[:, None], scale=float(scale)))
        drawn = sample_gaussian_process(jax.random.fold_in(draw, 1), law, count=max(trials // 24, 8))
        shown.append(drawn[0])
        rates.append(np.sum(drawn[:, 1:] * drawn[:, :-1] < 0, axis=1) / grid[-1])
    centred = np.asarray(found) - DRIFT
    one = centred[1]
    known = np.asarray(rbf(SPOTS[:, None]))
    pairs, weights = np.triu_indices(len(SPOTS)), np.array([1.0, -2.0, 1.5, 0.5, -1.0, 1.0])
    mean, schur = conditioned(known, found[1][:, GIVEN])
    left = found[1][:, ASKED] - np.asarray(mean)
    # What is left over has the covariance of the Schur complement and ignores what was given.
    some = np.triu_indices(len(ASKED))
    leftover = np.concatenate([left[:, some[0]] * left[:, some[1]], left[:, 2:] * one[:, GIVEN]], axis=1).T
    schur, size = np.asarray(schur), np.sqrt(np.diag(schur))
    spots = {"spot": SPOTS}
    return {
        "means of paths": Law(DRIFT, found[1].T, exact=True, scale=1.0, along=spots),
        "covariance of paths": Law(known[pairs], (one[:, pairs[0]] * one[:, pairs[1]]).T, exact=True, scale=1.0),
        "law of one value": Distribution(ndtr(centred[0, :, 3])),
        "law of a sum of values": Distribution(ndtr(one @ weights / np.sqrt(weights @ known @ weights))),
        "covariance given some values": Law(
            np.append(schur[some], np.zeros(3)), leftover, exact=True,
            scale=np.append(np.outer(size, size)[some], [size[2]] * 3),
        ),
        "correlation at a distance": Law(
            np.exp(-((SPOTS[1:] / SCALES[:, None]) ** 2) / 2),
            (centred[:, :, :1] * centred[:, :, 1:]).transpose(0, 2, 1),
            exact=True, along={"scale": SCALES, "distance": SPOTS[1:]}, scale=1.0,
        ),
        "zeros a unit of length": Law(
            np.array([zero_crossing_rate(second_moment=float(scale) ** -2) for scale in SCALES]), np.asarray(rates),
            exact=True, along={"scale": SCALES}, aside={"paths": np.array(shown)},
        ),
    }  # fmt: skip


@gaussian_process_paths.picture
def paths_of_three_scales(pieces):
    """One centred path of each length scale over sixteen scales, each shifted for the eye; the line is its zero."""
    marks = []
    for place, (scale, path) in enumerate(zip(SCALES, pieces["zeros a unit of length"].aside["paths"], strict=True)):
        grid = scale * STEPS
        marks += [
            Line(f"s = {scale}", grid, path + 6 * place),
            Line(f"s = {scale}", grid, 0 * grid + 6 * place, thin=True),
        ]
    return Curves(
        marks, x="place on the line", y="value, shifted by 6 from scale to scale", xs=(0.0, float(16 * SCALES[0]))
    )


gaussian_process_paths.control(
    "paths of random size with the same covariance", of="law of one value", paths="mixture", trials=20_000
)


@gaussian_process_paths.control("only the crossings upward", of="zeros a unit of length")
def upward(evidence):
    return replace(evidence, predicted=evidence.predicted / 2)


@gaussian_process_paths.control("correlation $e^{-h^2/s^2}$", of="correlation at a distance")
def without_half(evidence):
    return replace(evidence, predicted=evidence.predicted**2)


@gaussian_process_paths.control("given values leave the variance alone", of="covariance given some values")
def unconditional(evidence):
    prior = np.asarray(rbf(SPOTS[ASKED, None]))[np.triu_indices(3)]
    return replace(evidence, predicted=np.append(prior, np.zeros(3)))


@gaussian_process_paths.control("values given up to noise of variance 1/10", of="covariance given some values")
def with_ridge(evidence):
    known = np.asarray(rbf(SPOTS[:, None]))
    cross = known[np.ix_(ASKED, GIVEN)]
    noisy = known[np.ix_(GIVEN, GIVEN)] + 0.1 * np.eye(3)
    rival = known[np.ix_(ASKED, ASKED)] - cross @ np.linalg.solve(noisy, cross.T)
    return replace(evidence, predicted=np.append(rival[np.triu_indices(3)], np.zeros(3)))
