"""Noising in steps, and the way back through a denoiser."""

from dataclasses import replace
from functools import partial
from typing import Annotated

import numpy as np
from annotated_types import Interval, MinLen
from scipy.special import ndtri

from deeptheory.foundations.randomness import generator
from deeptheory.generative.diffusion_models import (
    cosine_schedule,
    denoised,
    denoising_error,
    fit_denoiser,
    gaussian_divergence_after,
    kept_signal,
    noised,
    noised_mixture,
    noising_path,
    reverse_chain,
    score,
    sum_of_gaussians,
)
from deeptheory.generative.mixtures import gaussian_mixture, line_mixture_cdf, log_density, sample_mixture
from deeptheory.lab import Identity, Inequality, Limit, Sizes, claim
from deeptheory.lab.pictures import Curves, Dots, Line, Plane, Row, Stack

MIXTURE = (np.array([0.3, 0.7]), np.array([[-1.0, 0.3], [1.2, -0.4]]), np.array([0.05, 0.1]))


def two_clouds():
    """Two round clouds of points in the plane, with shares 0.3 and 0.7."""
    weights, means, variances = MIXTURE
    return gaussian_mixture(weights, means, variances[:, None, None] * np.eye(2))


@claim(
    items={
        "A14.23": (
            "mean after some steps",
            "variance after some steps",
            "divergence from noise",
            "density after noising",
        ),
        "A14.24": ("a sum of two Gaussians", "variance after some steps"),
    },
    says=r"Steps $x_{t+1}=\sqrt{\alpha_t}x_t+\sqrt{1-\alpha_t}z_t$ from $t=0$ give "
    r"$x_{t+1}=\sqrt{\bar\alpha_t}x_0+\sqrt{1-\bar\alpha_t}z$ with $\bar\alpha_t=\alpha_0\cdots\alpha_t$; a mixture of "
    r"Gaussians stays one. The divergence from $N(0,I)$ falls like $\bar\alpha_t$, and like $\bar\alpha_t^2$ for "
    "centred data.",
    needs="independent standard normal noise in every step",
    symbols={
        "x_t": "the point after $t$ steps",
        r"\alpha_t": "the share of variance that a step keeps",
        r"\bar\alpha_t": "the product of the first $t+1$ of them",
        "z_t, z": "standard normal noise, fresh in every step, and that of all steps together",
    },
    why="A sum of independent Gaussians is Gaussian with the sum of the variances. If before a step the noise has "
    r"variance $1-\bar\alpha$, after it has $\alpha(1-\bar\alpha)+1-\alpha=1-\alpha\bar\alpha$. What is left of the "
    r"data is their mean, shrunk by $\sqrt{\bar\alpha}$, and the excess of their covariance over $I$, shrunk by "
    r"$\bar\alpha$; a divergence is quadratic in both.",
    notice="Two clouds of points flow together into one round one. The divergence of a law with a mean of its own "
    "falls with slope one, that of a centred law with slope two.",
)
def noising_in_steps(key, *, steps: Annotated[int, Interval(ge=4, le=200)] = 20):
    draw = generator(key)
    schedule = draw.uniform(0.6, 0.95, steps)
    # By the recursion of means and variances of a chain that starts at x_0 = 1, one step after the other.
    mean, variance, means, variances = 1.0, 0.0, [], []
    for alpha in schedule:
        mean, variance = np.sqrt(alpha) * mean, alpha * variance + (1 - alpha)
        means.append(mean)
        variances.append(variance)
    kept = kept_signal(schedule)
    late = np.concatenate([[1.0], np.cumprod(schedule[1:])])
    level, start = 0.35, two_clouds()
    grid = np.linspace(-4, 4, 161)
    plane = np.stack(np.meshgrid(grid, grid, indexing="ij"), -1).reshape(-1, 2)
    # Density after noising as an integral over where the point came from.
    mass = np.exp(log_density(start, plane)) * (grid[1] - grid[0]) ** 2
    at = 2 * draw.random((12, 2)) - 1
    gaps = at[:, None] - np.sqrt(level) * plane
    spread = np.exp(-0.5 * (gaps**2).sum(-1) / (1 - level)) / (2 * np.pi * (1 - level)) @ mass
    noisy = noised_mixture(start, level)
    unshrunk = noisy._replace(covariances=start.covariances + (1 - level) * np.eye(2))
    levels = 2.0 ** -np.arange(3, 13)
    own, centred = (
        np.array([gaussian_divergence_after(np.full(2, m), np.array([0.4, 2.0]), each) for each in levels])
        for m in (0.7, 0.0)
    )
    first, second = draw.standard_normal((2, 3))
    total, covariance = sum_of_gaussians(first, 0.6, second, 1.7)
    wave = draw.standard_normal((10, 3))
    # The transform of a sum is the product of transforms: compared by its logarithm.
    exponent = -0.5 * ((0.6 + 1.7) * (wave**2).sum(1))
    path = noising_path(draw, sample_mixture(draw, start, 150), cosine_schedule(3))
    return {
        "mean after some steps": Identity(np.array(means), np.sqrt(kept), size=steps, aside={"late": np.sqrt(late)}),
        "variance after some steps": Identity(
            np.array(variances), 1 - kept, size=steps, aside={"late": 1 - late, "path": path}
        ),
        # The even grid is exact to far below this for densities as wide as the noise.
        "density after noising": Identity(
            np.exp(log_density(noisy, at)), spread, error=1e-6, aside={"unshrunk": np.exp(log_density(unshrunk, at))}
        ),
        "divergence from noise": Limit(
            1 / levels, centred, order=2.0, aside={"own": own, "level": levels, "centred": centred}
        ),
        "a sum of two Gaussians": Identity(
            np.concatenate([total, -0.5 * np.einsum("wi,ij,wj->w", wave, covariance, wave)]),
            np.concatenate([first + second, exponent]),
            size=9,
            scale=10.0,
            aside={
                "printed": np.concatenate([first + second, -0.5 * (0.6 * wave.sum(1) ** 2 + 1.7 * (wave**2).sum(1))])
            },
        ),
    }


@noising_in_steps.control("the product from the second factor on", of="mean after some steps")
def from_the_second(evidence):
    return replace(evidence, right=evidence.aside["late"])


@noising_in_steps.control("the product from the second factor on, in the noise", of="variance after some steps")
def noise_from_the_second(evidence):
    return replace(evidence, right=evidence.aside["late"])


@noising_in_steps.control("covariances that do not shrink", of="density after noising")
def unshrunk(evidence):
    return replace(evidence, left=evidence.aside["unshrunk"])


@noising_in_steps.control("order two for data with a mean", of="divergence from noise")
def with_a_mean(evidence):
    return replace(evidence, y=evidence.aside["own"])


@noising_in_steps.control("the first variance in every entry of the covariance", of="a sum of two Gaussians")
def every_entry(evidence):
    return replace(evidence, right=evidence.aside["printed"])


@noising_in_steps.picture
def clouds_drown(pieces):
    """Two clouds after none, one, two and three steps of noise; below, the divergence of Gaussians from noise."""
    path = np.asarray(pieces["variance after some steps"].aside["path"])
    panels = [
        Plane(
            [Dots("", x[:, 0], x[:, 1])],
            x="first coordinate",
            y="second coordinate",
            title=f"after {t} steps",
            xs=(-3.2, 3.2),
            ys=(-3.2, 3.2),
        )
        for t, x in enumerate(path)
    ]
    told = pieces["divergence from noise"].aside
    marks = [
        mark
        for name, values, order in (("with a mean", told["own"], 1), ("centred", told["centred"], 2))
        for mark in (
            Dots(name, told["level"], values),
            Line(name, told["level"], values[-1] * (told["level"] / told["level"][-1]) ** order),
        )
    ]
    return Stack([Row(panels), Curves(marks, x="share of the signal that is left", y="divergence", log="xy")])


@claim(
    items={
        "A14.25": (
            "the best denoiser",
            "score from the denoiser",
            "loss of a learnt denoiser over the best",
            "law reached without fresh noise",
        ),
        "A14.26": ("law reached without fresh noise",),
    },
    says=r"For a mixture of Gaussians the best denoiser $E[x_0|x_t]$ has a closed form, and "
    r"$\nabla\log p_t=(\sqrt{\bar\alpha_t}E[x_0|x_t]-x_t)/(1-\bar\alpha_t)$. The loss of one learnt from samples is "
    "within a tenth, and the chain run back through the best reaches the law of the data as steps become many.",
    needs="two round clouds in the plane, and their first coordinates; a cosine schedule; random features for a "
    "network",
    symbols={
        "x_0": "a clean point",
        "x_t": "the point with noise",
        r"\bar\alpha_t": "the share of its variance that is signal",
        "p_t": "the density of noisy points",
    },
    why="Given the cloud, clean and noisy point are jointly Gaussian and the best guess is linear; given the noisy "
    "point, the clouds have known odds. Regression on clean points finds the conditional mean because no other "
    "function has a smaller mean squared error. Going back without fresh noise is Euler's method for the flow along "
    "the score, so its law is wrong by an error that shrinks like one over the number of steps.",
    notice="Noise on the left becomes two clouds on the right; points are pulled to the nearer cloud late, when the "
    "odds have become clear.",
)
def denoising_back(
    key,
    *,
    sizes: Annotated[Sizes, MinLen(3)] = (25, 50, 100, 200),
):
    draw, mixture = generator(key), two_clouds()
    grid = np.linspace(-4, 4, 161)
    plane = np.stack(np.meshgrid(grid, grid, indexing="ij"), -1).reshape(-1, 2)
    prior = np.exp(log_density(mixture, plane))
    levels, at, best, by_hand, slopes, scores = (
        np.array([0.2, 0.5, 0.8]),
        1.5 * draw.random((8, 2)) - 0.7,
        [],
        [],
        [],
        [],
    )
    for level in levels:
        odds = prior * np.exp(-0.5 * ((at[:, None] - np.sqrt(level) * plane) ** 2).sum(-1) / (1 - level))
        by_hand.append(odds @ plane / odds.sum(1, keepdims=True))
        best.append(denoised(mixture, at, level))
        scores.append(score(mixture, at, level))
        step, noisy = 1e-5, noised_mixture(mixture, level)
        ends = [[log_density(noisy, at + sign * step * e) for sign in (1, -1)] for e in np.eye(2)]
        slopes.append(np.stack([(up - down) / (2 * step) for up, down in ends], 1))
    clean = sample_mixture(draw, mixture, 2000)
    learnt = fit_denoiser(draw, clean, levels, features=60)
    fresh = sample_mixture(draw, mixture, 20_000)
    losses = []
    for level in levels:
        noisy = noised(draw, fresh, level)
        exact = denoising_error(partial(_guess, mixture), fresh, noisy, level)
        linear = noisy @ np.linalg.lstsq(noisy, fresh, rcond=None)[0]
        losses.append(
            [denoising_error(learnt, fresh, noisy, level) / exact, ((linear - fresh) ** 2).sum(1).mean() / exact]
        )
    # On the line the map from noise to data is monotone, so its law is known from the images of quantiles.
    line = gaussian_mixture(mixture.weights, mixture.means[:, :1], mixture.covariances[:, :1, :1])
    ranks = (np.arange(200) + 0.5) / 200
    reached = {}
    for law in (line, line._replace(weights=np.array([0.35, 0.65]))):
        ends = [
            reverse_chain(draw, partial(_guess, law), cosine_schedule(steps), ndtri(ranks)[:, None], stochastic=False)
            for steps in sizes
        ]
        reached[law is line] = np.array([np.abs(line_mixture_cdf(line, end[-1][:, 0]) - ranks).max() for end in ends])
    chain = reverse_chain(draw, partial(_guess, mixture), cosine_schedule(30), draw.standard_normal((150, 2)))
    return {
        # A density one tenth of a cell wide or more is integrated by the even grid to better than this.
        "the best denoiser": Identity(
            np.array(best), np.array(by_hand), scale=1.0, error=1e-5, aside={"means": np.sqrt(levels)}
        ),
        "score from the denoiser": Identity(
            np.array(scores), np.array(slopes), scale=10.0, error=1e-7, aside={"level": levels}
        ),
        "loss of a learnt denoiser over the best": Inequality(
            np.array(losses)[:, 0], 1.1, along={"level": levels}, aside={"linear": np.array(losses)[:, 1]}
        ),
        "law reached without fresh noise": Limit(
            np.array(sizes), reached[True], order=1.0, aside={"other shares": reached[False], "path": chain[::10]}
        ),
    }


def _guess(law, x, level):
    return denoised(law, x, level)


@denoising_back.control("a denoiser that forgets to undo the shrinking", of="the best denoiser")
def shrunk(evidence):
    return replace(evidence, left=evidence.left * np.asarray(evidence.aside["means"])[:, None, None])


@denoising_back.control("the score over the noise's deviation", of="score from the denoiser")
def over_the_deviation(evidence):
    noise = 1 - np.asarray(evidence.aside["level"])
    return replace(evidence, left=evidence.left * np.sqrt(noise)[:, None, None])


@denoising_back.control("the best linear denoiser", of="loss of a learnt denoiser over the best")
def linear_denoiser(evidence):
    return replace(evidence, quantity=evidence.aside["linear"])


@denoising_back.control("the denoiser of clouds with shares 0.35 and 0.65", of="law reached without fresh noise")
def other_shares(evidence):
    return replace(evidence, y=evidence.aside["other shares"])


@denoising_back.picture
def noise_to_clouds(pieces):
    """Points on the way back from noise to the two clouds, at four times."""
    path = np.asarray(pieces["law reached without fresh noise"].aside["path"])
    panels = [
        Plane(
            [Dots("", x[:, 0], x[:, 1])],
            x="first coordinate",
            y="second coordinate",
            title=says,
            xs=(-3.2, 3.2),
            ys=(-3.2, 3.2),
        )
        for x, says in zip(path, ("noise", "a third back", "two thirds back", "data"), strict=False)
    ]
    return Row(panels)
