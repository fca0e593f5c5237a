"""Histograms of the overlaps of tokens, depth by depth (jagannath, chapter 14, Fig. 1.3)."""

from dataclasses import replace
from typing import Annotated

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval

from deeptheory.architectures.masked_language_models import init_masked_language_model
from deeptheory.architectures.token_training import train_on_tokens
from deeptheory.attention.clusters import pair_overlaps, random_tokens, token_flow
from deeptheory.attention.equiangular import equiangular_overlap
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Chain, Identity, Inequality, Trend, Trials, claim
from deeptheory.lab.pictures import Histogram, Row, Stack

DEPTHS = np.array([0.5, 2.0, 8.0])


@jax.jit
def states(starts, times, beta):
    """Every set of tokens at all times. Backwards the flow is that of values with the other sign, V = −I."""
    return jax.vmap(lambda tokens: token_flow(tokens, times, beta, substeps=32))(starts)


@claim(
    items={"J14.14": ("overlaps of orthonormal tokens", "mean overlap from depth to depth")},
    says=r"The overlaps $\langle x_i,x_j\rangle$ of random tokens under self-attention move toward 1 with depth, "
    r"in the mean. Orthonormal tokens have one overlap at each depth, the solution of "
    r"$\dot g=2(1-g)((n-1)g+1)/(e^{\beta(1-g)}+n-1)$.",
    needs="the model Q = K = V = I; few dimensions and β about 1 for the histograms",
    symbols={
        r"x_i": "token $i$, a unit vector",
        r"g": "the common overlap of orthonormal tokens",
        r"n": "the number of tokens",
        r"\beta": "the inverse temperature",
    },
    why=r"Attention moves every token toward an average of the others, so their overlaps grow in the mean. Tokens that "
    "start orthonormal are all alike, so no overlap can come to differ from another: the whole motion is an equation "
    r"for one number $g$. Its right side is positive from 0 up to 1, where it vanishes like $2(1-g)$ whatever "
    r"$\beta$ is. For large $\beta$ it is small at first, $2/(e^\beta+n-1)$ at $g=0$, while tokens listen to "
    "themselves.",
    notice=r"Near the start overlaps are spread over all values. Deeper they gather at the right end, where tokens "
    "agree. The same is reported of the layers of ALBERT, a trained network.",
    explore={"beta": (0.5, 1.0, 2.0)},
)
def overlaps_gather_at_one_with_depth(
    key,
    *,
    trials: Trials = 128,
    count: Annotated[int, Interval(ge=4, le=24)] = 16,
    beta: Annotated[float, Interval(ge=0.0, le=2.0)] = 1.0,
):
    starts = random_tokens(key, trials, count, 3)
    overlaps, repelled = (
        pair_overlaps(np.concatenate([starts[:, None], states(starts, sign * DEPTHS, beta)], 1)) for sign in (1, -1)
    )
    # Orthonormal tokens at three temperatures: at β = 1 alone no power of β would be seen.
    temperatures = beta + np.array([0.0, 0.5, 1.0])
    equal = np.stack([pair_overlaps(states(np.eye(count)[None], DEPTHS, each)[0]) for each in temperatures])
    exact, more = (
        np.stack([equiangular_overlap(DEPTHS, n, each)[:, None] for each in temperatures.tolist()])
        for n in (count, count + 1)
    )
    return {
        # Runge–Kutta of order four in steps of at most 3/16.
        "overlaps of orthonormal tokens": Identity(equal, exact, scale=1.0, error=1e-5, aside={"one token more": more}),
        "mean overlap from depth to depth": Trend(
            np.diff(overlaps.mean(-1), axis=1).T,
            along={"up to depth": DEPTHS},
            aside={
                "overlaps": overlaps[:16].swapaxes(0, 1).reshape(len(DEPTHS) + 1, -1),
                "repelled": np.diff(repelled.mean(-1), axis=1).T,
            },
        ),
    }


@overlaps_gather_at_one_with_depth.control("n for n − 1 in the equation", of="overlaps of orthonormal tokens")
def one_more(evidence):
    return replace(evidence, right=evidence.aside["one token more"])


@overlaps_gather_at_one_with_depth.control("values of the other sign, V = −I", of="mean overlap from depth to depth")
def repelled(evidence):
    return replace(evidence, differences=evidence.aside["repelled"])


@overlaps_gather_at_one_with_depth.picture
def histograms(pieces):
    """Histograms of the overlaps of all pairs of random tokens, at the start and at two depths."""
    seen = np.asarray(pieces["mean overlap from depth to depth"].aside["overlaps"])
    return Row(
        [
            Histogram([], samples=np.clip(seen[layer], -1, 1), bins=20, x=f"overlap at depth {depth:g}", y="density")
            for layer, depth in ((0, 0.0), (2, DEPTHS[1]), (3, DEPTHS[2]))
        ]
    )


LETTERS, PERIOD, LENGTH, LAYERS, STEPS, ROWS = 6, 3, 12, 3, 500, 16


@jax.jit
def learnt(networks, shown, text, hidden):
    """All networks, trained to say what is hidden."""
    return jax.vmap(lambda network: train_on_tokens(network, shown, text, hidden, rate=0.004).model)(networks)


@jax.jit
def tokens_by_layer(networks, shown):
    """Of every network the tokens of all lines at each layer, to twice the depth that was trained."""
    found = jax.vmap(lambda network: network.states(shown, depth=2 * LAYERS))(networks)
    return jnp.moveaxis(found, 1, 2)  # networks, lines, layers, tokens, coordinates


def lines(rng, count):
    """Lines in which a word of three different letters is repeated, and which letters are hidden."""
    words = rng.permuted(np.tile(np.arange(LETTERS), (count, 1)), axis=1)[:, :PERIOD]
    return np.tile(words, (1, LENGTH // PERIOD)), rng.random((count, LENGTH)) < 0.25


def shuffled(rng, networks):
    """The networks with the entries of each matrix of the block in random order: all norms are kept."""
    return jax.tree.map(
        lambda w: jnp.asarray(rng.permuted(np.reshape(w, (len(w), -1)), axis=1).reshape(w.shape)), networks
    )


@claim(
    items={"J14.14": ("pairs of one letter against pairs of two", "hidden letters and their own")},
    says=r"In a transformer with one block at every layer, trained to fill in letters, the overlaps "
    r"$\langle x_i,x_j\rangle$ of equal letters rise with depth and leave those of different ones behind: clusters are "
    r"letters, and a hidden letter joins its own, by attention.",
    needs="scale: printed ALBERT XLarge v2, 24 layers of width 2048 on a page of text; here 3 layers of width 24, four "
    "heads, 500 steps of Adam at 0.004 on words of three letters repeated four times. Width, depth, rate and steps are "
    "those at which every network learnt in a first look; half the steps leave some unfinished. Means over 64 lines; "
    "four networks",
    symbols={
        r"x_i": "token $i$ after a layer, divided by its length",
        r"\langle x_i,x_j\rangle": "the overlap of two tokens of a line",
    },
    why="What is said at a place is the letter whose embedding its token overlaps with most, so that training pulls "
    "tokens of one letter together and those of two apart. With the same weights at every layer, a layer more is a "
    "step more of the same motion. Weights that are random, or in random order, average over all tokens alike.",
    notice="Above, trained: overlaps gather at 1 with depth, those of equal letters, and the rest stays about zero or "
    "below. At twice the depth of training clusters begin to merge. Below, as drawn: all move to the right together.",
)
def trained_tokens_cluster_by_letter(key, *, networks: Annotated[int, Interval(ge=1, le=32)] = 4):
    rng = generator(key)
    drawn = [
        init_masked_language_model(each, vocabulary=LETTERS, context=LENGTH, width=24, depth=LAYERS, heads=4)
        for each in jax.random.split(key, networks)
    ]
    drawn = jax.tree.map(lambda *leaves: jnp.stack(leaves).astype(jnp.float32), *drawn)
    text, hidden = (each.reshape(STEPS, ROWS, LENGTH) for each in lines(rng, STEPS * ROWS))
    trained = learnt(drawn, np.where(hidden, LETTERS, text), text, hidden)
    mixed = eqx.tree_at(lambda network: network.block, trained, shuffled(rng, trained.block))
    alone = eqx.tree_at(
        lambda network: (network.block.attention.output.weight, network.block.attention.output.bias),
        trained,
        replace_fn=jnp.zeros_like,
    )

    text, hidden = lines(rng, 64)
    first, second = np.triu_indices(LENGTH, 1)
    equal, one_hidden = text[:, first] == text[:, second], hidden[:, first] != hidden[:, second]
    overlaps, by_chance, in_disorder, apart = (
        np.moveaxis(pair_overlaps(tokens_by_layer(each, np.where(hidden, LETTERS, text))), 2, 0)
        for each in (trained, drawn, mixed, alone)
    )  # layers, networks, lines, pairs

    def gap(overlaps, chosen=True):
        """By layer and network, how much more equal letters overlap than different ones."""
        return overlaps[..., equal & chosen].mean(-1) - overlaps[..., ~equal & chosen].mean(-1)

    gaps, equals = gap(overlaps), overlaps[..., equal].mean(-1)
    lacking, lacking_apart = (1 - gap(each, one_hidden) for each in (overlaps, apart))
    return {
        "pairs of one letter against pairs of two": Chain(
            {
                "equal letters, before the first layer and after the last": (equals[0], equals[LAYERS]),
                "how far they are ahead, before and after": (gaps[0], gaps[LAYERS]),
            },
            along={"network": np.arange(networks)},
            aside={
                "as drawn": gap(by_chance)[[0, LAYERS]],
                "in disorder": gap(in_disorder)[[0, LAYERS]],
                "overlaps": np.stack([each[:, :, :16].reshape(len(each), -1) for each in (overlaps, by_chance)]),
            },
        ),
        "hidden letters and their own": Inequality(
            lacking[LAYERS],
            lacking[0] / 2,
            along={"network": np.arange(networks)},
            aside={"without attention": lacking_apart[LAYERS]},
        ),
    }


@trained_tokens_cluster_by_letter.control("weights as drawn", of="pairs of one letter against pairs of two")
def as_drawn(evidence):
    return replace(evidence, links={"how far they are ahead, before and after": tuple(evidence.aside["as drawn"])})


@trained_tokens_cluster_by_letter.control(
    "the trained block with the entries of each matrix in random order", of="pairs of one letter against pairs of two"
)
def in_disorder(evidence):
    return replace(evidence, links={"how far they are ahead, before and after": tuple(evidence.aside["in disorder"])})


@trained_tokens_cluster_by_letter.control("attention switched off", of="hidden letters and their own")
def switched_off(evidence):
    return replace(evidence, quantity=evidence.aside["without attention"])


@trained_tokens_cluster_by_letter.picture
def layers_trained_and_drawn(pieces):
    """Overlaps of all pairs before the first layer, after it, after the last one and at twice the depth."""
    seen = np.asarray(pieces["pairs of one letter against pairs of two"].aside["overlaps"])
    return Stack(
        [
            Row(
                [
                    Histogram(
                        [],
                        samples=np.clip(side[layer], -1, 1),
                        bins=20,
                        xs=(-1, 1),
                        x=f"{name}, layer {layer}",
                        y="density",
                    )
                    for layer in (0, 1, LAYERS, 2 * LAYERS)
                ]
            )
            for name, side in zip(("trained", "as drawn"), seen, strict=True)
        ]
    )
