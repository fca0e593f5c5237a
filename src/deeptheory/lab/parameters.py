"""Parameters of a claim: what may be set, between which limits, read from the signature. Knows nothing of JAX."""

import inspect
import math
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Annotated, Any, Literal

from annotated_types import Interval

__all__ = ["Count", "Parameter", "Positive", "Probability", "Sizes", "Trials", "parameters_of", "settings"]

Trials = Annotated[int, Interval(ge=8, le=1_000_000)]
Count = Annotated[int, Interval(ge=1, le=100_000)]
Sizes = Annotated[tuple[int, ...], Interval(ge=2, le=100_000)]
Positive = Annotated[float, Interval(ge=1e-12, le=1e12)]
Probability = Annotated[float, Interval(ge=0.0, le=1.0)]

_WORDS = {"int": "a whole number", "float": "a number", "ints": "whole numbers", "floats": "numbers"}


@dataclass(frozen=True)
class Parameter:
    """One setting of a claim: kind (int, float, ints, floats, bool, choice), default, value at full size, range."""

    name: str
    kind: str
    default: Any
    full: Any = None
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()

    def allowed(self) -> str:
        """What may stand here, in words."""
        if self.kind == "bool":
            return "true or false"
        if self.kind == "choice":
            return "one of " + ", ".join(self.choices)
        limits = "" if self.low is None else f" from {self.low:g} to {self.high:g}"
        many = ", several separated by commas" if self.kind.endswith("s") else ""
        return _WORDS[self.kind] + limits + many

    def refuse(self, value: Any) -> ValueError:
        return ValueError(f"{self.name} must be {self.allowed()}, not {value}")

    def check(self, value: Any) -> Any:
        """Return the value in its proper type, or raise one sentence that names the range."""
        if self.kind == "bool":
            if isinstance(value, bool):
                return value
            raise self.refuse(value)
        if self.kind == "choice":
            if value in self.choices:
                return value
            raise self.refuse(value)
        if self.kind in ("ints", "floats"):
            values = value if isinstance(value, (tuple, list)) else (value,)
            if not values:
                raise self.refuse("nothing")
            return tuple(self._number(entry) for entry in values)
        return self._number(value)

    def _number(self, value: Any) -> int | float:
        whole = self.kind.startswith("int")
        try:
            number = float(value)
        except (TypeError, ValueError):
            raise self.refuse(value) from None
        outside = self.low is not None and self.high is not None and not self.low <= number <= self.high
        if isinstance(value, bool) or not math.isfinite(number) or outside or (whole and number != int(number)):
            raise self.refuse(value)
        return int(number) if whole else number

    def parse(self, text: str) -> Any:
        """Read a value from the command line."""
        if self.kind == "bool":
            words = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
            if text.lower() not in words:
                raise self.refuse(text)
            return words[text.lower()]
        if self.kind in ("ints", "floats"):
            return self.check(tuple(part.strip() for part in text.strip("()").split(",") if part.strip()))
        return self.check(text)

    def record(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def of_record(record: Mapping[str, Any]) -> "Parameter":
        def whole(value: Any) -> Any:
            return tuple(value) if isinstance(value, list) else value

        return Parameter(**{name: whole(value) for name, value in record.items()})


def parameters_of(function: Callable, *, skip: set[str], full: Mapping[str, Any]) -> dict[str, Parameter]:
    """Read the keyword-only parameters of a claim from its signature."""
    hints = typing.get_type_hints(function, include_extras=True)
    found = {}
    for name, entry in inspect.signature(function).parameters.items():
        if name in skip:
            continue
        if entry.default is inspect.Parameter.empty:
            raise TypeError(f"{function.__name__}: parameter {name} needs a default that runs in seconds")
        if name not in hints:
            raise TypeError(f"{function.__name__}: parameter {name} needs a type with its range")
        parameter = _parameter(name, hints[name], entry.default)
        found[name] = replace(parameter, full=parameter.check(full[name]) if name in full else None)
    if unknown := set(full) - set(found):
        raise TypeError(f"{function.__name__}: full= names {sorted(unknown)}, which are not parameters")
    return found


def _parameter(name: str, hint: Any, default: Any) -> Parameter:
    low = high = None
    if typing.get_origin(hint) is Annotated:
        hint, *notes = typing.get_args(hint)
        for note in notes:
            if isinstance(note, Interval):
                low, high = float(note.ge), float(note.le)  # type: ignore[arg-type]
    if typing.get_origin(hint) is Literal:
        return Parameter(name, "choice", default, choices=tuple(typing.get_args(hint)))
    kinds = {int: "int", float: "float", bool: "bool", tuple[int, ...]: "ints", tuple[float, ...]: "floats"}
    if isinstance(hint, types.UnionType) or hint not in kinds:
        raise TypeError(f"parameter {name}: the type {hint} is none of int, float, bool, tuples of them, Literal words")
    if kinds[hint] != "bool" and (low is None or high is None):
        raise TypeError(f"parameter {name} needs a range: Annotated[{kinds[hint]}, Interval(ge=…, le=…)]")
    parameter = Parameter(name, kinds[hint], default, low=low, high=high)
    return replace(parameter, default=parameter.check(default))


def settings(parameters: Mapping[str, Parameter], given: Mapping[str, Any], *, full: bool = False) -> dict[str, Any]:
    """All parameters of a run: defaults, or the full size, with the given ones checked and put in place."""
    import difflib

    for name in given:
        if name not in parameters:
            near = difflib.get_close_matches(name, parameters, 3, 0.4)
            hint = f"; did you mean {' or '.join(near)}?" if near else f"; it has {', '.join(parameters) or 'none'}"
            raise ValueError(f"there is no parameter {name}{hint}")
    chosen = {}
    for name, parameter in parameters.items():
        base = parameter.full if full and parameter.full is not None else parameter.default
        chosen[name] = parameter.check(given[name]) if name in given else base
    return chosen
