"""What judgements say: counts and numbers as people write them, and all of one piece, the weakest."""

import numpy as np
import pytest

from deeptheory.lab import Bounded, Chance, Exact, Identity, Inequality, Law, Limit, Printed, Rate, Trend
from deeptheory.lab.evidence import Chain, Judgement
from deeptheory.lab.evidence.coarseness import weakest
from deeptheory.lab.evidence.saying import apart, counted, every, measured, percent, power
from deeptheory.lab.outcome import ControlResult
from deeptheory.lab.run import combined
from deeptheory.lab.sensitivity import noticed, resolution

REFUTED = [ControlResult("a rival", "refuted", "")]
WIDTHS = np.asarray([8.0, 16.0, 32.0, 64.0])


@pytest.mark.parametrize(
    ("piece", "said"),
    [
        (Identity(1.0, 1.0), "the number agrees exactly"),
        (Identity(np.ones(2), np.ones(2) + 1e-16), "both numbers agree exactly"),
        (Identity(np.full(3, 0.3), np.full(3, 0.1 + 0.2)), "all 3 numbers agree within 2e-16"),
        (Identity(1.0, 1.5), "1 against 1.5, 2.35e+13 times the allowed gap"),
        (Exact(2, 2), "the entry agrees"),
        (Exact([1, 2], [1, 3]), "1 of 2 entries differ, first 2 against 3"),
        (Printed(np.asarray([0.1]), np.asarray([0.1])), "the printed entry agrees"),
        (Printed(np.asarray([0.1, 0.2]), np.asarray([0.1, 0.2])), "both printed entries agree"),
        (Inequality(0.75, 1.0), "the smaller side reaches 75 % of the larger"),
        (Inequality(-1.0, 0.0), "the instance keeps the inequality"),
        (Inequality(1.000001, 1.0), "the side that should be smaller is larger: 1.000001 against 1"),
        (Chain({"one": (0.5, 1.0)}), "the link holds; the slackest, “one”, reaches 50 % of its larger side"),
        (Rate(WIDTHS, WIDTHS ** (-2 / 3), exponent=-2 / 3), "exponent -0.667, -2/3 predicted"),
        (Limit(WIDTHS, 1 / WIDTHS), "distances fall like size to the power -1.000, order 0.5 stated"),
    ],
)
def test_reasons_count_and_round(piece, said):
    assert piece.judge().reason == said


def test_strength_says_of_what():
    assert Inequality(np.ones(3), 2.0).judge().strength == "no violation in 3 instances"
    assert Inequality(1.0, 2.0).judge().strength == "no violation in 1 instance"


def test_a_mean_is_rounded_where_its_error_begins():
    assert measured(0.1251634, 0.00092, 0.125) == ("0.12516 ± 0.00092", "0.12500")
    assert measured(2.26461, 0.032, 2.27251) == ("2.265 ± 0.032", "2.273")
    assert measured(123456.0, 78.0, 123000.0) == ("123456 ± 78", "123000")
    assert measured(3.21456e-9, 4e-11, 3.2e-9) == ("3.215e-09 ± 4e-11", "3.2e-09")
    seen = np.random.default_rng(0).normal(2.0, 0.1, 400)
    assert Law(2.0, seen, exact=True).judge().reason.endswith("observed, 2.000 predicted")


def test_words_of_numbers():
    assert counted(1, "entry") == "1 entry" and counted(2000, "entry") == "2,000 entries"
    assert every(7, "piece", "hold") == "all 7 pieces hold" and percent(0.031) == "3.1 %"
    assert apart(0.25, 0.5) == ("0.25", "0.5") and apart(1.0, 1.0 + 1e-9) == ("1", "1.000000001")
    assert [power(x) for x in (-1.0, 0.25, -2 / 3, 0.123456)] == ["-1", "0.25", "-2/3", "0.1235"]


def test_a_promise_far_from_reached_says_how_far():
    kept = Chance(0, 20_000, 0.1)
    assert resolution("Chance", kept.judge()) == "0.73 % of the promise"
    assert resolution("Chance", Chance(950, 20_000, 0.05).judge()).endswith("times the promise")
    assert resolution("Inequality", Inequality(0.364, 1.0).judge()) == "tightness 36.4 %"


def test_verdict_reason_strength_and_resolution_are_of_one_piece():
    pieces = {
        "exact": Exact(1, 1),
        "bound": Inequality(0.1, 1.0),  # resolution 0.9, in a unit of its own
        "mean": Law(1.0, np.random.default_rng(0).normal(1.0, 0.05, 400), exact=True),
    }
    judged = {name: piece.judge() for name, piece in pieces.items()}
    verdict, reason, strength, least = combined(judged, REFUTED, pieces=pieces, expects_controls=True)
    assert verdict == "holds" and reason == f"all 3 pieces hold; the weakest, mean: {judged['mean'].reason}"
    assert (strength, least) == (judged["mean"].strength, judged["mean"].resolution)
    trend = Trend(np.random.default_rng(0).normal(1.0, 0.1, 100))
    both = judged | {"sign": trend.judge()}
    assert combined(both, REFUTED, pieces=pieces | {"sign": trend}, expects_controls=True)[2] == "trend"


def test_the_worst_verdict_decides_before_the_weakest_kind():
    pieces = {"mean": Law(1.0, np.random.default_rng(0).normal(1.0, 0.05, 400), exact=True), "sum": Identity(1.0, 2.0)}
    judged = {name: piece.judge() for name, piece in pieces.items()}
    verdict, reason, strength, _ = combined(judged, REFUTED, pieces=pieces, expects_controls=True)
    assert (verdict, strength) == ("refuted", "to rounding") and reason.startswith("sum: 1 against 2")


def test_of_one_kind_the_coarsest_is_the_weakest():
    judged = {name: Judgement("holds", "", "", at) for name, at in (("a", 1e-3), ("b", 2e-3), ("c", None))}
    assert weakest(judged, dict.fromkeys(judged, "Law")) == "b"


def said_of(piece):
    return noticed(type(piece).__name__, piece.judge())


@pytest.mark.parametrize(
    ("share", "said"),
    [
        (1.0, "The two sides meet: anything sharper would have been violated."),
        (0.998, "The two sides come within 0.2 % of each other: anything sharper would have been violated."),
        (0.8, "An inequality sharper by more than a factor 1.25 would have been violated."),
        (0.05, "An inequality sharper by more than a factor 20 would have been violated."),
        (1e-9, "The two sides stay far apart: much sharper, it might hold as well."),
        (0.0, "The two sides stay far apart: much sharper, it might hold as well."),
        (-1.0, "The two sides stay far apart: much sharper, it might hold as well."),
    ],
)
def test_how_tight_an_inequality_is_fits_bounds_from_above_and_from_below(share, said):
    assert said_of(Inequality(share, 1.0)) == said


@pytest.mark.parametrize("share", [0.8, 0.05])
def test_an_inequality_that_is_sharper_than_said_is_violated(share):
    """Whichever side is the theorem's: the bound above is made smaller, or the bound below larger, by that factor."""
    factor = float(said_of(Inequality(share, 1.0)).split("factor ")[1].split(" ")[0])
    for sharpened, verdict in ((factor * 1.01, "refuted"), (factor / 1.01, "holds")):
        assert Inequality(share, 1.0 / sharpened).judge().verdict == verdict
        assert Inequality(share * sharpened, 1.0).judge().verdict == verdict


def test_of_a_chain_the_slackest_link_speaks_for_all():
    assert said_of(Chain({"one": (0.5, 1.0), "two": (0.9, 1.0)})) == (
        "Any of its links sharper by more than a factor 2 would have been violated."
    )
    assert said_of(Chain({"one": (0.0, 1.0), "two": (1.0, 1.0)})) == (
        "The two sides of its slackest link stay far apart: much sharper, it might hold as well."
    )
    assert said_of(Chain({"one": (1.0, 1.0)})).startswith("The two sides of every link meet")


def test_every_other_kind_says_what_it_would_have_noticed():
    assert said_of(Exact(2, 2)) == "The comparison is exact: any difference would have been noticed."
    assert said_of(Printed(0.1, 0.1)) == "A difference in the last printed digit would have been noticed."
    assert said_of(Limit(WIDTHS, 1 / WIDTHS)) == (
        "Distances that fall more slowly by 0.25 in the exponent would have been noticed."
    )
    assert said_of(Chance(0, 20_000, 0.1)) == (
        "A failure rate above 0.73 % of the promised one would have been noticed."
    )
    assert said_of(Chance(950, 20_000, 0.05)).endswith("times the promised one would have been noticed.")
    assert said_of(Bounded(WIDTHS, 1 - 1 / WIDTHS)) == (
        "If the differences go on shrinking so, 1.6 % of the largest value is still to come."
    )
    noisy = 1 + 0.01 * np.random.default_rng(0).normal(size=(4, 100))
    assert said_of(Bounded(WIDTHS, noisy)).endswith("per e-fold would have been noticed.")
    assert said_of(Trend(np.random.default_rng(0).normal(1.0, 0.1, 100))) == (
        "The effect is a mean difference, and its sign is what the statement says: above 0."
    )
