"""`falsify`, and searches that break."""

import json
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from deeptheory.cli import falsifying, main
from deeptheory.lab._falsify import Falsification


@pytest.mark.slow
def test_falsify_finds_the_two_by_two_counterexample_by_itself(run):
    done = run("falsify", "A11.10", "--budget", "5", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    (control,) = json.loads(done.stdout)["controls"]
    assert control["found"]
    assert control["counterexample"]["violated"]
    assert len(control["instance"]["left"]) == len(control["instance"]["right"]) == 2


@pytest.mark.parametrize("broken", ["the control", "the claim"])
def test_a_search_that_breaks_is_named_and_the_others_are_made(monkeypatch, capsys, broken):
    tried = []

    def falsify(*, budget, seed, control):
        tried.append(control)
        if (control is None) == (broken == "the claim"):
            raise ZeroDivisionError("a matrix of zeros")
        violated = control is not None
        planted = None if violated else True
        return Falsification("balanced", violated, {"x": 1.0}, 0.5, None, planted, 1, 9, 0.1, control)

    monkeypatch.setattr(falsifying, "workers", lambda jobs: ThreadPoolExecutor(jobs))
    monkeypatch.setattr(falsifying, "load", lambda name: SimpleNamespace(falsify=falsify))
    assert main(["falsify", "A11.10", "--json"]) == 1
    said = capsys.readouterr()
    (failure,) = json.loads(said.out)["failures"]
    assert failure in said.err and failure.endswith("failed: ZeroDivisionError: a matrix of zeros")
    assert tried[-1] is None and len(tried) == 2
    assert main(["falsify", "A11.10"]) == 1
    assert capsys.readouterr().out.count("0.5") == 1
