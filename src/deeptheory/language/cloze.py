"""Cloze questions: how wrong a model is about the next word, asked as a choice between sets of words.

Laws p (human) and q (model) over words are rows; a question is a set A of words, "is the next word in A?".

Reference: arora 15.4 and Thm 15.8.3; Taylor 1953, "Cloze procedure": a new tool for measuring readability.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from deeptheory.foundations.entrances import doors
from deeptheory.foundations.entropies import entropy, finite_kl

__all__ = [
    "ClozeScore",
    "cloze_score",
    "grouped_choices",
    "independent_disagreement",
    "most_telling_words",
    "pinsker_error",
    "question_error",
]

Law = Float[np.ndarray, "*n V"]
Words = Bool[np.ndarray, "*n V"]


class ClozeScore(NamedTuple):
    """Entropy of the human's answer, the model's cross-entropy on it, and their difference, in nats."""

    entropy: Float[np.ndarray, "*n"]
    cross_entropy: Float[np.ndarray, "*n"]
    excess: Float[np.ndarray, "*n"]


def _laws(**named: Law) -> None:
    for name, law in named.items():
        if law.min() < 0 or (gap := np.abs(law.sum(-1) - 1).max()) > 1e-6:
            raise ValueError(f"{name} must be laws that sum to 1, got {law.min() if law.min() < 0 else 1 + gap:.6g}")


def cloze_score(human: Law, model: Law) -> ClozeScore:
    """Score a model's answers to questions with several choices, by the law of a human's (arora Sec. 15.4).

    A human who is sure has entropy 0, so that all of the model's cross-entropy is excess: log 2 if it is torn between
    two choices. The cross-entropy is ∞ where the model excludes what the human may say.
    """
    _laws(human=human, model=model)
    least, excess = entropy(human), finite_kl(human, model)
    return ClozeScore(least, least + excess, excess)


def grouped_choices(law: Law, groups: Int[np.ndarray, " V"]) -> Float[np.ndarray, "*n choices"]:
    """The law of the choice that a word belongs to; `groups` gives every word the number of its choice."""
    _laws(law=law)
    return law @ np.eye(int(groups.max()) + 1)[groups]


def most_telling_words(human: Law, model: Law) -> Words:
    """The set of words that the human says more often than the model: no set has a larger gap p(A) − q(A)."""
    return human > model


def question_error(human: Law, model: Law, words: Words) -> Float[np.ndarray, "*n"] | float:
    """|p(A) − q(A)|: how often model and human must differ on "is it in A?", with answers coupled as well as can be.

    At the most telling words this is the total variation between the laws.
    """
    _laws(human=human, model=model)
    return np.abs(np.sum(human - model, axis=-1, where=words))


def independent_disagreement(human: Law, model: Law, words: Words) -> Float[np.ndarray, "*n"] | float:
    """How often model and human differ on "is it in A?" if both draw on their own: ½ for p = q with p(A) = ½.

    p(A)(1 − q(A)) + q(A)(1 − p(A)); `words` marks the set A.
    """
    _laws(human=human, model=model)
    one, other = np.sum(human, axis=-1, where=words), np.sum(model, axis=-1, where=words)
    return one * (1 - other) + other * (1 - one)


def pinsker_error(excess: Float[np.ndarray, "*n"] | float) -> Float[np.ndarray, "*n"] | float:
    """Largest error √(ε/2) that an excess entropy of ε nats allows on any binary question (Pinsker's inequality).

    arora Thm 15.8.3 has √(2ε), the bound for Σ|p − q|, which is twice the error.
    """
    return np.sqrt(np.asarray(excess) / 2)


doors(__name__, excess="[0, ∞)")
