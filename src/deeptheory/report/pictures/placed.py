"""Pictures without axes: graphs, networks, rows of images."""

import base64
import struct
import zlib
from collections import Counter
from collections.abc import Sequence
from functools import partial
from textwrap import wrap
from typing import Any

import numpy as np

from deeptheory.lab.pictures import Graph, Images, Network
from deeptheory.report.drawings.canvas import (
    BAND,
    INK,
    OBSERVED,
    PAPER,
    PREDICTED,
    SERIES,
    Spec,
    by_word,
    mark,
    number,
    panel,
    word,
)
from deeptheory.report.drawings.values import finite, rows
from deeptheory.report.pictures.levels import named

SIDE = 300
MOST = 12
"""How many nodes a layer shows; of wider ones the first."""
ROOM, LARGEST, SMALLEST, GAP = 580, 96, 64, 10
"""Pixels that images share, that one of them takes at most and at least, and between two of them."""


def graph(picture: Graph) -> tuple[Spec, int]:
    x, y = np.reshape(np.asarray(picture.places, float), (-1, 2)).T
    kinds = list(picture.kinds) or [""] * len(x)
    between = list(picture.edge_kinds) or [""] * len(picture.edges)
    # Edges without a kind recede, or else the most frequent kind.
    often = sorted(Counter(between).most_common(), key=lambda each: each[0] != "")
    edges = coloured("edges", [kind for kind, _ in often], (BAND, PREDICTED, OBSERVED))
    colours = edges | coloured("nodes", list(dict.fromkeys(kinds)), SERIES)
    start, end = (np.asarray([edge[side] for edge in picture.edges], int) for side in (0, 1))
    lines = rows(x=x[start], y=y[start], x2=x[end], y2=y[end], name=between)
    dots = rows(x=x, y=y, name=kinds, label=list(picture.labels) or [str(1 + place) for place in range(len(x))])
    places = plain(x, y)
    explained = [name for name, colour in colours.items() if name and colour != BAND]
    shown: Any = by_word("name", colours, legend=bool(explained))
    if explained:
        shown["legend"] = {**shown["legend"], "values": explained}
    told = [word("label", title="node"), *([word("name", title="kind")] if any(kinds) else [])]
    layers = [
        mark("rule", {"strokeWidth": 3}, lines, **places, x2={"field": "x2"}, y2={"field": "y2"}, color=shown),
        mark("point", {"size": 420, "filled": True, "opacity": 1}, dots, **places, color=shown, tooltip=told),
    ]
    if max(map(len, picture.labels), default=0) > 2:  # too long for a node: beside it, where lines may pass behind
        beside = {"align": "left", "dx": 15, "dy": -1, "fontWeight": 600}
        layers.append(named("said", mark("text", beside, dots, **places, text=word("label"))))
    elif picture.labels:
        layers.append(mark("text", {"color": PAPER, "fontWeight": 600}, dots, **places, text=word("label")))
    return titled(panel([], *layers, height=240, movable=False) | {"width": SIDE}, picture.title), len(x) - len(dots)


def coloured(what: str, kinds: list[str], colours: Sequence[str]) -> dict[str, str]:
    """Give every kind a colour of its own."""
    if len(kinds) > len(colours):
        raise ValueError(
            f"a graph has colours for {len(colours)} kinds of {what}, got {len(kinds)}: {', '.join(kinds)}"
        )
    return dict(zip(kinds, colours, strict=False))


def network(picture: Network) -> tuple[Spec, int]:
    weights = [np.asarray(each, float) for each in picture.weights]
    sizes = [weights[0].shape[1], *(each.shape[0] for each in weights)]
    names = list(picture.names) or ["inputs", *(f"layer {place}" for place in range(1, len(weights))), "outputs"]
    heights = [np.linspace(0, 1, min(size, MOST) + 2)[1:-1][::-1] for size in sizes]
    largest = max(float(np.nanmax(np.abs(each), initial=0)) for each in weights) or 1.0
    lines, lost = [], 0
    for place, each in enumerate(weights):
        out, into = np.indices(each[:MOST, :MOST].shape).reshape(2, -1)
        strength = each[out, into]
        lost += int(np.sum(~np.isfinite(each)))
        sign = np.where(strength < 0, "negative", "positive")
        ends = dict(x=place, y=heights[place][into], x2=place + 1, y2=heights[place + 1][out])
        lines += rows(**ends, weight=strength, size=np.abs(strength) / largest, name=sign)
    dots = [
        {"x": place, "y": float(height), "label": f"{names[place]}, node {i + 1} of {sizes[place]}"}
        for place, layer in enumerate(heights)
        for i, height in enumerate(layer)
    ]
    said = [
        {"x": place, "y": 1.02, "label": name if sizes[place] <= MOST else f"{name}: {MOST} of {sizes[place]}"}
        for place, name in enumerate(names)
    ]
    places = plain(np.asarray([-0.2, len(sizes) - 0.8]), np.asarray([0.0, 1.1]))
    colour = by_word("name", {"positive": OBSERVED, "negative": PREDICTED})
    wide = number("size", scale={"domain": [0, 1], "range": [0.2, 4]}, legend=None)
    told = [number("weight", title="weight", format=".4~g")]
    ends = {"x2": {"field": "x2"}, "y2": {"field": "y2"}, "color": colour, "strokeWidth": wide, "tooltip": told}
    layers = [
        mark("rule", {"opacity": 0.75}, lines, **places, **ends),
        mark("text", {"baseline": "bottom"}, said, **places, text=word("label")),
        mark("point", {"size": 150, "filled": True, "opacity": 1, "color": INK}, dots, **places,
             tooltip=[word("label", title="node")]),
    ]  # fmt: skip
    return titled(panel([], *layers, height=280, movable=False), picture.title), lost


def images(picture: Images, room: int = ROOM) -> tuple[Spec, int]:
    grey = np.asarray(picture.images, float)
    low, high = np.nanmin(grey, initial=np.inf), np.nanmax(grey, initial=-np.inf)
    levels = np.nan_to_num((grey - low) / (high - low) if high > low else 0 * grey)
    across = columns(len(grey), room)
    side = min(LARGEST, room // across - GAP)
    labels = [folded(label, (side + GAP) // 7) for label in picture.labels] or [""] * len(grey)
    below = 4 + 15 * max((label.count("\n") + 1 for label in labels if label), default=0)
    records = [
        {
            "url": png(level),
            "x": (left := (side + GAP) * (place % across)),
            "x2": left + side,
            "middle": left + side / 2,
            "y": (top := (side + below) * (place // across)),
            "y2": top + side,
            "label": label,
        }
        for place, (level, label) in enumerate(zip(levels, labels, strict=True))
    ]
    size = {"width": (side + GAP) * across, "height": (side + below) * max(1, -(-len(grey) // across))}
    x, y = (partial(unlabelled, domain=domain) for domain in ([0.0, size["width"]], [size["height"], 0.0]))
    # From edge to edge rather than so many pixels wide: they shrink with the panel.
    layers = [
        mark("image", {}, records, x=x("x"), x2={"field": "x2"}, y=y("y"), y2={"field": "y2"}, url=word("url")),
        mark("text", {"baseline": "top", "dy": 4, "fontSize": 12, "lineBreak": "\n"}, records,
             x=x("middle"), y=y("y2"), text=word("label"), tooltip=[word("label", title="image")]),
    ]  # fmt: skip
    spec = panel([], *layers, height=size["height"], movable=False) | size
    return titled(spec, picture.title), int(np.sum(~np.isfinite(grey)))


def columns(count: int, room: int) -> int:
    """In how many columns images stand: a few in one row, more in rows that are filled as evenly as can be."""
    most = max(1, min(6, room // SMALLEST))
    if count <= most:
        return max(1, count)
    least = 2 if count == 4 else 3
    return min(range(min(least, most), min(5, most) + 1), key=lambda across: (-count % across, -across))


def png(levels: np.ndarray) -> str:
    """Grey levels in [0, 1] as an address that holds the image, in pixels large enough to stay sharp."""
    times = max(1, 84 // max(levels.shape))
    pixels = np.kron(np.round(255 * levels).astype(np.uint8), np.ones((times, times), np.uint8))
    height, width = pixels.shape
    lines = np.concatenate([np.zeros((height, 1), np.uint8), pixels], axis=1).tobytes()

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    made = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(lines, 9)) + chunk(b"IEND", b"")
    return "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n" + made).decode()


def plain(x: np.ndarray, y: np.ndarray) -> Spec:
    """Positions without axes, with room for what is drawn at the ends."""

    def placed(field: str, values: np.ndarray) -> Spec:
        low, high = (finite(values).min(), finite(values).max()) if finite(values).size else (0.0, 1.0)
        room = 0.12 * (high - low) or 1.0
        domain = [float(low - room), float(high + room)]
        return unlabelled(field, domain)

    return {"x": placed("x", x), "y": placed("y", y)}


def unlabelled(field: str, domain: list[float]) -> Spec:
    return {**number(field, scale={"domain": domain, "nice": False, "zero": False}), "axis": None}


def titled(spec: Spec, title: str) -> Spec:
    return {**spec, "title": title} if title else spec


def folded(text: str, most: int = 18) -> str:
    """Words too long for a place, on as few lines as they need, which are about equally long."""
    if len(text) <= most:
        return text
    # A browser's lines may end after a space only: a word that is too long stays whole.
    ways = [wrap(text, width, break_long_words=False, break_on_hyphens=False) for width in range(1, most + 1)]
    return "\n".join(min(ways, key=lambda lines: (len(lines), max(map(len, lines)))))
