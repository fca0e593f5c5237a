"""Every public function says where it comes from: a place in one of the books, or a paper or textbook with its year."""

import inspect
import re
import sys
from typing import Any

import pytest

from deeptheory.books.library import SHELF
from hostile_examples import ROOMS, public

PLACE = re.compile(rf"\b({'|'.join(SHELF)})\b.{{0,60}}?\d", re.IGNORECASE)
"""A book of the shelf by its name, and a number soon after: "arora Thm 11.1.1", "lucchi, after Lemma 61"."""
PAPER = re.compile(r"""((\b[A-ZÀ-Ž][\w'’–-]*|\bal\.|\bothers|["”]),? |\()(1[6-9]|20)\d\d\b""")
"""A year after a name, or in parentheses: "Cohen, Rosenfeld and Kolter 2019", "Moore, Interval Analysis (1966)"."""

FUNCTIONS: dict[str, Any] = {
    name: thing
    for name, thing in public().items()
    if callable(thing)
    and getattr(thing, "__module__", "").startswith("deeptheory.")
    and not (inspect.isclass(thing) and hasattr(thing, "_fields"))  # a record is explained by what returns it
}


def referred(text: str | None) -> bool:
    """Whether a docstring names a source, anywhere in it."""
    words = " ".join((text or "").split())
    return bool(PLACE.search(words) or PAPER.search(words))


def silent(room: str) -> list[str]:
    return [
        name
        for name, thing in FUNCTIONS.items()
        if name.startswith(f"{room}.")
        and not referred(inspect.getdoc(thing))
        and not referred(sys.modules[thing.__module__].__doc__)
    ]


def test_what_counts_as_a_reference():
    assert referred("Reference: arora 18.2; Cohen, Rosenfeld and Kolter 2019.")
    assert referred("Bounds the error (lucchi, after Lemma 61).")
    assert referred("Reference: Moore,\nInterval Analysis (1966).")
    assert not referred("By Hoeffding's lemma and a union bound over 2048 cells.")
    assert not referred("The theorem of arora.")
    assert not referred(None)


@pytest.mark.parametrize("room", ROOMS)
def test_every_public_function_has_a_reference(room: str):
    assert not silent(room), "write it into the function's docstring, or into the module's for all of its functions"
