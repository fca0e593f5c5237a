"""Checking many claims: an interrupt at any moment leaves nothing locked, nothing is run twice, none stops the rest."""

import dataclasses
import itertools
import pickle
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from deeptheory.lab import Identity, Law, checking
from deeptheory.lab.checking import Task, checked, longest_first
from deeptheory.lab.entries import catalogue
from deeptheory.lab.evidence import encode
from deeptheory.lab.leases import Leases
from deeptheory.lab.outcome import Run
from deeptheory.lab.parameters import settings
from deeptheory.lab.store import Store
from deeptheory.lab.workers import Workers

RUN = Run(
    claim="example", items={}, verdict="holds", reason="", strength="", resolution=None, controls=[], seconds=0.1,
    seed=0, parameters={}, judgements={}, described={}, blob=b"", source="today",
)  # fmt: skip


def interrupt_at(line: int):
    """A trace function that interrupts at the given line of Python executed from now on."""
    lines = itertools.count(1)

    def trace(frame, event, argument):
        if event == "line" and next(lines) == line:
            raise KeyboardInterrupt
        return trace

    return trace


@pytest.fixture
def todo(monkeypatch):
    monkeypatch.setattr(checking, "perform", lambda task: time.sleep(0.01))
    entry = catalogue().claims["dropout_is_a_penalty"]
    return [Task(entry, seed) for seed in range(3)]


def test_settings_are_resolved_once_and_travel_with_the_task():
    entry = catalogue().claims["dropout_is_a_penalty"]
    task = pickle.loads(pickle.dumps(Task(entry)))
    assert settings(entry.parameters, task.parameters) is task.parameters
    with pytest.raises(ValueError, match="there is no parameter colour"):
        Task(entry, settings={"colour": 1})


def test_what_took_longest_begins(tmp_path):
    names = ("dropout_is_a_penalty", "edge_of_stability", "double_descent", "semicircle_law")
    todo = [Task(catalogue().claims[name]) for name in names]
    with Store(tmp_path / "runs.sqlite") as store:
        assert longest_first(todo, store.seconds()) == todo
        for key, (name, spent) in enumerate([(names[1], 9.0), (names[0], 1.0), (names[1], 4.0), (names[2], 2.0)]):
            store.add(dataclasses.replace(RUN, claim=name, seconds=spent), str(key))
        assert store.seconds() == {names[0]: 1.0, names[1]: 4.0, names[2]: 2.0}
        order = [task.entry.name for task in longest_first(todo, store.seconds())]
    assert order == [names[1], names[2], names[3], names[0]]


def test_an_interrupt_at_any_line_leaves_no_worker_hanging(todo):
    """Every line between the first result and the last is interrupted once."""
    for line in itertools.count(1):
        pool = ThreadPoolExecutor(1, thread_name_prefix="checking")
        results = checked(todo, pool)
        next(results)
        sys.settrace(interrupt_at(line))
        try:
            list(results)
            interrupted = False
        except KeyboardInterrupt:
            interrupted = True
        finally:
            sys.settrace(None)
            pool.shutdown(wait=False, cancel_futures=True)
        for thread in threading.enumerate():
            if thread.name.startswith("checking"):
                thread.join(timeout=10)
                assert not thread.is_alive(), f"interrupted at line {line}"
        if not interrupted:
            break
    assert line > 10


def test_leaving_by_an_interrupt_waits_for_nothing():
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt), Workers(1) as pool:
        pool.submit(int, 1).result()
        waiting = [pool.submit(time.sleep, 60) for _ in range(3)]
        raise KeyboardInterrupt
    assert time.monotonic() - start < 30
    assert waiting[-1].cancelled()


@pytest.fixture
def counted(monkeypatch):
    """Runs that take a moment and are counted; the one at seed 1 fails."""
    started = []

    def perform(task):
        started.append(task.seed)
        time.sleep(0.2)
        if task.seed == 1:
            raise ZeroDivisionError("by hand")
        return dataclasses.replace(RUN, claim=task.entry.name, seed=task.seed)

    monkeypatch.setattr(checking, "perform", perform)
    monkeypatch.setattr(checking, "LOOK", 0.01)
    return started


def test_two_that_check_the_same_share_the_work(counted, tmp_path, capsys):
    entry = catalogue().claims["dropout_is_a_penalty"]
    todo = [Task(entry, seed) for seed in (0, 2, 3, 4, 5, 6)]

    def check(_):
        with Store(tmp_path / "runs.sqlite") as store, ThreadPoolExecutor(2) as pool:
            return {task.seed: run for task, run, _ in checked(todo, pool, store=store)}

    with ThreadPoolExecutor(2) as both:
        one, two = both.map(check, range(2))
    assert sorted(counted) == [0, 2, 3, 4, 5, 6]
    assert one == two
    assert not list(tmp_path.glob("*.leases"))


def test_what_is_asked_for_twice_is_run_once_and_a_failure_stops_nothing(counted, tmp_path):
    entry = catalogue().claims["dropout_is_a_penalty"]
    with Store(tmp_path / "runs.sqlite") as store, ThreadPoolExecutor(1) as pool:
        todo = [Task(entry, seed) for seed in (0, 1, 0, 2)]
        found = [(task.seed, type(run).__name__, known) for task, run, known in checked(todo, pool, store=store)]
        assert set(found) == {(0, "Run", False), (0, "Run", True), (1, "ZeroDivisionError", False), (2, "Run", False)}
        assert sorted(counted) == [0, 1, 2]
        assert [known for *_, known in checked(todo[:1], pool, store=store, again=True)] == [False]


def test_who_waits_for_another_process_says_so_and_takes_over_what_it_leaves(counted, tmp_path, capsys):
    task = Task(catalogue().claims["dropout_is_a_penalty"], 0)
    other = Leases(tmp_path / "runs.sqlite.leases")
    assert other.take(task.key)
    timer = threading.Timer(0.3, other.close)
    timer.start()
    with Store(tmp_path / "runs.sqlite") as store, ThreadPoolExecutor(1) as pool:
        assert [known for *_, known in checked([task], pool, store=store)] == [False]
    assert capsys.readouterr().err == "another process is running dropout_is_a_penalty; waiting for it\n"
    timer.join()


def test_evidence_beyond_all_measure_is_thinned_and_recorded(tmp_path):
    random = np.random.default_rng(0)
    pieces = {
        f"law {i}": Law(
            predicted=np.ones((100, 50)),
            observed=random.normal(size=(100, 50, 20)),
            along={"row": list(range(100)), "column": np.arange(50)},
            exact=True,
        )
        for i in range(3)
    }
    pieces["small"] = Identity(np.arange(3.0), np.arange(3.0))
    described, blob = encode(pieces)
    assert len(blob) <= 2**20
    run = dataclasses.replace(RUN, described=described, blob=blob)
    assert set(run.thinned) == {"law 0", "law 1", "law 2"}
    with Store(tmp_path / "runs.sqlite") as store:
        store.add(run, "key")
        found = store.find("key").evidence
    assert np.array_equal(found["small"].left, np.arange(3.0))
    for law in (found[f"law {i}"] for i in range(3)):
        rows, columns, _ = law.observed.shape
        assert law.predicted.shape == (rows, columns) == (len(law.along["row"]), len(law.along["column"]))
        assert law.judge().verdict in ("holds", "inconclusive")
