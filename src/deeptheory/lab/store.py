"""Where runs are kept on a machine: one SQLite file, written whole or not at all, by any number of processes."""

import hashlib
import json
import os
import sqlite3
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deeptheory.lab.run import Run

__all__ = ["Store", "StoreError", "home", "run_key"]

APPLICATION = 0x64747279  # "dtry": what marks a file as ours
LARGEST = 2**20

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


class Store:
    """The runs of a machine."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = Path(path) if path is not None else home() / "runs.sqlite"
        if self.path.is_dir():
            self.path = self.path / "runs.sqlite"
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.connection = self._open()
        except (OSError, sqlite3.Error) as problem:
            raise StoreError(f"the store {self.path} cannot be opened: {problem}") from None

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
        rows = self._rows("WHERE key = ? ORDER BY id DESC LIMIT 1", key)
        return rows[0] if rows else None

    def latest(self, claims: list[str] | None = None) -> dict[str, "Run"]:
        """The newest run of each claim."""
        rows = self._rows("WHERE id IN (SELECT max(id) FROM runs GROUP BY claim) ORDER BY claim")
        return {run.claim: run for run in rows if claims is None or run.claim in claims}

    def last_record(self, claim: str) -> dict[str, Any] | None:
        """The newest run of a claim without its arrays; this does not import JAX."""
        row = self.connection.execute(
            "SELECT record FROM runs WHERE claim = ? ORDER BY id DESC LIMIT 1", (claim,)
        ).fetchone()
        return json.loads(row[0]) if row else None

    def listing(self) -> list[dict[str, Any]]:
        """One line a run, newest first."""
        cursor = self.connection.execute("SELECT id, claim, verdict, created, record FROM runs ORDER BY id DESC")
        lines = []
        for number, claim, verdict, created, record in cursor:
            fields = json.loads(record)
            lines.append(
                {
                    "run": number,
                    "claim": claim,
                    "verdict": verdict,
                    "created": created,
                    "seed": fields["seed"],
                    "full": fields["full"],
                    "seconds": fields["seconds"],
                }
            )
        return lines

    def _rows(self, where: str, *arguments: Any) -> list["Run"]:
        from deeptheory.lab.run import Run

        cursor = self.connection.execute(f"SELECT record, blob FROM runs {where}", arguments)
        return [Run.of_record(json.loads(record), blob) for record, blob in cursor]

    def close(self) -> None:
        self.connection.close()

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
