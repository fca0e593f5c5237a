"""Greedy, beam and exact search for the most likely sequence (lucchi Sec. 10.4.4)."""

from dataclasses import replace
from typing import Annotated

import jax.numpy as jnp
import numpy as np
from annotated_types import Interval
from jax.tree_util import Partial

from deeptheory.architectures.decoding import beam_search, exact_search, greedy_search
from deeptheory.architectures.listings import listed_beam_search, tree_beam_search
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Identity, Inequality, Printed, claim
from deeptheory.lab.pictures import Curves, Dots, Level, Line

TOKENS, LENGTH = 3, 4
WIDTHS = (1, TOKENS, TOKENS ** (LENGTH - 1))

INITIAL = {"A": 0.40, "B": 0.35, "C": 0.25}
EXPANSIONS = {"A": {"A1": 0.50, "A2": 0.20}, "B": {"B1": 0.80}}
"""the example of the book, whose laws need not sum to one"""

TRAP = (
    {"A": 0.4, "B": 0.35, "C": 0.25},
    {"A": {"a": 0.4, "b": 0.3, "c": 0.3}, "B": {"d": 0.5, "e": 0.5}, "C": {"f": 1.0}, "a": {"end": 1.0}}
    | {before: {f"{before}{n}": 0.25 for n in range(4)} for before in "bcde"}
    | {"f": {f"f{n}": 0.25 for n in range(4)}},
)
"""Greedy goes A, a, end: 0.4 · 0.4 · 1. Two beams keep B, whose two halves 0.175 push out A, a, and come to 0.04375."""


SLOW = np.array([[0.45, 0.43, 0.12], [0.43, 0.45, 0.12], [0.005, 0.005, 0.99]])
"""A chain whose best path from 0 stays at 2, where a beam of three has only likelier beginnings after two steps."""


def chain(logs, owner, tokens):
    """The step of many Markov chains at once: the state says to which of them a row belongs."""
    return owner, logs[owner, tokens]


def viterbi(table):
    """The probability of the most likely path from token 0, by dynamic programming."""
    best = table[0]
    for _ in range(LENGTH - 1):
        best = (best[:, None] * table).max(0)
    return best.max()


def followed(table):
    """The probability of the path that always takes the likeliest step, from token 0."""
    token, total = 0, 1.0
    for _ in range(LENGTH):
        total, token = total * table[token].max(), int(table[token].argmax())
    return total


@claim(
    items={
        "L10.35": ("exact search", "greedy search"),
        "L10.36": ("beam of all beginnings", "example of the book", "a wider beam may find less"),
    },
    says=r"Greedy search finds a sequence at most as likely as the best of all $K^N$. A beam of $B=1$ is greedy, one "
    "of $B=K^{N-1}$ exact, and in between a wider beam may find less. In the book's example greedy search ends at "
    r"$0.20$, a beam of two at $0.28$.",
    needs="for the oracle, Markov chains, in which dynamic programming finds the best path",
    symbols={
        r"K": "the number of tokens",
        r"N": "the length of the sequences",
        r"B": "the width of the beam: how many beginnings are kept",
    },
    why="The likeliest step may lead where every further step is unlikely. A beam looks at several beginnings, but "
    "compares them before they are complete: a second good beginning can push out the one that leads to the best "
    "end, as in the trap of the picture. Only if all beginnings fit nothing is lost.",
    notice="The probability of the best sequence found, by the width of the beam. In the trap one beam finds 0.16; two "
    "and three keep likelier beginnings, of which nothing comes. In the book's example two are enough.",
)
def wider_beams_and_the_best_sequence(key, *, chains: Annotated[int, Interval(ge=4, le=256)] = 48):
    tables = generator(key).dirichlet(np.full(TOKENS, 0.7), (chains, TOKENS))
    tables[0] = SLOW
    step, owners, first = Partial(chain, jnp.log(tables)), np.arange(chains), np.zeros(chains, int)
    beams = {
        width: np.exp(beam_search(step, owners, first, width=width, length=LENGTH).log_probability[:, 0])
        for width in WIDTHS
    }
    greedy = np.exp(greedy_search(step, owners, first, length=LENGTH).log_probability)
    exact = np.exp(exact_search(step, owners, first, length=LENGTH).log_probability)
    best, steepest = np.array([viterbi(t) for t in tables]), np.array([followed(t) for t in tables])
    widths = range(1, 7)
    trapped = np.exp([tree_beam_search(*TRAP, width=width, steps=3)[0][1] for width in widths])
    book = np.array([listed_beam_search(INITIAL, EXPANSIONS, width=width, steps=2)[0][1] for width in widths])
    return {
        "exact search": Identity(exact, best, size=LENGTH * TOKENS, aside={"greedy": greedy}),
        "greedy search": Identity(greedy, steepest, size=LENGTH * TOKENS, aside={"best": best}),
        "beam of one": Identity(beams[1], steepest, size=LENGTH * TOKENS),
        "beam of all beginnings": Identity(
            beams[WIDTHS[-1]], best, size=LENGTH * TOKENS, aside={"as wide as the vocabulary": beams[TOKENS]}
        ),
        "no beam beats the best": Inequality(
            np.array([beams[width] for width in WIDTHS]), best[None], along={"width of the beam": np.array(WIDTHS)}
        ),
        "example of the book": Printed(book[:2], np.array([0.20, 0.28]), digits=2),
        "a wider beam may find less": Identity(
            trapped,
            np.array([0.16, 0.04375, 0.0625, 0.16, 0.16, 0.16]),
            along={"width": np.array(widths)},
            aside={"book": book},
        ),
    }


@wider_beams_and_the_best_sequence.control("greedy search finds the best", of="exact search")
def greedy_is_best(evidence):
    return replace(evidence, left=evidence.aside["greedy"])


@wider_beams_and_the_best_sequence.control("greedy search comes to the best probability", of="greedy search")
def best_of_all(evidence):
    return replace(evidence, right=evidence.aside["best"])


@wider_beams_and_the_best_sequence.control("a beam as wide as the vocabulary is exact", of="beam of all beginnings")
def narrow(evidence):
    return replace(evidence, left=evidence.aside["as wide as the vocabulary"])


@wider_beams_and_the_best_sequence.control("a wider beam never finds less", of="a wider beam may find less")
def monotone(evidence):
    return replace(evidence, right=np.maximum.accumulate(evidence.right))


@wider_beams_and_the_best_sequence.picture
def trap(pieces):
    """Probability of the best sequence found over the width of the beam: in a trap, and in the book's example."""
    piece = pieces["a wider beam may find less"]
    width = piece.along["width"]
    return Curves(
        [
            Line("a trap", width, piece.left, thin=True),
            Dots("a trap", width, piece.left),
            Line("the book's example", width, piece.aside["book"], thin=True),
            Dots("the book's example", width, piece.aside["book"]),
            Level("best in the trap", y=0.16),
        ],
        x="width of the beam B",
        y="probability of the best found",
        ys=(0, 0.32),
    )
