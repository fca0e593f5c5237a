"""What top-k and top-p sampling draw from: the exact laws beside frequencies (lucchi Sec. 10.4.4)."""

from dataclasses import replace
from itertools import product
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval
from jax.tree_util import Partial

from deeptheory.architectures.decoding import sample_sequences, sequence_law, top_k, top_p
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Chain, Exact, Identity, Share, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Line

LAW = np.array([0.09, 0.3, 0.06, 0.22, 0.13, 0.2])
KEPT = 2


def cut(law, size):
    """The law on its `size` likeliest tokens, renormalised."""
    kept = np.isin(np.arange(len(law)), sorted(range(len(law)), key=lambda i: -law[i])[:size])
    return np.where(kept, law, 0) / law[kept].sum()


def looked_up(logs, state, tokens):
    """The step of a Markov chain whose transitions are the rows of a table."""
    return state, logs[tokens]


def nucleus(law, p):
    """The size of the least set of probability above p, by trying one more and one more."""
    size = 1
    while size < len(law) and np.sort(law)[::-1][:size].sum() <= p:
        size += 1
    return size


@claim(
    items={
        "L10.37": ("frequencies under top-k", "sequences under top-k", "laws of top-k"),
        "L10.38": ("frequencies under top-p", "least set above p", "size of the nucleus"),
    },
    says=r"Top-$k$ sampling draws from the law renormalised on its $k$ likeliest tokens, top-$p$ on the least set of "
    r"likeliest tokens whose probability exceeds $p$; without its last token the set has at most $p$. A sequence has "
    "the product of such laws.",
    needs="nothing; of equally likely tokens the first is taken",
    symbols={
        r"k": "how many tokens are kept",
        r"p": "the probability that the kept tokens must exceed",
    },
    why="Tokens join in the order of their probabilities. The number $k$ does not ask how much they have together, the "
    "threshold $p$ does: few tokens where the model is sure, many where it is not. A sequence is drawn one token at a "
    "time and renormalised at each, which is not the model's law of sequences renormalised once.",
    notice="As the same logits are flattened by a higher temperature the nucleus grows from one token to four, by "
    "one where its probability is no longer enough; top-k keeps two throughout.",
)
def truncated_laws(
    key,
    *,
    trials: Trials = 100_000,
    laws: Annotated[int, Interval(ge=8, le=512)] = 200,
    p: Annotated[float, Interval(ge=0.31, le=0.7)] = 0.6,
):
    draw = generator(key)
    table, many = draw.dirichlet(np.ones(4), 4), draw.dirichlet(np.ones(len(LAW)), laws)

    fixed = Partial(looked_up, jnp.log(LAW)[None])

    def drawn(key, rule, size):
        rows = np.zeros(trials, int)
        tokens = np.asarray(sample_sequences(key, fixed, (), rows, length=1, law=rule).tokens)[:, 0]
        counts, expected, more = np.bincount(tokens, minlength=len(LAW)), cut(LAW, size), cut(LAW, size + 1)
        kept = expected > 0
        return Share(counts[kept], trials, expected[kept], aside={"one more": more[kept], "outside": counts[~kept]})

    # All sequences of three tokens from token 0, by products of the renormalised conditionals.
    rows, paths = np.array([cut(row, KEPT) for row in table]), list(product(range(4), repeat=3))
    expected, whole = (np.array([of[0, a] * of[a, b] * of[b, c] for a, b, c in paths]) for of in (rows, table))
    whole = np.where(expected > 0, whole, 0)
    rule = Partial(top_k, k=KEPT)
    observed = np.exp(sequence_law(Partial(looked_up, jnp.log(table)), (), np.zeros(1, int), length=3, law=rule)[0])

    heat = np.geomspace(0.2, 5, 25)
    powers = LAW ** (1 / heat[:, None])
    every = np.concatenate([many, powers / powers.sum(1, keepdims=True)])
    kept = np.isfinite(top_p(np.log(every), p))
    mass, last = np.where(kept, every, 0).sum(1), np.where(kept, every, 1).min(1)
    first, second = jax.random.split(key)
    by_k, by_p = drawn(first, rule, KEPT), drawn(second, Partial(top_p, p=p), nucleus(LAW, p))
    return {
        "frequencies under top-k": by_k,
        "frequencies under top-p": by_p,
        "draws outside of the kept": Exact(
            np.array([np.sum(each.aside["outside"]) for each in (by_k, by_p)]), np.array([0, 0])
        ),
        "sequences under top-k": Identity(
            observed, expected, scale=1.0, size=12, aside={"renormalised once": whole / whole.sum()}
        ),
        "least set above p": Chain(
            {
                "the set without its last token": (mass - last, np.full(len(mass), p)),
                "the set": (np.full(len(mass), p), mass),
            },
            aside={"last": last},
        ),
        "size of the nucleus": Exact(
            kept[laws:].sum(1),
            np.array([nucleus(law, p) for law in every[laws:]]),
            along={"temperature": heat},
        ),
        "laws of top-k": Identity(
            np.exp([top_k(np.log(LAW), k) for k in range(1, len(LAW) + 1)]),
            np.array([cut(LAW, k) for k in range(1, len(LAW) + 1)]),
            scale=1.0,
        ),
    }


@truncated_laws.control("one token more is kept by top-k", of="frequencies under top-k")
@truncated_laws.control("one token more is kept by top-p", of="frequencies under top-p")
def one_more(evidence):
    return replace(evidence, predicted=evidence.aside["one more"])


@truncated_laws.control("the law of whole sequences, renormalised once", of="sequences under top-k")
def once(evidence):
    return replace(evidence, right=evidence.aside["renormalised once"])


@truncated_laws.control("the last token that would exceed p is left out", of="least set above p")
def stops_before(evidence):
    threshold, mass = evidence.links["the set"]
    return replace(evidence, links={"the set": (threshold, mass - evidence.aside["last"])})


@truncated_laws.picture
def sizes(pieces):
    """How many of six tokens top-p and top-k keep, as the temperature flattens the law."""
    piece = pieces["size of the nucleus"]
    heat = piece.along["temperature"]
    return Curves(
        [
            Line("top-p, by its definition", heat, piece.right),
            Dots("top-p", heat, piece.left),
            Line("top-k", heat, np.full(len(heat), float(KEPT))),
        ],
        x="temperature",
        y="tokens kept",
        log="x",
        ys=(0, 6.5),
    )
