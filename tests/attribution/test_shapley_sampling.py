from itertools import permutations

import jax
import numpy as np
import pytest

from deeptheory.attribution.shapley import coalitions, game_table, shapley_values
from deeptheory.attribution.shapley_sampling import (
    group_testing_constant,
    group_testing_estimate,
    group_testing_radius,
    group_testing_values,
    permutation_estimate,
    permutation_radius,
    permutations_needed,
    set_sizes,
)


def utility(masks):
    """Pairs that help each other, in the order of the players."""
    masks = np.asarray(masks, float)
    return np.tanh(masks @ np.linspace(-0.4, 1.0, masks.shape[1])) + 0.2 * masks[:, 0] * masks[:, -1] + 0.3


@pytest.mark.item("A10.12", "A10.14")
def test_estimates_are_within_their_radius_and_some_standard_errors(key):
    exact = shapley_values(game_table(utility, 7))
    orders = permutation_estimate(key, utility, 7, permutations=4000, largest=1.3, batch=512)
    sets = group_testing_estimate(key, utility, 7, samples=20_000, low=-0.8, high=1.6, batch=3000)
    for found in (orders, sets):
        assert np.all(np.abs(found.values - exact) <= found.radius)
        assert np.all(np.abs(found.values - exact) <= 6 * found.errors)
        np.testing.assert_allclose(found.values.sum(), exact.sum(), atol=1e-12)
    assert orders.evaluations == 4000 * 6 + 2


def test_one_evaluation_counted_is_one_evaluation_made(key):
    made = []

    def counted(masks):
        made.append(len(masks))
        return utility(masks)

    found = permutation_estimate(key, counted, 5, permutations=30, largest=1.0, batch=17)
    assert sum(made) == found.evaluations
    made.clear()
    found = group_testing_estimate(key, counted, 5, samples=100, low=0.0, high=1.0, batch=17)
    assert sum(made) == found.evaluations


@pytest.mark.parametrize("players", [2, 3, 7])
def test_the_group_test_has_the_shapley_values_as_its_mean(players):
    table = np.random.default_rng(1).standard_normal(2**players)
    np.testing.assert_allclose(group_testing_values(table), shapley_values(table), atol=1e-13)


def test_the_law_of_sizes_and_the_variance_it_is_made_for():
    players = 9
    law, k = set_sizes(players), np.arange(players)
    assert law.sum() == pytest.approx(1)
    z = group_testing_constant(players)
    assert np.sum(law * k * (players - k)) / players**2 == pytest.approx((players - 1) / (players * z))


def test_the_group_radius_inverts_bernstein():
    """2n·exp(−mr²/2/(v + Mr/3)) = δ with v = B²Z(n−1)/n and M = 2BZ."""
    players, samples, delta = 6, 300, 0.02
    r = group_testing_radius(players, samples, -1.0, 3.0, delta=delta)
    z = 2 * (1 + 1 / 2 + 1 / 3 + 1 / 4 + 1 / 5)
    variance, reach = 4 * z * 5 / 6, 4 * z
    assert 12 * np.exp(-samples * r**2 / 2 / (variance + reach * r / 3)) == pytest.approx(delta)


def test_enough_orders_bring_every_value_within_its_share():
    m = permutations_needed(10, 0.7, 0.1, delta=0.03)
    assert permutation_radius(10, m, 0.7, delta=0.03) <= 0.1 / 10**0.5
    assert permutation_radius(10, m - 1, 0.7, delta=0.03) > 0.1 / 10**0.5


def test_utilities_of_another_shape_are_refused():
    with pytest.raises(ValueError, match="one number for each"):
        permutation_estimate(jax.random.key(0), lambda masks: masks, 3, permutations=2, largest=1.0)
    with pytest.raises(ValueError, match="high must be at least low"):
        group_testing_estimate(jax.random.key(0), utility, 3, samples=2, low=1.0, high=0.0)


def test_the_variance_of_a_group_test_is_below_its_bound():
    players = 6
    table = np.sign(np.random.default_rng(3).standard_normal(2**players))
    masks = coalitions(players)[1:-1]
    size = masks.sum(1)
    chance = set_sizes(players)[size] / np.bincount(size, minlength=players)[size]
    terms = group_testing_constant(players) * table[1:-1, None] * (masks - size[:, None] / players)
    second = chance @ terms**2
    np.testing.assert_allclose(second, group_testing_constant(players) * (players - 1) / players)


def test_stated_standard_errors_are_those_of_all_orders(key):
    players, table = 5, game_table(utility, 5)
    weights = 2 ** np.arange(players)
    gains = np.empty((120, players))
    for row, order in enumerate(permutations(range(players))):
        before = np.concatenate([[0], np.cumsum(weights[list(order)])])
        gains[row, list(order)] = np.diff(table[before])
    found = permutation_estimate(key, utility, players, permutations=20_000, largest=1.3)
    np.testing.assert_allclose(found.values, gains.mean(0), atol=8 * gains.std() / np.sqrt(20_000))
    np.testing.assert_allclose(found.errors, gains.std(0) / np.sqrt(20_000), rtol=0.1)
