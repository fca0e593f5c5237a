"""Lines over a whole panel at one value, with their words where the least is drawn."""

import json
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from deeptheory.lab.pictures import Level
from deeptheory.report.drawings.canvas import INK, RIVAL, Spec, mark, word
from deeptheory.report.drawings.values import Rows, rows

__all__ = ["levelled", "named", "rival"]

LETTER, LINE, GAP = 7 / 420, 20 / 280, 4 / 280
"""How wide a letter, how tall a line of words and how far it is off, as shares of a panel of middle width."""


def levelled(levels: Sequence[Level], x: Spec, y: Spec, drawn: Iterable[Rows]) -> list[Spec]:
    """Levels, each with its words where the fewest points are of what is drawn, of other levels and of their words."""
    taken = [each for some in drawn for each in ways(some, x, y)]
    lines = [over(level, x, y) for level in levels]
    made = []
    for place, level in enumerate(levels):
        others = [line for each, line in enumerate(lines) if each != place]
        layers, box = said_at(level, x, y, np.concatenate([np.zeros((0, 2)), *taken, *others]))
        made += layers
        taken.append(box)
    return made


def over(level: Level, x: Spec, y: Spec) -> np.ndarray:
    """A level as points that lie close, in shares of the panel."""
    along = np.linspace(0, 1, 600)
    sides = (shares([level.x], x), along) if level.x is not None else (along, shares([level.y], y))
    return np.stack(np.broadcast_arrays(*sides), axis=1)


def said_at(level: Level, x: Spec, y: Spec, points: np.ndarray) -> tuple[list[Spec], np.ndarray]:
    """A level and its words at the end of it and on the side where the fewest points are, and points all over these."""
    across, value = ("x", float(level.x)) if level.x is not None else ("y", float(level.y or 0.0))
    here = {"x": x, "y": y}[across]
    colour = RIVAL if level.rival else INK
    style = {"color": colour, "strokeDash": [4, 3], "strokeWidth": 1.4, "clip": True}
    said = ", ".join(part for part in (level.says, level.rival) if part)
    at, wide = float(shares([value], here)[0]), min(LETTER * len(said) + 0.02, 1.0)
    if across == "x":
        # Words beside a line that stands: right of it before left, at its top before its foot.
        places = [((at if right else at - wide, 1 - LINE if top else 0.0), (right, top)) for right, top in CHOICES]
        corner, (right, top) = freest(places, (wide, LINE), points)
        text: Spec = {"align": "left", "dx": 5} if right else {"align": "right", "dx": -5}
        text |= {"baseline": "top", "dy": 2} if top else {"baseline": "bottom", "dy": -3}
        there: Spec = {"x": here, "y": {"value": 0 if top else "height"}}
    else:
        places = [
            ((1 - wide if right else 0.0, at + GAP if top else at - GAP - LINE), (right, top)) for right, top in CHOICES
        ]
        corner, (right, top) = freest(places, (wide, LINE), points)
        text = {"align": "right", "dx": -4} if right else {"align": "left", "dx": 4}
        text |= {"baseline": "bottom", "dy": -4} if top else {"baseline": "top", "dy": 5}
        there = {"y": here, "x": {"value": "width" if right else 0}}
    records = rows(**{across: value}, name=said)
    line = mark("rule", style, records, **{across: here})
    text |= {"color": colour, "fontSize": 12, "limit": 480}
    words = named("said", mark("text", text, records, **there, text=word("name")))  # curves may pass behind them
    box = np.array(corner) + np.stack(np.meshgrid(*[np.linspace(0, 1, 24)] * 2), -1).reshape(-1, 2) * (wide, LINE)
    return ([rival(line), rival(words)] if level.rival else [line, words]), box


CHOICES = ((True, True), (True, False), (False, True), (False, False))
"""Right or left, above or below, the more usual first."""


Place = tuple[tuple[float, float], tuple[bool, bool]]
"""The lower left of a box of words, and the choice that puts them there."""


def freest(places: list[Place], size: tuple[float, float], points: np.ndarray) -> Place:
    """The first place whose box has the fewest points and leaves no panel."""

    def crowded(place: Place) -> float:
        low = np.asarray(place[0])
        high = low + size
        outside = low.min() < -0.01 or high.max() > 1.01
        return np.inf if outside else float(np.sum(np.all((points > low) & (points < high), axis=1)))

    return min(places, key=crowded)


def ways(records: Rows, x: Spec, y: Spec) -> Iterator[np.ndarray]:
    """Dots as they are, their bars and lines as points that lie close, in shares of the panel."""
    parts: dict[Any, Rows] = {}
    for record in records:
        parts.setdefault(record.get("part"), []).append(record)
        if "part" not in record and "low" in record:
            low, high = shares([record["low"], record["high"]], y)
            bar = np.arange(low, high, LINE / 2)
            yield np.stack([np.broadcast_to(shares([record["x"]], x), bar.shape), bar], axis=1)
    for part, some in parts.items():
        ends = np.stack([shares([each[name] for each in some], spec) for name, spec in (("x", x), ("y", y))], axis=1)
        along = np.arange(len(ends)) if part is None else np.linspace(0, len(ends) - 1, max(600, len(ends)))
        yield np.stack([np.interp(along, np.arange(len(ends)), side) for side in ends.T], axis=1)


def shares(values: Any, spec: Spec) -> np.ndarray:
    """Numbers as shares of the way from the lower to the upper end of their axis."""
    numbers, ends = np.asarray(values, float), np.asarray(spec["scale"]["domain"], float)
    if spec["scale"].get("type") == "log":
        numbers, ends = np.log(np.where(numbers > 0, numbers, np.nan)), np.log(ends)
    return (numbers - ends[0]) / (ends[1] - ends[0])


def rival(layer: Spec) -> Spec:
    """Name a layer so that a switch finds it."""
    return named("rival", layer)


def named(kind: str, layer: Spec) -> Spec:
    """Give a layer a name of its own by which a page knows its kind, or its kinds."""
    kinds = "_".join([kind, *str(layer.get("name", "")).split("_")[:-1]])
    return {**layer, "name": f"{kinds}_{zlib.crc32(json.dumps(layer, sort_keys=True).encode()):08x}"}
