"""What likelihood measures and what it does not see."""

from dataclasses import replace
from typing import Annotated, Any, Literal

import jax
import numpy as np
from annotated_types import Interval
from scipy.optimize import minimize, minimize_scalar
from scipy.stats import norm

from deeptheory.data.handwriting import digits
from deeptheory.foundations.randomness import generator
from deeptheory.generative.likelihoods import (
    GaussianFit,
    atoms_mixture,
    expected_fit_divergence,
    expected_likelihood_gap,
    gaussian_fit,
    gaussian_log_likelihood,
    isotropic_fit,
    kolmogorov_distance_to_normal,
    spiked_mixture,
)
from deeptheory.generative.mixtures import gaussian_mixture, log_density
from deeptheory.lab import Identity, Inequality, Law, Limit, Sizes, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Images, Level, Line, Row, seen


@claim(
    items={
        "A14.5": "training less held-out likelihood",
        "A14.7": ("divergence of the fit", "the divergence's minimiser", "divergence at large samples"),
    },
    says=r"A Gaussian with $p=d(d+3)/2$ parameters fitted to $n$ Gaussian points has training less held-out log "
    r"likelihood $p/(n-d-2)$ on average, and $n\,\mathrm{KL}(P\|Q)\to p/2$. Whatever $P$ is, maximum likelihood tends "
    r"to the least $\mathrm{KL}(P\|Q)$, not $\mathrm{KL}(Q\|P)$.",
    needs="Gaussian points and $n>d+2$ for the two means; for the minimiser a mixture of two Gaussians on the line",
    symbols={
        "p": "the number of parameters of the fit",
        "d": "the dimension",
        "n": "the number of points",
        "P": "the law of the points",
        "Q": "the fitted Gaussian",
    },
    full=dict(trials=60_000),
    why=r"$\mathrm{KL}(P\|Q)=E_P\log P-E_P\log Q$ and only the second term depends on $Q$: it is what the average log "
    "likelihood estimates. A fit flatters itself by as much on its own points as it loses on fresh ones, $p/2n$ each "
    "to first order; for Gaussians the mean of an inverse Wishart matrix makes the sum exact at every $n$.",
    notice="The gap lies on the exact curve; the first-order law $p/n$ is met from above as points become many. With "
    "few points per parameter it misses by a factor.",
    explore={"dimension": (1, 2, 4)},
)
def likelihood_and_divergence(
    key,
    *,
    sizes: Sizes = (16, 24, 40),
    trials: Trials = 12_000,
    dimension: Annotated[int, Interval(ge=1, le=5)] = 2,
):
    d, root = dimension, np.eye(dimension) + 0.5 * np.tri(dimension, k=-1)
    truth = GaussianFit(np.arange(1.0, d + 1), root @ root.T)
    gaps, losses = np.empty((len(sizes), trials)), np.empty((len(sizes), trials))
    logs, precision = np.linalg.slogdet(truth.covariance)[1], np.linalg.inv(truth.covariance)
    for i, n in enumerate(sizes):
        x = generator(jax.random.fold_in(key, i)).standard_normal((trials, n, d)) @ root.T + truth.mean
        away = x.mean(1) - truth.mean
        centred = x - x.mean(1, keepdims=True)
        covariance = centred.swapaxes(1, 2) @ centred / n
        inverse = np.linalg.inv(covariance)
        second = truth.covariance + away[:, :, None] * away[:, None]
        # On its own points the mean of the quadratic form is d; on fresh ones its mean given the fit is a trace.
        fresh = np.einsum("tij,tij->t", inverse, second)
        # The truth's likelihood of these points less its mean has mean zero and takes most of the noise away.
        luck = np.einsum("ij,tij->t", precision, covariance + away[:, :, None] * away[:, None]) - d
        gaps[i] = 0.5 * (fresh - d + luck)
        losses[i] = 0.5 * (fresh - d + np.linalg.slogdet(covariance)[1] - logs)
    many, half = 2 ** np.arange(6, 15), d * (d + 3) / 4
    target = gaussian_mixture(np.array([0.4, 0.6]), np.array([[-1.5], [2.0]]), np.array([[[0.3]], [[0.8]]]))
    grid = np.linspace(-14, 16, 3001)
    p = np.exp(log_density(target, grid[:, None])) * (grid[1] - grid[0])

    def forward(v):
        return p @ (-norm.logpdf(grid, v[0], np.exp(v[1])))

    def backward(v):
        q = norm.pdf(grid, v[0], np.exp(v[1]))
        return (q @ (norm.logpdf(grid, v[0], np.exp(v[1])) - log_density(target, grid[:, None]))) * (grid[1] - grid[0])

    start = np.array([1.0, 0.0])
    least, reverse = (minimize(each, start, tol=1e-12).x for each in (forward, backward))
    mean = float(target.weights @ target.means[:, 0])
    spread = np.sqrt(target.weights @ (target.covariances[:, 0, 0] + target.means[:, 0] ** 2) - mean**2)
    along = {"points": np.array(sizes)}
    return {
        "training less held-out likelihood": Law(
            np.array([expected_likelihood_gap(n, d) for n in sizes]),
            gaps,
            along=along,
            exact=True,
            resolution=0.1,  # a heavy tail: the gap is an inverse Wishart trace
            aside={"p": d * (d + 3) / 2},
        ),
        "divergence of the fit": Law(
            np.array([expected_fit_divergence(n, d) for n in sizes]),
            losses,
            along=along,
            exact=True,
            resolution=0.1,
            aside={"half the gap": np.array([expected_likelihood_gap(n, d) / 2 for n in sizes])},
        ),
        "divergence at large samples": Limit(
            many, np.abs(many * np.array([expected_fit_divergence(int(n), d) for n in many]) / half - 1), order=1.0
        ),
        # Quadrature is exact to rounding; a minimum found by a solver is good to the root of that.
        "the divergence's minimiser": Identity(
            np.array([least[0], np.exp(least[1])]),
            np.array([mean, spread]),
            error=1e-5,
            along={"of": np.array(["mean", "deviation"])},
            aside={"reverse": np.array([reverse[0], np.exp(reverse[1])])},
        ),
    }


@likelihood_and_divergence.control("p/n at every n", of="training less held-out likelihood")
def first_order_gap(evidence):
    return replace(evidence, predicted=evidence.aside["p"] / np.asarray(evidence.along["points"]))


@likelihood_and_divergence.control("the minimiser of KL(Q‖P)", of="the divergence's minimiser")
def mode_seeking(evidence):
    return replace(evidence, left=evidence.aside["reverse"])


@likelihood_and_divergence.control("half of the gap, p/2(n−d−2)", of="divergence of the fit")
def half_the_gap(evidence):
    return replace(evidence, predicted=evidence.aside["half the gap"])


@likelihood_and_divergence.control("n times the divergence tends to p", of="divergence at large samples")
def without_the_half(evidence):
    # n·KL/p − 1 from n·KL/(p/2) − 1, which is positive.
    return replace(evidence, y=np.abs((1 + np.asarray(evidence.y)) / 2 - 1))


@likelihood_and_divergence.picture
def gap_by_points(pieces, settings):
    """The mean gap between training and held-out log likelihood by number of points, exact and to first order."""
    gap, d = pieces["training less held-out likelihood"], settings["dimension"]
    n = np.arange(d + 6, int(max(np.asarray(gap.along["points"]))) + 1)
    exact = np.array([expected_likelihood_gap(int(k), d) for k in n])
    marks = [
        Line("p/(n − d − 2)", n, exact),
        seen("observed", gap.along["points"], gap.observed),
        Line("", n, d * (d + 3) / 2 / n, rival="p/n"),
    ]
    return Curves(marks, x="points n", y="training less held-out log likelihood", log="xy")


@claim(
    items={
        "A14.6": (
            "the best variance",
            "held-out likelihood as good as training",
            "share of fresh samples told from digits",
        )
    },
    says=r"The isotropic Gaussian of highest likelihood has $\sigma^2=\frac1{md}\sum_i|x_i-\mu|^2$. Fitted to "
    "handwritten digits it has nearly the same likelihood on fresh ones, and yet a second Gaussian tells its samples "
    "from digits almost always.",
    needs="2,000 digits of 7 × 7 pixels with noise of 0.05 to fit, 1,000 others to test; the judge is a Gaussian with "
    "all covariances",
    symbols={
        "m": "the number of digits",
        "d": "the number of pixels",
        "x_i": "a digit",
        r"\mu": "the mean image",
        r"\sigma^2": "the variance of every pixel in the fit",
    },
    why="With $d+1$ parameters and thousands of points there is nothing to overfit, so training and held-out "
    "likelihood agree, whatever the law of the data. That the model is wrong shows in how large the likelihood could "
    "be, not in how well it transfers. The variance is an average over points and pixels because each of the $md$ "
    "numbers has the same scale to be explained.",
    notice="Samples of the fit are a noisy average of all digits. Their likelihood is as "
    "good on fresh digits as on those of the fit.",
)
def generalizing_is_not_learning(key, *, data: Literal["digits", "isotropic noise"] = "digits"):
    draw, images = generator(key), digits(2000, 1000, side=7)
    train, test = images.train_images, images.test_images
    # Corner pixels that are blank in every digit have no variance, and a likelihood without a maximum.
    train, test = (each + 0.05 * draw.standard_normal(each.shape) for each in (train, test))
    if data == "isotropic noise":
        fit = isotropic_fit(train)
        train, test = (fit.mean + np.sqrt(fit.covariance[0, 0]) * draw.standard_normal(x.shape) for x in (train, test))
    fit, judge = isotropic_fit(train), gaussian_fit(train)
    d, centred = train.shape[1], train - train.mean(0)

    def surprise(logarithm):
        return 0.5 * ((centred**2).sum(1).mean() * np.exp(-logarithm) + d * (np.log(2 * np.pi) + logarithm))

    least: Any = minimize_scalar(surprise, bounds=(-10, 10), method="bounded", options={"xatol": 1e-10})
    found = least.x
    fresh = fit.mean + np.sqrt(fit.covariance[0, 0]) * draw.standard_normal(test.shape)

    def ratio(points):
        return _log_densities(judge, points) - _log_densities(fit, points)

    rightly = 0.5 * ((ratio(test) > 0).mean() + (ratio(fresh) < 0).mean())
    few = gaussian_fit(train[:100])
    gap, overfit = (
        abs(gaussian_log_likelihood(each, part) - gaussian_log_likelihood(each, test)) / d
        for each, part in ((fit, train), (few, train[:100]))
    )
    return {
        "the best variance": Identity(
            fit.covariance[0, 0], np.exp(found), error=1e-6, aside={"pixels": d, "points": len(train)}
        ),
        "held-out likelihood as good as training": Inequality(gap, 0.05, aside={"overfit": overfit}),
        "share of fresh samples told from digits": Inequality(
            0.95, rightly, aside={"digits": test[:8], "samples": fresh[:8]}
        ),
    }


def _log_densities(fit, points):
    return log_density(gaussian_mixture(np.ones(1), fit.mean[None], fit.covariance[None]), points)


@generalizing_is_not_learning.control("the sum over pixels not averaged", of="the best variance")
def per_point(evidence):
    return replace(evidence, left=evidence.left * evidence.aside["pixels"])


@generalizing_is_not_learning.control(
    "all covariances fitted to a hundred digits", of="held-out likelihood as good as training"
)
def hundred_digits(evidence):
    return replace(evidence, quantity=evidence.aside["overfit"])


generalizing_is_not_learning.control(
    "data that are isotropic noise", of="share of fresh samples told from digits", data="isotropic noise"
)


@generalizing_is_not_learning.picture
def digits_and_samples(pieces):
    """Eight handwritten digits (above) and eight samples of the isotropic Gaussian fitted to them (below)."""
    shown = pieces["share of fresh samples told from digits"].aside
    both = np.clip(np.concatenate([shown["digits"], shown["samples"]]), 0, 1)
    return Images(both.reshape(16, 7, 7), labels=["digit"] * 8 + ["sample"] * 8)


@claim(
    items={
        "A14.8": ("likelihood of a narrowing spike", "held-out likelihood of spikes"),
        "A14.15": ("distance of the distribution functions", "held-out likelihood of atoms"),
    },
    says=r"A spike of width $w$ on a data point in $d$ dimensions raises the log likelihood of a mixture like $-d\log "
    r"w$: no maximum exists. $K$ Gaussians of vanishing width come within $\frac1{2K}$ of a distribution function, "
    "while the likelihood of fresh points falls without bound.",
    needs="the spike takes half of the mass; atoms at the middle quantiles of a standard normal law",
    symbols={"w": "the width of the spike", "d": "the dimension", "K": "the number of Gaussians"},
    why="At its own point the spike has density of order $w^{-d}$, and every other point still has the broad "
    "component, which costs it one factor two. A step function with $K$ steps of $1/K$, each where the other crosses "
    "its middle, is never further than half a step. But being near in distribution says nothing of densities: between "
    "the atoms there is almost none.",
    notice="Once the spike is narrow the likelihood of the training points rises along a straight line without end, "
    "while that of fresh points stays log 2 below the one without a spike. A staircase of few atoms follows the "
    "normal law.",
)
def likelihood_rewards_spikes(key, *, count: Annotated[int, Interval(ge=4, le=64)] = 8):
    draw, widths = generator(key), 10.0 ** -np.arange(1, 9)
    dimensions, slopes, curves = np.array([1, 2, 5]), [], []
    for d in dimensions:
        points = draw.standard_normal((50, d))
        curves.append([log_density(spiked_mixture(points[0], w), points).sum() for w in widths])
        slopes.append((curves[-1][-1] - curves[-1][-3]) / np.log(widths[-1] / widths[-3]))
    centre = np.array([0.4])
    # Fresh points by quadrature: even cells far from the spike, and cells of its own width near it.
    grid = np.linspace(-9, 9, 4001)

    def held_out(mixture, near, width):
        at = np.unique(np.concatenate([grid, *(c + width * np.linspace(-12, 12, 401) for c in near)]))
        values = norm.pdf(at) * log_density(mixture, at[:, None])
        return np.trapezoid(values, at)

    fresh = np.array([held_out(spiked_mixture(centre, w), centre, w) for w in widths])
    entropy = -0.5 * np.log(2 * np.pi * np.e)
    counts, blurs = np.array([5, 10, 20, 40, 80]), 10.0 ** -np.arange(1, 6)
    distances = [kolmogorov_distance_to_normal(atoms_mixture(int(k), 1e-6)) for k in counts]
    atoms = [held_out(atoms_mixture(count, w), atoms_mixture(count, w).means[:, 0], w) for w in blurs]
    own = [log_density(atoms_mixture(count, w), atoms_mixture(count, w).means).mean() for w in blurs]
    # Narrow atoms: of −(distance to the nearest)²/2w² is what is left, and its mean is an integral cell by cell.
    places = norm.ppf((np.arange(count) + 0.5) / count)
    ends = np.concatenate([[-40.0], (places[1:] + places[:-1]) / 2, [40.0]])
    moments = [(1 + places**2) * norm.cdf(x) + (2 * places - x) * norm.pdf(x) for x in (ends[:-1], ends[1:])]
    return {
        "likelihood of a narrowing spike": Identity(
            np.array(slopes), -dimensions.astype(float), error=1e-6, along={"dimension": dimensions}
        ),
        # The spike's own share of fresh points is of the order of its width.
        "held-out likelihood of spikes": Identity(
            fresh[-1],
            entropy - np.log(2),
            error=1e-5,
            aside={"fresh": fresh, "training": np.array(curves[0]) / 50, "width": widths, "without": entropy},
        ),
        "distance of the distribution functions": Identity(
            np.array(distances), 0.5 / counts, error=1e-5, along={"atoms": counts}
        ),
        "fall of the held-out likelihood": Identity(
            2 * blurs[-1] ** 2 * atoms[-1],
            -np.sum(moments[1] - moments[0]),
            error=1e-5,  # of the even cells, 0.0045 wide
        ),
        "held-out likelihood of atoms": Inequality(
            np.diff(atoms), 0.0, along={"width": blurs[1:]}, aside={"at the atoms": np.diff(own)}
        ),
    }


@likelihood_rewards_spikes.control("slope −1 in every dimension", of="likelihood of a narrowing spike")
def one_a_point(evidence):
    return replace(evidence, right=-np.ones_like(evidence.right))


@likelihood_rewards_spikes.control("as good on fresh points as without a spike", of="held-out likelihood of spikes")
def for_nothing(evidence):
    return replace(evidence, right=evidence.aside["without"])


@likelihood_rewards_spikes.control("a whole step, 1/K", of="distance of the distribution functions")
def a_whole_step(evidence):
    return replace(evidence, right=2 * evidence.right)


@likelihood_rewards_spikes.control("the atoms themselves for fresh points", of="held-out likelihood of atoms")
def at_the_atoms(evidence):
    return replace(evidence, quantity=evidence.aside["at the atoms"])


@likelihood_rewards_spikes.picture
def spikes_and_stairs(pieces, settings):
    """Likelihood of training and of fresh points as a spike narrows (left); a staircase near the normal law (right)."""
    spiked, count = pieces["held-out likelihood of spikes"].aside, settings["count"]
    marks = [
        Dots("training", spiked["width"], spiked["training"]),
        Line("fresh", spiked["width"], spiked["fresh"]),
        Level("fresh, no spike", y=float(spiked["without"])),
    ]
    left = Curves(
        marks,
        x="width of the spike",
        y="mean log likelihood",
        log="x",
    )
    x = np.linspace(-3, 3, 1500)
    steps = [
        Line("normal law", x, norm.cdf(x)),
        Line(f"{count} atoms", x, (x[:, None] > atoms_mixture(count, 1e-6).means[:, 0]).mean(1)),
    ]
    return Row([left, Curves(steps, x="value", y="distribution function")])
