"""Packages that open as one walks in: one list of names serves type checkers and the package alike."""

import subprocess
import sys

import pytest

import deeptheory
from deeptheory import lab
from deeptheory.foundations.packages import promised


def test_names_are_imported_when_first_used(tmp_path):
    file = tmp_path / "house.py"
    file.write_text(
        "if TYPE_CHECKING:\n    from math import tau as tau\n    from json import dumps as dumps, loads as loads\n"
    )
    get, listed, names = promised("json", str(file))
    assert names == ["dumps", "loads", "tau"]
    assert {*names, "decoder", "encoder"} <= set(listed())
    assert get("tau") == pytest.approx(6.283185307179586)
    with pytest.raises(AttributeError, match="module 'json' has no attribute 'pi'"):
        get("pi")


def test_what_claims_are_written_with_is_listed():
    assert {"claim", "Identity", "Law", "Trials", "Reals", "assume", "pictures"} <= set(dir(lab))


def test_every_promise_is_kept():
    for house in (deeptheory, lab):
        assert all(getattr(house, name) is not None for name in house.__all__)


def test_the_house_is_entered_without_its_rooms():
    done = subprocess.run(
        [sys.executable, "-c", "import deeptheory, sys; print('jax' in sys.modules, 'numpy' in sys.modules)"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.split() == ["False", "False"]
