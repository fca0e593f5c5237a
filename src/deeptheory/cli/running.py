"""Commands that run claims. Work is done by workers; progress goes to standard error."""

import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deeptheory import books
from deeptheory.characters import visible
from deeptheory.cli.app import (
    AUTHORS,
    JOBS,
    PATH,
    Jobs,
    Json,
    One,
    Refused,
    Seed,
    Set,
    StorePath,
    What,
    app,
    asked,
    complete_control,
    emit,
    stored,
    within,
    writable,
)
from deeptheory.lab import records as ledgers
from deeptheory.lab.entries import Entry, catalogue
from deeptheory.lab.parameters import control_named, plainly, settings, written
from deeptheory.lab.records import ledger, statuses
from deeptheory.lab.store import Store, stale
from deeptheory.names import entries, only

if TYPE_CHECKING:
    from deeptheory.lab.checking import Task
    from deeptheory.lab.outcome import Run

Done = list[tuple[Entry, "Run"]]
Failed = list[tuple["Task", Exception]]
Explore = Annotated[float, typer.Option(help="seconds for the sliders of the pages; what is made is kept")]


@app.command()
def tour(
    out: Annotated[Path, typer.Option(help="the folder of pages to write", **PATH)] = Path("deeptheory-tour"),
    jobs: Jobs = JOBS,
    explore: Explore = 90,
    store: StorePath = None,
) -> None:
    """The flagship claims, three minutes, a page to look at."""
    from deeptheory.claims import TOUR

    within("--jobs", jobs, 1, 256)
    within("--explore", explore, 0, 86_400)
    _fit(out)
    done, failed = _run([catalogue().claims[name] for name in TOUR], jobs=jobs, store=store)
    _tell(done, failed, page=False)  # they are written now, and named below
    runs = [run for _, run in done]
    index, laments = _write_report(out, runs, _explored(runs, explore, jobs, store))
    print(f"\nThe pages: {index}")
    raise typer.Exit(status(done, failed) or (1 if laments else 0))


@app.command()
def check(
    what: What = None,
    full: Annotated[bool, typer.Option("--full", help="at full size")] = False,
    seed: Seed = 0,
    jobs: Jobs = JOBS,
    given: Set = None,
    control: Annotated[
        str | None, typer.Option(help="run this control in the claim's place", autocompletion=complete_control)
    ] = None,
    record: Annotated[bool, typer.Option("--record", help="write the verdicts into the ledger")] = False,
    again: Annotated[bool, typer.Option("--again", help="run anew what the store already holds")] = False,
    store: StorePath = None,
    json: Json = False,
) -> None:
    """Run claims with their controls, and judge them."""
    within("--jobs", jobs, 1, 256)
    chosen = entries(what or asked())
    read = _settings(given or [], chosen)
    if record:
        if read or full or control:
            raise Refused("--record takes the claims as they are: without --set, --full or --control")
        writable(ledgers.FOLDER / "kept")
    if control is not None:
        if len(chosen) != 1:
            raise Refused("--control needs exactly one claim")
        control = control_named(chosen[0].name, control, [str(each["name"]) for each in chosen[0].controls])
    done, failed = _run(
        chosen, seeds=(seed,), full=full, given=read, jobs=jobs, store=store, control=control, again=again
    )
    if record:
        print(ledgers.record([run for _, run in done], catalogue()), file=sys.stderr)
    if json:
        emit([run.json() for _, run in done] + [_failure(task, problem) for task, problem in failed])
        tell_failed(failed)
    else:
        _tell(done, failed)
    raise typer.Exit(status(done, failed))


@app.command()
def falsify(
    claim: One,
    budget: Annotated[float, typer.Option(help="seconds to search each statement")] = 10.0,
    seed: Seed = 0,
    record: Annotated[bool, typer.Option("--record", help="keep found counterexamples in the ledger")] = False,
    json: Json = False,
) -> None:
    """Search for a violation of a claim and of its rivals, shrink it, verify it exactly."""
    from deeptheory.cli.display import progress

    within("--budget", budget, 0.1, 86_400)
    chosen = only(claim)
    if not chosen.searchable:
        raise Refused(f"{chosen.name} declares no instance space, so there is nothing to search")
    if record:
        writable(ledgers.FOLDER / "kept")
    from deeptheory.cli.falsifying import falsified, keep

    with progress(len(chosen.controls) + 1, "searching") as tell:
        found = falsified(chosen, budget=budget, seed=seed, tell=tell)
    if record and not found.failed:  # what an earlier search found would go with the record of a failed one
        keep(found)
    if json:
        emit(found.record())
    else:
        if found.claim:
            print(visible(f"{chosen.name}: {found.claim.summary()}"))
        for each in found.controls:
            print(visible(f"  control “{each.control}”: {each.summary()}"))
    for told, problem in zip(found.failures(), found.failed.values(), strict=True):
        _lament(told, problem)
    raise typer.Exit(0 if found.as_expected else 1)


@app.command(rich_help_panel=AUTHORS)
def calibrate(
    what: What = None,
    seeds: Annotated[int, typer.Option(help="how many seeds")] = 20,
    full: Annotated[bool, typer.Option("--full", help="at full size")] = False,
    jobs: Jobs = JOBS,
    store: StorePath = None,
    json: Json = False,
) -> None:
    """How often each claim holds and each control is refuted, and where the seconds go."""
    from deeptheory.cli.calibration import calibrated

    within("--seeds", seeds, 1, 10_000)
    within("--jobs", jobs, 1, 256)
    done, failed = _run(entries(what or asked()), seeds=tuple(range(seeds)), full=full, jobs=jobs, store=store)
    summary = calibrated(done, [_failure(task, problem) for task, problem in failed])
    if json:
        emit(summary)
    else:
        from deeptheory.cli.screens import show_calibration

        show_calibration(summary)
    tell_failed(failed)
    raise typer.Exit(status(done, failed))


@app.command()
def report(
    path: Annotated[Path, typer.Argument(help="the folder to write", **PATH)] = Path("deeptheory-report"),
    jobs: Jobs = JOBS,
    explore: Explore = 90,
    store: StorePath = None,
) -> None:
    """Write a self-contained folder of pages from the runs in the store."""
    within("--jobs", jobs, 1, 256)
    within("--explore", explore, 0, 86_400)
    _fit(path)
    claims = catalogue().claims
    with stored(store) as opened:
        latest = opened.latest(claims) if opened else {}
    if not latest:
        raise Refused("the store holds no runs yet; `deeptheory check` makes some")
    older = sum(stale(run, claims[name]) for name, run in latest.items())
    if older:
        print(
            f"{older} of {len(latest)} runs are older than their claim; `deeptheory check` renews them", file=sys.stderr
        )
    runs = list(latest.values())
    index, laments = _write_report(path, runs, _explored(runs, explore, jobs, store))
    print(index)
    raise typer.Exit(1 if laments else 0)


# What they share -----------------------------------------------------------------------------------------------------


def _settings(texts: Sequence[str], chosen: Sequence[Entry]) -> dict[str, Any]:
    """Read --set, against every chosen claim that has the parameter."""
    given = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign or not name:
            raise Refused(f"--set takes name=value, not {text!r}")
        if name in given:
            raise Refused(f"--set names {name} twice")
        owners = [entry for entry in chosen if name in entry.parameters]
        if not owners:
            settings(chosen[0].parameters, {name: value})  # raises the sentence with the nearest names
        for entry in owners:
            given[name] = entry.parameters[name].parse(value)
    return given


def _run(
    chosen: Sequence[Entry], *, seeds: Sequence[int] = (0,), full: bool = False, given: dict[str, Any] | None = None,
    jobs: int, store: Path | None, control: str | None = None, again: bool = False,
) -> tuple[Done, Failed]:  # fmt: skip
    """Run claims on workers with a progress display; returns runs and failures in the order asked for."""
    from deeptheory.cli.display import progress
    from deeptheory.lab.checking import checked, few_enough, tasks, workers

    few_enough(len(chosen) * len(seeds))
    todo = [
        task
        for each in chosen
        for task in tasks(
            [each], seeds=seeds, full=full, control=control,
            settings={name: value for name, value in (given or {}).items() if name in each.parameters},
        )
    ]  # fmt: skip
    done: Done = []
    failed: Failed = []
    with (
        Store(store) as opened,
        workers(min(jobs, len(todo))) as pool,
        progress(len(todo), "checking") as tell,
    ):
        for task, outcome, stored in checked(todo, pool, store=opened, again=again):
            if isinstance(outcome, Exception):
                failed.append((task, outcome))
                tell(f"{task.entry.name} failed")
            else:
                done.append((task.entry, outcome))
                how = " (stored)" if stored else f", {outcome.seconds:.1f} s"
                tell(f"{task.entry.name}: {outcome.verdict}{how}")
    order = {each.name: index for index, each in enumerate(chosen)}
    done.sort(key=lambda pair: (order[pair[0].name], pair[1].seed))
    return done, failed


def _explored(runs: list[Any], seconds: float, jobs: int, store: Path | None) -> dict[str, Any]:
    """Move the parameters of these claims as far as the budget goes, for the sliders of their pages."""
    from deeptheory.cli.display import progress
    from deeptheory.lab.checking import checked, workers
    from deeptheory.lab.evidence.saying import counted
    from deeptheory.lab.exploring import gathered, wanted

    claims, end = catalogue().claims, time.monotonic() + seconds
    with Store(store) as opened:
        found, todo = wanted(runs, claims, opened)
        if todo and seconds:
            with workers(min(jobs, len(todo))) as pool, progress(len(todo), "exploring") as tell:
                for task, outcome, _ in checked(todo, pool, store=opened):
                    if not isinstance(outcome, Exception):  # a slider that is not whole is not shown
                        found[task.key] = outcome
                    tell(f"{task.entry.name}: {written(task.settings)}")
                    if time.monotonic() > end:
                        pool.shutdown(wait=False, cancel_futures=True)  # the store keeps what is done, for next time
                        break
        unmoved = {task.entry.name for task in todo if task.key not in found}
        if seconds and unmoved and time.monotonic() > end:
            still = f"{counted(len(unmoved), 'page')} without all sliders: {plainly(seconds)} s were too few"
            print(f"{still}; `deeptheory report --explore SECONDS` goes on from here", file=sys.stderr)
    return gathered(runs, claims, found)


def _tell(done: Done, failed: Failed, *, page: bool = True) -> None:
    from deeptheory.cli.outcomes import show_outcomes

    show_outcomes(done, page=page)
    claims = [run for _, run in done if run.control is None]
    if len(claims) + len(failed) > 1:
        print(f"{sum(run.as_expected for run in claims)} of {len(claims) + len(failed)} hold")
    tell_failed(failed)


def tell_failed(failed: Failed) -> None:
    """Say what failed, once where it is the same of every seed."""
    told: dict[str, list[Exception]] = {}
    for task, problem in failed:
        told.setdefault(sentence(task, problem), []).append(problem)
    for said, problems in told.items():
        _lament(said + (f" ({len(problems)} times)" if len(problems) > 1 else ""), problems[0])
    if any(not task.settings for task, _ in failed) and not os.environ.get("DEEPTHEORY_DEBUG"):
        print("DEEPTHEORY_DEBUG=1 before the command shows where", file=sys.stderr)


def _lament(told: str, problem: Exception) -> None:
    """Say what failed, and with DEEPTHEORY_DEBUG where in a worker."""
    print(visible(told), file=sys.stderr)
    if os.environ.get("DEEPTHEORY_DEBUG"):
        print(visible("\n".join(getattr(problem, "__notes__", []))), file=sys.stderr)


def sentence(task: "Task", problem: Exception) -> str:
    """What a failed run has to say; a claim that refuses its settings has said it all."""
    if task.settings and isinstance(problem, ValueError):
        return str(problem)
    given = f" with {written(task.settings)}" if task.settings else ""
    return f"{task.entry.name} failed to run{given}: {': '.join(filter(None, [type(problem).__name__, str(problem)]))}"


def _failure(task: "Task", problem: Exception) -> dict[str, Any]:
    """A run that came to nothing, in the shape of `Run.json`."""
    from deeptheory.lab.platform import described as platform

    return {
        "claim": task.entry.name, "control": task.control, "items": {item: "inconclusive" for item in task.entry.items},
        "verdict": "inconclusive", "reason": sentence(task, problem), "strength": "", "resolution": None,
        "seconds": 0.0, "seed": task.seed, "parameters": task.parameters, "controls": [], "evidence": {},
        "source": task.entry.source, "platform": platform(), "timing": {},
    }  # fmt: skip


def status(done: Done, failed: Failed) -> int:
    """Settings that a claim does not run with are bad input."""
    if any(task.settings for task, _ in failed):
        return 2
    return 0 if not failed and all(run.as_expected for _, run in done) else 1


def _fit(path: Path) -> None:
    """Refuse a folder that could not be written, before claims or sliders are run for it."""
    from deeptheory.report.folder import refuse_unfit

    try:
        refuse_unfit(path)
    except ValueError as problem:
        raise Refused(f"the pages cannot be written: {problem}") from None


def _write_report(path: Path, found: list[Any], explored: dict[str, Any]) -> tuple[Path, list[str]]:
    """Write the pages; where they begin, and what could not be shown."""
    from deeptheory.cli.display import progress
    from deeptheory.report.assembly import write

    book = ledger()
    status = statuses(books.items(), catalogue(), book)
    laments: list[str] = []
    try:
        with progress(len(found), "writing") as tell:
            index = write(
                path,
                found,
                catalogue=catalogue(),
                books=books,
                statuses=status,
                counterexamples=book.counterexamples,
                explored=explored,
                tell=lambda name: tell(name) if name.startswith("claims/") else None,
                lament=laments.append,
            )
    except (ValueError, OSError) as problem:
        raise Refused(f"the pages cannot be written: {problem}") from None
    for sentence in laments:
        print(visible(sentence), file=sys.stderr)
    return index, laments
