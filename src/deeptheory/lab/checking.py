"""Checking many claims: spread over workers, recorded one by one as they finish, resumed where they were."""

import functools
import statistics
import sys
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field, replace
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from deeptheory.lab.entries import Entry, load
from deeptheory.lab.parameters import SEED, Settings, control_named, settings as resolve
from deeptheory.lab.platform import described as platform
from deeptheory.lab.store import Store, home, run_key
from deeptheory.lab.workers import Workers

if TYPE_CHECKING:
    from deeptheory.lab.outcome import Run

__all__ = ["Task", "checked", "few_enough", "perform", "tasks", "workers"]

MOST = 100_000
"""Runs that one command or call starts."""

LOOK = 0.5
"""Seconds between one look and the next at what another process is running."""


@dataclass(frozen=True)
class Task:
    """One run to be made: which claim, with what settings, at which seed; in place of the claim, maybe a control.

    `alone` is without its controls: to see the claim move, not to judge it.
    """

    entry: Entry
    seed: int = 0
    full: bool = False
    settings: dict[str, Any] = field(default_factory=dict)
    control: str | None = None
    alone: bool = False
    parameters: Settings = field(init=False, repr=False)
    """All settings of the run, checked here and nowhere again: they travel to the worker."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", resolve(self.entry.parameters, self.settings, full=self.full))

    @functools.cached_property
    def key(self) -> str:
        """What the run depends on; a control is another statement."""
        name = self.entry.name if self.control is None else f"{self.entry.name}/{self.control}"
        name += " alone" if self.alone else ""
        return run_key(name, self.parameters, self.seed, self.entry.source, platform())


def few_enough(runs: int) -> None:
    """Refuse, before anything is laid out, more runs than could ever be finished."""
    if runs > MOST:
        raise ValueError(f"this asks for {runs:,} runs; at most {MOST:,} are started at once")


def tasks(
    entries: Sequence[Entry], *, seeds: Sequence[int] = (0,), full: bool = False,
    settings: Mapping[str, Any] | None = None, control: str | None = None,
) -> list[Task]:  # fmt: skip
    """The runs for these claims at these seeds; settings are checked here, at the door."""
    given = dict(settings or {})
    seeds = [SEED.check(seed) for seed in seeds]
    found = []
    for entry in entries:
        if control is not None:
            control = control_named(entry.name, control, [str(each["name"]) for each in entry.controls])
        found += [Task(entry, seed, full, given, control) for seed in seeds]
    return found


def perform(task: Task) -> "Run":
    """Do one task; this is what runs in a worker."""
    start = time.perf_counter()
    from deeptheory.lab.run import execute

    claim = load(task.entry.name)
    imported = time.perf_counter() - start
    run = execute(
        claim,
        seed=task.seed,
        full=task.full,
        settings=task.parameters,
        control=task.control,
        alone=task.alone,
        source=task.entry.source,
    )
    return replace(run, timing={"import": round(imported, 3), **run.timing})


def workers(jobs: int) -> Workers:
    """Workers that share compiled programs on disk."""
    return Workers(jobs, cache=home() / "compiled")


def longest_first(todo: Sequence[Task], seconds: Mapping[str, float]) -> list[Task]:
    """Tasks by how long their claims took last time, so that no long one is left for the end; a new one is typical."""
    typical = statistics.median(seconds.values()) if seconds else 0.0
    return sorted(todo, key=lambda task: -seconds.get(task.entry.name, typical))


def checked(
    todo: Sequence[Task],
    executor: Executor,
    *,
    store: Store | None = None,
    again: bool = False,
) -> Iterator[tuple[Task, "Run | Exception", bool]]:
    """Yield each task with its run as it finishes, and whether it came from the store.

    Where there is a store to tell, those that took longest begin. A run is recorded before it is yielded, so an
    interrupt loses only what was under way; what the store already holds under the same key is not run again, unless
    `again`, and what another process is running is waited for. A claim that fails to run yields its exception.
    """
    ahead = executor.jobs + 1 if isinstance(executor, Workers) else 4
    pending, waiting = deque(todo if store is None else longest_first(todo, store.seconds())), dict[Future, Task]()
    # Not concurrent.futures.wait: an interrupt while it locks the futures leaves them locked, and their workers hang.
    finished: SimpleQueue[Future] = SimpleQueue()
    shared = None if again else store
    told = False
    try:
        while pending or waiting:
            elsewhere = []
            while pending and len(waiting) < ahead:
                task = pending.popleft()
                if shared is not None and not shared.leases.take(task.key):
                    elsewhere.append(task)
                elif shared is not None and (known := shared.find(task.key)) is not None:
                    shared.leases.release(task.key)
                    yield task, known, True
                else:
                    future = executor.submit(perform, task)
                    waiting[future] = task
                    future.add_done_callback(finished.put)
            if not waiting and not elsewhere:
                break
            if not waiting and not told:
                print(f"another process is running {elsewhere[0].entry.name}; waiting for it", file=sys.stderr)
                told = True
            pending.extend(elsewhere)
            try:
                future = finished.get(timeout=LOOK if elsewhere else None)
            except Empty:
                continue
            task = waiting.pop(future)
            problem = future.exception()
            if problem is not None and not isinstance(problem, Exception):
                raise problem
            if problem is None and store is not None:
                store.add(future.result(), task.key)
            if shared is not None:
                shared.leases.release(task.key)
            yield task, problem or future.result(), False
    finally:
        if shared is not None:
            shared.leases.close()
