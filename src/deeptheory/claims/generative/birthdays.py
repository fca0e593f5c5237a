"""The birthday paradox, and the test of a generator's support that rests on it."""

from dataclasses import replace
from fractions import Fraction
from math import prod

import numpy as np

from deeptheory.foundations.randomness import generator
from deeptheory.generative.supports import (
    birthday_test,
    collision_probability,
    effective_support,
    near_duplicates,
    uniform_collision_probability,
)
from deeptheory.lab import Chance, Identity, Inequality, Limit, Share, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Level, Line


@claim(
    items={
        "A16.18": ("chance of a duplicate among two roots", "products in rationals", "approach to the limit"),
    },
    says=r"Of $\lceil2\sqrt N\rceil$ draws from $N$ equally likely values two coincide with probability at least "
    r"$1-\frac1e$; exactly $1-\prod_{i<s}(1-\frac iN)$, which tends to $1-e^{-2}$, while $\sqrt N$ draws collide with "
    r"probability near $0.39$ only.",
    needs="the sample rounded up to a whole number",
    symbols={"N": "the number of equally likely values", "s": "the number of draws"},
    why=r"The factors are at most $e^{-i/N}$, so that all draws differ with probability at most $e^{-s(s-1)/2N}$. At "
    r"$s=2\sqrt N$ the exponent is $2-1/\sqrt N$, above one for every $N>1$.",
    notice="The exact chance comes down to its limit from above and stays well above the line that is promised. At "
    "one root of the number, once that is large, about two in five find a double; for few values rounding up decides.",
)
def birthday_paradox():
    sizes = np.array([1, 2, 3, 4, 9, 10, 25, 100, 365, 1000, 10_000, 10**6])
    draws = np.maximum(np.ceil(2 * np.sqrt(sizes)).astype(int), 2)
    roots = np.maximum(np.ceil(np.sqrt(sizes)).astype(int), 2)
    found = np.array(
        [float(uniform_collision_probability(float(n), int(s))) for n, s in zip(sizes, draws, strict=True)]
    )
    short = np.array(
        [float(uniform_collision_probability(float(n), int(s))) for n, s in zip(sizes, roots, strict=True)]
    )
    few, people = [2, 5, 23, 365, 365, 1000], [2, 4, 10, 23, 38, 64]
    exact = [1 - prod(Fraction(n - i, n) for i in range(s)) for n, s in zip(few, people, strict=True)]
    ours = [float(uniform_collision_probability(float(n), s)) for n, s in zip(few, people, strict=True)]
    off = [1 - prod(Fraction(n - i, n) for i in range(s + 1)) for n, s in zip(few, people, strict=True)]
    far = np.array([100, 10**3, 10**4, 10**5, 10**6]) ** 2
    limit = np.array([float(uniform_collision_probability(float(n), int(2 * np.sqrt(n)))) for n in far])
    return {
        "chance of a duplicate among two roots": Inequality(
            np.full(len(sizes), 1 - np.exp(-1)), found, along={"N": sizes}, aside={"one root": short, "limit": limit}
        ),
        "products in rationals": Identity(
            np.array(ours),
            np.array([float(e) for e in exact]),
            size=64.0,
            aside={"one more": np.array([float(e) for e in off])},
        ),
        "approach to the limit": Limit(
            np.sqrt(far), np.abs(limit - (1 - np.exp(-2))), order=1.0, aside={"chance": limit}
        ),
    }


@birthday_paradox.control("one root of the number of values", of="chance of a duplicate among two roots")
def one_root(evidence):
    return replace(evidence, bound=evidence.aside["one root"])


@birthday_paradox.control("one draw more", of="products in rationals")
def one_more(evidence):
    return replace(evidence, right=evidence.aside["one more"])


@birthday_paradox.control("the limit 1 - 1/e", of="approach to the limit")
def promised_limit(evidence):
    return replace(evidence, y=np.abs(evidence.aside["chance"] - (1 - np.exp(-1))))


@birthday_paradox.picture
def chances(pieces):
    """The chance of a duplicate among two roots of the number of values, and among one."""
    piece = pieces["chance of a duplicate among two roots"]
    sizes = piece.along["N"]
    return Curves(
        [
            Dots("2√N draws", sizes, piece.bound),
            Dots("√N draws", sizes, piece.aside["one root"]),
            Level("1 − 1/e", y=1 - np.exp(-1)),
            Level("1 − e⁻²", y=1 - np.exp(-2)),
        ],
        x="number of values",
        y="chance of a duplicate",
        log="x",
        ys=(0, 1.05),
    )


@claim(
    items={
        "A16.19": (
            "samples with near-duplicates",
            "intervals that miss the support",
            "support told from unequal laws",
            "size told by even chances",
        )
    },
    says=r"The share of samples of size $s$ with a near-duplicate, inverted through the birthday formula, tells the "
    r"support $N$ with an exact interval; at even chances $N\approx s^2/(2\ln2)$, not $s^2$. Unequal laws seem smaller "
    "than their support, never larger.",
    needs="points of the support farther apart than the tolerance, and noise smaller than it",
    full=dict(trials=40_000),
    symbols={"s": "the size of each sample", "N": "the number of different things that are made"},
    why="Distances separate two draws of one point from draws of two points, so that a sample has a near-duplicate "
    "exactly when two of its seeds coincide. The chance of that is monotone in the support, and an interval for the "
    "chance becomes one for the support. Of all laws on $N$ points the uniform one collides least.",
    notice="The curve is the birthday formula read backwards: the size of the support by the share of samples that "
    "contain a double. The simulated generators lie on it. The rule that says the square of the sample size is two "
    "fifths too large at even chances.",
)
def birthday_test_of_support(key, *, trials: Trials = 8000):
    draw, sample = generator(key), 12
    supports = np.array([30, 60, 100])
    counts = np.empty(3, int)
    for i, support in enumerate(supports):
        centres = draw.standard_normal((support, 6))
        seeds = draw.integers(support, size=(trials, sample))
        made = centres[seeds] + 1e-3 * draw.standard_normal((trials, sample, 6))
        counts[i] = int(near_duplicates(made, 0.05).sum())
    predicted = np.array([1 - prod(1 - i / n for i in range(sample)) for n in supports])
    # Intervals of 90 % from 60 samples each, many times over; every count has its interval once.
    intervals = [birthday_test(count, 60, sample, delta=0.1) for count in range(61)]
    drawn = draw.binomial(60, predicted[:, None], size=(3, trials))
    low, high = (np.array([getattr(each, end) for each in intervals])[drawn] for end in ("low", "high"))
    misses = np.sum((low > supports[:, None]) | (high < supports[:, None]), axis=1)
    weights = np.arange(1, 201.0)[None] ** -np.array([0.0, 0.3, 0.7, 1.0, 1.5])[:, None]
    laws = weights / weights.sum(-1, keepdims=True)
    sizes = (2, 5, 12, 25)
    told = np.array(
        [[birthday_test(round(10**6 * collision_probability(p, s)), 10**6, s).size for s in sizes] for p in laws]
    )
    even = np.array([10, 30, 100, 300, 1000])
    rule = np.array([birthday_test(1, 2, int(s)).size / s**2 for s in even])
    return {
        "samples with near-duplicates": Share(
            counts, trials, predicted, resolution=0.15, along={"support": supports}, aside={"sample": np.array(sample)}
        ),
        "intervals that miss the support": Chance(misses, trials, 0.1, along={"support": supports}),
        "support told from unequal laws": Inequality(
            told,
            200.0 * (1 + 1e-3),  # chances are rounded to a millionth
            along={"law": ["equal", "power 0.3", "power 0.7", "power 1", "power 1.5"], "sample": np.array(sizes)},
            aside={"effective": np.array([effective_support(p) for p in laws])},
        ),
        "size told by even chances": Limit(even, np.abs(rule - 1 / (2 * np.log(2))), order=1.0, aside={"ratio": rule}),
    }


@birthday_test_of_support.control("one draw fewer in each sample", of="samples with near-duplicates")
def one_draw_fewer(evidence):
    s = int(evidence.aside["sample"]) - 1
    supports = np.asarray(evidence.along["support"])
    return replace(evidence, predicted=np.array([1 - prod(1 - i / n for i in range(s)) for n in supports]))


@birthday_test_of_support.control("intervals that miss one time in fifty", of="intervals that miss the support")
def rarer_misses(evidence):
    return replace(evidence, at_most=0.02)


@birthday_test_of_support.control("the effective support bounds what is told", of="support told from unequal laws")
def effective_bound(evidence):
    return replace(evidence, bound=evidence.aside["effective"][:, None] * (1 + 1e-3))


@birthday_test_of_support.control("the square of the sample at even chances", of="size told by even chances")
def square_rule(evidence):
    return replace(evidence, y=np.abs(evidence.aside["ratio"] - 1))


@birthday_test_of_support.picture
def read_backwards(pieces):
    """Support by the share of samples with a double: the formula, the simulated generators, and the square rule."""
    piece = pieces["samples with near-duplicates"]
    sample = int(piece.aside["sample"])
    sizes = np.geomspace(15, 2000, 80)
    return Curves(
        [
            Line("birthday formula", uniform_collision_probability(sizes, sample), sizes),
            Dots("simulated", np.asarray(piece.count) / piece.trials, np.asarray(piece.along["support"])),
            Level("square of the sample", y=sample**2),
            Level("even chances", x=0.5),
        ],
        x="share of samples with a near-duplicate",
        y="size of the support",
        log="y",
    )
