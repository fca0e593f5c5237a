"""Tables: of numbers as shades, and of numbers to be read."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from deeptheory.formulas import scripted, spoken
from deeptheory.lab.pictures import HeatMap, Table
from deeptheory.report.drawings.canvas import INK, OBSERVED, PREDICTED, Spec, by_word, mark, number, panel, word
from deeptheory.report.drawings.values import finite, plain, rows
from deeptheory.report.pictures.placed import titled

READABLE = 80
"""How many cells of a heat map carry their number."""


def heat_map(picture: HeatMap) -> tuple[Spec, int]:
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
    domain = [low if picture.middle is None else 0.0, high] if high > low else [low - 1, high]
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
    inked = {"color": by_word("side", sides, legend=False), "opacity": number("shade", scale=fading, legend=None)}
    layers = [mark("rect", {"strokeWidth": 0}, shown, **places, **inked, tooltip=told)]
    if len(shown) <= READABLE:
        layers.append(mark("text", {"fontSize": 12, "color": INK}, shown, **places, text=word("said"), tooltip=told))
    height = 40 + (26 if len(downward) <= 14 else 9) * len(downward)
    spec = panel([], *layers, height=height, movable=False)
    return titled(spec, picture.title or picture.value), int(values.size - len(shown))


def table(picture: Table) -> tuple[Spec, int]:
    columns = {name: list(values) for name, values in picture.columns.items()}
    if picture.prediction and picture.observation:
        gaps = np.asarray(columns[picture.observation], float) - np.asarray(columns[picture.prediction], float)
        columns["difference"] = [written(gap, 2) for gap in gaps]
    wide = max(8, 66 // max(len(columns), 1))
    heads = [{"column": name, "row": -1, "said": folded(scripted(name), wide)} for name in columns]
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
    look = {"limit": 150, "lineBreak": "\n"}
    lines = [
        # Heads of two lines end where those of one stand.
        mark("text", look | {"fontWeight": 600, "baseline": "line-bottom"}, heads, **places, text=word("said")),
        mark("text", look, cells, **places, text=word("said")),
    ]
    deep = any("\n" in cell["said"] for cell in cells)
    missing = sum(isinstance(value, float) and not np.isfinite(value) for each in columns.values() for value in each)
    return titled(panel([], *lines, height=(40 if deep else 30) * (count + 1), movable=False), picture.title), missing


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


def folded(text: str, most: int = 18) -> str:
    """Words too long for a cell, on two lines that are about equally long."""
    spaces = [place for place, sign in enumerate(text) if sign == " "]
    if len(text) <= most or not spaces:
        return text
    middle = min(spaces, key=lambda place: abs(place - len(text) / 2))
    return f"{text[:middle]}\n{text[middle + 1 :]}"


def written(value: Any, digits: int = 5) -> str:
    """A number to a few digits, as people write it; words as they are."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    number = float(value)
    if not np.isfinite(number):
        return "—"
    whole = number == round(number) and abs(number) < 1e6
    return spoken(f"{int(number):,}" if whole else f"{number:.{digits}g}")
