"""`new` writes stubs that need only their mathematics: filled in, the claim holds, its control falls, it has a page."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
OURS = "lint.isort.known-first-party=['deeptheory']"  # which is not seen of a file in a folder that is not there
LONG = "a_name_that_says_the_whole_statement_in_so_many_words"
STUBS = [
    ("my_claim", "--item", "A2.26", "--room", "spectra"),
    ("my_claim", "--room", "alignment"),
    (LONG, "--item", "A11.10", "--room", "generalization", "--topic", "concentration"),
]


def opened(monkeypatch, name, path):
    """Import a file under a name of the package, into which it was not written."""
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, module)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_a_stub_that_is_filled_in_is_a_claim_with_all_that_teaches(run, tmp_path, monkeypatch):
    (tmp_path / "src" / "deeptheory").mkdir(parents=True)
    done = run("new", "my_claim", "--item", "A2.26", "--room", "spectra", "--topic", "edges_of_it", "--root", ".")
    assert done.returncode == 0, done.stderr
    package = tmp_path / "src" / "deeptheory"
    mathematics, stub = (package / part / "spectra/edges_of_it/my_claim.py" for part in (".", "claims"))
    told = 'raise NotImplementedError(f"{__name__} is to be written")'
    assert told in mathematics.read_text()
    mathematics.write_text(mathematics.read_text().replace(told, "return 1.0"))
    room = opened(monkeypatch, "deeptheory.spectra.edges_of_it.my_claim", mathematics)
    with pytest.raises(ValueError, match="x must be positive and finite, got -1"):
        room.my_claim_value(-1.0)
    claim = opened(monkeypatch, "deeptheory.claims.spectra.edges_of_it.my_claim", stub).my_claim
    found = claim.check()
    assert found.verdict == "holds", found.reason
    assert [control.verdict for control in found.controls] == ["refuted"]
    for word in ("symbols=", "why=", "notice=", "@my_claim.picture"):
        assert word in stub.read_text()
    test = (tmp_path / "tests/spectra/edges_of_it/test_my_claim.py").read_text()
    assert '@pytest.mark.item("A2.26")\ndef test_my_claim_value_by_hand' in test


@pytest.mark.parametrize("words", STUBS, ids=["after the laboratory", "of no book", "long"])
def test_stubs_are_as_lint_wants_them(run, tmp_path, words):
    (tmp_path / "src" / "deeptheory").mkdir(parents=True)
    done = run("new", *words, "--root", ".")
    assert done.returncode == 0, done.stderr
    stubs = list(tmp_path.rglob(f"*{words[0]}.py"))
    assert len(stubs) == 3
    for stub in stubs:
        name = str(stub.relative_to(tmp_path))
        for asked in (("check",), ("format", "--check")):
            command = [sys.executable, "-m", "ruff", *asked, "--config", OURS, "--stdin-filename", name, "-"]
            linted = subprocess.run(command, input=stub.read_text(), capture_output=True, text=True, cwd=ROOT)
            assert linted.returncode == 0, linted.stdout + linted.stderr


def test_a_statement_of_no_book_has_no_item(run, tmp_path):
    (tmp_path / "src" / "deeptheory").mkdir(parents=True)
    run("new", "my_claim", "--room", "spectra", "--root", ".")
    assert "items={}," in (tmp_path / "src/deeptheory/claims/spectra/my_claim.py").read_text()
    assert "pytest" not in (tmp_path / "tests/spectra/test_my_claim.py").read_text()
