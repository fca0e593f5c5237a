"""What pictures are made of: plain data with names and axes in words. How they look is for the report to say.

A panel holds marks: `Curves([Line("predicted", x, y), Dots("observed", x, seen, error=...)], x="width", y="error")`.
A mark with `rival=` shows a wrong version of the truth beside it. Numbers that are not finite break a line, and are
otherwise left out and counted in the caption; so no run makes a picture that cannot be drawn.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from deeptheory.lab.evidence import Limit, Rate

__all__ = [
    "Curves", "Dots", "Field", "Graph", "HeatMap", "Histogram", "Images", "Level", "Line", "Network", "Panel",
    "Picture", "Plane", "Row", "Stack", "Surface", "Table", "compared", "power_law", "seen",
]  # fmt: skip


class Picture:
    """Anything that can be drawn."""


# Marks ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Line:
    """A curve, or a way through the plane, in the order of its points; with a band from `low` to `high` if given.

    Marks of one name share a colour. `rival` says whose wrong version this is ("as printed in Thm 7.4"); it is drawn
    dashed, in the rivals' colour, and can be switched off. `thin` is for many of a kind; `arrow` marks the end.
    """

    name: str
    x: Any
    y: Any
    low: Any = None
    high: Any = None
    rival: str = ""
    dashed: bool = False
    thin: bool = False
    arrow: bool = False


@dataclass(frozen=True)
class Dots:
    """Points, with error bars `error` to both sides if given, and words for each to be read when pointed at."""

    name: str
    x: Any
    y: Any
    error: Any = None
    words: Sequence[str] | None = None
    rival: str = ""


@dataclass(frozen=True)
class Level:
    """A line over the whole panel at one value of x or of y, with the words that stand at it."""

    says: str = ""
    x: float | None = None
    y: float | None = None
    rival: str = ""


Mark = Line | Dots | Level


def seen(name: str, x: Any, trials: Any, *, rival: str = "") -> Dots:
    """Means over the last axis, with two standard errors to both sides."""
    trials = np.asarray(trials, float)
    count = trials.shape[-1]
    error = 2 * trials.std(-1, ddof=1) / count**0.5 if count > 1 else None
    return Dots(name, x, trials.mean(-1), error, rival=rival)


# Panels --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Panel(Picture):
    """Marks over two axes that are named in words, with units; `log` is "x", "y" or "xy".

    `xs` and `ys` are the least and greatest value shown; what lies outside is cut off.
    """

    marks: Sequence[Mark] = ()
    x: str = field(default="", kw_only=True)
    y: str = field(default="", kw_only=True)
    title: str = field(default="", kw_only=True)
    log: str = field(default="", kw_only=True)
    xs: tuple[float, float] | None = field(default=None, kw_only=True)
    ys: tuple[float, float] | None = field(default=None, kw_only=True)


@dataclass(frozen=True)
class Curves(Panel):
    """Predictions as lines and observations as dots over one variable."""


@dataclass(frozen=True)
class Plane(Panel):
    """Points, boundaries and trajectories in a plane whose two axes have one scale."""


@dataclass(frozen=True)
class Histogram(Panel):
    """Samples as a histogram of total area `area`, under the densities that are among the marks."""

    samples: Any = field(default=(), kw_only=True)
    bins: int = field(default=40, kw_only=True)
    area: float = field(default=1.0, kw_only=True)
    name: str = field(default="observed", kw_only=True)


@dataclass(frozen=True)
class Field(Plane):
    """A vector field as arrows (u, v) at places (at_x, at_y), with trajectories among the marks: a phase portrait."""

    at_x: Any = field(default=(), kw_only=True)
    at_y: Any = field(default=(), kw_only=True)
    u: Any = field(default=(), kw_only=True)
    v: Any = field(default=(), kw_only=True)


@dataclass(frozen=True)
class Surface(Plane):
    """A function as shades with level sets: `heights[i, j]` at (`columns[j]`, `rows[i]`); trajectories as marks."""

    columns: Any = field(default=(), kw_only=True)
    rows: Any = field(default=(), kw_only=True)
    heights: Any = field(default=(), kw_only=True)
    levels: int | Sequence[float] = field(default=10, kw_only=True)
    value: str = field(default="value", kw_only=True)


# What many claims show ------------------------------------------------------------------------------------------------


def compared(
    along: Any,
    predicted: Any,
    observed: Any,
    *also: Mark,
    rivals: Mapping[str, Any] = MappingProxyType({}),
    names: tuple[str, str] = ("predicted", "observed"),
    **axes: Any,
) -> Curves:
    """Prediction, observation and what is wrong beside them, over one variable.

    `predicted` and each of the `rivals`, which stand under the words that the legend has for them, are numbers at
    `along` or functions, drawn over the whole width of the panel. Of an `observed` with trials as its last axis the
    means are drawn, with two standard errors. `also` are more marks; `axes` are those of a panel.
    """
    places = np.ravel(np.asarray(along, float))
    low, high = axes.get("xs") or (places.min(), places.max())
    dense = (np.geomspace if "x" in axes.get("log", "") else np.linspace)(low, high, 100)

    def line(name: str, values: Any, rival: str = "") -> Line:
        return (
            Line(name, dense, values(dense), rival=rival)
            if callable(values)
            else Line(name, places, values, rival=rival)
        )

    dots = seen(names[1], places, observed) if np.ndim(observed) > 1 else Dots(names[1], places, observed)
    wrong = [line("", values, says) for says, values in rivals.items()]
    return Curves([line(names[0], predicted), dots, *wrong, *also], **axes)


def power_law(name: str, evidence: Rate | Limit, *, rivals: Mapping[float, str] = MappingProxyType({})) -> list[Mark]:
    """The values of a rate or of a limit, with lines of its exponent, and of wrong ones, through the first value."""
    x, first = np.asarray(evidence.x, float), float(np.mean(np.asarray(evidence.y)[0]))
    values = seen(name, x, evidence.y) if np.ndim(evidence.y) > 1 else Dots(name, x, evidence.y)
    exponent = evidence.exponent if isinstance(evidence, Rate) else -evidence.order

    def line(exponent: float) -> np.ndarray:
        return first * (x / x[0]) ** exponent

    wrong = [Line("", x, line(each), rival=says) for each, says in rivals.items()]
    return [values, Line(name, x, line(exponent)), *wrong]


# What has no marks ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class HeatMap(Picture):
    """A table of numbers as shades: `values[i, j]` at row i and column j, each labelled by a number or words.

    With `middle`, numbers above and below it have different colours.
    """

    values: Any
    rows: Sequence[Any]
    columns: Sequence[Any]
    x: str = ""
    y: str = ""
    title: str = ""
    value: str = "value"
    middle: float | None = None
    log: bool = False


@dataclass(frozen=True)
class Graph(Picture):
    """Nodes at places in the plane, joined by edges (pairs of node numbers); `kinds` and `edge_kinds` name colours."""

    places: Any
    edges: Sequence[tuple[int, int]]
    kinds: Sequence[str] = ()
    edge_kinds: Sequence[str] = ()
    labels: Sequence[str] = ()
    title: str = ""


@dataclass(frozen=True)
class Network(Picture):
    """A network of layers from left to right; `weights[l][i, j]` joins node j of layer l to node i of the next."""

    weights: Sequence[Any]
    names: Sequence[str] = ()
    title: str = ""


@dataclass(frozen=True)
class Images(Picture):
    """Small grey images (count × height × width), each with a label below."""

    images: Any
    labels: Sequence[str] = ()
    title: str = ""


@dataclass(frozen=True)
class Table(Picture):
    """Columns by name, of numbers or words; with `prediction` and `observation` named, their difference beside."""

    columns: Mapping[str, Sequence[Any]]
    prediction: str = ""
    observation: str = ""
    title: str = ""


@dataclass(frozen=True)
class Row(Picture):
    """Pictures side by side, where there is room."""

    pictures: Sequence[Picture]


@dataclass(frozen=True)
class Stack(Picture):
    """Pictures below each other."""

    pictures: Sequence[Picture]
