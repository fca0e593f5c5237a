"""Sinusoidal positions: one length, distances that depend on the shift alone, a shift that is a rotation (lucchi)."""

from dataclasses import replace
from typing import Annotated

import numpy as np
from annotated_types import Interval

from deeptheory.architectures.attention_layers import plain_attention
from deeptheory.architectures.transformers import sinusoidal_positions
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Exact, Identity, claim
from deeptheory.lab.pictures import compared

SHIFTS = np.array([1, 2, 5, 13, 40])


def frequencies(width, step=2):
    """One frequency for each pair of coordinates, from 1 down."""
    return np.array([10_000.0 ** (-step * i / width) for i in range(width // 2)])


@claim(
    items={
        "L10.34": (
            "squared length of an encoding",
            "product of two encodings",
            "a shift as a rotation",
            "outputs follow the order of the tokens",
        )
    },
    says=r"With $\omega_i=10000^{-2i/d}$, sinusoidal encodings have $|\mathrm{PE}(p)|^2=d/2$ and "
    r"$\mathrm{PE}(p)\cdot\mathrm{PE}(p+k)=\sum_i\cos(k\omega_i)$, and one rotation shifts all positions by $k$. "
    "Attention follows permutations of its tokens; with encodings added it does not.",
    needs="an even width",
    symbols={
        r"\mathrm{PE}(p)": "the encoding of position $p$",
        r"d": "the width of tokens and encodings",
        r"k": "a shift of positions",
        r"\omega_i": r"the frequency of the pair of coordinates $2i$ and $2i+1$",
    },
    why=r"Each pair of coordinates is a point on a circle, at the angle $p\omega_i$. It has length one, two of them "
    r"have the cosine of their angle as product, and going on by $k$ turns it by $k\omega_i$, wherever it was. A "
    "layer of attention without positions is equivariant: permuted tokens give permuted outputs (the text says "
    "invariant). An encoding stays where it is when tokens change places, and so tells their order.",
    notice=r"The product with a shifted position over the shift: highest at zero, lower on the whole with distance, "
    r"though not step by step, and never periodic. Were the exponent $i/d$ in the place of $2i/d$, half of the "
    r"frequencies would be missing.",
    explore={"width": (8, 16, 32, 64, 128)},
)
def encodings_turn_with_position(key, *, width: Annotated[int, Interval(ge=4, le=256)] = 32):
    width -= width % 2
    encodings = sinusoidal_positions(101, width)
    cosines = [[[np.cos(k * w) for w in frequencies(width, step)] for k in range(61)] for step in (2, 1)]
    products = np.sum(cosines, axis=-1)
    rotated = np.empty((len(SHIFTS), 61, width))
    for row, k in enumerate(SHIFTS):
        for i, w in enumerate(frequencies(width)):
            turn = np.array([[np.cos(k * w), np.sin(k * w)], [-np.sin(k * w), np.cos(k * w)]])
            rotated[row, :, 2 * i : 2 * i + 2] = encodings[:61, 2 * i : 2 * i + 2] @ turn.T
    draw = generator(key)
    tokens, order = draw.standard_normal((9, width)) / np.sqrt(width), np.roll(np.arange(9), draw.integers(1, 9))
    bare = np.abs(plain_attention(tokens[order]) - plain_attention(tokens)[order]).max()
    placed = np.abs(
        plain_attention(tokens[order] + encodings[:9]) - plain_attention(tokens + encodings[:9])[order]
    ).max()
    return {
        "squared length of an encoding": Identity(np.sum(encodings**2, axis=1), width / 2, size=width),
        "product of two encodings": Identity(
            np.array([[encodings[p] @ encodings[p + k] for k in range(61)] for p in (0, 7, 40)]),
            np.broadcast_to(products[0], (3, 61)),
            scale=width,
            size=width,
            along={"position": np.array([0, 7, 40]), "shift": np.arange(61)},
            aside={"half the exponent": products[1]},
        ),
        "a shift as a rotation": Identity(
            encodings[np.arange(61) + SHIFTS[:, None]], rotated, scale=101.0, along={"shift": SHIFTS},
            aside={"unmoved": np.broadcast_to(encodings[:61], rotated.shape)},
        ),
        "outputs follow the order of the tokens": Exact(
            np.array([bare < 1e-12, placed < 1e-12]), np.array([True, False])
        ),
    }  # fmt: skip


@encodings_turn_with_position.control("frequencies 10000^(−i/d)", of="product of two encodings")
def half_the_exponent(evidence):
    return replace(evidence, right=np.broadcast_to(evidence.aside["half the exponent"], np.shape(evidence.left)))


@encodings_turn_with_position.control("a squared length of d", of="squared length of an encoding")
def full_length(evidence):
    return replace(evidence, right=2 * evidence.right)


@encodings_turn_with_position.control("a shift leaves encodings as they are", of="a shift as a rotation")
def no_rotation(evidence):
    return replace(evidence, right=evidence.aside["unmoved"])


@encodings_turn_with_position.control(
    "outputs still follow the order when encodings are added", of="outputs follow the order of the tokens"
)
def always(evidence):
    return replace(evidence, right=np.array([True, True]))


@encodings_turn_with_position.picture
def similarity(pieces, settings):
    """Product of the encodings of two positions over their distance, from the seventh position on, and the formula."""
    piece, width = pieces["product of two encodings"], settings["width"] // 2 * 2
    return compared(
        piece.along["shift"],
        lambda k: np.cos(np.multiply.outer(k, frequencies(width))).sum(-1),
        np.asarray(piece.left)[1],
        rivals={"frequencies with i/d for 2i/d": lambda k: np.cos(np.multiply.outer(k, frequencies(width, 1))).sum(-1)},
        x="shift k",
        y="PE(p) · PE(p + k)",
    )
