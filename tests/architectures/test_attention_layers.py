"""Attention against loops over tokens, in plain Python numbers."""

from math import exp, log, sqrt

import jax
import numpy as np
import pytest
from scipy.optimize import linprog

from deeptheory.architectures.attention_layers import (
    Linear,
    MultiHeadAttention,
    attention_entropy,
    attention_weights,
    causal_mask,
    init_attention,
    plain_attention,
    scaled_dot_product,
    shared_attention,
)


def drawn(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def looped(queries, keys, values, scale=1.0, causal=False):
    """Weights and outputs, token by token."""
    weights, outputs = [], []
    for i, query in enumerate(queries):
        seen = range(i + 1) if causal else range(len(keys))
        powers = [exp(scale * sum(q * k for q, k in zip(query, keys[j], strict=True))) for j in seen]
        row = [power / sum(powers) for power in powers] + [0.0] * (len(keys) - len(seen))
        weights.append(row)
        outputs.append(sum(weight * value for weight, value in zip(row, values, strict=True)))
    return np.array(weights), np.array(outputs)


@pytest.mark.item("L10.26")
def test_plain_attention_by_loops_and_inside_the_hull():
    tokens = drawn(6, 3)
    found = np.asarray(plain_attention(tokens))
    np.testing.assert_allclose(found, looped(tokens, tokens, tokens)[1], rtol=1e-12)
    for output in found:
        within = linprog(np.zeros(6), A_eq=np.vstack([tokens.T, np.ones(6)]), b_eq=[*output, 1.0], bounds=(0, None))
        assert within.status == 0
    assert linprog(
        np.zeros(6), A_eq=np.vstack([tokens.T, np.ones(6)]), b_eq=[*(9 * found[0]), 1.0], bounds=(0, None)
    ).status == 2  # fmt: skip
    batch = drawn(2, 5, 4, 3)
    np.testing.assert_allclose(plain_attention(batch)[1, 2], plain_attention(batch[1, 2]), rtol=1e-12)


@pytest.mark.item("L10.27")
def test_shared_attention_by_loops():
    tokens, shared = drawn(5, 3), drawn(3, 4, seed=1)
    mapped = tokens @ shared
    np.testing.assert_allclose(shared_attention(tokens, shared), looped(mapped, mapped, mapped)[1], rtol=1e-12)
    np.testing.assert_allclose(shared_attention(tokens, np.eye(3)), plain_attention(tokens), rtol=1e-12)


@pytest.mark.item("L10.28", "L10.41")
@pytest.mark.parametrize("causal", [False, True])
def test_scaled_dot_product_by_loops(causal):
    queries, keys, values = drawn(5, 4), drawn(5, 4, seed=1), drawn(5, 2, seed=2)
    mask = causal_mask(5) if causal else None
    weights, outputs = looped(queries, keys, values, 1 / sqrt(4), causal)
    np.testing.assert_allclose(attention_weights(queries, keys, mask), weights, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(scaled_dot_product(queries, keys, values, mask), outputs, rtol=1e-12)
    if causal:
        assert np.all(np.triu(attention_weights(queries, keys, mask), 1) == 0)
        assert np.all(mask[np.tri(5, dtype=bool)] == 0)


def test_other_sequences_may_be_longer():
    queries, keys, values = drawn(2, 3, 4), drawn(2, 7, 4, seed=1), drawn(2, 7, 5, seed=2)
    found = scaled_dot_product(queries, keys, values)
    np.testing.assert_allclose(found[1], looped(queries[1], keys[1], values[1], 0.5)[1], rtol=1e-12)


def test_gradient_by_differences():
    queries, keys, values = drawn(3, 4), drawn(3, 4, seed=1), drawn(3, 2, seed=2)

    @jax.jit
    def total(queries):
        return (scaled_dot_product(queries, keys, values) ** 2).sum()

    step = 1e-6 * drawn(3, 4, seed=3)
    slope = np.sum(jax.jit(jax.grad(total))(queries) * step)
    np.testing.assert_allclose((total(queries + step) - total(queries - step)) / 2, slope, rtol=1e-6)


def test_entropy():
    weights = np.array([[0.25, 0.25, 0.25, 0.25], [1.0, 0.0, 0.0, 0.0], [0.5, 0.25, 0.25, 0.0]])
    np.testing.assert_allclose(attention_entropy(weights), [log(4), 0.0, 1.5 * log(2)], atol=1e-15)


@pytest.mark.item("L10.30")
@pytest.mark.parametrize(("heads", "head_width"), [(1, None), (3, None), (2, 6)])
def test_heads_by_loops_and_as_a_sum(heads, head_width):
    layer = init_attention(jax.random.key(0), 6, heads=heads, head_width=head_width)
    layer = jax.tree.map(lambda leaf: leaf + 0.1 * drawn(*leaf.shape, seed=4), layer)
    tokens = drawn(4, 6)
    size = head_width or 6 // heads
    total = np.array(layer.output.bias) + np.zeros((4, 6))
    for head in range(heads):
        part = slice(head * size, (head + 1) * size)
        queries, keys, values = (
            tokens @ np.asarray(each.weight)[:, part] + np.asarray(each.bias)[part]
            for each in (layer.query, layer.key, layer.value)
        )
        total += looped(queries, keys, values, 1 / sqrt(size))[1] @ np.asarray(layer.output.weight)[part]
    np.testing.assert_allclose(jax.jit(layer.__call__)(tokens), total, rtol=1e-11)
    inner = heads * size
    assert sum(leaf.size for leaf in jax.tree.leaves(layer)) == 3 * (6 * inner + inner) + inner * 6 + 6


def test_refusals():
    with pytest.raises(ValueError, match="heads must divide the width 6 where no head_width is given, got 4"):
        init_attention(jax.random.key(0), 6, heads=4)
    with pytest.raises(ValueError, match="keys must have shape"):
        attention_weights(drawn(3, 4), drawn(3, 5))
    with pytest.raises(ValueError, match="mask must have shape"):
        attention_weights(drawn(3, 4), drawn(3, 4), np.zeros((2, 3)))


def test_layers_are_trees_of_arrays():
    layer = init_attention(jax.random.key(0), 4)
    assert isinstance(layer, MultiHeadAttention) and isinstance(layer.query, Linear)
    assert len(jax.tree.leaves(layer)) == 8
