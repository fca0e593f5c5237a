"""The ledger and the status of items that follows from it."""

import re
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import pytest

from deeptheory import books
from deeptheory.lab.catalogue import Catalogue, Entry, catalogue, load
from deeptheory.lab.ledger import STATUSES, Ledger, Recorded, ledger, read, statuses


@dataclass(frozen=True)
class Erratum:
    kind: str


@dataclass(frozen=True)
class Item:
    id: str
    check: bool = True
    same_as: str | None = None
    errata: tuple = ()
    excluded: str = ""


def entry(name, **items):
    return Entry(name, "m", "s", "t", "says", "", "", items, {}, [], False, "hash", (1, 2))


def recorded(verdict="holds", errata=(), source="hash", **items):
    return Recorded(verdict, items, "", None, {}, 0, source, 1.0, errata)


CATALOGUE = Catalogue("", {"one": entry("one", X=[""], Y=[""]), "two": entry("two", Y=[""])})


@pytest.mark.parametrize(
    ("item", "claims", "tests", "status"),
    [
        (Item("Z"), {}, {}, "open"),
        (Item("Z"), {}, {"Z": ["tests/test_z.py"]}, "computed"),
        (Item("Z", same_as="X"), {}, {}, "same-as"),
        (Item("Z", excluded="it needs a thousand machines"), {}, {}, "excluded"),
        (Item("X"), {}, {}, "open"),
        (Item("X"), {"one": recorded(X="holds")}, {}, "holds"),
        (Item("X"), {"one": recorded(X="inconclusive")}, {}, "failing"),
        (Item("Y"), {"one": recorded(Y="holds")}, {}, "open"),
        (Item("Y"), {"one": recorded(Y="holds"), "two": recorded(Y="refuted")}, {}, "failing"),
        (Item("X", errata=(Erratum("false"),)), {"one": recorded(X="holds")}, {}, "open"),
        (Item("X", errata=(Erratum("false"),)), {"one": recorded(errata=("X",), X="holds")}, {}, "refuted-as-printed"),
        (Item("X", errata=(Erratum("notation"),)), {"one": recorded(X="holds")}, {}, "holds"),
    ],
)
def test_status_follows_from_the_ledger(item, claims, tests, status):
    assert statuses([item], CATALOGUE, Ledger(claims, tests))[item.id].status == status


def test_every_status_is_worded_and_coloured():
    from deeptheory.cli.display import COLOURS
    from deeptheory.report import wording

    assert tuple(wording.STATUSES) == STATUSES
    assert set(STATUSES) <= set(COLOURS)


def test_a_stale_record_says_so():
    book = Ledger({"one": recorded(source="older", X="holds")})
    assert "changed" in statuses([Item("X")], CATALOGUE, book)["X"].reason


def test_the_ledger_survives_saving(tmp_path):
    path = tmp_path / "ledger.json"
    ledger().save(path)
    assert read(path) == ledger()


def test_the_ledger_lists_the_marked_tests():
    marks = set()
    for path in Path(__file__).parent.rglob("test_*.py"):
        for found in re.findall(r"pytest\.mark\.item\(([^)]*)\)", path.read_text()):
            marks |= set(re.findall(r'"([A-Z]\d+\.\d+)"', found))
    assert marks == set(ledger().tests), "`make record` writes the ledger anew"
    assert all(books.item(each).id == each for each in marks)


def test_recorded_counterexamples_are_still_violations():
    found = [(name, each) for name, entries in ledger().counterexamples.items() for each in entries]
    assert found
    for name, each in found:
        claim = load(name)
        assert name in catalogue().claims
        exact = {key: rationals(value) for key, value in each["instance"].items()}
        quantity, bound, _ = claim.exact(**exact)
        assert quantity > bound
        assert (str(quantity), str(bound)) == (each["counterexample"]["quantity"], each["counterexample"]["bound"])


def rationals(value):
    if isinstance(value, list):
        return [rationals(each) for each in value]
    return Fraction(repr(value)) if isinstance(value, float) else Fraction(value)


def test_the_source_hash_covers_what_decides_verdicts(monkeypatch):
    from deeptheory.lab import catalogue as made

    module = "deeptheory.claims.regularization.dropout"
    assert {"_claim", "platform", "run", "search", "spaces"} <= set(made.DECIDING)
    before = made.sources({module})
    monkeypatch.setattr(made, "DECIDING", tuple(name for name in made.DECIDING if name != "spaces"))
    assert made.sources({module}) != before
