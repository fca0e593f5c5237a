"""Checking many claims: an interrupt at any moment leaves nothing locked."""

import itertools
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from deeptheory.lab import checking
from deeptheory.lab.catalogue import catalogue
from deeptheory.lab.checking import Task, checked
from deeptheory.lab.workers import Workers


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
