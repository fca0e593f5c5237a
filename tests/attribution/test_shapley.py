import numpy as np
import pytest
from scipy.integrate import quad

from deeptheory.attribution.shapley import (
    banzhaf_values,
    bernoulli_values,
    coalitions,
    dividends,
    game_table,
    shapley_by_orders,
    shapley_difference,
    shapley_from_dividends,
    shapley_values,
)


def games(count, players, seed=0):
    return np.random.default_rng(seed).standard_normal((count, 2**players))


@pytest.mark.item("A10.8", "A10.9")
def test_the_glove_game_by_hand():
    """One left glove, two right ones, a pair is worth 1: the left one decides unless it comes first."""
    table = game_table(lambda masks: (masks[:, 0] & masks[:, 1:].any(1)).astype(float), 3)
    np.testing.assert_allclose(shapley_values(table), [2 / 3, 1 / 6, 1 / 6], rtol=1e-15)
    np.testing.assert_allclose(shapley_by_orders(table), [2 / 3, 1 / 6, 1 / 6], rtol=1e-15)
    np.testing.assert_allclose(banzhaf_values(table), [3 / 4, 1 / 4, 1 / 4], rtol=1e-15)
    assert shapley_difference(table, 0, 1) == pytest.approx(1 / 2)  # of ∅: 0; of the other right glove: 1
    assert shapley_difference(np.array([0.0, 3.0, 1.0, 9.0]), 0, 1) == 2  # of two players the difference alone


@pytest.mark.parametrize("players", [1, 2, 5, 7])
def test_subsets_orders_and_dividends_agree(players):
    tables = games(3, players)
    values = shapley_values(tables)
    np.testing.assert_allclose(shapley_by_orders(tables), values, atol=1e-14)
    np.testing.assert_allclose(shapley_from_dividends(dividends(tables)), values, atol=1e-13)


def test_dividends_build_the_game_again():
    table = games(1, 4)[0]
    masks = coalitions(4)
    contained = (~masks[:, None] | masks[None]).all(-1)  # row T is in column S
    np.testing.assert_allclose(dividends(table) @ contained, table, atol=1e-14)


def test_the_shapley_value_is_the_mean_over_shares_of_presence():
    table = games(1, 6)[0]
    mean = [quad(lambda p, i=i: bernoulli_values(table, p)[i], 0, 1)[0] for i in range(6)]
    np.testing.assert_allclose(mean, shapley_values(table), atol=1e-12)
    np.testing.assert_allclose(bernoulli_values(table, 0.5), banzhaf_values(table), atol=1e-14)
    np.testing.assert_allclose(bernoulli_values(table, 0.0), table[1 << np.arange(6)] - table[0], atol=1e-14)


@pytest.mark.item("A10.13")
def test_differences_need_no_set_that_tells_the_two_apart():
    tables = games(3, 6)
    values = shapley_values(tables)
    for i, j in ((0, 5), (4, 2), (1, 0)):
        np.testing.assert_allclose(shapley_difference(tables, i, j), values[:, i] - values[:, j], atol=1e-14)


def test_tables_of_other_sizes_are_refused():
    with pytest.raises(ValueError, match="2ⁿ entries"):
        shapley_values(np.ones(6))
    with pytest.raises(ValueError, match="at most 9 players"):
        shapley_by_orders(np.ones(1024))
    with pytest.raises(ValueError, match="two of 3 players"):
        shapley_difference(np.ones(8), 1, 1)
    with pytest.raises(ValueError, match="one number for each of 8 masks"):
        game_table(lambda masks: masks, 3)
