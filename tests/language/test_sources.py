"""Markov sources against enumeration of all texts, and n-gram models against counts by hand."""

from itertools import product

import jax
import numpy as np
import pytest

from deeptheory.language.ngrams import (
    additive_ngrams,
    count_ngrams,
    interpolated_ngrams,
    kneser_ney_ngrams,
    perplexity,
)
from deeptheory.language.sources import (
    context_chain,
    corpus_variance,
    cross_entropy_rate,
    draw_texts,
    entropy_rate,
    excess_entropy,
    of_order,
    stationary_contexts,
    switching_source,
    text_surprise,
)

RNG = np.random.default_rng(5)
SOURCE = RNG.dirichlet(np.ones(3), (3, 3))  # of order 2
MODEL = RNG.dirichlet(np.ones(3), 3)


def enumerated(source, length):
    """All texts of a length after every context, with their probabilities."""
    order, symbols = source.ndim - 1, source.shape[-1]
    start = stationary_contexts(source)
    for text in product(range(symbols), repeat=order + length):
        chance = start[text[:order]]
        for place in range(length):
            chance *= source[text[place : place + order + 1]]
        yield np.array(text), chance


@pytest.mark.item("A15.1")
def test_texts_of_a_length_have_probability_one_and_shorter_ones_are_their_sums():
    longer, shorter = (dict((tuple(text), chance) for text, chance in enumerated(SOURCE, n)) for n in (4, 3))
    assert sum(longer.values()) == pytest.approx(1, abs=1e-12)
    for text, chance in shorter.items():
        assert sum(longer[(*text, w)] for w in range(3)) == pytest.approx(chance, abs=1e-14)
        assert sum(longer[(w, *text)] for w in range(3)) == pytest.approx(chance, abs=1e-12)  # it is stationary


@pytest.mark.item("A15.4", "A15.7")
def test_rates_are_those_of_long_texts():
    for model in (MODEL, SOURCE, RNG.dirichlet(np.ones(3)), RNG.dirichlet(np.ones(3), (3, 3, 3))):
        order = max(model.ndim - 1, 2)
        raised = of_order(SOURCE, order)
        expected = sum(
            chance * text_surprise(of_order(model, order), text)[-1] for text, chance in enumerated(raised, 1)
        )
        assert cross_entropy_rate(SOURCE, model) == pytest.approx(expected, abs=1e-12)
    assert excess_entropy(SOURCE, SOURCE) == 0
    assert entropy_rate(np.full((4, 4), 0.25)) == pytest.approx(np.log(4))
    assert entropy_rate(np.array([[0.0, 1.0], [1.0, 0.0]])) == 0
    assert perplexity(text_surprise(np.full((5, 5), 0.2), np.array([0, 3, 4, 4]))) == pytest.approx(5)


def test_the_mean_of_a_corpus_has_the_variance_of_all_corpora():
    for model, length in ((MODEL, 1), (MODEL, 2), (MODEL, 5), (SOURCE, 4)):
        whole = of_order(model, 2)
        means, chances = zip(
            *((text_surprise(whole, text).mean(), chance) for text, chance in enumerated(SOURCE, length)), strict=True
        )
        centre = np.dot(chances, means)
        variance = np.dot(chances, (np.array(means) - centre) ** 2)
        assert corpus_variance(SOURCE, model, length) == pytest.approx(variance, abs=1e-12)


def test_a_source_is_drawn_from_its_law():
    texts = draw_texts(jax.random.key(1), SOURCE, length=4, count=40_000)
    counts = count_ngrams(texts[:, -3:], order=3, vocabulary=3).sum(0)
    expected = stationary_contexts(SOURCE)[..., None] * SOURCE * 40_000
    assert np.all(np.abs(counts - expected) < 5 * np.sqrt(expected) + 5)


def test_chains_and_regimes():
    chain = context_chain(SOURCE)
    assert chain[1 * 3 + 2, 2 * 3 + 0] == SOURCE[1, 2, 0] and np.allclose(chain.sum(1), 1)
    law = stationary_contexts(SOURCE).ravel()
    np.testing.assert_allclose(law @ chain, law, atol=1e-14)
    tables = RNG.dirichlet(np.ones(2), (3, 2))
    both = switching_source(tables, stay=0.9)
    assert both[1 * 2 + 0, 1 * 2 + 1] == pytest.approx(0.9 * tables[1, 0, 1])
    assert both[1 * 2 + 0, 2 * 2 + 1] == pytest.approx(0.05 * tables[2, 0, 1])
    with pytest.raises(ValueError, match="source must come to one set of contexts from all others, got 2"):
        entropy_rate(np.eye(2))
    with pytest.raises(ValueError, match="source must have rows that sum to 1, got one that is off by"):
        entropy_rate(np.array([0.5, 0.4]))
    with pytest.raises(ValueError, match=r"texts must have symbols in \[0, 2\], got 0 to 3"):
        text_surprise(MODEL, np.array([0, 3]))


@pytest.mark.item("A15.2")
def test_ngrams_are_counted_and_smoothed_by_hand():
    text = np.array([0, 1, 0, 2, 0, 1, 1])  # pairs 01 10 02 20 01 11
    counts = count_ngrams(text, order=2, vocabulary=3)
    np.testing.assert_array_equal(counts, [[0, 2, 1], [1, 1, 0], [1, 0, 0]])
    np.testing.assert_array_equal(count_ngrams(text, order=1, vocabulary=3), [3, 3, 1])
    np.testing.assert_allclose(additive_ngrams(counts)[0], [0, 2 / 3, 1 / 3])
    np.testing.assert_allclose(additive_ngrams(counts, add=1.0)[2], [0.5, 0.25, 0.25])
    mixed = interpolated_ngrams(counts, shares=(0.5, 0.3, 0.2))
    np.testing.assert_allclose(mixed[0, 1], 0.5 * 2 / 3 + 0.3 * 3 / 6 + 0.2 / 3)
    # Kneser–Ney with D = 1/2: symbols 0, 1, 2 come after 2, 2 and 1 different ones, 5 kinds of pairs in all.
    single = (np.array([2, 2, 1]) - 0.5 + 0.5 * 3 / 3) / 5
    smooth = kneser_ney_ngrams(counts, discount=0.5)
    np.testing.assert_allclose(smooth[0], (np.array([0, 1.5, 0.5]) + 0.5 * 2 * single) / 3)
    np.testing.assert_allclose(smooth[2], (np.array([0.5, 0, 0]) + 0.5 * 1 * single) / 1)
    for law in (mixed, smooth, kneser_ney_ngrams(count_ngrams(text, order=3, vocabulary=3))):
        np.testing.assert_allclose(law.sum(-1), 1)
    with pytest.raises(ValueError, match="counts must come from a text, got none above 0"):
        additive_ngrams(np.zeros((2, 2)))
    with pytest.raises(ValueError, match="texts must have at least 3 symbols, got 2"):
        count_ngrams(np.array([0, 1]), order=3, vocabulary=2)


@pytest.mark.parametrize("change", [1e-2, 1e-8, 1e-14])
def test_sources_that_hardly_ever_change_keep_their_digits(change):
    """Each regime is as likely as the other, and a short text is of one: its variance is that of a mixture."""
    regimes = np.array([[[0.5, 0.5], [0.2, 0.8]], [[0.9, 0.1], [0.4, 0.6]]])
    source = switching_source(regimes, stay=1 - change)
    law = stationary_contexts(source)
    np.testing.assert_allclose(law, [1 / 7, 5 / 14, 2 / 5, 1 / 10], rtol=10 * change)
    assert law[:2].sum() == pytest.approx(0.5, abs=1e-14)
    model = np.tile([0.4, 0.3, 0.2, 0.1], (4, 1))
    within, means = [], []
    for regime, part in zip(regimes, (model[:2, :2], model[2:, 2:]), strict=True):
        within.append(corpus_variance(regime, part / part.sum(1, keepdims=True), 10))
        share = stationary_contexts(regime)
        means.append(-np.sum(share[:, None] * regime * np.log(part)))
    expected = np.mean(within) + np.var(means)
    assert corpus_variance(source, model, 10) == pytest.approx(expected, rel=10 * change + 1e-12)


def test_covariances_at_all_distances_against_a_plain_sum():
    draw = np.random.default_rng(8)
    source, model = (np.apply_along_axis(lambda row: row / row.sum(), 1, draw.uniform(size=(3, 3))) for _ in range(2))
    law, surprise = stationary_contexts(source), -np.log(model)
    surprise = surprise - np.sum(law[:, None] * source * surprise)
    ahead, total = np.sum(source * surprise, 1), 7 * np.sum(law[:, None] * source * surprise**2)
    reached = np.sum(law[:, None] * source * surprise, 0)
    for apart in range(1, 7):
        total += 2 * (7 - apart) * reached @ np.linalg.matrix_power(source, apart - 1) @ ahead
    assert corpus_variance(source, model, 7) == pytest.approx(total / 49, rel=1e-12)


def test_counts_below_the_discount_lose_all_they_have():
    law = kneser_ney_ngrams(np.array([[0.2, 0.5], [3.0, 1.0]]), discount=0.75)
    np.testing.assert_allclose(law.sum(-1), 1)
    # The first context keeps nothing of its own: it has the law of how many symbols a word came after.
    np.testing.assert_allclose(law[0], [0.5, 0.5])
