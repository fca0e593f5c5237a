"""Next-word models against loops and automatic derivatives, counted products, and masked losses."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from deeptheory.language.next_word import (
    answer_loss,
    attention_flops,
    attention_only,
    attention_only_logits,
    log_bilinear_logits,
)

RNG = np.random.default_rng(3)
TOKENS, QUERY, KEY, VALUE = RNG.standard_normal((3, 4)), *RNG.standard_normal((3, 2, 3, 3))


@pytest.mark.item("A15.3")
def test_log_bilinear_models_have_few_directions():
    words, contexts = RNG.standard_normal((50, 5)), RNG.standard_normal((80, 5))
    logits = np.asarray(log_bilinear_logits(words, contexts), float)
    assert logits[7, 11] == pytest.approx(words[11] @ contexts[7], rel=1e-5)
    logs = logits - np.log(np.exp(logits).sum(1, keepdims=True))
    small = np.linalg.svd(logs)[1][[4, 5, 6]]
    assert small[1] > 1e-3 and small[2] < 1e-3 * small[1]


def by_loops(tokens, causal):
    """Column i of the next layer: values of columns j, with weights exp(k_j·q_i/√d) that sum to one over j."""
    for query, key, value in zip(QUERY, KEY, VALUE, strict=True):
        new = np.zeros_like(tokens)
        for i in range(tokens.shape[1]):
            seen = range(i + 1 if causal else tokens.shape[1])
            weights = [np.exp((key @ tokens[:, j]) @ (query @ tokens[:, i]) / np.sqrt(3)) for j in seen]
            for j, weight in zip(seen, weights, strict=True):
                new[:, i] += weight / sum(weights) * (value @ tokens[:, j])
        tokens = new
    return tokens


@pytest.mark.item("A15.5")
@pytest.mark.parametrize("causal", [False, True])
def test_attention_alone_is_the_sum_over_columns(causal):
    found = attention_only(TOKENS, QUERY, KEY, VALUE, causal=causal)
    np.testing.assert_allclose(found, by_loops(TOKENS, causal), rtol=1e-4, atol=1e-5)
    order = np.array([2, 0, 3, 1])
    moved = attention_only(TOKENS[:, order], QUERY, KEY, VALUE, causal=causal)
    assert np.allclose(moved, np.asarray(found)[:, order], atol=1e-5) != causal
    # As printed, softmax(Qᵀ K) over columns: the same with the names of queries and keys exchanged.
    scores = (QUERY[0] @ TOKENS).T @ (KEY[0] @ TOKENS) / np.sqrt(3)
    printed = VALUE[0] @ TOKENS @ (np.exp(scores) / np.exp(scores).sum(0))
    np.testing.assert_allclose(attention_only(TOKENS, KEY[:1], QUERY[:1], VALUE[:1]), printed, rtol=1e-4, atol=1e-5)


def test_the_next_word_does_not_depend_on_later_ones():
    words, places = RNG.standard_normal((5, 3)), RNG.standard_normal((6, 3))
    one, other = np.array([0, 1, 2, 3]), np.array([0, 1, 4, 3])
    first, second = (np.asarray(attention_only_logits(text, words, places, QUERY, KEY, VALUE)) for text in (one, other))
    assert first.shape == (4, 5)
    np.testing.assert_allclose(first[:2], second[:2], rtol=1e-5)
    assert np.abs(first[2:] - second[2:]).max() > 1e-3
    with pytest.raises(ValueError, match="numbers must have at most 6 places, got 7"):
        attention_only_logits(np.zeros(7, int), words, places, QUERY, KEY, VALUE)


@pytest.mark.item("A15.6")
def test_the_cost_of_an_epoch_by_hand():
    # One text of 3 symbols, one layer of width 2: three maps of 2·2·3 multiply-adds, scores and averages 3·3·2 each.
    assert attention_flops(symbols=3, layers=1, length=3, width=2) == 3 * 2 * (3 * 12 + 2 * 18)
    assert attention_flops(symbols=6, layers=5, length=3, width=2) == 10 * 3 * 2 * (3 * 12 + 2 * 18)
    with pytest.raises(ValueError, match="symbols must be a multiple of the length 4, got 6"):
        attention_flops(symbols=6, layers=1, length=4, width=2)


@pytest.mark.item("A15.18")
def test_instruction_tuning_learns_answers_and_leaves_instructions():
    # Texts "x y": an instruction x of 2 and an answer y of 3; logits for x are free, those for y have a row per x.
    pairs = np.array([(0, 0), (0, 0), (0, 2), (1, 1), (1, 2), (1, 2), (1, 2)])
    texts, marked = pairs, np.tile([False, True], (len(pairs), 1))

    def loss(parameters):
        first = jnp.broadcast_to(parameters["instruction"], (len(pairs), 3))
        return answer_loss(jnp.stack([first, parameters["answers"][pairs[:, 0]]], axis=1), texts, marked)

    parameters = {"instruction": jnp.zeros(3), "answers": jnp.zeros((2, 3))}
    assert float(loss(parameters)) == pytest.approx(np.log(3), rel=1e-6)
    slope = jax.jit(jax.grad(loss))
    np.testing.assert_array_equal(slope(parameters)["instruction"], 0)
    for _ in range(400):
        parameters = jax.tree.map(lambda p, g: p - 5.0 * g, parameters, slope(parameters))
    law = jax.nn.softmax(parameters["answers"], axis=-1)
    np.testing.assert_allclose(law, [[2 / 3, 0, 1 / 3], [0, 1 / 4, 3 / 4]], atol=5e-3)
    with pytest.raises(ValueError, match="is_answer must mark at least one word, got none"):
        answer_loss(np.zeros((2, 3)), np.zeros(2, int), np.zeros(2, bool))
