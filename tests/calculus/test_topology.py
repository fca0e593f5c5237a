"""Topologies of few points by enumeration; least denominators and least covers against brute force."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from deeptheory.calculus.topology import (
    closure,
    finite_subcover,
    interior,
    is_dense,
    limit_points,
    simplest_rational,
    topologies,
)


@pytest.mark.item("L1.16")
def test_closure_is_the_smallest_closed_set():
    """In all 34 topologies on up to three points, which are as many as there should be."""
    counts = []
    for size in range(4):
        families = topologies(size)
        counts.append(len(families))
        for opens in families:
            space = frozenset(range(size))
            closed = [space - each for each in opens]
            for subset in (frozenset(c) for k in range(size + 1) for c in combinations(range(size), k)):
                around = frozenset.intersection(*(each for each in closed if subset <= each))
                assert closure(subset, opens) == around and interior(subset, opens) == space - closure(
                    space - subset, opens
                )
                assert (limit_points(subset, opens) <= subset) == (subset in closed)
                assert is_dense(subset, opens) == (around == space)
    assert counts == [1, 1, 4, 29]


@pytest.mark.item("L1.16")
def test_simplest_rational_against_a_search():
    rng = np.random.default_rng(0)
    for low, gap in zip(rng.uniform(-3, 3, 60), rng.uniform(0.003, 0.3, 60), strict=True):
        left, right = Fraction(low), Fraction(low + gap)
        found = simplest_rational(left, right)
        assert left < found < right
        least = next(q for q in range(1, 2000) if (left * q).__floor__() + 1 < right * q)
        assert found.denominator == least
    assert simplest_rational(3.1415, 3.1416) == Fraction(333, 106) and simplest_rational(0.35, 0.45) == Fraction(2, 5)
    with pytest.raises(ValueError, match="high must exceed"):
        simplest_rational(1.0, 1.0)


@pytest.mark.item("L1.16")
def test_least_subcover_against_all_subsets():
    rng = np.random.default_rng(1)
    for _ in range(20):
        starts = rng.uniform(-0.3, 1, 8)
        intervals = [(float(a), float(a + w)) for a, w in zip(starts, rng.uniform(0.2, 0.7, 8), strict=True)] + [
            (-0.1, 0.3),
            (0.2, 0.75),
            (0.7, 1.2),
        ]
        found = finite_subcover(intervals, 0.0, 1.0)
        ends = sorted({0.0, 1.0, *(e for pair in intervals for e in pair if 0 <= e <= 1)})

        def covers(some, places=ends):
            return all(any(a < x < b for a, b in some) for x in places)

        assert covers([intervals[i] for i in found])
        assert not any(covers(some) for some in combinations(intervals, len(found) - 1))
    with pytest.raises(ValueError, match="must cover"):
        finite_subcover([(-1.0, 0.5), (0.5, 2.0)], 0.0, 1.0)
