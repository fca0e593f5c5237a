"""Tables: of numbers as shades, and of numbers to be read."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from deeptheory.formulas import scripted, spoken
from deeptheory.lab.pictures import HeatMap, Table
from deeptheory.report.drawings.canvas import (
    INK,
    OBSERVED,
    PAPER,
    PREDICTED,
    Spec,
    by_word,
    mark,
    number,
    panel,
    shades,
    word,
)
from deeptheory.report.drawings.values import finite, plain, rows
from deeptheory.report.pictures.placed import ROOM, folded, titled

READABLE = 80
"""How many cells of a heat map carry their number."""
DEEP = 0.77
"""From which share of the deepest shade on a number is written in the colour of paper."""
LETTER, LINE = 7, 15
"""Pixels of a letter, and of a line."""
NARROW = 320
"""Pixels of a table on a phone, in which the heads of its columns keep apart."""


def heat_map(picture: HeatMap, room: int = ROOM) -> tuple[Spec, int]:
    values = np.asarray(picture.values, float)
    downward, across = ([written(each) for each in part] for part in (picture.rows, picture.columns))
    i, j = np.indices(values.shape).reshape(2, -1)
    flat, middle = values.ravel(), 0.0 if picture.middle is None else picture.middle
    shade = flat if picture.middle is None else np.abs(flat - middle)
    if picture.log:
        shade = np.where(shade > 0, shade, np.nan)
    shown = rows(
        row=np.asarray(downward)[i],
        column=np.asarray(across)[j],
        value=flat,
        shade=shade,
        side=np.where(flat < middle, "below", "above") if picture.middle is not None else "above",
        said=[written(each, 3) for each in flat],
    )
    low, high = (finite(shade).min(), finite(shade).max()) if shown else (0.0, 1.0)
    if high <= low:
        low = low / 2 if picture.log else low - 1
    domain = [low if picture.middle is None or picture.log else 0.0, high]
    fading = {
        "domain": [plain(end) for end in domain],
        "range": [0.06, 0.95],
        "type": "log" if picture.log else "linear",
    }
    sides = {"above": OBSERVED} if picture.middle is None else {"above": PREDICTED, "below": OBSERVED}
    places = {"x": named("column", across, picture.x), "y": named("row", downward, picture.y)}
    told = [
        word("column", title=picture.x or "column"),
        word("row", title=picture.y or "row"),
        number("value", title=picture.value, format=".6~g"),
    ]
    widest = max((len(each["said"]) for each in shown), default=0)
    legible = bool(shown) and len(shown) <= READABLE and LETTER * widest * len(across) <= room
    legend = None if legible or picture.middle is not None else shades(OBSERVED, ticks=4)
    faded = number("shade", scale=fading, title=picture.value, legend=legend)
    inked = {"color": by_word("side", sides, legend=False), "opacity": faded}
    layers = [mark("rect", {"strokeWidth": 0}, shown, **places, **inked, tooltip=told)]
    if legible:
        low, high = np.log(domain) if picture.log else domain
        deep = low + DEEP * (high - low)
        deeper = {"test": f"datum.shade > {plain(np.exp(deep) if picture.log else deep)}", "value": PAPER}
        inked = {"color": {"condition": deeper, "value": INK}}
        layers.append(mark("text", {"fontSize": 12}, shown, **places, **inked, text=word("said"), tooltip=told))
    height = 40 + (26 if len(downward) <= 14 else 9) * len(downward)
    spec = panel([], *layers, height=height, movable=False)
    return titled(spec, picture.title or picture.value), int(values.size - len(shown))


def table(picture: Table, room: int = ROOM) -> tuple[Spec, int]:
    columns = {name: list(values) for name, values in picture.columns.items()}
    if picture.prediction and picture.observation:
        gaps = np.asarray(columns[picture.observation], float) - np.asarray(columns[picture.prediction], float)
        columns["difference"] = [written(gap, 2) for gap in gaps]
    wide = max(8, min(room, NARROW) // ((LETTER + 1) * max(len(columns), 1)))
    said = {name: folded(scripted(name), wide) for name in columns}
    tall = max((head.count("\n") for head in said.values()), default=0)
    # Heads of fewer lines than others end where those end: what is above them is a line of a space that is kept.
    heads = [
        {"column": name, "row": -1, "said": "\u00a0\n" * (tall - head.count("\n")) + head}
        for name, head in said.items()
    ]
    cells = [
        {"column": name, "row": place, "said": folded(written(value))}
        for name, values in columns.items()
        for place, value in enumerate(values)
    ]
    count = max((len(values) for values in columns.values()), default=0)
    places = {
        "x": {**named("column", list(columns), ""), "axis": None},
        "y": {"field": "row", "type": "ordinal", "axis": None, "sort": list(range(-1, count))},
    }
    look = {"limit": 150, "lineBreak": "\n", "lineHeight": LINE}
    lines = [
        mark("text", look | {"fontWeight": 600, "dy": -LINE * tall}, heads, **places, text=word("said")),
        mark("text", look, cells, **places, text=word("said")),
    ]
    more = max((cell["said"].count("\n") for cell in cells), default=0)
    missing = sum(isinstance(value, float) and not np.isfinite(value) for each in columns.values() for value in each)
    return titled(panel([], *lines, height=(30 + LINE * more) * (count + 1), movable=False), picture.title), missing


def named(field: str, labels: Sequence[str], title: str, **more: Any) -> Spec:
    """A place by its label, in the order given."""
    axis: Spec = {
        "title": title or None,
        "grid": False,
        "labelAngle": 0,
        "labelLimit": 140,
        "labelOverlap": True,
        **more,
    }
    return {"field": field, "type": "ordinal", "sort": list(labels), "scale": {"padding": 0.03}, "axis": axis}


def written(value: Any, digits: int = 5) -> str:
    """A number to a few digits, as people write it; words as they are."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    number = float(value)
    if not np.isfinite(number):
        return "—"
    whole = number == round(number) and abs(number) < 1e8
    return spoken(f"{int(number):,}" if whole else f"{number:.{digits}g}")
