"""The SQLite file behind a store: made, opened, brought up to date. A file that is not ours is refused and stays as it
is; one of ours that is damaged is set aside, and what can be read of it is taken over."""

import sqlite3
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from deeptheory.lab.leases import Leases

__all__ = ["has_checksums", "opened_for_reading", "opened_for_writing", "transaction"]

APPLICATION = 0x64747279  # "dtry": what marks a file as ours

COLUMNS = "id, key, claim, verdict, created, record, blob"

SCHEMA = (
    """CREATE TABLE runs (
        id INTEGER PRIMARY KEY,
        key TEXT NOT NULL,
        claim TEXT NOT NULL,
        verdict TEXT NOT NULL,
        created REAL NOT NULL,
        record TEXT NOT NULL,
        blob BLOB NOT NULL,
        checksum TEXT
    )""",
    "CREATE INDEX runs_by_key ON runs (key)",
    "CREATE INDEX runs_by_claim ON runs (claim, id)",
)


def opened_for_reading(path: Path) -> sqlite3.Connection:
    """A connection that changes nothing that is recorded."""
    if not path.exists():
        raise FileNotFoundError("there is no such file")
    try:
        return _reader(path, "mode=rw")  # SQLite tidies up after this mode
    except sqlite3.OperationalError:
        return _reader(path, "immutable=1")  # where nothing may be written beside the file either


def opened_for_writing(path: Path) -> sqlite3.Connection:
    """A connection to a sound store of today's form, made where there was none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        return _writer(path)
    except sqlite3.DatabaseError as problem:
        if isinstance(problem, sqlite3.OperationalError) or not _ours(path):
            raise  # locked, unwritable, disk full: the file itself may be fine; and what is not ours is not touched
    leases = Leases(path.with_name(f"{path.name}.leases"))
    leases.take("damaged", wait=True)  # of several processes that find the damage, one deals with it
    try:
        return _writer(path)
    except sqlite3.DatabaseError as problem:
        aside = _set_aside(path)
        connection = _writer(path)
        found = _rescued(aside, connection)
        told = f"it was set aside as {aside.name}, and the {found} runs that can be read were taken over"
        print(f"{path} is damaged ({problem}); {told}", file=sys.stderr)
        return connection
    finally:
        leases.close()


def has_checksums(connection: sqlite3.Connection) -> bool:
    """Whether the store is of today's form; before, there were no checksums."""
    return any(column[1] == "checksum" for column in connection.execute("PRAGMA table_info(runs)"))


def _connected(address: str | Path, *, uri: bool = False) -> sqlite3.Connection:
    connection = sqlite3.connect(address, uri=uri, timeout=60, isolation_level=None)
    # A damaged text must not end the reading of all the others.
    connection.text_factory = lambda raw: raw.decode(errors="replace")
    return connection


def _reader(path: Path, mode: str) -> sqlite3.Connection:
    connection = _connected(f"{path.absolute().as_uri()}?{mode}", uri=True)
    try:
        connection.execute("PRAGMA query_only = 1")
        with transaction(connection, "BEGIN"):
            _tables(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _writer(path: Path) -> sqlite3.Connection:
    connection = _connected(path)
    try:
        with transaction(connection, "BEGIN"):
            tables = _tables(connection)
        if tables and (found := connection.execute("PRAGMA quick_check(1)").fetchone()[0]) != "ok":
            raise sqlite3.DatabaseError(found)
        _write_ahead(connection)
        connection.execute("PRAGMA synchronous = NORMAL")
        if not tables or not has_checksums(connection):
            with transaction(connection):  # another process may have been here before
                if not _tables(connection):
                    connection.execute(f"PRAGMA application_id = {APPLICATION}")
                    for statement in SCHEMA:
                        connection.execute(statement)
                elif not has_checksums(connection):
                    connection.execute("ALTER TABLE runs ADD COLUMN checksum TEXT")
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def transaction(connection: sqlite3.Connection, begin: str = "BEGIN IMMEDIATE") -> Iterator[None]:
    """All or nothing."""
    connection.execute(begin)
    try:
        yield
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


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


def _tables(connection: sqlite3.Connection) -> int:
    """How many tables there are, and that they are ours."""
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if tables and connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION:
        raise sqlite3.DatabaseError("it belongs to another program")
    if tables:
        connection.execute(f"SELECT {COLUMNS} FROM runs LIMIT 0")
    return tables


def _ours(path: Path) -> bool:
    """Whether a file that cannot be opened bears our mark: SQLite keeps it at the 68th byte."""
    with path.open("rb") as file:
        head = file.read(72)
    return head.startswith(b"SQLite format 3\0") and head[68:] == APPLICATION.to_bytes(4, "big")


def _set_aside(path: Path) -> Path:
    """Rename the damaged file; nothing is ever overwritten."""
    number = 1
    while (aside := path.with_name(f"{path.name}.set-aside-{number}")).exists():
        number += 1
    path.rename(aside)
    for ending in ("-wal", "-shm"):
        beside = path.with_name(path.name + ending)
        if beside.exists():
            beside.rename(aside.with_name(aside.name + ending))
    return aside


def _rescued(damaged: Path, into: sqlite3.Connection) -> int:
    """Take over the runs that can still be read, each by its number: a damaged page hides only what it holds."""
    copied = 0
    source = _connected(f"{damaged.absolute().as_uri()}?immutable=1", uri=True)
    try:
        source.execute("PRAGMA writable_schema = ON")  # else a file that was cut short is not read at all
        names = f"{COLUMNS}, checksum" if has_checksums(source) else COLUMNS
        places = ", ".join("?" * len(names.split(",")))
        for number in _numbers(source):
            with suppress(sqlite3.DatabaseError):
                row = source.execute(f"SELECT {names} FROM runs WHERE id = ?", (number,)).fetchone()
                if row:
                    into.execute(f"INSERT INTO runs ({names}) VALUES ({places})", row)
                    copied += 1
    except sqlite3.DatabaseError:
        pass  # not even the list of tables can be read
    finally:
        source.close()
    return copied


def _numbers(source: sqlite3.Connection) -> list[int]:
    """The numbers that runs can have: what is seen from either end, and all between (a damaged number may be vast)."""
    seen: dict[str, list[int]] = {"ASC": [], "DESC": []}
    for order, found in seen.items():
        with suppress(sqlite3.DatabaseError):
            found.extend(row[0] for row in source.execute(f"SELECT id FROM runs NOT INDEXED ORDER BY id {order}"))
    hidden = range(max(seen["ASC"], default=0) + 1, min(seen["DESC"], default=0))
    return sorted({*seen["ASC"], *seen["DESC"], *hidden[:100_000]})
