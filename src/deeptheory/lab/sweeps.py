"""Sweeps: one claim over a grid of settings and seeds, as labelled arrays."""

import itertools
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from deeptheory.lab.checking import few_enough
from deeptheory.lab.datasets import Labelled, averaged, grouped, labelled
from deeptheory.lab.entries import catalogue
from deeptheory.lab.parameters import Parameter

if TYPE_CHECKING:
    import xarray

    from deeptheory.lab._claim import Claim

__all__ = ["gathered", "grid", "points", "sweep"]

SEEDS = Parameter("seeds", "int", 1, low=1, high=10_000)

SIGNS = {"holds": 1, "inconclusive": 0, "refuted": -1}
SIGNED = "1 holds, 0 inconclusive, -1 refuted"
UNSEEN = "the smallest deviation that would have been noticed"


def several(values: Any) -> bool:
    """Whether these are the values of an axis; anything else is one value."""
    return isinstance(values, list | range) or (isinstance(values, np.ndarray) and values.ndim > 0)


def listed(over: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Every axis as a list; a single value stands for itself, and what is a list within it is one setting."""
    axes = {name: list(values) if several(values) else [values] for name, values in over.items()}
    return {name: [tuple(v) if isinstance(v, list) else v for v in values] for name, values in axes.items()}


def points(over: Mapping[str, Any]) -> int:
    """How many combinations the listed settings have; nothing is laid out to count them."""
    return math.prod(len(values) if several(values) else 1 for values in over.values())


def grid(over: Mapping[str, Any]) -> list[dict[str, Any]]:
    """All combinations of the listed settings, the last varying fastest."""
    axes = listed(over)
    return [dict(zip(axes, point, strict=True)) for point in itertools.product(*axes.values())]


def sweep(claim: "Claim", over: Mapping[str, Any], *, seeds: int = 1, progress: bool = False) -> "xarray.DataTree":
    """Run a claim in this process at every point of a grid and every seed.

    Each value of `over` is a list of settings (a single value stands for itself; a tuple is one setting).
    The result is a tree of labelled arrays: `verdict` (1 holds, 0 inconclusive, -1 refuted), `resolution`, `seconds`,
    and for each piece of evidence a group of its numbers, trials averaged, that have the same shape wherever there are
    any. A point at which the claim does not run is warned of and nan.
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


def gathered(over: Mapping[str, Any], seeds: int, runs: Sequence[Any]) -> "xarray.DataTree":
    """Arrange runs, in the order of `grid` and then seeds, into labelled arrays; what is missing (None) is nan."""
    import xarray

    made = [run for run in runs if run is not None]
    if not made:
        raise ValueError("not one point of the sweep could be run")
    axes = listed(over)
    labels = {name: [str(v) if isinstance(v, (tuple, bool)) else v for v in values] for name, values in axes.items()}
    labels["seed"] = list(range(seeds))
    names, lengths = list(labels), [len(values) for values in labels.values()]

    def arranged(values: Sequence[Any], shape: tuple[int, ...] = ()) -> np.ndarray:
        array = np.asarray([np.full(shape, np.nan) if value is None else value for value in values])
        return array.reshape(*lengths, *shape)

    root = xarray.Dataset(
        {
            "verdict": (names, arranged([run and SIGNS[run.verdict] for run in runs]), {"description": SIGNED}),
            "resolution": (names, arranged([run and run.resolution for run in runs]), {"description": UNSEEN}),
            "seconds": (names, arranged([run and run.seconds for run in runs]), {"units": "s"}),
        },
        coords=labels,
    )
    evidence = [run.evidence if run else {} for run in runs]
    pieces, entry = {"": root}, catalogue().claims.get(made[0].claim)
    words = entry.axes if entry else {}
    for piece in dict.fromkeys(name for each in evidence for name in each):
        axis = words.get(piece, "x")
        found = [averaged(labelled(each[piece], run.parameters, axis)) if piece in each else None
                 for run, each in zip(runs, evidence, strict=True)]  # fmt: skip
        whole = _stacked(found, names, arranged).dataset()
        pieces[piece] = whole if piece else root.merge(whole, combine_attrs="override")
    return grouped(pieces, {"claim": made[0].claim})


def _stacked(found: Sequence[Labelled | None], names: list[str], arranged: Callable) -> Labelled:
    """The numbers of one piece at all points, where they have one shape; coordinates that move become variables."""
    made = [each for each in found if each is not None]
    variables: dict[str, tuple[list[str], np.ndarray]] = {}
    for name in dict.fromkeys(name for each in made for name in each.variables):
        kinds = {(tuple(each.variables[name][0]), each.variables[name][1].shape) for each in made}
        if len(kinds) == 1 and made[0].variables[name][1].dtype.kind in "fiub":
            ((inner, shape),) = kinds
            values = [None if each is None else each.variables[name][1] for each in found]
            variables[name] = [*names, *inner], arranged(values, shape)
    kept: dict[str, np.ndarray] = {}
    for name, values in made[0].coordinates.items():
        if not any(name in inner for inner, _ in variables.values()):
            continue
        if all(np.array_equal(each.coordinates.get(name, ()), values) for each in made):
            kept[name] = values
        elif values.dtype.kind in "fiub":
            moved = [None if each is None else each.coordinates[name] for each in found]
            variables[f"{name}_at"] = [*names, name], arranged(moved, values.shape)
    return Labelled(variables, kept, made[0].attributes)


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
