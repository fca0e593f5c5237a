"""Sweeps: one claim over a grid of settings and seeds, as labelled arrays."""

import itertools
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from deeptheory.lab.checking import few_enough
from deeptheory.lab.evidence import Evidence
from deeptheory.lab.evidence.base import numbers
from deeptheory.lab.parameters import Parameter

if TYPE_CHECKING:
    import xarray

    from deeptheory.lab._claim import Claim

__all__ = ["dataset", "gathered", "grid", "points", "sweep"]

SEEDS = Parameter("seeds", "int", 1, low=1, high=10_000)


SEVERAL = (list, range, np.ndarray)
"""What holds the values of an axis; anything else is one value."""


def listed(over: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Every axis as a list; a single value stands for itself."""
    return {name: list(values) if isinstance(values, SEVERAL) else [values] for name, values in over.items()}


def points(over: Mapping[str, Any]) -> int:
    """How many combinations the listed settings have; nothing is laid out to count them."""
    return math.prod(len(values) if isinstance(values, SEVERAL) else 1 for values in over.values())


def grid(over: Mapping[str, Any]) -> list[dict[str, Any]]:
    """All combinations of the listed settings, the last varying fastest."""
    axes = listed(over)
    return [dict(zip(axes, point, strict=True)) for point in itertools.product(*axes.values())]


def sweep(claim: "Claim", over: Mapping[str, Any], *, seeds: int = 1, progress: bool = False) -> "xarray.Dataset":
    """Run a claim in this process at every point of a grid and every seed.

    Each value of `over` is a list of settings (a single value stands for itself; a tuple is one setting).
    Variables of the result: `verdict` (1 holds, 0 inconclusive, -1 refuted), `resolution`, `seconds`, and every number
    of the evidence, trials averaged, that has the same shape wherever there is one. A point at which the claim does not
    run is warned of and nan.
    """
    seeds = SEEDS.check(seeds)
    few_enough(points(over) * seeds)
    if empty := [name for name, values in listed(over).items() if not values]:
        raise ValueError(f"the axis {empty[0]} has no values")
    combinations = grid(over)
    for point in combinations:
        claim.settings(point)
    show = _progress(len(combinations) * seeds) if progress else lambda: None
    runs = []
    for point in combinations:
        for seed in range(seeds):
            try:
                runs.append(claim.check(seed=seed, **point))
            except ValueError as problem:
                warnings.warn(str(problem), stacklevel=3)
                runs.append(None)
            show()
    return gathered(over, seeds, runs)


def gathered(over: Mapping[str, Any], seeds: int, runs: Sequence[Any]) -> "xarray.Dataset":
    """Arrange runs, in the order of `grid` and then seeds, into a labelled dataset; what is missing (None) is nan."""
    import xarray

    made = [run for run in runs if run is not None]
    if not made:
        raise ValueError("not one point of the sweep could be run")
    axes = listed(over)
    lengths = [len(values) for values in axes.values()] + [seeds]
    names = [*axes, "seed"]
    signs = {"holds": 1, "inconclusive": 0, "refuted": -1}

    def arranged(values: list[Any], shape: tuple[int, ...] = ()) -> np.ndarray:
        array = np.asarray([np.full(shape, np.nan) if value is None else value for value in values])
        return array.reshape(*lengths, *shape)

    variables: dict[str, Any] = {
        "verdict": (names, arranged([run and signs[run.verdict] for run in runs])),
        "resolution": (names, arranged([run and run.resolution for run in runs])),
        "seconds": (names, arranged([run and run.seconds for run in runs])),
    }
    tables = [summary(run.evidence) if run else {} for run in runs]
    for name in dict.fromkeys(name for table in tables for name in table):
        shapes = {table[name].shape for table in tables if name in table}
        if len(shapes) == 1:
            (shape,) = shapes
            inner = [f"{name}_{axis}" for axis in range(len(shape))]
            variables[name] = ([*names, *inner], arranged([table.get(name) for table in tables], shape))
    labels = {name: [str(v) if isinstance(v, (tuple, bool)) else v for v in values] for name, values in axes.items()}
    return xarray.Dataset(variables, coords={**labels, "seed": np.arange(seeds)}, attrs={"claim": made[0].claim})


def summary(pieces: Mapping[str, Evidence]) -> dict[str, np.ndarray]:
    """The numbers of the evidence by name; observations averaged over trials, with their error beside."""
    found = {}
    for piece, evidence in pieces.items():
        for name, array in numbers(evidence).items():
            label = "_".join(part for part in (piece, "".join(c if c.isalnum() else "_" for c in name)) if part)
            if name == "observed" and array.ndim:
                found[f"{label}_error"] = array.std(-1, ddof=1) / np.sqrt(array.shape[-1])
                array = array.mean(-1)
            found[label] = array
    return found


def dataset(evidence: Evidence) -> "xarray.Dataset":
    """One piece of evidence as labelled arrays."""
    import xarray

    variables = {}
    for name, array in numbers(evidence).items():
        label = "".join(c if c.isalnum() else "_" for c in name)
        variables[label] = ([f"{label}_{axis}" for axis in range(array.ndim)], array)
    return xarray.Dataset(variables, attrs={"kind": type(evidence).__name__})


def _progress(total: int) -> Callable[[], None]:
    """A counter on standard error."""
    from rich.console import Console
    from rich.progress import Progress

    bar = Progress(console=Console(stderr=True))
    task = bar.add_task("sweep", total=total)
    bar.start()

    def advance() -> None:
        bar.advance(task)
        if bar.finished:
            bar.stop()

    return advance
