"""The Shapley value of a game: one number by random orders, by random subsets, and by differences."""

from dataclasses import replace
from typing import Annotated

import numpy as np
from annotated_types import Interval

from deeptheory.attribution.shapley import banzhaf_values, shapley_by_orders, shapley_difference, shapley_values
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Identity, claim
from deeptheory.lab.pictures import compared


@claim(
    items={"A10.8": "mean over orders", "A10.9": "mean over orders", "A10.13": "difference of two players"},
    says=r"The mean gain of player $i$ over all orders of joining is $\frac1N\sum_{S\not\ni i}(U(S\cup i)-U(S))"
    r"/\binom{N-1}{|S|}$, and two such values differ by $\frac1{N-1}\sum_{S\not\ni i,j}(U(S\cup i)-U(S\cup j))"
    r"/\binom{N-2}{|S|}$.",
    symbols={
        "N": "the number of players",
        "i, j": "two of the players",
        "S": "a coalition of others",
        "U": "the utility of a coalition",
    },
    why="In a random order those who come before $i$ are equally often none, one, two … of the others, and given their "
    "number every set of that size is equally likely. So a random order is a random size and then a random set. In the "
    "difference of two values the sets that hold one of the two players are paired so that only sets with neither are "
    "left, and a size from $0$ to $N-2$ is again uniform.",
    notice="The sums over subsets lie on the means over all orders. Drawing each other player by a fair coin instead "
    "makes middling coalitions too frequent and gives another value, Banzhaf's.",
    explore={"players": (3, 4, 5, 6, 7)},
)
def shapley_by_orders_and_by_subsets(key, *, players: Annotated[int, Interval(ge=3, le=7)] = 6):
    tables = generator(key).integers(-9, 10, (4, 2**players)).astype(float)
    values = shapley_by_orders(tables)
    pairs = [(i, j) for i in range(players) for j in range(i)]
    differences = np.stack([values[:, i] - values[:, j] for i, j in pairs], 1)
    by_sets = np.stack([shapley_difference(tables, i, j) for i, j in pairs], 1)
    labels, terms = {"game": np.arange(4), "player": np.arange(players)}, 2**players
    named = np.array([f"{i} and {j}" for i, j in pairs])
    return {
        "mean over orders": Identity(
            values, shapley_values(tables), scale=9.0, size=terms, along=labels, aside={"tables": tables}
        ),
        "difference of two players": Identity(
            differences, by_sets, scale=9.0, size=terms, along={"game": np.arange(4), "players": named}
        ),
    }


@shapley_by_orders_and_by_subsets.control("each subset of the others counts alike", of="mean over orders")
def alike(evidence):
    return replace(evidence, right=banzhaf_values(evidence.aside["tables"]))


@shapley_by_orders_and_by_subsets.control("the N cyclic orders stand for all", of="mean over orders")
def cyclic(evidence):
    tables = np.asarray(evidence.aside["tables"])
    count = np.asarray(evidence.left).shape[1]
    orders = (np.arange(count)[:, None] + np.arange(count)) % count
    after = np.cumsum(1 << orders, axis=1)
    gains = tables[:, after] - tables[:, after - (1 << orders)]
    return replace(evidence, left=np.stack([gains[:, orders == i].mean(1) for i in range(count)], 1))


@shapley_by_orders_and_by_subsets.control("the mean of N terms, not of N − 1", of="difference of two players")
def one_more(evidence):
    pairs = np.asarray(evidence.left).shape[1]
    players = int((1 + (1 + 8 * pairs) ** 0.5) / 2)
    return replace(evidence, right=evidence.right * (players - 1) / players)


@shapley_by_orders_and_by_subsets.picture
def two_processes(pieces):
    """Values of the players of one random game by all orders and by all subsets, beside Banzhaf's."""
    piece = pieces["mean over orders"]
    return compared(
        np.asarray(piece.along["player"]) + 1,
        np.asarray(piece.right)[0],
        np.asarray(piece.left)[0],
        rivals={"each subset alike: Banzhaf": banzhaf_values(np.asarray(piece.aside["tables"])[0])},
        names=("random size, then random subset", "all orders"),
        x="player",
        y="mean gain from joining",
    )
