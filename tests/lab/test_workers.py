"""Workers: the interface of concurrent.futures, one thread each, and what happens when one dies."""

import math
import operator
import os
import subprocess
import sys
import textwrap

import pytest

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


def test_a_worker_that_dies_is_replaced():
    with Workers(1) as pool:
        with pytest.raises(WorkerDied, match="status"):
            pool.submit(os._exit, 3).result(60)
        assert pool.submit(abs, -1).result(60) == 1


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


def test_jobs_must_be_positive():
    with pytest.raises(ValueError, match="at least 1"):
        Workers(0)
