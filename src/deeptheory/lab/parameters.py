"""Parameters of a claim: what may be set, between which limits, read from the signature. Knows nothing of JAX."""

import inspect
import itertools
import math
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Annotated, Any, Literal

from annotated_types import Interval, MinLen

__all__ = [
    "SEED", "Count", "Parameter", "Positive", "Probability", "Settings", "Sizes", "Trials", "control_named",
    "parameters_of", "settings", "written",
]  # fmt: skip

INCREASING = "increasing"

Trials = Annotated[int, Interval(ge=8, le=1_000_000)]
Count = Annotated[int, Interval(ge=1, le=100_000)]
Sizes = Annotated[tuple[int, ...], Interval(ge=2, le=100_000), INCREASING, MinLen(2)]
"""Growing sizes, two at least; `Annotated[Sizes, MinLen(3)]` where a claim needs three of them."""
Positive = Annotated[float, Interval(ge=0.01, le=10.0)]
Probability = Annotated[float, Interval(ge=0.0, le=1.0)]

_WORDS = {"int": "a whole number", "float": "a number", "ints": "whole numbers", "floats": "numbers"}


@dataclass(frozen=True)
class Parameter:
    """One setting of a claim: kind (int, float, ints, floats, bool, choice), default, value at full size, range.

    Of a parameter that takes several numbers: how many at least, and whether they must increase.
    """

    name: str
    kind: str
    default: Any
    full: Any = None
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()
    least: int = 1
    increasing: bool = False

    def allowed(self) -> str:
        """What may stand here, in words."""
        if self.kind == "bool":
            return "true or false"
        if self.kind == "choice":
            return "one of " + ", ".join(self.choices)
        limits = "" if self.low is None else f" from {plainly(self.low)} to {plainly(self.high)}"
        if not self.kind.endswith("s"):
            return _WORDS[self.kind] + limits
        several = f"at least {self.least}" if self.least > 1 else "several"
        return _WORDS[self.kind] + limits + f", {several} separated by commas" + ", increasing" * self.increasing

    def refuse(self, value: Any) -> ValueError:
        return ValueError(f"{self.name} must be {self.allowed()}, not {' '.join(str(value).split()):.80}")

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
            found = tuple(self._number(entry) for entry in values)
            falling = self.increasing and any(later <= earlier for earlier, later in itertools.pairwise(found))
            if falling or len(found) < self.least:
                raise self.refuse(written(value))
            return found
        return self._number(value)

    def _number(self, value: Any) -> int | float:
        whole = self.kind.startswith("int")
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):
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

    def own(self, full: bool) -> Any:
        """The value that a claim takes by itself, at quick or at full size."""
        return self.full if full and self.full is not None else self.default

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
    least, increasing = 1, False
    if typing.get_origin(hint) is Annotated:
        hint, *notes = typing.get_args(hint)
        for note in notes:
            if isinstance(note, Interval):
                low, high = float(note.ge), float(note.le)  # type: ignore[arg-type]
            least = note.min_length if isinstance(note, MinLen) else least
            increasing = increasing or note is INCREASING
    if typing.get_origin(hint) is Literal:
        return Parameter(name, "choice", default, choices=tuple(typing.get_args(hint)))
    kinds = {int: "int", float: "float", bool: "bool", tuple[int, ...]: "ints", tuple[float, ...]: "floats"}
    if isinstance(hint, types.UnionType) or hint not in kinds:
        raise TypeError(f"parameter {name}: the type {hint} is none of int, float, bool, tuples of them, Literal words")
    if kinds[hint] != "bool" and (low is None or high is None):
        raise TypeError(f"parameter {name} needs a range: Annotated[{kinds[hint]}, Interval(ge=…, le=…)]")
    parameter = Parameter(name, kinds[hint], default, low=low, high=high, least=least, increasing=increasing)
    return replace(parameter, default=parameter.check(default))


class Settings(dict[str, Any]):
    """All parameters of a run, checked: what `settings` returns, and takes for done."""


def settings(parameters: Mapping[str, Parameter], given: Mapping[str, Any], *, full: bool = False) -> Settings:
    """All parameters of a run: defaults, or the full size, with the given ones checked and put in place."""
    import difflib

    if isinstance(given, Settings):
        return given
    for name in given:
        if name not in parameters:
            near = difflib.get_close_matches(name, parameters, 3, 0.4)
            hint = f"; did you mean {' or '.join(near)}?" if near else f"; it has {', '.join(parameters) or 'none'}"
            raise ValueError(f"there is no parameter {name}{hint}")
    return Settings(
        {
            name: parameter.check(given[name]) if name in given else parameter.own(full)
            for name, parameter in parameters.items()
        }
    )


SEED = Parameter("seed", "int", 0, low=0, high=2**31 - 1)
"""What a seed may be."""


def plainly(number: float | None) -> str:
    """A limit as a reader writes it: whole numbers in full."""
    whole = number is not None and abs(number) < 1e12 and number == int(number)
    return f"{int(number)}" if whole and number is not None else f"{number:g}"


def written(value: Any) -> str:
    """A setting, or several by name, as one types them."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name}={written(each)}" for name, each in value.items())
    return ",".join(map(str, value)) if isinstance(value, (tuple, list)) else str(value)


def control_named(claim: str, name: str, known: Sequence[str]) -> str:
    """The control of a claim with this name, or the only one that begins with it."""
    if not isinstance(name, str):
        raise ValueError(f"a control is named by words, not by {name!r:.60}")
    wanted = name.lower()
    near = [each for each in known if each.lower() == wanted] or [e for e in known if e.lower().startswith(wanted)]
    if len(near) > 1:
        raise ValueError(f"{claim} has {len(near)} controls that begin with {name!r}: {'; '.join(near)}")
    if not near:
        raise ValueError(f"{claim} has no control {name!r}; it has: {'; '.join(known) or 'none'}")
    return near[0]
