"""Where runs are kept on a machine: one SQLite file, written whole or not at all, by any number of processes."""

import hashlib
import json
import os
import sqlite3
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deeptheory.lab.parameters import settings

if TYPE_CHECKING:
    from deeptheory.lab.catalogue import Entry
    from deeptheory.lab.run import Run

__all__ = ["Store", "StoreError", "home", "run_key", "stale"]

APPLICATION = 0x64747279  # "dtry": what marks a file as ours
LARGEST = 2**20

COLUMNS = "id, key, claim, verdict, created, record, blob"

SCHEMA = """
CREATE TABLE IF NOT EXISTS runs (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL,
    claim TEXT NOT NULL,
    verdict TEXT NOT NULL,
    created REAL NOT NULL,
    record TEXT NOT NULL,
    blob BLOB NOT NULL
);
CREATE INDEX IF NOT EXISTS runs_by_key ON runs (key);
CREATE INDEX IF NOT EXISTS runs_by_claim ON runs (claim, id);
"""


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
    """The runs of a machine. With `existing`, what is there is read, and nothing is made, changed or set aside."""

    def __init__(self, path: Path | None = None, *, existing: bool = False) -> None:
        self.path = Path(path) if path is not None else home() / "runs.sqlite"
        if self.path.is_dir():
            self.path = self.path / "runs.sqlite"
        try:
            if existing:
                self.connection = self._read()
            else:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                self.connection = self._open()
        except (OSError, sqlite3.Error) as problem:
            raise StoreError(f"the store {self.path} cannot be opened: {problem}") from None

    def _read(self) -> sqlite3.Connection:
        if not self.path.exists():
            raise FileNotFoundError("there is no such file")
        try:
            return self._reader("mode=rw")  # SQLite tidies up after this mode, and changes nothing that is recorded
        except sqlite3.OperationalError:
            return self._reader("immutable=1")  # where nothing may be written beside the file either

    def _reader(self, mode: str) -> sqlite3.Connection:
        connection = sqlite3.connect(f"{self.path.absolute().as_uri()}?{mode}", uri=True, timeout=60)
        try:
            connection.execute("PRAGMA query_only = 1")
            self._tables(connection, "BEGIN")
        except BaseException:
            connection.close()
            raise
        return connection

    def _open(self) -> sqlite3.Connection:
        try:
            return self._connect()
        except sqlite3.DatabaseError as problem:
            if isinstance(problem, sqlite3.OperationalError):
                raise  # locked, unwritable, disk full: the file itself may be fine
            self._set_aside(str(problem))
            return self._connect()

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, timeout=60, isolation_level=None)
        try:
            tables = self._tables(connection, "BEGIN")
            if tables and (found := connection.execute("PRAGMA quick_check(1)").fetchone()[0]) != "ok":
                raise sqlite3.DatabaseError(found)
            self._write_ahead(connection)
            connection.execute("PRAGMA synchronous = NORMAL")
            if not tables:
                self._tables(connection, "BEGIN IMMEDIATE", create=True)
        except BaseException:
            connection.close()
            raise
        return connection

    @staticmethod
    def _write_ahead(connection: sqlite3.Connection, patience: float = 60) -> None:
        """Readers do not wait for writers. SQLite refuses this switch at once when another process is switching too."""
        until = time.monotonic() + patience
        while True:
            try:
                connection.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as problem:
                if "locked" not in str(problem) or time.monotonic() > until:
                    raise
                time.sleep(0.02)

    @staticmethod
    def _tables(connection: sqlite3.Connection, begin: str, *, create: bool = False) -> int:
        """How many tables there are, and that they are ours, in one transaction: others may be creating them."""
        connection.execute(begin)
        try:
            tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
            if tables and connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION:
                raise sqlite3.DatabaseError("it belongs to another program")
            if tables:
                connection.execute(f"SELECT {COLUMNS} FROM runs LIMIT 0")
            if create and not tables:
                connection.execute(f"PRAGMA application_id = {APPLICATION}")
                for statement in SCHEMA.split(";")[:-1]:
                    connection.execute(statement)
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")
        return tables

    def _set_aside(self, problem: str) -> None:
        """Rename what stands where the store should be; nothing is ever overwritten."""
        number = 1
        while (aside := self.path.with_name(f"{self.path.name}.set-aside-{number}")).exists():
            number += 1
        self.path.rename(aside)
        for ending in ("-wal", "-shm"):
            beside = self.path.with_name(self.path.name + ending)
            if beside.exists():
                beside.rename(aside.with_name(aside.name + ending))
        print(f"{self.path} is not a store of runs ({problem}); it was set aside as {aside.name}", file=sys.stderr)

    def add(self, run: "Run", key: str) -> None:
        """Record a run, whole or not at all."""
        if len(run.blob) > LARGEST:
            raise StoreError(f"the evidence of {run.claim} takes {len(run.blob):,} bytes; a run may take {LARGEST:,}")
        row = (key, run.claim, run.verdict, time.time(), json.dumps(run.record()), run.blob)
        try:
            self.connection.execute(
                "INSERT INTO runs (key, claim, verdict, created, record, blob) VALUES (?, ?, ?, ?, ?, ?)", row
            )
        except sqlite3.Error as problem:
            raise StoreError(f"the run of {run.claim} could not be recorded in {self.path}: {problem}") from None

    def find(self, key: str) -> "Run | None":
        """The newest run with this key."""
        return next(self._runs("WHERE key = ? ORDER BY id DESC LIMIT 1", key), None)

    def latest(self, entries: Mapping[str, "Entry"]) -> dict[str, "Run"]:
        """The run of each claim to show: see `record_of`."""
        numbers = [best[0] for entry in entries.values() if (best := self._best(entry))]
        chosen = ", ".join(map(str, numbers))
        return {run.claim: run for run in self._runs(f"WHERE id IN ({chosen}) ORDER BY claim")}

    def record_of(self, entry: "Entry") -> dict[str, Any] | None:
        """The run of a claim to show, without its arrays; this does not import JAX.

        Runs of controls do not count. Of the others, one of the claim as it is today comes before one of an earlier
        version, its own settings before others, seed 0 before others, a newer run before an older one: a sweep, a
        calibration or a trial of other settings changes nothing that is shown.
        """
        best = self._best(entry)
        return best[1] if best else None

    def listing(self) -> list[dict[str, Any]]:
        """One line a run, newest first."""
        return [
            {
                "run": number,
                "claim": record["claim"],
                "control": record.get("control"),
                "verdict": record["verdict"],
                "created": created,
                "seed": record["seed"],
                "full": record["full"],
                "seconds": record["seconds"],
                "parameters": record["parameters"],
                "source": record["source"],
            }
            for number, record, created in self._records("ORDER BY id DESC")
        ]

    def _best(self, entry: "Entry") -> tuple[int, dict[str, Any]] | None:
        def rank(found: tuple[int, dict[str, Any], float]) -> tuple[bool, bool, bool, int]:
            number, record, _ = found
            return record["source"] == entry.source, typical(record, entry), record["seed"] == 0, number

        own = [found for found in self._records("WHERE claim = ?", entry.name) if found[1].get("control") is None]
        return max(own, key=rank)[:2] if own else None

    def _records(self, where: str, *arguments: Any) -> Iterator[tuple[int, dict[str, Any], float]]:
        for number, text, created in self._rows("id, record, created", where, arguments):
            with self._reading(number):
                record = json.loads(text)
                missing = {"claim", "verdict", "seed", "full", "seconds", "parameters", "source"} - set(record)
                if missing:
                    raise ValueError(f"it has no {', '.join(sorted(missing))}")
            yield number, record, created

    def _runs(self, where: str, *arguments: Any) -> Iterator["Run"]:
        for number, text, blob, made in self._rows("id, record, blob, created", where, arguments):
            from deeptheory.lab.run import Run  # where there is nothing to read, JAX is not imported

            with self._reading(number):
                run = Run.of_record({**json.loads(text), "made": made}, blob)
                if run.described:
                    _ = run.evidence  # damaged arrays are found here, where the run can be named
            yield run

    def _rows(self, columns: str, where: str, arguments: Sequence[Any]) -> Iterator[tuple]:
        try:
            yield from self.connection.execute(f"SELECT {columns} FROM runs {where}", arguments)
        except sqlite3.Error as problem:
            raise StoreError(f"the store {self.path} cannot be read: {problem}") from None

    @contextmanager
    def _reading(self, number: int) -> Iterator[None]:
        try:
            yield
        except Exception as problem:
            raise StoreError(f"run {number} in {self.path} cannot be read: {problem}") from None

    def close(self) -> None:
        self.connection.close()

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
