"""The simulator's steps one by one: losses in decimals, order of errors, tasks by inclusion and exclusion."""

from math import comb

import jax
import numpy as np
import pytest

from deeptheory.scaling.chinchilla import HOFFMANN
from deeptheory.skills.simulator import (
    cloze_loss,
    examples_for_success,
    frequency_success,
    simulate_emergence,
    simulate_tasks,
)


@pytest.mark.item("A15.37")
def test_run_is_ordered_and_falls_with_the_loss(key):
    losses = np.array([0.2, 0.1, 0.05])
    run = simulate_emergence(key, losses, texts=3000, skills=20, k=5)
    np.testing.assert_allclose(run.mistaken, 2 * losses)
    assert np.all(run.mistaken <= run.random) and np.all(run.random <= run.correlated)
    assert np.all(run.correlated <= run.worst + 1e-12) and np.all(run.worst <= run.guaranteed)
    for column in run:
        assert np.all(np.diff(column) < 0)
    with pytest.raises(ValueError, match="alpha must leave"):
        simulate_emergence(key, losses, skills=4, alpha=0.01)


def test_cloze_loss_is_the_excess():
    expected = 0.5 * (406.4 / 1e9**0.34 + 410.7 / 2e10**0.28)
    assert cloze_loss(HOFFMANN, 1e9, 2e10, tracking=0.5) == pytest.approx(expected, rel=1e-12)


@pytest.mark.item("A15.12")
def test_tasks_by_inclusion_and_exclusion(key):
    q, samples, facts, needed = np.array([0.5, 0.1]), 30.0, 4, 3
    expected = sum((-1) ** j * comb(needed, j) * np.exp(-j * samples * q / facts) for j in range(needed + 1))
    np.testing.assert_allclose(frequency_success(q, samples, facts=facts, needed=needed), expected, rtol=1e-12)
    seen = simulate_tasks(key, q, samples, facts=facts, needed=needed, runs=20_000).mean(1)
    np.testing.assert_allclose(seen, expected, atol=5 * np.sqrt(0.25 / 20_000))
    half = examples_for_success(q, facts=facts, needed=needed)
    np.testing.assert_allclose(frequency_success(q, half, facts=facts, needed=needed), 0.5, rtol=1e-12)
    assert half[1] / half[0] == pytest.approx(5)


def test_one_key_gives_one_run():
    first, second = (simulate_emergence(jax.random.key(3), np.array([0.1]), texts=500, skills=8, k=3) for _ in range(2))
    for ours, again in zip(first, second, strict=True):
        np.testing.assert_array_equal(ours, again)


def test_examples_for_the_smallest_success():
    assert examples_for_success(0.5, facts=3, needed=3, level=1e-300) == pytest.approx(6e-100, rel=1e-12, abs=0)
    assert frequency_success(0.5, examples_for_success(0.5, facts=3, needed=7, level=1e-30), facts=3, needed=7) == (
        pytest.approx(1e-30, rel=1e-12, abs=0)
    )
