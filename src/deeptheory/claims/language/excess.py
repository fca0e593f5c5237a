"""A tiny change of the loss may be a large one of the excess (arora Sec. 15.4)."""

from dataclasses import replace
from typing import Annotated

import numpy as np
from annotated_types import Interval

from deeptheory.foundations.randomness import generator
from deeptheory.lab import Identity, Inequality, Law, Trend, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Line, Row
from deeptheory.language.ngrams import additive_ngrams
from deeptheory.language.sources import entropy_rate

WORDS, TEXT = 6, 2000
PARAMETERS = np.geomspace(1e9, 1e13, 9)
TOKENS = np.array([1e11, 1e12])
IRREDUCIBLE, BY_PARAMETERS, BY_TOKENS = 1.61, 406.4, 410.7
"""the constants printed in (15.8), with the exponents 0.34 and 0.28"""


@claim(
    items={
        "A15.13": (
            "share of the excess that goes",
            "loss of counted models",
            "loss by the printed law",
            "excess by the printed law",
        )
    },
    says=r"Ten times the text changes the loss of a counted model of independent words by less than 0.1 % and "
    r"takes $\frac9{10}$ of its excess. By (15.8), $10^{11}\to10^{12}$ tokens take less than 9 % of the loss and "
    r"$1-10^{-0.28}=48\,\%$ of what is due to the lack of text.",
    needs="at least a billion parameters in (15.8); the counted model has seen 2,000 words",
    symbols={
        r"10^{11}\to10^{12}": "the number of tokens $D$ trained on, with the number of parameters as it is",
        "V, n": "the number of different words, six, and the length of the text",
    },
    why="Most of the loss is the entropy of the text itself, which no model can lower. What a model does not "
    r"understand is in the rest; that rest falls by a constant factor with each factor of scale, ten for counts "
    r"($(V-1)/2n$) and $10^{0.28}$ for the printed law, however small it is beside the entropy.",
    notice="On the scale of the loss nothing happens between the two ends; the part due to the lack of text halves. "
    "Right, counted models: most of the excess goes, while the loss has hardly moved.",
    explore={"factor": (2.0, 5.0, 10.0)},
)
def tiny_losses_hide_large_excess(
    key, *, trials: Trials = 40_000, factor: Annotated[float, Interval(ge=2, le=20)] = 10.0
):
    rng = generator(key)
    law = rng.dirichlet(np.full(WORDS, 4.0))
    counts = [rng.multinomial(round(n), law, size=trials).astype(float) for n in (TEXT, factor * TEXT)]
    less, more = (np.sum(law * np.log(law / additive_ngrams(each, add=0.5)), axis=1) for each in counts)
    entropy, first = entropy_rate(law), (WORDS - 1) / (2 * TEXT)
    # The last text is so long that nothing is left to learn from more.
    loss = IRREDUCIBLE + BY_PARAMETERS * PARAMETERS[:, None] ** -0.34 + BY_TOKENS * np.append(TOKENS, 1e80) ** -0.28
    due = loss[:, :2] - loss[:, 2:]
    fallen = less - more
    return {
        # Relative to the mean excess of the shorter text, so that the mean of the ratio is a ratio of means.
        "share of the excess that goes": Law(
            1 - 1 / factor,
            fallen / less.mean(),
            exact=True,
            aside={"share of the loss": fallen.mean() / (entropy + less.mean())},
        ),
        "loss of counted models": Trend(
            1e-3 * (entropy + less) - fallen,
            # Half of what the loss falls by, (1 − 1/factor)(V − 1)/2n.
            aside={"half": (1 - 1 / factor) * first / 2 - fallen},
        ),
        "excess of the shorter text": Law(first, less, exact=True, resolution=0.1),
        "loss by the printed law": Inequality(1 - loss[:, 1] / loss[:, 0], np.full(len(PARAMETERS), 0.09)),
        "excess by the printed law": Identity(
            1 - due[:, 1] / due[:, 0],
            np.full(len(PARAMETERS), 1 - 10**-0.28),
            condition=10.0,
            along={"parameters": PARAMETERS},
            aside={"share of the loss": 1 - loss[:, 1] / loss[:, 0]},
        ),
    }


@tiny_losses_hide_large_excess.control("as small as the share of the loss", of="share of the excess that goes")
def as_small(evidence):
    return replace(evidence, predicted=evidence.aside["share of the loss"])


@tiny_losses_hide_large_excess.control(
    "the loss falls by less than half of the excess that goes", of="loss of counted models"
)
def half_of_it(evidence):
    return replace(evidence, differences=evidence.aside["half"])


@tiny_losses_hide_large_excess.control("the loss falls by half of what it does", of="loss by the printed law")
def half(evidence):
    return replace(evidence, bound=np.asarray(evidence.bound) / 2)


@tiny_losses_hide_large_excess.control("the data's part moves as the loss does", of="excess by the printed law")
def as_the_loss(evidence):
    return replace(evidence, right=evidence.aside["share of the loss"])


@tiny_losses_hide_large_excess.picture
def both_scales(pieces, settings):
    """Loss by the printed law at 10¹⁰ parameters, with its parts, by tokens; and the excess of counted models."""
    factor = settings["factor"]
    tokens = np.geomspace(1e11, factor * 1e11, 40)
    due, rest = BY_TOKENS * tokens**-0.28, IRREDUCIBLE + BY_PARAMETERS * 1e10**-0.34
    gone, excess = pieces["share of the excess that goes"], pieces["excess of the shorter text"]
    words, start = TEXT * np.geomspace(1, factor, 40), float(np.mean(excess.observed))
    left = start * np.asarray([1, 1 - float(np.mean(gone.observed))])
    as_loss = 1 - float(gone.aside["share of the loss"]) * np.log(words / TEXT) / np.log(factor)
    printed = Curves(
        [
            Line("loss", tokens, rest + due),
            Line("entropy of text", tokens, np.full(len(tokens), IRREDUCIBLE), dashed=True),
            Line("due to lack of text", tokens, due),
        ],
        x="tokens D",
        y="nats a token",
        log="xy",
        title="The printed law",
    )
    counted = Curves(
        [
            Line("(V − 1)/2n", words, float(excess.predicted) * TEXT / words),
            Dots("excess of counted models", words[[0, -1]], left),
            Line("", words, start * as_loss, rival="as little as the loss"),
        ],
        x="words n",
        y="excess, nats a word",
        log="xy",
        title="Counting independent words",
    )
    return Row([printed, counted])
