"""What Rademacher complexity bounds: the gap between population and sample, and how far two samples differ."""

from dataclasses import replace
from typing import Annotated

import numpy as np
from annotated_types import Interval
from scipy.special import gammaln

from deeptheory.foundations.randomness import generator
from deeptheory.generalization.capacity.rademacher import (
    all_signs,
    exact_complexity,
    finite_supremum,
    two_sample_threshold_complexity,
)
from deeptheory.generalization.capacity.rademacher_bounds import (
    complexity_deviation,
    empirical_complexity_deviation,
)
from deeptheory.lab import Chance, Identity, Inequality, Law, Limit, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Line, seen


@claim(
    items={
        "L8.16": ("one function", "all functions", "gap of all functions"),
        "H7.7": (
            "one function",
            "all functions",
            "gap of all functions",
            "empirical complexity",
            "two bounds joined",
            "bound is reached in the limit",
        ),
        "A5.11": ("one function", "all functions", "gap of all functions"),
        "L8.24": ("empirical complexity", "two bounds joined", "bound is reached in the limit"),
        "L8.26": ("clipped losses", "bound is reached in the limit"),
    },
    says=r"With probability $1-\delta$ all $f$ with values in $[0,1]$ have $\mathbb Ef-\hat{\mathbb E}f\le2R+"
    r"\sqrt{\log\frac1\delta/2n}$, and on both sides $2\hat R+3\sqrt{\log\frac2\delta/2n}$ with the complexity of the "
    r"sample, before or after clipping. Neither 2 can be smaller.",
    needs=r"independent samples, values in $[0,1]$; the printed roots are $\sqrt2$ times larger; that of the clipped "
    r"loss has $2\log\frac1\delta$ for $\frac12\log\frac2\delta$, which is more for $\delta<0.79$",
    symbols={
        r"\delta": "the probability with which the bound may fail",
        r"\mathbb Ef,\ \hat{\mathbb E}f": "the mean of a function on the population and on the sample",
        r"R": "the Rademacher complexity, averaged over samples",
        r"\hat R": "the Rademacher complexity on the sample at hand",
        r"n": "the size of the sample",
    },
    why=r"Replacing one of $n$ points moves the largest gap by at most $1/n$, so it stays near its mean, by "
    r"McDiarmid's inequality; and its mean is at most $2R$, by comparison with a second sample and random signs. The "
    r"gap less twice the complexity of the sample is moved by at most $3/n$ and has a mean of at most 0: three times "
    r"the root, with $\frac1\delta$ for one side and $\frac2\delta$ for both. Clipping is 1-Lipschitz and adds nothing "
    r"to the complexity.",
    notice=r"All functions from many atoms to $\{0,1\}$ fit every sample: complexity $\frac12$, gap near 1. The bound "
    r"comes down to it as the sample grows; with the complexity taken once it would soon lie below what is seen. For "
    r"eight functions on twelve atoms no gap comes near the bound.",
)
def complexity_bounds(key, *, trials: Trials = 1500, width: Annotated[float, Interval(ge=0.1, le=4)] = 1.0):
    from scipy.stats import binom

    draw, delta, n = generator(key), 0.1, 60
    # One coin: nothing to choose, R = 0, and the deviation's chance is a binomial tail.
    sizes = np.array([20, 60, 500])
    deviation = complexity_deviation(0.0, sizes, delta, width=width)
    coin = binom.cdf(np.floor(sizes * (0.5 - deviation) + 1e-9), sizes, 0.5)
    # Linear functions of eight directions, clipped to [0, 1], on twelve atoms.
    x, w = draw.standard_normal((12, 3)), draw.standard_normal((8, 3))
    values = np.clip(0.5 + w @ x.T / 4, 0, 1)
    samples = draw.integers(0, 12, (trials, n))
    seen = values[:, samples]
    gaps = values.mean(1)[:, None] - seen.mean(2)
    # The complexity of each sample, from 200 signs shared by all, and its mean.
    signs = draw.choice([-1.0, 1.0], (n, 200))
    complexities = np.mean(np.max(seen @ signs, axis=0), axis=1) / n
    unclipped = np.mean(np.max((w @ x.T / 4)[:, samples] @ signs, axis=0), axis=1) / n
    # All functions to {0, 1}, which clipping leaves alone, on n² atoms: 0 on the sample and 1 elsewhere.
    every = exact_complexity(finite_supremum((1 + all_signs(9)) / 2), 9)
    grown = 4 ** np.arange(2, 8)
    memorized = np.array([1 - len(np.unique(draw.integers(0, k * k, k))) / k**2 for k in grown])
    bounds = empirical_complexity_deviation(every, grown, delta)
    spread = np.sqrt(np.log(2 / delta) / (2 * n))
    return {
        "one function": Inequality(coin, delta),
        "all functions": Chance(
            np.sum(gaps.max(0) > complexity_deviation(complexities.mean(), n, delta)), trials, delta
        ),
        "empirical complexity": Chance(
            np.sum(np.abs(gaps).max(0) > empirical_complexity_deviation(complexities, n, delta)),
            trials,
            delta,
            aside={"largest": np.abs(gaps).max(), "samples": n},
        ),
        # The ramp is 1-Lipschitz: the complexity of what it is applied to will do.
        "clipped losses": Chance(
            np.sum(gaps.max(0) > empirical_complexity_deviation(unclipped, n, delta)), trials, delta
        ),
        "gap of all functions": Inequality(memorized, complexity_deviation(every, grown, 1.0)),
        "bound is reached in the limit": Limit(
            grown, bounds - memorized, order=0.5, aside={"gap": memorized, "bound": bounds, "complexity": every}
        ),
        # Once for the gap and, doubled, once for the complexity, each at δ/2: 2(R̂ + s) + s.
        "two bounds joined": Identity(
            empirical_complexity_deviation(0.1, n, delta),
            complexity_deviation(0.1 + spread, n, delta / 2),
            aside={"samples": n, "delta": delta},
        ),
    }


complexity_bounds.control("half the width of the interval", of="one function", width=0.5)


@complexity_bounds.control("R in place of 2R", of="gap of all functions")
def complexity_once(evidence):
    return replace(evidence, bound=np.asarray(evidence.bound) / 2)


@complexity_bounds.control("the complexity of the sample once, not twice", of="bound is reached in the limit")
def sample_complexity_once(evidence):
    return replace(evidence, y=np.abs(np.asarray(evidence.y) - evidence.aside["complexity"]))


@complexity_bounds.control("both steps at δ itself, without halving it", of="two bounds joined")
def not_halved(evidence):
    n, delta = int(evidence.aside["samples"]), float(evidence.aside["delta"])
    return replace(evidence, right=complexity_deviation(0.1 + np.sqrt(np.log(1 / delta) / (2 * n)), n, delta))


@complexity_bounds.picture
def memorizing_class(pieces):
    """The gap of a class that fits every sample, under 2R̂ + 3√(log(2/δ)/2n), as the sample grows."""
    piece, small = pieces["bound is reached in the limit"], pieces["empirical complexity"].aside
    aside = piece.aside
    return Curves(
        [
            Line("bound", piece.x, aside["bound"]),
            Dots("a class that fits every sample", piece.x, aside["gap"]),
            Dots("eight functions, largest of all gaps", [small["samples"]], [small["largest"]]),
            Line("bound", piece.x, aside["bound"] - aside["complexity"], rival="with R̂ in place of 2R̂"),
        ],
        x="samples n", y="generalization gap", log="x", ys=(0, 2),
    )  # fmt: skip


@claim(
    items={
        "A5.10": ("thresholds", "thresholds, in the limit", "linear functions"),
        "A5.14": ("labels of one half flipped", "points that are shattered"),
    },
    says=r"The two-sample complexity of thresholds is half the mean Kolmogorov–Smirnov distance of two samples of size "
    r"$m$, $\sim\frac12\sqrt{\pi/m}\ln2$; of the unit linear class on Gaussian data $\mathbb E\chi_d/\sqrt{2m}$. It is "
    r"$\frac12$ less the mean smallest error after the labels of one sample are flipped.",
    needs="0–1 losses and no absolute value for the last statement",
    symbols={
        r"m": "the size of each of the two samples",
        r"d": "the dimension of the inputs",
        r"\chi_d": "the length of a standard Gaussian vector of $d$ coordinates",
    },
    why=r"The complexity asks how differently one function can treat two samples from one source, on average. For "
    r"thresholds this is how far two empirical distribution functions come apart, for linear functions the length of "
    r"the difference of two means. With 0–1 losses, flipping the labels of the first sample turns its loss into one "
    r"less it, so a large difference is a small error on labels that are half wrong: fitting noise.",
    notice=r"The distance of two samples follows its exact law, and comes to the limit like $1/\sqrt m$; one sample "
    r"against the truth would be $\sqrt2$ times nearer.",
)
def two_sample_complexity(key, *, trials: Trials = 8192, m: Annotated[int, Interval(ge=5, le=200)] = 50):
    draw = generator(key)
    ranks = np.argsort(draw.random((trials, 2 * m)), axis=1)
    steps = np.where(ranks < m, 1, -1)
    distances = np.max(np.abs(np.cumsum(steps, axis=1)), axis=1) / (2 * m)
    dimensions, counts = np.array([4, 8]), np.array([m // 2, m])

    def apart(k, d):
        """The two samples themselves: what the unit ball meets best is the length of the difference of their sums."""
        halves = np.where(np.arange(2 * k) < k, 1.0, -1.0)
        return np.linalg.norm(halves @ draw.standard_normal((trials, 2 * k, d)), axis=1) / (2 * k)

    lengths = np.array([[apart(k, d) for d in dimensions] for k in counts])
    chi = np.sqrt(2) * np.exp(gammaln((dimensions + 1) / 2) - gammaln(dimensions / 2))
    sizes = np.array([20, 80, 320, 1280])
    asymptote = 0.5 * np.sqrt(2 / sizes) * np.sqrt(np.pi / 2) * np.log(2)
    exact = np.array([two_sample_threshold_complexity(int(k)) for k in sizes])
    # Thresholds 1{z ≤ h} against labels: ℓ = 1{prediction ≠ label}; half of the labels flipped.
    z, labels = draw.random((200, 2 * m)), draw.integers(0, 2, (200, 2 * m))
    order = np.argsort(z, axis=1)
    predictions = np.tril(np.ones((2 * m + 1, 2 * m)), -1)
    sorted_labels = np.take_along_axis(labels, order, axis=1)
    first = np.take_along_axis(np.broadcast_to(np.arange(2 * m) < m, z.shape), order, axis=1)
    losses = predictions[None] != sorted_labels[:, None]
    flipped = np.where(first, 1 - sorted_labels, sorted_labels)
    smallest = np.min(np.mean(predictions[None] != flipped[:, None], axis=2), axis=1)
    signed = np.max(np.sum(np.where(first, 1, -1)[:, None] * losses, axis=2), axis=1) / (2 * m)
    every = all_signs(8) > 0
    half = np.where(np.arange(8) < 4, 1, -1)
    return {
        "thresholds": Law(two_sample_threshold_complexity(m), distances, exact=True, aside={"m": m}),
        "thresholds, in the limit": Limit(
            sizes.astype(float), np.abs(exact / asymptote - 1), order=0.5, aside={"exact": exact, "limit": asymptote}
        ),
        "linear functions": Law(
            chi / np.sqrt(2 * counts[:, None]), lengths, along={"m": counts, "dimension": dimensions}, exact=True
        ),
        "labels of one half flipped": Identity(
            signed, 0.5 - smallest, scale=1.0, aside={"kept": losses.mean(2).min(1)}
        ),
        "points that are shattered": Identity(np.max(every @ half) / 8, 0.5),
    }


@two_sample_complexity.control("the one-sample distance", of="thresholds, in the limit")
def one_sample(evidence):
    return replace(evidence, y=np.abs((1 + np.asarray(evidence.y)) / np.sqrt(2) - 1))


@two_sample_complexity.control("the root of d for the mean of χ", of="linear functions")
def root_of_dimension(evidence):
    return replace(evidence, predicted=np.sqrt(evidence.along["dimension"] / (2 * evidence.along["m"][:, None])))


@two_sample_complexity.control("no labels flipped", of="labels of one half flipped")
def nothing_flipped(evidence):
    return replace(evidence, right=0.5 - evidence.aside["kept"])


@two_sample_complexity.picture
def distances_of_samples(pieces):
    """Complexity of thresholds along the sample size: the exact law, what was drawn at one size, and the limit."""
    limit, drawn = pieces["thresholds, in the limit"], pieces["thresholds"]
    return Curves(
        [
            Line("exact", limit.x, limit.aside["exact"]),
            Line("limit for large m", limit.x, limit.aside["limit"], dashed=True),
            seen("drawn", [drawn.aside["m"]], np.asarray(drawn.observed)[None]),
            Line("limit", limit.x, limit.aside["limit"] / np.sqrt(2), rival="one sample against the truth"),
        ],
        x="size m of each sample", y="two-sample complexity", log="xy",
    )  # fmt: skip
