"""The smallest eigenvalue of a sample covariance, and the ridge path down to the ridgeless bias."""

from dataclasses import replace
from typing import Any, Literal

import jax
import numpy as np

from deeptheory.foundations.randomness import generator
from deeptheory.generalization.interpolation.ridgeless import conditional_bias_variance
from deeptheory.lab import Identity, Inequality, Law, Limit, Rate, Share, Sizes, Trials, claim
from deeptheory.lab.pictures import Curves, Level, Line, Row, seen
from deeptheory.spectra.edges import smallest_eigenvalue_scaling, tracy_widom_cdf, wishart_eigenvalue_below
from deeptheory.spectra.entries import draw_entries
from deeptheory.spectra.marchenko_pastur import marchenko_pastur_edges, marchenko_pastur_pdf
from deeptheory.spectra.ridge_path import (
    bilinear_resolvent,
    ridge_bias,
    ridge_bias_limit,
    ridge_bias_slope,
    ridge_bias_slope_bound,
)
from deeptheory.spectra.spectral_measure import sample_covariance_eigenvalues
from deeptheory.spectra.stieltjes import marchenko_pastur_stieltjes

EDGE_CASES = ((0.25, "gaussian"), (0.25, "rademacher"), (4.0, "uniform"))
"""Dimension over samples, γ = p/n, with a law of the entries."""


GROWING = 80, 640, 5120
"""Numbers of samples at which Gaussian eigenvalues below the edge are counted, a quarter as many dimensions each."""


@claim(
    items={
        "J7.5": ("place of the edge", "distance from the edge", "share below the edge", "width of the fluctuations")
    },
    says=r"The smallest nonzero eigenvalue of a sample covariance tends to $(1-\sqrt\gamma)^2$ on both sides of "
    r"$\gamma=1$, at distances of order $n^{-2/3}$ and from both sides: for Gaussian entries the share of draws below "
    r"the edge tends to $1-F_1(0)=0.168$.",
    needs="independent entries of mean 0, variance 1, finite fourth moment; γ ≠ 1",
    full=dict(sizes=(50, 100, 200, 400), trials=400),
    symbols={
        r"\gamma": "dimension over samples, $p/n$",
        r"n": "the number of samples",
        r"F_1": "the Tracy–Widom distribution function of real symmetric matrices",
        r"p": "the dimension",
        r"c": "how steeply the limiting density leaves its lower edge",
        r"\lambda_-": r"the lower edge $(1-\sqrt\gamma)^2$ of the Marchenko–Pastur law",
    },
    why=r"Beside its edge the limiting density is $c\sqrt{x-\lambda_-}$, so $p$ eigenvalues leave the first of them "
    r"room of order $p^{-2/3}$; the unit is $(\pi cp)^{-2/3}$, up to which a fifth of one is expected. In it the "
    r"smallest eigenvalue keeps fluctuating as $n$ grows, by the Tracy–Widom law, whose mass lies on both sides of "
    r"the edge. An event whose probability stays at 0.17 does not stop happening.",
    notice=r"The share of matrices with an eigenvalue below the edge does not fall with $n$; it rises to the sixth "
    "that the Tracy–Widom law gives. Had the eigenvalue stayed above the edge for all large $n$, the share would "
    "fall to zero.",
)
def smallest_eigenvalue(key, *, sizes: Sizes = (30, 60, 120), trials: Trials = 256):
    least = np.empty((len(sizes), len(EDGE_CASES), trials))
    edges = np.asarray([marchenko_pastur_edges(gamma)[0] for gamma, _ in EDGE_CASES])
    for i, j in np.ndindex(least.shape[:2]):
        gamma, entries = EDGE_CASES[j]
        # `sizes` are those of the smaller side, whichever it is.
        dimension = int(sizes[i] * max(gamma, 1.0))
        x = draw_entries(jax.random.fold_in(key, 3 * i + j), (trials, dimension, round(dimension / gamma)), entries)
        least[i, j] = sample_covariance_eigenvalues(x)[:, max(0, dimension - x.shape[2])]
    shapes = ((20, 80), (20, 40))
    shares, predicted = [], []
    for k, (dimension, samples) in enumerate(shapes):
        x = draw_entries(jax.random.fold_in(key, 100 + k), (25 * trials, dimension, samples))
        edge = marchenko_pastur_edges(dimension / samples)[0]
        shares.append((sample_covariance_eigenvalues(x)[:, 0] < edge).sum())
        centre, scale = smallest_eigenvalue_scaling(dimension, samples)
        predicted.append(1 - tracy_widom_cdf((centre - np.log(edge)) / scale))
    edge = float(marchenko_pastur_edges(0.25)[0])
    counted = [
        wishart_eigenvalue_below(jax.random.fold_in(key, 200 + k), n // 4, n, edge, 40 * trials)
        for k, n in enumerate(GROWING)
    ]
    # Centre and width in the limit, at a thousand million dimensions: the edge, and what the density beside it gives.
    many, beside, widths = 10**9, 1e-9, []
    for ratio in (0.1, 0.25, 0.5, 0.8):
        edge = marchenko_pastur_edges(ratio)[0]
        rise = float(marchenko_pastur_pdf(np.asarray([edge * (1 + beside)]), ratio)[0]) / (edge * beside) ** 0.5
        scaling = smallest_eigenvalue_scaling(many, round(many / ratio))
        widths.append([np.exp(scaling[0]), edge])
        widths.append([scaling[1] * edge, (np.pi * rise * many) ** (-2 / 3)])
    cases = np.asarray([f"γ = {gamma:g}, {entries}" for gamma, entries in EDGE_CASES])
    return {
        # Terms beyond n^-⅔ leave two per cent at these sizes and the spread four: a tenth is what can be resolved.
        "place of the edge": Law(
            edges,
            least,
            along={"case": cases},
            sizes=sizes,
            order=2 / 3,
            resolution=0.1,
            aside={"gamma": np.asarray([gamma for gamma, _ in EDGE_CASES])},
        ),
        "distance from the edge": Rate(
            np.asarray(sizes), (abs(least - edges[:, None]) / edges[:, None]).mean(1), exponent=-2 / 3
        ),
        "width of the fluctuations": Identity(*np.asarray(widths).T, condition=1e8),
        # Counts among thousands of draws resolve a fifth of a share of a sixth.
        "share below the edge, small matrices": Share(
            np.asarray(shares),
            25 * trials,
            np.asarray(predicted),
            resolution=0.3,
            along={"shape": np.asarray([f"{p}×{n}" for p, n in shapes])},
        ),
        # The centre lies of order 1/n from the edge, n^-⅓ in units of the width: so the share comes to its limit. Ten
        # thousand draws and the way from the last size to the limit leave an eighth of the share open.
        "share below the edge": Law(
            1 - float(tracy_widom_cdf(0.0)),
            np.asarray(counted, float),
            sizes=np.asarray(GROWING),
            order=1 / 3,
            resolution=0.2,
        ),
    }


@smallest_eigenvalue.control("never below the edge for n large, as printed", erratum="J7.5a", of="share below the edge")
def never_below(evidence):
    return replace(evidence, predicted=0.0, scale=evidence.predicted)


@smallest_eigenvalue.control("1 − F₂(0), the share for complex entries", of="share below the edge")
def complex_entries(evidence):
    return replace(evidence, predicted=1 - float(tracy_widom_cdf(0.0, symmetry=2)))


@smallest_eigenvalue.control("(1 − γ)² for the edge", of="place of the edge")
def without_the_root(evidence):
    return replace(evidence, predicted=(1 - evidence.aside["gamma"]) ** 2)


@smallest_eigenvalue.picture
def shares_below_the_edge(pieces):
    """The share of Gaussian covariances whose smallest eigenvalue lies below the edge, against the samples."""
    below = pieces["share below the edge"]
    return Curves(
        [
            seen("counted, p = n/4", below.sizes, below.observed),
            Level("1 − F₁(0), Tracy–Widom", y=float(below.predicted)),
            Level("never for n large", y=0.0, rival="as printed in Thm 7.5"),
        ],
        x="samples n",
        y="share of draws with λ₁ below (1 − √γ)²",
        log="x",
        ys=(-0.01, 0.2),
    )


GRID = np.append(1e-3, np.linspace(0.05, 2, 20))
RIDGES = np.asarray([0.05, 0.5, 2.0])
PATHS = ((0.5, "rademacher"), (2.0, "exponential"))


@claim(
    items={
        "J7.8": (
            "bias along the ridge",
            "slope of the bias",
            "bounds on the slope",
            "bounds attained",
            "distance from the limiting curve",
            "bias without a ridge",
            "limiting bias without a ridge",
        ),
        "J7.9": ("forms along the axes", "forms along spread directions"),
    },
    says=r"$f_n(z)=z\langle\beta,(\hat\Sigma+z)^{-1}\beta\rangle$ has slope "
    r"$\langle\beta,(\hat\Sigma+z)^{-2}\hat\Sigma\beta\rangle$, is at most $r^2$, and $|f_n'|\le "
    r"r^2\lambda_{\max}/(\lambda_{\min}^++z)^2$. It ends in the bias of ridgeless least squares at $z=0$, and tends "
    r"to $r^2zS_\gamma(-z)$ uniformly on $[0,2]$, which at zero is $r^2\max(0,1-1/\gamma)$.",
    needs="β fixed before the samples; independent entries of mean 0, variance 1 and a little over four moments",
    full=dict(sizes=(40, 80, 160, 320), trials=400),
    symbols={
        r"f_n(z)": r"what ridge regression of strength $z$ loses of $\beta$ along $\beta$: $\langle\beta,\beta-"
        r"(\hat\Sigma+z)^{-1}\hat\Sigma\beta\rangle$",
        r"z": r"the ridge; $\hat\Sigma+z$ is $\hat\Sigma$ plus $z$ times the identity",
        r"\beta": "the true coefficients, fixed before the samples; $r$ is their length",
        r"\hat\Sigma": "the covariance of $n$ samples of $p$ features",
        r"\lambda_{\max},\lambda_{\min}^+": "its largest and its least nonzero eigenvalue",
        r"S_\gamma": r"the Stieltjes transform of the Marchenko–Pastur law of ratio $\gamma=p/n$, to which the "
        r"eigenvalues of $\hat\Sigma$ tend: $S_\gamma(-z)$ is the mean of $1/(\lambda+z)$ over it",
    },
    why=r"The bias of ridgeless regression is the value at $z=0$ of a smooth path. For every $z>0$ the path has a "
    r"limit: $\langle\beta,(\hat\Sigma+z)^{-1}\beta\rangle$ sees the spectrum through a fixed direction, which is as "
    "good as the average over all directions, the Stieltjes transform. Its slopes are bounded through the least "
    r"nonzero eigenvalue, which stays away from zero for $\gamma\ne1$, so the limits in $n$ and in $z\to0$ may be "
    "exchanged.",
    notice=r"With fewer features than samples the path comes down to zero, with twice as many to one half: the share "
    "of the signal that the samples never see. Draws of moderate size already lie about the limit, on the left, "
    "with entries ±1, so near that it hides them; a direction chosen after the samples would not.",
)
def ridge_path_to_the_ridgeless_bias(
    key, *, sizes: Sizes = (32, 64, 128), trials: Trials = 200, direction: Literal["fixed", "top eigenvector"] = "fixed"
):
    shape = (len(sizes), len(PATHS))
    several, drawn = 8, {}
    distance = np.empty((*shape, trials))
    axes, spread = np.empty((2, *shape, len(RIDGES), trials))
    for i, j in np.ndindex(shape):
        size, (gamma, entries) = sizes[i], PATHS[j]
        x = draw_entries(jax.random.fold_in(key, 2 * i + j), (trials, size, round(size / gamma)), entries)
        values, vectors = np.linalg.eigh(x @ np.swapaxes(x, 1, 2) / x.shape[2])
        values = np.maximum(values, 0)
        # The mean over some fixed directions of one draw has less of the fluctuation left: coordinates, and signs.
        signs = np.sign(generator(jax.random.fold_in(key, 50 + i)).standard_normal((several, size))) / size**0.5
        one = vectors[:, :several] if direction == "fixed" else np.eye(size)[None, -1:] * np.ones((trials, 1, 1))
        paths = ridge_bias(values[:, None] * np.ones((1, one.shape[1], 1)), one, GRID)
        distance[i, j] = abs(paths - ridge_bias_limit(GRID, gamma)).max(-1).mean(-1)
        drawn[f"{gamma:g}"] = paths[:6].mean(1)  # at last those of the largest size
        many = values[:, None] * np.ones((1, several, 1))
        axes[i, j] = bilinear_resolvent(many, vectors[:, :several], RIDGES).mean(1).T
        spread[i, j] = bilinear_resolvent(many, 3 * signs @ vectors, RIDGES).mean(1).T
    draw = generator(key)
    path, slope, bounds, smaller, ends, attained = [], [], [], [], [], []
    for dimension, samples in ((12, 30), (30, 12)) * 3:
        x, beta = draw.standard_normal((dimension, samples)), draw.standard_normal(dimension)
        covariance, signal = x @ x.T / samples, beta @ beta
        values, vectors = np.linalg.eigh(covariance)
        values[: max(0, dimension - samples)] = 0  # they come out as ±1e-17, and the ridge below is nearly as small
        seen = beta @ vectors

        def solved(z, covariance=covariance, beta=beta):
            return z * (beta @ np.linalg.solve(covariance + z * np.eye(len(beta)), beta))

        path.append([ridge_bias(values, seen, GRID[1:]), [solved(z) for z in GRID[1:]]])
        slopes = ridge_bias_slope(values, seen, GRID[1:])
        # The derivative without cancellation: the imaginary part at z + ih.
        slope.append([slopes, [solved(z + 1e-20j).imag / 1e-20 for z in GRID[1:]]])
        positive = values[max(0, dimension - samples)]
        bound = ridge_bias_slope_bound(positive, values[-1], GRID[1:], signal)
        bounds.append([[path[-1][0], np.full(20, signal)], [slopes, bound]])
        largest = ridge_bias_slope_bound(values[-1], values[-1], GRID[1:], signal)
        smaller.append([np.full(20, signal), largest])
        bias = float(conditional_bias_variance(x.T, beta, 1.0).bias)
        ends.append([float(ridge_bias(values, seen, np.asarray([1e-9]))[0]), bias, 1e-9 * signal / positive])
        # Six equal eigenvalues and six zeros: β among the former attains the slope's bound, among the latter f's.
        level = draw.uniform(0.5, 2)
        flatter = np.repeat([0.0, level], 6)
        part = np.append(np.zeros(6), beta[:6])
        attained += [ridge_bias_slope(flatter, part, GRID) / ridge_bias_slope_bound(level, level, GRID, part @ part)]
        attained += [ridge_bias(flatter, part[::-1], GRID) / (part @ part)]
    limits = np.asarray([marchenko_pastur_stieltjes(-RIDGES, gamma).real for gamma, _ in PATHS])
    labels = {"case": np.asarray([f"γ = {gamma:g}, {entries}" for gamma, entries in PATHS]), "z": RIDGES}
    tight = np.swapaxes(bounds, 0, 2)
    ended = np.asarray(ends).T
    # Not at γ = 2 alone, where 1 − 1/γ is 1/γ.
    start = [ridge_bias_limit(np.asarray([0.0, 1e-9]), gamma, 3.0) for gamma in (0.5, 0.8, 1.6, 2.0, 5.0)]
    close: dict[str, Any] = dict(scale=40.0, condition=1e3, size=30.0)
    return {
        "bias along the ridge": Identity(*np.swapaxes(path, 0, 1), **close),
        "slope of the bias": Identity(*np.swapaxes(slope, 0, 1), scale=100.0, condition=1e4, size=30.0),
        "bounds on the slope": Inequality(tight[0], tight[1], aside={"rival": np.swapaxes(smaller, 0, 1)}),
        "bounds attained": Identity(np.asarray(attained), 1.0, size=12.0),
        "distance from the limiting curve": Limit(np.asarray(sizes), distance.mean(1), order=0.5, aside=drawn),
        "bias without a ridge": Identity(ended[0], ended[1], error=ended[2], **close),
        "limiting bias without a ridge": Identity(
            np.asarray(start), 3 * np.array([0, 0, 0.375, 0.5, 0.8])[:, None], scale=1.0, error=1e-7
        ),
        "forms along the axes": Law(limits, axes, along=labels, sizes=sizes, order=1.0),
        "forms along spread directions": Law(9 * limits, spread, along=labels, sizes=sizes, order=1.0),
    }


ridge_path_to_the_ridgeless_bias.control(
    "a direction that the samples choose", of="distance from the limiting curve", direction="top eigenvector", trials=16
)


@ridge_path_to_the_ridgeless_bias.control("1 + S/γ in the equation", of="forms along the axes")
def printed_denominator(evidence):
    rival = [marchenko_pastur_stieltjes(-evidence.along["z"], 1 / gamma).real for gamma, _ in PATHS]
    return replace(evidence, predicted=np.asarray(rival))


@ridge_path_to_the_ridgeless_bias.control("1 − 1/γ on both sides of one", of="limiting bias without a ridge")
def on_both_sides(evidence):
    return replace(evidence, right=3 * (1 - 1 / np.array([0.5, 0.8, 1.6, 2.0, 5.0]))[:, None])


@ridge_path_to_the_ridgeless_bias.control("λ_max for λ_min in the bound on the slope", of="bounds on the slope")
def largest_for_least(evidence):
    return replace(evidence, bound=evidence.aside["rival"])


@ridge_path_to_the_ridgeless_bias.picture
def paths_to_zero(pieces):
    """Share of the signal lost, mean over eight coordinate directions, for six draws of the largest size; its limit."""

    def panel(gamma):
        z, drawn = np.linspace(0, 2, 200), np.asarray(pieces["distance from the limiting curve"].aside[f"{gamma:g}"])
        end = max(0.0, 1 - 1 / gamma)
        marks = [
            *(Line("draws", GRID, each, thin=True) for each in drawn),
            Line("limit", z, ridge_bias_limit(z, gamma)),
            Level(f"ridgeless bias {end:g}", y=end),
        ]
        return Curves(marks, x="ridge z", y="share of the signal lost, f(z)/r²", title=f"γ = {gamma:g}", ys=(-0.02, 1))

    return Row([panel(gamma) for gamma, _ in PATHS])
