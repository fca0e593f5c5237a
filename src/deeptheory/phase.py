"""Phase diagrams of any JAX function: a grid of settings and seeds, in as few compiled calls as shapes allow."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

if TYPE_CHECKING:
    import xarray

__all__ = ["phase_diagram"]


def phase_diagram(
    function: Callable[..., Any],
    over: Mapping[str, Sequence[Any]],
    *,
    seeds: int = 1,
    seed: int = 0,
    batch: int | None = None,
) -> "xarray.Dataset":
    """Evaluate `function(key, **settings)` on a grid and return labelled arrays.

    Settings that are floats are traced, so all their values and all seeds share one compiled call; integers and words
    may change shapes, so each combination of them is compiled by itself. The function returns an array or a dictionary
    of arrays of the same shape everywhere. `batch` bounds how many points are evaluated at once, where memory is short.
    Seeds are paired: every point of the grid sees the same keys.
    """
    import xarray

    if seeds < 1:
        raise ValueError(f"seeds must be at least 1, not {seeds}")
    empty = [name for name, values in over.items() if len(values) == 0]
    if empty:
        raise ValueError(f"the axis {empty[0]} has no values")
    traced = {n: np.asarray(v, float) for n, v in over.items() if all(isinstance(e, (float, np.floating)) for e in v)}
    looped = {name: list(values) for name, values in over.items() if name not in traced}
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
    for name in tables[0]:
        stacked = np.stack([table[name] for table in tables])
        inner = stacked.shape[2:]
        axes = [f"{name}_{axis}" for axis in range(len(inner))]
        variables[name] = ([*names, *axes], stacked.reshape(*lengths, *inner))
    diagram = xarray.Dataset(variables, coords={**looped, **traced, "seed": np.arange(seeds)})
    return diagram.transpose(*over, "seed", ...)


def _evaluate(
    function: Callable, fixed: dict[str, Any], points: dict[str, Any], batch: int | None
) -> dict[str, np.ndarray]:
    """One compiled call over all points that share these fixed settings."""

    def one(point: dict[str, Any]) -> dict[str, Any]:
        settings = {name: value for name, value in point.items() if name != "key"}
        value = function(point["key"], **fixed, **settings)
        return value if isinstance(value, dict) else {"value": value}

    every = jax.vmap(one) if batch is None else lambda all_points: jax.lax.map(one, all_points, batch_size=batch)
    return {name: np.asarray(value) for name, value in jax.jit(every)(points).items()}
