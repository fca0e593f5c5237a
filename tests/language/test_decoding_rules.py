"""Perplexities of decoded texts against enumeration of all of them."""

from itertools import pairwise, product

import numpy as np
import pytest
from jax.tree_util import Partial

from deeptheory.architectures.decoding import tempered, top_k, top_p
from deeptheory.language.decoding_rules import (
    beam_perplexity,
    decoded_model,
    decoding_table,
    expected_surprise,
    written_perplexity,
)
from deeptheory.language.sources import entropy_rate, stationary_contexts

RNG = np.random.default_rng(2)
SOURCE = RNG.dirichlet(np.ones(4), 4)
MODEL = 0.8 * SOURCE + 0.05
START = stationary_contexts(SOURCE)
LENGTH = 5


def enumerated(model, writer):
    """The mean surprise over all texts, one by one."""
    total = 0.0
    for text in product(range(4), repeat=LENGTH + 1):
        steps = list(pairwise(text))
        chance = START[text[0]] * np.prod([writer[step] for step in steps])
        if chance > 0:
            total -= chance * np.mean([np.log(model[step]) for step in steps])
    return np.exp(total)


@pytest.mark.item("A15.15")
@pytest.mark.parametrize(
    "rule", [tempered, Partial(tempered, temperature=0.7), Partial(top_k, k=2), Partial(top_p, p=0.6)]
)
def test_what_a_rule_writes_is_enumerated(rule):
    writer = decoded_model(MODEL, rule)
    found = written_perplexity(MODEL, writer, START, length=LENGTH)
    assert found == pytest.approx(enumerated(MODEL, writer), rel=1e-5)


@pytest.mark.item("A15.15")
def test_rules_meet_at_their_ends():
    pure, greedy = decoded_model(MODEL, tempered), decoded_model(MODEL, Partial(top_k, k=1))
    np.testing.assert_allclose(pure, MODEL, rtol=1e-5)
    for rule in (Partial(top_k, k=4), Partial(top_p, p=1.0)):
        np.testing.assert_allclose(decoded_model(MODEL, rule), MODEL, rtol=1e-5)
    for rule in (Partial(top_p, p=0.0), Partial(tempered, temperature=1e-4)):
        np.testing.assert_allclose(decoded_model(MODEL, rule), greedy, atol=1e-6)
    np.testing.assert_array_equal(greedy.argmax(1), MODEL.argmax(1))
    # A law of 0.5, 0.3, 0.2: the two likeliest have 0.8, of which 5/8 is the first.
    law, two = np.array([0.5, 0.3, 0.2]), -(5 / 8 * np.log(0.5) + 3 / 8 * np.log(0.3))
    assert expected_surprise(law, Partial(top_k, k=2)) == pytest.approx(two, rel=1e-5)
    assert expected_surprise(law, Partial(top_p, p=0.6)) == pytest.approx(two, rel=1e-5)
    assert expected_surprise(law) == pytest.approx(-law @ np.log(law), rel=1e-5)


def test_tables_and_beams():
    rules = {"pure": tempered, "greedy": Partial(top_k, k=1)}
    table = decoding_table(SOURCE, SOURCE, rules, length=50)
    assert table["pure"] == pytest.approx(table["human"], rel=1e-5)
    assert table["human"] == pytest.approx(np.exp(entropy_rate(SOURCE)))
    greedy = decoding_table(SOURCE, MODEL, rules, length=LENGTH)["greedy"]
    assert beam_perplexity(MODEL, START, width=1, length=LENGTH) == pytest.approx(greedy, rel=1e-4)
    best = {
        w: max(np.prod([MODEL[s] for s in pairwise((w, *t))]) for t in product(range(4), repeat=LENGTH))
        for w in range(4)
    }
    exact = np.exp(-sum(START[w] * np.log(best[w]) for w in range(4)) / LENGTH)
    assert beam_perplexity(MODEL, START, width=256, length=LENGTH) == pytest.approx(exact, rel=1e-4)
    with pytest.raises(ValueError, match="start must have rows that sum to 1"):
        written_perplexity(MODEL, SOURCE, START / 2, length=3)
