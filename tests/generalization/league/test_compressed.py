"""The shorter network of the league: what is written down gives it back, and every bit is paid for."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import comb

from deeptheory.foundations.binomial import clopper_pearson_upper
from deeptheory.generalization.league.compressed import LEVELS, compressed_row, described, shorter_networks
from deeptheory.generalization.league.network import Network, equinox_network

DRAW = np.random.default_rng(0)
WEIGHT = DRAW.standard_normal((8, 1)) @ DRAW.standard_normal((1, 6)) + 1e-3 * DRAW.standard_normal((8, 6))


def test_a_truncated_matrix_is_the_product_of_what_is_written_down():
    u, s, v = np.linalg.svd(WEIGHT, full_matrices=False)
    found = described(WEIGHT, (u, s, v), 0.1, 255)
    assert found.rank == 1
    left, right = u[:, :1] * np.sqrt(s[0]), v[:1] * np.sqrt(s[0])
    # Steps are above 1/127 of the largest number over ten, so that 14 numbers are off by half a step at most.
    assert np.max(np.abs(found.values - left @ right)) < (np.abs(left).max() + np.abs(right).max()) / 127
    assert np.linalg.matrix_rank(found.values) == 1
    # Rank, one of 7; a step and a choice of code for each factor; 14 numbers of 255 values.
    assert found.bits == pytest.approx(np.log2(7) + 2 * 33 + 14 * np.log2(255))
    whole = described(WEIGHT, (u, s, v), 0.0, 255)
    assert whole.rank == 0 and np.max(np.abs(whole.values - WEIGHT)) <= np.max(np.abs(WEIGHT)) / 254 * (1 + 1e-6)


def tripled(inputs):
    """Three numbers in, two outputs: exact in three values."""
    return eqx.tree_at(
        lambda layer: layer.weight,
        eqx.nn.Linear(3, 2, use_bias=False, key=jax.random.key(0)),
        jnp.asarray([[1.0, 0, -1], [-1, 0, 1]], jnp.float32) * inputs,
    )


def test_the_row_of_a_network_that_is_exact_in_three_values_by_hand():
    model, inputs = tripled(0.7), DRAW.standard_normal((200, 3)).astype(np.float32)
    labels = (inputs[:, 2] > inputs[:, 0]).astype(int)
    labels[:10] = 1 - labels[:10]
    entry = compressed_row(equinox_network(model, None), jnp.asarray(inputs), labels, 0.05)
    # Rank one is no shorter: 5 of 6 numbers. Both factors have a step; all values are ±1 or 0.
    two = [33 + min(size * np.log2(3), np.log2(ways)) for size, ways in ((2, comb(4, 2) * 2), (3, comb(5, 2) * 6))]
    bits = np.log2(3) + np.log2(len(LEVELS)) + sum(two)
    plain = np.log2(3) + np.log2(len(LEVELS)) + 33 + min(6 * np.log2(3), np.log2(comb(8, 2) * 90))
    budget = (min(bits, plain) * np.log(2) + np.log(20)) / 200
    grid = np.linspace(0.05, 0.9999, 1_000_000)
    kl = 0.05 * np.log(0.05 / grid) + 0.95 * np.log(0.95 / (1 - grid))
    assert entry.value == pytest.approx(grid[kl <= budget].max(), abs=1e-5)
    assert entry.detail == ("numbers rounded to 3 values", f"{plain:,.0f} bits, training error 0.0500")


def test_bits_are_no_fewer_than_a_prefix_free_code_needs():
    """All networks of four numbers that three values reach: their descriptions are so long that Σ 2^(−bits) ≤ 1."""
    total = 0.0
    for codes in np.ndindex(*[3] * 4):
        found = described(np.array(codes) - 1.0, None, 0.0, 3)
        # The step, 32 bits of it, is the same in all of these.
        total += 2.0 ** (32 - found.bits)
    assert 0.2 < total <= 1


def test_numbers_of_the_start_cost_nothing_and_others_do():
    tree = {"rows": jnp.asarray(WEIGHT, jnp.float32), "shift": jnp.arange(3)}
    first = next(shorter_networks(tree, None))
    known = {"rows": tree["rows"] + 1, "shift": tree["shift"]}
    same, other = (next(shorter_networks(tree, start)) for start in (known, {**known, "shift": jnp.arange(3) + 1}))
    whole = 3 * 8 * tree["shift"].dtype.itemsize
    assert other.bits == pytest.approx(first.bits + 1) == pytest.approx(same.bits + whole)
    # A network that has not moved is described by zeros around its start.
    still = list(shorter_networks(tree, tree))
    # Around zero the shares leave two different ranks, around itself none: what is the same comes once.
    assert len(still) == (2 + 1) * len(LEVELS)
    assert sum(each.about.startswith("layers of rank 1, ") for each in still) == len(LEVELS)
    np.testing.assert_array_equal(still[-1].tree["rows"], tree["rows"])


def test_a_network_at_its_start_is_known_but_for_a_few_bits():
    model, inputs = tripled(0.7), jnp.asarray(DRAW.standard_normal((400, 3)), jnp.float32)
    labels = np.asarray(jnp.argmax(jax.vmap(model)(inputs), axis=1))
    value = compressed_row(equinox_network(model, model), inputs, labels, 0.05).value
    assert clopper_pearson_upper(0, 400, 0.05) < value < 0.15


def test_what_is_not_known_is_not_described():
    entry = compressed_row(Network(lambda _, x: x), np.ones((8, 2)), np.zeros(8, int), 0.1)
    assert entry.value is None and entry.unmet == ("needs parameters or layers",)
