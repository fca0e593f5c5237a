"""Data Shapley of 100 training points by random orders, beside pyDVL: the same ridge regression, equally accurate.

`python -m benchmarks shapley`. The utility is minus the mean squared error on 200 test points of ridge regression with
10 features; every order trains on its 100 beginnings. As many orders are drawn on both sides and the estimator is the
same, so that its error is the same in law. That this is so is checked twice. On 12 points all subsets are enumerated,
which gives the values and the exact standard deviation of a player's gain: errors of all sides are at most 5 standard
errors, and ours is within the radius that it states. On 100 points the root mean square error against 20,000 orders is
held to what the spread of those orders predicts.

Standard errors estimated from 20 orders are no yardstick: gains of the few who come first are large, so who was never
early has a standard error far too small. Two runs of ours then differ by up to 100 of them.

pyDVL trains scikit-learn's ridge regression as its documentation does, and, as the least that a model can cost it, a
class of four lines that solves the normal equations.
"""

import math
import time
from functools import partial

import jax
import numpy as np

from benchmarks.harness import Contender, Peer, compare
from deeptheory.attribution.data_values import ridge_utility
from deeptheory.attribution.shapley_sampling import permutation_estimate

POINTS, FEATURES, TESTS, RIDGE, ORDERS, REFERENCE = 100, 10, 200, 1.0, (20, 100), 20_000
SMALL, SMALL_ORDERS = 12, 300


def problem(points, seed=0):
    draw = np.random.default_rng(seed)
    weights = draw.standard_normal(FEATURES)
    x, u = draw.standard_normal((points, FEATURES)), draw.standard_normal((TESTS, FEATURES))
    return x, x @ weights + draw.standard_normal(points), u, u @ weights


def estimated(problem, orders, turn, largest=1.0):
    utility = ridge_utility(*problem, ridge=RIDGE)
    return permutation_estimate(jax.random.key(turn), utility, len(problem[1]), permutations=orders, largest=largest)


def asked(peer, problem, orders, turn, bare):
    arrays = {name: a.tolist() for name, a in zip(("x", "y", "test_x", "test_y"), problem, strict=True)}
    return peer.ask(work="shapley", orders=orders, ridge=RIDGE, seed=turn, bare=bare, **arrays)


def enumerated(x, y, u, v):
    """Shapley values, the standard deviation of a gain in a random order, and the largest gain: all subsets, in NumPy.

    Nothing of ours is used, so that it can say who is right.
    """
    count = len(y)
    table = np.empty(2**count)
    for subset in range(2**count):
        chosen = [i for i in range(count) if subset >> i & 1]
        weights = np.linalg.solve(x[chosen].T @ x[chosen] + RIDGE * np.eye(x.shape[1]), x[chosen].T @ y[chosen])
        table[subset] = -np.mean((u @ weights - v) ** 2)
    means, squares, largest = np.zeros(count), np.zeros(count), 0.0
    for i in range(count):
        for subset in range(2**count):
            if not subset >> i & 1:
                gain = table[subset | 1 << i] - table[subset]
                chance = 1 / (count * math.comb(count - 1, subset.bit_count()))
                means[i] += chance * gain
                squares[i] += chance * gain**2
                largest = max(largest, abs(gain))
    return means, np.sqrt(squares - means**2), largest


def exactness(peer):
    """On few points: errors in exact standard errors, by who made them, then our largest error and our radius."""
    small = problem(SMALL)
    values, spread, largest = enumerated(*small)
    ours = estimated(small, SMALL_ORDERS, 0, largest)
    found = {
        "deeptheory": ours.values,
        "pyDVL": asked(peer, small, SMALL_ORDERS, 0, bare=False)[1],
        "pyDVL, bare model": asked(peer, small, SMALL_ORDERS, 1, bare=True)[1],
    }
    units = {who: (np.abs(given - values) / (spread / SMALL_ORDERS**0.5)).max() for who, given in found.items()}
    if max(units.values()) > 5:
        raise AssertionError(f"on {SMALL} points errors are {units} standard errors")
    error = np.abs(ours.values - values).max()
    if error > ours.radius:
        raise AssertionError(
            f"on {SMALL} points the estimate is off by {error:.2g}, beyond its radius {ours.radius:.2g}"
        )
    return units, error, ours.radius


def main():
    with jax.enable_x64(True):
        peer, given, misses = Peer("pydvl"), problem(POINTS), {}
        units, error, radius = exactness(peer)
        reference = estimated(given, REFERENCE, 10**6)
        spread = reference.errors * REFERENCE**0.5

        def held(who, size, values):
            """The root mean square error of an estimate, as a multiple of what the orders' spread predicts."""
            predicted = np.sqrt(np.mean(spread**2) * (1 / size + 1 / REFERENCE))
            miss = np.sqrt(np.mean((values - reference.values) ** 2)) / predicted
            misses.setdefault((who, size), []).append(miss)
            if not 0.5 < miss < 2:
                raise AssertionError(f"{who}'s error from {size} orders is {miss:.2f} times what it should be")
            return values.sum()

        def ours(size, turn):
            start = time.perf_counter()
            found = estimated(given, size, turn)
            return time.perf_counter() - start, held("deeptheory", size, found.values)

        def theirs(who, bare, size, turn):
            seconds, found = asked(peer, given, size, turn, bare)
            return seconds, held(who, size, found)

        table = compare(
            "Shapley values of 100 training points by so many random orders of them",
            [
                Contender("deeptheory", f"jax {jax.__version__}", ours),
                Contender("pyDVL", peer.versions, partial(theirs, "pyDVL", False)),
                Contender("pyDVL, bare model", peer.versions, partial(theirs, "pyDVL, bare model", True)),
            ],
            ORDERS,
            rounds=2,
            tolerance=1e-8,
        )
        peer.close()
    exact = ", ".join(f"{who} {unit:.1f}" for who, unit in units.items())
    large = ", ".join(f"{who} {size}: {np.mean(miss):.2f}" for (who, size), miss in misses.items())
    return (
        f"{table}\nOn {SMALL} points, {SMALL_ORDERS} orders, the largest error in exact standard errors: {exact}; "
        f"ours is {error:.2g}, and {radius:.2g} is stated.\nOn {POINTS} points, root mean square errors against "
        f"{REFERENCE:,} orders, in units of what their spread predicts: {large}.\n"
    )


if __name__ == "__main__":
    print(main())
