"""Generation with a cache against the whole sequence read anew."""

from functools import cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from deeptheory.architectures.decoding import greedy_search
from deeptheory.architectures.language_models import init_language_model

IDS = np.random.default_rng(1).integers(0, 11, (3, 4))


@cache
def model():
    return init_language_model(jax.random.key(0), vocabulary=11, context=9, width=8, layers=2, heads=2, spread=2.0)


@eqx.filter_jit
def logits(model, ids):
    return model(ids)


@pytest.mark.item("L10.33")
def test_cache_and_no_cache_agree():
    found = greedy_search(model().step, *model().start(IDS, length=5), length=5)
    ids, total = np.concatenate([IDS, np.zeros((3, 5), int)], 1), np.zeros(3)
    for place in range(4, 9):  # what stands behind the place is not seen, so that one shape serves all
        logs = np.asarray(jax.nn.log_softmax(logits(model(), ids)[:, place - 1]))
        total += logs.max(1)
        ids[:, place] = logs.argmax(1)
    np.testing.assert_array_equal(found.tokens, ids[:, 4:])
    np.testing.assert_allclose(found.log_probability, total, rtol=1e-10)


@pytest.mark.parametrize("read", [1, 3])
def test_logits_after_every_token(read):
    state, expected = model().start(IDS[:, :read], length=5 - read), logits(model(), IDS)
    step = eqx.filter_jit(model().step)
    held, last = state
    for place in range(read, 5):
        held, found = step(held, last)
        np.testing.assert_allclose(found, expected[:, place - 1], rtol=1e-9, atol=1e-12)
        last = jnp.asarray(IDS[:, min(place, 3)])


def test_later_tokens_change_nothing_before():
    other = IDS.copy()
    other[:, 2:] = (other[:, 2:] + 3) % 11
    before, after = logits(model(), IDS), logits(model(), other)
    np.testing.assert_array_equal(after[:, :2], before[:, :2])
    assert np.abs(after[:, 2] - before[:, 2]).max() > 1e-3


def test_too_long():
    with pytest.raises(ValueError, match="sequences must have at most 9 tokens, got 13"):
        model().start(IDS, length=10)


def test_embeddings_are_drawn_as_large_as_stated():
    drawn = init_language_model(jax.random.key(3), vocabulary=2000, context=2000, width=64, layers=1, spread=2.0)
    for rows in (drawn.embedding, drawn.positions):  # 128,000 normals: their deviation is known to 0.2 %
        np.testing.assert_allclose(np.std(rows), 2 / 8, rtol=0.01)


@pytest.mark.parametrize("ids", [np.array([[0, 11]]), np.array([[-1, 0]])])
def test_tokens_that_the_vocabulary_does_not_have_are_refused(ids):
    for read in (model(), lambda ids: model().start(ids, length=3)):
        with pytest.raises(ValueError, match=r"ids must lie in \[0, 10\]"):
            read(ids)
