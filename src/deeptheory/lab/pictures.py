"""What pictures are made of: plain data with names and axes in words. How they look is for the report to say.

A panel holds marks: `Curves([Line("predicted", x, y), Dots("observed", x, seen, error=...)], x="width", y="error")`.
A mark with `rival=` shows a wrong version of the truth beside it. Numbers that are not finite break a line, and are
otherwise left out and counted in the caption, and nothing at all is an empty panel; so no run makes a picture that
cannot be drawn. What its author got wrong, parts that do not belong together, is refused where it is written.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from deeptheory.lab.evidence import Limit, Rate

__all__ = [
    "Curves", "Dots", "Field", "Graph", "HeatMap", "Histogram", "Images", "Level", "Line", "Network", "Panel",
    "Picture", "Plane", "Relief", "Row", "Stack", "Surface", "Table", "compared", "power_law", "seen",
]  # fmt: skip


class Picture:
    """Anything that can be drawn."""


def _together(what: str, count: int, **parts: Any) -> None:
    """Refuse parts that have neither none nor `count` entries."""
    for name, part in parts.items():
        if (length := len(part)) not in (0, count):
            raise ValueError(f"{name} must be given for all {count} {what} or for none, got {length}")


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

    def __post_init__(self) -> None:
        _broadcast(self.name, x=self.x, y=self.y, low=self.low, high=self.high)


@dataclass(frozen=True)
class Dots:
    """Points, with error bars `error` to both sides if given, and words for each to be read when pointed at."""

    name: str
    x: Any
    y: Any
    error: Any = None
    words: Sequence[str] | None = None
    rival: str = ""

    def __post_init__(self) -> None:
        _broadcast(self.name, x=self.x, y=self.y, error=self.error, words=self.words)


@dataclass(frozen=True)
class Level:
    """A line over the whole panel at one value of x or of y, with the words that stand at it."""

    says: str = ""
    x: float | None = None
    y: float | None = None
    rival: str = ""

    def __post_init__(self) -> None:
        if (self.x is None) == (self.y is None):
            raise ValueError(f"a level stands at one value of x or of y, got x = {self.x} and y = {self.y}")


Mark = Line | Dots | Level


def _broadcast(mark: str, **parts: Any) -> None:
    """Refuse parts of a mark that differ in length; one number serves for all."""
    sizes = {name: np.size(part) for name, part in parts.items() if part is not None}
    if len(set(sizes.values()) - {1}) > 1:
        found = ", ".join(f"{size} {name}" for name, size in sizes.items())
        raise ValueError(f"the parts of the mark {mark!r} must have one length, got {found}")


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

    def __post_init__(self) -> None:
        if self.log not in ("", "x", "y", "xy"):
            raise ValueError(f"log must be x, y or xy, got {self.log!r}")
        for name, ends in (("x", self.xs), ("y", self.ys)):
            least = 0.0 if name in self.log else -np.inf
            if ends is not None and not least < ends[0] < ends[1] < np.inf:
                above = " and be above zero on a logarithmic axis" if name in self.log else ""
                raise ValueError(f"{name}s must go from the least to the greatest value shown{above}, got {ends}")


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


@dataclass(frozen=True)
class Relief(Surface):
    """A function as a surface in space, which the reader of a page turns and tilts; lines and dots lie on it.

    What is higher than `top` is cut off, so that a steep rim leaves room for what happens below it. Numbers, and
    what its colours mean, are read off a `Surface` beside it: a relief has the names of its axes only.
    """

    top: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.log or self.xs or self.ys:
            raise ValueError("a relief shows its whole grid on linear axes: log, xs and ys have no meaning for it")
        for each in self.marks:
            if isinstance(each, Level) or each.rival:
                raise ValueError("on a relief lie lines and dots that are no rivals")


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

    def __post_init__(self) -> None:
        labels, shape = (len(self.rows), len(self.columns)), np.shape(self.values)
        if shape != labels:
            raise ValueError(f"values must have a row and a column for each label, {labels}, got {shape}")


@dataclass(frozen=True)
class Graph(Picture):
    """Nodes at places in the plane, joined by edges (pairs of node numbers); `kinds` and `edge_kinds` name colours."""

    places: Any
    edges: Sequence[tuple[int, int]]
    kinds: Sequence[str] = ()
    edge_kinds: Sequence[str] = ()
    labels: Sequence[str] = ()
    title: str = ""

    def __post_init__(self) -> None:
        nodes = len(self.places)
        _together("nodes", nodes, kinds=self.kinds, labels=self.labels)
        _together("edges", len(self.edges), edge_kinds=self.edge_kinds)
        for edge in self.edges:
            if not all(0 <= end < nodes for end in edge):
                raise ValueError(f"an edge joins two of the nodes 0 to {nodes - 1}, got {tuple(edge)}")


@dataclass(frozen=True)
class Network(Picture):
    """A network of layers from left to right; `weights[l][i, j]` joins node j of layer l to node i of the next."""

    weights: Sequence[Any]
    names: Sequence[str] = ()
    title: str = ""

    def __post_init__(self) -> None:
        if not len(self.weights):
            raise ValueError("a network must have at least one matrix of weights, got none")
        _together("layers", len(self.weights) + 1, names=self.names)


@dataclass(frozen=True)
class Images(Picture):
    """Small grey images (count × height × width), each with a label below."""

    images: Any
    labels: Sequence[str] = ()
    title: str = ""

    def __post_init__(self) -> None:
        shape = np.shape(self.images)
        if len(self.images) and (len(shape) != 3 or 0 in shape):
            raise ValueError(f"images must have the shape (count, height, width), got {shape}")
        _together("images", len(self.images), labels=self.labels)


@dataclass(frozen=True)
class Table(Picture):
    """Columns by name, of numbers or words; with `prediction` and `observation` named, their difference beside."""

    columns: Mapping[str, Sequence[Any]]
    prediction: str = ""
    observation: str = ""
    title: str = ""

    def __post_init__(self) -> None:
        lengths = {name: len(column) for name, column in self.columns.items()}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"the columns of a table must have one length, got {lengths}")


@dataclass(frozen=True)
class Row(Picture):
    """Pictures side by side, where there is room."""

    pictures: Sequence[Picture]


@dataclass(frozen=True)
class Stack(Picture):
    """Pictures below each other."""

    pictures: Sequence[Picture]
