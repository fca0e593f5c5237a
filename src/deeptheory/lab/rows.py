"""A run as a row of the store: written with a checksum over all of it, and read only if it is as it was written."""

import hashlib
import json
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from deeptheory.lab.outcome import Run

__all__ = ["Damaged", "Newer", "Row", "values"]

VERSION = 2
"""Of what is recorded: 1 had neither a version nor a checksum."""

NEEDED = {"claim", "verdict", "seed", "full", "seconds", "parameters", "source"}


class Damaged(ValueError):
    """A row is not as it was written."""


class Newer(ValueError):
    """A row is as it was written, by a later version of this package, and cannot be understood."""


class Row(NamedTuple):
    """One row as it comes from the file; `blob` only where the arrays are wanted."""

    id: int
    key: str
    claim: str
    verdict: str
    created: float
    text: str
    checksum: str | None
    blob: bytes = b""

    def record(self) -> dict[str, Any]:
        """Everything but the arrays; this does not import JAX."""
        if self.checksum is not None and self.checksum[32:] != _checksum(self[1:6], self.checksum[:32]):
            raise Damaged("its checksum does not match")
        record = json.loads(self.text)
        if not isinstance(record, dict):
            raise Damaged("its record is none")
        version = record.pop("version", 1)
        if version > 1 and self.checksum is None:
            raise Damaged("its checksum is missing")
        if missing := NEEDED - set(record):
            raise (Newer if version > VERSION else Damaged)(f"it has no {', '.join(sorted(missing))}")
        if (record["claim"], record["verdict"]) != (self.claim, self.verdict):
            raise Damaged("its columns contradict its record")
        return record

    def run(self) -> "Run":
        """The whole run, with arrays that are seen to be sound."""
        from deeptheory.lab.outcome import Run

        record = self.record()
        if self.checksum is not None and self.checksum[:32] != _digest(self.blob):
            raise Damaged("the checksum of its arrays does not match")
        try:
            run = Run.of_record({**record, "made": self.created}, self.blob)
            if run.described:
                _ = run.evidence  # damage is found here, where the run can be named
        except Exception as problem:
            newer = json.loads(self.text).get("version", 1) > VERSION
            raise (Newer if newer else Damaged)(str(problem)) from None
        return run


def values(run: "Run", key: str, created: float) -> dict[str, Any]:
    """The columns of a run."""
    text = json.dumps({"version": VERSION, **run.record()})
    columns = {"key": key, "claim": run.claim, "verdict": run.verdict, "created": created, "record": text}
    digest = _digest(run.blob)
    # In two halves, so that a record can be verified without reading its arrays.
    return columns | {"blob": run.blob, "checksum": digest + _checksum(tuple(columns.values()), digest)}


def _checksum(columns: tuple, digest: str) -> str:
    return _digest(json.dumps([*columns, digest]).encode())


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:32]
