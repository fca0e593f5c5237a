"""Lines of thought written out by hand, parities by counting, and thoughts token by token from the model's logits."""

import jax
import numpy as np
import pytest

from deeptheory.architectures.language_models import init_language_model
from deeptheory.architectures.token_training import train_on_tokens
from deeptheory.foundations.bits import all_bits
from deeptheory.reasoning.step_supervision import (
    MARK,
    lines_of_thought,
    running_parity,
    silent_thoughts,
    spoken_thoughts,
)


def model(length):
    return init_language_model(
        jax.random.key(0), vocabulary=3, context=2 * length, width=8, layers=1, heads=2, spread=2
    )


def test_parities_by_counting():
    assert len({tuple(row) for row in all_bits(5).tolist()}) == 32
    for row, parities in zip(all_bits(5), running_parity(all_bits(5)), strict=True):
        assert parities.tolist() == [sum(row[: n + 1]) % 2 == 1 for n in range(5)]


def test_lines_by_hand():
    bits = np.array([[True, False, True], [True, True, True]])
    assert lines_of_thought(bits).tolist() == [[1, 0, 1, MARK, MARK, MARK], [1, 1, 1, MARK, MARK, MARK]]
    assert lines_of_thought(bits, running_parity(bits)).tolist() == [[1, 0, 1, MARK, 1, 1], [1, 1, 1, MARK, 1, 0]]


def test_thoughts_token_by_token():
    network, bits = model(3), all_bits(3)
    aloud, quietly = np.asarray(spoken_thoughts(network, bits)), np.asarray(silent_thoughts(network, bits))
    for row, spoken, silent in zip(bits, aloud, quietly, strict=True):
        tokens = [*row.astype(int), MARK]
        for place in range(3):
            said = int(np.argmax(network(np.array(tokens))[-1]))
            assert spoken[place] == said
            assert silent[place] == int(np.argmax(network(np.array([*row.astype(int), *[MARK] * (place + 1)]))[-1]))
            tokens.append(said)
    assert len(np.unique(aloud)) > 1


@pytest.mark.slow
@pytest.mark.item("H14.5")
def test_steps_are_learnt_from_half_of_all_strings():
    """Six bits, half of the strings: trained on the parities so far, the network thinks right on most of the others."""
    rng = np.random.default_rng(0)
    strings = all_bits(6)
    parities, order = running_parity(strings), rng.permutation(64)
    rows = rng.choice(order[:32], (300, 16))
    network = init_language_model(jax.random.key(1), vocabulary=3, context=12, width=24, layers=1, heads=4, spread=2)
    told = np.zeros((300, 16, 12), bool)
    told[..., 6:] = True
    targets = np.concatenate([strings[rows], parities[rows]], -1).astype(int)
    trained = train_on_tokens(network, lines_of_thought(strings[rows], parities[rows]), targets, told, rate=0.007)
    right = np.asarray(spoken_thoughts(trained.model, strings)) == parities
    assert right[order[32:], -1].mean() > 0.8
