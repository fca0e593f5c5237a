"""Leases: one holder at a time, the dead hold nothing, nothing is left behind."""

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

from deeptheory.lab.leases import Leases

HOLDER = """
import sys, time
from pathlib import Path
from deeptheory.lab.leases import Leases
leases = Leases(Path(sys.argv[1]))
print(leases.take("run"), flush=True)
time.sleep(60)
"""


def test_a_lease_has_one_holder(tmp_path):
    one, two = Leases(tmp_path / "leases"), Leases(tmp_path / "leases")
    assert one.take("run")
    assert not two.take("run")
    assert not one.take("run")
    assert two.take("another")
    one.release("run")
    assert two.take("run")
    one.close()
    assert (tmp_path / "leases").exists()
    two.close()
    assert list(tmp_path.iterdir()) == []


def test_the_lease_of_a_dead_process_is_taken_over(tmp_path):
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert holder.stdout.readline() == "True\n"
    leases = Leases(tmp_path)
    assert not leases.take("run")
    holder.kill()
    holder.wait()
    holder.stdout.close()
    assert leases.take("run")
    leases.close()


def test_many_that_want_the_same_never_hold_it_together(tmp_path):
    inside, together = [], []
    start = threading.Barrier(4)

    def work(_):
        leases = Leases(tmp_path / "leases")
        start.wait()
        for _ in range(200):
            leases.take("run", wait=True)
            inside.append(1)
            together.append(len(inside))
            inside.pop()
            leases.release("run")
            leases.close()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert (len(together), max(together)) == (800, 1)
