"""Pictures of claims as Vega-Lite specifications: one function a kind of picture, grouped by what they share."""

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import numpy as np

from deeptheory.formulas import scripted
from deeptheory.lab import pictures as kinds
from deeptheory.report.drawings.canvas import Drawn, Spec
from deeptheory.report.pictures.panels import curves, field, histogram, plane, surface
from deeptheory.report.pictures.placed import ROOM, graph, images, network
from deeptheory.report.pictures.reliefs import relief
from deeptheory.report.pictures.tables import heat_map, table

__all__ = ["painted"]

Painted = tuple[Spec, int]
"""A specification, and how many numbers could not be drawn."""

PAINTERS: dict[type, Callable[..., Painted]] = {
    kinds.Curves: curves,
    kinds.Plane: plane,
    kinds.Histogram: histogram,
    kinds.Field: field,
    kinds.Surface: surface,
    kinds.Relief: relief,
    kinds.HeatMap: heat_map,
    kinds.Graph: graph,
    kinds.Network: network,
    kinds.Images: images,
    kinds.Table: table,
}
FITTING = (kinds.HeatMap, kinds.Images, kinds.Table)
"""What is laid out for the room it has."""


def painted(picture: kinds.Picture, caption: str) -> Drawn:
    """A picture as a figure. What is not finite, or has no logarithm, is left out, and the caption says so."""
    spec, lost = _painted(picture)
    if lost:
        caption += (
            f" {lost:,} {'value is' if lost == 1 else 'values are'} not drawn: not finite, or off a logarithmic axis."
        )
    told = _told(spec)
    if rivals := sorted(_rivals(spec)):
        told["rivals"] = rivals
    return Drawn({**spec, **({"usermeta": told} if told else {})}, caption)


def _painted(picture: kinds.Picture, room: int = ROOM) -> Painted:
    """A picture that has about so many pixels."""
    if isinstance(picture, kinds.Row | kinds.Stack):
        beside = isinstance(picture, kinds.Row)
        parts = [_painted(each, room // len(picture.pictures) if beside else room) for each in picture.pictures]
        return composed("hconcat" if beside else "vconcat", [spec for spec, _ in parts]), sum(lost for _, lost in parts)
    if type(picture) not in PAINTERS:
        raise TypeError(f"a picture is made of the kinds in deeptheory.lab.pictures, not of {type(picture).__name__}")
    if isinstance(picture, kinds.Panel | kinds.HeatMap):
        picture = spelt(picture)
    with np.errstate(invalid="ignore", divide="ignore"):
        return PAINTERS[type(picture)](picture, *([room] if isinstance(picture, FITTING) else []))


def spelt(part: Any) -> Any:
    """A picture or a mark, with the powers and indices of its words in small characters."""
    said: dict[str, Any] = {
        each.name: scripted(text) for each in fields(part) if isinstance(text := getattr(part, each.name), str)
    }
    if isinstance(part, kinds.Panel):
        said["marks"] = [spelt(each) for each in part.marks]
    return replace(part, **said)


def composed(way: str, specs: list[Spec]) -> Spec:
    """Specifications beside or below each other, each with its own scales; what moves them stands at the top."""
    return {
        way: [{name: value for name, value in spec.items() if name != "params"} for spec in specs],
        "resolve": {"scale": dict.fromkeys(("color", "strokeDash", "opacity", "x", "y"), "independent")},
        "params": [param for spec in specs for param in spec.get("params", [])],
    }


def _told(spec: Spec) -> dict[str, Any]:
    """What the script of a page is told of the parts of a picture, taken out of them: it stands at the top."""
    told = spec.pop("usermeta", {})
    for part in (*spec.get("vconcat", ()), *spec.get("hconcat", ())):
        for name, value in _told(part).items():
            told[name] = {**told.get(name, {}), **value} if isinstance(value, dict) else value
    return told


def _rivals(spec: Spec) -> set[str]:
    """The names of what is shown in layers of rivals."""
    found = {record["name"] for record in spec.get("data", {}).get("values", ()) if is_rival(spec)}
    for part in ("vconcat", "hconcat", "layer"):
        found |= {name for each in spec.get(part, ()) for name in _rivals(each)}
    return found


def is_rival(layer: Spec) -> bool:
    return layer.get("name", "").startswith("rival_")
