"""Data Shapley of 100 training points by random orders, beside pyDVL: the same ridge regression, as many evaluations.

`python -m benchmarks shapley`. The utility is minus the mean squared error on 200 test points of ridge regression with
10 features; every order trains on its 100 beginnings. Both estimates are random, so they are compared in units of
their standard errors, and their sums, which are exact, to rounding. Before that, on 12 points, our estimate is held to
the exact values within its stated radius.
"""

import time

import jax
import numpy as np

from benchmarks.harness import Contender, Peer, compare
from deeptheory.attribution.data_values import ridge_utility
from deeptheory.attribution.shapley import coalitions, game_table, shapley_values
from deeptheory.attribution.shapley_sampling import permutation_estimate

POINTS, FEATURES, TESTS, RIDGE, ORDERS = 100, 10, 200, 1.0, (20, 100)


def problem(points, seed=0):
    draw = np.random.default_rng(seed)
    weights = draw.standard_normal(FEATURES)
    x, u = draw.standard_normal((points, FEATURES)), draw.standard_normal((TESTS, FEATURES))
    return x, x @ weights + draw.standard_normal(points), u, u @ weights


def estimated(problem, orders, turn, largest=1.0):
    utility = ridge_utility(*problem, ridge=RIDGE)
    return permutation_estimate(jax.random.key(turn), utility, len(problem[1]), permutations=orders, largest=largest)


def exactness():
    """The largest error on 12 points, and the radius stated for it."""
    small = problem(12)
    table = game_table(ridge_utility(*small, ridge=RIDGE), 12)
    masks = coalitions(12)
    largest = max(np.abs(table[masks[:, i]] - table[~masks[:, i]]).max() for i in range(12))
    found = estimated(small, 2000, 0, largest)
    return np.abs(found.values - shapley_values(table)).max(), found.radius


def main():
    with jax.enable_x64(True):
        error, radius = exactness()
        if error > radius:
            raise AssertionError(f"on 12 points the estimate is off by {error:.2g}, beyond its radius {radius:.2g}")
        given, kept = problem(POINTS), {}

        def ours(size, turn):
            start = time.perf_counter()
            kept[size] = estimated(given, size, turn)
            return time.perf_counter() - start, kept[size].values.sum()

        peer = Peer("pydvl")

        def theirs(size, turn):
            arrays = {name: a.tolist() for name, a in zip(("x", "y", "test_x", "test_y"), given, strict=True)}
            seconds, found = peer.ask(work="shapley", orders=size, ridge=RIDGE, seed=turn, **arrays)
            apart = np.abs(found - kept[size].values) / np.maximum(kept[size].errors, 1e-12)
            # Two means with the same standard error; 100 of them, their errors estimated from 20 orders or more.
            if apart.max() > 8 * 2**0.5:
                raise AssertionError(f"pyDVL's values are {apart.max():.1f} standard errors from ours")
            return seconds, found.sum()

        table = compare(
            "Shapley values of 100 training points by so many random orders of them",
            [
                Contender("deeptheory", f"jax {jax.__version__}", ours),
                Contender("pyDVL", peer.versions, theirs),
            ],
            ORDERS,
            tolerance=1e-8,
        )
        peer.close()
    return f"{table}\nOn 12 points 2,000 orders are off by {error:.2g}; {radius:.2g} is stated.\n"


if __name__ == "__main__":
    print(main())
