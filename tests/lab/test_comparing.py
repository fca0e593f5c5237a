"""Prediction beside observation: at the cell that matters, in the claim's own words."""

import numpy as np
import pytest

from deeptheory.lab.comparing import Comparison, compared
from deeptheory.lab.evidence import (
    Bounded,
    Chain,
    Chance,
    Distribution,
    Evidence,
    Exact,
    Identity,
    Inequality,
    Law,
    Limit,
    Printed,
    Rate,
    Share,
    Trend,
)

X = np.array([10.0, 100.0, 1000.0])
WAVE = np.tile([-1.0, 1.0], 32)

CASES = [
    (Inequality([1.0, 3.0], [2.0, 4.0], along={"gamma": [0.5, 2.0]}), Comparison("at most 4", "3", "γ = 2")),
    (Inequality([-9.0, -3.0], [-2.0, -2.0], log=True), Comparison("at most e^-2", "e^-3")),
    (Inequality([1e-7], [0.0], error=1e-6), Comparison("at most 0 + 1e-06", "1e-07")),
    (Chain({"first": ([1.0], [2.0]), "last": ([1.0], [1.1])}), Comparison("at most 1.1", "1", "last")),
    (Identity([1.0, 2.0], [1.0, 2.0], along={"size": [3, 4]}), Comparison("2", "2", "size = 4")),
    (Printed([0.1234, 0.5], [0.123, 0.5], along={"row": ["a", "b"]}), Comparison("0.123", "0.1234", "row = a")),
    (Exact([1, 2], [1, 3]), Comparison("3", "2")),
    (Exact(["a"], ["a"]), Comparison("equal entries", "1 compared")),
    (Chance([1, 8], 100, 0.1, along={"n": [5, 6]}), Comparison("at most 0.1", "0.08 ± 0.21", "n = 6")),
    (Share([50, 20], 100, [0.5, 0.25], along={"p": [1, 2]}), Comparison("0.25", "0.2", "p = 2")),
    (Rate(X, X**-0.5, exponent=-0.5), Comparison("exponent -0.5", "-0.500")),
    (Rate(X, X**-0.5 * np.exp(1 / X), exponent=-0.5, order=1.0), Comparison("exponent -0.5", "-0.500")),
    (Limit(X, 1 / X, order=0.5), Comparison("exponent ≲ -0.5", "-1.000")),
    (Bounded(np.arange(1.0, 5.0), np.array([1.0, 1.5, 1.75, 1.875])), Comparison("bounded", "1 … 1.875")),
    (Distribution((np.arange(100) + 0.5) / 100), Comparison("distance 0", "0.005")),
    (Evidence(), Comparison("", "")),
]


@pytest.mark.parametrize(("piece", "expected"), CASES, ids=[type(piece).__name__ for piece, _ in CASES])
def test_numbers_by_hand(piece, expected):
    assert compared(piece) == expected


def test_means_come_with_their_width():
    """Of two cells the one is named that leaves more unseen, relative to its prediction."""
    observed = np.stack([100 + 0.1 * WAVE, 1 + 0.1 * WAVE])
    found = compared(Law([100.0, 1.0], observed, along={"gamma": [0.5, 2.0]}, exact=True))
    assert (found.predicted, found.at) == ("1.000", "γ = 2")
    assert found.observed.startswith("1.000 ± 0.0")
    assert compared(Trend(np.stack([5 + WAVE, 3 + WAVE]))).observed.startswith("3.0")


def test_what_holds_names_the_cell_that_decides_to_how_many_per_cent():
    """A cell that agrees to five digits says nothing of one that is known to a tenth."""
    observed = np.stack([100.0001 + 1e-3 * WAVE, 1 + 0.1 * WAVE])
    judged = Law([100.0, 1.0], observed, exact=True, resolution=0.5).judge()
    assert judged.verdict == "holds"
    value, width = (float(part) for part in judged.reason.split(": ")[1].split(" observed")[0].split(" ± "))
    assert abs(value - 1) + width == pytest.approx(judged.resolution, rel=0.1)


def test_failures_within_a_promise_are_counted_beside_it():
    judged = Chance([3, 20], [1000, 1000], 0.05).judge()
    assert (judged.verdict, judged.reason) == ("holds", "20 of 1,000 failed where 50 may")
    unlucky = Chance(55, 1000, 0.05).judge()
    assert unlucky.reason == "55 of 1,000 failed where 50 may on average; so many come about by chance"
