"""An interrupt, at any moment."""

import json
import signal
import subprocess
import sys
import time

import pytest

from deeptheory.cli.interrupts import Insistent


@pytest.mark.slow
def test_an_interrupt_keeps_what_is_done(run):
    # All claims: more than can be finished between the first line and the signal, however busy the machine.
    command = [sys.executable, "-m", "deeptheory", "check", "all", "--jobs", "1"]
    process = subprocess.Popen(command, env=run.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    first = process.stderr.readline()
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "goes on from there" in error
    assert "Traceback" not in error
    listed = {line["claim"] for line in json.loads(run("runs", "--json").stdout)}
    assert first.split("] ")[1].split(":")[0] in listed


INTERRUPTED = """
import sys, deeptheory.cli

class Told(deeptheory.cli.Insistent):
    def __enter__(self):
        super().__enter__()
        print(flush=True)
        return self

deeptheory.cli.Insistent = Told
sys.exit(deeptheory.cli.main(sys.argv[1:]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0.0, 0.2, 0.6, 0.9, 1.2, 1.8, 2.5, 4.0])
@pytest.mark.parametrize("typed", ["falsify A11.10 --budget 60", "check spectra --jobs 1"])
def test_an_interrupt_is_heard_at_any_moment(run, typed, seconds):
    """While modules are imported, workers start, programs are compiled: it always ends, and says only what is true."""
    command = [sys.executable, "-c", INTERRUPTED, *typed.split()]
    process = subprocess.Popen(command, env=run.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    process.stdout.readline()
    time.sleep(seconds)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 130, error
    *before, last = error.splitlines()
    kept = "; what was finished is kept, and the same command goes on from there"
    assert last == "stopped" + kept * typed.startswith("check")
    assert all(line.startswith("[") for line in before), error


def test_an_interrupt_that_is_dropped_is_repeated():
    """Python drops what is raised in a finalizer."""

    class Deaf:
        def __del__(self):
            signal.raise_signal(signal.SIGINT)
            time.sleep(0.01)

    before = signal.getsignal(signal.SIGINT)  # a shell starts what runs in its background with the interrupt ignored
    with Insistent() as interrupt:
        Deaf()
        assert interrupt.asked
        with pytest.raises(KeyboardInterrupt):
            time.sleep(30)
    assert signal.getsignal(signal.SIGINT) is before
