"""Why Shapley values are hard: whoever computes them for votes can halve numbers."""

from dataclasses import replace
from typing import Annotated

import numpy as np
from annotated_types import Interval

from deeptheory.attribution.shapley import coalitions, game_table, shapley_values
from deeptheory.attribution.special_games import can_be_halved, partition_vote, voting_shapley, voting_utility
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Exact, Identity, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Level


@claim(
    items={"A10.15": ("the last voter has a value", "values by counting weights")},
    says=r"Let the numbers $2a_1,\dots,2a_n$ and one voter of weight $1$ vote with quota $a_1+\dots+a_n+1$. The last "
    r"voter has a positive Shapley value exactly if some of the $a_i$ add up to half of them all: an NP-complete "
    "question.",
    symbols={"a_i": "positive whole numbers", "n": "how many there are"},
    why="The last voter decides for a coalition that is exactly one short of the quota, and since doubled numbers add "
    "up to even sums, that is one whose numbers add up to half of the total. So a fast way to Shapley "
    "values of games that are described in few words would answer PARTITION. Counting coalitions by weight is fast "
    "when weights are small, and as slow as enumeration when they have as many digits as there are voters.",
    notice="The value of the last voter is zero unless the nearest split of the numbers is an even one, and it says no "
    "more about how near the others come.",
)
def shapley_values_decide_partition(
    key,
    *,
    trials: Trials = 60,
    numbers: Annotated[int, Interval(ge=3, le=8)] = 5,
    largest: Annotated[int, Interval(ge=2, le=30)] = 12,
):
    sets = generator(key).integers(1, largest + 1, (trials, numbers))
    values, enumerated, split = [], [], []
    for chosen in sets:
        weights, quota = partition_vote(chosen)
        values.append(voting_shapley(weights, quota))
        enumerated.append(
            shapley_values(game_table(lambda m, w=weights, q=quota: voting_utility(w, q, m), numbers + 1))
        )
        split.append(np.abs(2 * coalitions(numbers) @ chosen - chosen.sum()).min())
    values = np.array(values)
    halved = np.array([can_be_halved(chosen) for chosen in sets])
    return {
        "the last voter has a value": Exact(
            values[:, -1] > 0, halved, aside={"sets": sets, "value": values[:, -1], "nearest": np.array(split)}
        ),
        "values by counting weights": Identity(values, np.array(enumerated), scale=1.0, size=2.0**numbers),
    }


@shapley_values_decide_partition.control("a quota that is higher by one", of="the last voter has a value")
def higher(evidence):
    votes = (partition_vote(chosen) for chosen in np.asarray(evidence.aside["sets"]))
    return replace(evidence, left=np.array([voting_shapley(weights, quota + 1)[-1] > 0 for weights, quota in votes]))


@shapley_values_decide_partition.picture
def splits(pieces):
    """Value of the last voter against how evenly the numbers can be split at best."""
    piece = pieces["the last voter has a value"]
    gap, value = np.asarray(piece.aside["nearest"]), np.asarray(piece.aside["value"])
    even = gap == 0
    marks = [
        Dots("can be halved", gap[even], value[even]),
        Dots("cannot be halved", gap[~even], value[~even]),
        Level("of no value", y=0.0),
    ]
    return Curves(marks, x="least difference between two halves", y="Shapley value of the last voter")
