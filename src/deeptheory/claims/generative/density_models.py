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
    fit_autoregressive_histogram,
    histogram_log_density,
    ring_of_gaussians,
)
from deeptheory.generative.flows import flow_log_density, init_flow, sample_flow, train_flow
from deeptheory.generative.likelihoods import gaussian_fit
from deeptheory.generative.mixtures import (
    expectation_maximization,
    gaussian_mixture,
    log_density,
    sample_mixture,
)
from deeptheory.lab import Identity, Inequality, claim
from deeptheory.lab.pictures import Dots, Plane, Row

NAMES = ["Gaussian", "mixture", "histogram", "flow", "autoencoder"]


@claim(
    items={
        "A14.20": ("total mass of each model", "the flow above Gaussian and autoencoder"),
        "A14.21": "samples off the clouds, fewer of the flow",
        "A14.27": ("likelihood of each model below the truth's", "total mass of each model"),
    },
    says="Five models fitted to a ring of eight Gaussians: each density has mass one, none has more likelihood on "
    "fresh points than the truth. A flow trained on its exact likelihood beats a Gaussian and a variational "
    "autoencoder; fewer of its samples are far off.",
    needs="4,000 points; flow of six layers, autoencoder with two hidden coordinates, 16 units each, 400 steps of "
    "Adam at 0.005 on batches of 128",
    scale="printed: faces by networks of millions of weights; here: points in the plane",
    symbols={
        r"\text{mass}": "the integral of the density",
        r"\text{far off}": "more than three and a half deviations from every centre",
    },
    why="The mean of $\\log p-\\log q$ under $p$ is a divergence, so no density $q$ does better than the truth; one "
    "that seems to is no density. A flow raises the likelihood itself and must put its mass where points are. The "
    "autoencoder raises a bound and can stay where its hidden coordinates are not used: the ring has the same "
    "variance in every direction, so a decoder that bends only a little gains nothing by them.",
    notice="The flow finds the ring and leaves bridges between the clouds, since a continuous map cannot tear one "
    "cloud of noise into eight. The autoencoder has collapsed to one round Gaussian, with the likelihood of a "
    "Gaussian: the utmost of a blur.",
)
def density_models_on_a_ring(
    key,
    *,
    steps: Annotated[int, Interval(ge=200, le=800)] = 400,
):
    draw, truth = generator(key), ring_of_gaussians()
    train, test = sample_mixture(draw, truth, 4000), sample_mixture(draw, truth, 4000)
    one = gaussian_fit(train)
    start = ring_of_gaussians(8, radius=1.5, deviation=0.7)
    mixture, _ = expectation_maximization(start, train, steps=30)
    cells = fit_autoregressive_histogram(np.clip(train, -4, 4))
    flow, _ = train_flow(draw, init_flow(key, 2, hidden=16), train, steps=steps, batch=128)
    blank = init_variational_autoencoder(jax.random.fold_in(key, 1), 2, latent=2, hidden=16)
    encoder, _ = train_variational_autoencoder(draw, blank, train, steps=steps, batch=128)
    # The histogram's edges are edges of cells of the grid.
    side, half = 144, 8.0
    axis = -half + 2 * half * (np.arange(side) + 0.5) / side
    both = np.concatenate([test, np.stack(np.meshgrid(axis, axis, indexing="ij"), -1).reshape(-1, 2)])
    values = np.array(
        [
            log_density(gaussian_mixture(np.ones(1), one.mean[None], one.covariance[None]), both),
            log_density(mixture, both),
            histogram_log_density(cells, both),
            flow_log_density(flow, both),
        ]
    )
    # The autoencoder's likelihood is known from below only, by 64 samples of its hidden coordinates a point.
    bound = importance_bound(encoder, test, draw.standard_normal((64, len(test), 2)))
    held, logs = np.maximum([*values[:, : len(test)], np.asarray(bound)], -50), values[:, len(test) :]
    excess = held - log_density(truth, test)
    error = excess.std(1) / np.sqrt(len(test))
    samples = {
        "flow": np.asarray(sample_flow(draw, flow, 4000)),
        "autoencoder": np.asarray(sample_autoencoder(draw, encoder, 4000)),
    }
    off = {
        name: (np.linalg.norm(x[:, None] - truth.means, axis=-1).min(1) > 3.5 * 0.3).astype(float)
        for name, x in samples.items()
    }
    shown = {name.replace(" ", "_"): x[:400] for name, x in ({"data": test} | samples).items()}
    return {
        "likelihood of each model below the truth's": Inequality(
            excess.mean(1), 0.0, error=6 * error, along={"model": NAMES}, aside=shown
        ),
        # A flow bends sharply between the clouds; the grid sees that to a part in a thousand or so.
        "total mass of each model": Identity(
            np.exp(logs).sum(1) * (2 * half / side) ** 2, np.ones(4), error=2e-3, along={"model": NAMES[:4]}
        ),
        "the flow above Gaussian and autoencoder": Inequality(
            held[[0, 4]].mean(1), held[3].mean(), along={"model": [NAMES[0], NAMES[4]]}
        ),
        "samples off the clouds, fewer of the flow": Inequality(off["flow"].mean(), off["autoencoder"].mean()),
    }


@density_models_on_a_ring.control(
    "a histogram that forgets the area of its cells", of="likelihood of each model below the truth's"
)
def per_cell(evidence):
    # Cells have area (8/24)²; without it the logarithm is larger by the other sign.
    return replace(evidence, quantity=evidence.quantity + np.array([0, 0, 2 * np.log(3), 0, 0]))


@density_models_on_a_ring.control("likelihoods raised by 0.05 nats", of="total mass of each model")
def raised(evidence):
    return replace(evidence, left=np.asarray(evidence.left) * np.exp(0.05))


@density_models_on_a_ring.control("the flow below both", of="the flow above Gaussian and autoencoder")
def flow_below(evidence):
    return replace(evidence, quantity=evidence.bound, bound=evidence.quantity)


@density_models_on_a_ring.control("fewer of the autoencoder", of="samples off the clouds, fewer of the flow")
def flow_blurs(evidence):
    return replace(evidence, quantity=evidence.bound, bound=evidence.quantity)


@density_models_on_a_ring.picture
def three_rings(pieces):
    """Points of the ring, samples of the flow, and samples of the variational autoencoder."""
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
        for name in ("data", "flow", "autoencoder")
    ]
    return Row(panels)
