"""Decoding rules on a model that is a Markov chain: the law of what they write, and its perplexity, without sampling.

A rule maps logits to logits: `tempered`, `top_k` and `top_p` of `architectures.decoding`, where the searches (greedy,
beam) are too. Applied to every row of a model of order 1 it gives another chain, the writer; how surprising its texts
are to the model is then a mean over that chain.

Reference: arora 15.5; lucchi 10.4.4; Holtzman et al. 2020, The curious case of neural text degeneration.
"""

from collections.abc import Callable, Mapping

import jax.numpy as jnp
import numpy as np
from jax.tree_util import Partial
from jaxtyping import Array, Float

from deeptheory.architectures.decoding import beam_search, tempered
from deeptheory.foundations.entrances import doors
from deeptheory.language.sources import cross_entropy_rate, order_of, stationary_contexts

__all__ = ["beam_perplexity", "decoded_model", "decoding_table", "expected_surprise", "written_perplexity"]

Rule = Callable[[Array], Array]
Chain = Float[np.ndarray, "V V"]


def decoded_model(model: Chain, rule: Rule) -> Chain:
    """The chain that a rule writes: every row of the model after the rule."""
    order_of(model, name="model")
    with np.errstate(divide="ignore"):
        law = np.exp(np.asarray(rule(jnp.log(model)), float))
    return law / law.sum(1, keepdims=True)


def expected_surprise(law: Float[np.ndarray, "*n V"], rule: Rule = tempered) -> Float[np.ndarray, "*n"] | float:
    """Mean of log 1/q over a word that a rule draws from the law q: grows with k, with p and with the temperature.

    The derivative by the temperature T is the variance of log q under the tempered law, divided by T².
    """
    if law.min() < 0 or np.abs(law.sum(-1) - 1).max() > 1e-6:
        raise ValueError(f"law must be probabilities that sum to 1, got sums from {law.sum(-1).min():.6g}")
    with np.errstate(divide="ignore"):
        logs = np.log(law)
        drawn = np.exp(np.asarray(rule(jnp.asarray(logs)), float))
    return -np.sum(np.where(drawn > 0, drawn * np.where(drawn > 0, logs, 0.0), 0.0), axis=-1)


def written_perplexity(model: Chain, writer: Chain, start: Float[np.ndarray, " V"], *, length: int) -> float:
    """Perplexity under the model of texts of `length` words that a chain writes after a first word from `start`.

    The exponential of the expected mean of log 1/q, exactly, by following the law of the word at every place. A writer
    of words that the model never says has perplexity ∞.
    """
    for name, laws in {"model": model, "writer": writer, "start": start}.items():
        order_of(laws, name=name)
    with np.errstate(divide="ignore"):
        surprise = -np.sum(np.where(writer > 0, writer * np.log(np.where(writer > 0, model, 1.0)), 0.0), axis=1)
    law, total = start, 0.0
    for _ in range(length):
        total += float(np.sum(law * surprise, where=law > 0))
        law = law @ writer
    return float(np.exp(total / length))


def beam_perplexity(model: Chain, start: Float[np.ndarray, " V"], *, width: int, length: int) -> float:
    """Perplexity under the model of the likeliest text of `length` words that a beam of `width` finds.

    A search after every first word, weighed by `start`: the exponential of the mean over first words of log 1/q a word.
    Width 1 is greedy search, which need not find the likeliest text (arora Sec. 15.5).
    """
    order_of(model, name="model")
    order_of(start, name="start")
    step = Partial(_looked_up, jnp.log(model))
    found = beam_search(step, (), np.arange(len(model), dtype=np.int32), width=width, length=length)
    return float(np.exp(-start @ np.asarray(found.log_probability[:, 0], float) / length))


def _looked_up(logs: Array, state: tuple, tokens: Array) -> tuple[tuple, Array]:
    return state, logs[tokens]


def decoding_table(source: Chain, model: Chain, rules: Mapping[str, Rule], *, length: int = 200) -> dict[str, float]:
    """Perplexities under the model of the source's own texts ("human") and of what each rule writes (arora Fig. 15.1).

    Texts start with a word from the source's stationary law. A rule is near to human text if its perplexity is; that
    is no statement about each word.
    """
    start = stationary_contexts(source)
    written = {
        name: written_perplexity(model, decoded_model(model, rule), start, length=length)
        for name, rule in rules.items()
    }
    return {"human": float(np.exp(cross_entropy_rate(source, model))), **written}


doors(__name__, length="[1, 1e5]", width="[1, 1e4]")
