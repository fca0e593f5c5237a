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
from typing import IO, Any

from deeptheory.lab.parameters import Parameter
from deeptheory.lab.platform import environment

__all__ = ["JOBS", "WorkerDied", "Workers"]

JOBS = Parameter("jobs", "int", 1, low=1, high=256)
"""Processes of one set of workers."""

ATTEMPTS = 2
"""How many workers may die over one task: what killed the first may have had nothing to do with it."""


class WorkerDied(RuntimeError):
    """A worker ended without an answer (killed, or out of memory), or could not be started."""


class Workers(Executor):
    """A fixed number of persistent worker processes. `submit` takes functions that can be imported by name.

    Every task is answered: by its result, by what it raised, by what kept it or its result from being sent, or, where
    two workers died over it or none could be started, by `WorkerDied`.
    """

    def __init__(self, jobs: int, *, cache: Path | None = None) -> None:
        self.jobs = jobs = JOBS.check(jobs)
        self._tasks: queue.SimpleQueue[tuple[Future, tuple] | None] = queue.SimpleQueue()
        self._environment = {**environment(), "DEEPTHEORY_CACHE": str(cache) if cache else ""}
        self._processes: dict[int, _Process] = {}
        self._owner = os.getpid()
        self._closed = self._dropped = False
        self._starting = threading.Lock()
        self._threads = [threading.Thread(target=self._serve, args=(i,), daemon=True) for i in range(jobs)]
        for thread in self._threads:
            thread.start()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future:
        if self._closed or os.getpid() != self._owner:
            raise RuntimeError("these workers " + ("have ended" if self._closed else "belong to another process"))
        future: Future = Future()
        self._tasks.put((future, (fn, args, kwargs)))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._closed = True
        if cancel_futures:
            with suppress(queue.Empty):
                while True:
                    if (task := self._tasks.get_nowait()) is not None:
                        task[0].cancel()
        for _ in self._threads:
            self._tasks.put(None)
        if cancel_futures:
            with self._starting:
                self._dropped = True
            for process in list(self._processes.values()):
                process.kill()
        if wait:
            for thread in self._threads:
                thread.join()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Wait for what was submitted; after an interrupt or an error, drop it and wait for nothing."""
        self.shutdown(wait=kind is None, cancel_futures=kind is not None)

    def _serve(self, number: int) -> None:
        while (task := self._tasks.get()) is not None:
            future, work = task
            if not future.set_running_or_notify_cancel():
                continue
            try:
                good, answer = self._answer(number, pickle.dumps(work))
            except Exception as problem:  # not one may escape: whoever waits for the answer would wait for ever
                good, answer = False, problem
            if good:
                future.set_result(answer)
            else:
                future.set_exception(answer)
        if process := self._processes.pop(number, None):
            process.end()

    def _answer(self, number: int, work: bytes) -> tuple[bool, Any]:
        """What a worker has to say to a task; one that dies over it is replaced, once."""
        status = 0
        for _ in range(ATTEMPTS):
            try:
                answer = self._started(number).ask(work)
            except (EOFError, OSError):
                status = self._processes.pop(number).end()
            else:
                return pickle.loads(answer)
            if self._dropped:
                raise WorkerDied("the worker was ended while it worked on this")
        raise WorkerDied(f"{ATTEMPTS} workers, the last with status {status}, ended while they worked on this")

    def _started(self, number: int) -> "_Process":
        with self._starting:  # what starts after the others were killed would be forgotten
            if self._dropped:
                raise WorkerDied("the workers were ended before this was begun")
            if number not in self._processes:
                try:
                    self._processes[number] = _Process(self._environment)
                except OSError as problem:
                    raise WorkerDied(f"a worker could not be started: {problem}") from None
        return self._processes[number]


class _Process:
    """One worker, seen from the parent."""

    def __init__(self, environment: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "deeptheory.lab.workers", str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            start_new_session=True,  # an interrupt at the terminal is the parent's to handle
        )

    def ask(self, work: bytes) -> bytes:
        _send(self._process.stdin, work)  # type: ignore[arg-type]
        return _receive(self._process.stdout)  # type: ignore[arg-type]

    def kill(self) -> None:
        self._process.kill()

    def end(self) -> int:
        """Let it end, and return its status."""
        with suppress(OSError):  # what it did not read before it died
            self._process.stdin.close()  # type: ignore[union-attr]
        self._process.stdout.close()  # type: ignore[union-attr]
        return self._process.wait()


# Messages go with their length, so that one that cannot be understood disturbs no other.


def _send(stream: IO[bytes], message: bytes) -> None:
    stream.write(len(message).to_bytes(8, "big") + message)
    stream.flush()


def _receive(stream: IO[bytes]) -> bytes:
    size = stream.read(8)
    message = stream.read(int.from_bytes(size, "big"))
    if len(size) < 8 or len(message) < int.from_bytes(size, "big"):
        raise EOFError
    return message


# The worker's side ---------------------------------------------------------------------------------------------------


def main(parent: int) -> None:
    """Read tasks from standard input until it closes, write answers to what was standard output."""
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    tasks, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever prints goes to standard error
    if folder := os.environ.get("DEEPTHEORY_CACHE"):
        from deeptheory.lab.platform import remember_compilations

        remember_compilations(Path(folder))
    while True:
        try:
            work = _receive(tasks)
        except EOFError:
            return
        try:
            function, arguments, keywords = pickle.loads(work)
            answer = pickle.dumps((True, function(*arguments, **keywords)))
        except Exception as problem:
            answer = pickle.dumps((False, _portable(problem)))
        try:
            _send(answers, answer)
        except BrokenPipeError:
            os._exit(1)  # nobody waits for it any more


def _end_with(parent: int) -> None:
    """Stop working for nobody: end within a second of the parent, which may be gone already."""
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

    workers.main(int(sys.argv[1]))
