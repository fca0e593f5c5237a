"""The catalogue: cached by what it is made from, and true of the source."""

import json
from dataclasses import asdict

import pytest

from deeptheory.lab import entries as made
from deeptheory.lab.entries import catalogue, generate


@pytest.mark.slow
def test_the_cached_catalogue_is_what_the_source_says():
    fresh = json.loads(json.dumps(generate()["claims"]))
    assert {name: json.loads(json.dumps(asdict(entry))) for name, entry in catalogue().claims.items()} == fresh


def test_faces_are_imported_by_no_claim():
    import grimp

    graph = grimp.build_graph("deeptheory", exclude_type_checking_imports=True, cache_dir=None)
    for entry in catalogue().claims.values():
        reached = {name.split(".")[1] for name in graph.find_upstream_modules(entry.module) if ".lab" not in name}
        assert not reached & set(made.FACES)


def test_a_change_of_the_laboratory_that_decides_verdicts_is_seen(monkeypatch):
    claims = [made.load("dropout_is_the_squared_nuclear_norm")]
    before = made.fingerprints(claims)
    monkeypatch.setattr(made, "DECIDING", tuple(name for name in made.DECIDING if name != "spaces"))
    assert made.fingerprints(claims) != before


def test_every_claim_names_the_functions_it_uses():
    for entry in catalogue().claims.values():
        assert all(name.startswith("deeptheory.") for name in entry.uses)
    assert "deeptheory.spectra.marchenko_pastur.marchenko_pastur_cdf" in {
        name for entry in catalogue().claims.values() for name in entry.uses
    }


def test_a_source_that_cannot_be_read_is_named_with_the_line():
    claims, lab = made.PACKAGE / "claims" / "a.py", made.PACKAGE / "lab" / "_claim.py"
    told = f'  File "{claims}", line 7, in <module>\n  File "{lab}", line 9, in claim\nValueError: no such item\n'
    assert made._fault(told) == f"ValueError: no such item ({claims}, line 7)"
    assert (
        made._fault(f'  File "{claims}", line 3\n    def f(:\nSyntaxError: bad\n')
        == f"SyntaxError: bad ({claims}, line 3)"
    )
    assert made._fault("") == ""
