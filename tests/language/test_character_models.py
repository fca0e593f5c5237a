"""Training of small transformers on texts: losses against sums by hand, and an ensemble against its members."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from deeptheory.architectures.language_models import init_language_model
from deeptheory.language.alphabets import alphabet_of, symbol_numbers, text_of
from deeptheory.language.character_models import loss_on_text, next_symbol_loss, train_next_symbol, training_flops

TEXT = "abcabdabc" * 12
ALPHABET = alphabet_of(TEXT)
NUMBERS = symbol_numbers(TEXT, ALPHABET)
train = partial(train_next_symbol, steps=60, rows=8, step_size=3e-3, warmup=5)


def small(seed):
    return init_language_model(jax.random.key(seed), vocabulary=4, context=9, width=8, layers=1, heads=2)


def test_texts_are_read_and_written():
    assert ALPHABET == "abcd" and NUMBERS[:6].tolist() == [0, 1, 2, 0, 1, 3]
    assert text_of(NUMBERS, ALPHABET) == TEXT
    with pytest.raises(ValueError, match="text must be written in the alphabet of 4 characters, got 'x'"):
        symbol_numbers("abx", ALPHABET)
    with pytest.raises(ValueError, match="text must have at least one character, got an empty one"):
        alphabet_of("")


def test_loss_is_the_mean_of_log_probabilities():
    model, windows = small(0), NUMBERS[:20].reshape(2, 10)
    logits = np.asarray(model(windows[:, :-1]), float)
    laws = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    by_hand = np.mean([-np.log(laws[row, place, windows[row, place + 1]]) for row in range(2) for place in range(9)])
    np.testing.assert_allclose(next_symbol_loss(model, windows), by_hand, rtol=1e-5)
    np.testing.assert_allclose(
        loss_on_text(model, NUMBERS[:19], window=9), next_symbol_loss(model, np.stack([NUMBERS[:10], NUMBERS[9:19]])),
        rtol=1e-5,
    )  # fmt: skip


def test_an_ensemble_trains_as_its_members_do_and_learns_the_text():
    models, keys = [small(seed) for seed in range(2)], jax.random.split(jax.random.key(7), 2)
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *models)
    together = jax.vmap(train, in_axes=(0, 0, None))(keys, stacked, NUMBERS)
    alone = train(keys[1], models[1], NUMBERS)
    np.testing.assert_allclose(together.losses[1], alone.losses, rtol=1e-3)
    # Three of nine symbols are followed by what the three before them do not settle: c or d after "ab".
    assert loss_on_text(alone.model, NUMBERS) < alone.losses[0] / 2


def test_products_of_a_step_are_counted():
    model = small(0)
    windows = jnp.asarray(NUMBERS[:80].reshape(8, 10))
    products = 0
    for each in _equations(jax.make_jaxpr(jax.grad(next_symbol_loss))(model, windows).jaxpr):
        if each.primitive.name == "dot_general":
            shape, summed = each.invars[0].aval.shape, each.params["dimension_numbers"][0][0]
            products += 2 * np.prod(each.outvars[0].aval.shape) * np.prod([shape[axis] for axis in summed])
    assert products == 72 * training_flops(vocabulary=4, window=9, width=8, layers=1)


def _equations(jaxpr):
    for equation in jaxpr.eqns:
        yield equation
        for value in equation.params.values():
            if hasattr(value, "jaxpr"):
                yield from _equations(value.jaxpr)


def test_what_cannot_be_read_is_refused():
    with pytest.raises(ValueError, match=r"text must lie in \[0, 3\], got 4"):
        train(jax.random.key(0), small(0), np.append(NUMBERS, 4))
    with pytest.raises(ValueError, match="text must have at least 10 symbols, a window and one more, got 9"):
        loss_on_text(small(0), NUMBERS[:9])
    with pytest.raises(ValueError, match="window must be at most the 9 positions of the model, got 10"):
        train(jax.random.key(0), small(0), NUMBERS, window=10)
