"""Compression: truncation, sparsification, projection, against exact moments."""

import jax
import numpy as np
import pytest

from deeptheory.generalization.networks.compression import (
    compressed_within,
    degrees_of_freedom,
    project,
    rounded,
    rounded_bits,
    sparsify,
    truncate,
    truncate_network,
    truncation_rank,
)
from deeptheory.generalization.networks.norms import stable_rank

DRAW = np.random.default_rng(4)


def test_truncation_keeps_the_large_singular_values():
    a = np.diag([4.0, 2.0, 1.0, 0.1])
    np.testing.assert_allclose(truncate(a, 0.3), np.diag([4.0, 2.0, 0.0, 0.0]), atol=1e-15)
    assert truncation_rank(stable_rank(a), 0.5) == pytest.approx(stable_rank(a) * 4)


def test_network_truncation_uses_the_stated_share():
    layers = [2 * np.eye(3), np.diag([3.0, 1.0, 1e-3])]
    compressed, share = truncate_network(layers, margin=0.6, radius=1.0)
    assert share == pytest.approx(0.6 / (3 * 2 * 6))
    assert np.linalg.matrix_rank(compressed[1]) == 2
    assert truncate_network(layers, margin=0.6, radius=2.0)[1] == pytest.approx(share / 2)
    assert np.linalg.matrix_rank(truncate(np.diag([2.0, 1.0]), 0.5)) == 2


@pytest.mark.item("A5.24")
def test_degrees_of_freedom_are_the_rank_of_the_tangent_space():
    u, v = DRAW.standard_normal((5, 2)), DRAW.standard_normal((4, 2))
    columns = [np.outer(e, v[:, r]).ravel() for e in np.eye(5) for r in range(2)]
    columns += [np.outer(u[:, r], e).ravel() for e in np.eye(4) for r in range(2)]
    assert np.linalg.matrix_rank(np.array(columns)) == degrees_of_freedom(5, 4, 2) == 14


def test_sparsification_by_enumeration():
    c = np.array([0.05, 0.1, 0.9])
    kept = np.minimum(1, 8 * c**2 / 0.5**2)
    draws = sparsify(jax.random.key(1), c, 0.5, 40_000)
    np.testing.assert_allclose(draws.mean(0), c, atol=6 * (draws.std(0) / 200).max() + 1e-12)
    np.testing.assert_allclose((draws != 0).mean(0), kept, atol=0.02)
    assert np.all(draws[:, 2] == 0.9)


def test_projection_has_the_stated_moments():
    c = np.array([1.0, 0, 0])
    u = np.array([0.6, 0.8, 0])
    draws = project(jax.random.key(2), c, u, 50, 40_000)
    assert draws.mean() == pytest.approx(0.6, abs=0.01)
    assert draws.var() * 50 == pytest.approx(1.36, rel=0.05)


def test_the_largest_change_of_an_output():
    assert compressed_within(np.array([[1.0, 2.0]]), np.array([[1.5, 1.9]])) == pytest.approx(0.5)


def test_rounded_values_are_whole_multiples_of_the_best_step():
    values = np.array([-0.9, -0.1, 0.0, 0.45, 1.0])
    codes, step = rounded(values, 5)
    assert set(codes) <= {-2, -1, 0, 1, 2}
    error = np.sum((values - codes * step) ** 2)
    for tried in np.linspace(0.2, 1, 9) / 2:
        clipped = np.array([min(max(round(value / tried), -2), 2) for value in values])
        assert error <= np.sum((values - tried * clipped) ** 2) + 1e-6
    np.testing.assert_array_equal(rounded(np.zeros((2, 3)), 3)[0], np.zeros((2, 3)))
    with pytest.raises(ValueError, match="odd number from 3 on, got 4"):
        rounded(values, 4)


def test_bits_of_rounded_values_are_those_of_the_shorter_code():
    # Nine zeros and a one: counts are one of C(12, 2) ways, the place of the one is one of ten.
    codes = np.zeros(10, int)
    codes[3] = 1
    assert rounded_bits(codes, 3) == pytest.approx(33 + np.log2(66 * 10))
    mixed = np.array([0, 1, -1, 1])
    assert rounded_bits(mixed, 3) == pytest.approx(33 + 4 * np.log2(3))
