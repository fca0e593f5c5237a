"""Competence on skills and tuples of skills, from the text pieces on which a model errs.

A piece with k skills belongs to the tasks of all its skills, all its pairs of skills and so on, and what it loses is
charged to each of them. Pieces are the rows of a skill graph (`emergence.skill_graph`). Reference: arora Secs
15.8–15.9; Arora and Goyal (2023), A theory for emergence of complex skills in language models.
"""

from typing import Annotated

import numpy as np
from jaxtyping import Array, Float, Int, Key

from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import affordable
from deeptheory.foundations.randomness import generator

__all__ = [
    "mistaken_share",
    "pair_errors",
    "recombined_error_share",
    "recombined_graph",
    "repeat_probability",
    "skill_errors",
]

Graph = Int[np.ndarray, "texts skills"]
Losses = Annotated[Float[np.ndarray, "*batch texts"], "[0, 1]"]


def skill_errors(graph: Graph, losses: Losses) -> Float[np.ndarray, "*batch skills"]:
    """Error rate of each skill's task: the mean loss of its pieces, weighted by how often they use it.

    Competence is one minus this. Losses may have a batch of models in front. Weighted by the degrees of the skills
    these rates average to the mean loss, whatever the losses are. A skill that no piece uses has no task and rate 0.
    Reference: arora Def. 15.8.7.
    """
    return _rate(losses @ graph, graph.sum(0))


def pair_errors(graph: Graph, losses: Losses) -> Float[np.ndarray, "*batch skills skills"]:
    """Error rate of the task of each ordered pair of skills, over pieces that use both; on the diagonal, one twice.

    A piece with multiplicities m has m_s m_t ordered pairs, and m_s (m_s − 1) of a skill with itself: k(k − 1) in all.
    A pair that no piece uses has rate 0. Reference: arora Def. 15.8.7.
    """
    texts, skills = graph.shape
    affordable(pairs=(texts, skills, skills))
    occurrences = graph[:, :, None] * (graph[:, None, :] - np.eye(skills, dtype=graph.dtype))
    lost = losses @ occurrences.reshape(texts, -1)
    return _rate(lost.reshape(*losses.shape[:-1], skills, skills), occurrences.sum(0))


def _rate(lost: np.ndarray, edges: np.ndarray) -> np.ndarray:
    return np.divide(lost, edges, out=np.zeros(lost.shape), where=edges > 0)


def repeat_probability(k: int, skills: int, *, measure: Float[np.ndarray, " skills"] | None = None) -> float:
    """Chance that k skills drawn independently are not all different: 1 − ∏_{i<k}(1 − i/|S|), about k(k−1)/(2|S|).

    Under a measure that is not uniform it is larger: 1 − k!·e_k(μ) with the elementary symmetric polynomial e_k.
    Reference: arora, note after Def. 15.8.7.
    """
    if k > skills:
        return 1.0
    if measure is None:
        return float(-np.expm1(np.log1p(-np.arange(k) / skills).sum()))
    if len(measure) != skills or np.any(measure < 0) or not np.isclose(measure.sum(), 1):
        raise ValueError(
            f"measure must be {skills} probabilities that sum to 1, got {len(measure)} of {measure.sum():g}"
        )
    distinct = np.zeros(k + 1)  # i!·e_i of the skills read so far
    distinct[0] = 1.0
    for chance in measure:
        distinct[1:] += chance * np.arange(1, k + 1) * distinct[:-1]
    return float(1 - distinct[k])


def mistaken_share(loss: Annotated[float | Float[np.ndarray, "..."], "[0, ∞)"]) -> float | Float[np.ndarray, "..."]:
    """Largest share of pieces with total cloze loss at least 1/2 if the average is δ = `loss`: 2δ, and at most 1.

    Markov's inequality, attained if losses are 0 or 1/2. Reference: arora Sec. 15.9, where θ = 2δ.
    """
    return np.minimum(2 * np.asarray(loss, float), 1)[()]


def recombined_graph(key: Key[Array, ""], graph: Graph, size: int) -> Int[np.ndarray, "pieces tuples"]:
    """Merge random groups of `size` = k′ pieces into k′-pieces, and read their kk′ skills as k tuples of k′ skills.

    The j-th tuple of a k′-piece takes a skill of each of its pieces, without replacement in random order; the column of
    a tuple (s₁, …, s_k′) is its number in base |S|. Pieces left over are dropped. If skills of a piece are independent,
    tuples of a k′-piece are. Reference: arora Sec. 15.9.3.
    """
    texts, skills = graph.shape
    k = int(graph[0].sum())
    if np.any(graph < 0) or np.any(graph.sum(1) != k):
        raise ValueError("graph must have rows of one sum, the number of skills of a piece")
    if texts < size:
        raise ValueError(f"size must be at most the number of pieces, {texts}, got {size}")
    pieces = texts // size
    affordable(graph=(pieces, skills**size))
    rng = generator(key)
    draws = np.repeat(np.tile(np.arange(skills), texts), graph.ravel()).reshape(texts, k)
    draws = rng.permuted(draws, axis=1)[rng.permutation(texts)[: pieces * size]].reshape(pieces, size, k)
    tuples = np.einsum("psk,s->pk", draws, skills ** np.arange(size)[::-1])
    cells = tuples + skills**size * np.arange(pieces)[:, None]
    return np.bincount(cells.ravel(), minlength=pieces * skills**size).reshape(pieces, -1)


def recombined_error_share(mistaken: int, texts: int, size: int) -> float:
    """Expected share of k′-pieces that hold a mistaken piece: 1 − C(T−m, k′)/C(T, k′) for m of T pieces, k′ = `size`.

    Nearly 1 − (1 − θ)^k′ and at most k′θ with θ = m/T, the share used by arora Lemma 15.9.4.
    """
    if mistaken > texts or size > texts:
        raise ValueError(f"mistaken and size must be at most texts = {texts}, got {mistaken} and {size}")
    if mistaken + size > texts:
        return 1.0
    return float(-np.expm1(np.log1p(-mistaken / (texts - np.arange(size))).sum()))


doors(__name__, k="[1, 10000]", skills="[1, 1e9]", size="[1, 8]", texts="[1, 1e12]")
