"""Evidence into and out of the record: a JSON description, and one compressed archive of arrays of bounded size."""

import dataclasses
import io
import json
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import jax
import numpy as np

from deeptheory.lab.evidence.base import FEWEST, Evidence

__all__ = ["decode", "encode", "known"]

LARGEST = 2**20
"""Bytes that the arrays of a run may take in the record."""

ASIDE = 2**18
"""How many entries a piece of evidence may carry aside."""


def encode(pieces: dict[str, Evidence]) -> tuple[dict[str, Any], bytes]:
    """Split named evidence into a JSON description and one compressed archive of its arrays.

    Where there is too much, the record keeps a part, and the description of the piece says `thinned`.
    """
    for name, piece in pieces.items():
        if (size := sum(np.size(leaf) for leaf in piece.aside.values())) > ASIDE:
            raise ValueError(f"the evidence {name!r} carries {size:,} entries aside, at most {ASIDE:,} are stored")
    kept = {name: piece.thinned() for name, piece in pieces.items()}
    arrays: dict[str, dict[str, np.ndarray]] = {name: {} for name in pieces}

    def leaf(value: Any, piece: str, where: str) -> Any:
        if isinstance(value, dict):
            return {key: leaf(entry, piece, f"{where}/{key}") for key, entry in value.items()}
        if isinstance(value, (bool, int, float, str)) or value is None:
            return value
        if isinstance(value, Fraction):
            return {"": str(value)}
        if isinstance(value, tuple) and any(isinstance(entry, (jax.Array, np.ndarray)) for entry in value):
            return {"(": [leaf(entry, piece, f"{where}/{i}") for i, entry in enumerate(value)]}
        array = np.asarray(value)
        if array.dtype == object:
            array = np.asarray([str(entry) for entry in array.ravel()]).reshape(array.shape)
        arrays[piece][where] = array
        return {"@": where}

    described = {
        name: {"kind": type(piece).__name__}
        | {
            field.name: leaf(getattr(piece, field.name), name, f"{name}/{field.name}")
            for field in dataclasses.fields(piece)  # type: ignore[arg-type]
        }
        for name, piece in kept.items()
    }
    thinned = {name for name in pieces if _size(pieces[name]) != _size(kept[name])}
    blob = _archive(arrays)
    while len(blob) > LARGEST:
        largest = max(arrays, key=lambda name: sum(array.nbytes for array in arrays[name].values()))
        if (longest := _longest(arrays[largest])) <= FEWEST:
            break  # nothing left to leave out
        arrays[largest] = {where: _halved(array, longest) for where, array in arrays[largest].items()}
        thinned.add(largest)
        blob = _archive(arrays)
    for name in thinned:
        described[name]["thinned"] = True
    return json.loads(json.dumps(described)), blob


def _size(piece: Evidence) -> int:
    return sum(np.size(leaf) for leaf in jax.tree.leaves(piece))


def _longest(arrays: Mapping[str, np.ndarray]) -> int:
    return max((length for array in arrays.values() for length in array.shape), default=0)


def _halved(array: np.ndarray, longest: int) -> np.ndarray:
    """Every second entry along the axes of this length: those of one piece that belong together stay of one length."""
    return array[tuple(slice(None, None, 2 if length == longest else 1) for length in array.shape)]


def _archive(arrays: Mapping[str, Mapping[str, np.ndarray]]) -> bytes:
    buffer = io.BytesIO()
    together = {where: array for piece in arrays.values() for where, array in piece.items()}
    np.savez_compressed(buffer, allow_pickle=False, **together)  # type: ignore[arg-type]
    return buffer.getvalue()


def decode(described: dict[str, Any], blob: bytes) -> dict[str, Evidence]:
    """Rebuild named evidence from what `encode` returned; what a kind does not know of is passed over."""
    with np.load(io.BytesIO(blob), allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}

    def leaf(value: Any) -> Any:
        if not isinstance(value, dict):
            return tuple(value) if isinstance(value, list) else value
        if "@" in value:
            return arrays[value["@"]]
        if "(" in value:
            return tuple(leaf(entry) for entry in value["("])
        if "" in value:
            return Fraction(value[""])
        return {key: leaf(entry) for key, entry in value.items()}

    pieces = {}
    for name, entry in described.items():
        kind = Evidence.kinds[entry["kind"]]
        pieces[name] = kind(**{key: leaf(value) for key, value in known(kind, entry).items()})
    return pieces


def known(kind: Any, record: Mapping[str, Any]) -> dict[str, Any]:
    """What a dataclass has fields for, of what was recorded: a later version may have recorded more."""
    names = {field.name for field in dataclasses.fields(kind)}
    return {name: value for name, value in record.items() if name in names}
