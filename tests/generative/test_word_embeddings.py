"""Counts by hand, truncation by its tail, skip-gram against its table of logarithms; and a corpus of Shakespeare."""

import re

import numpy as np
import pytest
from scipy.optimize import check_grad, minimize_scalar

from deeptheory.generative.word_embeddings import (
    cooccurrences,
    latent_semantic_indexing,
    pointwise_mutual_information,
    skip_gram,
    skip_gram_loss,
    term_document_counts,
)

COUNTS = np.random.default_rng(1).integers(1, 30, size=(6, 6)).astype(float)
COUNTS += COUNTS.T


def test_counts_by_hand():
    np.testing.assert_array_equal(
        term_document_counts([np.array([0, 2, 2]), np.array([1])], 3), [[1, 0], [0, 1], [2, 0]]
    )
    np.testing.assert_array_equal(cooccurrences(np.array([0, 1, 2, 0]), 3, window=2), [[0, 2, 2], [2, 0, 1], [2, 1, 0]])


@pytest.mark.item("A17.2")
def test_truncation_leaves_the_tail():
    counts = np.random.default_rng(0).poisson(3, size=(12, 8)).astype(float)
    for rank in (1, 3, 8):
        found = latent_semantic_indexing(counts, rank)
        tail = np.sum(np.linalg.eigvalsh(counts.T @ counts)[: 8 - rank])
        assert np.sum((counts - found.words @ found.documents.T) ** 2) == pytest.approx(tail, abs=1e-9)


@pytest.mark.item("A17.3")
@pytest.mark.parametrize("negatives", [1.0, 5.0])
def test_the_optimum_is_pmi_less_log_k(negatives):
    """Each entry of the loss is convex in its score: searched one by one."""
    total = COUNTS.sum()
    best = pointwise_mutual_information(COUNTS) - np.log(negatives)
    for w, c in ((0, 1), (3, 3), (5, 2)):
        pair, chance = COUNTS[w, c], negatives * COUNTS[w].sum() * COUNTS[:, c].sum() / total
        found = minimize_scalar(
            lambda s, p=pair, q=chance: p * np.log1p(np.exp(-s)) + q * np.log1p(np.exp(s)), bracket=(-1, 1)
        )
        assert best[w, c] == pytest.approx(found.x, abs=1e-5)
    trained = skip_gram(np.random.default_rng(0), COUNTS, 6, negatives=negatives)
    np.testing.assert_allclose(trained.words @ trained.contexts.T, best, atol=2e-3)
    assert trained.loss == pytest.approx(skip_gram_loss(best, COUNTS, negatives=negatives), rel=1e-8)


@pytest.mark.item("A17.3")
def test_lower_rank_costs():
    losses = [skip_gram(np.random.default_rng(0), COUNTS, rank).loss for rank in (1, 2, 4, 6)]
    assert np.all(np.diff(losses) < 1e-6)
    best = pointwise_mutual_information(COUNTS)

    def loss(scores):
        return skip_gram_loss(scores.reshape(6, 6), COUNTS)

    assert check_grad(loss, lambda _: np.zeros(36), best.ravel()) < 1e-3 * COUNTS.sum() ** 0.5


@pytest.mark.slow
@pytest.mark.item("A17.3")
def test_neighbours_in_shakespeare(tinyshakespeare):
    """Words of one kind stand nearer to each other than to words of another, in 25 dimensions from 400 words."""
    words = re.findall(r"[a-z]+", tinyshakespeare.lower())
    kept, times = np.unique(words, return_counts=True)
    common = list(kept[np.argsort(-times)][:400])
    number = {word: i for i, word in enumerate(common)}
    corpus = np.array([number[word] for word in words if word in number])
    counts = cooccurrences(corpus, 400, window=4)
    vectors = skip_gram(np.random.default_rng(0), counts + 0.1, 25, steps=200).words
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)

    def near(first, second):
        return float(vectors[number[first]] @ vectors[number[second]])

    assert near("king", "duke") > near("king", "would")
    assert near("father", "brother") > near("father", "upon")
    assert near("he", "she") > near("he", "lord")


def test_words_outside_the_vocabulary_are_refused():
    with pytest.raises(ValueError, match=r"corpus must lie in \[0, 2\], got"):
        cooccurrences(np.array([0, 3]), 3)
    with pytest.raises(ValueError, match="an occurrence in every row and column"):
        pointwise_mutual_information(np.array([[1.0, 0.0], [2.0, 0.0]]))
