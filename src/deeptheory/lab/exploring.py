"""Moving the parameters of claims: runs at the values worth seeing, without controls."""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from deeptheory.lab.checking import Task

if TYPE_CHECKING:
    from deeptheory.lab.entries import Entry
    from deeptheory.lab.outcome import Run
    from deeptheory.lab.store import Store

__all__ = ["Explored", "gathered", "stops", "wanted"]

Explored = dict[str, list[tuple[Any, "Run"]]]
"""By parameter, the values it was moved to with the run at each."""


def stops(entry: "Entry", run: "Run") -> Iterator[tuple[str, Any, Task | None]]:
    """The values at which a claim is looked at, in order, with what is to be run; nothing where the run itself is."""
    for name, values in entry.explore.items():
        own = entry.parameters[name].check(run.parameters[name])
        listed = [entry.parameters[name].check(value) for value in values]
        for value in listed if own in listed else [own, *listed]:
            task = Task(entry, run.seed, run.full, {name: value}, alone=True)
            yield name, value, None if value == own else task


def wanted(runs: Iterable["Run"], claims: Mapping[str, "Entry"], store: "Store") -> tuple[dict[str, "Run"], list[Task]]:
    """The runs of the sliders: those that are stored, by key, and what is to be made, cheapest claims first.

    A claim's slider is whole or not there, so whoever has little time makes them one after the other.
    """
    stored: dict[str, Run] = {}
    missing: list[Task] = []
    for run in sorted(runs, key=lambda run: (run.seconds, run.claim)):
        entry = claims.get(run.claim)
        if entry is None or run.source not in ("", entry.source):
            continue
        for _, _, task in stops(entry, run):
            if task is not None and (known := store.find(task.key)) is not None:
                stored[task.key] = known
            elif task is not None:
                missing.append(task)
    return stored, missing


def gathered(runs: Iterable["Run"], claims: Mapping[str, "Entry"], found: Mapping[str, "Run"]) -> dict[str, Explored]:
    """What was found (runs by key of their task), by claim; sliders that are not whole are left out."""
    explored: dict[str, Explored] = {}
    for run in runs:
        if (entry := claims.get(run.claim)) is None:
            continue
        sliders: Explored = {}
        for name, value, task in stops(entry, run):
            sliders.setdefault(name, []).append((value, run if task is None else found.get(task.key)))  # type: ignore
        whole = {name: each for name, each in sliders.items() if all(seen is not None for _, seen in each)}
        if whole:
            explored[run.claim] = whole
    return explored
