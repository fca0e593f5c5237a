"""Where runs are kept on a machine: one SQLite file, written whole or not at all, by any number of processes."""

import hashlib
import json
import os
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from deeptheory.lab.database import has_checksums, opened_for_reading, opened_for_writing, transaction
from deeptheory.lab.leases import Leases
from deeptheory.lab.parameters import settings
from deeptheory.lab.rows import Newer, Row, values

if TYPE_CHECKING:
    from deeptheory.lab.entries import Entry
    from deeptheory.lab.outcome import Run

Read = TypeVar("Read")

__all__ = ["Store", "StoreError", "home", "run_key", "stale"]


class StoreError(Exception):
    """The store cannot be used; the message says why in one sentence."""


def home() -> Path:
    """The folder where runs and compiled programs are kept: $DEEPTHEORY_HOME, or the user's data folder."""
    if folder := os.environ.get("DEEPTHEORY_HOME"):
        return Path(folder)
    import platformdirs

    return Path(platformdirs.user_data_dir("deeptheory", appauthor=False))


def run_key(claim: str, parameters: Mapping[str, Any], seed: int, source: str, platform: str) -> str:
    """What a run depends on, in short; equal keys mean equal evidence."""
    text = json.dumps([claim, dict(parameters), seed, source, platform], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def stale(run: "Run", entry: "Entry") -> bool:
    """Whether a run was made by another version of its claim, or of what the claim is made from."""
    return run.source not in ("", entry.source)


def typical(record: Mapping[str, Any], entry: "Entry") -> bool:
    """Whether a run was made with the claim's own settings, quick or full."""
    return record["parameters"] == json.loads(json.dumps(settings(entry.parameters, {}, full=record["full"])))


class Store:
    """The runs of a machine. With `existing`, what is there is read, and nothing is made, changed or set aside.

    A row that cannot be read is named on standard error and left out; all others are as they were.
    """

    def __init__(self, path: Path | None = None, *, existing: bool = False) -> None:
        self.path = Path(path) if path is not None else home() / "runs.sqlite"
        if self.path.is_dir():
            self.path = self.path / "runs.sqlite"
        try:
            self.connection = (opened_for_reading if existing else opened_for_writing)(self.path)
            self._checksum = "checksum" if has_checksums(self.connection) else "NULL"
        except (OSError, sqlite3.Error) as problem:
            raise StoreError(f"the store {self.path} cannot be opened: {problem}") from None
        self.leases = Leases(self.path.with_name(f"{self.path.name}.leases"))
        self._named: set[int] = set()

    def add(self, run: "Run", key: str) -> None:
        """Record a run, whole or not at all."""
        row = values(run, key, time.time())
        try:
            names, places = ", ".join(row), ", ".join(f":{name}" for name in row)
            self.connection.execute(f"INSERT INTO runs ({names}) VALUES ({places})", row)
        except sqlite3.Error as problem:
            raise StoreError(f"the run of {run.claim} could not be recorded in {self.path}: {problem}") from None

    def find(self, key: str) -> "Run | None":
        """The newest run with this key."""
        return next(self._runs("WHERE key = ? ORDER BY id DESC", key), None)

    def latest(self, entries: Mapping[str, "Entry"]) -> dict[str, "Run"]:
        """The run of each claim to show: see `record_of`."""
        found = {}
        for name in sorted(entries):
            numbers = (number for number, _ in self._ranked(entries[name]))
            readable = (run for number in numbers for run in self._runs("WHERE id = ?", number))
            if run := next(readable, None):
                found[name] = run
        return found

    def record_of(self, entry: "Entry") -> dict[str, Any] | None:
        """The run of a claim to show, without its arrays; this does not import JAX.

        Runs of controls do not count. Of the others, one of the claim as it is today comes before one of an earlier
        version, its own settings before others, seed 0 before others, a newer run before an older one: a sweep, a
        calibration or a trial of other settings changes nothing that is shown.
        """
        return next((record for _, record in self._ranked(entry)), None)

    def seconds(self) -> dict[str, float]:
        """How many seconds each claim took when it was last run, whatever its settings."""
        query = "SELECT claim, json_extract(record, '$.seconds') FROM runs WHERE json_valid(record) ORDER BY id"
        try:
            return {claim: float(spent) for claim, spent in self.connection.execute(query) if spent is not None}
        except (sqlite3.Error, ValueError):
            return {}  # a damaged store is named where it is read; here nothing depends on it

    def listing(self) -> list[dict[str, Any]]:
        """One line a run, newest first."""
        return [
            {
                "run": row.id,
                "claim": record["claim"],
                "control": record.get("control"),
                "verdict": record["verdict"],
                "created": row.created,
                "seed": record["seed"],
                "full": record["full"],
                "seconds": record["seconds"],
                "parameters": record["parameters"],
                "source": record["source"],
            }
            for row, record in self._records("ORDER BY id DESC")
        ]

    def repair(self) -> list[dict[str, Any]]:
        """Drop the rows that are damaged, and return them: number, claim, and what is wrong."""
        dropped = []
        for row in self._rows("ORDER BY id"):
            try:
                row.run()
            except Newer:
                continue
            except Exception as problem:
                dropped.append({"run": row.id, "claim": row.claim, "why": str(problem)})
        self._drop(dropped)
        return dropped

    def prune(self, entries: Mapping[str, "Entry"]) -> list[dict[str, Any]]:
        """Drop the runs of claims and controls that are gone or have changed, and all but the newest of equal key.

        Returns what was dropped: number, claim, and why.
        """
        dropped, keys = [], set()
        for row, record in self._records("ORDER BY id DESC"):
            entry = entries.get(record["claim"])
            why = ""
            if entry is None:
                why = "its claim is gone"
            elif record.get("control") not in (None, *(control["name"] for control in entry.controls)):
                why = "its control is gone"
            elif record["source"] not in ("", entry.source):
                why = "its claim has changed since"
            elif row.key in keys:
                why = "there is a newer run of the same"
            if why:
                dropped.append({"run": row.id, "claim": row.claim, "why": why})
            keys.add(row.key)
        self._drop(dropped)
        return dropped

    def _drop(self, rows: list[dict[str, Any]]) -> None:
        try:
            with transaction(self.connection):
                self.connection.executemany("DELETE FROM runs WHERE id = ?", [(row["run"],) for row in rows])
            with suppress(sqlite3.OperationalError):  # others are at work: the room is used again without
                self.connection.execute("VACUUM")
        except sqlite3.Error as problem:
            raise StoreError(f"the store {self.path} cannot be changed: {problem}") from None

    # Reading -------------------------------------------------------------------------------------------------------

    def _ranked(self, entry: "Entry") -> list[tuple[int, dict[str, Any]]]:
        """The runs of a claim that may be shown, the best first."""

        def rank(found: tuple[int, dict[str, Any]]) -> tuple[bool, bool, bool, int]:
            number, record = found
            return record["source"] == entry.source, typical(record, entry), record["seed"] == 0, number

        rows = self._records("WHERE claim = ?", entry.name)
        return sorted(
            ((row.id, record) for row, record in rows if record.get("control") is None), key=rank, reverse=True
        )

    def _records(self, where: str, *arguments: Any) -> Iterator[tuple[Row, dict[str, Any]]]:
        for row in self._rows(where, *arguments, arrays=False):
            if (record := self._read(row, Row.record)) is not None:
                yield row, record

    def _runs(self, where: str, *arguments: Any) -> Iterator["Run"]:
        for row in self._rows(where, *arguments):
            if (run := self._read(row, Row.run)) is not None:
                yield run

    def _rows(self, where: str, *arguments: Any, arrays: bool = True) -> Iterator[Row]:
        columns = f"id, key, claim, verdict, created, record, {self._checksum}" + ", blob" * arrays
        try:
            for row in self.connection.execute(f"SELECT {columns} FROM runs {where}", arguments):
                yield Row(*row)
        except sqlite3.Error as problem:
            remedy = "`deeptheory runs --repair` keeps what can be read"
            raise StoreError(f"the store {self.path} cannot be read: {problem}; {remedy}") from None

    def _read(self, row: Row, read: Callable[[Row], Read]) -> Read | None:
        """What a row holds; of one that cannot be read, only its number is said, once."""
        try:
            return read(row)
        except Exception as problem:
            if row.id not in self._named:
                self._named.add(row.id)
                remedy = "" if isinstance(problem, Newer) else "; `deeptheory runs --repair` drops it"
                print(f"run {row.id} in {self.path} cannot be read: {problem}{remedy}", file=sys.stderr)
            return None

    def close(self) -> None:
        self.leases.close()
        self.connection.close()

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
