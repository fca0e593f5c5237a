"""The Python face: check claims by any of their names, as the command line does."""

import functools
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from deeptheory.lab.entries import load
from deeptheory.lab.workers import JOBS, Workers
from deeptheory.names import entries, only

if TYPE_CHECKING:
    from deeptheory.lab._claim import Claim
    from deeptheory.lab.outcome import Run

__all__ = ["Runs", "check", "claim"]


class Runs(list):
    """Several runs, shown as a table."""

    def __repr__(self) -> str:
        return "\n".join(map(repr, self))

    def _repr_html_(self) -> str:
        from deeptheory.report.notebook import runs_html

        return runs_html(self)


@functools.cache
def _pool(jobs: int, process: int) -> Workers:
    """The workers of a process: one that was forked off needs its own."""
    from deeptheory.lab.checking import workers

    return workers(jobs)


def check(*what: str, seed: int = 0, full: bool = False, jobs: int = 1, **settings: Any) -> "Run | Runs":
    """Check claims by name, item ("J7.4", "arora thm 11.1.1"), book or subject.

    One claim gives a `Run`, several give `Runs`. Settings are given to every claim that has them. The work is done in
    worker processes with one thread each, as on the command line, so the same seed gives the same bits.
    """
    from deeptheory.lab.checking import checked, tasks

    if not what:
        raise ValueError('name what to check: a claim, an item, a book or a subject; "all" is every claim')
    chosen = entries(what)
    todo = [
        task
        for each in chosen
        for task in tasks([each], seeds=(seed,), full=full, settings=_own(each, settings, chosen))
    ]
    found = {}
    for task, outcome, _ in checked(todo, _pool(min(JOBS.check(jobs), len(todo)), os.getpid())):
        if isinstance(outcome, Exception):
            raise outcome
        found[task.entry.name] = outcome
    runs = Runs(found[each.name] for each in chosen)
    return runs[0] if len(runs) == 1 else runs


def _own(one: Any, settings: dict[str, Any], chosen: Sequence[Any]) -> dict[str, Any]:
    """The settings this claim has; one that no chosen claim has is passed on, to be refused with its nearest names."""
    return {
        name: value
        for name, value in settings.items()
        if name in one.parameters or not any(name in other.parameters for other in chosen)
    }


def claim(name: str) -> "Claim":
    """The claim with this name, to call, sweep or falsify in this process."""
    return load(only(name).name)
