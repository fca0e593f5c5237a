"""Mixtures of two Gaussians: Pearson's crabs, and an encoder and decoder that keep the law."""

from dataclasses import replace
from typing import Literal

import numpy as np
from scipy.special import ndtri
from scipy.stats import norm

from deeptheory.foundations.randomness import generator
from deeptheory.generative.likelihoods import gaussian_fit, gaussian_log_likelihood
from deeptheory.generative.mixtures import (
    crabs,
    decoded,
    encoded,
    expectation_maximization,
    line_mixture_cdf,
    log_density,
    pearson_mixture,
    responsibilities,
    sample_mixture,
)
from deeptheory.lab import Distribution, Identity, Inequality, Trials, claim
from deeptheory.lab.pictures import Histogram, Line


@claim(
    items={
        "A14.1": ("the hidden component summed out", "the law after encoding and decoding"),
        "A14.2": ("five moments of Pearson's mixture", "description length of two Gaussians below that of one"),
        "A14.3": ("the law after encoding and decoding", "description length of two Gaussians below that of one"),
    },
    says="A mixture of two Gaussians with the first five moments of Weldon's thousand crabs exists and describes them "
    "better than one Gaussian, for its three parameters more. Drawing a crab's component from its posterior, then a "
    "crab from that, keeps the law.",
    needs="the 29 classes of forehead breadth over body length, at the marks of the classes",
    symbols={r"\text{describes better}": "has the smaller Bayesian information criterion"},
    full=dict(trials=400_000),
    why="Means and variances of two components and their share are five numbers, so five moments pin them down, up to "
    "finitely many solutions. The criterion charges half the logarithm of the number of crabs for each parameter, ten "
    "nats for three of them, and the likelihood gains twenty-six. Encoding draws the hidden component given the crab, "
    "decoding the crab given the component: two draws from conditional laws of one joint law, which therefore stays.",
    notice="The histogram leans to the left, which no Gaussian does. The two components overlap so much that neither "
    "is seen as a hump of its own; their sum follows the lean.",
)
def crabs_are_two_gaussians(
    key,
    *,
    trials: Trials = 40_000,
    animals: Literal["crabs", "one Gaussian"] = "crabs",
    code: Literal["posterior", "most likely"] = "posterior",
):
    # A thousand quantiles of one Gaussian, shuffled by nothing: data for which one component is enough.
    single = norm(0.6467, 0.0191).ppf((np.arange(1000) + 0.5) / 1000)
    ratios = crabs() if animals == "crabs" else single
    moments = pearson_mixture(crabs())
    fit, _ = expectation_maximization(moments, ratios[:, None], steps=50)
    centre, spread = crabs().mean(), crabs().std()
    # The mixture's moments by quadrature over its density, not by the formulas that found it.
    grid = np.linspace(-8, 8, 4001)
    mass = np.exp(log_density(moments, (centre + spread * grid)[:, None])) * spread * (grid[1] - grid[0])
    orders = np.arange(6)
    swapped = moments._replace(weights=moments.weights[::-1])
    other = np.exp(log_density(swapped, (centre + spread * grid)[:, None])) * spread * (grid[1] - grid[0])
    observed = np.array([(((crabs() - centre) / spread) ** order).mean() for order in orders])
    log_n = np.log(len(ratios))
    criteria = [
        (5 * log_n - 2 * log_density(fit, ratios[:, None]).sum()) / len(ratios),
        (2 * log_n - 2 * len(ratios) * gaussian_log_likelihood(gaussian_fit(ratios[:, None]), ratios[:, None]))
        / len(ratios),
    ]
    draw = generator(key)
    points = sample_mixture(draw, moments, trials)
    likely = responsibilities(moments, points).argmax(1)
    again = decoded(draw, moments, encoded(draw, moments, points) if code == "posterior" else likely)
    at = moments.means[0, 0] + 0.02 * ndtri((np.arange(50) + 0.5) / 50)
    scales = np.sqrt(moments.covariances[:, 0, 0])
    densities = norm.pdf(at[:, None], moments.means[:, 0], scales)
    return {
        "five moments of Pearson's mixture": Identity(
            np.array([grid**order @ mass for order in orders]),
            observed,
            scale=1.0,
            error=1e-8,  # the equation for the spread of the means is solved to 1e-15, moments of it to somewhat less
            along={"order": orders},
            aside={"weights swapped": np.array([grid**order @ other for order in orders])},
        ),
        "description length of two Gaussians below that of one": Inequality(
            criteria[0],
            criteria[1],
            aside={
                "ratios": ratios,
                "at": (x := np.linspace(0.57, 0.71, 200)),
                "one": norm.pdf(x, ratios.mean(), ratios.std()),
                "parts": fit.weights * norm.pdf(x[:, None], fit.means[:, 0], np.sqrt(fit.covariances[:, 0, 0])),
            },
        ),
        "the hidden component summed out": Identity(
            np.exp(log_density(moments, at[:, None])),
            densities @ moments.weights,
            aside={"even shares": densities.mean(1)},
        ),
        "the law after encoding and decoding": Distribution(line_mixture_cdf(moments, again[:, 0])),
    }


@crabs_are_two_gaussians.control("the shares of the components exchanged", of="five moments of Pearson's mixture")
def exchanged(evidence):
    return replace(evidence, left=evidence.aside["weights swapped"])


@crabs_are_two_gaussians.control("components of even shares", of="the hidden component summed out")
def even_shares(evidence):
    return replace(evidence, right=evidence.aside["even shares"])


crabs_are_two_gaussians.control(
    "a thousand animals of one Gaussian",
    of="description length of two Gaussians below that of one",
    animals="one Gaussian",
)
crabs_are_two_gaussians.control(
    "the most likely component for a drawn one", of="the law after encoding and decoding", code="most likely"
)


@crabs_are_two_gaussians.picture
def crab_histogram(pieces):
    """Forehead breadth over body length of a thousand crabs, one Gaussian, and the two components with their sum."""
    seen = pieces["description length of two Gaussians below that of one"].aside
    parts = np.asarray(seen["parts"])
    marks = [
        Line("mixture of two", seen["at"], parts.sum(1)),
        Line("its components", seen["at"], parts[:, 0], thin=True),
        Line("its components", seen["at"], parts[:, 1], thin=True),
        Line("", seen["at"], seen["one"], rival="one Gaussian"),
    ]
    return Histogram(marks, samples=seen["ratios"], bins=29, x="forehead breadth / body length", y="density")
