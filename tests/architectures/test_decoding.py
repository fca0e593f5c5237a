"""Searches and laws of sampling against enumeration in plain Python."""

from functools import cache
from itertools import product
from math import exp, log, prod

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.tree_util import Partial

from deeptheory.architectures.decoding import (
    Ending,
    beam_search,
    exact_search,
    greedy_search,
    sample_sequences,
    sequence_law,
    tempered,
    top_k,
    top_p,
)
from deeptheory.architectures.listings import listed_beam_search, tree_beam_search

K, N = 4, 3
# The next token depends on the last two: p(y | last, one before), with a state that must follow its own row.
TABLE = np.random.default_rng(0).dirichlet(np.full(K, 0.6), (K, K))
FIRST = np.array([0, 2, 1])


def step(state, tokens):
    return tokens, jnp.log(jnp.asarray(TABLE))[state, tokens]


def probability(start, sequence):
    past = [start, start, *sequence]
    return prod(TABLE[past[i], past[i + 1], past[i + 2]] for i in range(len(sequence)))


@cache
def best(start):
    return sorted(product(range(K), repeat=N), key=lambda each: probability(start, each), reverse=True)


@pytest.mark.item("L10.35")
def test_exact_search_and_law_by_enumeration():
    law = np.exp(sequence_law(step, FIRST, FIRST, length=N))
    for row, start in enumerate(FIRST):
        expected = [probability(start, each) for each in product(range(K), repeat=N)]
        np.testing.assert_allclose(law[row], expected, rtol=1e-10)
    found = exact_search(step, FIRST, FIRST, length=N)
    assert [tuple(each) for each in np.asarray(found.tokens)] == [best(start)[0] for start in FIRST]
    np.testing.assert_allclose(np.exp(found.log_probability), [probability(s, best(s)[0]) for s in FIRST], rtol=1e-10)


@pytest.mark.item("L10.35")
def test_greedy_search_by_hand():
    found = greedy_search(step, FIRST, FIRST, length=N)
    for row, start in enumerate(FIRST):
        past = [start, start]
        for _ in range(N):
            past.append(int(np.argmax(TABLE[past[-2], past[-1]])))
        assert list(found.tokens[row]) == past[2:]
        np.testing.assert_allclose(exp(found.log_probability[row]), probability(start, past[2:]), rtol=1e-10)


@pytest.mark.item("L10.36")
@pytest.mark.parametrize("width", [1, 2, 3, K ** (N - 1), 5 * K**N])
def test_beam_search_in_plain_python(width):
    found = beam_search(step, FIRST, FIRST, width=width, length=N)
    for row, start in enumerate(FIRST):
        beam = [()]
        for _ in range(N):
            longer = [(*past, token) for past in beam for token in range(K)]
            beam = sorted(longer, key=lambda each: probability(start, each), reverse=True)[:width]
        assert [tuple(each) for each in np.asarray(found.tokens[row])][: len(beam)] == beam
        expected = [probability(start, each) for each in beam] + [0.0] * (width - len(beam))
        np.testing.assert_allclose(np.exp(found.log_probability[row]), expected, rtol=1e-10)
        if width >= K ** (N - 1):
            assert beam[0] == best(start)[0]


@pytest.mark.item("L10.36")
def test_listing_as_printed_and_as_corrected():
    initial = {"A": 0.40, "B": 0.35, "C": 0.25}
    expansions = {"A": {"A1": 0.50, "A2": 0.20}, "B": {"B1": 0.80}}
    printed = listed_beam_search(initial, expansions, width=2, steps=2)
    assert [(past, round(p, 2)) for past, p in printed] == [(["B", "B1"], 0.28), (["A", "A1"], 0.20)]
    corrected = tree_beam_search(initial, expansions, width=2, steps=2)
    assert [(past, round(exp(score), 2)) for past, score in corrected] == [(["B", "B1"], 0.28), (["A", "A1"], 0.20)]
    # With room for three the listing forgets C, which has no expansion; and a third word leaves it with nothing.
    assert len(listed_beam_search(initial, expansions, width=3, steps=1)) == 3
    assert ["C"] not in [past for past, _ in listed_beam_search(initial, expansions, width=4, steps=2)]
    assert tree_beam_search(initial, expansions, width=3, steps=2)[1] == (["C"], log(0.25))
    assert listed_beam_search(initial, expansions, width=2, steps=3) == []
    assert tree_beam_search(initial, expansions, width=2, steps=3) == corrected
    # Products of a long sequence are zero, their logarithms are not.
    chain = {"a": {"a": 0.4, "b": 0.6}, "b": {"a": 1.0}}
    assert listed_beam_search({"a": 1.0}, {"a": {"a": 0.5}}, width=1, steps=1200)[0][1] == 0
    long = tree_beam_search({"a": 1.0}, {"a": {"a": 0.5}}, width=1, steps=1200)[0][1]
    np.testing.assert_allclose(long, 1199 * log(0.5))
    assert tree_beam_search({"a": 1.0}, chain, width=9, steps=3)[0][0] == ["a", "b", "a"]
    with pytest.raises(ValueError, match="probabilities after 'A' must be positive and sum to at most 1"):
        tree_beam_search(initial, {"A": {"B": 0.9, "C": 0.2}}, width=2, steps=2)


LAW = np.array([0.05, 0.4, 0.125, 0.125, 0.3])


@pytest.mark.item("L10.37")
@pytest.mark.parametrize(("k", "kept"), [(1, [1]), (2, [1, 4]), (3, [1, 2, 4]), (5, [0, 1, 2, 3, 4])])
def test_top_k_by_hand(k, kept):
    expected = np.where(np.isin(np.arange(5), kept), LAW, 0)
    np.testing.assert_allclose(np.exp(top_k(np.log(LAW), k)), expected / expected.sum(), rtol=1e-12)
    with pytest.raises(ValueError, match="k must be at most the 5 tokens there are, got 6"):
        top_k(np.log(LAW), 6)


@pytest.mark.item("L10.38")
@pytest.mark.parametrize("p", [0.0, 0.39, 0.41, 0.69, 0.71, 0.83, 0.96, 1.0])
def test_top_p_is_the_least_set_above_p(p):
    found = np.exp(top_p(np.log(LAW), p))
    sets = [s for s in product([False, True], repeat=5) if any(s) and (LAW[list(s)].sum() > p or all(s))]
    fewest = min(sum(s) for s in sets)
    smallest = max((s for s in sets if sum(s) == fewest), key=lambda s: (round(LAW[list(s)].sum(), 9), s))
    expected = np.where(smallest, LAW, 0)
    np.testing.assert_allclose(found, expected / expected.sum(), rtol=1e-12)


@pytest.mark.item("L10.38")
def test_top_p_at_equality_goes_on():
    law = np.array([0.5, 0.25, 0.25])
    np.testing.assert_allclose(np.exp(top_p(np.log(law), 0.5)), [2 / 3, 1 / 3, 0], rtol=1e-12)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_top_p_of_many_tokens_by_sorting(kind):
    logits = np.random.default_rng(5).integers(-6, 7, (4, 500)).astype(kind)  # with many as likely as others
    found = np.isfinite(top_p(logits, 0.731))
    for row, kept in zip(logits, found, strict=True):
        order = np.argsort(-row, kind="stable")
        law = np.exp(row[order].astype(float)) / np.exp(row.astype(float)).sum()
        before = np.concatenate([[0], np.cumsum(law)[:-1]])
        np.testing.assert_array_equal(kept[order], before <= 0.731)


def test_tempered():
    np.testing.assert_allclose(np.exp(tempered(np.log(LAW), 0.5)), LAW**2 / (LAW**2).sum(), rtol=1e-12)


@pytest.mark.item("L10.37", "L10.38")
@pytest.mark.parametrize("law", [Partial(top_k, k=2), Partial(top_p, p=0.6)])
def test_samples_follow_the_law_that_is_enumerated(law):
    rows = 20_000
    start = np.full(rows, 2)
    found = sample_sequences(jax.random.key(3), step, start, start, length=2, law=law)
    numbers = np.asarray(found.tokens) @ [K, 1]
    exact = np.asarray(sequence_law(step, FIRST[1:2], FIRST[1:2], length=2, law=law)[0])
    np.testing.assert_allclose(found.log_probability, exact[numbers], rtol=1e-9)
    counts, expected = np.bincount(numbers, minlength=K * K), rows * np.exp(exact)
    assert np.all(counts[expected == 0] == 0)
    assert np.all(np.abs(counts - expected) <= 6 * np.sqrt(expected) + 1e-9)


def test_sequences_that_end():
    ended = beam_search(Ending(step, 3), FIRST, FIRST, width=K**N, length=N)
    for row, start in enumerate(FIRST):
        scores = {}
        for each in product(range(K), repeat=N):
            stop = each.index(3) + 1 if 3 in each else N
            if all(token == 3 for token in each[stop:]):
                scores[each] = probability(start, each[:stop])
        best_one = max(scores, key=lambda each: scores[each])
        assert tuple(np.asarray(ended.tokens[row, 0])) == best_one
        np.testing.assert_allclose(exp(ended.log_probability[row, 0]), scores[best_one], rtol=1e-10)


def test_refusals():
    with pytest.raises(ValueError, match=r"step must return a state and logits of shape \(3, vocabulary\)"):
        greedy_search(lambda state, tokens: (state, tokens), FIRST, FIRST, length=2)
    with pytest.raises(ValueError, match="length must leave at most 2"):
        exact_search(step, FIRST, FIRST, length=12)
