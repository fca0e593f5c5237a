"""Lines, dots and levels as layers, in colours that their names decide."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field as default
from itertools import groupby
from typing import Any

import numpy as np

from deeptheory.lab.pictures import Dots, Level, Line, Mark
from deeptheory.report.drawings.canvas import (
    OBSERVED,
    PREDICTED,
    RIVALS,
    SERIES,
    Spec,
    by_word,
    mark,
    number,
    tips,
    word,
)
from deeptheory.report.drawings.values import Rows, finite, rows, thin
from deeptheory.report.pictures.levels import levelled, rival

__all__ = ["Ink", "Placed", "called", "marked"]

DASHES = ([6, 4], [2, 3], [9, 3, 2, 3])
POINTS = 160
"""How many points a line may have."""
CROWD = 200
"""How many dots of one name are drawn small."""


def called(mark: Line | Dots) -> str:
    """The name of a mark in the legend; a rival's says whose it is."""
    return ", ".join(part for part in (mark.name, mark.rival) if part)


@dataclass(frozen=True)
class Ink:
    """Which colour and which dashes each name of a panel has."""

    colours: dict[str, str]
    dashes: dict[str, list[int]]
    lines: bool
    """Whether there are only lines: the legend then shows strokes."""
    both: frozenset[str] = frozenset()
    """Names of lines some of which are dashed and some not: the legend shows them without dashes."""

    @staticmethod
    def of(marks: Sequence[Mark], names: Sequence[str] = ()) -> "Ink":
        """One lone line is a prediction and one lone set of dots an observation; the rest have colours of series."""
        lines = {called(each): None for each in marks if isinstance(each, Line) and not each.rival and each.name}
        dots = {called(each): None for each in marks if isinstance(each, Dots) and not each.rival and each.name}
        dots = dict.fromkeys(names) | dots
        rivals = {called(each): None for each in marks if isinstance(each, Line | Dots) and each.rival}
        colours, free = {}, iter(SERIES * (1 + len(marks) // len(SERIES)))
        alone = [name for name in lines if name not in dots], [name for name in dots if name not in lines]
        paired = not set(lines) & set(dots)
        for name in {**lines, **dots}:
            if paired and alone[0] == [name]:
                colours[name] = PREDICTED
            elif paired and alone[1] == [name]:
                colours[name] = OBSERVED
            else:
                colours[name] = next(free)
        colours |= {name: RIVALS[place % len(RIVALS)] for place, name in enumerate(rivals)}
        drawn = [each for each in marks if isinstance(each, Line) and not each.rival]
        dashed, whole = ({called(each) for each in drawn if each.dashed is way} for way in (True, False))
        dashes = {name: DASHES[0] if name in dashed - whole else [1, 0] for name in colours}
        dashes |= {name: DASHES[place % len(DASHES)] for place, name in enumerate(rivals)}
        strokes = not dots and not any(isinstance(each, Dots) and each.rival for each in marks)
        return Ink(colours, dashes, strokes, frozenset(dashed & whole))

    @property
    def names(self) -> list[str]:
        return list(self.colours)

    def colour(self, *, titled: bool) -> Spec:
        made = by_word("name", self.colours, titled=titled)
        return {**made, "legend": {**made.get("legend", {}), "symbolType": "stroke" if self.lines else "circle"}}

    def strokes(self, style: Spec, records: Rows, encoding: Spec) -> list[Spec]:
        """Layers of lines. Where the legend shows circles dashes must not be encoded: they would cut those too."""
        style = {"clip": True, **style}
        scale = {"domain": self.names, "range": list(self.dashes.values())}
        encoded = {"strokeDash": word("name", scale=scale, title=None)} if self.lines and self.names else {}

        def dash(record: dict[str, Any]) -> list[int] | None:
            named = None if encoded else self.dashes.get(record["name"], [])
            return DASHES[0] if record.pop("dashed", False) else named

        # What comes later lies above what came before.
        return [
            mark("line", style, [record for _, record in some], **encoding, **encoded)
            if way is None
            else mark("line", {**style, "strokeDash": way}, [record for _, record in some], **encoding)
            for way, some in groupby([(dash(record), record) for record in records], key=lambda each: each[0])
        ]


@dataclass
class Placed:
    """The records of a panel's marks, by how they are drawn."""

    tooltips: list[Spec]
    bands: Rows = default(default_factory=list)
    lines: Rows = default(default_factory=list)
    threads: Rows = default(default_factory=list)
    rivals: Rows = default(default_factory=list)
    ends: Rows = default(default_factory=list)
    dots: Rows = default(default_factory=list)
    rival_dots: Rows = default(default_factory=list)
    levels: list[Level] = default(default_factory=list)
    taken: Rows = default(default_factory=list)
    covers: tuple[list[float], list[float]] = default(default_factory=lambda: ([], []))

    def layers(self, axes: Spec, ink: Ink) -> list[Spec]:
        """The layers from the lowest to the one that is pointed at."""
        x, y, colour = axes["x"], axes["y"], axes.get("color", {"value": OBSERVED})
        plain = {"x": x, "y": y, "color": colour}
        way = {"detail": word("part"), "order": number("place")}
        made = []
        if self.bands:
            low = {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"}, "color": colour, "detail": word("part")}
            made.append(mark("area", {"opacity": 0.2, "clip": True}, self.bands, **low))
        made += ink.strokes({"strokeWidth": 0.8, "opacity": 0.65}, self.threads, plain | way)
        made += ink.strokes({"strokeWidth": 2.2}, self.lines, plain | way)
        made += [rival(layer) for layer in ink.strokes({"strokeWidth": 2}, self.rivals, plain | way)]
        drawn = [self.threads, self.lines, self.rivals, self.dots, self.rival_dots, self.taken]
        made += levelled(self.levels, x, y, drawn)
        if self.ends:
            turned = {"angle": {"field": "angle", "type": "quantitative", "scale": None}}
            head = {"shape": "triangle", "size": 60, "filled": True, "opacity": 1, "clip": True}
            made.append(mark("point", head, self.ends, **plain, **turned))
        hidden = {"size": 90, "opacity": 0, "filled": True, "clip": True}
        for records, wrap in ((self.rivals, rival), (self.lines, lambda layer: layer)):
            if pointed := [{name: each[name] for name in ("x", "y", "name")} for each in records[:: POINTS // 40]]:
                made.append(wrap(mark("point", hidden, pointed, x=x, y=y, tooltip=self.tooltips)))
        for records, wrap in ((self.rival_dots, rival), (self.dots, lambda layer: layer)):
            bars = [each for each in records if "low" in each]
            if bars:
                ends = {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"}, "color": colour}
                made.append(wrap(mark("rule", {"strokeWidth": 1.6, "clip": True}, bars, **ends)))
            counts = Counter(each["name"] for each in records)
            # Many of a name are small, and lie below those of which there are few.
            for size, some in (
                (16, [each for each in records if counts[each["name"]] >= CROWD]),
                (52, [each for each in records if counts[each["name"]] < CROWD]),
            ):
                if some:
                    shown = {"size": size, "filled": True, "opacity": 1, "clip": True}
                    made.append(wrap(mark("point", shown, some, **plain, tooltip=self.tooltips)))
        # The last layer carries the view that is dragged: never one that a switch takes away.
        if not made or made[-1].get("name"):
            made.append(mark("point", {**hidden, "aria": False}, [], x=x, y=y))  # nothing to be read out
        return made


def marked(marks: Sequence[Mark], ink: Ink, *, log: str, axes: tuple[str, str]) -> tuple[Placed, int]:
    """The records of these marks, and how many points were not finite."""
    placed, lost = Placed(tips({"name:N": "what", "x": axes[0] or "x", "y": axes[1] or "y"})), 0
    points = max(POINTS // max(1, len(marks) // 4), 40)
    for place, each in enumerate(marks):
        if isinstance(each, Level):
            placed.levels.append(each)
            for covered, value in zip(placed.covers, (each.x, each.y), strict=True):
                covered += [] if value is None else [float(value)]
            continue
        x, y = np.broadcast_arrays(*(np.ravel(np.asarray(part, float)) for part in (each.x, each.y)))
        x, y = (np.where(part > 0, part, np.nan) if name in log else part for name, part in (("x", x), ("y", y)))
        placed.covers[0].extend(finite(x))
        placed.covers[1].extend(finite(y))
        if isinstance(each, Line):
            lay(placed, each, place, x, y, log, points, apart=each.dashed and called(each) in ink.both)
        else:
            lost += dot(placed, each, x, y, log)
    return placed, lost


def lay(
    placed: Placed, line: Line, place: int, x: np.ndarray, y: np.ndarray, log: str, points: int, *, apart: bool
) -> None:
    """Add a line of so many points in the parts between what is not finite; `apart` if others of its name are whole."""
    if x.size == 0:
        return
    kept = thin(len(x), y, keep=points)
    broken = np.cumsum(~(np.isfinite(x) & np.isfinite(y)))
    common = dict(name=called(line), place=np.arange(len(x)), part=[f"{place} {each}" for each in broken])
    seen = dict(x=x, y=y, **common, **({"dashed": True} if apart else {}))
    records = rows(**{name: np.asarray(column)[kept] if np.ndim(column) else column for name, column in seen.items()})
    (placed.rivals if line.rival else placed.threads if line.thin else placed.lines).extend(records)
    if line.low is not None and line.high is not None:
        low, high = (np.broadcast_to(np.ravel(np.asarray(end, float)), x.shape) for end in (line.low, line.high))
        low = np.where(low > 0, low, np.nan) if "y" in log else low
        placed.covers[1].extend([*finite(low), *finite(high)])
        placed.bands.extend(rows(x=x, low=low, high=high, **common))
    if line.arrow and len(records) > 1:
        end, before = records[-1], records[-2]
        turned = np.degrees(np.arctan2(end["x"] - before["x"], end["y"] - before["y"]))
        placed.ends.append({"x": end["x"], "y": end["y"], "angle": float(turned), "name": end["name"]})


def dot(placed: Placed, dots: Dots, x: np.ndarray, y: np.ndarray, log: str) -> int:
    """Add dots; returns how many are not finite."""
    columns: dict[str, Any] = dict(x=x, y=y, name=called(dots))
    if dots.error is not None:
        error = np.broadcast_to(np.ravel(np.asarray(dots.error, float)), x.shape)
        error = np.where(np.isfinite(error), error, 0.0)
        low = y - error
        columns |= dict(low=np.where(low > 0, low, y) if "y" in log else low, high=y + error)
        placed.covers[1].extend([*finite(columns["low"]), *finite(columns["high"])])
    if dots.words is not None:
        columns["words"] = np.asarray(dots.words)
        placed.tooltips = [word("words", title="which"), *(tip for tip in placed.tooltips if tip["field"] != "words")]
    records = rows(**columns)
    (placed.rival_dots if dots.rival else placed.dots).extend(records)
    return len(x) - len(records)
