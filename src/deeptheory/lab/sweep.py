"""Sweeps: one claim over a grid of settings and seeds, as labelled arrays."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from deeptheory.lab.evidence import Evidence
from deeptheory.lab.evidence.base import numbers
from deeptheory.lab.parameters import Parameter

if TYPE_CHECKING:
    import xarray

    from deeptheory.lab._claim import Claim

__all__ = ["dataset", "gathered", "grid", "sweep"]

SEEDS = Parameter("seeds", "int", 1, low=1, high=10_000)


def listed(over: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Every axis as a list; a single value stands for itself."""
    return {name: list(v) if isinstance(v, (list, range, np.ndarray)) else [v] for name, v in over.items()}


def grid(over: Mapping[str, Any]) -> list[dict[str, Any]]:
    """All combinations of the listed settings, the last varying fastest."""
    axes = listed(over)
    return [dict(zip(axes, point, strict=True)) for point in itertools.product(*axes.values())]


def sweep(claim: "Claim", over: Mapping[str, Any], *, seeds: int = 1, progress: bool = False) -> "xarray.Dataset":
    """Run a claim in this process at every point of a grid and every seed.

    Each value of `over` is a list of settings (a single value stands for itself; a tuple is one setting).
    Variables of the result: `verdict` (1 holds, 0 inconclusive, -1 refuted), `resolution`, `seconds`, and every number
    of the evidence, trials averaged, that has the same shape everywhere.
    """
    seeds = SEEDS.check(seeds)
    if empty := [name for name, values in listed(over).items() if not values]:
        raise ValueError(f"the axis {empty[0]} has no values")
    points = grid(over)
    for point in points:
        claim.settings(point)
    show = _progress(len(points) * seeds) if progress else lambda: None
    runs = []
    for point in points:
        for seed in range(seeds):
            runs.append(claim.check(seed=seed, **point))
            show()
    return gathered(over, seeds, runs)


def gathered(over: Mapping[str, Any], seeds: int, runs: Sequence[Any]) -> "xarray.Dataset":
    """Arrange runs, in the order of `grid` and then seeds, into a labelled dataset."""
    import xarray

    axes = listed(over)
    lengths = [len(values) for values in axes.values()] + [seeds]
    names = [*axes, "seed"]
    signs = {"holds": 1, "inconclusive": 0, "refuted": -1}

    def arranged(values: list[Any]) -> np.ndarray:
        array = np.asarray(values)
        return array.reshape(*lengths, *array.shape[1:])

    def resolution(run: Any) -> float:
        return np.nan if run.resolution is None else run.resolution

    variables: dict[str, Any] = {
        "verdict": (names, arranged([signs[run.verdict] for run in runs])),
        "resolution": (names, arranged([resolution(run) for run in runs])),
        "seconds": (names, arranged([run.seconds for run in runs])),
    }
    tables = [summary(run.evidence) for run in runs]
    for name in tables[0]:
        shapes = {table[name].shape for table in tables if name in table}
        if len(shapes) == 1 and all(name in table for table in tables):
            inner = [f"{name}_{axis}" for axis in range(len(next(iter(shapes))))]
            variables[name] = ([*names, *inner], arranged([table[name] for table in tables]))
    labels = {name: [str(v) if isinstance(v, (tuple, bool)) else v for v in values] for name, values in axes.items()}
    return xarray.Dataset(variables, coords={**labels, "seed": np.arange(seeds)}, attrs={"claim": runs[0].claim})


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
