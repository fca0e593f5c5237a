"""What an execution of a claim came to: the verdicts with their reasons, and the evidence behind them, as recorded."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from deeptheory.lab._claim import Pieces
from deeptheory.lab.evidence import LEVEL, Judgement, Verdict, decode, known
from deeptheory.lab.faces import face

__all__ = ["ControlResult", "Run"]


@dataclass(frozen=True)
class ControlResult:
    """What became of one rival."""

    name: str
    verdict: Verdict
    reason: str
    erratum: str | None = None


@dataclass(frozen=True)
class Run:
    """A recorded execution: verdict, reason, strength, resolution, controls, and the evidence behind them.

    Where `control` names one, that rival was run in the claim's place, and the verdict is on the rival.
    """

    claim: str
    items: dict[str, str]
    verdict: Verdict
    reason: str
    strength: str
    resolution: float | None
    controls: list[ControlResult]
    seconds: float
    seed: int
    parameters: dict[str, Any]
    judgements: dict[str, Judgement]
    described: dict[str, Any]
    blob: bytes
    source: str = ""
    platform: str = ""
    timing: dict[str, float] = field(default_factory=dict)
    full: bool = False
    control: str | None = None
    made: float | None = field(default=None, compare=False)
    """When the store recorded it, in seconds since 1970; None for a run that comes from no store."""
    unknown: dict[str, Any] = field(default_factory=dict)
    """What a later version of this package recorded, kept as it was."""

    @property
    def evidence(self) -> Pieces:
        """The evidence by name, rebuilt from what was recorded."""
        return decode(self.described, self.blob)

    @property
    def thinned(self) -> list[str]:
        """The pieces of evidence of which the record keeps only a part of the numbers that were judged."""
        return [name for name, piece in self.described.items() if piece.get("thinned")]

    @property
    def as_expected(self) -> bool:
        """Whether the claim holds; controls that are not refuted have already made it inconclusive.

        A control run in the claim's place must be refuted.
        """
        return self.verdict == ("holds" if self.control is None else "refuted")

    def record(self) -> dict[str, Any]:
        """Everything but the arrays, as JSON."""
        apart = ("blob", "unknown")
        own = {entry.name: getattr(self, entry.name) for entry in dataclasses.fields(self) if entry.name not in apart}
        plain = {**self.unknown, **own}
        plain["controls"] = [dataclasses.asdict(control) for control in self.controls]
        plain["judgements"] = {name: dataclasses.asdict(judged) for name, judged in self.judgements.items()}
        return plain

    @staticmethod
    def of_record(record: Mapping[str, Any], blob: bytes) -> "Run":
        judgements = {name: Judgement(**known(Judgement, judged)) for name, judged in record["judgements"].items()}
        controls = [ControlResult(**known(ControlResult, control)) for control in record["controls"]]
        own = known(Run, record)
        unknown = {name: value for name, value in record.items() if name not in own}
        return Run(**{**own, "judgements": judgements, "controls": controls}, blob=blob, unknown=unknown)

    def json(self) -> dict[str, Any]:
        """The run as `check --json` prints it: of every piece prediction beside observation, as the terminal shows."""
        from deeptheory.lab.comparing import compared

        beside = {name: compared(piece, LEVEL / len(self.judgements)) for name, piece in self.evidence.items()}
        names = (
            *("claim", "control", "items", "verdict", "reason", "strength", "resolution", "seconds", "seed"),
            "parameters",
        )
        judged = {
            name or "evidence": {
                "kind": self.described[name]["kind"],
                "thinned": name in self.thinned,
                **dataclasses.asdict(beside[name]),
                **dataclasses.asdict(judgement),
            }
            for name, judgement in self.judgements.items()
            if name in self.described  # a run that broke down has no evidence
        }
        return {
            **{name: getattr(self, name) for name in names},
            "controls": [dataclasses.asdict(control) for control in self.controls],
            "evidence": judged,
            "source": self.source,
            "platform": self.platform,
            "timing": self.timing,
        }

    def __repr__(self) -> str:
        """What a Python prompt shows: the verdict, why, and what became of each rival."""
        subject = self.claim if self.control is None else f"{self.claim}, control {self.control!r}"
        rivals = [f"  control {each.name!r}: {each.verdict}" for each in self.controls]
        return "\n".join([f"{subject}: {self.verdict}", f"  {self.reason}", *rivals])

    def figure(self):
        """The figure of this run: prediction, observation, uncertainty."""
        return face("figure")(self)

    def dataset(self, piece: str | None = None):
        """The evidence as an xarray DataTree, one group a piece; of one piece, as a Dataset.

        Axes are called by the claim's own words, trials are its last axis; a piece without a name is the tree itself.
        """
        from deeptheory.lab.datasets import labelled, tree
        from deeptheory.lab.entries import catalogue

        entry = catalogue().claims.get(self.claim)
        symbols, axes = (entry.symbols, entry.axes) if entry else ({}, {})
        if piece is None:
            return tree(self, symbols, entry.says if entry else "", axes)
        if piece not in self.described:
            raise ValueError(f"{self.claim} has no piece {piece!r}; it has: {', '.join(self.described) or 'none'}")
        return labelled(self.evidence[piece], self.parameters, axes.get(piece, "x")).dataset(symbols)

    def _repr_html_(self) -> str:
        return face("html")(self)
