"""What a verdict would have noticed, in words. They decide nothing, so they stand apart from what judges."""

from typing import TYPE_CHECKING

from deeptheory.lab.evidence.base import Judgement
from deeptheory.lab.evidence.coarseness import weakest
from deeptheory.lab.evidence.saying import percent

if TYPE_CHECKING:
    from deeptheory.lab.outcome import Run

__all__ = ["decisive", "noticed", "overall", "resolution", "unseen"]


def resolution(kind: str, judged: Judgement) -> str:
    """The smallest deviation that would have been refuted, in words that fit the kind of evidence."""
    value = judged.resolution
    if value is None:
        return "—"
    if kind in ("Exact", "Counterexample"):
        return "exact"
    if kind in ("Rate", "Limit"):
        return f"±{value:.2g} in the exponent"
    if kind in ("Inequality", "Chain") and judged.tightness is not None:
        return f"tightness {percent(judged.tightness)}"
    if kind == "Chance":
        within = judged.tightness if value == 0 else None
        return f"{1 + value:.2g} times the promise" if within is None else f"{percent(within)} of the promise"
    if kind == "Distribution":
        return f"{value:.2g}"
    return percent(value)


def noticed(kind: str, judged: Judgement) -> str:
    """What would not have gone unseen by a piece of evidence, as a sentence; empty where there is nothing to add."""
    size, close = judged.resolution, judged.tightness
    if kind in ("Exact", "Counterexample"):
        return "The comparison is exact: any difference would have been noticed."
    if kind == "Printed":
        return "A difference in the last printed digit would have been noticed."
    if kind in ("Inequality", "Chain"):
        return "" if close is None else sharper(close, chain=kind == "Chain")
    if kind == "Chance" and close is not None:
        rate = f"above {percent(close)} of" if close < 0.995 else f"of {close:.2g} times"
        return f"A failure rate {rate} the promised one would have been noticed."
    if not size:  # unknown, or smaller than can be said
        return ""
    if kind == "Rate":
        return f"An exponent that differs by {size:.2g} would have been noticed."
    if kind == "Limit":
        return f"Distances that fall more slowly by {size:.2g} in the exponent would have been noticed."
    if kind == "Distribution":
        return f"A law whose distribution function differs by {size:.2g} anywhere would have been noticed."
    if kind == "Bounded" and judged.statistical:
        return f"A trend of {percent(size)} per e-fold would have been noticed."
    if kind == "Bounded":
        return f"If the differences go on shrinking so, {percent(size)} of the largest value is still to come."
    if kind == "Trend":
        return "The effect is a mean difference, and its sign is what the statement says: above 0."
    return f"A deviation of {percent(size)} would have been noticed."


def sharper(close: float, *, chain: bool = False) -> str:
    """How much sharper an inequality would have failed, by the share of its larger side that the smaller one reaches.

    Said as a factor between the sides, since the evidence does not know which of them is the theorem's: a bound from
    above is made sharper by making it smaller, one from below by making it larger. The share of a chain is that of its
    slackest link.
    """
    if close < 1e-3:
        return f"The two sides{' of its slackest link' * chain} stay far apart: much sharper, it might hold as well."
    sides = "The two sides of every link" if chain else "The two sides"
    if close >= 0.995:
        met = "meet" if 1 - close < 1e-9 else f"come within {percent(1 - close)} of each other"
        return f"{sides} {met}: anything sharper would have been violated."
    subject = "Any of its links" if chain else "An inequality"
    return f"{subject} sharper by more than a factor {1 / close:.3g} would have been violated."


def decisive(run: "Run") -> str | None:
    """The piece of evidence that a run's verdict, reason and strength are taken from; None where there is none."""
    kinds = {name: described["kind"] for name, described in run.described.items()}
    judged = {name: each for name, each in run.judgements.items() if name in kinds and each.verdict == run.verdict}
    judged = judged or {name: each for name, each in run.judgements.items() if name in kinds}
    return weakest(judged, kinds) if judged else None


def unseen(run: "Run") -> str:
    """What the piece of evidence on which a verdict rests would have noticed, of a run that holds."""
    name = decisive(run)
    if run.verdict != "holds" or name is None:
        return ""
    return noticed(run.described[name]["kind"], run.judgements[name])


def overall(run: "Run") -> str:
    """The resolution of a run in words: that of the piece its verdict, reason and strength are taken from."""
    name = decisive(run)
    return "—" if name is None else resolution(run.described[name]["kind"], run.judgements[name])
