"""Embeddings of words and documents from counts: latent semantic indexing, and skip-gram with negative sampling.

Words are numbers 0 … v−1. At full rank the optimum of skip-gram is a table of logarithms, the pointwise mutual
information less log k, so that training has an exact answer to be compared with.

`counts` has a row for each word and a column for each context; `rank` is the number of dimensions of the vectors,
`negatives` is k.

Reference: arora ch. 17; Deerwester et al. 1990; Mikolov et al. 2013; Levy and Goldberg 2014.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.optimize import minimize
from scipy.special import expit, log_expit

from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import affordable, inside

__all__ = [
    "Indexing",
    "SkipGram",
    "cooccurrences",
    "latent_semantic_indexing",
    "pointwise_mutual_information",
    "skip_gram",
    "skip_gram_loss",
    "term_document_counts",
]

Counts = Float[np.ndarray, "v c"]


class Indexing(NamedTuple):
    """Rows of `words` and `documents` are embeddings; words @ documents.T is the best approximation of that rank."""

    words: Float[np.ndarray, "v rank"]
    documents: Float[np.ndarray, "n rank"]
    singular: Float[np.ndarray, " all"]


class SkipGram(NamedTuple):
    """Vectors of words and of contexts, and the loss they reach."""

    words: Float[np.ndarray, "v rank"]
    contexts: Float[np.ndarray, "c rank"]
    loss: float


def term_document_counts(documents: Sequence[Int[np.ndarray, "_"]], vocabulary: int) -> Float[np.ndarray, "v n"]:
    """How often each word occurs in each document, one column a document."""
    affordable(counts=(vocabulary, max(len(documents), 1)))
    for document in documents:
        inside(0, vocabulary - 1, documents=document)
    return np.stack([np.bincount(document, minlength=vocabulary) for document in documents], axis=1).astype(float)


def latent_semantic_indexing(table: Float[np.ndarray, "v n"], rank: int) -> Indexing:
    """The truncated singular value decomposition of a term–document matrix, singular values shared as square roots.

    No matrix of that rank is nearer in the Frobenius norm: the squared error is the sum of the squares of the singular
    values left out. Weigh the counts before (tf-idf) where common words drown the rest.
    Reference: Deerwester et al. 1990; arora ch. 17.
    """
    inside(1, min(table.shape), rank=rank)
    left, singular, right = np.linalg.svd(table, full_matrices=False)
    root = np.sqrt(singular[:rank])
    return Indexing(left[:, :rank] * root, right[:rank].T * root, singular)


def cooccurrences(corpus: Int[np.ndarray, " n"], vocabulary: int, *, window: int = 2) -> Float[np.ndarray, "v v"]:
    """How often word c stands within `window` places of word w, both sides; symmetric."""
    inside(0, vocabulary - 1, corpus=corpus)
    affordable(pairs=(vocabulary, vocabulary))
    counts = np.zeros((vocabulary, vocabulary))
    for distance in range(1, min(window, len(corpus) - 1) + 1):
        np.add.at(counts, (corpus[:-distance], corpus[distance:]), 1.0)
    return counts + counts.T


def pointwise_mutual_information(counts: Counts) -> Float[np.ndarray, "v c"]:
    """log #(w,c)·#/(#w·#c), the logarithm of how much more often a pair occurs than by chance; −∞ where it never does.

    A word or a context that never occurs has no such number and is refused. Reference: Church and Hanks 1990.
    """
    rows, columns = _marginals(counts)
    with np.errstate(divide="ignore"):
        return np.log(counts) + np.log(counts.sum()) - np.log(rows) - np.log(columns)


def skip_gram_loss(scores: Float[np.ndarray, "v c"], counts: Counts, *, negatives: float = 1.0) -> float:
    """−∑ #(w,c)·log σ(s) − k·∑ #w·#c/#·log σ(−s), the expectation over all pairs and all negative samples.

    Each pair is taken with k negative contexts drawn by their frequency. Convex in the scores, with the minimum at
    PMI − log k entry by entry. Reference: Mikolov et al. 2013; Levy and Goldberg 2014.
    """
    rows, columns = _marginals(counts)
    chance = negatives * rows * columns / counts.sum()
    return float(-np.sum(counts * log_expit(scores) + chance * log_expit(-scores)))


def skip_gram(
    draw: np.random.Generator, counts: Counts, rank: int, *, negatives: float = 1.0, steps: int = 2000
) -> SkipGram:
    """Word and context vectors whose inner products minimise `skip_gram_loss`, by L-BFGS from small random vectors.

    The expectation is descended, not a stream of samples: for vocabularies up to a few thousand words. Not convex in
    the vectors below full rank. Pairs that never occur have no finite optimum; their scores drift to −∞ slowly.
    """
    rows, columns = _marginals(counts)
    (v, c), total = counts.shape, counts.sum()
    affordable(scores=(v, c), vectors=(v + c, rank))
    chance = negatives * rows * columns / total

    def descend(flat: np.ndarray) -> tuple[float, np.ndarray]:
        words, contexts = np.split(flat.reshape(v + c, rank), [v])
        scores = words @ contexts.T
        loss = -np.sum(counts * log_expit(scores) + chance * log_expit(-scores)) / total
        slope = (chance * expit(scores) - counts * expit(-scores)) / total
        return loss, np.concatenate([slope @ contexts, slope.T @ words]).ravel()

    start = 0.1 * draw.standard_normal((v + c) * rank)
    options = {"maxiter": steps, "maxfun": 2 * steps, "ftol": 1e-15, "gtol": 1e-10}
    found = minimize(descend, start, jac=True, method="L-BFGS-B", options=options)
    words, contexts = np.split(found.x.reshape(v + c, rank), [v])
    return SkipGram(words, contexts, float(found.fun * total))


def _marginals(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    inside(0, np.inf, counts=counts)
    rows, columns = counts.sum(1, keepdims=True), counts.sum(0, keepdims=True)
    if min(rows.min(), columns.min()) <= 0:
        raise ValueError("counts must have an occurrence in every row and column, got one without")
    return rows, columns


doors(
    __name__, vocabulary="[1, 1e6]", window="[1, 1e4]", rank="[1, 1e4]", negatives="(0, 1e6]", steps="[1, 1e5]",
    counts="[0, 1e15]",
)  # fmt: skip
