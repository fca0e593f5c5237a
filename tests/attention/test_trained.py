"""The small transformer: its text, its layers by loops, the overlaps of given states, and that it learns."""

import jax
import numpy as np
import pytest

from deeptheory.attention.blocks import block_velocity
from deeptheory.attention.trained import (
    init_transformer,
    masked_accuracy,
    overlaps_by_depth,
    periodic_text,
    representations,
    train_transformer,
)

SMALL = {"alphabet": 3, "length": 6, "dimension": 8, "heads": 1}


def test_lines_repeat_their_word(key):
    text = periodic_text(key, 5, 10, alphabet=4, period=3)
    assert np.array_equal(text[:, 3:], text[:, :-3]) and set(text.ravel()) <= set(range(4))


def test_layers_are_euler_steps_on_the_sphere(key):
    network, line = init_transformer(key, **SMALL), np.array([0, 1, 2, 0, 1, 3])
    found = np.asarray(representations(network, line, depth=2, inverse_temperature=1.5))
    x = network.letters[line] + network.places
    for layer in range(3):
        x = x / np.linalg.norm(x, axis=-1, keepdims=True)
        assert np.allclose(found[layer], x, atol=1e-12)
        x = x + 0.5 * np.asarray(block_velocity(x, 1.5, network.heads, network.layer))


@pytest.mark.item("J14.14")
def test_overlaps_of_given_states():
    states = np.array([[[2.0, 0.0], [0.0, 3.0], [1.0, 1.0]], [[1.0, 0.0], [5.0, 0.0], [-1.0, 0.0]]])
    half = np.sqrt(0.5)
    assert np.allclose(overlaps_by_depth(states), [[0, half, half], [1, -1, -1]])
    with pytest.raises(ValueError, match="not be zero"):
        overlaps_by_depth(np.zeros((1, 2, 2)))


@pytest.mark.slow
def test_training_learns_more_than_the_share_of_letters(key):
    """Guessing the commonest visible letter of a word of two is right about two times in three."""
    text = periodic_text(key, 300, 6, alphabet=3, period=2)
    start = init_transformer(jax.random.fold_in(key, 1), **SMALL)
    network, losses = train_transformer(key, start, text, depth=2, steps=400, batch=8, rate=0.003)
    losses = np.asarray(losses)
    assert losses[-50:].mean() < 0.7 * losses[:10].mean()
    assert masked_accuracy(key, network, text, depth=2) > masked_accuracy(key, start, text, depth=2) + 0.2
