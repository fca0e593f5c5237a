"""Cross-entropy is entropy and excess, and what a counted model lacks of a known source (arora Ch. 15, Sec. 15.2)."""

from dataclasses import replace
from itertools import product
from typing import Annotated

import numpy as np
from annotated_types import Interval

from deeptheory.foundations.randomness import generator
from deeptheory.lab import Identity, Law, Trials, claim
from deeptheory.lab.pictures import compared
from deeptheory.language.ngrams import additive_ngrams, count_ngrams
from deeptheory.language.sources import (
    cross_entropy_rate,
    draw_texts,
    entropy_rate,
    excess_entropy,
    stationary_contexts,
    text_surprise,
)

WORDS, LENGTH = 4, 6
LENGTHS = np.array([200, 400, 800])


def text_law(tables, texts):
    """Probabilities of texts whose word at place i has the law `tables[i]`, given all words before it."""
    return np.exp(-sum(text_surprise(table, texts[:, : place + 1])[:, -1] for place, table in enumerate(tables)))


@claim(
    items={
        "A15.1": "laws of the next word out of all texts",
        "A15.2": ("excess of a counted bigram model", "what the last word tells"),
        "A15.4": "mean surprise of texts",
        "A15.7": "cross-entropy over all texts",
    },
    says=r"A text's probability is the product of its next-word laws. The expected loss of a model $q$ on text of law "
    r"$p$ is entropy plus $\mathrm{KL}(p_i\|q_i)$, place by place. A bigram model counted in $n$ words has excess "
    r"$V(V-1)/2n$; a unigram model lacks their mutual information.",
    needs="all laws positive; the last two for a Markov source of order 1, the excess as n grows",
    symbols={
        "q": "the model's law of the next word, given all before it",
        "p": "the law of the text",
        "p_i,q_i": "both laws at place $i$, given the words before",
        "n": "how many pairs of words were counted",
        "V": "the number of words",
    },
    why=r"A logarithm turns the product into a sum over places, and $\log\frac1q=\log\frac1p+\log\frac pq$ at each. "
    r"For counts, $\mathrm{KL}(p\|\hat p)\approx\frac12\sum(\hat p-p)^2/p$, whose mean is half a unit over the sample "
    r"size for each of the $V-1$ free numbers of each of $V$ rows.",
    notice="The excess of the counted model falls as one over the length of the text. Counting all entries of the "
    "table as free, dashed, says a third too much.",
)
def cross_entropy_is_entropy_and_excess(
    key, *, trials: Trials = 5000, add: Annotated[float, Interval(ge=0.25, le=1)] = 0.5
):
    rng = generator(key)
    human, model = ([rng.dirichlet(np.ones(WORDS), (WORDS,) * place) for place in range(LENGTH)] for _ in range(2))
    every = np.array(list(product(range(WORDS), repeat=LENGTH)))
    chances, said = text_law(human, every), text_law(model, every)
    joint = chances.reshape((WORDS,) * LENGTH)
    ratios, laws, forgetful, terms, turned = [], [], [], np.zeros(2), 0.0
    for place, (p, q) in enumerate(zip(human, model, strict=True)):
        longer = joint.sum(tuple(range(place + 1, LENGTH)))
        before = longer.sum(-1)
        ratios.append((longer / before[..., None]).ravel())
        laws.append(p.ravel())
        forgetful.append(np.broadcast_to(p.mean(0), p.shape).ravel() if place else p)
        gaps = [-p * np.log(p), p * np.log(p / q), q * np.log(q / p)]
        entropy, excess, other = (np.sum(before * each.sum(-1)) for each in gaps)
        terms, turned = terms + np.array([entropy, excess]), turned + other

    source, rival = rng.dirichlet(np.full(WORDS, 2.0), (2, WORDS))
    written = draw_texts(key, source, length=int(LENGTHS[-1]) + 1, count=trials)
    pairs = np.outer(stationary_contexts(source), np.ones(WORDS)) * source
    single = pairs.sum(0)
    counted = [count_ngrams(written[:, : n + 1], order=2, vocabulary=WORDS) for n in LENGTHS.tolist()]
    fitted = [additive_ngrams(each, add=add) for each in counted]
    weight = stationary_contexts(source)[:, None] * source
    excess = [np.sum(weight * np.log(source / each), axis=(1, 2)) for each in fitted]
    return {
        "laws of the next word out of all texts": Identity(
            np.concatenate(ratios),
            np.concatenate(laws),
            size=WORDS**LENGTH,
            aside={"first word forgotten": np.concatenate(forgetful)},
        ),
        "cross-entropy over all texts": Identity(
            -chances @ np.log(said),
            terms.sum(),
            size=WORDS**LENGTH,
            aside={"turned": terms[0] + turned},
        ),
        "excess of a counted bigram model": Law(
            np.full((), WORDS * (WORDS - 1) / 2),
            LENGTHS[:, None] * np.array(excess),
            sizes=LENGTHS,
            order=1,
            resolution=0.1,  # the nearest count of free numbers is a third larger
            aside={"excess": np.array(excess)[:, :400]},
        ),
        "what the last word tells": Identity(
            cross_entropy_rate(source, single) - entropy_rate(source),
            np.sum(pairs * np.log(pairs / np.outer(single, single))),
            size=WORDS**2,
            scale=1.0,
        ),
        "mean surprise of texts": Law(
            cross_entropy_rate(source, rival),
            text_surprise(rival, written[:, :60]).mean(1),
            exact=True,
            aside={"excess": excess_entropy(source, rival)},
        ),
    }


@cross_entropy_is_entropy_and_excess.control(
    "the first word of a text is forgotten", of="laws of the next word out of all texts"
)
def forgotten(evidence):
    return replace(evidence, right=evidence.aside["first word forgotten"])


@cross_entropy_is_entropy_and_excess.control("KL(q‖p) for KL(p‖q)", of="cross-entropy over all texts")
def exchanged(evidence):
    return replace(evidence, right=evidence.aside["turned"])


@cross_entropy_is_entropy_and_excess.control("all V² entries are free", of="excess of a counted bigram model")
def all_free(evidence):
    return replace(evidence, predicted=evidence.predicted * WORDS / (WORDS - 1))


@cross_entropy_is_entropy_and_excess.control("the entropy of the source alone", of="mean surprise of texts")
def without_excess(evidence):
    return replace(evidence, predicted=evidence.predicted - evidence.aside["excess"])


@cross_entropy_is_entropy_and_excess.picture
def by_length(pieces):
    """Excess entropy of a bigram model by the number of pairs it was counted in, with what theory says."""
    free = WORDS * (WORDS - 1)
    return compared(
        LENGTHS,
        lambda n: free / (2 * np.asarray(n, float)),
        pieces["excess of a counted bigram model"].aside["excess"],
        rivals={"all V² entries free": lambda n: WORDS**2 / (2 * np.asarray(n, float))},
        x="pairs of words counted",
        y="excess entropy, nats a word",
        log="xy",
    )
