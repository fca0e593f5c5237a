"""Packages that open as one walks in: one list of names serves type checkers and the package alike."""

import json
import pkgutil
import subprocess
import sys

import pytest

import deeptheory
from deeptheory import lab
from deeptheory.foundations.packages import promised


def test_names_are_imported_when_first_used(tmp_path):
    file = tmp_path / "house.py"
    file.write_text(
        "if TYPE_CHECKING:\n    from math import tau as tau\n    from json import decoder as decoder, dumps as dumps\n"
        "__version__ = '1'\na, b = 1, 2\n"
    )
    get, listed, names = promised("json", str(file))
    assert names == ["decoder", "dumps", "tau"]
    assert listed() == ["__version__", *names]
    assert get("tau") == pytest.approx(6.283185307179586)
    assert get("decoder") is json.decoder and get("scanner") is json.scanner
    with pytest.raises(AttributeError, match="module 'json' has no attribute 'pi'"):
        get("pi")


def test_what_claims_are_written_with_is_listed():
    assert {"claim", "Identity", "Law", "Trials", "Reals", "assume", "pictures"} <= set(dir(lab))


def test_the_house_lists_its_rooms_and_what_users_type():
    inner = {"books", "claims", "cli", "foundations", "lab", "report"}
    rooms = {each.name for each in pkgutil.iter_modules(deeptheory.__path__) if each.ispkg} - inner
    typed = {"Runs", "check", "claim", "find", "league", "phase_diagram"}
    assert set(dir(deeptheory)) == {*rooms, *typed, "__version__"}


def test_every_promise_is_kept():
    for house in (deeptheory, lab):
        assert all(getattr(house, name) is not None for name in house.__all__)


def test_the_house_is_entered_without_its_rooms():
    done = subprocess.run(
        [sys.executable, "-c", "import deeptheory, sys; print('jax' in sys.modules, 'numpy' in sys.modules)"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.split() == ["False", "False"]
