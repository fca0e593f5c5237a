"""Padded tokens and the points of the clustering diagram against the plain flow."""

import jax
import numpy as np
import pytest

from deeptheory.attention.clusters import pair_overlaps, random_tokens, token_flow
from deeptheory.attention.regimes import clustered_share, padded_tokens, share_after


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
