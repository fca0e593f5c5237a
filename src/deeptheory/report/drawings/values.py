"""The numbers of a figure: axes of evidence with their labels, what is finite, what is few enough to draw."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

__all__ = ["POINTS", "Axis", "Names", "Rows", "axes", "entry", "finite", "plain", "rows", "spread", "thin"]

Rows = list[dict[str, Any]]

POINTS = 700
"""How many marks a panel may carry."""

LETTERS = "alpha beta gamma delta epsilon eta theta kappa lambda lambda_ mu nu xi rho sigma tau phi psi omega"
GREEK: dict[str, str] = dict(zip(LETTERS.split(), "αβγδεηθκλλμνξρστφψω", strict=True))


class Names(NamedTuple):
    """What the numbers of a piece of evidence are called: its values, and what they are taken along."""

    value: str = "value"
    x: str = "x"


@dataclass(frozen=True)
class Axis:
    """One labelled axis of an array: its name, one label an entry, and whether the labels are numbers.

    An axis that nothing names counts its entries.
    """

    name: str
    labels: np.ndarray
    numeric: bool
    named: bool = True

    @property
    def log(self) -> bool:
        return self.numeric and spread(self.labels)

    @property
    def whole(self) -> bool:
        """Whether the labels are whole numbers, between which there is nothing."""
        return self.numeric and bool(np.all(np.asarray(self.labels, float) % 1 == 0))

    def entry(self, place: int) -> str:
        label = self.labels[place]
        return f"{self.name} = {label:.4g}" if self.numeric else str(label)


def axes(shape: Sequence[int], along: Mapping[str, Any]) -> list[Axis]:
    """The axes of an array of this shape, labelled in order by `along`, by position where that says nothing."""
    named = list(along.items())
    found = []
    for place, length in enumerate(shape):
        name, labels = named[place] if place < len(named) else ("", ())
        labels = np.ravel(np.asarray(labels))
        known = labels.size == length > 0
        if not known:
            name, labels = "entry" if len(shape) == 1 else f"entry of axis {place + 1}", np.arange(1, length + 1)
        numeric = labels.dtype.kind in "fiu" and bool(np.all(np.isfinite(labels)))
        found.append(Axis(GREEK.get(name, name.replace("_", " ")), labels, numeric, known))
    return found


def entry(labelled: Sequence[Axis], place: Sequence[int]) -> str:
    """One entry of an array in words: gamma = 0.5, rows = gaussian."""
    return ", ".join(each.entry(i) for each, i in zip(labelled, place, strict=True) if len(each.labels) > 1)


def finite(values: Any) -> np.ndarray:
    """The finite entries, in one row."""
    flat = np.ravel(np.asarray(values, float))
    return flat[np.isfinite(flat)]


def spread(values: Any, factor: float = 30.0) -> bool:
    """Whether positive numbers cover so many magnitudes that a logarithmic axis shows them better."""
    values = finite(values)
    return values.size > 1 and bool(values.min() > 0 and values.max() / values.min() >= factor)


def thin(count: int, *keys: Any, keep: int = POINTS) -> np.ndarray:
    """Which of `count` entries to draw: all where they fit, else an even choice that has the extremes of every key."""
    if count <= keep:
        return np.arange(count)
    ends = [end for key in keys if np.any(np.isfinite(key)) for end in (np.nanargmin(key), np.nanargmax(key))]
    even = np.linspace(0, count - 1, max(keep - len(ends), 1)).astype(int)
    return np.unique(np.concatenate([even, np.asarray(ends, int)]))


def rows(**columns: Any) -> Rows:
    """Columns as records of plain numbers and words; records with a number that is not finite are left out.

    A column of one entry holds for all records, of which there are none where another column is empty.
    """
    arrays = {name: np.ravel(np.asarray(column)) for name, column in columns.items()}
    sizes = {array.size for array in arrays.values()}
    length = 0 if 0 in sizes else max(sizes, default=0)
    arrays = {name: np.broadcast_to(array, (length,)) for name, array in arrays.items()}
    good = np.ones(length, bool)
    for array in arrays.values():
        if array.dtype.kind == "f":
            good &= np.isfinite(array)
    return [{name: plain(array[i]) for name, array in arrays.items()} for i in np.flatnonzero(good)]


def plain(value: Any) -> Any:
    """A number as JSON writes it, to nine digits: a figure needs no more."""
    value = value.item() if hasattr(value, "item") else value
    return float(f"{value:.9g}") if isinstance(value, float) else value
