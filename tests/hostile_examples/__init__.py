"""Calls that every public function accepts, to be spoilt one argument at a time by `test_hostile_values`.

Most follow from the signature: a size 4 for n, a matrix that is symmetric and positive where rows and columns have one
name, 0.5 for a number. What does not follow stands in the table of its room, `ROOM.py`, whose names leave the room out:

    EXAMPLES      arguments by function, one line a function
    RECORDS       how one record of each kind that functions ask for is made
    FOUND         spoilt calls that once got nonsense, a raw error or no answer: they are always made
    SIGNED        arguments that may be below zero though others of their name may not
    FREE_TEXT     arguments that take any text, not one of a few words
    MAY_BE_EMPTY  arguments of which none has a meaning: a graph without edges
    MAY_BE_NAN    functions whose right answer may be nan
    INNER         modules that only others call
    ELSEWHERE     functions that their own tests try with nonsense
"""

import importlib
import inspect
import pkgutil
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Annotated, Any, Union, get_args, get_origin

import jax
import jax.numpy as jnp
import networkx as nx
import numpy as np
import optax
from jaxtyping import AbstractArray

import deeptheory

from .ingredients import KEY, LAW, LAYERS, POINTS, array

NO_ROOMS = ("books", "claims", "cli", "lab", "ledger", "report")
"""what stands above the rooms"""
ROOMS = [each.name for each in pkgutil.iter_modules(deeptheory.__path__) if each.ispkg and each.name not in NO_ROOMS]
TABLES = {
    each.name: importlib.import_module(f"{__name__}.{each.name}")
    for each in pkgutil.iter_modules(__path__)
    if each.name != "ingredients"
}


def _gathered(kind: str) -> Iterator[tuple[str, Any]]:
    """The lines of one kind in all tables, with the room in front; those of a mapping with their values."""
    for room, table in TABLES.items():
        lines = getattr(table, kind, ())
        lines = lines.strip().splitlines() if isinstance(lines, str) else lines
        yield from ((f"{room}.{line}", lines[line] if isinstance(lines, dict) else None) for line in lines)


EXAMPLES: dict[str, dict[str, Any]] = dict(_gathered("EXAMPLES"))
FOUND, SIGNED, FREE_TEXT, MAY_BE_EMPTY, MAY_BE_NAN, INNER, ELSEWHERE = (
    tuple(line for line, _ in _gathered(kind))
    for kind in ("FOUND", "SIGNED", "FREE_TEXT", "MAY_BE_EMPTY", "MAY_BE_NAN", "INNER", "ELSEWHERE")
)
RECORDS: dict[str, Callable[[], Any]] = {
    "Generator": lambda: np.random.default_rng(0),
    "GradientTransformation": lambda: optax.sgd(0.1),
}
for _table in TABLES.values():
    RECORDS |= getattr(_table, "RECORDS", {})

NAMED: dict[str, Any] = {
    "delta": 0.1,
    "fourth": 3.0, "key": KEY, "samples": 9, "hypotheses": 3, "third": 1.5, "law": LAW, "z": 0.5 + 1j,
    "outcome_law": LAW, "probabilities": LAW, "prior": LAW, "posterior": LAW[::-1], "order": 3,
}  # fmt: skip
"""values that a name has everywhere, unless the table says otherwise"""
SIMPLE: dict[Any, Any] = {
    float: 0.5, int: 3, Fraction: 3, str: "gaussian", bool: True, complex: 0.5 + 1j, nx.Graph: nx.cycle_graph(4),
    np.ndarray: POINTS, jax.Array: POINTS,
}  # fmt: skip


def public() -> dict[str, Any]:
    """Every public function and class, by the module that defines it."""
    found: dict[str, Any] = {}
    for room in ROOMS:
        package = importlib.import_module(f"deeptheory.{room}")
        inside = pkgutil.walk_packages(package.__path__, f"deeptheory.{room}.")
        for shelf in (room, *(each.name.removeprefix("deeptheory.") for each in inside)):
            if shelf.startswith(INNER):
                continue
            module = importlib.import_module(f"deeptheory.{shelf}")
            for name in getattr(module, "__all__", ()):
                thing = getattr(module, name)
                home = sys.modules.get(getattr(thing, "__module__", ""), module)
                handed_on = home is not module and name in getattr(home, "__all__", ())
                if not inspect.ismodule(thing) and not handed_on:
                    found[f"{shelf}.{name}"] = thing
    return {name: thing for name, thing in found.items() if name not in ELSEWHERE and not name.startswith(INNER)}


def example(name: str, thing: Any) -> dict[str, Any]:
    """Arguments that a function accepts: those of the table, the others by its signature."""
    given = EXAMPLES.get(name, {})
    return {
        each: given[each] if each in given else typical(each, parameter.annotation)
        for each, parameter in inspect.signature(thing).parameters.items()
        if each in given or (parameter.default is parameter.empty and parameter.kind not in (2, 4))
    }


def alternatives(annotation: Any) -> tuple[Any, ...]:
    if get_origin(annotation) is Annotated:
        return alternatives(get_args(annotation)[0])
    return get_args(annotation) if get_origin(annotation) in (Union, types.UnionType) else (annotation,)


def typical(name: str, annotation: Any) -> Any:
    """A value by name and kind, where there may be none too; None where no kind says what it could be."""
    wanted = [each for part in alternatives(annotation) for each in alternatives(part) if each is not type(None)]
    first = wanted[0]
    origin = get_origin(first) or first
    if (title := getattr(origin, "__name__", "")) in RECORDS:
        return RECORDS[title]()
    if name in NAMED:
        return NAMED[name]
    for hint in wanted:
        if isinstance(hint, type) and issubclass(hint, AbstractArray) and not {float, int} & set(wanted):
            made = array(hint.dtype.__name__, hint.dim_str)
            return jnp.asarray(made) if hint.array_type is jax.Array and len(wanted) == 1 else made
    if first in SIMPLE:
        return SIMPLE[first]
    if origin is Callable:
        return jnp.tanh
    if origin in (Sequence, tuple, list):
        inner = get_args(first) or (float,)
        if inner[0] is int and len(inner) == 1:
            return (3, 4, 1)
        if getattr(alternatives(inner[0])[0], "dim_str", "") in ("_out _in", "_ _"):
            return LAYERS
        return tuple(typical(name, each) for each in (inner if origin is tuple and ... not in inner else inner[:1] * 2))
    return 0.5 if first in (Any, inspect.Parameter.empty) else None
