"""Tokens drawn together by attention, and what a skip connection does against it (lucchi Sec. 10.4.3)."""

from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from deeptheory.architectures.transformers import residual_encoder_block
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Identity, Rate, claim
from deeptheory.lab.pictures import Curves, Dots, Line

TOKENS, WIDTH, HIDDEN, INNER = 6, 4, 7, 3


@partial(jax.jit, static_argnames=("skip", "shares"))
def block(tokens, weights, *, skip=True, shares=(0.7, 0.4)):
    """The block with the residual weights `shares`; without the skip what attention alone returns."""
    outputs = residual_encoder_block(
        tokens, *weights, attention_share=shares[0], feed_forward_share=shares[1], activation=jnp.tanh
    )
    return outputs if skip else outputs - tokens


def apart(tokens):
    """Tokens less their mean."""
    return tokens - tokens.mean(-2, keepdims=True)


@claim(
    items={
        "L10.31": (
            "spread after attention alone, along 1/ε",
            "distance from the cube, along 1/ε",
            "spread after a block with skips",
        )
    },
    says=r"Tokens $x+\varepsilon r_i$ leave attention without a skip at distances "
    r"$\varepsilon^3\,(r_i-r_j)W^Q{W^K}^\top C\,W^V/\sqrt{d_k}+O(\varepsilon^4)$: it cubes small differences. An "
    r"encoder block with skips keeps them, $\varepsilon(r_i-r_j)(I+\alpha_2W^{F_1}D\,W^{F_2})+O(\varepsilon^2)$.",
    needs="tokens that are close to one another; a smooth activation, tanh",
    symbols={
        r"x+\varepsilon r_i": "token $i$, near a common point $x$",
        r"W^Q,W^K,W^V": "the matrices of queries, keys and values",
        r"C": "the covariance of the $r_i$, their mean taken off",
        r"d_k": "the width of queries and keys",
        r"\alpha_1,\alpha_2": "the residual weights of attention and of the feed-forward network",
        r"W^{F_1},W^{F_2}": "the matrices of the feed-forward network",
        r"D": r"the diagonal matrix of the slopes of the activation at $(x+\alpha_1xW^V)W^{F_1}$",
    },
    why=r"What is common to a row of scores drops out of the softmax, and what is common to all rows moves all outputs "
    r"alike. The scores of two tokens therefore differ in effect by $\varepsilon^2(r_i-r_j)W^Q{W^K}^\top "
    r"r_m^\top/\sqrt{d_k}$, and that difference of weights is applied to values that differ by $\varepsilon$ "
    "themselves: a cube. Stacked, cubes of cubes fall doubly exponentially (Dong, Cordonnier and Loukas 2021). A skip "
    r"carries the differences past it, and then $\alpha_1$ enters them only through the common point.",
    notice="Without skips the spread of the tokens falls the faster the smaller it is: three layers take it below "
    r"$10^{-7}$, and what the fourth leaves is rounding and not drawn. With skips it even grows.",
)
def attention_cubes_small_differences(key):
    draw = generator(key)
    shapes = ((WIDTH, INNER), (WIDTH, INNER), (WIDTH, WIDTH), (WIDTH, HIDDEN), (HIDDEN, WIDTH))
    weights = tuple(draw.standard_normal(shape) / np.sqrt(shape[0]) for shape in shapes)
    point, around = draw.standard_normal(WIDTH), draw.standard_normal((TOKENS, WIDTH))
    query, keyed, value, first, second = weights
    sizes = np.geomspace(8, 256, 6)
    near = point + around / sizes[:, None, None]
    spread = apart(np.asarray(block(near, weights, skip=False, shares=(1.0, 0.0))))
    centred = apart(around)
    cube = centred @ query @ keyed.T / np.sqrt(INNER) @ (centred.T @ centred / TOKENS) @ value
    left_over = np.linalg.norm(spread * sizes[:, None, None] ** 3 - cube, axis=(1, 2)) / np.linalg.norm(cube)
    _, moved = jax.jvp(lambda tokens: block(tokens, weights), (np.tile(point, (TOKENS, 1)),), (around,))

    def response(shares):
        slopes = 1 - np.tanh((point + shares[0] * point @ value) @ first) ** 2
        return centred @ (np.eye(WIDTH) + shares[1] * (first * slopes) @ second)

    def stack(skip, depth=6):
        tokens, spreads = around, []
        for _ in range(depth):
            spreads.append(np.linalg.norm(apart(tokens)))
            tokens = np.asarray(block(tokens[None], weights, skip=skip, shares=(0.7, 0.4) if skip else (1.0, 0.0))[0])
        return np.array(spreads)

    return {
        "spread after attention alone, along 1/ε": Rate(
            sizes,
            np.linalg.norm(spread, axis=(1, 2)),
            exponent=-3.0,
            rivals=(-2.0, -1.0),
            order=1.0,
            aside={"with skips": stack(True), "without": stack(False)},
        ),
        "distance from the cube, along 1/ε": Rate(sizes, left_over, exponent=-1.0, rivals=(0.0,), order=1.0),
        "spread after a block with skips": Identity(
            apart(np.asarray(moved)),
            response((0.7, 0.4)),
            scale=4.0,
            size=WIDTH * HIDDEN,
            aside={"at the point itself": response((0.0, 0.4))},
        ),
    }


@attention_cubes_small_differences.control(
    "the slopes of the activation at x, not where attention moves it", of="spread after a block with skips"
)
def unmoved(evidence):
    return replace(evidence, right=evidence.aside["at the point itself"])


@attention_cubes_small_differences.picture
def spreads(pieces):
    """Distance of all tokens from their mean, layer after layer, with the same weights in every layer."""
    aside = pieces["spread after attention alone, along 1/ε"].aside
    depth = np.arange(len(aside["without"]))
    seen = aside["without"] > 1e-15
    return Curves(
        [
            Line("with skips", depth, aside["with skips"], thin=True),
            Dots("with skips", depth, aside["with skips"]),
            Line("attention alone", depth[seen], aside["without"][seen], thin=True),
            Dots("attention alone", depth[seen], aside["without"][seen]),
        ],
        x="layers passed",
        y="spread of the tokens",
        log="y",
    )
