"""Who sees whom: a causal mask, a decoder block with it, and the block that is printed as one without it (lucchi)."""

from dataclasses import replace

import equinox as eqx
import jax
import numpy as np

from deeptheory.architectures.attention_layers import attention_weights, causal_mask
from deeptheory.architectures.listings import listed_block
from deeptheory.architectures.transformers import init_decoder_block, init_encoder_block
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Exact, Identity, claim
from deeptheory.lab.pictures import HeatMap, Row

TOKENS, WIDTH = 6, 4


def moved_by(outputs):
    """Whether output i differs, to the last bit, when token j is another: outputs[j] is of a change at j, and the
    last of none."""
    return np.array([[not np.array_equal(outputs[j][i], outputs[-1][i]) for j in range(TOKENS)] for i in range(TOKENS)])


@claim(
    items={
        "L10.32": "outputs moved by a token, in the printed block",
        "L10.33": ("outputs moved by a token, in a decoder block", "outputs moved by the encoder's tokens"),
        "L10.41": ("masked weights", "outputs moved by a token, in a decoder block"),
    },
    says=r"With $M_{ij}=-\infty$ for $j>i$ added to the scores, output $i$ of a decoder block is the same, bit by bit, "
    r"whatever stands behind $i$; each token of the encoder moves every output. In the block printed as a decoder "
    "every token moves every output.",
    needs="nothing: random weights and tokens, each token replaced in turn",
    symbols={
        r"M_{ij}": "the mask: 0 where token $i$ may see token $j$",
        r"i, j": "positions in the sequence",
    },
    why=r"$e^{-\infty}=0$, so that hidden tokens get the weight zero exactly, and zero times anything is added. "
    "Everything else in the block acts on each position alone, so no way is left from a later token to an earlier "
    "output. The attention to the encoder has no mask: its sequence is known in full. The printed block (Listing "
    "10.3) has neither mask nor a second sequence: it is an encoder block.",
    notice="Rows are outputs, columns the token that was changed; 1 is moved. On the left the triangle of a decoder "
    "block, on the right the full square of the printed block.",
)
def masks_hide_the_future(key):
    draw = generator(key)
    tokens, context = draw.standard_normal((TOKENS, WIDTH)), draw.standard_normal((TOKENS, WIDTH))
    others = tokens + draw.standard_normal((TOKENS, WIDTH))
    changes = np.concatenate([np.eye(TOKENS, dtype=bool), np.zeros((1, TOKENS), bool)])[..., None]
    decoder = init_decoder_block(jax.random.fold_in(key, 1), WIDTH, 8, heads=2)
    encoder = init_encoder_block(jax.random.fold_in(key, 2), WIDTH, 8)
    run = eqx.filter_jit(lambda tokens, context: decoder(tokens, context))
    changed, same = np.where(changes, others, tokens), np.broadcast_to(tokens, (TOKENS + 1, TOKENS, WIDTH))
    decoded = moved_by(np.asarray(run(changed, np.broadcast_to(context, changed.shape))))
    informed = moved_by(np.asarray(run(same, np.where(changes, others, context))))
    printed = moved_by(listed_block(encoder, changed))
    weights = np.asarray(attention_weights(tokens, others, causal_mask(TOKENS)))
    scores = np.exp(tokens @ others.T / np.sqrt(WIDTH))
    past = np.tri(TOKENS, dtype=bool)
    return {
        "masked weights": Identity(
            weights, np.where(past, scores / np.cumsum(scores, 1).diagonal()[:, None], 0.0), size=TOKENS, scale=1.0,
            aside={"softmax of all": np.where(past, scores / scores.sum(1, keepdims=True), 0.0)},
        ),
        "outputs moved by a token, in a decoder block": Exact(decoded, past, aside={"printed": printed}),
        "outputs moved by the encoder's tokens": Exact(informed, np.ones_like(past)),
        "outputs moved by a token, in the printed block": Exact(printed, np.ones_like(past)),
    }  # fmt: skip


@masks_hide_the_future.control("weights set to zero after a softmax over all", of="masked weights")
def not_renormalised(evidence):
    return replace(evidence, right=evidence.aside["softmax of all"])


@masks_hide_the_future.control("a token does not see itself either", of="outputs moved by a token, in a decoder block")
def strictly_past(evidence):
    return replace(evidence, right=np.tri(TOKENS, k=-1, dtype=bool))


@masks_hide_the_future.control(
    "the printed block in the place of a decoder block", of="outputs moved by a token, in a decoder block"
)
def printed_block(evidence):
    return replace(evidence, left=evidence.aside["printed"])


@masks_hide_the_future.control("the encoder's tokens are masked too", of="outputs moved by the encoder's tokens")
def masked_context(evidence):
    return replace(evidence, right=np.tri(TOKENS, dtype=bool))


@masks_hide_the_future.control(
    "the printed block looks back only, as its name says", of="outputs moved by a token, in the printed block"
)
def as_named(evidence):
    return replace(evidence, right=np.tri(TOKENS, dtype=bool))


@masks_hide_the_future.picture
def who_sees_whom(pieces):
    """Which outputs move (1) when one token is changed, in a decoder block and in the block of Listing 10.3."""
    names = [str(place) for place in range(1, TOKENS + 1)]
    maps = {
        "decoder block": pieces["outputs moved by a token, in a decoder block"].left,
        "block of Listing 10.3": pieces["outputs moved by a token, in the printed block"].left,
    }
    return Row(
        [
            HeatMap(moved.astype(float), names, names, title=title, x="token changed", y="output")
            for title, moved in maps.items()
        ]
    )
