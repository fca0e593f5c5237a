"""How a run shows itself in a notebook: the laboratory draws nothing, so whoever does is named here from above."""

import importlib
from collections.abc import Callable
from typing import Any

__all__ = ["face", "shown_by"]

_PLACES: dict[str, str] = {}


def shown_by(**places: str) -> None:
    """Say where the functions are that show runs, by what they show, as "module:function"."""
    _PLACES.update(places)


def face(what: str) -> Callable[[Any], Any]:
    """The function that shows a run as this, imported when it is first wanted."""
    if what not in _PLACES:
        raise LookupError(f"nobody has said how a run is shown as {what}; `import deeptheory` does")
    module, name = _PLACES[what].split(":")
    return getattr(importlib.import_module(module), name)
