"""The ledger: verdicts shipped with the package, one file a room, and the status of every item that follows."""

import functools
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from deeptheory.lab.entries import PACKAGE, Catalogue

if TYPE_CHECKING:
    from deeptheory.lab.run import Run

__all__ = ["STATUSES", "Changes", "Ledger", "Recorded", "Status", "badge", "ledger", "statuses"]

FOLDER = PACKAGE / "ledger"

STATUSES = {
    "holds": ("holds", "every formula of the item is checked by a claim that holds"),
    "refuted-as-printed": (
        "refuted as printed",
        "every formula of the item is checked: the corrected one holds, its main statement as printed is refuted",
    ),
    "computed": ("computed", "code whose values are tested against an independent calculation"),
    "same-as": ("see elsewhere", "the item only points to another one"),
    "excluded": ("excluded", "no scale at which we could run it would mean anything"),
    "failing": ("failing", "a claim that should hold does not"),
    "open": ("open", "not checked yet"),
}
"""Where an item can stand: in words, and what that means."""

REFUTABLE = ("false", "missing-hypothesis")
"""Classes of errata that a computation can refute, and therefore must."""


@dataclass(frozen=True)
class Recorded:
    """What the ledger says of one claim; `errata` are those whose printed form fell."""

    verdict: str
    items: dict[str, str]
    strength: str
    resolution: float | None
    controls: dict[str, str]
    seed: int
    source: str
    errata: tuple[str, ...] = ()


@dataclass(frozen=True)
class Ledger:
    """Recorded verdicts by claim, items that unit tests compare with an oracle, found counterexamples by claim.

    `rooms` says in which file a claim stands; a test belongs to the room that its folder is named after.
    """

    claims: dict[str, Recorded] = field(default_factory=dict)
    tests: dict[str, list[str]] = field(default_factory=dict)
    counterexamples: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    rooms: dict[str, str] = field(default_factory=dict)

    def save(self, folder: Path = FOLDER) -> None:
        """Write the files that differ from what they hold; remove those of rooms that are gone.

        One line a record: git joins two people's lines by itself (`.gitattributes`), in whatever order.
        """
        folder.mkdir(exist_ok=True)
        rooms: dict[str, list[dict[str, Any]]] = {}
        for name, entry in sorted(self.claims.items()):
            rooms.setdefault(self.rooms[name], []).append({"claim": name, **asdict(entry)})
        for name, found in sorted(self.counterexamples.items()):
            rooms.setdefault(self.rooms[name], []).append({"counterexamples": found, "of": name})
        for item, files in sorted(self.tests.items()):
            for file in sorted(files):
                rooms.setdefault(_room(file), []).append({"compared": item, "in": file})
        for room, lines in rooms.items():
            path = folder / f"{room}.jsonl"
            text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
            if not path.exists() or path.read_text() != text:
                temporary = path.with_suffix(".writing")
                temporary.write_text(text)
                temporary.replace(path)
        for path in folder.glob("*.jsonl"):
            if path.stem not in rooms:
                path.unlink()


def _room(file: str) -> str:
    """The room of a test file: its folder under tests, or the house as a whole."""
    parts = Path(file).parts
    return parts[1] if len(parts) > 2 else "house"


def read(folder: Path = FOLDER) -> Ledger:
    """The ledger as it stands in a folder; empty where there is none. Of two lines for one claim the later counts."""
    found = Ledger()
    for path in sorted(folder.glob("*.jsonl")):
        for number, text in enumerate(path.read_text().splitlines(), start=1):
            try:
                _take(json.loads(text), path.stem, found)
            except (ValueError, KeyError, TypeError) as error:
                raise ValueError(f"line {number} of {path} is no record of the ledger: {text[:40]!r}") from error
    return found


def _take(line: dict[str, Any], room: str, found: Ledger) -> None:
    """Put one line of a room's file into the ledger."""
    if "compared" in line:
        files = found.tests.setdefault(line["compared"], [])
        if line["in"] not in files:
            files.append(line["in"])
    elif "counterexamples" in line:
        found.counterexamples[line["of"]] = line["counterexamples"]
        found.rooms[line["of"]] = room
    else:
        name = line.pop("claim")
        found.claims[name] = Recorded(**{**line, "errata": tuple(line["errata"])})
        found.rooms[name] = room


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
        errata=tuple(sorted({c.erratum for c in run.controls if c.erratum and c.verdict == "refuted"})),
    )


@dataclass(frozen=True)
class Changes:
    """What recording changed."""

    new: tuple[str, ...]
    changed: tuple[str, ...]
    dropped: tuple[str, ...]

    def __str__(self) -> str:
        said = []
        for what, names in (("new", self.new), ("changed", self.changed), ("dropped", self.dropped)):
            if names:
                said.append(f"{len(names)} {what} ({', '.join(names[:3])}{' …' if len(names) > 3 else ''})")
        return "the ledger: " + (", ".join(said) if said else "nothing changed")


def record(runs: Iterable["Run"], known: Catalogue, folder: Path = FOLDER) -> Changes:
    """Write these runs into the ledger beside what it holds, and drop claims that no longer exist."""
    before = read(folder)
    lines = {run.claim: recorded(run) for run in runs}
    kept = {name: entry for name, entry in before.claims.items() if name in known.claims}
    rooms = {name: entry.subject for name, entry in known.claims.items()}
    found = {name: each for name, each in before.counterexamples.items() if name in known.claims}
    Ledger({**kept, **lines}, before.tests, found, rooms).save(folder)
    ledger.cache_clear()
    return Changes(
        new=tuple(name for name in lines if name not in before.claims),
        changed=tuple(name for name, line in lines.items() if before.claims.get(name, line) != line),
        dropped=tuple(name for name in before.claims if name not in kept),
    )


def record_tests(compared: Mapping[str, Iterable[str]], root: Path, folder: Path = FOLDER) -> Changes:
    """Add items that passing tests have just compared with an oracle; drop marks that are no longer in their file.

    What is new and what was dropped is told as "item in file".
    """
    before = read(folder)
    tests = {item: set(files) for item, files in before.tests.items()}
    for item, files in compared.items():
        tests.setdefault(item, set()).update(files)
    marked = {file: _marks(root / file) for file in sorted({file for files in tests.values() for file in files})}
    kept = {item: sorted(file for file in files if item in marked[file]) for item, files in tests.items()}
    Ledger(before.claims, {i: f for i, f in kept.items() if f}, before.counterexamples, before.rooms).save(folder)
    ledger.cache_clear()
    was, now = ({f"{item} in {file}": None for item in each for file in each[item]} for each in (before.tests, kept))
    return Changes(new=tuple(now.keys() - was), changed=(), dropped=tuple(was.keys() - now))


def _marks(path: Path) -> set[str]:
    """The items that a test file says it compares."""
    text = path.read_text() if path.exists() else ""
    return {item for mark in re.findall(r"mark\.item\(([^)]*)\)", text) for item in re.findall(r'"(\w+\.\w+)"', mark)}


# Status of items -----------------------------------------------------------------------------------------------------


class _Erratum(Protocol):
    @property
    def id(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def main(self) -> bool: ...


class _Item(Protocol):
    @property
    def id(self) -> str: ...
    @property
    def points_to(self) -> tuple[str, ...]: ...
    @property
    def excluded(self) -> str: ...
    @property
    def errata(self) -> tuple[Any, ...]: ...


@dataclass(frozen=True)
class Status:
    """Where an item stands, derived from the ledger, never written by hand; `refuted` are its errata that fell."""

    status: str
    claims: tuple[str, ...] = ()
    reason: str = ""
    refuted: tuple[str, ...] = ()


def statuses(items: Iterable[_Item], catalogue: Catalogue, book: Ledger) -> dict[str, Status]:
    """The status of every item.

    holds, refuted-as-printed (the corrected statement holds, and the main statement as printed is a refuted control;
    where only a remark, an example or a display falls, the item holds and says what fell), computed (a unit test
    against an oracle), same-as, excluded (no scale is meaningful; the books' data say why), failing, open.
    """
    fallen = {erratum for entry in book.claims.values() for erratum in entry.errata}
    return {item.id: _status(item, catalogue, book, fallen) for item in items}


def _status(item: _Item, catalogue: Catalogue, book: Ledger, fallen: set[str]) -> Status:
    serving = tuple(entry.name for entry in catalogue.serving(item.id))
    refutable: list[_Erratum] = [erratum for erratum in item.errata if erratum.kind in REFUTABLE]
    refuted = tuple(erratum.id for erratum in refutable if erratum.id in fallen)
    standing = [erratum.id for erratum in refutable if erratum.id not in fallen]
    if not serving and item.points_to:
        return Status("same-as", (), f"the same as {', '.join(item.points_to)}", refuted)
    if not serving and item.excluded:
        return Status("excluded", (), item.excluded, refuted)
    if not serving and item.id not in book.tests:
        return Status("open", (), "", refuted)
    if missing := [name for name in serving if name not in book.claims]:
        return Status("open", serving, f"{missing[0]} is not recorded yet", refuted)
    if failing := [name for name in serving if book.claims[name].items.get(item.id) != "holds"]:
        found = book.claims[failing[0]].items.get(item.id)
        reason = f"the evidence of {failing[0]} is {found}" if found else f"{failing[0]} was recorded without it"
        return Status("failing", serving, reason, refuted)
    if standing:
        return Status("open", serving, f"what is printed ({', '.join(standing)}) is not yet a refuted control", refuted)
    stale = [name for name in serving if book.claims[name].source != catalogue.claims[name].source]
    note = f"recorded before {stale[0]} changed" if stale else ""
    if any(erratum.main for erratum in refutable):
        return Status("refuted-as-printed", serving, note, refuted)
    if not serving:
        return Status("computed", (), f"compared with an oracle in {', '.join(book.tests[item.id])}", refuted)
    if refuted:
        note = "; ".join(filter(None, [f"the statement holds; refuted beside it: {', '.join(refuted)}", note]))
    return Status("holds", serving, note, refuted)


def badge(verdict: str, status: Status | None) -> str:
    """What is said of an item beside a claim that checks it, in the terminal and on pages alike.

    The verdict of the claim's run; but an item whose main statement fell as printed does not hold because the
    corrected one does.
    """
    fell = status is not None and status.status == "refuted-as-printed"
    return "refuted-as-printed" if verdict == "holds" and fell else verdict


def counts(found: Mapping[str, Status]) -> dict[str, int]:
    """How many items have each status."""
    total = {name: sum(status.status == name for status in found.values()) for name in STATUSES}
    return {name: number for name, number in total.items() if number}
