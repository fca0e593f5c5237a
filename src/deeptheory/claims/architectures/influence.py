"""What a long input hides from soft attention: one token's influence falls like 1/n, and parity with it (lucchi)."""

from dataclasses import replace

import jax
import numpy as np

from deeptheory.architectures.listings import listed_block
from deeptheory.architectures.transformers import init_encoder_block
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Inequality, Rate, Trials, claim
from deeptheory.lab.pictures import Curves, power_law

WIDTH = 8
SIZES = (8, 16, 32, 64, 128, 256)


def parity_loss(logit, flipped):
    """Mean cross-entropy of two inputs of opposite parity, when the logit of the first is to be positive."""
    return (np.logaddexp(0, -logit) + np.logaddexp(0, flipped)) / 2


@claim(
    items={"L10.43": ("influence of one token", "loss on parity")},
    says=r"At fixed weights the last output of soft attention moves by $O(1/n)$ when one of $n$ tokens is replaced. "
    r"Parity flips with every bit: its mean loss on two inputs one bit apart is at least $\log2-|\Delta f|/4$, in the "
    "end a guess.",
    needs="weights that do not change with the length, bounded tokens, and attention without hard maxima; here random "
    "weights, two blocks, and bits at random",
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
def one_token_in_many(key, *, trials: Trials = 64):
    draw = generator(key)
    blocks = [init_encoder_block(jax.random.fold_in(key, i), WIDTH, 16) for i in range(2)]
    words, last, read = draw.standard_normal((2, WIDTH)), draw.standard_normal(WIDTH), draw.standard_normal(WIDTH)

    def outputs(bits):
        tokens = np.concatenate([words[bits], np.broadcast_to(last, (len(bits), 1, WIDTH))], axis=1)
        for block in blocks:
            tokens = listed_block(block, tokens)
        return tokens[:, -1]

    moves, changes = [], []
    for size in SIZES:
        bits = draw.integers(0, 2, (trials, size - 1))
        flipped = bits.copy()
        flipped[:, 0] = 1 - flipped[:, 0]
        moved = outputs(flipped) - outputs(bits)
        moves.append(np.linalg.norm(moved, axis=-1))
        changes.append(np.where(bits.sum(1) % 2 == 1, -1, 1) * (moved @ read))
    # With the threshold between the two logits, the best there is for the pair, they are half the change to each side.
    change = np.array(changes)
    return {
        "influence of one token": Rate(np.array(SIZES), np.array(moves), exponent=-1.0, rivals=(-0.5, -2.0), order=1.0),
        "loss on parity": Inequality(
            np.log(2) - np.abs(change) / 4,
            parity_loss(change / 2, -change / 2),
            along={"tokens": np.array(SIZES)},
            aside={"change": np.abs(change)},
        ),
    }


@one_token_in_many.control("a loss of at least log 2 less an eighth of the change", of="loss on parity")
def half_as_much(evidence):
    return replace(evidence, quantity=np.log(2) - evidence.aside["change"] / 8)


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
