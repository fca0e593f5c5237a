"""`new` writes stubs that need only their mathematics: filled in, the claim holds, its control falls, it has a page."""

import importlib.util
import sys

import pytest


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
    mathematics.write_text(mathematics.read_text().replace("raise NotImplementedError", "return 1.0"))
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
