"""The mean over a corpus is close to the expectation, as close as its changes of subject allow (arora Sec. 15.2)."""

from dataclasses import replace
from typing import Annotated

import numpy as np
from annotated_types import Interval

from deeptheory.foundations.randomness import generator
from deeptheory.lab import Law, Rate, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Line
from deeptheory.language.sources import (
    corpus_variance,
    cross_entropy_rate,
    draw_texts,
    switching_source,
    text_surprise,
)

CORPORA = np.array([25, 50, 100])
LONG = np.array([1e4, 1e5, 1e6, 1e7])
STAYS = np.array([30.0, 100.0, 300.0, 1000.0])
FLAT = np.full((3, 3), 1 / 3)
SHARP = 0.03 + 0.91 * np.eye(3)


@claim(
    items={"A15.8": ("squared deviations of corpora", "deviation by length", "constant by length of a subject")},
    says=r"On a source that changes its subject every $s$ words the mean loss of a model over $M$ words deviates from "
    r"entropy plus excess by $\sqrt{v/M}$, where $v$ grows in proportion to $s$: a long corpus has as many independent "
    "parts as changes of subject, not as words.",
    needs="a Markov source, started in its stationary law; the model has seen all words",
    symbols={
        "s": "the mean number of words between changes of subject, $1/(1-\\text{stay})$",
        "M": "the number of words of the corpus",
        "v": "the sum of the covariances of losses at all distances",
    },
    why=r"The variance of a mean is the sum of all covariances over $M^2$. Losses in one subject differ on average "
    r"from those in another, and two words share their subject with a correlation that falls geometrically over $s$ "
    r"words; so each of $M$ words has about $s$ partners, and the sum is about $M s$.",
    notice="The deviation falls as one over the root of the length, on a line above the one that takes words for "
    "independent, dashed: the more, the longer a subject lasts.",
    explore={"stay": (0.8, 0.9, 0.95, 0.97)},
)
def corpus_means_concentrate(key, *, trials: Trials = 40_000, stay: Annotated[float, Interval(ge=0.8, le=0.97)] = 0.95):
    rng = generator(key)
    subjects, noise = np.stack([FLAT, SHARP]), 0.2 * rng.dirichlet(np.full(6, 5.0), 6)
    source = switching_source(subjects, stay=stay)
    model = 0.8 * source + noise
    slow = [switching_source(subjects, stay=1 - 1 / words) for words in STAYS]
    constants = [1e8 * corpus_variance(each, 0.8 * each + noise, 10**8) for each in slow]
    rate = cross_entropy_rate(source, model)
    # One word more: the first pair of words has the first surprise.
    surprise = text_surprise(model, draw_texts(key, source, length=int(CORPORA[-1]) + 1, count=trials))
    means = np.cumsum(surprise, axis=1)[:, CORPORA - 1] / CORPORA
    lengths = [int(n) for n in (*CORPORA, *LONG)]
    variance = np.array([corpus_variance(source, model, n) for n in lengths])
    alone = corpus_variance(source, model, 1) / np.array(lengths)
    return {
        "squared deviations of corpora": Law(
            variance[: len(CORPORA)],
            ((means - rate) ** 2).T,
            exact=True,
            resolution=0.1,  # independent words would be off by half and more
            along={"words": CORPORA},
            aside={"independent": alone[: len(CORPORA)]},
        ),
        "constant by length of a subject": Rate(
            STAYS, np.array(constants), exponent=1.0, rivals=(0.5, 2.0), resolution=0.1, order=1
        ),
        "deviation by length": Rate(
            LONG, np.sqrt(variance[len(CORPORA) :]), exponent=-0.5, rivals=(-1.0, -0.25), resolution=0.1,
            aside={"independent": np.sqrt(alone[len(CORPORA) :])},
        ),
    }  # fmt: skip


@corpus_means_concentrate.control("words are independent", of="squared deviations of corpora")
def independent(evidence):
    return replace(evidence, predicted=evidence.aside["independent"])


@corpus_means_concentrate.picture
def spread(pieces):
    """Root mean squared deviation of a corpus from entropy plus excess, by its length; lines are exact."""
    seen, far = pieces["squared deviations of corpora"], pieces["deviation by length"]
    words = np.concatenate([CORPORA, LONG])
    exact = np.concatenate([np.sqrt(seen.predicted), far.y])
    alone = np.concatenate([np.sqrt(seen.aside["independent"]), far.aside["independent"]])
    return Curves(
        [
            Line("exact", words, exact),
            Dots("corpora drawn", CORPORA, np.sqrt(np.asarray(seen.observed).mean(-1))),
            Line("", words, alone, rival="words independent"),
        ],
        x="words of the corpus",
        y="deviation, nats a word",
        log="xy",
    )
