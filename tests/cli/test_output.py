"""What is printed: to a pipe that closes, to a full disk, as JSON."""

import json
import subprocess
import sys

import pytest

ENDS = [
    ("list | head -1", 0, ""),
    ("coverage --json | head -1", 0, ""),
    ("list > /dev/full", 2, "deeptheory: No space left on device"),
    ("list >&-", 2, "deeptheory: standard output is closed"),
    ("list 2>&-", 0, ""),
]


@pytest.mark.parametrize(("typed", "status", "sentence"), ENDS, ids=[typed for typed, *_ in ENDS])
def test_output_that_cannot_be_written_ends_quietly_or_in_one_sentence(run, typed, status, sentence):
    line = f"set -o pipefail; {sys.executable} -m deeptheory {typed}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, env=run.environment, timeout=60)
    assert (done.returncode, done.stderr.strip()) == (status, sentence)


def test_json_has_no_bare_nan(capsys):
    from deeptheory.cli.app import emit

    emit({"resolution": float("nan"), "list": [1.5, (float("inf"), None)]})
    assert json.loads(capsys.readouterr().out, parse_constant=pytest.fail) == {
        "resolution": None,
        "list": [1.5, [None, None]],
    }
