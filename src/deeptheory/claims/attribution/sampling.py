"""Shapley values from random orders and from random sets that all players share."""

from dataclasses import replace
from itertools import product
from typing import Annotated

import jax
import numpy as np
from annotated_types import Interval
from scipy.stats import binom

from deeptheory.attribution.shapley import game_table, shapley_by_orders, shapley_values
from deeptheory.attribution.shapley_sampling import (
    group_testing_constant,
    group_testing_estimate,
    group_testing_values,
    permutation_estimate,
    permutation_radius,
)
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Chance, Identity, Inequality, Trials, claim
from deeptheory.lab.pictures import Curves, Line, Row

PLAYERS, ORDERS = 6, 40
GAINS = np.array([0.2, 1.0, 5.0])
COUNTS, SAMPLES, RISKS = np.array([2, 6, 20]), np.array([50, 200, 800]), np.array([0.5, 0.05, 0.001])
BUDGETS = 2 ** np.arange(8, 15)


def parity(masks):
    """1 for an odd number of players: every gain is +1 or −1, equally often, and every value is 0."""
    return masks.sum(1) % 2.0


def team(masks):
    """Everybody adds a little, and a little more with each other."""
    size = masks.sum(1)
    return masks @ np.linspace(0, 1, masks.shape[1]) + size**2 / masks.shape[1] ** 2


def log_misses(radius):
    """ln of N times the chance that a mean of m fair signs is beyond a radius, by players, orders and risk."""
    least = np.floor(SAMPLES[:, None] * (1 + radius) / 2)
    return np.log(2 * COUNTS[:, None, None]) + binom.logsf(least, SAMPLES[:, None], 0.5)


def errors_by_budget(key):
    """‖ŝ − s‖₂ by number of evaluations, with twelve players: game × method × budget."""
    errors = np.empty((2, 2, len(BUDGETS)))
    for i, (game, high) in enumerate(((parity, 1.0), (team, 7.0))):
        exact = shapley_values(game_table(game, 12))
        for j, budget in enumerate(BUDGETS.tolist()):
            found = (
                permutation_estimate(key, game, 12, permutations=budget // 11, largest=2.0),
                group_testing_estimate(key, game, 12, samples=budget, low=0.0, high=high),
            )
            errors[i, :, j] = [np.linalg.norm(one.values - exact) for one in found]
    return errors


@claim(
    items={
        "A10.12": ("chance of a miss in the parity game", "random orders beyond their radius"),
        "A10.14": "mean of a group test",
    },
    says=r"Where gains are at most $R$ in size, $m$ random orders bring all $N$ Shapley values within "
    r"$R\sqrt{2\ln(2N/\delta)/m}$, except with chance $\delta$. Sets $T$ of size $k$ with chance $\propto1/k+1/(N-k)$ "
    r"serve all players at once: $s_i-s_j=Z\,\mathbb E[U(T)(1_{i\in T}-1_{j\in T})]$, $Z=2\sum_{k<N}1/k$.",
    needs="a bound on gains for orders, a bound on utilities for shared sets",
    full=dict(trials=4000),
    symbols={
        "R": "the largest size of a gain",
        "m": "the number of random orders",
        "N": "the number of players",
        r"\delta": "the chance of a miss that is allowed",
        "T, k": "a random set and its size",
        "s_i": "the Shapley value of player $i$",
        "U": "the utility",
        "Z": "what makes the chances of the sizes add up",
    },
    why="A gain lies between $-R$ and $R$, so Hoeffding's inequality with width $2R$ and a union over players give the "
    "radius; in the parity game gains are fair signs and nothing in the exponent is lost. An order spends $N$ "
    "evaluations on one gain for each player. In the difference formula the same $U(T)$ occurs for all pairs of "
    "which $T$ holds one, so one evaluation serves everybody; but $U$ itself is multiplied, and must be small, not "
    "only its gains.",
    notice="With equally many evaluations shared sets win on the left, where every player turns the utility over, and "
    "lose on the right, where all players together move it far and each of them little.",
)
def sampled_shapley_values(key, *, trials: Trials = 400, delta: Annotated[float, Interval(ge=0.01, le=0.2)] = 0.05):
    grid = product(GAINS.tolist(), COUNTS.tolist(), SAMPLES.tolist(), RISKS)
    radius = np.array([permutation_radius(n, m, gain, delta=d) for gain, n, m, d in grid])
    radius = radius.reshape(len(GAINS), len(COUNTS), len(SAMPLES), len(RISKS))
    gains = GAINS[:, None, None, None]
    keys = jax.random.split(key, trials)
    orders = [permutation_estimate(k, parity, PLAYERS, permutations=ORDERS, largest=1.0, delta=delta) for k in keys]
    far = np.array([np.abs(one.values).max() for one in orders])
    tables = generator(key).integers(-9, 10, (5, 2**PLAYERS)).astype(float)
    found = np.stack([group_testing_values(table) for table in tables])
    equal = (tables[:, -1:] - tables[:, :1]) / PLAYERS
    return {
        "chance of a miss in the parity game": Inequality(
            log_misses(radius / gains),
            np.broadcast_to(np.log(RISKS), radius.shape),
            log=True,
            along={"R": GAINS, "N": COUNTS, "m": SAMPLES, "delta": RISKS},
            aside={"narrow": log_misses(radius / gains / 2), "root": log_misses(radius / gains**1.5)},
        ),
        "random orders beyond their radius": Chance(
            int(np.sum(far > orders[0].radius)), trials, delta, aside={"half": np.sum(far > orders[0].radius / 2)}
        ),
        "mean of a group test": Identity(
            found,
            shapley_by_orders(tables),
            scale=9.0 * PLAYERS,
            size=2.0**PLAYERS,
            aside={"equal": equal, "errors": errors_by_budget(key)},
        ),
    }


@sampled_shapley_values.control("gains within an interval of width R", of="chance of a miss in the parity game")
def narrow(evidence):
    return replace(evidence, quantity=evidence.aside["narrow"])


@sampled_shapley_values.control("√R for R", of="chance of a miss in the parity game")
def root_of_the_gain(evidence):
    return replace(evidence, quantity=np.maximum(evidence.aside["root"], -1e4))  # beyond one there is no miss at all


@sampled_shapley_values.control("half the radius", of="random orders beyond their radius")
def half(evidence):
    return replace(evidence, failures=evidence.aside["half"])


@sampled_shapley_values.control("a normalizer with one more term, 1/N", of="mean of a group test")
def longer(evidence):
    factor = 1 + 2 / PLAYERS / group_testing_constant(PLAYERS)
    equal = np.asarray(evidence.aside["equal"])
    return replace(evidence, left=equal + factor * (evidence.left - equal))


@sampled_shapley_values.picture
def budgets(pieces):
    """Error of twelve Shapley values by evaluations spent, in a game of parity (left) and in a team (right)."""
    errors = np.asarray(pieces["mean of a group test"].aside["errors"])
    panels = [
        Curves(
            [Line("random orders", BUDGETS, one[0]), Line("shared random sets", BUDGETS, one[1])],
            x="evaluations of the utility",
            y="Euclidean error of all values",
            title=title,
            log="xy",
        )
        for one, title in zip(errors, ("parity: gains ±1", "a team: small gains, large sum"), strict=True)
    ]
    return Row(panels)
