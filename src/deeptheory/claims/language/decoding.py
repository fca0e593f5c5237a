"""What decoding rules write, and how surprising it is to the model that writes it (arora Sec. 15.5, Fig. 15.1)."""

from dataclasses import replace
from functools import partial
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval
from jax.tree_util import Partial

from deeptheory.architectures.decoding import exact_search, greedy_search, tempered, top_k, top_p
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Chain, Exact, Identity, claim
from deeptheory.lab.pictures import Curves, Level, Line, Stack, Table
from deeptheory.language.decoding_rules import (
    beam_perplexity,
    decoded_model,
    decoding_table,
    expected_surprise,
    written_perplexity,
)
from deeptheory.language.ngrams import additive_ngrams, count_ngrams, perplexity
from deeptheory.language.sources import (
    cross_entropy_rate,
    draw_texts,
    entropy_rate,
    stationary_contexts,
    text_surprise,
)

WORDS, KEPT = 40, 3
CORPUS, ADDED = 4000, 0.5
"""words of the text that a model is counted in, and what is added to every count"""
# Compiled once for all budgets and all temperatures.
budgeted, heated = jax.jit(top_p), jax.jit(tempered)
NUCLEI = np.array([0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0])


def few_and_cold(logits):
    return heated(top_k(logits, 4), temperature=0.7)


PRINTED = {
    "Human": 12.38,
    "Greedy": 1.50,
    "Beam, b=16": 1.48,
    "Stochastic Beam, b=16": 19.20,
    "Pure Sampling": 22.73,
    "Sampling, t=0.9": 10.25,
    "Top-k=40": 6.88,
    "Top-k=640": 13.82,
    "Top-k=40, t=0.7": 3.48,
    "Nucleus p=0.95": 13.13,
}
"""from Holtzman et al. (2020), of a model of 50,257 tokens"""
RULES = {
    "Greedy": partial(top_k, k=1),
    "Pure Sampling": partial(heated, temperature=1.0),
    "Sampling, t=0.9": partial(heated, temperature=0.9),
    "Top-k=40": partial(top_k, k=4),
    "Top-k=640": partial(top_k, k=16),
    "Top-k=40, t=0.7": few_and_cold,
    "Nucleus p=0.95": partial(budgeted, p=0.95),
}
"""ours of the same kind; of forty words a tenth and two fifths are kept"""
BELOW = [
    ("Beam, b=16", "Top-k=40, t=0.7"),
    ("Top-k=40, t=0.7", "Top-k=40"),
    ("Top-k=40", "Top-k=640"),
    ("Top-k=640", "Pure Sampling"),
    ("Sampling, t=0.9", "Pure Sampling"),
    ("Nucleus p=0.95", "Pure Sampling"),
    ("Greedy", "Human"),
    ("Top-k=40", "Human"),
    ("Human", "Pure Sampling"),
]
"""orders that are printed and do not depend on how flat a model is

Beams are not among them beside greedy text, nor that beside cold sampling: greedy text may end in a loop that is a
little dearer, and a beam may lose the better one.
"""
FORK = np.zeros((6, 6))
"""From 0 to 1 or 2 with 0.6 and 0.4; 1 has continuations of 0.4, 0.3 and 0.3, 2 a single one."""
FORK[0, 1:3] = 0.6, 0.4
FORK[1, 3:] = 0.4, 0.3, 0.3
FORK[2, 3] = 1.0
FORK[3:, 0] = 1.0


def table_of(source, model, start):
    """The perplexities of all rows that we have a rule for, under the names they are printed with."""
    found = decoding_table(source, model, RULES)
    beam = beam_perplexity(model, start, width=16, length=200)
    return {"Human": found.pop("human"), "Beam, b=16": beam, **found}


def looked_up(logs, state, tokens):
    return state, logs[tokens]


def kept(law, size):
    """The `size` likeliest words of a law in order, and their probability in all."""
    best = np.sort(law)[::-1][:size]
    return best, best.sum()


@claim(
    items={
        "A15.15": ("surprise under top-k and nucleus", "slope in the temperature"),
        "A15.16": (
            "order of perplexities",
            "pure sampling of a perfect model",
            "pure sampling of a counted model",
            "nearest to human text, as printed",
        ),
        "A15.17": "a fork",
    },
    says=r"Top-$k$ rescales the $k$ likeliest words by $1/p_k$, a nucleus the fewest above $p$; by temperature "
    r"surprise has slope $\mathrm{Var}_T(\log q)/T^2$. Greedy text surprises a flat model less than human "
    "text does, sampled more; a counted one as its corpus does. Greedy is not best.",
    needs="perplexities for Markov sources and models mixed with the even law, or counted in 4,000 words with half a "
    "word added; exact for texts of 200 words",
    scale="printed: a network of 50,257 tokens; here: chains of 40 words, $k$ in proportion",
    symbols={
        r"\text{perplexity}": "e to the mean surprise $-\\log q$ of a word",
        r"\text{flat}": "the share of the even law in the flattened model; the rest is the law of human text",
        r"\text{counted}": "the model that has the frequencies in 4,000 words of human text",
        "k": "how many words are kept",
        "p_k": "their probability in all",
        "p": "the probability that a nucleus exceeds",
        "T": "the temperature",
        "q": "the model's law; the variance is under the tempered one",
    },
    why=r"Human text has perplexity $e^{H(p)+\mathrm{KL}(p\|q)}$ under the model, sampled text $e^{H(q)}$. A flattened "
    r"model gives away probability to words that humans hardly use; sampling says them as often, and its contexts go "
    r"astray too. Cutting the tail takes them back: at some $p$ the perplexities meet. A model of plain frequencies "
    "gives nothing away: it writes every pair of words as often as it has read it.",
    notice="Rows of the table stand in the printed order in both models of ours, but where they depend on how flat a "
    "model is: a temperature of 0.9, a nucleus of 0.95 and the larger $k$, beside human text and each other. Below the "
    "table, nucleus text crosses the human level where the budget cuts what flattening has added.",
    explore={"flat": (0.05, 0.1, 0.2, 0.3)},
)
def decoding_reshapes_surprise(key, *, flat: Annotated[float, Interval(ge=0.05, le=0.3)] = 0.2):
    rng = generator(key)
    source = 1e-6 / WORDS + (1 - 1e-6) * rng.dirichlet(np.full(WORDS, 0.1), WORDS)
    model = (1 - flat) * source + flat / WORDS
    start = stationary_contexts(source)
    text = draw_texts(jax.random.fold_in(key, 1), source, length=CORPUS)[0]
    words, text = np.unique(np.append(text, text[0]), return_inverse=True)  # closed to a ring: every word is followed
    met = count_ngrams(text, order=2, vocabulary=len(words))
    counts = np.zeros((WORDS, WORDS))
    counts[np.ix_(words, words)] = met
    table, learnt = (table_of(source, each, start) for each in (model, additive_ngrams(counts, add=ADDED)))
    nuclei = {f"{p:g}": partial(budgeted, p=float(p)) for p in NUCLEI}
    nucleus = decoding_table(source, model, nuclei)
    # After each word of its own: a wider nucleus also comes to other words, and some are followed by less surprise.
    budgeted_surprise = np.array([expected_surprise(model, rule) for rule in nuclei.values()])
    perfect = written_perplexity(source, decoded_model(source, RULES["Pure Sampling"]), start, length=200)
    plain, smooth = additive_ngrams(met), additive_ngrams(met, add=ADDED)

    laws = rng.dirichlet(np.ones(WORDS), WORDS)
    shown, expected, unscaled = [expected_surprise(laws, partial(top_k, k=KEPT))], [], []
    sizes = [[KEPT] * WORDS]
    for p in (0.35, 0.6, 0.85):
        shown.append(expected_surprise(laws, partial(budgeted, p=p)))
        sizes.append([1 + int(np.sum(np.cumsum(np.sort(law)[::-1]) <= p)) for law in laws])
    for counts in sizes:
        best = [kept(law, n) for law, n in zip(laws, counts, strict=True)]
        unscaled.append([-words @ np.log(words) for words, _ in best])
        expected.append([-words @ np.log(words) / mass for words, mass in best])
    heat, step = np.array([0.5, 0.8, 1.0, 1.5, 2.5]), 1e-4
    slopes, spreads = [], []
    for temperature in heat:
        near = [expected_surprise(laws, partial(heated, temperature=float(temperature + move * step)))
                for move in (-2, -1, 1, 2)]  # fmt: skip
        slopes.append((near[0] - 8 * near[1] + 8 * near[2] - near[3]) / (12 * step))
        law = laws ** (1 / temperature)
        law /= law.sum(1, keepdims=True)
        mean = np.sum(law * np.log(laws), axis=1, keepdims=True)
        spreads.append(np.sum(law * (np.log(laws) - mean) ** 2, axis=1))

    logs, first = Partial(looked_up, jnp.log(FORK)), np.zeros(1, int)
    found = (
        greedy_search(logs, (), first, length=2).log_probability[0],
        exact_search(logs, (), first, length=2).log_probability[0],
    )
    rules = [name for name in PRINTED if name != "Human"]
    nearest = sorted(rules, key=lambda name: abs(PRINTED[name] - PRINTED["Human"]))
    tables = PRINTED, table, learnt
    return {
        "surprise under top-k and nucleus": Identity(
            np.array(shown), np.array(expected), scale=8.0, size=WORDS, aside={"unscaled": np.array(unscaled)}
        ),
        "slope in the temperature": Identity(
            np.array(slopes),
            np.array(spreads) / heat[:, None] ** 2,
            scale=8.0,
            error=1e-8,  # of differences of fourth order at steps of 1e-4
            aside={"divided once": np.array(spreads) / heat[:, None]},
        ),
        "order of perplexities": Chain(
            {
                f"{low} below {high}": (
                    np.array([each[low] for each in tables]),
                    np.array([each[high] for each in tables]),
                )
                for low, high in BELOW
            }
            | {
                "a narrow nucleus below human": (nucleus["0.3"], table["Human"]),
                "a wider nucleus is more surprising after the same word": (
                    budgeted_surprise[:-1],
                    budgeted_surprise[1:],
                ),
            },
            aside={
                "nucleus": np.array(list(nucleus.values()))[1:],
                "tables": np.array([[each.get(name, np.nan) for name in PRINTED] for each in tables]),
            },
        ),
        "pure sampling of a perfect model": Identity(
            [perfect, table["Human"]],
            [np.exp(entropy_rate(source)), np.exp(cross_entropy_rate(source, model))],
            size=200 * WORDS,
        ),
        "pure sampling of a counted model": Identity(
            [np.exp(entropy_rate(plain))],
            [float(perplexity(text_surprise(plain, text)))],
            size=CORPUS,
            aside={"smooth": [np.exp(entropy_rate(smooth)), float(perplexity(text_surprise(smooth, text)))]},
        ),
        "nearest to human text, as printed": Exact([nearest[0]], ["Nucleus p=0.95"], aside={"second": [nearest[1]]}),
        "a fork": Identity(np.exp(np.array(found, float)), np.array([0.24, 0.4])),
    }


@decoding_reshapes_surprise.control("no rescaling by 1/p_k", of="surprise under top-k and nucleus")
def unscaled(evidence):
    return replace(evidence, right=evidence.aside["unscaled"])


@decoding_reshapes_surprise.control("divided by T, not T²", of="slope in the temperature")
def divided_once(evidence):
    return replace(evidence, right=evidence.aside["divided once"])


@decoding_reshapes_surprise.control("sampled text is no more surprising than human text", of="order of perplexities")
def sampled_is_human(evidence):
    human, pure = evidence.links["Human below Pure Sampling"]
    return replace(evidence, links={"pure below human": (pure[1:], human[1:])})  # of our models, not as printed


@decoding_reshapes_surprise.control("half a word added to every count", of="pure sampling of a counted model")
def smoothed(evidence):
    sampled, read = evidence.aside["smooth"]
    return replace(evidence, left=[sampled], right=[read])


@decoding_reshapes_surprise.control("greedy finds the likeliest text", of="a fork")
def greedy_is_best(evidence):
    return replace(evidence, right=np.full(2, np.max(evidence.right)))


@decoding_reshapes_surprise.picture
def budgets(pieces):
    """Perplexities by way of decoding, printed and under two models of ours; below, of nucleus text by its budget."""
    piece = pieces["order of perplexities"]
    tables = np.asarray(piece.aside["tables"])
    columns: dict[str, list[str]] = {"decoding, as printed": list(PRINTED)}
    for name, table in zip(("printed", "ours, flattened", "ours, counted"), tables, strict=True):
        columns[name] = [f"{value:.2f}" if np.isfinite(value) else "–" for value in table]
    levels = [
        Level(says, y=float(tables[1, list(PRINTED).index(name)]))
        for says, name in {"human text": "Human", "greedy": "Greedy", "pure sampling": "Pure Sampling"}.items()
    ]
    curve = Curves(
        [Line("nucleus", NUCLEI, piece.aside["nucleus"]), *levels],
        x="probability budget p",
        y="perplexity under the flattened model",
        log="y",
    )
    return Stack([Table(columns), curve])
