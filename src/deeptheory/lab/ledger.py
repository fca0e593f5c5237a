"""The ledger: verdicts shipped with the package, and the status of every item that follows from them."""

import functools
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from deeptheory.lab.catalogue import PACKAGE, Catalogue

if TYPE_CHECKING:
    from deeptheory.lab.run import Run

__all__ = ["STATUSES", "Ledger", "Recorded", "Status", "ledger", "statuses"]

FILE = PACKAGE / "ledger.json"

STATUSES = ("holds", "refuted-as-printed", "computed", "same-as", "excluded", "failing", "open")
"""Where an item can stand."""

REFUTABLE = ("false", "missing-hypothesis")
"""Classes of errata that a computation can refute, and therefore must."""


@dataclass(frozen=True)
class Recorded:
    """What the ledger says of one claim."""

    verdict: str
    items: dict[str, str]
    strength: str
    resolution: float | None
    controls: dict[str, str]
    seed: int
    source: str
    seconds: float
    errata: tuple[str, ...] = ()


@dataclass(frozen=True)
class Ledger:
    """Recorded verdicts by claim, items that unit tests compare with an oracle, found counterexamples by claim."""

    claims: dict[str, Recorded] = field(default_factory=dict)
    tests: dict[str, list[str]] = field(default_factory=dict)
    counterexamples: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def save(self, path: Path = FILE) -> None:
        record = {
            "claims": {name: vars(entry) for name, entry in sorted(self.claims.items())},
            "tests": dict(sorted(self.tests.items())),
            "counterexamples": dict(sorted(self.counterexamples.items())),
        }
        temporary = path.with_suffix(".writing")
        temporary.write_text(json.dumps(record, ensure_ascii=False, indent=1) + "\n")
        temporary.replace(path)


def read(path: Path = FILE) -> Ledger:
    """The ledger as it stands in a file; empty where there is none."""
    if not path.exists():
        return Ledger()
    record = json.loads(path.read_text())
    claims = {name: Recorded(**{**entry, "errata": tuple(entry["errata"])}) for name, entry in record["claims"].items()}
    return Ledger(claims, record["tests"], record["counterexamples"])


@functools.cache
def ledger() -> Ledger:
    """The ledger shipped with the package."""
    return read()


def recorded(run: "Run") -> Recorded:
    """The line of the ledger that belongs to a run."""
    return Recorded(
        verdict=run.verdict,
        items=run.items,
        strength=run.strength,
        resolution=None if run.resolution is None else float(f"{run.resolution:.3g}"),
        controls={control.name: control.verdict for control in run.controls},
        seed=run.seed,
        source=run.source,
        seconds=round(run.seconds, 1),
        errata=tuple(sorted({c.erratum for c in run.controls if c.erratum and c.verdict == "refuted"})),
    )


def record(runs: Iterable["Run"], known: set[str]) -> Ledger:
    """Write these runs into the ledger, and drop claims that no longer exist."""
    before = read()
    claims = {name: entry for name, entry in before.claims.items() if name in known}
    claims.update({run.claim: recorded(run) for run in runs})
    after = Ledger(claims, before.tests, before.counterexamples)
    after.save()
    ledger.cache_clear()
    return after


# Status of items -----------------------------------------------------------------------------------------------------


class _Item(Protocol):
    @property
    def id(self) -> str: ...
    @property
    def check(self) -> bool: ...
    @property
    def same_as(self) -> str | None: ...
    @property
    def excluded(self) -> str: ...
    @property
    def errata(self) -> tuple[Any, ...]: ...


@dataclass(frozen=True)
class Status:
    """Where an item stands: derived from the ledger, never written by hand."""

    status: str
    claims: tuple[str, ...] = ()
    reason: str = ""


def statuses(items: Iterable[_Item], catalogue: Catalogue, book: Ledger) -> dict[str, Status]:
    """The status of every item.

    holds, refuted-as-printed (the corrected statement holds and the printed one is a refuted control), computed (a
    unit test against an oracle), same-as, excluded (no scale is meaningful; the books' data say why), failing, open.
    """
    return {item.id: _status(item, catalogue, book) for item in items}


def _status(item: _Item, catalogue: Catalogue, book: Ledger) -> Status:
    serving = tuple(entry.name for entry in catalogue.serving(item.id))
    if not serving:
        if item.same_as:
            return Status("same-as", (), f"the same as {item.same_as}")
        if item.excluded:
            return Status("excluded", (), item.excluded)
        if item.id in book.tests:
            return Status("computed", (), f"compared with an oracle in {', '.join(book.tests[item.id])}")
        return Status("open")
    missing = [name for name in serving if name not in book.claims]
    if missing:
        return Status("open", serving, f"{missing[0]} is not recorded yet")
    failing = [name for name in serving if book.claims[name].items.get(item.id) != "holds"]
    if failing:
        return Status("failing", serving, f"{failing[0]} is {book.claims[failing[0]].verdict}")
    stale = [name for name in serving if book.claims[name].source != catalogue.claims[name].source]
    note = f"recorded before {stale[0]} changed" if stale else ""
    if any(erratum.kind in REFUTABLE for erratum in item.errata):
        if any(item.id in book.claims[name].errata for name in serving):
            return Status("refuted-as-printed", serving, note)
        return Status("open", serving, "the corrected statement holds; its printed form is not yet a refuted control")
    return Status("holds", serving, note)


def counts(found: Mapping[str, Status]) -> dict[str, int]:
    """How many items have each status."""
    total = {name: sum(status.status == name for status in found.values()) for name in STATUSES}
    return {name: number for name, number in total.items() if number}
