"""Exact expectations over samples, ghosts and signs against averages over every one of them."""

from itertools import product

import numpy as np
import pytest

from deeptheory.foundations.randomness import generator
from deeptheory.generalization.capacity import symmetrization as s


def test_all_four_by_enumeration(key):
    draw = generator(key)
    values, law, m = draw.standard_normal((3, 2)), np.asarray([0.3, 0.7]), 3
    totals = np.zeros(4)
    for z in product(range(2), repeat=m):
        chance = np.prod(law[list(z)])
        totals[0] += chance * np.max(values @ law - values[:, list(z)].mean(1))
        for signs in product((-1, 1), repeat=m):
            totals[3] += chance / 8 * np.max(values[:, list(z)] @ signs) / m
        for ghost in product(range(2), repeat=m):
            both = chance * np.prod(law[list(ghost)])
            difference = values[:, list(ghost)] - values[:, list(z)]
            totals[1] += both * np.max(difference.mean(1))
            totals[2] += sum(both / 8 * np.max(difference @ signs) / m for signs in product((-1, 1), repeat=m))
    found = [
        part(values, law, m)
        for part in (
            s.expected_deviation,
            s.expected_ghost_deviation,
            s.expected_symmetrized_deviation,
            s.rademacher_complexity,
        )
    ]
    np.testing.assert_allclose(found, totals, atol=1e-14)


def test_one_function_deviates_by_nothing_on_average():
    values, law = np.asarray([[0.2, 0.9, 0.4]]), np.asarray([0.5, 0.25, 0.25])
    assert s.expected_deviation(values, law, 12) == pytest.approx(0, abs=1e-14)
    assert s.rademacher_complexity(values, law, 12) == pytest.approx(0, abs=1e-14)


def test_bad_laws_are_refused():
    with pytest.raises(ValueError, match="sum to one"):
        s.rademacher_complexity(np.ones((1, 2)), np.asarray([0.5, 0.6]), 3)
    with pytest.raises(ValueError, match=r"samples must lie in \[1, 1000\], got 0"):
        s.expected_deviation(np.ones((1, 2)), np.asarray([0.5, 0.5]), 0)
