"""Density models beside each other on a law that is known."""

from dataclasses import replace
from typing import Annotated

import jax
import numpy as np
from annotated_types import Interval

from deeptheory.foundations.randomness import generator
from deeptheory.generative.autoencoders import (
    importance_bound,
    init_variational_autoencoder,
    sample_autoencoder,
    train_variational_autoencoder,
)
from deeptheory.generative.density_models import (
    compare_densities,
    fit_autoregressive_histogram,
    histogram_log_density,
    ring_of_gaussians,
    sample_histogram,
)
from deeptheory.generative.diffusion_models import cosine_schedule, fit_denoiser, kept_signal, reverse_chain
from deeptheory.generative.flows import flow_log_density, init_flow, sample_flow, train_flow
from deeptheory.generative.likelihoods import gaussian_fit
from deeptheory.generative.mixtures import (
    expectation_maximization,
    gaussian_mixture,
    log_density,
    sample_mixture,
)
from deeptheory.generative.sample_quality import two_sample_accuracy
from deeptheory.lab import Identity, Inequality, claim
from deeptheory.lab.pictures import Dots, Plane, Row, Stack, Table

NAMES = ["Gaussian", "mixture", "histogram", "flow", "autoencoder", "diffusion"]
POINTS, STEPS = 4000, 30
"""of the training, the test and every drawn sample; of the way back from noise"""


@claim(
    items={
        "A14.20": ("total mass of each model", "the flow above Gaussian and autoencoder"),
        "A14.27": (
            "likelihood of each model below the truth's",
            "total mass of each model",
            "samples told from data, by the divergence",
            "samples of the diffusion, told less often than the flow's",
        ),
    },
    says="Models of a ring of eight Gaussians: each density has mass one and less likelihood than the truth; "
    r"neighbours tell samples from data at most $\frac12(1+\sqrt{D/2})$ of the time. A flow beats a Gaussian "
    "and an autoencoder; a learnt diffusion is told less often.",
    needs="4,000 points; flow of six layers, autoencoder with two hidden coordinates, 16 units each, 400 steps of "
    "Adam at 0.005 on batches of 128; diffusion of 30 steps with 100 random features a level",
    scale="printed: faces by networks of millions of weights; here: points in the plane",
    symbols={
        r"\text{mass}": "the integral of the density",
        r"D": "the divergence of the truth from a model, the mean of $\\log p-\\log q$ on fresh points",
    },
    why="The mean of $\\log p-\\log q$ under $p$ is a divergence, so no density $q$ does better than the truth; one "
    "that seems to is no density. A flow raises the likelihood itself and must put its mass where points are. The "
    "autoencoder raises a bound and can stay where its hidden coordinates are not used: the ring has the same "
    "variance in every direction, so a decoder that bends only a little gains nothing by them. No classifier is right "
    r"more often than $\frac12(1+\mathrm{TV})$, and by Pinsker's inequality the total variation is at most "
    r"$\sqrt{D/2}$: few nats lost, samples hard to tell.",
    notice="The flow finds the ring and leaves bridges between the clouds, since a continuous map cannot tear one "
    "cloud of noise into eight. The autoencoder has not left one round Gaussian, with the likelihood of a Gaussian, in "
    "the steps it was given. The table has nats a point, and how often nearest neighbours tell samples from data: ½ is "
    "not at all.",
)
def density_models_on_a_ring(
    key,
    *,
    steps: Annotated[int, Interval(ge=200, le=800)] = 400,
):
    draw, truth = generator(key), ring_of_gaussians()
    train, test = sample_mixture(draw, truth, POINTS), sample_mixture(draw, truth, POINTS)
    fit = gaussian_fit(train)
    one = gaussian_mixture(np.ones(1), fit.mean[None], fit.covariance[None])
    start = ring_of_gaussians(8, radius=1.5, deviation=0.7)
    mixture, _ = expectation_maximization(start, train, steps=30)
    cells = fit_autoregressive_histogram(np.clip(train, -4, 4))
    flow, _ = train_flow(draw, init_flow(key, 2, hidden=16), train, steps=steps, batch=128)
    blank = init_variational_autoencoder(jax.random.fold_in(key, 1), 2, latent=2, hidden=16)
    encoder, _ = train_variational_autoencoder(draw, blank, train, steps=steps, batch=128)
    schedule = cosine_schedule(STEPS)
    denoiser = fit_denoiser(draw, train[:1500], kept_signal(schedule), features=100)
    densities = {
        "Gaussian": lambda x: log_density(one, x),
        "mixture": lambda x: log_density(mixture, x),
        "histogram": lambda x: np.maximum(histogram_log_density(cells, x), -50),
        "flow": lambda x: np.asarray(flow_log_density(flow, x)),
        # The autoencoder's likelihood is known from below only, by 64 samples of its hidden coordinates a point.
        "autoencoder": lambda x: np.asarray(importance_bound(encoder, x, draw.standard_normal((64, len(x), 2)))),
    }
    table = compare_densities(lambda x: log_density(truth, x), densities, train, test)
    columns = {
        part: np.array([row[part] for row in table.values()]) for part in ("train", "test", "divergence", "error")
    }
    # The histogram's edges are edges of cells of the grid.
    side, half = 144, 8.0
    axis = -half + 2 * half * (np.arange(side) + 0.5) / side
    grid = np.stack(np.meshgrid(axis, axis, indexing="ij"), -1).reshape(-1, 2)
    masses = [np.exp(densities[name](grid)).sum() * (2 * half / side) ** 2 for name in NAMES[:4]]
    chain = reverse_chain(draw, denoiser, schedule, draw.standard_normal((POINTS, 2)))
    samples = {
        "Gaussian": sample_mixture(draw, one, POINTS),
        "mixture": sample_mixture(draw, mixture, POINTS),
        "histogram": sample_histogram(draw, cells, POINTS),
        "flow": np.asarray(sample_flow(draw, flow, POINTS), float),
        "autoencoder": np.asarray(sample_autoencoder(draw, encoder, POINTS), float),
        "diffusion": chain[-1],
    }
    told = np.array([two_sample_accuracy(test, each) for each in samples.values()])
    shown = {name: each[:400] for name, each in ({"data": test} | samples).items()}
    return {
        "likelihood of each model below the truth's": Inequality(
            -columns["divergence"], 0.0, error=6 * columns["error"], along={"model": NAMES[:5]},
            aside=shown | columns | {"told": told},
        ),
        # A flow bends sharply between the clouds; the grid sees that to a part in a thousand or so.
        "total mass of each model": Identity(
            np.array(masses), np.ones(4), error=2e-3, along={"model": NAMES[:4]}
        ),
        # Of 8,000 answers the share has a standard error of 0.006, a little more since neighbours come in pairs.
        "samples told from data, by the divergence": Inequality(
            told[:5], 0.5 + np.sqrt(np.maximum(columns["divergence"], 0) / 8), error=0.025, along={"model": NAMES[:5]},
            aside={"divergence": columns["divergence"]},
        ),
        "samples of the diffusion, told less often than the flow's": Inequality(
            told[5] - 0.5, told[3] - 0.5, aside={"early": two_sample_accuracy(test, chain[-1 - STEPS // 3]) - 0.5}
        ),
        "the flow above Gaussian and autoencoder": Inequality(
            columns["test"][[0, 4]], columns["test"][3], along={"model": [NAMES[0], NAMES[4]]},
            aside={"mixture": columns["test"][[1]]},
        ),
    }  # fmt: skip


@density_models_on_a_ring.control(
    "a histogram divided by the area of its cells twice", of="likelihood of each model below the truth's"
)
def twice_divided(evidence):
    # Cells have area (8/24)²; divided by it once more the logarithm is larger by 2 log 3.
    return replace(evidence, quantity=evidence.quantity + np.array([0, 0, 2 * np.log(3), 0, 0]))


@density_models_on_a_ring.control("likelihoods raised by 0.05 nats", of="total mass of each model")
def raised(evidence):
    return replace(evidence, left=np.asarray(evidence.left) * np.exp(0.05))


@density_models_on_a_ring.control("the flow above a mixture, too", of="the flow above Gaussian and autoencoder")
def above_a_mixture(evidence):
    return replace(evidence, quantity=evidence.aside["mixture"], along={})


@density_models_on_a_ring.control(
    "Pinsker's root for twice the total variation", of="samples told from data, by the divergence"
)
def half_of_pinsker(evidence):
    return replace(evidence, bound=0.5 + (np.asarray(evidence.bound) - 0.5) / 2)


@density_models_on_a_ring.control(
    "a chain that stops a third before its end", of="samples of the diffusion, told less often than the flow's"
)
def stopped_early(evidence):
    return replace(evidence, quantity=evidence.aside["early"])


@density_models_on_a_ring.picture
def four_rings(pieces):
    """Points of the ring and of three models; below, nats a point, and how often samples are told from data."""
    shown = pieces["likelihood of each model below the truth's"].aside
    panels = [
        Plane(
            [Dots("", np.asarray(shown[name])[:, 0], np.asarray(shown[name])[:, 1])],
            x="first coordinate",
            y="second coordinate",
            title=name,
            xs=(-4, 4),
            ys=(-4, 4),
        )
        for name in ("data", "flow", "autoencoder", "diffusion")
    ]
    numbers = {
        "likelihood, training": shown["train"],
        "likelihood, test": shown["test"],
        "divergence": shown["divergence"],
        "told from data": shown["told"],
    }
    columns = {name: [*(f"{each:.3f}" for each in column), "–"][: len(NAMES)] for name, column in numbers.items()}
    return Stack([Row(panels[:2]), Row(panels[2:]), Table({"model": NAMES, **columns})])
