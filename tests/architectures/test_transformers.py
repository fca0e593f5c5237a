"""Blocks against their formulas written out in NumPy; encodings against mpmath."""

import equinox as eqx
import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

from deeptheory.architectures.attention_layers import init_attention
from deeptheory.architectures.listings import listed_attention, listed_block
from deeptheory.architectures.transformers import (
    init_decoder_block,
    init_encoder_block,
    init_feed_forward,
    residual_encoder_block,
    sinusoidal_positions,
)

run = eqx.filter_jit(lambda module, *tokens: module(*tokens))


def drawn(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def moved(tree):
    """The same layers with no bias at zero and no gain at one."""
    return jax.tree.map(lambda leaf: leaf + 0.1 * drawn(*leaf.shape, seed=9), tree)


@pytest.mark.item("L10.31")
def test_residual_encoder_block_by_loops():
    tokens, sizes = drawn(4, 3), ((3, 2), (3, 2), (3, 3), (3, 5), (5, 3))
    query, key, value, first, second = (drawn(*size, seed=i) for i, size in enumerate(sizes, 1))
    found = residual_encoder_block(
        tokens, query, key, value, first, second, attention_share=0.7, feed_forward_share=-0.3, activation=jnp.tanh
    )
    for i in range(4):
        scores = np.array([(tokens[i] @ query) @ (tokens[j] @ key) / np.sqrt(2) for j in range(4)])
        weights = np.exp(scores) / np.exp(scores).sum()
        middle = 0.7 * sum(weights[j] * (tokens[j] @ value) for j in range(4)) + tokens[i]
        np.testing.assert_allclose(found[i], -0.3 * np.tanh(middle @ first) @ second + middle, rtol=1e-11)
    still = residual_encoder_block(
        tokens, query, key, value, first, second, attention_share=0.0, feed_forward_share=0.0
    )
    np.testing.assert_array_equal(still, tokens)


@pytest.mark.item("L10.29", "L10.32")
def test_listings_and_modules_compute_the_same():
    tokens = drawn(2, 5, 6)
    layer, block = moved(init_attention(jax.random.key(1), 6)), moved(init_encoder_block(jax.random.key(2), 6, 11))
    output, weights = listed_attention(layer, tokens)
    np.testing.assert_allclose(run(layer, tokens), output, rtol=1e-10)
    np.testing.assert_allclose(layer.weights(tokens)[:, 0], weights, rtol=1e-10)
    np.testing.assert_allclose(run(block, tokens), listed_block(block, tokens), rtol=1e-10)
    assert sum(leaf.size for leaf in jax.tree.leaves(layer)) == 4 * (6**2 + 6)
    assert sum(leaf.size for leaf in jax.tree.leaves(block)) == 4 * (6**2 + 6) + 2 * 6 * 11 + 11 + 6 + 4 * 6
    # one number by hand: a query that is constant attends to all alike, and an identity hands on the mean
    even = jax.tree.map(np.zeros_like, layer)
    even = type(layer)(even.query, even.key, *(type(layer.value)(np.eye(6), np.zeros(6)),) * 2, 1)
    np.testing.assert_allclose(listed_attention(even, tokens)[0][1, 3], tokens[1].mean(0), rtol=1e-12)


@pytest.mark.item("L10.33")
def test_decoder_block_in_numpy_and_its_causality():
    block = moved(init_decoder_block(jax.random.key(3), 6, 11, heads=2, context_width=4))
    tokens, context = drawn(5, 6), drawn(7, 4, seed=1)

    def affine(layer, x):
        return x @ np.asarray(layer.weight) + np.asarray(layer.bias)

    def attend(layer, x, seen, causal):
        heads = []
        for part in (slice(0, 3), slice(3, 6)):
            q, k, v = (
                affine(layer.query, x)[:, part],
                affine(layer.key, seen)[:, part],
                affine(layer.value, seen)[:, part],
            )
            scores = np.exp(q @ k.T / np.sqrt(3)) * (np.tri(len(x)) if causal else 1)
            heads.append(scores / scores.sum(1, keepdims=True) @ v)
        return affine(layer.output, np.hstack(heads))

    def normal(layer, x):
        deviation = np.sqrt(x.var(1, keepdims=True) + layer.epsilon)
        return (x - x.mean(1, keepdims=True)) / deviation * np.asarray(layer.gain) + np.asarray(layer.shift)

    first = normal(block.first_norm, tokens + attend(block.attention, tokens, tokens, True))
    second = normal(block.second_norm, first + attend(block.cross_attention, first, context, False))
    hidden = np.maximum(affine(block.feed_forward.first, second), 0)
    expected = normal(block.third_norm, second + affine(block.feed_forward.second, hidden))
    np.testing.assert_allclose(run(block, tokens, context), expected, rtol=1e-9)
    later = tokens.copy()
    later[3:] += 1
    np.testing.assert_array_equal(run(block, later, context)[:3], run(block, tokens, context)[:3])


@pytest.mark.item("L10.34")
def test_sinusoidal_positions_in_many_digits():
    found = sinusoidal_positions(40, 10)
    for position in (0, 1, 39):
        for i in range(5):
            angle = mpmath.mpf(position) / mpmath.power(10_000, mpmath.mpf(2 * i) / 10)
            pair = float(mpmath.sin(angle)), float(mpmath.cos(angle))
            np.testing.assert_allclose(found[position, 2 * i : 2 * i + 2], pair, atol=1e-14)
    with pytest.raises(ValueError, match="width must be even"):
        sinusoidal_positions(4, 7)
    for refused in (
        lambda: init_encoder_block(jax.random.key(0), 6, 11)(drawn(5, 7)),
        lambda: init_decoder_block(jax.random.key(0), 6, 11)(drawn(5, 6), drawn(4, 7)),
    ):
        with pytest.raises(ValueError, match=r"x must have 6 numbers on its last axis, got shape \(\d, 7\)"):
            refused()


def test_a_new_feed_forward_network_keeps_the_size_of_what_it_reads(key):
    network = init_feed_forward(key, 200, 300)
    for layer, size in ((network.first, 2), (network.second, 1)):
        weights = np.asarray(layer.weight)
        assert np.mean(weights**2) * len(weights) == pytest.approx(size, abs=8 * size * np.sqrt(2 / weights.size))
