"""Closures in finite spaces, rationals in every gap, finite covers of an interval (lucchi 1.6)."""

from dataclasses import replace
from fractions import Fraction
from itertools import combinations, pairwise

import numpy as np

from deeptheory.calculus.topology import (
    closure,
    finite_subcover,
    is_dense,
    limit_points,
    simplest_rational,
    topologies,
)
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Exact, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Line, Row

SIZE = 4


def subsets(space):
    """All subsets of a set."""
    return [frozenset(each) for k in range(len(space) + 1) for each in combinations(sorted(space), k)]


def words(sets):
    """Sets of small numbers, each as one word."""
    return np.array(["".join(map(str, sorted(each))) for each in sets])


@claim(
    items={
        "L1.16": (
            "the closure",
            "closed sets",
            "dense sets",
            "a rational in every gap",
            "covers that cannot be smaller",
        ),
        "L1.21": ("dense sets", "covers that cannot be smaller"),
    },
    says=r"The closure $A\cup A'$ is the smallest closed set around $A$, which is closed if and only if $A'\subseteq "
    r"A$. Every gap holds a rational, of least denominator by continued fractions; a cover of $[a,b]$ by open "
    r"intervals has a least finite subcover, found from the left.",
    needs="all 355 topologies on four points with all their subsets; random gaps and covers, against exhaustive search",
    symbols={
        r"A'": "the limit points of $A$, in whose every neighbourhood lies a point of $A$ other than themselves",
        r"\text{closed}": "having an open complement",
        r"\text{cover}": "a family of open sets whose union holds the interval",
    },
    why=r"A point outside $A\cup A'$ has a neighbourhood without points of $A$, so the complement of $A\cup A'$ is "
    r"open; and a closed set around $A$ holds $A'$, since its complement is a neighbourhood that misses $A$. Limit "
    r"points alone are not enough: an isolated point of $A$ is none. A gap is wider than $1/q$ for some $q$, and then "
    r"a multiple of $1/q$ lies inside. Of a cover one may always take the interval that reaches farthest.",
    notice="Left: gaps and the simplest rational inside each, with its denominator: narrow gaps mostly need large "
    "ones. Right: an open cover of an interval, and the few of its members that suffice.",
)
def closures_and_covers(key, *, trials: Trials = 20):
    rng, space = generator(key), frozenset(range(SIZE))
    cases = [(opens, each) for opens in topologies(SIZE) for each in subsets(space)]
    closed = {opens: [space - each for each in opens] for opens in {case[0] for case in cases}}
    around = [frozenset.intersection(*(c for c in closed[opens] if a <= c)) for opens, a in cases]
    limits = [limit_points(a, opens) for opens, a in cases]
    lows, gaps = rng.uniform(-2, 2, trials), 10 ** rng.uniform(-3, -0.5, trials)
    ends = [(Fraction(low), Fraction(low + gap)) for low, gap in zip(lows, gaps, strict=True)]
    least = [next(q for q in range(1, 10**4) if int(np.floor(float(a * q))) + 1 < b * q) for a, b in ends]
    starts, widths = rng.uniform(-0.3, 0.9, (trials, 7)), rng.uniform(0.2, 0.6, (trials, 7))
    covers = [
        [*zip(row.tolist(), (row + w).tolist(), strict=True), (-0.1, 0.3), (0.2, 0.75), (0.7, 1.2)]
        for row, w in zip(starts, widths, strict=True)
    ]
    found = [simplest_rational(*pair) for pair in ends]
    return {
        "the closure": Exact(words(closure(a, o) for o, a in cases), words(around), aside={"limits": words(limits)}),
        "closed sets": Exact(
            np.array([each <= a for each, (_, a) in zip(limits, cases, strict=True)]),
            np.array([a in closed[opens] for opens, a in cases]),
            aside={"not open": np.array([a not in opens for opens, a in cases])},
        ),
        "dense sets": Exact(
            np.array([is_dense(a, opens) for opens, a in cases]),
            np.array([each == space for each in around]),
            aside={"limits": np.array([each == space for each in limits])},
        ),
        "a rational in every gap": Exact(
            np.array([each.denominator for each in found]),
            np.array(least),
            aside={"widths": gaps, "places": lows, "rationals": np.array([float(each) for each in found]),
                   "wide": np.array([int(np.floor(1 / float(b - a))) + 1 for a, b in ends])},
        ),
        "covers that cannot be smaller": Exact(
            np.array([len(finite_subcover(each, 0.0, 1.0)) for each in covers]),
            np.array([fewest(each) for each in covers]),
            aside={"longest first": np.array([longest_first(each) for each in covers]), "cover": np.array(covers[0])},
        ),
    }  # fmt: skip


def covered(intervals):
    """Whether open intervals cover [0, 1]: at the ends, at every end of one of them inside, and between these."""
    places = sorted({0.0, 1.0, *(e for pair in intervals for e in pair if 0 <= e <= 1)})
    middles = [(a + b) / 2 for a, b in pairwise(places)]
    return all(any(a < x < b for a, b in intervals) for x in (*places, *middles))


def fewest(intervals):
    """The least number of intervals that cover, over all choices."""
    return next(k for k in range(1, 11) if any(covered(each) for each in combinations(intervals, k)))


def longest_first(intervals):
    """How many are taken if one takes the longest first until all is covered."""
    ordered = sorted(intervals, key=lambda pair: pair[0] - pair[1])
    return next(k for k in range(1, 11) if covered(ordered[:k]))


@closures_and_covers.control("the union of the limit points alone", of="the closure")
def limits_alone(evidence):
    return replace(evidence, left=evidence.aside["limits"])


@closures_and_covers.control("closed is what is not open", of="closed sets")
def not_open(evidence):
    return replace(evidence, left=evidence.aside["not open"])


@closures_and_covers.control("dense if every point is a limit point", of="dense sets")
def all_limits(evidence):
    return replace(evidence, left=evidence.aside["limits"])


@closures_and_covers.control("the first denominator q with 1/q below the width", of="a rational in every gap")
def by_width(evidence):
    return replace(evidence, right=evidence.aside["wide"])


@closures_and_covers.control("the longest intervals first", of="covers that cannot be smaller")
def by_length(evidence):
    return replace(evidence, left=evidence.aside["longest first"])


@closures_and_covers.picture
def gaps_and_a_cover(pieces):
    """Denominators of the simplest rational over the width of its gap (left); a cover of [0, 1] (right)."""
    gap, cover = pieces["a rational in every gap"], pieces["covers that cannot be smaller"].aside["cover"]
    chosen = finite_subcover([(float(a), float(b)) for a, b in cover], 0.0, 1.0)
    wide = gap.aside["widths"]
    left = Curves(
        [
            Dots("least denominator", wide, gap.left),
            Line("1/width", np.sort(wide), 1 / np.sort(wide), rival="the first q with 1/q below the width"),
        ],
        x="width of the gap",
        y="denominator",
        log="xy",
    )
    marks = [Line("needed" if i in chosen else "not needed", [a, b], [i + 1, i + 1]) for i, (a, b) in enumerate(cover)]
    return Row(
        [left, Curves([*marks, Line("the interval", [0, 1], [0, 0])], x="place", y="number of the open interval")]
    )
