"""The recurrent network written out bit by bit, parities by counting, and a short training."""

import jax
import numpy as np
import pytest

from deeptheory.reasoning.step_supervision import (
    all_bits,
    answers,
    init_recurrent,
    running_parity,
    train_recurrent,
)


def test_answers_bit_by_bit():
    network = init_recurrent(jax.random.key(0), width=5)
    bits = all_bits(4)
    assert len({tuple(row) for row in bits.tolist()}) == 16
    said = np.asarray(answers(network, bits))
    for row, found in zip(bits, said, strict=True):
        state = np.zeros(5)
        for bit, one in zip(row, found, strict=True):
            state = np.tanh(network.again @ state + (1 if bit else -1) * network.reads + network.bias)
            assert one == pytest.approx(network.says @ state + network.offset, abs=1e-5)


def test_parities_by_counting():
    for row, parities in zip(all_bits(5), running_parity(all_bits(5)), strict=True):
        assert parities.tolist() == [sum(row[: n + 1]) % 2 == 1 for n in range(5)]


@pytest.mark.slow
def test_training_lowers_the_loss_that_is_told():
    network = init_recurrent(jax.random.key(1), width=6, ensemble=(2,))
    told = np.array([[0.0, 0, 1], [1, 1, 1]])
    _, losses = train_recurrent(network, all_bits(3), told=told, steps=80, step_size=0.05)
    assert np.all(np.asarray(losses[-1]) < 0.3 * np.asarray(losses[0]))
    with pytest.raises(ValueError, match="told must have a row for each of 2 networks, got 1"):
        train_recurrent(network, all_bits(3), told=told[:1])
    with pytest.raises(ValueError, match="told must be weights from 0 on, not all zero"):
        train_recurrent(network, all_bits(3), told=np.zeros((2, 3)))


def test_a_new_network_neither_dies_nor_explodes():
    network = init_recurrent(jax.random.key(1), width=40, ensemble=(50,))
    for weights in (network.again, network.says):
        assert np.mean(np.square(weights)) * 40 == pytest.approx(1, abs=8 * np.sqrt(2 / np.size(weights)))
