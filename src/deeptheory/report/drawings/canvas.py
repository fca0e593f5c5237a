"""What all figures share: colours, one look, and the few words in which Vega-Lite is spoken.

Default figures are Vega-Lite specifications as plain dictionaries: a hundred times faster to make than Altair's
objects, which matters for a report of a thousand pages. `deeptheory.report.figure` turns them into Altair charts.
"""

import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from deeptheory.report.drawings.values import Rows, finite, plain, rows, spread

__all__ = [
    "BAND", "INK", "OBSERVED", "PAPER", "PREDICTED", "RELIEF", "RIVAL", "RIVALS", "SERIES", "THEME", "Drawn", "Spec",
]  # fmt: skip

Spec = dict[str, Any]

# Okabe and Ito's colours, which people with any kind of colour vision tell apart. The pages exchange each for a lighter
# one on a dark ground, so a drawing that uses these names is readable on both.
OBSERVED = "#0072B2"
PREDICTED = "#D55E00"
RIVAL = "#8C6BB1"
RIVALS = (RIVAL, "#46307D")
"""Of two wrong versions in one panel each has its own colour."""
BAND = "#8A8F98"
INK = "#1D1F23"
PAPER = "#FCFBF8"
SERIES = ("#009E73", "#CC79A7", "#B8860B", "#56B4E9", "#8C564B", "#5B6B8C")
"""Colours of series that share a panel; none of them is that of observation or prediction."""
RELIEF = ("#F3F1EB", "#E6E6E3", "#D6D9DB", "#C5CAD0", "#B2BAC3", "#9FA9B5", "#8B97A6", "#788596")
"""Shades of the faces of a relief, from the lowest to the highest. They cover what lies behind them."""

THEME: Spec = {
    "background": "transparent",
    "font": "system-ui, -apple-system, 'Segoe UI', 'Helvetica Neue', Arial, sans-serif",
    "padding": 2,
    "view": {"stroke": None, "continuousWidth": 600, "continuousHeight": 250, "discreteWidth": 600},
    "axis": {
        "domain": False,
        "gridColor": BAND,
        "gridOpacity": 0.22,
        "labelColor": INK,
        "labelFontSize": 12,
        "labelLimit": 220,
        "labelOverlap": "greedy",
        "labelPadding": 6,
        "tickCount": 5,
        "ticks": False,
        "titleColor": INK,
        "titleFontSize": 12.5,
        "titleFontWeight": "normal",
    },
    "axisX": {"titlePadding": 8, "labelFlush": False},
    "axisY": {
        "minExtent": 44,
        "titleAlign": "left",
        "titleAngle": 0,
        "titleAnchor": "start",
        "titleBaseline": "bottom",
        "titleX": -44,
        "titleY": -10,
    },
    "legend": {
        "orient": "top",
        "titleColor": INK,
        "titleFontSize": 12.5,
        "titleFontWeight": "normal",
        "labelColor": INK,
        "labelFontSize": 12.5,
        "labelLimit": 300,
        "symbolOpacity": 1,
        "symbolStrokeWidth": 2,
        "offset": 34,  # leaves room for the title of the y axis, which stands above it
        "columnPadding": 18,
    },
    "mark": {"color": OBSERVED},
    "title": {"anchor": "start", "color": INK, "fontSize": 14, "fontWeight": 600, "offset": 14, "frame": "group"},
    "text": {"color": INK, "fontSize": 12.5},
    "rule": {"color": INK},
    "concat": {"spacing": 30},
    "range": {"category": [OBSERVED, PREDICTED, *SERIES]},
}


@dataclass(frozen=True)
class Drawn:
    """A figure as a Vega-Lite specification, and the sentence that says what it shows.

    `lines` are given where the figure is nothing but lines of text: a page sets those as text.
    """

    spec: Spec
    caption: str
    lines: tuple[str, ...] = ()

    @staticmethod
    def said(lines: Iterable[str], caption: str) -> "Drawn":
        """A figure of words, for what is read rather than seen."""
        kept = tuple(line for line in lines if line)
        return Drawn(text(kept), caption, kept)


# Vega-Lite -----------------------------------------------------------------------------------------------------------


def mark(kind: str, style: Spec, records: Rows | None = None, /, **encoding: Any) -> Spec:
    """A layer: marks of a kind and style over these records (default: those of the panel)."""
    data = {} if records is None else {"data": {"values": records}}
    return {**data, "mark": {"type": kind, **style}, "encoding": encoding}


def panel(records: Rows, *layers: Spec, height: int, movable: bool = True) -> Spec:
    """Layers over each other; the last carries the marks people point at, and the view that is dragged and zoomed.

    The wheel zooms only with shift and a finger never drags, so that the page still scrolls over its figures.
    """
    last, params = layers[-1], []
    if movable:
        # Named after what it shows: two panels must not share a view, and equal runs must give equal pages.
        shown = json.dumps([records, layers], sort_keys=True)
        select = {
            "type": "interval",
            "translate": "[mousedown, window:mouseup] > window:mousemove!",
            "zoom": "wheel![event.shiftKey]",
            "clear": "dblclick",
        }
        name = f"{zlib.crc32(shown.encode()):08x}"
        last = {**last, "name": f"marks_{name}"}
        params = [{"name": f"view_{name}", "select": select, "bind": "scales", "views": [f"marks_{name}"]}]
    return {"data": {"values": records}, "height": height, "layer": [*layers[:-1], last], "params": params}


def stacked(*figures: Spec) -> Spec:
    """The panels of these figures below each other, each with its own scales; what moves them stands at the top."""
    panels = [panel for figure in figures for panel in figure.get("vconcat", [figure])]
    return {
        "vconcat": [{name: value for name, value in panel.items() if name != "params"} for panel in panels],
        "resolve": {"scale": dict.fromkeys(("color", "strokeDash", "x", "y"), "independent")},
        "params": [param for figure in figures for param in figure.get("params", [])],
    }


def number(field: str, *, scale: Spec | None = None, axis: Spec | None = None, **more: Any) -> Spec:
    """A number from a field, on a position."""
    placed = {"scale": scale} if scale is not None else {}
    return {"field": field, "type": "quantitative", **placed, **({"axis": axis} if axis is not None else {}), **more}


def word(field: str, **more: Any) -> Spec:
    return {"field": field, "type": "nominal", **more}


def by_word(field: str, colours: Mapping[str, str], *, legend: bool = True, titled: bool = False) -> Spec:
    """Colours by the words in a field; `titled` where the y axis has a title, which stands below the legend."""
    scale = {"domain": list(colours), "range": list(colours.values())}
    shown = {"legend": None} if not legend else {} if titled else {"legend": {"offset": 12}}
    return word(field, scale=scale, title=None, **shown)


def shades(colour: str, ticks: int) -> Spec:
    """The legend of shades, below the panel: beside that of colours it would be wider than the panel."""
    look = {"symbolType": "square", "symbolFillColor": colour, "symbolStrokeWidth": 0}
    return {"orient": "bottom", "titleOrient": "left", "offset": 12, "tickCount": ticks, **look}


def scale(values: Any, *, log: bool | None = None, pad: float = 0.05) -> Spec:
    """A scale that covers these numbers with a little room, logarithmic where they spread over magnitudes."""
    values = finite(values)
    log = spread(values) if log is None else log
    if log:
        values = values[values > 0]
    if values.size == 0:
        return {"domain": [1.0, 10.0], "type": "log"} if log else {"domain": [0.0, 1.0]}
    low, high = float(values.min()), float(values.max())
    if log:
        room = max((high / low) ** pad, 1.05)
        return {"type": "log", "domain": [plain(low / room), plain(high * room)], "nice": False}
    # Numbers that differ by rounding only would leave an axis without a second label.
    room = pad * (high - low) if high - low > 1e-6 * abs(high) else 0.1 * abs(high) or 1.0
    return {"domain": [plain(low - room), plain(high + room)], "nice": False, "zero": False}


def labels(
    title: str | None,
    scale: Spec,
    *,
    percent: bool = False,
    whole: bool = False,
    grid: bool = True,
    ticks: int = 5,
    least: bool = False,
) -> Spec:
    """A numeric axis on a scale; a logarithmic one is labelled at round numbers only.

    `whole` where only whole numbers mean something; `least` where what is smaller stands at the lowest label.
    """
    shown = {"title": title or None, "grid": grid, "tickCount": ticks}
    if scale.get("type") == "log":
        values = round_numbers(scale["domain"])
        named = [tens(value) for value in values]
        if least:
            lowest = next(place for place, value in enumerate(values) if value >= scale["domain"][0])
            named[lowest] = f"≤ {named[lowest]}"
        # Looked up rather than formatted: the format of Vega writes 10000 as 1e+4. Of more numbers than it is to show
        # Vega leaves out every other one, so that 1, 2, 5, 10, 20 would become 1, 5, 20.
        said = f"{json.dumps(named)}[indexof({values}, datum.value)]"
        return shown | {"values": values, "tickCount": len(values), "labelExpr": said}
    low, high = scale["domain"]
    if whole and high - low <= 8:
        # A least step of one is not kept by Vega on axes this short.
        values = [plain(float(each)) for each in range(int(np.ceil(low)), int(np.floor(high)) + 1)]
        return shown | {"values": values, "tickCount": len(values), "format": ",d"}
    if whole:
        shown["tickMinStep"] = 1
    largest = max(abs(low), abs(high))
    if largest == 0 or (1e-6 if percent else 1e-3) <= largest < 1e6:
        return shown | {"format": "~%" if percent else ",~f"}  # as many digits as the ticks need
    power = int(np.floor(np.log10(largest)))
    digits = max(4, int(np.ceil(np.log10(largest / (high - low)))) + 2)
    unit = f"format(datum.value / 1e{power}, '.{digits}~') + '·{raised(10, power)}'"
    return shown | {"labelExpr": f"datum.value ? {unit} : '0'"}


def tens(value: float) -> str:
    """A round number: plain near 1, as a power of ten beyond 10⁴ and below 10⁻⁴."""
    power = int(np.floor(np.log10(value) + 1e-9))
    if abs(power) <= 4:
        return f"{value:,.6g}"
    times = f"{value / 10.0**power:.4g}"
    return raised(10, power) if times == "1" else f"{times}·{raised(10, power)}"


def raised(base: Any, power: Any) -> str:
    """A whole power in superscripts."""
    return f"{base}{str(power).translate(str.maketrans('-0123456789', '⁻⁰¹²³⁴⁵⁶⁷⁸⁹'))}"


def round_numbers(domain: Sequence[float]) -> list[float]:
    """Powers of ten, with 2 and 5 times them on short axes, over a logarithmic axis and a little beyond.

    An axis too short for three of these has even steps.
    """
    low, high = np.log10(domain[0]), np.log10(domain[1])
    every = max(1, round((high - low) / 5))
    first = int(np.floor(low / every)) - 1
    powers = [every * step for step in range(first, int(np.ceil(high / every)) + 2)]
    values = [
        plain(times * 10.0**power) for power in powers for times in ((1.0, 2.0, 5.0) if high - low < 2.2 else (1.0,))
    ]
    if high - low >= 1 or sum(domain[0] <= value <= domain[1] for value in values) > 2:
        return values
    largest = 10.0 ** np.floor(np.log10(domain[1] - domain[0]))
    for share in (5.0, 2.0, 1.0, 0.5, 0.2, 0.1):
        ends = (domain[0] / largest / share, domain[1] / largest / share)
        values = [plain(share * largest * count) for count in range(int(np.ceil(ends[0])), int(ends[1]) + 1)]
        if len(values) > 2:
            break
    return values


def tips(fields: Mapping[str, str], form: str = ".6~g") -> list[Spec]:
    """Tooltips: field → what it is called; a field that ends in ":N" is a word."""
    return [
        word(field[:-2], title=title) if field.endswith(":N") else number(field, title=title, format=form)
        for field, title in fields.items()
    ]


def band(across: str, least: float, most: float, covered: Spec, *, colour: str = BAND, opacity: float = 0.2) -> Spec:
    """A stripe over the whole panel between two values of x or y."""
    ends = {across: number("least", scale=covered), f"{across}2": {"field": "most"}}
    return mark("rect", {"color": colour, "opacity": opacity, "clip": True}, rows(least=least, most=most), **ends)


def line_at(across: str, value: float, covered: Spec, *, colour: str = PREDICTED) -> Spec:
    """A line over the whole panel at one value of x or y."""
    style = {"color": colour, "strokeWidth": 1.5, "clip": True}
    return mark("rule", style, rows(value=float(value)), **{across: number("value", scale=covered)})


def text(lines: Sequence[str]) -> Spec:
    """Lines of text as a figure."""
    records = [{"line": i, "words": words} for i, words in enumerate(lines)]
    place = {"field": "line", "type": "ordinal", "axis": None}
    style = {"align": "left", "baseline": "middle", "fontSize": 14, "limit": 640}
    shown = mark("text", style, x={"value": 4}, y=place, text=word("words"))
    return panel(records, shown, height=26 * max(len(records), 1), movable=False)
