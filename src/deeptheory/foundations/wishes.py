"""What an annotation asks of a value: its kind, its shape, and that it be finite; used by `doors`."""

import inspect
import types
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from fractions import Fraction
from numbers import Number
from typing import Annotated, Any, Union, get_args, get_origin

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import AbstractArray

from deeptheory.foundations.guards import ends, inside, symmetric
from deeptheory.foundations.shapes import Sizes, fitting, said

__all__ = ["Sizes", "Wish", "on_host", "stated", "wish"]

LARGEST = 2**63
"""Whole numbers beyond this one fit no machine integer, and no size or count reaches it."""

WORDS = {"f": "real numbers", "i": "whole numbers", "b": "True and False", "c": "complex numbers"}
ACCEPTED = {"f": "iuf", "i": "iu", "b": "b", "c": "iufc", "": "biufc", "O": "biufcO"}
"""the kinds of arrays that serve where one is asked for; any kind may hold exact fractions"""
ARRAYS = (np.ndarray, jax.Array)


@dataclass(frozen=True)
class Wish:
    """The alternatives of an annotation, sorted by what they ask."""

    shapes: tuple[tuple[str, str], ...] = ()
    """(letter of the kind, dimensions) of arrays"""
    libraries: tuple[type, ...] = ()
    scalars: frozenset[type] = frozenset()
    items: "tuple[Wish, ...] | Wish | None" = None
    """of a sequence: a wish for every entry, or one for each"""
    tupled: bool = False
    """a list becomes a tuple, where nothing else is asked for"""
    classes: tuple[type, ...] = ()
    function: bool = False
    key: bool = False
    none: bool = False
    anything: bool = False
    infinite: bool = False
    empty: bool = False
    symmetric: bool = False
    slices: bool = False
    """a pytree of arrays, one slice a step"""
    interval: tuple[float | int, float | int, str] | None = None

    def grant(self, name: str, value: Any, sizes: Sizes) -> Any:
        """Return the value in the form asked for, or refuse it. Of a traced value only the shape is known."""
        if isinstance(value, Tracer):
            if self.shapes and not self.key and not (self.scalars and value.ndim == 0):
                self._fits(name, value.shape, sizes)
            return value
        if (value is None and self.none) or (self.function and callable(value)):
            return value
        if self.key and isinstance(value, jax.Array) and _is_key(value):
            return value
        if self.slices:
            return self._slices(name, value, sizes)
        if self.anything:
            if isinstance(value, (float, complex, np.inexact, *ARRAYS)):
                self._finite(name, value)
            if self.interval:
                inside(*self.interval, **{name: value})
            return value
        if isinstance(value, jax.Array) and jnp.issubdtype(value.dtype, jax.dtypes.extended):
            raise TypeError(f"{name} must be {self.words()}, got {_short(value)}")
        if isinstance(value, ARRAYS) and (self.shapes or (self.scalars and value.ndim == 0)):
            return self._array(name, value, sizes) if self.shapes else self._scalar(name, value[()])
        if isinstance(value, Number | np.generic) and not isinstance(value, bool | np.bool_):
            if self.scalars or isinstance(value, self.classes):
                return self._scalar(name, value)
            if self.shapes and not isinstance(value, Fraction):
                return self._array(name, np.asarray(value), sizes)
        if isinstance(value, list | tuple | range) and self.shapes and self.items is None and _numeric(value):
            return self._array(name, np.asarray(value), sizes)
        if self.items is not None and not isinstance(value, str | bytes | Mapping):
            return self._sequence(name, value, sizes)
        # A word is no sequence of anything else, though Python can iterate over it.
        if isinstance(
            value, tuple(each for each in self.classes if each is not Iterable or not isinstance(value, str | bytes))
        ):
            return self._record(name, value, sizes)
        raise TypeError(f"{name} must be {self.words()}, got {_short(value)}")

    def _scalar(self, name: str, value: Any) -> Any:
        kind = np.asarray(value).dtype.kind if not isinstance(value, int | Fraction) else "i"
        real = self.scalars & {float, complex, np.floating, np.number}
        if kind not in ("iuf" if real else "iu") and not (kind == "c" and complex in self.scalars):
            raise TypeError(f"{name} must be {self.words()}, got {_short(value)}")
        if kind in "fc":
            self._finite(name, value)
        elif abs(value) > LARGEST and Fraction not in self.classes:
            raise ValueError(f"{name} must be a whole number of at most 2**63 in size, got {_short(value)}")
        if self.interval:
            inside(*self.interval, **{name: value})
        if isinstance(value, tuple(self.scalars) + self.classes):
            return value
        if not real:
            return int(value)
        return complex(value) if kind == "c" or self.scalars == {complex} else float(value)

    def _array(self, name: str, value: Any, sizes: Sizes) -> Any:
        have = "f" if jnp.issubdtype(value.dtype, jnp.floating) else value.dtype.kind
        asked = [kind for kind, _ in self.shapes]
        if not any(have in ACCEPTED[kind] for kind in asked) or (
            have == "O" and not all(isinstance(each, Number) for each in np.asarray(value).flat)
        ):
            raise TypeError(f"{name} must be {self.words()}, got {_short(value)}")
        if 0 in value.shape and not self.empty:
            raise ValueError(f"{name} must not be empty, got an array of shape {value.shape}")
        self._fits(name, value.shape, sizes)
        if have in "fc":
            self._finite(name, value)
        if self.libraries and not isinstance(value, self.libraries):
            value = np.asarray(value) if np.ndarray in self.libraries else jnp.asarray(value)
        if have in "iu" and not set(asked) & {"i", "", "O"}:
            value = value.astype(complex if "f" not in asked else float)
        elif have == "f" and set(asked) == {"c"}:
            value = value.astype(complex)
        if self.interval:
            inside(*self.interval, **{name: value})
        if self.symmetric and on_host(value) and value.ndim > 1 and any(_square(shape) for _, shape in self.shapes):
            symmetric(**{name: value})
        return value

    def _fits(self, name: str, shape: tuple[int, ...], sizes: Sizes) -> None:
        for _, dimensions in self.shapes:
            found = fitting(name, dimensions, shape, sizes)
            if found is not None:
                sizes.update(found)
                return
        wanted = " or ".join(dict.fromkeys(said(dimensions, sizes) for _, dimensions in self.shapes))
        raise ValueError(f"{name} must have shape {wanted}, got {shape}")

    def _slices(self, name: str, value: Any, sizes: Sizes) -> Any:
        kinds = (jnp.floating, jnp.integer, jnp.bool_, jax.dtypes.prng_key)
        for leaf in jax.tree.leaves(value):
            if isinstance(leaf, Tracer):
                continue
            if not np.ndim(leaf) or not any(jnp.issubdtype(leaf.dtype, kind) for kind in kinds):
                raise TypeError(f"{name} must be made of arrays with one slice for each step, got {_short(leaf)}")
            self._finite(name, leaf)
            steps = sizes.setdefault("steps", (len(leaf), name))[0]
            if len(leaf) != steps:
                raise ValueError(f"{name} must have one slice for each of {steps} steps, got {len(leaf)}")
        return value

    def _sequence(self, name: str, value: Any, sizes: Sizes) -> Any:
        if isinstance(value, ARRAYS) and value.ndim:
            value = list(np.asarray(value))
        if isinstance(value, self.classes):
            if not isinstance(value, Collection):
                return value
            value = list(value)
        if not isinstance(value, Sequence):
            raise TypeError(f"{name} must be {self.words()}, got {_short(value)}")
        if isinstance(self.items, tuple):
            if len(value) != len(self.items):
                raise ValueError(f"{name} must have {len(self.items)} entries, got {_short(value)}")
            wishes = self.items
        else:
            if not value and not self.empty:
                raise ValueError(f"{name} must not be empty, got {value!r}")
            wishes = (self.items,) * len(value)
        found = [
            each and each.grant(f"{name}[{i}]", entry, sizes)
            for i, (each, entry) in enumerate(zip(wishes, value, strict=True))
        ]
        if type(value) is tuple or (type(value) is list and self.tupled):
            return tuple(found)
        return found if type(value) is list else value

    def _record(self, name: str, value: Any, sizes: Sizes) -> Any:
        """Look into a record of ours, a named tuple or a dataclass: its sizes and those of the arguments agree."""
        if type(value).__module__.startswith("deeptheory."):
            for field, annotation in _fields(type(value)):
                inner = wish(annotation, infinite=True, empty=True)
                if inner.shapes or inner.scalars or inner.items:
                    inner.grant(f"{name}.{field}", getattr(value, field), sizes)
        return value

    def _finite(self, name: str, value: Any) -> None:
        if isinstance(value, ARRAYS) and not jnp.issubdtype(value.dtype, jnp.inexact):
            return
        if isinstance(value, jax.Array) and not value.is_fully_addressable:
            return
        total = value
        if isinstance(value, ARRAYS):
            with np.errstate(all="ignore"), jax.ensure_compile_time_eval():  # a sum inside `jit` would be traced
                total = (np.asarray(value) if on_host(value) else value).sum()
        if np.isfinite(total):
            return
        known = np.asarray(value)
        wrong = np.isnan(known) if self.infinite else ~np.isfinite(known)
        if wrong.any():
            first = tuple(int(i) for i in np.argwhere(wrong)[0])
            where = f" at {list(first)}" if first else ""
            raise ValueError(f"{name} must {'not be nan' if self.infinite else 'be finite'}, got {known[first]}{where}")

    def words(self) -> str:
        """Say what is asked for."""
        wanted = []
        if self.scalars:
            real = self.scalars & {float, complex, np.floating, np.number}
            wanted.append("a whole number" if not real else "a number")
        for kind, dimensions in self.shapes:
            if dimensions or not self.scalars:
                wanted.append(f"an array of {WORDS.get(kind, 'numbers')} of shape {said(dimensions, {})}")
        if self.key:
            wanted.append("a key of jax.random")
        if self.function:
            wanted.append("a function")
        if isinstance(self.items, tuple):
            wanted.append(f"{len(self.items)} entries")
        elif self.items is not None:
            wanted.append("a sequence" + (f" of {self.items.words()} each" if not self.items.anything else ""))
        wanted += [{bool: "True or False", str: "a word"}.get(each, each.__name__) for each in self.classes]
        return " or ".join(dict.fromkeys(wanted + ["None"] * self.none))


def wish(annotation: Any, *, interval: str = "", empty: bool = False, **asked: bool) -> Wish:
    """Read an annotation. An interval that it states itself, Annotated[int, "[1, 20]"], goes before the given one."""
    annotation, own = stated(annotation)
    range_of = ends(own or interval) if own or interval else None
    shapes: list[tuple[str, str]] = []
    libraries: list[type] = []
    scalars: set[type] = set()
    classes: list[type] = []
    items: Any = None
    tupled = False
    flags = {"function": False, "key": False, "none": False, "anything": False}
    for each in _alternatives(annotation):
        origin = get_origin(each) or each
        if each is None or each is type(None):
            flags["none"] = True
        elif isinstance(each, type) and issubclass(each, AbstractArray):
            kind = _kind(each)
            if kind == "key":
                flags["key"] = True
            else:
                shapes.append((kind, each.dim_str))
                libraries.append(each.array_type)
        elif each in ARRAYS:
            shapes.append(("", "..."))
            libraries.append(each)
        elif each in (int, float, complex, np.number, np.floating, np.integer):
            scalars.add(each)
        elif origin is Callable or each is Callable:
            flags["function"] = True
        elif origin is tuple and get_args(each):
            inner = get_args(each)
            items = (
                wish(inner[0], empty=True)
                if inner[-1] is Ellipsis
                else tuple(wish(one, interval=own or interval) for one in inner)
            )
            empty = tupled = True
        elif origin in (Sequence, list, Iterable):
            items = wish(*get_args(each)) if get_args(each) else Wish(anything=True)
            classes += [Iterable] * (origin is Iterable)
            tupled = False
        elif isinstance(origin, type) and each not in (Any, inspect.Parameter.empty):
            classes.append(origin)
        else:
            flags["anything"] = True
    if shapes and isinstance(items, Wish):
        items = None
    if isinstance(items, Wish) and items.scalars:
        items = replace(items, interval=range_of)
    kinds = tuple(dict.fromkeys(shapes)), tuple(libraries), frozenset(scalars), items, tupled, tuple(classes)
    return Wish(*kinds, **flags, **asked, empty=empty, interval=range_of)


def stated(annotation: Any) -> tuple[Any, str]:
    """Return the type that an annotation asks for, and the interval that it states, if any."""
    if get_origin(annotation) is not Annotated:
        return annotation, ""
    kind, *notes = get_args(annotation)
    return kind, next((note for note in notes if isinstance(note, str)), "")


def _alternatives(annotation: Any) -> tuple[Any, ...]:
    return get_args(annotation) if get_origin(annotation) in (Union, types.UnionType) else (annotation,)


def _kind(hint: Any) -> str:
    """Return the letter of the numbers an array holds: its own for Float, Int, Bool and Complex, else none."""
    name = hint.dtype.__name__
    if name == "Inexact":
        return ""
    return "key" if name in ("Key", "UInt32") else {"F": "f", "I": "i", "B": "b", "C": "c", "S": "O"}.get(name[0], "")


def on_host(array: Any) -> bool:
    """Say whether the numbers can be looked at without fetching them from an accelerator or another machine.

    What is traced cannot: under `jit` that is so of an array of known numbers too, once JAX has made it.
    """
    if not isinstance(array, jax.Array):
        return True
    return (
        not isinstance(array, Tracer)
        and array.is_fully_addressable
        and all(device.platform == "cpu" for device in array.devices())
    )


def _square(dimensions: str) -> bool:
    return dimensions.split()[-2:-1] == dimensions.split()[-1:]


def _is_key(value: Any) -> bool:
    return jnp.issubdtype(value.dtype, jax.dtypes.prng_key) or (value.dtype == jnp.uint32 and value.shape == (2,))


def _fields(record: type) -> list[tuple[str, Any]]:
    if is_dataclass(record):
        return [(each.name, each.type) for each in fields(record)]
    return list(inspect.get_annotations(record).items()) if hasattr(record, "_fields") else []


def _numeric(value: Any) -> bool:
    try:
        return np.asarray(value).dtype.kind in "biufc"
    except ValueError:
        return False


def _short(value: Any) -> str:
    if isinstance(value, ARRAYS):
        return f"an array of {value.dtype} of shape {value.shape}"
    if isinstance(value, int) and value.bit_length() > 200:
        return f"a whole number of {value.bit_length()} bits"
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else f"{text[:57]}…"
