"""What a claim reaches: changes that mean something are seen, others are not, and nothing that runs is missed."""

import inspect
import sys
from pathlib import Path

import pytest

from deeptheory.lab.entries import PACKAGE, catalogue, load
from deeptheory.lab.reach import Sources

ROOM = """
\"\"\"A room.\"\"\"
from dataclasses import dataclass

SCALE = 2.0

def doubled(x):
    \"\"\"Twice.\"\"\"
    return SCALE * x  # why

def unused(x):
    return x

@dataclass
class Box:
    side: float
    def area(self):
        return squared(self.side)

def squared(x):
    return x * x

def slope(x):
    return 1

def rule(f):
    return f

slope.marked = rule(squared)
"""

CLAIMS = """
from house import room
from house.room import Box, doubled as twice
from house.lab import claim

WORDS = {"x": "a symbol"}

@claim(says="one", needs="two", items={}, symbols=WORDS, explore={"trials": (1, 2)})
def stated(key):
    return twice(1), room.slope(2)

@stated.control("a rival")
def rival(evidence):
    return Box(1.0)

@stated.picture
def drawn(evidence):
    return "a drawing"

stated.control("another", trials=3)

@claim(says="other", items={})
def other(key):
    return 0
"""


@pytest.fixture
def house(tmp_path):
    folder = tmp_path / "house"
    folder.mkdir()
    for name, text in (
        ("__init__", ""),
        ("room", ROOM),
        ("lab", "def claim(**k): return lambda f: f"),
        ("claims", CLAIMS),
    ):
        (folder / f"{name}.py").write_text(text)
    return folder


def meaning(house, name="stated"):
    return Sources(house, closed=("house.lab",)).meaning(("house.claims", name))


def names(house, name="stated"):
    return {each.name for each in Sources(house, closed=("house.lab",)).reached(("house.claims", name))}


def test_helpers_constants_classes_controls_and_rules_are_reached(house):
    found = names(house)
    assert {"stated", "rival", "doubled", "SCALE", "Box", "squared", "slope", "rule"} <= found
    assert not found & {"unused", "drawn", "other", "claim"}
    assert names(house, "other") == {"other"}


@pytest.mark.parametrize(
    ("file", "before", "after", "same"),
    [
        ("room", "# why", "# because", True),
        ("room", '"""Twice."""', '"""Two times."""', True),
        ("room", "return SCALE * x", "return (SCALE  *  x)", True),
        ("room", "def unused(x):\n    return x", "def unused(x):\n    return -x", True),
        ("claims", 'says="one"', 'says="uno"', True),
        ("claims", "a drawing", "a sketch", True),
        ("claims", "return 0", "return 1", True),
        ("room", "SCALE = 2.0", "SCALE = 2.1", False),
        ("room", "x * x", "x + x", False),
        ("room", "rule(squared)", "rule(doubled)", False),
        ("claims", "Box(1.0)", "Box(1.1)", False),
        ("claims", "trials=3", "trials=4", False),
        ("claims", "a rival", "the rival", False),
    ],
)
def test_only_a_change_of_meaning_is_seen(house, file, before, after, same):
    path, first = house / f"{file}.py", meaning(house)
    assert path.read_text().count(before) == 1
    path.write_text(path.read_text().replace(before, after))
    assert (meaning(house) == first) == same


@pytest.mark.slow
@pytest.mark.parametrize("name", ["graph_tangent_kernel", "double_descent"])
def test_nothing_that_runs_is_missed(name):
    """Every function of the rooms that a check enters belongs to a definition that was found in the syntax."""
    entry = catalogue().claims[name]
    found = Sources(PACKAGE, closed=("deeptheory.lab",)).reached((entry.module, name))
    places = {(str(PACKAGE.parent / Path(*each.module.split("."))), *each.lines) for each in found}
    entered = set()
    passed = tuple(str(PACKAGE / folder) for folder in ("lab", "report", "cli", "books", "catalogue"))

    def watch(frame, event, _):
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(str(PACKAGE)) and not code.co_filename.startswith(passed):
            entered.add((code.co_filename.removesuffix(".py").removesuffix("/__init__"), code.co_firstlineno))

    claim = load(name)
    sys.setprofile(watch)
    try:
        claim.check()
    finally:
        sys.setprofile(None)
    assert entered
    missed = {(f, line) for f, line in entered if not any(f == p and a <= line <= b for p, a, b in places)}
    assert not missed
    assert inspect.unwrap(claim.function).__code__.co_name == name
