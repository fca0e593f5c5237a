"""Ensembles of random heads: symmetry, ties, definiteness and scale; the energy they climb by finite differences."""

import numpy as np
import pytest

from deeptheory.attention.blocks import Heads, block_velocity
from deeptheory.attention.clusters import random_tokens
from deeptheory.attention.random_heads import pair_energy, random_head


@pytest.mark.item("J14.13")
def test_ensembles_are_what_they_are_called(key):
    d = 200
    heads = {name: random_head(key, d, name) for name in ("ginibre", "wigner", "ginibre tied", "wigner tied")}
    scores = {name: head.queries[0].T @ head.keys[0] for name, head in heads.items()}
    for name in ("wigner", "wigner tied"):
        assert np.array_equal(scores[name], scores[name].T)
        assert np.isclose(np.linalg.norm(scores[name], 2), 2, atol=0.2)  # the edge of the semicircle
    for name in ("ginibre tied", "wigner tied"):
        assert np.array_equal(heads[name].values[0], scores[name])
    assert np.linalg.eigvalsh(heads["wigner"].values[0]).min() > 0
    assert np.isclose(np.max(np.abs(np.linalg.eigvals(heads["ginibre"].values[0]))), 1, atol=0.15)  # the circular law
    assert not np.allclose(heads["ginibre"].values[0], scores["ginibre"])


def test_symmetric_tie_climbs_the_energy(key):
    tokens, matrix = random_tokens(key, 5, 4), random_head(key, 4, "wigner tied").values[0]
    velocity = np.asarray(block_velocity(tokens, 2.0, Heads(np.eye(4)[None], matrix[None], matrix[None])))
    step = 1e-6

    def moved(h):
        x = tokens + h * velocity
        return float(pair_energy(x / np.linalg.norm(x, axis=-1, keepdims=True), matrix, 2.0))

    sums = np.exp(2.0 * tokens @ matrix @ tokens.T).sum(-1)
    assert np.isclose((moved(step) - moved(-step)) / (2 * step), np.sum(sums * np.sum(velocity**2, -1)), rtol=1e-6)


def test_energy_by_hand():
    """Two orthogonal tokens: each sees itself by e², the other by 1, over 2β = 4."""
    assert np.isclose(pair_energy(np.eye(2), np.eye(2), 2.0), (2 * np.e**2 + 2) / 4)
