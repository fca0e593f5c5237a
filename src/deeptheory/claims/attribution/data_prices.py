"""Training points as players: what their prices add up to, what a copy costs, what a wrong label is worth."""

from dataclasses import replace
from typing import Any

import numpy as np

from deeptheory.attribution.data_values import nearest_neighbour_shapley, nearest_neighbour_utility, ridge_utility
from deeptheory.attribution.shapley import coalitions, game_table, shapley_values
from deeptheory.foundations.randomness import generator, unit_vectors
from deeptheory.lab import Identity, Trend, Trials, claim
from deeptheory.lab.pictures import Curves, Level, seen

POINTS, NEIGHBOURS, WRONG = 8, 3, 7


def priced(draw):
    """The table of a game of eight points: 1 is a copy of 0, and 7 has its label turned round."""
    x = draw.standard_normal((POINTS, 2))
    weights = unit_vectors(draw, 1, 2)[0]
    y = x @ weights + 0.3 * draw.standard_normal(POINTS)
    x[1], y[1], y[WRONG] = x[0], y[0], -y[WRONG]
    test = draw.standard_normal((40, 2))
    return game_table(ridge_utility(x, y, test, test @ weights, ridge=0.5), POINTS)


def neighbours(draw):
    return (
        draw.standard_normal((POINTS, 2)),
        draw.integers(0, 2, POINTS),
        draw.standard_normal((5, 2)),
        draw.integers(0, 2, 5),
    )


@claim(
    items={"A10.16": ("sum of the prices", "price of a copy", "price of a wrong label", "prices of neighbours")},
    says=r"Let $U(S)$ be minus the test error after training on $S$. Shapley prices of $n$ training points add up to "
    r"$U([n])-U(\emptyset)$; a point and its copy cost the same, a wrong label on average less than nothing; for "
    "nearest neighbours prices need no enumeration.",
    needs="ridge regression of 8 points in 2 dimensions, one copied, one with its label turned round; or the 3 nearest "
    "of 8 neighbours",
    full=dict(trials=2000),
    symbols={"U": "the utility of training points", "S": "those trained on", "n": "how many there are"},
    why="A copy is interchangeable with its original, so symmetry prices them alike, and since the second of them adds "
    "little, each loses. A wrong label makes the fit worse in most coalitions, and its mean gain is negative. With "
    "nearest neighbours a point matters only for coalitions in which fewer than $K$ points are nearer, so prices of "
    "points that follow each other in distance differ by a simple term.",
    notice="The two copies have the same mean price, below the ordinary points, and only the wrong label is worth less "
    "than nothing.",
)
def data_prices(key, *, trials: Trials = 200):
    draw = generator(key)
    tables = np.stack([priced(draw) for _ in range(trials)])
    prices = shapley_values(tables)
    single = tables[:, ~coalitions(POINTS)[:, 1]]
    gained = tables[:, -1] - tables[:, 0]
    size = np.abs(tables).max(1)
    drawn = [neighbours(draw) for _ in range(20)]
    near = np.stack([nearest_neighbour_shapley(*one, neighbours=NEIGHBOURS) for one in drawn])
    fewer = np.stack([nearest_neighbour_shapley(*one, neighbours=NEIGHBOURS - 1) for one in drawn])
    enumerated = [
        shapley_values(game_table(nearest_neighbour_utility(*one, neighbours=NEIGHBOURS), POINTS)) for one in drawn
    ]
    rounding: dict[str, Any] = {"scale": size, "condition": 100.0, "size": 2.0**POINTS}
    return {
        "sum of the prices": Identity(prices.sum(1), gained, aside={"all": tables[:, -1]}, **rounding),
        "price of a copy": Identity(
            prices[:, 0], prices[:, 1], aside={"alone": shapley_values(single)[:, 0]}, **rounding
        ),
        "price of a wrong label": Trend(-prices[:, WRONG], aside={"prices": prices[:500].T, "copy": -prices[:, 0]}),
        "prices of neighbours": Identity(
            near, np.stack(enumerated), scale=1.0, size=2.0**POINTS, aside={"fewer": fewer}
        ),
    }


@data_prices.control("prices add up to the final utility", of="sum of the prices")
def final(evidence):
    return replace(evidence, right=evidence.aside["all"])


@data_prices.control("a copy is worth what its original is worth alone", of="price of a copy")
def alone(evidence):
    return replace(evidence, right=evidence.aside["alone"])


@data_prices.control("a copy is worth less than nothing too", of="price of a wrong label")
def price_of_a_copy(evidence):
    return replace(evidence, differences=evidence.aside["copy"])


@data_prices.control("prices for one neighbour less", of="prices of neighbours")
def one_less(evidence):
    return replace(evidence, left=evidence.aside["fewer"])


@data_prices.picture
def price_list(pieces):
    """Mean prices of eight training points, with two standard errors."""
    prices = np.asarray(pieces["price of a wrong label"].aside["prices"])
    number = np.arange(1, POINTS + 1)
    kinds = {"a point and its copy": slice(0, 2), "ordinary": slice(2, WRONG), "wrong label": slice(WRONG, POINTS)}
    marks = [seen(name, number[part], prices[part]) for name, part in kinds.items()]
    return Curves([*marks, Level("of no value", y=0.0)], x="training point", y="price: fall of the test error")
