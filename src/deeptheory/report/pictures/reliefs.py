"""Surfaces in space, seen from afar at an angle that the script of a page changes.

Records say where they are in space: `a` and `b` across, from −1 to 1, and `c` up. `seen` adds where that is on paper.
The script does the same again at other angles, so that a page carries the places in space only, and of the faces the
grid that they are made of.
"""

import json
import zlib
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from deeptheory.lab.pictures import Dots, Line, Relief
from deeptheory.report.drawings.canvas import BAND, INK, PAPER, RELIEF, Spec, mark, number, panel, word
from deeptheory.report.drawings.values import Rows, finite, rows
from deeptheory.report.pictures.marks import Ink

__all__ = ["TURN", "in_space", "relief", "seen"]

TURN = {"turn": 30, "tilt": 50}
"""Degrees by which a relief is turned, and at which it is seen from above, before anyone moves it."""
GRID = 23
"""How many places of a grid are kept along an axis."""
RISE = 0.45
"""Half the height of a relief, beside half a width of one."""
ACROSS, UP = 1.45, 1.3
"""How far a panel reaches from its middle, to both sides and up and down."""
ON_PAPER = ("x", "y", "opacity")
SIDE = 440
LIGHT = np.array([-0.5, -0.3, 0.8])


def relief(picture: Relief) -> tuple[Spec, int]:
    x, y, z = (np.asarray(each, float) for each in (picture.columns, picture.rows, picture.heights))
    lost = int(np.sum(~np.isfinite(z)))
    if min(z.shape, default=0) < 2:
        x, y, z = np.array([0.0, 1.0]), np.array([0.0, 1.0]), np.full((2, 2), np.nan)
    top = np.inf if picture.top is None else picture.top
    shown = finite(np.minimum(z, top))
    low, high = shown.min(initial=np.inf), shown.max(initial=-np.inf)

    def across(values: np.ndarray, ends: np.ndarray) -> np.ndarray:
        return 2 * (values - ends[0]) / (ends[-1] - ends[0]) - 1

    def up(values: Any) -> Any:
        return RISE * (2 * (values - low) / (high - low) - 1) if high > low else 0 * values

    def lying(each: Line | Dots) -> dict[str, Any]:
        """A mark on the surface, at heights between those of the grid."""
        at = [np.ravel(np.asarray(part, float)) for part in (each.x, each.y)]
        column, row = (np.interp(part, ends, np.arange(len(ends))) for part, ends in zip(at, (x, y), strict=True))
        j, i = np.minimum(column.astype(int), len(x) - 2), np.minimum(row.astype(int), len(y) - 2)
        s, t = column - j, row - i
        height = (1 - t) * ((1 - s) * z[i, j] + s * z[i, j + 1]) + t * ((1 - s) * z[i + 1, j] + s * z[i + 1, j + 1])
        placed = {"a": across(at[0], x), "b": across(at[1], y), "c": up(height)}
        return {name: np.round(part, 3) for name, part in placed.items()} | {"name": each.name}

    kept = [np.unique(np.linspace(0, len(part) - 1, min(len(part), GRID)).round().astype(int)) for part in (x, y)]
    grid = Grid(across(x[kept[0]], x), across(y[kept[1]], y), up(z[np.ix_(kept[1], kept[0])]), up(top))
    lines = [each for each in picture.marks if isinstance(each, Line)]
    corners = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1), (-1, -1)])
    parts = {
        "floor": rows(a=corners[:, 0], b=corners[:, 1], c=-RISE, place=np.arange(5)),
        "faces": _faces(grid),
        "lines": [
            record
            for path, each in enumerate(lines)
            for record in rows(**lying(each), path=path, place=np.arange(np.size(each.x)))
        ],
        "dots": [record for each in picture.marks if isinstance(each, Dots) for record in rows(**lying(each))],
        "words": [
            {"a": a, "b": b, "c": -RISE, "says": says}
            for says, a, b in ((picture.x, 0.0, 1.25), (picture.y, 1.25, 0.0))
            if says
        ],
    }
    return _drawn(picture, Ink.of(picture.marks), parts, grid), lost


class Grid(NamedTuple):
    """The heights z[i, j] of a relief at (x[j], y[i]), in space, and where it is cut off."""

    x: np.ndarray
    y: np.ndarray
    z: np.ndarray
    top: float

    def told(self) -> Spec:
        """As JSON, to a thousandth; null stands for what is not there."""
        numbers = {name: np.round(np.asarray(part, float), 3).tolist() for name, part in self._asdict().items()}
        numbers["z"] = [[each if np.isfinite(each) else None for each in row] for row in numbers["z"]]
        return {**numbers, "top": numbers["top"] if np.isfinite(self.top) else None}


def _faces(grid: Grid) -> Rows:
    """The faces of a grid as records of their corners, cut off at the top; the higher and the less lit, the darker."""
    found: Rows = []
    x, y, z, top = grid
    for i, j in np.ndindex(len(y) - 1, len(x) - 1):
        corners = [(x[q], y[p], z[p, q]) for p, q in ((i, j), (i, j + 1), (i + 1, j + 1), (i + 1, j))]
        if not np.isfinite([height for *_, height in corners]).all() or len(cut := _cut(corners, top)) < 3:
            continue
        (left, front, low), (right, _, aside), _, (_, back, behind) = corners
        normal = np.array([(low - aside) / (right - left), (low - behind) / (back - front), 1.0])
        height = (np.mean([height for *_, height in cut]) / RISE + 1) / 2
        dark = 0.7 * height + 0.3 * (1 - LIGHT @ normal / np.linalg.norm(normal))
        shade = int(np.clip(dark * len(RELIEF), 0, len(RELIEF) - 1))
        a, b, c = np.round(np.transpose(cut), 3)
        found += rows(a=a, b=b, c=c, place=np.arange(len(cut)), shade=shade, face=i * (len(x) - 1) + j)
    return found


def _cut(corners: list[tuple[Any, ...]], top: float) -> list[tuple[Any, ...]]:
    """The part of a polygon that is not above the top."""
    kept = []
    for one, other in zip(corners, corners[1:] + corners[:1], strict=True):
        if one[2] <= top:
            kept.append(one)
        if (one[2] < top < other[2]) or (other[2] < top < one[2]):
            share = (top - one[2]) / (other[2] - one[2])
            kept.append(tuple(p + share * (q - p) for p, q in zip(one, other, strict=True)))
    return kept


def seen(parts: Mapping[str, Rows], *, turn: float, tilt: float) -> dict[str, Rows]:
    """Records with their places on paper, x and y, if the relief is turned and seen from above by these degrees.

    Faces come from the farthest to the nearest and are numbered so: what lies behind is painted over. Words stand at
    the near sides. A dot behind a face is pale.
    """
    turned, tilted = np.radians(turn), np.radians(tilt)

    def on_paper(record: dict[str, Any]) -> tuple[float, float, float]:
        """Across, up, and how far away; how far on the ground, which orders the faces of a surface without overhang."""
        across = np.cos(turned) * record["a"] - np.sin(turned) * record["b"]
        away = np.sin(turned) * record["a"] + np.cos(turned) * record["b"]
        return across, np.sin(tilted) * away + np.cos(tilted) * record["c"], away

    def drawn(record: dict[str, Any], **more: Any) -> dict[str, Any]:
        x, y, _ = on_paper(record)
        return {**record, "x": round(float(x), 4), "y": round(float(y), 4), **more}

    faces: dict[int, Rows] = {}
    for record in parts["faces"]:
        faces.setdefault(record["face"], []).append(record)
    away = {face: float(np.mean([on_paper(each)[2] for each in corners])) for face, corners in faces.items()}
    ordered = [
        (away[face], [drawn(each, face=place) for each in faces[face]])
        for place, face in enumerate(sorted(faces, key=lambda face: -away[face]))
    ]

    def hidden(record: dict[str, Any]) -> bool:
        x, y, distance = on_paper(record)
        return any(_inside(x, y, face) for nearer, face in ordered if nearer < distance - 0.1)

    near = [{**each, "a": -each["a"], "b": -each["b"]} if on_paper(each)[2] > 0 else each for each in parts["words"]]
    return {
        **{name: [drawn(each) for each in parts[name]] for name in ("floor", "lines")},
        "faces": [record for _, face in ordered for record in face],
        "dots": [drawn(each, opacity=0.3 if hidden(each) else 1.0) for each in parts["dots"]],
        "words": [drawn(each) for each in near],
    }


def in_space(spec: Any) -> Any:
    """A specification whose reliefs have no faces and no places on paper: the script of a page works them out."""
    if isinstance(spec, list):
        return [in_space(each) for each in spec]
    if not isinstance(spec, dict):
        return spec
    if str(spec.get("name", "")).startswith("relief_") and "values" in spec:
        records = [] if spec["name"].startswith("relief_faces_") else spec["values"]
        kept = [{name: part for name, part in each.items() if name not in ON_PAPER} for each in records]
        return {**spec, "values": kept}
    return {
        name: in_space(each) if name in ("hconcat", "vconcat", "layer", "data") else each for name, each in spec.items()
    }


def _inside(x: float, y: float, corners: Rows) -> bool:
    """Whether a ray to the right crosses the sides of a polygon an odd number of times."""
    odd = False
    for one, other in zip(corners, corners[1:] + corners[:1], strict=True):
        if (one["y"] > y) != (other["y"] > y):
            crossing = one["x"] + (y - one["y"]) / (other["y"] - one["y"]) * (other["x"] - one["x"])
            odd ^= crossing > x
    return odd


def _drawn(picture: Relief, ink: Ink, parts: dict[str, Rows], grid: Grid) -> Spec:
    """The layers of a relief. Their records have names, `relief_faces_…`, by which the script finds them again."""
    placed = seen(parts, **TURN)
    axes = {
        name: number(name, scale={"domain": [-reach, reach], "nice": False, "zero": False}) | {"axis": None}
        for name, reach in (("x", ACROSS), ("y", UP))
    }
    along = {**axes, "order": number("place")}
    shades = {"domain": list(range(len(RELIEF))), "range": list(RELIEF)}
    edge = {"interpolate": "linear-closed", "stroke": INK, "strokeOpacity": 0.25, "strokeWidth": 0.6}
    disc = {"filled": True, "size": 70, "stroke": PAPER, "strokeWidth": 1.2}
    colour = {"color": ink.colour(titled=False) | {"legend": None}} if ink.names else {}
    filled = {"fill": {"field": "shade", "type": "ordinal", "scale": shades, "legend": None}}
    pale = {"opacity": number("opacity", scale=None, legend=None)}
    layers = {
        "floor": mark("line", {"color": BAND, "strokeWidth": 1}, placed["floor"], **along),
        "faces": mark("line", edge, placed["faces"], **along, detail=word("face"), **filled),
        "lines": mark("line", {"strokeWidth": 2}, placed["lines"], **along, detail=word("path"), **colour),
        "dots": mark("point", disc, placed["dots"], **axes, **colour, **pale),
        "words": mark("text", {"fontSize": 12}, placed["words"], **axes, text=word("says")),
    }
    own = f"{zlib.crc32(json.dumps(parts, sort_keys=True).encode()):08x}"
    kept = [
        {**layer, "name": f"relief_{name}_{own}", "data": {"name": f"relief_{name}_{own}", **layer["data"]}}
        for name, layer in layers.items()
        if parts[name]
    ]
    size = {"width": SIDE, "height": round(SIDE * UP / ACROSS)}
    told = {"title": picture.title} if picture.title else {}
    told |= {"usermeta": {"grids": {own: grid.told()}, **TURN}}
    return {**panel([], *kept, height=size["height"], movable=False), **size, **told}
