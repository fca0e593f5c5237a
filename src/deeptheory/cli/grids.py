"""Reading the grid of a sweep from text: name=64:4096:log2, name=1:9:2, name=0.1,0.2, name=a,b, name=8,16;16,32."""

from collections.abc import Mapping
from typing import Any

from deeptheory.lab.parameters import Parameter, settings

__all__ = ["axis"]

MOST = 10_000


def axis(text: str, parameters: Mapping[str, Parameter]) -> tuple[str, list[Any]]:
    """The parameter and the values that a grid names.

    `low:high:log2` doubles (likewise `log10`), `low:high:step` steps, `a,b,c` lists; a parameter that takes several
    numbers gets them one at a time, or as `a,b;c,d` says.
    """
    name, _, values = text.partition("=")
    if not name or not values:
        raise ValueError(f"--over takes name=values, not {text!r}")
    if name not in parameters:
        settings(parameters, {name: values})  # raises the sentence with the nearest names
    parameter = parameters[name]
    words = _range(values) if ":" in values else values.split(";" if ";" in values else ",")
    return name, [parameter.parse(word) for word in words]


def _range(text: str) -> list[str]:
    parts = text.split(":")
    if len(parts) != 3:
        raise ValueError(f"a range is low:high:step, low:high:log2 or low:high:log10, not {text!r}")
    try:
        low, high = float(parts[0]), float(parts[1])
        factor = float(parts[2][3:]) if parts[2].startswith("log") else None
        step = float(parts[2]) if factor is None else 0.0
    except ValueError:
        raise ValueError(f"a range is low:high:step, low:high:log2 or low:high:log10, not {text!r}") from None
    growing = (factor is not None and 1 < factor < float("inf") and low > 0) or (factor is None and step > 0)
    if not growing or not low <= high < float("inf"):
        raise ValueError(f"the range {text!r} does not grow from its first number to its second")
    found, value = [], low
    while value <= high * (1 + 1e-12) and len(found) <= MOST:
        found.append(f"{value:.12g}")
        value = value * factor if factor is not None else low + step * len(found)
    if len(found) > MOST:
        raise ValueError(f"the range {text!r} has more than {MOST:,} values")
    return found
