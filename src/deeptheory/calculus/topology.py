"""What can be decided of open and closed: topologies of few points, rationals in gaps, finite covers of an interval.

Reference: lucchi Sec. 1.6.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import chain, combinations
from typing import Annotated, Any

from deeptheory.calculus.probability_spaces import members, sets
from deeptheory.foundations.entrances import doors

__all__ = [
    "closure",
    "finite_subcover",
    "interior",
    "is_dense",
    "is_topology",
    "limit_points",
    "simplest_rational",
    "topologies",
]

Set = frozenset


def is_topology(points: Any, opens: Any) -> bool:
    """Say whether a family of sets has ∅ and the whole space, and all unions and intersections of two.

    On finitely many points that is all that a topology asks. Reference: lucchi Sec. 1.6.
    """
    family = set(sets("opens", opens))
    ends = frozenset() in family and frozenset(members("points", points)) in family
    return ends and all(a | b in family and a & b in family for a, b in combinations(family, 2))


def topologies(size: Annotated[int, "[0, 4]"]) -> list[frozenset[Set]]:
    """Return all topologies on the points 0, …, n − 1: 1, 1, 4, 29, 355 of them for n = 0, …, 4.

    `size` is n. By trying all families of subsets, which is why 4 is the most.
    """
    space = frozenset(range(size))
    inner = [frozenset(each) for k in range(1, size) for each in combinations(range(size), k)]
    chosen = chain.from_iterable(combinations(inner, k) for k in range(len(inner) + 1))
    families = (frozenset((*each, frozenset(), space)) for each in chosen)
    return [each for each in families if is_topology(space, each)]


def interior(subset: Any, opens: Any) -> Set:
    """Return the union of all open sets inside a set. Reference: lucchi Def. 10."""
    inside = frozenset(members("subset", subset))
    return frozenset(chain.from_iterable(each for each in sets("opens", opens) if each <= inside))


def limit_points(subset: Any, opens: Any) -> Set:
    """Return the points each of whose open neighbourhoods has a point of the set other than itself.

    Reference: lucchi Def. 12.
    """
    inside, family = frozenset(members("subset", subset)), sets("opens", opens)
    space = frozenset(chain.from_iterable(family))
    return frozenset(p for p in space if all(each & inside - {p} for each in family if p in each))


def closure(subset: Any, opens: Any) -> Set:
    """Return the set with its limit points: the smallest closed set around it.

    The limit points alone may be less: an isolated point of the set is none of its limit points.

    Reference: lucchi Def. 13, Prop. 8.
    """
    return frozenset(members("subset", subset)) | limit_points(subset, opens)


def is_dense(subset: Any, opens: Any) -> bool:
    """Say whether a set meets every open set that is not empty. Reference: lucchi Def. 14."""
    inside = frozenset(members("subset", subset))
    return all(inside & each for each in sets("opens", opens) if each)


def simplest_rational(low: float | Fraction, high: float | Fraction) -> Fraction:
    """Return the rational strictly between two numbers whose denominator is least, and then whose size is.

    By continued fractions, which is a walk down the tree of Stern and Brocot: that there is one is that the rationals
    are dense. Exact: floating-point ends count as the fractions they are.

    Reference: lucchi Thm. 10.
    """
    left, right = Fraction(low), Fraction(high)
    if not left < right:
        raise ValueError(f"high must exceed low = {low}, got {high}")
    if left < 0 < right:
        return Fraction(0)
    if right <= 0:
        return -simplest_rational(-right, -left)
    whole = left.numerator // left.denominator
    if whole + 1 < right:
        return Fraction(whole + 1)
    # Between `whole` and `whole` + 1: the simplest of what is left over, turned upside down.
    above = Fraction(1) / (right - whole)
    if left == whole:
        return whole + Fraction(1, above.numerator // above.denominator + 1)
    return whole + 1 / simplest_rational(above, 1 / (left - whole))


def finite_subcover(intervals: Sequence[tuple[float, float]], low: float, high: float) -> list[int]:
    """Return the fewest of some open intervals (a, b) that still cover [low, high], by their numbers, left to right.

    From the left, always the interval that covers the first point not yet covered and reaches farthest right: no
    choice covers with fewer. Refused if some point is covered by none.

    Reference: lucchi Def. 15, Heine and Borel.
    """
    if not low <= high:
        raise ValueError(f"high must be at least low = {low}, got {high}")
    chosen, reached = [], low
    while not chosen or reached <= high:
        best = max(
            (i for i, (a, b) in enumerate(intervals) if a < reached < b), key=lambda i: intervals[i][1], default=-1
        )
        if best < 0:
            raise ValueError(f"intervals must cover [{low}, {high}], got none around {reached}")
        chosen.append(best)
        reached = intervals[best][1]
    return chosen


doors(__name__)
