"""Workers: processes that stay, each with one thread, behind the interface of concurrent.futures.

They are started as fresh interpreters rather than by multiprocessing, so that a script without a main guard, a
notebook and the command line behave alike, and so that the thread settings are in place before anything is imported.
"""

import os
import pickle
import queue
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from contextlib import suppress
from pathlib import Path
from typing import Any

from deeptheory.lab.platform import PINNED

__all__ = ["WorkerDied", "Workers"]


class WorkerDied(RuntimeError):
    """A worker ended without an answer (killed, or out of memory)."""


class Workers(Executor):
    """A fixed number of persistent worker processes. `submit` takes functions that can be imported by name."""

    def __init__(self, jobs: int, *, cache: Path | None = None) -> None:
        if jobs < 1:
            raise ValueError(f"jobs must be at least 1, not {jobs}")
        self._tasks: queue.SimpleQueue[tuple[Future, tuple] | None] = queue.SimpleQueue()
        self._environment = {**os.environ, **PINNED, "DEEPTHEORY_CACHE": str(cache) if cache else ""}
        self._processes: dict[int, subprocess.Popen] = {}
        self._threads = [threading.Thread(target=self._serve, args=(i,), daemon=True) for i in range(jobs)]
        for thread in self._threads:
            thread.start()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future:
        future: Future = Future()
        self._tasks.put((future, (fn, args, kwargs)))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        if cancel_futures:
            with suppress(queue.Empty):
                while True:
                    if (task := self._tasks.get_nowait()) is not None:
                        task[0].cancel()
        for _ in self._threads:
            self._tasks.put(None)
        if cancel_futures:
            for process in list(self._processes.values()):
                process.kill()
        if wait:
            for thread in self._threads:
                thread.join()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Wait for what was submitted; after an interrupt or an error, drop it and wait for nothing."""
        self.shutdown(wait=kind is None, cancel_futures=kind is not None)

    def _start(self, number: int) -> subprocess.Popen:
        process = subprocess.Popen(
            [sys.executable, "-m", "deeptheory.lab.workers"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=self._environment,
            start_new_session=True,  # an interrupt at the terminal is the parent's to handle
        )
        self._processes[number] = process
        return process

    def _serve(self, number: int) -> None:
        process = None
        while (task := self._tasks.get()) is not None:
            future, work = task
            if not future.set_running_or_notify_cancel():
                continue
            process = process or self._start(number)
            try:
                pickle.dump(work, process.stdin)  # type: ignore[arg-type]
                process.stdin.flush()  # type: ignore[union-attr]
                good, answer = pickle.load(process.stdout)  # type: ignore[arg-type]
            except (EOFError, BrokenPipeError, pickle.UnpicklingError):
                code = process.wait()
                process = None
                future.set_exception(WorkerDied(f"a worker ended with status {code} while it worked on this"))
                continue
            if good:
                future.set_result(answer)
            else:
                future.set_exception(answer)
        if process is not None:
            process.stdin.close()  # type: ignore[union-attr]
            process.wait()


def main() -> None:
    """The worker's side: read tasks from standard input until it closes, write answers to what was standard output."""
    tasks, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever prints goes to standard error
    threading.Thread(target=_end_with_parent, args=(os.getppid(),), daemon=True).start()
    if folder := os.environ.get("DEEPTHEORY_CACHE"):
        from deeptheory.lab.platform import remember_compilations

        remember_compilations(Path(folder))
    while True:
        try:
            function, arguments, keywords = pickle.load(tasks)
        except EOFError:
            return
        try:
            answer = (True, function(*arguments, **keywords))
        except Exception as problem:
            answer = (False, _portable(problem))
        try:
            pickle.dump(answer, answers)
            answers.flush()
        except BrokenPipeError:
            os._exit(1)  # nobody waits for it any more


def _end_with_parent(parent: int) -> None:
    """Stop working for nobody: end within a second of the parent."""
    import time

    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)


def _portable(problem: Exception) -> Exception:
    """An exception that survives the way back, with its traceback as text."""
    import traceback

    try:
        pickle.loads(pickle.dumps(problem))
    except Exception:
        problem = RuntimeError(f"{type(problem).__name__}: {problem}")
    problem.add_note("".join(traceback.format_exc()))
    return problem


if __name__ == "__main__":
    # Pickled functions live in modules, never in this script's own namespace.
    from deeptheory.lab import workers

    workers.main()
