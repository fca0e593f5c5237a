"""What callers may ask for and how it comes back: `get`, and arguments that belong to one of two sets of inputs."""

from collections import namedtuple
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from deeptheory.foundations.guards import numeric
from deeptheory.foundations.wishes import Wish

FINITE = Wish(anything=True)
Get = str | tuple[str, ...] | list[str] | None


def asked(get: Get, *, default: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names that `get` stands for, in small letters."""
    names = default if get is None else (get,) if isinstance(get, str) else get
    if not isinstance(names, tuple | list) or not all(isinstance(name, str) for name in names):
        raise TypeError(f"get must be a name or several, as {default[0]!r}, got {get!r:.60}")
    if not names:
        raise ValueError(f"get is empty: ask for {', '.join(default)}, or some of them")
    names = tuple(name.lower() for name in names)
    if len(set(names)) < len(names):
        raise ValueError(f"get names something twice: {', '.join(names)}")
    return names


def answered(get: Get, name: str, values: dict[str, Any]) -> Any:
    """Return one value for one name, a namedtuple for several or for None."""
    return values[get.lower()] if isinstance(get, str) else _record(name, tuple(values))(**values)


@cache  # one type for one set of names, so that results can be compared leaf by leaf
def _record(name: str, fields: tuple[str, ...]) -> Any:
    return namedtuple(name, fields)


def split_arguments(kwargs: dict[str, Any], same_inputs: bool) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split keyword arguments of a network between two sets of inputs.

    A pair gives one value to each set; a single `rng` is split in two, or kept when both sets are one; everything else
    goes to both.
    """
    first, second = {}, {}
    for name, value in kwargs.items():
        if name == "rng" and is_array(value) and not same_inputs:
            first[name], second[name] = jax.random.split(value)
        elif isinstance(value, tuple) and len(value) == 2:
            first[name], second[name] = value
        else:
            first[name] = second[name] = value
    return first, second


def tuples(tree: Any) -> Any:
    """Turn lists, of inputs, shapes or kernels, into tuples."""
    return tuple(map(tuples, tree)) if type(tree) in (list, tuple) else tree


def is_array(value: Any) -> bool:
    return isinstance(value, (np.ndarray, jax.Array))


def on_device(tree: Any) -> Any:
    """Turn NumPy arrays into JAX arrays, so that compiled functions take them as data."""
    return jax.tree.map(lambda a: jnp.asarray(a) if isinstance(a, np.ndarray) else a, tree)


def check_inputs(kwargs: dict[str, Any], **inputs: Any) -> None:
    """Refuse arrays of inputs that are not made of finite numbers; those that a constant masks need not be."""
    for name, x in inputs.items():
        if is_array(x) and np.shape(x)[:1] != (0,) and np.size(x) == 0:
            continue  # examples without features: a function may look at its parameters alone
        if is_array(x):
            numeric(**{name: x})
        for leaf in jax.tree.leaves(x) if kwargs.get("mask_constant") is None else ():
            FINITE.grant(name, leaf, {})
