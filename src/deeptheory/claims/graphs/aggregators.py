"""What a node can know of its neighbours when their states are added, averaged or maximised (handbook 3.1)."""

from dataclasses import replace
from itertools import pairwise
from typing import Annotated

import numpy as np
from annotated_types import Interval

from deeptheory.graphs.aggregators import kept_by_maximum, kept_by_mean, kept_by_sum, multisets
from deeptheory.graphs.message_passing import averaged, greatest, summed
from deeptheory.lab import Exact, claim
from deeptheory.lab.pictures import Curves, Dots, Line

AGGREGATORS = {"sum": (summed, kept_by_sum), "mean": (averaged, kept_by_mean), "maximum": (greatest, kept_by_maximum)}
# Three explicit pairs of multisets of states a and b, and which of the three tell them apart.
PAIRS = {"ab, aabb": ("ab", "aabb"), "aab, ab": ("aab", "ab"), "aab, abb": ("aab", "abb")}
TOLD = [[True, False, False], [True, True, False], [True, True, False]]


def names(values):
    """Rows as words, up to rounding: equal words are equal rows."""
    return [" ".join(f"{entry:.9f}" for entry in row) for row in np.asarray(values)]


def aggregated(aggregate, sets):
    """What an aggregator makes of each multiset."""
    places = np.repeat(np.arange(len(sets)), [len(each) for each in sets])
    return names(aggregate(np.concatenate(sets), places, len(sets)))


@claim(
    items={"H3.9": ("values that are told apart", "three pairs", "each keeps less than the one before")},
    says=r"Of the multisets of $1$ to $s$ of $c$ colours sums tell all $\binom{s+c}{c}-1$ apart, means those without a "
    r"common factor, $\sum_d\mu(d)\big(\binom{\lfloor s/d\rfloor+c}{c}-1\big)$ of them, and maxima sets only, "
    r"$\sum_{j\le s}\binom cj$.",
    needs="colours are sent as unit vectors; all multisets with up to six members of three colours",
    symbols={
        "s": "the largest number of neighbours",
        "c": "the number of colours that a neighbour may have",
        r"\mu(d)": "the Möbius function: 1 or −1 as d has an even or odd number of different primes, 0 with a square",
    },
    why="A node of a graph network sees its neighbours only through the sum, mean or maximum of what they send. A sum "
    "of unit vectors lists how often each colour occurs. The mean lists the proportions, which are those "
    "of the same multiset repeated as well; each class has one smallest member, whose counts have no common "
    "factor, and the Möbius function counts those. The maximum has a one wherever a colour occurs at all.",
    notice="With more neighbours sum and mean tell more and more apart, the mean less by the multisets that are "
    "multiples of smaller ones. The maximum stops at the number of sets. To strike out doubled multisets only, "
    "dashed, leaves too many from three on.",
)
def what_aggregators_keep(
    *, colours: Annotated[int, Interval(ge=2, le=5)] = 3, size: Annotated[int, Interval(ge=3, le=7)] = 6
):
    states = dict(zip("ab", np.eye(colours), strict=False))
    pairs = [np.array([states[letter] for letter in each]) for pair in PAIRS.values() for each in pair]
    sizes = range(1, size + 1)
    found, predicted, told, kept = [], [], [], {}
    for name, (aggregate, count) in AGGREGATORS.items():
        *few, _, _, _, _, _, _ = seen = aggregated(aggregate, multisets(colours, size) + pairs)
        found.append([len(set(few[: kept_by_sum(colours, n)])) for n in sizes])
        predicted.append([count(colours, n) for n in sizes])
        told.append([one != other for one, other in zip(seen[-6::2], seen[-5::2], strict=True)])
        kept[name] = few
    # How many values of the weaker one go with a single value of the stronger one: always one.
    steps = list(pairwise(kept.values()))
    halves = [kept_by_sum(colours, n) - (kept_by_sum(colours, n // 2) if n > 1 else 0) for n in sizes]
    return {
        "values that are told apart": Exact(
            found,
            predicted,
            along={"aggregator": list(AGGREGATORS), "up to so many neighbours": np.array(sizes)},
            aside={"without the doubled": np.array(halves)},
        ),
        "three pairs": Exact(np.transpose(told), TOLD, along={"pair": list(PAIRS), "aggregator": list(AGGREGATORS)}),
        "each keeps less than the one before": Exact(
            [len(set(zip(one, other, strict=True))) for one, other in steps],
            [len(set(one)) for one, _ in steps],
            aside={"values of the weaker": [len(set(other)) for _, other in steps]},
        ),
    }


@what_aggregators_keep.control("means confuse a multiset with its double only", of="values that are told apart")
def doubled(evidence):
    rival = np.array(evidence.right)
    rival[1] = evidence.aside["without the doubled"]
    return replace(evidence, right=rival)


@what_aggregators_keep.control("means tell what sums tell", of="three pairs")
def means_are_sums(evidence):
    rival = np.array(evidence.right)
    rival[:, 1] = rival[:, 0]
    return replace(evidence, right=rival)


@what_aggregators_keep.control("each keeps as much as the one before", of="each keeps less than the one before")
def as_much(evidence):
    return replace(evidence, right=np.asarray(evidence.aside["values of the weaker"]))


@what_aggregators_keep.picture
def values_by_size(pieces):
    """Multisets that sum, mean and maximum tell apart, by the largest number of neighbours: counted and predicted."""
    piece = pieces["values that are told apart"]
    sizes = np.asarray(piece.along["up to so many neighbours"])
    marks = []
    for name, found, predicted in zip(AGGREGATORS, piece.left, piece.right, strict=True):
        marks += [Dots(name, sizes, found), Line(name, sizes, predicted)]
    doubles = Line("mean", sizes, piece.aside["without the doubled"], rival="only doubled multisets struck out")
    return Curves([*marks, doubles], x="up to so many neighbours", y="multisets told apart")
