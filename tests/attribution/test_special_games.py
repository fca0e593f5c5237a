import numpy as np
import pytest

from deeptheory.attribution.shapley import coalitions, game_table, shapley_values
from deeptheory.attribution.special_games import (
    airport_shapley,
    can_be_halved,
    partition_vote,
    voting_shapley,
    voting_utility,
)


def test_airport_costs_by_hand_and_by_enumeration():
    np.testing.assert_allclose(airport_shapley(np.array([3.0, 1.0, 6.0])), [1 / 3 + 1, 1 / 3, 1 / 3 + 1 + 3])
    costs = np.array([2.0, 5.0, 2.0, 0.0, 9.0])
    table = game_table(lambda masks: np.where(masks, costs, 0).max(1), 5)
    np.testing.assert_allclose(airport_shapley(costs), shapley_values(table), atol=1e-14)


@pytest.mark.parametrize("quota", [1, 7, 12, 19, 30])
def test_votes_by_counting_and_by_enumeration(quota):
    weights = np.array([4, 3, 0, 7, 5, 1])
    table = game_table(lambda masks: voting_utility(weights, quota, masks), 6)
    np.testing.assert_allclose(voting_shapley(weights, quota), shapley_values(table), atol=1e-15)


@pytest.mark.item("A10.15")
def test_the_last_voter_counts_exactly_if_the_numbers_can_be_halved():
    draw = np.random.default_rng(0)
    answers = set()
    for _ in range(40):
        numbers = draw.integers(1, 12, 5)
        sums = coalitions(5) @ numbers
        halved = bool(np.any(2 * sums == numbers.sum()))
        weights, quota = partition_vote(numbers)
        assert can_be_halved(numbers) == halved
        assert (voting_shapley(weights, quota)[-1] > 0) == halved
        answers.add((halved, int(numbers.sum() % 2)))
    assert answers == {(True, 0), (False, 0), (False, 1)}


def test_numbers_below_one_are_refused():
    with pytest.raises(ValueError, match="numbers must"):
        partition_vote(np.array([0, 3]))
