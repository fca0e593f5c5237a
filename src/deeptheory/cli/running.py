"""Commands that run claims. Work is done by workers; progress goes to standard error."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from deeptheory import books
from deeptheory.cli.app import JOBS, Jobs, Json, One, Refused, Seed, Set, StorePath, What, app, emit, within
from deeptheory.lab.catalogue import Entry, catalogue
from deeptheory.lab.ledger import ledger, statuses
from deeptheory.lab.store import Store
from deeptheory.what import entries


@app.command()
def tour(
    out: Annotated[Path, typer.Option(help="the folder of pages to write")] = Path("deeptheory-tour"),
    jobs: Jobs = JOBS,
    store: StorePath = None,
) -> None:
    """The flagship claims, three minutes, a page to look at."""
    from deeptheory.claims import TOUR

    within("--jobs", jobs, 1, 256)
    done, failed = _run([catalogue().claims[name] for name in TOUR], jobs=jobs, store=store)
    _tell(done, failed)
    print(f"\nThe pages: {_write_report(out, [run for _, run in done])}")
    raise typer.Exit(_status(done, failed))


@app.command()
def check(
    what: What = None,
    full: Annotated[bool, typer.Option("--full", help="at full size")] = False,
    seed: Seed = 0,
    jobs: Jobs = JOBS,
    settings: Set = None,
    control: Annotated[str | None, typer.Option(help="run this control in the claim's place")] = None,
    record: Annotated[bool, typer.Option("--record", help="write the verdicts into the ledger")] = False,
    again: Annotated[bool, typer.Option("--again", help="run anew what the store already holds")] = False,
    store: StorePath = None,
    json: Json = False,
) -> None:
    """Run claims with their controls, and judge them."""
    within("--seed", seed, 0, 2**31 - 1)
    within("--jobs", jobs, 1, 256)
    chosen = entries(what or ["all"])
    given = _settings(settings or [], chosen)
    if record and (given or full or control):
        raise Refused("--record takes the claims as they are: without --set, --full or --control")
    if control is not None:
        _control_of(chosen, control)
    done, failed = _run(
        chosen,
        seeds=(seed,),
        full=full,
        settings=given,
        jobs=jobs,
        store=store,
        control=control,
        again=again,
        quiet=json,
    )
    if record:
        from deeptheory.lab.ledger import record as write

        write([run for _, run in done], set(catalogue().claims))
    if json:
        emit([run.json() for _, run in done])
        _tell_failed(failed)
    else:
        _tell(done, failed)
    raise typer.Exit(_status(done, failed, expected="refuted" if control else "holds"))


@app.command()
def sweep(
    claim: One,
    over: Annotated[list[str], typer.Option(help="a grid, name=64:4096:log2 or name=1,2,5; may be given again")],
    seeds: Annotated[int, typer.Option(help="how many seeds at each point")] = 1,
    out: Annotated[Path | None, typer.Option(help="write the result as netCDF")] = None,
    jobs: Jobs = JOBS,
    store: StorePath = None,
    json: Json = False,
) -> None:
    """Run a claim over a grid of settings and seeds."""
    from deeptheory.cli.grids import axis

    within("--seeds", seeds, 1, 10_000)
    within("--jobs", jobs, 1, 256)
    entry = _one(claim)
    axes = dict(axis(text, entry.parameters) for text in over)
    if out is not None and not (out.parent.is_dir() and os.access(out.parent, os.W_OK)):
        raise Refused(f"{out} cannot be written: there is no writable folder {out.parent}")
    result = _sweep(entry, axes, seeds, jobs, store, quiet=json)
    if out is not None:
        result.to_netcdf(out)
    if json:
        return emit(result.to_dict())
    print(result)


@app.command()
def falsify(
    claim: One,
    budget: Annotated[float, typer.Option(help="seconds to search each statement")] = 10.0,
    seed: Seed = 0,
    record: Annotated[bool, typer.Option("--record", help="keep found counterexamples in the ledger")] = False,
    json: Json = False,
) -> None:
    """Search for a violation of a claim and of its rivals, shrink it, verify it exactly."""
    from deeptheory.cli.falsifying import falsified, keep

    within("--budget", budget, 0.1, 86_400)
    within("--seed", seed, 0, 2**31 - 1)
    entry = _one(claim)
    if not entry.searchable:
        raise Refused(f"{entry.name} declares no instance space, so there is nothing to search")
    found = falsified(entry, budget=budget, seed=seed)
    if record:
        keep(found)
    if json:
        emit(found.record())
    else:
        print(f"{entry.name}: {found.claim.summary()}")
        for each in found.controls:
            print(f"  control “{each.control}”: {each.summary()}")
    raise typer.Exit(0 if found.as_expected else 1)


@app.command()
def calibrate(
    what: What = None,
    seeds: Annotated[int, typer.Option(help="how many seeds")] = 20,
    full: Annotated[bool, typer.Option("--full", help="at full size")] = False,
    jobs: Jobs = JOBS,
    store: StorePath = None,
    json: Json = False,
) -> None:
    """For authors: how often each claim holds and each control is refuted, and where the seconds go."""
    from deeptheory.cli.calibration import calibrated

    within("--seeds", seeds, 1, 10_000)
    within("--jobs", jobs, 1, 256)
    done, failed = _run(
        entries(what or ["all"]), seeds=tuple(range(seeds)), full=full, jobs=jobs, store=store, quiet=json
    )
    summary = calibrated(done)
    if json:
        emit(summary)
    else:
        from deeptheory.cli.display import show_calibration

        show_calibration(summary)
    _tell_failed(failed)
    raise typer.Exit(_status(done, failed))


@app.command()
def report(
    path: Annotated[Path, typer.Argument(help="the folder to write")] = Path("deeptheory-report"),
    store: StorePath = None,
) -> None:
    """Write a self-contained folder of pages from the runs in the store."""
    with Store(store) as opened:
        latest = opened.latest(list(catalogue().claims))
    if not latest:
        raise Refused("the store holds no runs yet; `deeptheory check` makes some")
    print(_write_report(path, list(latest.values())))


# What they share -----------------------------------------------------------------------------------------------------


def _one(name: str) -> Entry:
    found = entries([name])
    if len(found) != 1:
        raise Refused(f"{name} names {len(found)} claims ({', '.join(e.name for e in found[:4])} …); name one")
    return found[0]


def _settings(texts: Sequence[str], chosen: Sequence[Entry]) -> dict[str, Any]:
    """Read --set, against every chosen claim that has the parameter."""
    given = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign or not name:
            raise Refused(f"--set takes name=value, not {text!r}")
        owners = [entry for entry in chosen if name in entry.parameters]
        if not owners:
            from deeptheory.lab.parameters import settings as resolve

            resolve(chosen[0].parameters, {name: value})  # raises the sentence with the nearest names
        for entry in owners:
            given[name] = entry.parameters[name].parse(value)
    return given


def _control_of(chosen: Sequence[Entry], name: str) -> None:
    """See that the control exists, before anything is run."""
    if len(chosen) != 1:
        raise Refused("--control needs exactly one claim")
    names = [str(control["name"]) for control in chosen[0].controls]
    if sum(each.lower().startswith(name.lower()) for each in names) != 1:
        raise Refused(f"{chosen[0].name} has no control {name!r}; it has: {'; '.join(names)}")


def _run(
    chosen: Sequence[Entry], *, seeds: Sequence[int] = (0,), full: bool = False, settings: dict[str, Any] | None = None,
    jobs: int, store: Path | None, control: str | None = None, again: bool = False, quiet: bool = False,
) -> tuple[list[tuple[Entry, Any]], list[tuple[Entry, Exception]]]:  # fmt: skip
    """Run claims on workers with a progress display; returns runs and failures in the order asked for."""
    from deeptheory.cli.display import progress
    from deeptheory.lab.checking import checked, tasks, workers

    given = settings or {}
    todo = [
        task
        for entry in chosen
        for task in tasks(
            [entry], seeds=seeds, full=full, control=control,
            settings={name: value for name, value in given.items() if name in entry.parameters},
        )
    ]  # fmt: skip
    cost = ledger().claims
    todo.sort(key=lambda task: -(cost[task.entry.name].seconds if task.entry.name in cost else 5.0))
    done: list[tuple[Entry, Any]] = []
    failed: list[tuple[Entry, Exception]] = []
    with (
        Store(store) as opened,
        workers(min(jobs, len(todo))) as pool,
        progress(len(todo), "checking", quiet=quiet) as tell,
    ):
        for task, outcome, stored in checked(todo, pool, store=opened, again=again):
            if isinstance(outcome, Exception):
                failed.append((task.entry, outcome))
                tell(f"{task.entry.name} failed")
            else:
                done.append((task.entry, outcome))
                how = " (stored)" if stored else f", {outcome.seconds:.1f} s"
                tell(f"{task.entry.name}: {outcome.verdict}{how}")
    order = {entry.name: index for index, entry in enumerate(chosen)}
    done.sort(key=lambda pair: (order[pair[0].name], pair[1].seed))
    return done, failed


def _sweep(entry: Entry, axes: dict[str, Any], seeds: int, jobs: int, store: Path | None, *, quiet: bool) -> Any:
    from deeptheory.cli.display import progress
    from deeptheory.lab.checking import checked, tasks, workers
    from deeptheory.lab.sweep import gathered, grid

    todo = [task for point in grid(axes) for task in tasks([entry], seeds=range(seeds), settings=point)]
    found: dict[str, Any] = {}
    with (
        Store(store) as opened,
        workers(min(jobs, len(todo))) as pool,
        progress(len(todo), "sweeping", quiet=quiet) as tell,
    ):
        for task, outcome, _ in checked(todo, pool, store=opened):
            if isinstance(outcome, Exception):
                raise outcome
            found[task.key] = outcome
            tell(f"{task.settings}: {outcome.verdict}")
    return gathered(axes, seeds, [found[task.key] for task in todo])


def _tell(done: list[tuple[Entry, Any]], failed: list[tuple[Entry, Exception]]) -> None:
    from deeptheory.cli.display import console, runs_table

    out = console()
    out.print(runs_table(done))
    for entry, run in done:
        if not run.as_expected:
            out.print(f"\n{entry.name} is {run.verdict}: {run.reason}")
    held = sum(run.as_expected for _, run in done)
    out.print(f"\n{held} of {len(done) + len(failed)} hold")
    _tell_failed(failed)


def _tell_failed(failed: list[tuple[Entry, Exception]]) -> None:
    for entry, problem in failed:
        print(f"{entry.name} failed to run: {type(problem).__name__}: {problem}", file=sys.stderr)
        if os.environ.get("DEEPTHEORY_DEBUG"):
            print("\n".join(getattr(problem, "__notes__", [])), file=sys.stderr)


def _status(done: list[tuple[Entry, Any]], failed: list[Any], expected: str = "holds") -> int:
    return 0 if not failed and all(run.verdict == expected for _, run in done) else 1


def _write_report(path: Path, found: list[Any]) -> Path:
    from deeptheory.report.pages import write

    book = ledger()
    status = statuses(books.items(), catalogue(), book)
    try:
        return write(
            path,
            found,
            catalogue=catalogue(),
            books=books,
            statuses=status,
            counterexamples=book.counterexamples,
        )
    except (ValueError, OSError) as problem:
        raise Refused(f"the pages cannot be written: {problem}") from None
