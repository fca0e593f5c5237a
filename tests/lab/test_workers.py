"""Workers: the interface of concurrent.futures, one thread each, and what happens when one dies."""

import math
import operator
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time
from contextlib import suppress

import jax
import pytest

from deeptheory.lab import platform
from deeptheory.lab.flags import surroundings
from deeptheory.lab.workers import WorkerDied, Workers


def test_they_answer_in_any_order_and_pass_on_exceptions():
    with Workers(2) as pool:
        answers = [pool.submit(operator.mul, i, i) for i in range(20)]
        assert [answer.result(60) for answer in answers] == [i * i for i in range(20)]
        with pytest.raises(ValueError, match=r"math domain error|nonnegative"):
            pool.submit(math.sqrt, -1).result(60)
        assert list(pool.map(abs, [-1, -2])) == [1, 2]


def test_they_stay_and_are_pinned_to_one_thread():
    with Workers(1) as pool:
        assert pool.submit(os.getpid).result(60) == pool.submit(os.getpid).result(60)
        assert pool.submit(os.getenv, "OMP_NUM_THREADS").result(60) == "1"
        assert "multi_thread_eigen=false" in pool.submit(os.getenv, "XLA_FLAGS").result(60)


def test_a_worker_that_dies_is_replaced_and_its_task_tried_once_more(tmp_path):
    with Workers(1) as pool:
        with pytest.raises(WorkerDied, match="2 workers, the last with status 3, ended"):
            pool.submit(os._exit, 3).result(60)
        assert pool.submit(abs, -1).result(60) == 1
        # A folder can be made once: the first worker makes it and dies, the second finds it.
        made = repr(str(tmp_path / "made"))
        die_once = f"import os; os.path.isdir({made}) or (os.mkdir({made}), os._exit(9))"
        assert pool.submit(exec, die_once).result(60) is None


UNSENDABLE = [
    (lambda: None, (), r"pickle"),  # the task
    (threading.Lock, (), r"pickle"),  # its answer
    (operator.attrgetter("tests"), (), r"has no attribute"),
    (exec, ("class Own(Exception):\n def __init__(self, a, b): ...\nraise Own(1, 2)",), "Own"),
]


@pytest.mark.parametrize(("function", "arguments", "said"), UNSENDABLE)
def test_what_cannot_be_sent_is_said_and_the_worker_stays(function, arguments, said):
    with Workers(1) as pool:
        before = pool.submit(os.getpid).result(60)
        with pytest.raises(Exception, match=said):
            pool.submit(function, *(arguments or (1,) * isinstance(function, operator.attrgetter))).result(60)
        assert pool.submit(os.getpid).result(60) == before


def test_a_worker_that_cannot_be_started_is_said(monkeypatch):
    """As with no file descriptors left."""
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    with Workers(1) as pool, pytest.raises(WorkerDied, match=r"could not be started: .*No such file"):
        pool.submit(abs, -1).result(60)


def test_with_too_few_descriptors_a_check_ends(tmp_path):
    script = (
        "import resource, sys\n"
        "from deeptheory.lab.workers import Workers\n"
        "pool = Workers(1)\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (5, 5))\n"
        "print(type(pool.submit(abs, -1).exception(60)).__name__)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert done.stdout == "WorkerDied\n", done.stderr


def test_after_the_end_and_in_another_process_nothing_can_be_submitted(monkeypatch):
    """A process that was forked off has the object but not its threads."""
    pool = Workers(1)
    with monkeypatch.context() as forked, pytest.raises(RuntimeError, match="belong to another process"):
        forked.setattr(os, "getpid", lambda: -1)
        pool.submit(abs, -1)
    pool.shutdown()
    with pytest.raises(RuntimeError, match="have ended"):
        pool.submit(abs, -1)


def test_no_worker_is_started_after_the_others_were_dropped():
    pool = Workers(1)
    answer = pool.submit(time.sleep, 60)
    while not pool._processes:
        time.sleep(0.01)
    process = pool._processes[0]._process
    pool.shutdown(cancel_futures=True)
    assert isinstance(answer.exception(), WorkerDied)
    assert process.returncode == -signal.SIGKILL
    assert not pool._processes


def test_a_worker_whose_parent_is_gone_before_it_begins_does_no_work(tmp_path):
    """Its parent's number is told to it; that of whoever adopted it would be read too late."""
    task = pickle.dumps((exec, (f"import time; time.sleep(5); open({str(tmp_path / 'done')!r}, 'w')",), {}))
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    command = [sys.executable, "-m", "deeptheory.lab.workers", str(ended.pid)]
    worker = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ)
    with suppress(BrokenPipeError):
        worker.stdin.write(len(task).to_bytes(8, "big") + task)
        worker.stdin.flush()
    assert worker.wait(30) == 1
    with suppress(BrokenPipeError):
        worker.stdin.close()
    worker.stdout.close()
    assert not (tmp_path / "done").exists()


@pytest.mark.parametrize("name", ["JAX_RANDOM_SEED_OFFSET", "JAX_DISABLE_JIT", "OPENBLAS_CORETYPE", "PYTHONHASHSEED"])
def test_variables_that_change_bits_do_not_reach_a_worker(monkeypatch, name):
    monkeypatch.setenv(name, "7")
    with Workers(1) as pool:
        assert pool.submit(os.getenv, name).result(60) == platform.PINNED.get(name)
        assert pool.submit(surroundings).result(60) == platform.described()
    assert "threads and flags of the calling process" in surroundings()


def test_runs_of_the_calling_process_tell_different_flags_apart(monkeypatch):
    """By a variable, and by a setting that JAX was given later; the rest of the environment does not matter."""
    usual = surroundings()
    monkeypatch.setenv("UNRELATED", "7")
    assert surroundings() == usual
    monkeypatch.setenv("XLA_FLAGS", "--xla_force_host_platform_device_count=2")
    flagged = surroundings()
    monkeypatch.undo()
    with jax.default_matmul_precision("float32"):
        precise = surroundings()
    with jax.enable_x64(False):
        single = surroundings()
    assert len({usual, flagged, precise, single}) == 4 and surroundings() == usual


def test_printing_in_a_worker_does_not_disturb_the_answers(capfd):
    with Workers(1) as pool:
        pool.submit(print, "hello from a worker").result(60)
        assert pool.submit(abs, -1).result(60) == 1
    assert "hello from a worker" in capfd.readouterr().err


def test_a_script_without_a_main_guard_works(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent("""
        from deeptheory.lab.workers import Workers
        with Workers(1) as pool:
            print(pool.submit(abs, -7).result())
        """)
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=60)
    assert done.stdout == "7\n"


@pytest.mark.parametrize("jobs", [0, 257, 10**9])
def test_the_number_of_jobs_has_its_range(jobs):
    with pytest.raises(ValueError, match=f"jobs must be a whole number from 1 to 256, not {jobs}"):
        Workers(jobs)
