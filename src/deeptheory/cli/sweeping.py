"""The command that runs a claim over a grid of settings and seeds."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deeptheory.cli.app import (
    JOBS,
    PATH,
    Jobs,
    Json,
    One,
    Refused,
    StorePath,
    app,
    complete_setting,
    emit,
    within,
    writable,
)
from deeptheory.cli.running import Failed, sentence, status, tell_failed
from deeptheory.lab.entries import Entry
from deeptheory.lab.parameters import written
from deeptheory.lab.store import Store
from deeptheory.names import only

if TYPE_CHECKING:
    from deeptheory.lab.checking import Task
    from deeptheory.lab.outcome import Run

Points = list[tuple["Task", "Run | None"]]


@app.command()
def sweep(
    claim: One,
    over: Annotated[
        list[str],
        typer.Option(
            help="a grid, name=64:4096:log2 or name=1,2,5; may be given again", autocompletion=complete_setting
        ),
    ],
    seeds: Annotated[int, typer.Option(help="how many seeds at each point")] = 1,
    out: Annotated[Path | None, typer.Option(help="write the result as netCDF", **PATH)] = None,
    jobs: Jobs = JOBS,
    store: StorePath = None,
    json: Json = False,
) -> None:
    """Run a claim over a grid of settings and seeds."""
    from deeptheory.cli.grids import axis

    within("--seeds", seeds, 1, 10_000)
    within("--jobs", jobs, 1, 256)
    chosen = only(claim)
    axes: dict[str, Any] = {}
    for text in over:
        name, values = axis(text, chosen.parameters)
        if name in axes:
            raise Refused(f"--over names {name} twice; list its values in one grid")
        axes[name] = values
    if out is not None:
        writable(out)
    points, failed = _swept(chosen, axes, seeds, jobs, store)
    if out is not None or json:
        from deeptheory.lab.datasets import flat
        from deeptheory.lab.sweeps import gathered

        result = flat(gathered(axes, seeds, [run for _, run in points]))
        if out is not None:
            _save(result, out)
        if json:
            emit(result.to_dict())
    if not json:
        _show(points, list(axes), seeds)
    tell_failed(failed)
    raise typer.Exit(status([], failed))


def _swept(chosen: Entry, axes: dict[str, Any], seeds: int, jobs: int, store: Path | None) -> tuple[Points, Failed]:
    """Run a claim over a grid: each point with its run, or None where it failed; and what failed."""
    from deeptheory.cli.display import progress
    from deeptheory.lab.checking import checked, few_enough, tasks, workers
    from deeptheory.lab.sweeps import grid, points

    few_enough(points(axes) * seeds)
    todo = [task for point in grid(axes) for task in tasks([chosen], seeds=range(seeds), settings=point)]
    found: dict[str, Any] = {}
    failed: Failed = []
    with (
        Store(store) as opened,
        workers(min(jobs, len(todo))) as pool,
        progress(len(todo), "sweeping") as tell,
    ):
        for task, outcome, _ in checked(todo, pool, store=opened):
            if isinstance(outcome, Exception):
                failed.append((task, outcome))
                tell(f"{written(task.settings)}: failed")
            else:
                found[task.key] = outcome
                tell(f"{written(task.settings)}: {outcome.verdict}")
    if not found:
        raise Refused(sentence(*failed[0]))
    return [(task, found.get(task.key)) for task in todo], failed


def _show(points: Sequence[tuple["Task", "Run | None"]], axes: list[str], seeds: int) -> None:
    """One line a point: its settings, the verdict, prediction beside observation at the piece it is taken from."""
    from deeptheory.cli.display import coloured, console, table
    from deeptheory.formulas import spoken
    from deeptheory.lab.comparing import compared
    from deeptheory.lab.evidence import LEVEL
    from deeptheory.lab.sensitivity import decisive, overall

    heads = [*(f">{name}" for name in axes), *([">seed"] if seeds > 1 else [])]
    made = table(*heads, "verdict", "evidence", ">predicted", ">observed", "at", "resolution", ">seconds")
    for task, run in points:
        settings = [*(written(task.settings[name]) for name in axes), *([str(task.seed)] if seeds > 1 else [])]
        piece = None if run is None else decisive(run)
        if run is None or piece is None:
            why = "" if run is None else spoken(run.reason)
            made.add_row(*settings, coloured(run.verdict if run else "failing"), why, "", "", "", "", "")
            continue
        seen = compared(run.evidence[piece], LEVEL / len(run.judgements))
        numbers = (spoken(seen.predicted), spoken(seen.observed), seen.at, spoken(overall(run)), f"{run.seconds:.1f}")
        made.add_row(*settings, coloured(run.verdict), piece or "all", *numbers)
    console().print(made)


def _save(result: Any, path: Path) -> None:
    """Write a data set as netCDF, whole or not at all."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        result.to_netcdf(temporary)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
