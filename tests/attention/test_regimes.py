"""Padded tokens and the points of the clustering diagram against the plain flow."""

import jax
import numpy as np
import pytest

from deeptheory.attention.clusters import pair_overlaps, random_tokens, token_flow
from deeptheory.attention.regimes import clustered_share, metastable_share, padded_tokens, share_after


def test_padding_is_zero_and_stays_so(key):
    tokens = np.asarray(padded_tokens(key, 3.0, count=6, most=5))
    assert np.all(tokens[:, 3:] == 0) and np.allclose(np.linalg.norm(tokens, axis=-1), 1)
    flow = np.asarray(token_flow(tokens, np.array([2.0]), 3.0))[-1]
    assert np.all(flow[:, 3:] == 0)
    assert np.allclose(flow[:, :3], token_flow(tokens[:, :3], np.array([2.0]), 3.0)[-1], atol=1e-14)


def test_share_counts_pairs(key):
    tokens = random_tokens(key, 7, 2)
    assert np.isclose(clustered_share(tokens, 0.5), np.mean(pair_overlaps(tokens) > 0.5))
    assert clustered_share(np.tile(tokens[:1], (4, 1))) == 1


@pytest.mark.item("J14.11")
def test_a_row_of_the_diagram_is_one_program(key):
    shares = jax.vmap(lambda d: share_after(key, 0.5, d, 40.0, count=8, most=8, steps=100))(np.array([2.0, 4.0, 8.0]))
    assert np.array_equal(shares, np.ones(3))
    assert share_after(key, 9.0, 8.0, 1.0, count=8, most=8, steps=10) < 1


@pytest.mark.item("J14.11")
def test_metastable_pairs_are_in_clusters_early_and_apart_late(key):
    # On the circle in the cold several clusters form by time 5 and wait; in the heat there is one by time 30.
    tokens = padded_tokens(key, 2.0, count=16, most=3)
    early, late = np.asarray(token_flow(tokens, np.array([5.0, 30.0]), 20.0, substeps=400))
    near, after = ((each @ each.T) > 1 - 1e-3 for each in (early, late))
    alone = near.sum(1) == 1
    pairs = [(i, j) for i in range(16) for j in range(16) if i != j]
    counted = [not (alone[i] or alone[j] or near[i, j] or after[i, j]) for i, j in pairs]
    cold = metastable_share(key, 20.0, 2.0, count=16, most=3, steps=400)
    assert cold == pytest.approx(np.mean(counted)) and cold > 0.3
    assert metastable_share(key, 1.0, 2.0, count=16, most=3, steps=200) == 0
    assert metastable_share(key, 20.0, 2.0, 0.0, 0.01, count=16, most=3, steps=4, tolerance=1e-6) == 0
