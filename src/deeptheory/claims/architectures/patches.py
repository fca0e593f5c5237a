"""Images as sequences of patches: what a vision transformer reads, and what it cannot tell (lucchi Fig. 10.24)."""

from dataclasses import replace
from typing import Annotated

import equinox as eqx
import jax
import numpy as np
import scipy.signal
from annotated_types import Interval

from deeptheory.architectures.vision_transformers import init_vision_transformer, patchify, unpatchify
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Exact, Identity, claim
from deeptheory.lab.pictures import Images

CHANNELS, WIDTH, COUNT = 3, 5, 3


def strided(images, filters, size):
    """Sums of filter times window over all channels, the window moved by its size: SciPy's correlations, thinned."""

    def one(image, f):
        parts = [scipy.signal.correlate2d(image[..., c], f[..., c], mode="valid") for c in range(image.shape[-1])]
        return np.sum(parts, 0)[::size, ::size].ravel()

    return np.array([np.stack([one(image, f) for f in filters], 1) for image in images])


@claim(
    items={
        "L10.42": (
            "embedded patches",
            "patches put together again",
            "answers when patches change places",
        )
    },
    says=r"Patches of $p\times p$ pixels mapped by one matrix are what a convolution with window and stride $p$ gives, "
    "and the cut loses nothing. Without positions a vision transformer answers alike for every order of the patches; "
    "with positions it does not.",
    needs="sides that $p$ divides; random weights",
    symbols={
        "p": "the side of a patch",
    },
    why="A matrix on the numbers of a patch takes one sum of products for each of its columns, as a filter does where "
    "its window stands; patches touch without overlapping, so the window moves by its own size. Attention and the "
    "layers on single tokens follow a permutation of their tokens, and a mean forgets it. Only positions, which stay "
    "where they are, tell how the patches lay.",
    notice="To a vision transformer without positions the image and the one with its patches mixed up are the same.",
    explore={"size": (2, 3, 6)},
)
def patches_are_tokens(key, *, size: Annotated[int, Interval(ge=2, le=6)] = 2):
    rng = generator(key)
    height, width = 3 * size, 2 * size
    drawn = rng.integers(0, 256, (COUNT, height, width, CHANNELS))
    square = rng.standard_normal((COUNT, 3 * size, 3 * size, CHANNELS))
    weights = rng.standard_normal((size * size * CHANNELS, WIDTH))
    filters = np.moveaxis(weights.reshape(size, size, CHANNELS, WIDTH), -1, 0)
    patches = np.asarray(patchify(drawn.astype(float), size)).astype(int)
    lying_down = unpatchify(patches.astype(float), size, height=width, width=height)

    order = np.roll(np.arange(9), rng.integers(1, 9))
    mixed = np.asarray(unpatchify(patchify(square, size)[:, order], size, height=3 * size, width=3 * size))
    with jax.enable_x64(True):
        model = init_vision_transformer(key, image=3 * size, size=size, channels=CHANNELS, width=8, layers=2, heads=2)
        placeless = eqx.tree_at(lambda each: each.positions, model, np.zeros_like(model.positions))
        answer = jax.jit(lambda network, images: network(images))
        answers = [np.asarray(answer(network, each)) for network in (placeless, model) for each in (square, mixed)]
    return {
        "embedded patches": Identity(
            patches @ weights,
            strided(drawn, filters, size),
            scale=256.0,
            size=4 * len(weights),
            aside={"column by column": strided(drawn, filters.swapaxes(1, 2), size)},
        ),
        "patches put together again": Exact(
            np.asarray(unpatchify(patches.astype(float), size, height=height, width=width)).astype(int),
            drawn,
            aside={"lying": np.asarray(lying_down).astype(int).reshape(drawn.shape)},
        ),
        "answers when patches change places": Identity(
            answers[1],
            answers[0],
            scale=1.0,
            size=1000,
            aside={"with positions": np.stack(answers[2:]), "image": square[0, ..., 0], "mixed": mixed[0, ..., 0]},
        ),
    }


@patches_are_tokens.control("patches read column by column", of="embedded patches")
def column_by_column(evidence):
    return replace(evidence, right=evidence.aside["column by column"])


@patches_are_tokens.control("height and width exchanged", of="patches put together again")
def lying(evidence):
    return replace(evidence, left=evidence.aside["lying"])


@patches_are_tokens.control("with positions too", of="answers when patches change places")
def with_positions(evidence):
    here, mixed = np.asarray(evidence.aside["with positions"])
    return replace(evidence, left=mixed, right=here)


@patches_are_tokens.picture
def mixed_patches(pieces):
    """One channel of an image of nine patches, and of the same image with its patches in another order."""
    aside = pieces["answers when patches change places"].aside
    return Images(np.stack([aside["image"], aside["mixed"]]), labels=["an image", "its patches mixed up"])
