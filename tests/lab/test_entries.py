"""The catalogue: cached by what it is made from, and true of the source."""

import json
import os
import shutil
import subprocess
import sys
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


def test_every_claim_names_the_public_functions_it_uses():
    offered = {f"{each.module}.{each.name}" for each in catalogue().functions}
    assert all(set(entry.uses) <= offered for entry in catalogue().claims.values())
    used = {name: set(entry.uses) for name, entry in catalogue().claims.items()}
    assert "deeptheory.spectra.marchenko_pastur.marchenko_pastur_cdf" in used["sample_covariance_spectrum"]
    # Its data are drawn by a helper of another module of claims: what that calls is named, the helper is not.
    assert "deeptheory.implicit_bias.separable.separable_points" in used["separable_residual_is_bounded"]


def test_a_source_that_cannot_be_read_is_named_with_the_line():
    claims, lab = made.PACKAGE / "claims" / "a.py", made.PACKAGE / "lab" / "_claim.py"
    told = f'  File "{claims}", line 7, in <module>\n  File "{lab}", line 9, in claim\nValueError: no such item\n'
    assert made._fault(told) == f"ValueError: no such item ({claims}, line 7)"
    assert (
        made._fault(f'  File "{claims}", line 3\n    def f(:\nSyntaxError: bad\n')
        == f"SyntaxError: bad ({claims}, line 3)"
    )
    assert made._fault("") == ""


@pytest.mark.parametrize("edited", [True, False])
def test_a_listing_is_not_kept_if_the_source_was_edited_meanwhile(tmp_path, edited):
    package, cache = tmp_path / "source" / "deeptheory", tmp_path / "cache"
    shutil.copytree(made.PACKAGE, package, ignore=shutil.ignore_patterns("claims", "__pycache__"))
    (package / "claims").mkdir()
    (package / "claims" / "__init__.py").write_text('"""None but one module, which is edited while it is listed."""\n')
    editing = 'import pathlib\npathlib.Path(__file__).open("a").write("# later\\n")\n' if edited else ""
    (package / "claims" / "edited.py").write_text(editing)
    surroundings = {**os.environ, "PYTHONPATH": str(package.parent), "XDG_CACHE_HOME": str(cache)}
    command = [sys.executable, "-m", "deeptheory.lab.entries"]
    done = subprocess.run(command, capture_output=True, text=True, env=surroundings, cwd=tmp_path, check=True)
    assert json.loads(done.stdout)["claims"] == {}  # listed all the same
    assert len(list(cache.rglob("catalogues/*.json"))) == (0 if edited else 1)
