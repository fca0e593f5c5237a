"""Phase diagrams of any JAX function: a grid of settings and seeds, in as few compiled calls as shapes allow."""

import inspect
import itertools
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import subjaxprs

if TYPE_CHECKING:
    from deeptheory.phase_chart import PhaseDiagram

__all__ = ["everywhere", "phase_diagram"]

CACHE = 2**15
"""Bytes near a core: points are taken together only as long as their largest array stays within."""

MOST = 10_000_000
"""Points of a diagram."""
PROGRAMS = 10_000
"""Combinations of settings that are compiled one by one."""


def phase_diagram(
    function: Callable[..., Any],
    over: Mapping[str, Sequence[Any]],
    *,
    seeds: int = 1,
    seed: int = 0,
    batch: int | None = None,
) -> "PhaseDiagram":
    """Evaluate `function(key, **settings)` on a grid and return labelled arrays, an xarray Dataset with a `chart()`.

    Settings that are floats are traced, so all their values and all seeds share one compiled call; integers and words
    may change shapes, so each combination of them is compiled by itself. The function returns an array or a dictionary
    of arrays of the same shape everywhere. `batch` is how many points are vectorised at once; see `everywhere`.
    Seeds are paired: every point of the grid sees the same keys.
    """
    from deeptheory.phase_chart import PhaseDiagram  # which imports xarray

    if not callable(function):
        raise TypeError(f"function must be a function of a key and settings, not {_shown(function)}")
    if not isinstance(over, Mapping):
        raise TypeError(f"over must be a dictionary of settings and their values, not {_shown(over)}")
    _whole("seeds", seeds, 1, math.inf)
    _whole("seed", seed, 0, 2**31 - 1)
    if batch is not None:
        _whole("batch", batch, 1, math.inf)
    for name, values in over.items():
        _check_axis(name, values)
    # The entries of a JAX array are arrays, not floats, and would be compiled one by one.
    axes: dict[str, Any] = {n: np.asarray(v) if isinstance(v, jax.Array) else v for n, v in over.items()}
    if (total := math.prod(len(values) for values in axes.values()) * int(seeds)) > MOST:
        raise ValueError(f"the grid has {total:,} points; a diagram takes at most {MOST:,}")
    traced = {n: np.asarray(v, float) for n, v in axes.items() if all(isinstance(e, (float, np.floating)) for e in v)}
    looped = {name: list(values) for name, values in axes.items() if name not in traced}
    if (programs := math.prod(map(len, looped.values()))) > PROGRAMS:
        raise ValueError(
            f"the settings {', '.join(looped)} have {programs:,} combinations, each of which is compiled by itself; at "
            f"most {PROGRAMS:,} are (floats share a program)"
        )
    _check_call(function, over)
    keys = jax.random.split(jax.random.key(seed), seeds)
    mesh = np.meshgrid(*traced.values(), np.arange(seeds), indexing="ij")
    points = {name: jnp.asarray(axis.ravel()) for name, axis in zip(traced, mesh, strict=False)}
    points["key"] = keys[mesh[-1].ravel()]
    tables = [
        _evaluate(function, dict(zip(looped, c, strict=True)), points, batch)
        for c in itertools.product(*looped.values())
    ]
    lengths = [len(values) for values in (*looped.values(), *traced.values())] + [seeds]
    names = [*looped, *traced, "seed"]
    variables = {}
    if len(kinds := {tuple((name, table[name].shape[1:]) for name in sorted(table)) for table in tables}) > 1:
        first, second = sorted(kinds)[:2]
        raise ValueError(
            f"the function must return the same names and shapes everywhere, not {dict(first)} and {dict(second)}"
        )
    for name in tables[0]:
        stacked = np.stack([table[name] for table in tables])
        inner = stacked.shape[2:]
        own = [f"{name}_{axis}" for axis in range(len(inner))]
        if taken := {*names, *tables[0]}.intersection(own):
            raise ValueError(f"the axes of {name} are called {', '.join(own)}: give {taken.pop()} another name")
        variables[name] = ([*names, *own], stacked.reshape(*lengths, *inner))
    diagram = PhaseDiagram(variables, coords={**looped, **traced, "seed": np.arange(seeds)})
    return diagram.transpose(*over, "seed", ...)


def _whole(name: str, value: Any, low: int, high: float) -> None:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not low <= value <= high:
        to = "" if high == math.inf else f" to {high}"
        raise ValueError(f"{name} must be a whole number from {low}{to}, not {value!r}")


def _check_axis(name: Any, values: Any) -> None:
    """Refuse what is not the name of a setting with a list of values, none of which is nan or a list itself."""
    if not isinstance(name, str):
        raise TypeError(f"an axis is called by the name of a setting, not {_shown(name)}")
    if name in ("key", "seed"):
        raise ValueError(f"an axis may not be called {name}: the seeds make it")
    several = isinstance(values, Sequence | np.ndarray | jax.Array) and getattr(values, "ndim", 1) == 1
    if not several or isinstance(values, str | bytes):
        raise ValueError(f"the axis {name} must be a list of values, not {_shown(values)}")
    if len(values) == 0:
        raise ValueError(f"the axis {name} has no values")
    if isinstance(values, range):
        return
    plain = isinstance(values, np.ndarray | jax.Array) and values.dtype.kind in "fciubU"
    wrong = [
        each for each in ([] if plain else values) if not isinstance(each, str | complex | float | int | np.number)
    ]
    if wrong:
        raise ValueError(f"the axis {name} must be a list of numbers or words, not of {_shown(wrong[0])}")
    if not plain and len({isinstance(each, str) for each in values}) > 1:
        raise ValueError(f"the axis {name} must be a list of numbers or one of words, not of both")
    found = np.asarray(values if plain else list(values))
    if found.dtype.kind == "O":
        raise ValueError(f"the axis {name} has whole numbers beyond 64 bits")
    if found.dtype.kind in "fc" and np.isnan(found).any():
        raise ValueError(f"the axis {name} must be a list of numbers or words, and nan is none")


def _check_call(function: Callable[..., Any], names: Iterable[str]) -> None:
    """Refuse a function that takes no key, or not these settings. Some of what can be called has no signature."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return
    try:
        signature.bind("key", **dict.fromkeys(names))
    except TypeError as problem:
        given = ", ".join(["key", *(f"{name}=…" for name in names)])
        raise TypeError(f"the function is called with ({given}), but takes {signature}: {problem}") from None


def _shown(value: Any) -> str:
    """What was given, on one line."""
    return f"{' '.join(repr(value).split()):.60}"


def _evaluate(
    function: Callable, fixed: dict[str, Any], points: dict[str, Any], batch: int | None
) -> dict[str, np.ndarray]:
    """One compiled call over all points that share these fixed settings."""

    def one(point: dict[str, Any]) -> dict[str, Any]:
        settings = {name: value for name, value in point.items() if name != "key"}
        value = function(point["key"], **fixed, **settings)
        found = value if isinstance(value, dict) else {"value": value}
        if not found or not all(isinstance(name, str) and _is_numbers(each) for name, each in found.items()):
            raise TypeError(f"the function must return numbers, or a dictionary of them by name, not {_shown(value)}")
        if taken := [name for name in found if name in (*fixed, *settings, "seed")]:
            raise ValueError(f"the function returns {taken[0]}, which is the name of an axis: give the value another")
        return found

    return {name: np.asarray(value) for name, value in everywhere(one, points, batch=batch).items()}


def _is_numbers(value: Any) -> bool:
    if isinstance(value, int) and abs(value) > jnp.iinfo(jnp.result_type(int)).max:
        return False
    if isinstance(value, np.generic | np.ndarray):
        return value.dtype.kind in "fciub"
    keys = isinstance(value, jax.Array) and jnp.issubdtype(value.dtype, jax.dtypes.prng_key)
    return isinstance(value, int | float | complex | jax.Array) and not keys


def everywhere(function: Callable[..., Any], points: Any, *shared: Any, batch: int | None = None) -> Any:
    """Evaluate `function(point, *shared)` at every point, on all cores; points are stacked along their first axes.

    The points are dealt to the cores, and each core runs through its share by the one compiled program: a whole
    training run stays in the core's own cache, where one big vectorised call would stream through memory at every step.
    `batch` points are vectorised at once: by default as many as keep the largest array within a core's cache; on an
    accelerator all of them.
    """
    points, shared = jax.tree.map(jnp.asarray, (points, shared))
    count = len(jax.tree.leaves(points)[0])
    on_cpu = jax.default_backend() == "cpu"
    lanes = min(_cores(), count) if on_cpu else 1
    share = -(-count // lanes)
    if batch is None:
        batch = _comfortable(function, jax.tree.map(lambda leaf: leaf[0], points), *shared) if on_cpu else share
    batch = max(1, min(batch, share))
    share = -(-share // batch) * batch
    # Shares of one shape, so that they share one program; the last point is repeated to fill them.
    dealt = np.minimum(np.arange(lanes * share), count - 1).reshape(lanes, share)
    shares = [jax.tree.map(lambda leaf, mine=mine: leaf[mine], points) for mine in dealt]
    shapes = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype), (shares[0], *shared))
    leaves, structure = jax.tree.flatten(shapes)
    wide = jax.config.jax_enable_x64  # pyright: ignore[reportAttributeAccessIssue]
    program = _program(function, batch, tuple(leaves), structure, wide)
    _fits(program, lanes)
    with ThreadPoolExecutor(lanes) as pool:
        parts = list(pool.map(lambda mine: jax.tree.map(np.asarray, program(mine, *shared)), shares))
    return jax.tree.map(lambda *pieces: np.concatenate(pieces)[:count], *parts)


def _fits(program: Any, lanes: int) -> None:
    """Refuse what would fill the memory of this machine before it is begun."""
    needs = program.memory_analysis()
    if needs is None or not hasattr(os, "sysconf"):
        return
    # Twice: the shares are put together at the end.
    bytes_needed = lanes * max(2 * needs.output_size_in_bytes, needs.output_size_in_bytes + needs.temp_size_in_bytes)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if bytes_needed > memory:
        raise ValueError(
            f"these points take {bytes_needed / 1e9:,.0f} GB at once; this machine has {memory / 1e9:,.0f} GB"
        )


def _cores() -> int:
    """The cores this process may use; all of them where the system does not say."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@lru_cache(maxsize=32)
def _program(function: Callable, batch: int, leaves: tuple, structure: Any, double: bool) -> Any:
    """One share, compiled; ahead of time, because precision is a setting of the thread that traces."""

    @jax.jit
    def mapped(share: Any, *shared: Any) -> Any:
        return jax.lax.map(lambda point: function(point, *shared), share, batch_size=batch if batch > 1 else None)

    return mapped.lower(*jax.tree.unflatten(structure, leaves)).compile()


def _comfortable(function: Callable, point: Any, *shared: Any) -> int:
    """How many points may be vectorised before the largest array of the computation leaves the core's cache."""

    def largest(jaxpr: Any) -> int:
        sizes = [v.aval.size * v.aval.dtype.itemsize for e in jaxpr.eqns for v in e.outvars if hasattr(v.aval, "size")]
        return max([1, *sizes, *(largest(inner) for inner in subjaxprs(jaxpr))])

    return CACHE // largest(jax.make_jaxpr(function)(point, *shared).jaxpr)
