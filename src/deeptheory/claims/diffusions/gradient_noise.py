"""What mini-batches do to the gradient, by counting all of them (arora 12.1)."""

from dataclasses import replace
from itertools import combinations, permutations, product
from typing import Annotated

import numpy as np
from annotated_types import Interval
from scipy import stats

from deeptheory.diffusions.gradient_noise import (
    Schedule,
    batch_covariance,
    linearly_scaled,
    scaled_batch_cumulants,
)
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Distribution, Identity, claim
from deeptheory.lab.pictures import Curves, Dots, Histogram, Line, Row


def covariance(means):
    """The covariance of equally likely vectors, and their mean."""
    deviations = means - means.mean(0)
    return deviations.T @ deviations / len(means)


@claim(
    items={
        "A12.2": ("covariance with replacement", "covariance without replacement", "noise of an epoch"),
        "A12.3": ("mean of the batch", "third cumulants", "covariance with replacement"),
    },
    says=r"A batch of $B$ gradients drawn with replacement has mean $\nabla f$ and covariance $\Sigma/B$, without "
    r"replacement $\frac{m-B}{B(m-1)}\Sigma$: an oracle $\nabla f+\sigma z$ with $\sigma=1/\sqrt B$, where $z$ has "
    r"covariance $\Sigma$ for all $B$ and third cumulant $\kappa_3/\sqrt B$.",
    needs="uniform sampling of m examples",
    symbols={
        "m, B": "the number of examples, and of those in a batch",
        r"\nabla f": "the gradient of the mean loss",
        r"\Sigma": "the covariance of the gradient of one example drawn at random",
        r"\sigma,z": "the scale of the noise, and the noise at scale one",
        r"\kappa_3": "the third cumulant of one example's deviation",
    },
    why="Variances of independent draws add, and the mean divides them by $B^2$. Without replacement draws are "
    "negatively correlated, just so that a batch of all examples has no noise; hence also the batches of an epoch have "
    "noises that cancel. Cumulants of any order add in the same way, which leaves higher ones smaller.",
    notice="The third cumulant falls as the batch grows while the variance stays: larger batches look Gaussian. Both "
    "laws of the variance start together; drawn without replacement, the noise ends at the full batch.",
)
def minibatch_noise_by_counting(key):
    random, m, d, batch = generator(key), 5, 3, 2
    gradients = random.standard_normal((m, d)) ** 3
    mean = gradients.mean(0)
    batches = range(1, m + 1)
    drawn = [np.array([gradients[list(each)].mean(0) for each in product(range(m), repeat=b)]) for b in (1, 2, 3)]
    chosen = [np.array([gradients[list(each)].mean(0) for each in combinations(range(m), b)]) for b in batches]
    replaced = [batch_covariance(gradients, b) for b in (1, 2, 3)]
    kept = [batch_covariance(gradients, b, replacement=False) for b in batches]
    single = gradients[:, 0] - mean[0]
    second, third = np.mean(single**2), np.mean(single**3)
    fourth = np.mean(single**4) - 3 * second**2
    seen = []
    for b, means in zip((1, 2, 3), drawn, strict=True):
        z = (means[:, 0] - mean[0]) * np.sqrt(b)
        seen.append([z.mean(), np.mean(z**2), np.mean(z**3), np.mean(z**4) - 3 * np.mean(z**2) ** 2])
    cumulants = np.array([0.0, second, third, fourth])
    predicted = np.array([scaled_batch_cumulants(cumulants, b) for b in (1, 2, 3)])
    six = random.standard_normal((6, d))
    epochs = np.array(
        [[six[list(p[i : i + batch])].mean(0) - six.mean(0) for i in (0, 2, 4)] for p in permutations(range(6))]
    )
    size = np.abs(gradients).max() ** 2
    return {
        "mean of the batch": Identity(np.array([each.mean(0) for each in drawn]), mean, scale=np.sqrt(size)),
        "covariance with replacement": Identity(
            np.array([covariance(each) for each in drawn]), np.array(replaced), scale=size
        ),
        "covariance without replacement": Identity(
            np.array([covariance(each) for each in chosen]),
            np.array(kept),
            scale=size,
            aside={
                "with": np.array([batch_covariance(gradients, b) for b in batches]),
                "drawn": np.array([np.trace(covariance(each)) for each in drawn]),
                "chosen": np.array([np.trace(covariance(each)) for each in chosen]),
            },
        ),
        "noise of an epoch": Identity(epochs.sum(1), 0.0, scale=np.abs(six).max(), condition=10.0),
        "third cumulants": Identity(np.array(seen), predicted, scale=size**2, along={"batch": [1, 2, 3]}),
    }


@minibatch_noise_by_counting.control("Σ/B for draws without replacement", of="covariance without replacement")
def independent_draws(evidence):
    return replace(evidence, right=evidence.aside["with"])


@minibatch_noise_by_counting.control("a third cumulant that stays", of="third cumulants")
def skewness_stays(evidence):
    right = np.array(evidence.right)
    right[:, 2] = right[0, 2]
    return replace(evidence, right=right)


@minibatch_noise_by_counting.picture
def noise_by_batch(pieces):
    """The trace of the covariance by batch size, over all batches (left); cumulants of the scaled noise (right)."""
    without, cumulants = pieces["covariance without replacement"], pieces["third cumulants"]
    batch = np.arange(1, len(without.aside["chosen"]) + 1)
    fine = np.linspace(1, batch[-1], 60)
    whole = without.aside["chosen"][0]
    variance = [
        Dots("with replacement", batch[:3], without.aside["drawn"]),
        Line("with replacement", fine, whole / fine),
        Dots("without", batch, without.aside["chosen"]),
        Line("without", fine, whole * (batch[-1] - fine) / (fine * (batch[-1] - 1))),
    ]
    three = np.linspace(1, 3, 40)
    shape = []
    for place, name in ((1, "variance"), (2, "third cumulant")):
        start = cumulants.right[0, place]
        shape += [Dots(name, [1, 2, 3], cumulants.left[:, place] / start)]
        shape += [Line(name, three, three ** (1 - (place + 1) / 2))]
    return Row(
        [
            Curves(variance, x="batch size B", y="trace of the covariance"),
            Curves(shape, x="batch size B", y="cumulant of z / its value at B = 1"),
        ]
    )


@claim(
    items={
        "A12.5": ("law of the end point", "law with a larger batch and rate"),
        "A12.4": ("law with a larger batch and rate", "what a schedule keeps"),
        "A12.22": ("law with Poisson noise", "skewness with Poisson noise"),
    },
    says=r"With gradients of fixed mean and batch noise, $x_k\sim\mathcal N(-\eta\bar gk,\eta^2\sigma^2kI)$: at time "
    r"$k\eta$ only $\eta\sigma^2$ matters, so batch and rate may grow together. With Poisson noise that is exact "
    r"too, though $x_K$ has skewness $-1/\sqrt{\lambda BK}$, which no Gaussian diffusion has.",
    needs="a gradient that does not depend on x; independent examples",
    symbols={
        r"\bar g": "the mean gradient",
        "x_k": "the position after $k$ steps from zero",
        r"\eta,\sigma": "the learning rate, and the scale of the noise of a batch",
        "B, K": "the batch size and the number of steps",
        r"\lambda": "the mean of the Poisson variable that is the gradient of one example",
    },
    why=r"Steps add up. Independent noise of variance $\sigma^2$ gives $k\eta^2\sigma^2=t\,\eta\sigma^2$, and "
    r"batches of $\kappa B$ have $\sigma^2/\kappa$. For Poisson gradients the sum over all examples seen is Poisson "
    r"again, whatever the batches: infinitely divisible noise does not need to look Gaussian for the rule to hold.",
    notice="Ends of walks with small batches, under the normal curve that those with large ones have as well. On the "
    "right a law with a skewness that no Gaussian has, the same for all batch sizes.",
)
def scaled_schedules_walk_alike(
    key,
    *,
    trials: Annotated[int, Interval(ge=2000, le=1_000_000)] = 12000,
    factor: Annotated[int, Interval(ge=2, le=16)] = 4,
):
    random, slope, spread = generator(key), 0.7, 1.5
    schedule = Schedule(0.05, 2, 16 * factor)
    wide = linearly_scaled(schedule, factor)
    root = Schedule(schedule.rate * factor**0.5, wide.batch, wide.steps)

    def walk(s):
        sums = random.standard_normal((trials, s.steps)) * spread / np.sqrt(s.batch) + slope
        return -s.rate * sums.sum(1)

    def ranks(values, s):
        deviation = s.rate * spread / np.sqrt(s.batch) * np.sqrt(s.steps)
        return stats.norm.cdf(values, -s.rate * slope * s.steps, deviation)

    ends = {name: walk(s) for name, s in (("narrow", schedule), ("wide", wide), ("root", root))}
    # Poisson: the exact law of the sum of all batches by convolution, beside that of one Poisson variable.
    mean = 0.1
    steps = {2: 8 * factor, 2 * factor: 8}
    pmfs = []
    for b, k in steps.items():
        one = stats.poisson.pmf(np.arange(400), mean * b)
        total = np.zeros(400)
        total[0] = 1.0
        for _ in range(k):
            total = np.convolve(total, one)[:400]
        pmfs.append(total)
    parameter = mean * 16 * factor
    values = np.arange(400)
    average = pmfs[0] @ values
    centred = values - average
    skews = [-(p @ centred**3) / (p @ centred**2) ** 1.5 for p in pmfs]
    return {
        "law of the end point": Distribution(ranks(ends["narrow"], schedule), aside={"ends": ends["narrow"][:4000]}),
        "law with a larger batch and rate": Distribution(
            ranks(ends["wide"], schedule), aside={"root": ranks(ends["root"], schedule)}
        ),
        "what a schedule keeps": Identity(
            np.array([wide.rate * wide.steps, wide.batch * wide.steps, wide.rate / wide.batch]),
            np.array([schedule.rate * schedule.steps, schedule.batch * schedule.steps, schedule.rate / schedule.batch]),
        ),
        "law with Poisson noise": Identity(
            np.array(pmfs), stats.poisson.pmf(values, parameter), scale=1.0, aside={"mean": parameter}
        ),
        "skewness with Poisson noise": Identity(np.array(skews), -1 / np.sqrt(parameter), condition=1e3),
    }


@scaled_schedules_walk_alike.control("√κ times the rate", of="law with a larger batch and rate")
def root_scaling(evidence):
    return replace(evidence, ranks=evidence.aside["root"])


@scaled_schedules_walk_alike.control("no skewness, as of the diffusion", of="skewness with Poisson noise")
def gaussian_limit(evidence):
    return replace(evidence, right=0.0)


@scaled_schedules_walk_alike.picture
def two_schedules(pieces):
    """Ends of walks under one Gaussian law (left), and the law with Poisson noise beside a Gaussian (right)."""
    ends, poisson = pieces["law of the end point"].aside["ends"], pieces["law with Poisson noise"]
    middle, width = np.mean(ends), np.std(ends)
    x = np.linspace(middle - 4 * width, middle + 4 * width, 100)
    mean = float(poisson.aside["mean"])
    values = np.arange(int(mean + 6 * mean**0.5))
    exact = np.asarray(poisson.left)[:, : len(values)]
    return Row(
        [
            Histogram(
                [Line("normal law", x, stats.norm.pdf(x, middle, width))], samples=ends, x="position", y="density"
            ),
            Curves(
                [
                    Dots("small batches", values, exact[0]),
                    Line("large batches", values, exact[1]),
                    Line("", values, stats.norm.pdf(values, mean, mean**0.5), rival="Gaussian, as of the diffusion"),
                ],
                x="sum of the gradients seen",
                y="probability",
            ),
        ]
    )
