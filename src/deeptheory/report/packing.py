"""The records of figures in a third of their text, as the script of a page reads them again."""

from typing import Any

__all__ = ["packed"]

FEWEST = 4
"""Records that are worth packing."""


def packed(value: Any) -> Any:
    """A specification whose lists of records are columns: what is the same in all of them is said once.

    A list of n records becomes {"count": n, "same": …, "each": …, "listed": …}: what all share, columns as they are,
    and columns with few values as pairs of these and of places among them. Records that do not all have the same
    fields stay as they are.
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
    made: dict[str, Any] = {"count": len(records), "fields": fields, "same": {}, "each": {}, "listed": {}}
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
            places = {each: place for place, each in enumerate(known)}
            made["listed"][field] = [[each for _, each in known], [places[type(each), each] for each in column]]
    return made
