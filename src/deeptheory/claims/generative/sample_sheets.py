"""Sheets of samples: what a variational autoencoder and a flow make of handwritten digits."""

from dataclasses import replace
from typing import Any

import jax
import numpy as np

from deeptheory.data.handwriting import digits
from deeptheory.foundations.randomness import generator
from deeptheory.generative.autoencoders import (
    init_variational_autoencoder,
    sample_autoencoder,
    train_variational_autoencoder,
)
from deeptheory.generative.flows import init_flow, sample_flow, train_flow
from deeptheory.generative.sample_quality import sharpness
from deeptheory.lab import Chain, claim
from deeptheory.lab.pictures import Images, Stack, Table

SIDE, NOISE, SAMPLES = 7, 0.03, 1000
TRAINING: dict[str, Any] = dict(steps=600, batch=128, rate=3e-3)


def blurred(images):
    """Every pixel with a quarter of its weight given to its four neighbours, which the border repeats."""
    wide = np.pad(images, ((0, 0), (1, 1), (1, 1)), mode="edge")
    around = wide[:, :-2, 1:-1] + wide[:, 2:, 1:-1] + wide[:, 1:-1, :-2] + wide[:, 1:-1, 2:]
    return 0.75 * images + around / 16


@claim(
    items={"A14.21": "sharpness of data, flow and autoencoder"},
    says="Trained alike on handwritten digits, the means that a variational autoencoder decodes are less sharp than "
    "the digits; samples of a Real NVP flow come nearer. Sharpness is the mean absolute Laplacian of the pixels.",
    needs="3,000 digits of 7×7 pixels with noise of 0.03; a flow of eight layers, an autoencoder with eight hidden "
    "coordinates, 64 units each, 600 steps of Adam at 0.003 on batches of 128",
    scale="printed: faces of celebrities by networks of millions of weights; here: digits of 49 pixels",
    symbols={r"\text{Laplacian}": "four times a pixel less its four neighbours"},
    why="The mean that a decoder gives for a hidden point is an average over all images that are encoded near it, and "
    "averages of images are blurred; what they lack the decoder puts into its noise, which is not shown. A flow has no "
    "such noise: each sample is one image under an invertible map, and has to look like one to be likely.",
    notice="From above: digits, samples of the flow, means of the autoencoder. The flow's strokes are as dark and thin "
    "as the digits' but do not always make one; the autoencoder's are grey and wide.",
)
def autoencoders_blur_where_flows_do_not(key):
    draw, data = generator(key), digits(3000, SAMPLES, side=SIDE)
    middle, spread = data.train_images.mean(0), data.train_images.std()
    noisy = data.train_images + NOISE * draw.standard_normal(data.train_images.shape)
    points = (noisy - middle) / spread
    flow, _ = train_flow(draw, init_flow(key, SIDE**2, layers=8, hidden=64), points, **TRAINING)
    blank = init_variational_autoencoder(jax.random.fold_in(key, 1), SIDE**2, latent=8, hidden=64)
    encoder, _ = train_variational_autoencoder(draw, blank, points, **TRAINING)
    made = {"flow": sample_flow(draw, flow, SAMPLES), "means": sample_autoencoder(draw, encoder, SAMPLES, noisy=False)}
    sheets = {
        name: np.clip(np.asarray(each) * spread + middle, 0, 1).reshape(-1, SIDE, SIDE) for name, each in made.items()
    }
    sheets["digits"] = data.test_images.reshape(-1, SIDE, SIDE)
    sheets["blurred"] = blurred(sheets["digits"])
    sharp = {name: float(sharpness(each).mean()) for name, each in sheets.items()}
    return {
        "sharpness of data, flow and autoencoder": Chain(
            {
                "means of the autoencoder below the digits": (sharp["means"], sharp["digits"]),
                "the flow nearer than they": (
                    abs(sharp["flow"] - sharp["digits"]),
                    abs(sharp["means"] - sharp["digits"]),
                ),
            },
            aside={"sharpness": np.array(list(sharp.values())), **{name: each[:8] for name, each in sheets.items()}},
        )
    }


@autoencoders_blur_where_flows_do_not.control(
    "digits that give a quarter of each pixel to its neighbours, for the flow",
    of="sharpness of data, flow and autoencoder",
)
def blurred_digits(evidence):
    # The sheets are flow, means, digits, and digits blurred.
    _, means, digits, blurred = evidence.aside["sharpness"]
    links = evidence.links | {"the flow nearer than they": (abs(blurred - digits), abs(means - digits))}
    return replace(evidence, links=links)


@autoencoders_blur_where_flows_do_not.picture
def sheets(pieces):
    """Eight digits, eight samples of the flow and eight means of the autoencoder; below, how sharp a thousand are."""
    aside = pieces["sharpness of data, flow and autoencoder"].aside
    names = {"digits": "digits", "flow": "samples of the flow", "means": "means of the autoencoder"}
    strips = [Images(np.asarray(aside[name]), [""] * 8, title=says) for name, says in names.items()]
    flow, means, digits, blurred = (f"{each:.3f}" for each in aside["sharpness"])
    table = {
        "images": [*names.values(), "digits, blurred by a quarter"],
        "mean |Laplacian|": [digits, flow, means, blurred],
    }
    return Stack([*strips, Table(table)])
