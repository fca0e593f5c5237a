"""The masked language model block by block, its size at the start, and what it takes to fill in letters."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from deeptheory.architectures.masked_language_models import init_masked_language_model
from deeptheory.architectures.token_training import train_on_tokens
from deeptheory.architectures.transformers import init_encoder_block

IDS = np.random.default_rng(1).integers(0, 6, (2, 7))


def drawn(**sizes):
    return init_masked_language_model(
        jax.random.key(0), **{"vocabulary": 5, "context": 8, "width": 8, "depth": 3, "heads": 2, **sizes}
    )


def test_states_are_one_block_again_and_again():
    model = drawn()
    found = np.asarray(model.states(IDS, depth=5))
    start = np.asarray(model.embedding)[IDS] + np.asarray(model.positions)[:7]
    start = (start - start.mean(-1, keepdims=True)) / np.sqrt(start.var(-1, keepdims=True) + 1e-5)
    tokens = jnp.asarray(start)
    for layer in range(6):
        np.testing.assert_allclose(found[layer], tokens, atol=1e-6)
        tokens = model.block(tokens)
    np.testing.assert_allclose(model(IDS), found[3] @ np.asarray(model.embedding)[:5].T, atol=1e-6)
    assert model.mask == 5


def test_without_places_the_order_does_not_matter():
    model = drawn()
    model = type(model)(model.embedding, np.zeros((8, 8)), model.norm, model.block, model.depth)
    order = np.random.default_rng(2).permutation(7)
    np.testing.assert_allclose(model(IDS[:, order]), np.asarray(model(IDS))[:, order], atol=1e-6)


def test_what_a_block_adds_is_divided_by_the_root_of_twice_the_depth():
    _, second = jax.random.split(jax.random.key(0))
    plain, model = init_encoder_block(second, 8, 16, heads=2), drawn(depth=8)
    for one, other in (
        (plain.attention.output, model.block.attention.output),
        (plain.feed_forward.second, model.block.feed_forward.second),
    ):
        np.testing.assert_allclose(one.weight, 4 * np.asarray(other.weight), rtol=1e-6)
    np.testing.assert_array_equal(plain.attention.value.weight, model.block.attention.value.weight)


def test_too_long():
    with pytest.raises(ValueError, match="sequences must have at most 8 tokens, got 9"):
        drawn()(np.zeros((1, 9), int))
    with pytest.raises(ValueError, match="ids must lie in"):
        drawn()(np.full((1, 3), 99))


@pytest.mark.slow
@pytest.mark.item("J14.14")
def test_it_learns_to_fill_in_letters():
    """Words of two letters three times over: a hidden letter is that two places away, where that is not hidden."""
    rng = np.random.default_rng(3)
    text = np.tile(rng.integers(0, 3, (301, 16, 2)), (1, 1, 3))
    hidden = rng.random(text.shape) < 0.2
    model = drawn(vocabulary=3, context=6, width=16, depth=2)
    shown = np.where(hidden, model.mask, text)
    trained = train_on_tokens(model, shown[:300], text[:300], hidden[:300], rate=0.005)
    assert np.asarray(trained.losses)[-30:].mean() < np.log(3) / 4
    said = np.argmax(trained.model(shown[300]), -1)
    assert np.mean((said == text[300])[hidden[300]]) > 0.9
