"""Figures at a given width, by the rules by which the script of a page draws them at the width of a window."""

from typing import Any

from deeptheory.report.drawings.canvas import Spec

__all__ = ["fitted"]

SIDE_BY_SIDE = 480
"""Pixels below which panels stand below each other."""


def fitted(spec: Spec, width: float) -> Spec:
    """A figure whose panels take this width, side by side only where there is room, with words and legends inside."""
    made = dict(spec)
    if isinstance(title := made.get("title"), str):
        made["title"] = lines(title, width)
    if "hconcat" in made and width < SIDE_BY_SIDE:
        made["vconcat"] = made.pop("hconcat")
    if "vconcat" in made:
        made["vconcat"] = [fitted(each, width) for each in made["vconcat"]]
    elif "hconcat" in made:
        made["hconcat"] = [fitted(each, width / len(made["hconcat"]) - 30) for each in made["hconcat"]]
    elif "layer" in made or "mark" in made:
        own = made.get("width")
        if isinstance(own, (int, float)) and own > width:  # it has proportions to keep
            made["height"] = round(made["height"] * width / own)
        if not isinstance(own, dict):
            made["width"] = min(own or width, width)
        if "layer" in made:
            made["layer"] = [worded({**each, "width": None}, width) for each in made["layer"]]
        else:
            made = worded(made, width)
    return made


def lines(title: str, width: float) -> str | list[str]:
    """A title, broken where it would be wider than that."""
    found = [""]
    for word in title.split(" "):
        if found[-1] and 7.6 * (len(found[-1]) + len(word)) > width:
            found.append(word)
        else:
            found[-1] += (" " if found[-1] else "") + word
    return found if len(found) > 1 else title


def worded(layer: Spec, width: float) -> Spec:
    """A layer whose words and titles end at the edge, and whose legend has as many columns as there is room for."""
    made: dict[str, Any] = {name: value for name, value in layer.items() if value is not None}
    mark = made.get("mark", {})
    if mark.get("type") == "text" and mark.get("limit"):
        made["mark"] = mark = {**mark, "limit": min(mark["limit"], max(width - 8, 40))}
    columns = len(made.get("encoding", {}).get("x", {}).get("sort", ()))
    if mark.get("type") == "text" and columns:  # a table: its numbers keep apart on a phone
        fitting = width / columns / (5.2 if mark.get("lineBreak") else 3.4)
        made["mark"] = {**mark, "fontSize": max(8.5, min(mark.get("fontSize", 12.5), fitting))}
    for across in ("x", "y"):
        place = made.get("encoding", {}).get(across, {})
        if place.get("axis"):
            limited = {**place, "axis": {**place["axis"], "titleLimit": width + 44}}
            made["encoding"] = {**made["encoding"], across: limited}
    if legend := made.get("encoding", {}).get("opacity", {}).get("legend"):
        shades = {**made["encoding"]["opacity"], "legend": {**legend, "columns": max(1, int(width // 52))}}
        made["encoding"] = {**made["encoding"], "opacity": shades}
    colour = made.get("encoding", {}).get("color")
    domain = (colour or {}).get("scale", {}).get("domain")
    if colour and isinstance(domain, list) and colour.get("legend", {}) is not None:
        longest = max((len(str(each)) for each in domain), default=0)
        columns = max(1, int((width + 40) // (7.5 * longest + 44)))
        shown = {**colour, "legend": {**colour.get("legend", {}), "columns": columns, "labelLimit": width + 10}}
        made["encoding"] = {**made["encoding"], "color": shown}
    return made
