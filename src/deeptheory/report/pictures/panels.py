"""Panels with two numeric axes: marks over each other, and what a kind of panel lays below them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from deeptheory.lab.pictures import Curves, Field, Histogram, Panel, Plane, Surface
from deeptheory.report.drawings.canvas import (
    BAND,
    INK,
    Spec,
    labels,
    mark,
    number,
    panel,
    scale,
    shades as shades_of,
    tips,
    word,
)
from deeptheory.report.drawings.values import Rows, finite, rows
from deeptheory.report.pictures.contours import level_sets, short
from deeptheory.report.pictures.marks import Ink, marked

HEIGHT = 280
SIDE = 440
"""How wide a plane is at most."""
GRID = 32
"""How many shades a surface has at most along an axis."""


def curves(picture: Curves) -> tuple[Spec, int]:
    return drawn(picture, [])


def plane(picture: Plane) -> tuple[Spec, int]:
    return drawn(picture, [])


def histogram(picture: Histogram) -> tuple[Spec, int]:
    samples = np.ravel(np.asarray(picture.samples, float))
    kept = finite(samples)
    if picture.xs:
        kept = kept[(kept >= picture.xs[0]) & (kept <= picture.xs[1])]
    counts, ends = np.histogram(kept, bins=picture.bins, range=picture.xs)
    heights = picture.area * counts / max(len(finite(samples)), 1) / np.diff(ends)
    bars = rows(x=ends[:-1], x2=ends[1:], y=heights, y2=0.0, name=picture.name, count=counts)
    named = tips({"x": "from", "x2": "to", "count": "samples", "y": picture.y or "density"})
    below = [({"type": "rect", "opacity": 0.45, "clip": True}, bars, {"x2": "x2", "y2": "y2", "tooltip": named})]
    taken = rows(x=(ends[:-1] + ends[1:]) / 2, y=heights, low=0.0, high=heights)
    extra = ends, np.append(heights, 0.0)
    return drawn(picture, below, extra=extra, names=(picture.name,), lost=lost(samples), taken=taken)


def field(picture: Field) -> tuple[Spec, int]:
    x, y, u, v = (np.ravel(np.asarray(each, float)) for each in (picture.at_x, picture.at_y, picture.u, picture.v))
    longest = np.hypot(finite(u).max(initial=0), finite(v).max(initial=0)) or 1.0
    length = np.hypot(u, v)
    # The longest arrow spans the distance between two places; the others follow by the root, or most would be dots.
    spread = [np.ptp(each) for each in (finite(x), finite(y)) if each.size]
    spacing = max([*spread, 1e-300]) / max(np.sqrt(x.size), 2)
    grown = 0.85 * spacing * np.sqrt(length / longest) / np.where(length > 0, length, 1)
    ends = x + grown * u, y + grown * v
    shafts = rows(x=x, y=y, x2=ends[0], y2=ends[1], length=length)
    heads = rows(x=ends[0], y=ends[1], angle=np.degrees(np.arctan2(u, v)), length=length)
    turned = {"angle": {"field": "angle", "type": "quantitative", "scale": None}}
    arrow = {"opacity": 0.5, "color": INK, "clip": True}
    below = [
        ({"type": "rule", **arrow}, shafts, {"x2": "x2", "y2": "y2"}),
        ({"type": "point", "shape": "triangle", "size": 26, "filled": True, **arrow}, heads, turned),
    ]
    return drawn(picture, below, extra=(np.append(x, ends[0]), np.append(y, ends[1])), lost=x.size - len(shafts))


def surface(picture: Surface) -> tuple[Spec, int]:
    x, y, z = (np.asarray(each, float) for each in (picture.columns, picture.rows, picture.heights))
    below: list[tuple[Spec, Rows, Spec]] = []
    every = max(1, -(-len(x) // GRID)), max(1, -(-len(y) // GRID))
    left, right, low, high = *cells(x[:: every[0]]), *cells(y[:: every[1]])
    shown = z[:: every[1], :: every[0]]
    j, i = (part.ravel() for part in np.meshgrid(np.arange(shown.shape[1]), np.arange(shown.shape[0])))
    left, right, low, high, shown = (short(each) for each in (left, right, low, high, shown))
    shades = rows(x=left[j], x2=right[j], y=low[i], y2=high[i], value=shown[i, j])
    shade = {"type": "rect", "color": BAND, "clip": True, "strokeWidth": 0}
    opacity = number("value", scale={"range": [0.04, 0.75]}, title=picture.value, legend=shades_of(BAND, ticks=3))
    told = [number("value", title=picture.value, format=".4~g")]
    below.append((shade, shades, {"x2": "x2", "y2": "y2", "opacity": opacity, "tooltip": told}))
    contours = level_sets(x, y, z, picture.levels)
    thread = {"type": "line", "color": INK, "opacity": 0.55, "strokeWidth": 0.8, "clip": True, "order": False}
    below.append((thread, contours, {"detail": word("path")}))
    return drawn(picture, below, extra=(x, y), tight=True, lost=lost(z))


def drawn(
    picture: Panel,
    below: Sequence[tuple[Spec, Rows, Spec]],
    *,
    extra: tuple[Any, Any] = ((), ()),
    names: Sequence[str] = (),
    lost: int = 0,
    tight: bool = False,
    taken: Sequence[dict[str, Any]] = (),
) -> tuple[Spec, int]:
    """The marks of a panel over what lies below them: style, records and encodings beside x and y.

    `extra` are numbers that the axes must cover too, `names` those of what lies below, `taken` bars that words avoid.
    """
    ink = Ink.of(picture.marks, names)
    placed, missing = marked(picture.marks, ink, log=picture.log, axes=(picture.x, picture.y))
    placed.taken = list(taken)
    covered = [
        reach([*extra[place], *placed.covers[place]], limits, log=name in picture.log, tight=tight)
        for place, (name, limits) in enumerate((("x", picture.xs), ("y", picture.ys)))
    ]
    size: Spec = {"height": HEIGHT}
    if isinstance(picture, Plane) and not picture.log:
        size = square(*covered)
    axes = {
        name: number(name, scale=scaled, axis=labels(title, scaled, grid=not tight))
        for name, scaled, title in zip(("x", "y"), covered, (picture.x, picture.y), strict=True)
    }
    if ink.names:
        axes["color"] = ink.colour(titled=bool(picture.y))
    ground = [
        mark(style["type"], {k: v for k, v in style.items() if k != "type"}, records, **base(axes, style), **more(also))
        for style, records, also in below
    ]
    spec = panel([], *ground, *placed.layers(axes, ink), height=size["height"])
    return {**spec, **size, **({"title": picture.title} if picture.title else {})}, lost + missing


def base(axes: Spec, style: Spec) -> Spec:
    """The positions, and the colours where a layer has none of its own."""
    return {name: value for name, value in axes.items() if name != "color" or "color" not in style}


def more(also: Spec) -> Spec:
    return {name: {"field": value} if isinstance(value, str) else value for name, value in also.items()}


def reach(values: Any, limits: tuple[float, float] | None, *, log: bool, tight: bool) -> Spec:
    """The scale of an axis: as wide as was asked for, or as the numbers need."""
    if limits is not None:
        return scale(np.asarray(limits, float), log=log, pad=0.0) | {"domain": [float(each) for each in limits]}
    return scale(values, log=log, pad=0.0 if tight else 0.04)


def square(x: Spec, y: Spec) -> Spec:
    """The size at which both axes have one scale; an axis far shorter than the other is made longer."""
    (left, right), (low, high) = x["domain"], y["domain"]
    ratio = (high - low) / (right - left)
    if ratio > 1.25:
        room = ((high - low) / 1.25 - (right - left)) / 2
        x["domain"] = [left - room, right + room]
    elif ratio < 0.4:
        room = (0.4 * (right - left) - (high - low)) / 2
        y["domain"] = [low - room, high + room]
    return {"width": SIDE, "height": round(SIDE * float(np.clip(ratio, 0.4, 1.25)))}


def cells(centres: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where the cells around these centres begin and end; one that is alone has a width of one."""
    if centres.size < 2:
        return centres - 0.5, centres + 0.5
    between = (centres[1:] + centres[:-1]) / 2
    ends = np.concatenate([[2 * centres[0] - between[0]], between, [2 * centres[-1] - between[-1]]])
    return ends[:-1], ends[1:]


def lost(values: Any) -> int:
    return int(np.sum(~np.isfinite(np.asarray(values, float))))
