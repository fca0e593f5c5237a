"""Overlaps, layer by layer, in a small transformer that was trained on a real text (jagannath Fig. 14.1.3)."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from deeptheory.architectures.masked_language_models import init_masked_language_model
from deeptheory.architectures.token_training import train_on_tokens
from deeptheory.attention.clusters import pair_overlaps

STEPS, ROWS, LENGTH, DEPTH = 800, 16, 32, 3


@pytest.mark.slow
@pytest.mark.item("J14.14")
def test_equal_characters_of_a_text_gather_in_a_trained_network_and_drift_apart_in_one_as_drawn(tinyshakespeare):
    letters, ids = np.unique(list(tinyshakespeare), return_inverse=True)
    rng, mask = np.random.default_rng(0), len(letters)

    def lines(count):
        starts = rng.integers(0, len(ids) - LENGTH, count)
        return ids[starts[:, None] + np.arange(LENGTH)], rng.random((count, LENGTH)) < 0.15

    text, hidden = (each.reshape(STEPS, ROWS, LENGTH) for each in lines(STEPS * ROWS))
    # Some letters that are shown are asked for too, as in BERT. Without them this network learns in so few steps how
    # often letters are, and no more: all tokens become one.
    told = hidden | (rng.random(hidden.shape) < 0.05)
    drawn = init_masked_language_model(
        jax.random.key(0), vocabulary=mask, context=LENGTH, width=32, depth=DEPTH, heads=4
    )
    drawn = jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.float32), drawn)
    trained = train_on_tokens(drawn, np.where(hidden, mask, text), text, told, rate=0.003).model

    text, hidden = lines(128)
    first, second = np.triu_indices(LENGTH, 1)
    equal = text[:, first] == text[:, second]
    shown = ~hidden[:, first] & ~hidden[:, second]
    half = hidden[:, first] != hidden[:, second]

    def gaps(model):
        """By layer, how much more equal characters overlap than different ones: both shown, and one of them hidden."""
        seen = pair_overlaps(np.asarray(model.states(np.where(hidden, mask, text))))
        return np.array([seen[:, equal & w].mean(-1) - seen[:, ~equal & w].mean(-1) for w in (shown, half)])

    (both, one), (both_drawn, one_drawn) = gaps(trained), gaps(drawn)
    assert np.all(both > both_drawn + 0.2) and both[-1] > both[0] + 0.02
    # Averaging with random weights makes all tokens alike: the gap closes from layer to layer.
    assert np.all(np.diff(both_drawn) < 0)
    assert np.all(one[1:] > one_drawn[1:] + 0.05) and np.all(np.diff(one) > 0)
