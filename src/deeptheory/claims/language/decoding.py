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
from deeptheory.lab.pictures import Curves, Level, Line
from deeptheory.language.decoding_rules import decoded_model, decoding_table, expected_surprise, written_perplexity
from deeptheory.language.sources import cross_entropy_rate, entropy_rate, stationary_contexts

WORDS, KEPT = 40, 3
# Compiled once for all budgets and all temperatures.
budgeted, heated = jax.jit(top_p), jax.jit(tempered)
RULES = {
    "greedy": partial(top_k, k=1),
    "sampling, t = 0.9": partial(heated, temperature=0.9),
    "pure sampling": partial(heated, temperature=1.0),
}
NUCLEI = np.array([0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0])
PRINTED = {
    "Greedy": 1.50,
    "Pure Sampling": 22.73,
    "Sampling, t=0.9": 10.25,
    "Top-k=40": 6.88,
    "Top-k=640": 13.82,
    "Top-k=40, t=0.7": 3.48,
    "Nucleus p=0.95": 13.13,
}
HUMAN = 12.38
FORK = np.zeros((6, 6))
"""From 0 to 1 or 2 with 0.6 and 0.4; 1 has continuations of 0.4, 0.3 and 0.3, 2 a single one."""
FORK[0, 1:3] = 0.6, 0.4
FORK[1, 3:] = 0.4, 0.3, 0.3
FORK[2, 3] = 1.0
FORK[3:, 0] = 1.0


def looked_up(logs, state, tokens):
    return state, logs[tokens]


def kept(law, size):
    """The `size` likeliest words of a law in order, and their probability in all."""
    best = np.sort(law)[::-1][:size]
    return best, best.sum()


@claim(
    items={
        "A15.15": ("surprise under top-k and nucleus", "slope in the temperature"),
        "A15.16": ("order of perplexities", "pure sampling of a perfect model", "nearest to human text, as printed"),
        "A15.17": "a fork",
    },
    says=r"Top-$k$ rescales the $k$ likeliest words by $1/p_k$, a nucleus the fewest above $p$; by temperature "
    r"surprise grows as $\mathrm{Var}_T(\log q)/T^2$. Of a flattened model greedy text surprises less than human text, "
    "sampled text more. Greedy may miss the likeliest text.",
    needs="perplexities for Markov sources and models mixed with the even law, exact for texts of 200 words",
    symbols={
        "k": "how many words are kept",
        "p_k": "their probability in all",
        "p": "the probability that a nucleus exceeds",
        "T": "the temperature",
        "q": "the model's law; the variance is under the tempered one",
    },
    why=r"Human text has perplexity $e^{H(p)+\mathrm{KL}(p\|q)}$ under the model, sampled text $e^{H(q)}$. A flattened "
    r"model gives away probability to words that humans hardly use; sampling says them as often, and its contexts go "
    r"astray too. Cutting the tail takes them back: at some $p$ the perplexities meet.",
    notice="Perplexity of nucleus text by $p$: it crosses the human level where the budget cuts what flattening has "
    "added. Greedy text lies far below, pure sampling above.",
    explore={"flat": (0.05, 0.1, 0.2, 0.3)},
)
def decoding_reshapes_surprise(key, *, flat: Annotated[float, Interval(ge=0.05, le=0.3)] = 0.2):
    rng = generator(key)
    source = 1e-6 / WORDS + (1 - 1e-6) * rng.dirichlet(np.full(WORDS, 0.1), WORDS)
    model = (1 - flat) * source + flat / WORDS
    start = stationary_contexts(source)
    table = decoding_table(source, model, RULES)
    nuclei = {f"{p:g}": partial(budgeted, p=float(p)) for p in NUCLEI}
    nucleus = decoding_table(source, model, nuclei)
    perfect = written_perplexity(source, decoded_model(source, RULES["pure sampling"]), start, length=200)

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
    names = list(PRINTED)
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
                "greedy below tempered": (table["greedy"], table["sampling, t = 0.9"]),
                "tempered below pure": (table["sampling, t = 0.9"], table["pure sampling"]),
                "greedy below human": (table["greedy"], table["human"]),
                "human below pure": (table["human"], table["pure sampling"]),
                "a narrow nucleus below human": (nucleus["0.3"], table["human"]),
                "a wider nucleus is more surprising": (
                    np.array(list(nucleus.values()))[1:-1],
                    np.array(list(nucleus.values()))[2:],
                ),
            },
            aside={"nucleus": np.array(list(nucleus.values()))[1:], "table": np.array(list(table.values()))},
        ),
        "pure sampling of a perfect model": Identity(
            [perfect, table["human"]],
            [np.exp(entropy_rate(source)), np.exp(cross_entropy_rate(source, model))],
            size=200 * WORDS,
        ),
        "nearest to human text, as printed": Exact(
            [min(names, key=lambda name: abs(PRINTED[name] - HUMAN))],
            ["Nucleus p=0.95"],
            aside={"second": [sorted(names, key=lambda name: abs(PRINTED[name] - HUMAN))[1]]},
        ),
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
    human, pure = evidence.links["human below pure"]
    return replace(evidence, links={"pure below human": (pure, human)})


@decoding_reshapes_surprise.control("greedy finds the likeliest text", of="a fork")
def greedy_is_best(evidence):
    return replace(evidence, right=np.full(2, np.max(evidence.right)))


@decoding_reshapes_surprise.picture
def budgets(pieces):
    """Perplexity under the model of nucleus text by its budget p, with the levels of human, greedy and sampled text."""
    piece = pieces["order of perplexities"]
    human, greedy, _, pure = np.asarray(piece.aside["table"])
    return Curves(
        [
            Line("nucleus", NUCLEI, piece.aside["nucleus"]),
            Level("human text", y=float(human)),
            Level("greedy", y=float(greedy)),
            Level("pure sampling", y=float(pure)),
        ],
        x="probability budget p",
        y="perplexity",
        log="y",
    )
