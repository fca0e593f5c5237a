"""How much a piece of evidence leaves unseen, in words, and which piece of several leaves most."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from deeptheory.lab.evidence.base import Judgement
from deeptheory.lab.evidence.saying import percent

if TYPE_CHECKING:
    from deeptheory.lab.outcome import Run

__all__ = ["decisive", "noticed", "overall", "resolution", "unseen", "weakest"]

COARSEST = (("Trend",), ("Law", "Share"), ("Rate", "Limit"), ("Chance",), ("Distribution",), ("Bounded",),
            ("Inequality", "Chain"), ("Printed",), ("Identity",), ("Exact", "Counterexample"))  # fmt: skip
"""Kinds of evidence by how much they leave unseen; the resolutions of those that stand together compare."""

RANK = {kind: rank for rank, kinds in enumerate(COARSEST) for kind in kinds}


def weakest(judgements: Mapping[str, Judgement], kinds: Mapping[str, str]) -> str:
    """The name of the piece that leaves most unseen: of the coarsest kind, that of the largest resolution."""

    def strength(name: str) -> tuple[int, float]:
        unseen = judgements[name].resolution
        return RANK.get(kinds.get(name, ""), len(RANK)), 1.0 if unseen is None else -unseen

    return min(judgements, key=strength)


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
    size = judged.resolution
    if kind in ("Exact", "Counterexample", "Printed"):
        return "The comparison is exact: any difference would have been noticed."
    if kind in ("Inequality", "Chain"):
        close = judged.tightness
        if close is None:
            return ""
        # Said of bounds from above and from below alike: the evidence does not know which side is the theorem's.
        if close >= 0.995:
            return "Any sharper inequality would have been violated."
        return f"An inequality sharper by {percent(1 - close)} would have been violated."
    if not size:  # unknown, or smaller than can be said
        return ""
    if kind in ("Rate", "Limit"):
        return f"An exponent that differs by {size:.2g} would have been noticed."
    if kind == "Chance":
        return f"A rate of {resolution(kind, judged)} would have been noticed."
    if kind == "Distribution":
        return f"A law whose distribution function differs by {size:.2g} anywhere would have been noticed."
    return f"A deviation of {percent(size)} would have been noticed." if kind != "Trend" else ""


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
