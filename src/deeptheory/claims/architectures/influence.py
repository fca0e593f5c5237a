"""What a long input hides from soft attention: one token's influence falls like 1/n, and parity with it (lucchi)."""

from dataclasses import replace
from typing import Annotated

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval

from deeptheory.architectures.transformers import init_encoder_block
from deeptheory.foundations.margin_losses import logistic_loss
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Identity, Inequality, Rate, claim
from deeptheory.lab.pictures import Curves, power_law

WIDTH, NETWORKS = 8, 4


def parity_loss(logit, flipped):
    """Mean cross-entropy of two inputs of opposite parity, when the logit of the first is to be positive."""
    return (logistic_loss(logit) + logistic_loss(-flipped)) / 2


@eqx.filter_jit
def last_outputs(blocks, tokens):
    for block in blocks:
        tokens = block(tokens)
    return tokens[:, -1]


def flipped_bits(draw, key, sizes):
    """How far the last output of two random blocks moves when half of the bits are ones, and one more, by length.

    Without positions only the number of ones counts. Tokens have length about one: the sharper the scores, the longer
    an input must be before a mean is seen. Smooth units: a ReLU may switch at some length.
    """
    blocks = [init_encoder_block(jax.random.fold_in(key, i), WIDTH, 16) for i in range(2)]
    blocks = [replace(block, feed_forward=replace(block.feed_forward, activation=jnp.tanh)) for block in blocks]
    words, last = (draw.standard_normal(shape) / WIDTH**0.5 for shape in ((2, WIDTH), WIDTH))
    moved = []
    for size in sizes:
        bits = np.arange(size - 1) < [[size // 2], [size // 2 + 1]]
        tokens = np.concatenate([words[bits.astype(int)], np.broadcast_to(last, (2, 1, WIDTH))], axis=1)
        moved.append(np.subtract(*np.asarray(last_outputs(blocks, tokens))))
    return np.array(moved)


def one_more(attention, words, last, size):
    """How far attention moves at the last token: in its layer, by counting, and with equal weights.

    Of `size` tokens half are ones, and then one more, in the place of a zero. Biases are zero when drawn.
    """
    query, key, value, out = (
        np.asarray(each.weight) for each in (attention.query, attention.key, attention.value, attention.output)
    )
    bits = np.arange(size - 1) < [[size // 2], [size // 2 + 1]]
    tokens = np.concatenate([words[bits.astype(int)], np.broadcast_to(last, (2, 1, WIDTH))], axis=1)
    kinds = np.array([*words, last])
    masses = np.exp(kinds @ key @ (last @ query) / WIDTH**0.5)
    counts = np.array([size - 1 - size // 2, size // 2, 1])
    total = counts @ masses
    mean = (counts * masses) @ kinds / total
    # One term leaves the sum and one comes, and so for the sum of the masses below it.
    moved = (masses[1] * (words[1] - mean) - masses[0] * (words[0] - mean)) / (total + masses[1] - masses[0])
    seen = np.subtract(*np.asarray(attention(tokens))[:, -1])
    return seen, -moved @ value @ out, (words[0] - words[1]) / size @ value @ out


@claim(
    items={"L10.43": ("influence of one token", "one layer by counting", "loss on parity")},
    says=r"At fixed weights the last output of soft attention moves by $O(1/n)$ when one of $n$ tokens is replaced. "
    r"Parity flips with every bit: its mean loss on two inputs one bit apart is at least $\log2-|\Delta f|/4$, in the "
    "end a guess.",
    needs="weights that do not change with the length, bounded tokens, and attention without hard maxima; here random "
    "weights, two blocks, and half of the bits ones",
    symbols={
        r"n": "the number of tokens",
        r"\Delta f": "the change of the logit when one bit is flipped",
        r"\log 2": "the cross-entropy of a guess",
    },
    why=r"Scores are bounded, so that every weight is of order $1/n$, and a token that changes moves a mean of $n$ by "
    "as much. The next layer sees every token moved by $O(1/n)$ and one by $O(1)$ with a weight $O(1/n)$: again "
    r"$O(1/n)$ (Hahn 2020). The loss is convex and has slope $\frac12$ at zero, where it is $\log2$; the two inputs "
    "ask for opposite signs, and their logits are hardly apart, wherever the threshold is put.",
    notice="The change of the output falls by half when the input is twice as long. Weights that grow with the "
    "length, or a scratch pad on which steps are written out, escape this; more training at one length does not.",
)
def one_token_in_many(key, *, longest: Annotated[int, Interval(ge=256, le=1024)] = 512):
    draw = generator(key)
    sizes = longest // 2 ** np.arange(4, -1, -1)
    moved = np.array([flipped_bits(draw, jax.random.fold_in(key, i), sizes) for i in range(NETWORKS)])
    # With the sign and the threshold that are best for the pair the logits are half the change to either side of it.
    change = np.abs(moved @ (draw.standard_normal(WIDTH) / WIDTH**0.5))
    layers = [init_encoder_block(jax.random.fold_in(key, NETWORKS + i), WIDTH, 16).attention for i in range(NETWORKS)]
    words, last = (draw.standard_normal(shape) / WIDTH**0.5 for shape in ((2, WIDTH), WIDTH))
    rows = [[one_more(layer, words, last, size) for size in sizes] for layer in layers]
    once, counted, alike = np.moveaxis(np.array(rows), 2, 0) * sizes[:, None]
    return {
        "influence of one token": Rate(
            sizes, np.linalg.norm(moved, axis=-1).mean(0), exponent=-1.0, rivals=(-0.5, -2.0), order=1.0
        ),
        # Times n, where it has a limit. Seen is the difference of two outputs of size one, each a sum of n terms.
        "one layer by counting": Identity(
            once,
            counted,
            scale=sizes[:, None],
            size=sizes[:, None],
            along={"network": np.arange(NETWORKS), "tokens": sizes, "coordinate": np.arange(WIDTH)},
            aside={"alike": alike},
        ),
        "loss on parity": Inequality(
            np.log(2) - np.abs(change) / 4,
            parity_loss(change / 2, -change / 2),
            along={"network": np.arange(NETWORKS), "tokens": sizes},
            aside={"change": change},
        ),
    }


@one_token_in_many.control("a loss of at least log 2 less an eighth of the change", of="loss on parity")
def half_as_much(evidence):
    return replace(evidence, quantity=np.log(2) - evidence.aside["change"] / 8)


@one_token_in_many.control("all tokens weighed alike", of="one layer by counting")
def weighed_alike(evidence):
    return replace(evidence, right=evidence.aside["alike"])


@one_token_in_many.picture
def falling(pieces):
    """How far the output at the last token moves when one of n tokens is replaced."""
    rate = pieces["influence of one token"]
    return Curves(
        power_law("change of the output", rate, rivals={-0.5: "1/√n"}),
        x="tokens n",
        y="change of the output",
        log="xy",
    )
