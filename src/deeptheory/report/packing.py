"""Figures in a fraction of their text, as the script of a page reads them again: records as columns, and of a figure
that is much like another only what differs."""

import json
from typing import Any

__all__ = ["changes", "packed"]

FEWEST = 4
"""Records that are worth packing."""


def packed(value: Any) -> Any:
    """A specification whose lists of records are columns: what is the same in all of them is said once.

    A list of n records becomes {"count": n, "same": …, "each": …, "turns": …, "listed": …}: what all share, columns as
    they are, columns whose values take turns, each so many times, as in a grid, and other columns with few values as
    pairs of these and of places among them. Records that do not all have the same fields stay as they are.
    """
    if isinstance(value, list):
        return [packed(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {name: columns(each) if name == "values" else packed(each) for name, each in value.items()}


def columns(records: Any) -> Any:
    """A list of records as columns, if that is what it is."""
    if not isinstance(records, list) or len(records) < FEWEST or not all(isinstance(each, dict) for each in records):
        return records
    fields = list(records[0])
    if not fields or any(list(each) != fields for each in records):
        return records
    made: dict[str, Any] = {"count": len(records), "fields": fields, "same": {}, "each": {}, "turns": {}, "listed": {}}
    for field in fields:
        column = [each[field] for each in records]
        plain = all(isinstance(each, str | int | float | None) for each in column)
        # By type too: true, 1 and 1.0 are equal, and are written differently.
        known = {(type(each), each): None for each in column} if plain else {}
        if not plain or 3 * len(known) > len(column):
            made["each"][field] = column
        elif len(known) == 1:
            made["same"][field] = column[0]
        else:
            at = {each: place for place, each in enumerate(known)}
            values, places = [each for _, each in known], [at[type(each), each] for each in column]
            times = places.index(1)
            if all(place == row // times % len(values) for row, place in enumerate(places)):
                made["turns"][field] = [values, times]
            else:
                made["listed"][field] = [values, places]
    return made


def changes(base: dict[str, Any], other: dict[str, Any]) -> list[Any]:
    """What makes one specification of another: pairs of a path and what then stands there, or a path to leave out.

    Taken in order, on a copy. Lists are entered only if they hold as many parts, all of them with names.
    """
    found: list[Any] = []
    for name in [name for name in base if name not in other]:
        found.append([[name]])
    for name, value in other.items():
        found += _altered([name], base[name], value) if name in base else [[[name], value]]
    return found


def _altered(path: list[Any], old: Any, new: Any) -> list[Any]:
    """The changes below a path, or the whole of it where that is shorter."""
    if json.dumps(old) == json.dumps(new):  # also 1, 1.0 and true apart
        return []
    parts = whole = [[path, new]]
    if isinstance(old, dict) and isinstance(new, dict):
        parts = [[[*path, *inner], *value] for inner, *value in changes(old, new)]
    elif _alike(old) and _alike(new) and len(old) == len(new):
        pairs = enumerate(zip(old, new, strict=True))
        parts = [change for place, pair in pairs for change in _altered([*path, place], *pair)]
    return min(parts, whole, key=lambda each: len(json.dumps(each)))


def _alike(value: Any) -> bool:
    """Whether this is a list of parts with names."""
    return isinstance(value, list) and all(isinstance(each, dict) for each in value)
