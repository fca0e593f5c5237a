"""The ledger and the status of items that follows from it."""

import re
import subprocess
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path

import pytest

from deeptheory import books
from deeptheory.lab.entries import Catalogue, Entry, catalogue, load
from deeptheory.lab.records import STATUSES, Ledger, Recorded, ledger, read, record, record_tests, statuses


@dataclass(frozen=True)
class Erratum:
    kind: str
    id: str = "Xa"
    main: bool = True


@dataclass(frozen=True)
class Item:
    id: str
    points_to: tuple = ()
    errata: tuple = ()
    excluded: str = ""


def entry(name, **items):
    return Entry(
        name=name, module="m", subject="s", theme="t", says="says", needs="", scale="", items=items, parameters={},
        controls=[], searchable=False, symbols={}, why="", notice="", explore={}, consistency=[],
        pictured=False, uses=[], axes={}, source="hash", lines=(1, 2),
    )  # fmt: skip


def recorded(verdict="holds", errata=(), source="hash", **items):
    return Recorded(verdict, items, "", None, {}, 0, source, errata)


CATALOGUE = Catalogue("", {"one": entry("one", X=[""], Y=[""]), "two": entry("two", Y=[""])})


@pytest.mark.parametrize(
    ("item", "claims", "tests", "status"),
    [
        (Item("Z"), {}, {}, "open"),
        (Item("Z"), {}, {"Z": ["tests/test_z.py"]}, "computed"),
        (Item("Z", points_to=("X", "Y")), {}, {}, "same-as"),
        (Item("Z", excluded="it needs a thousand machines"), {}, {}, "excluded"),
        (Item("X"), {}, {}, "open"),
        (Item("X"), {"one": recorded(X="holds")}, {}, "holds"),
        (Item("X"), {"one": recorded(X="inconclusive")}, {}, "failing"),
        (Item("Y"), {"one": recorded(Y="holds")}, {}, "open"),
        (Item("Y"), {"one": recorded(Y="holds"), "two": recorded(Y="refuted")}, {}, "failing"),
        (Item("X", errata=(Erratum("false"),)), {"one": recorded(X="holds")}, {}, "open"),
        (Item("X", errata=(Erratum("false"),)), {"one": recorded(errata=("Xa",), X="holds")}, {}, "refuted-as-printed"),
        (Item("X", errata=(Erratum("false", main=False),)), {"one": recorded(X="holds")}, {}, "open"),
        (Item("X", errata=(Erratum("false", main=False),)), {"one": recorded(errata=("Xa",), X="holds")}, {}, "holds"),
        (Item("X", errata=(Erratum("imprecise"),)), {"one": recorded(X="holds")}, {}, "holds"),
        (Item("Z", errata=(Erratum("false", "Za"),)), {}, {"Z": ["tests/test_z.py"]}, "open"),
        (Item("X", errata=(Erratum("notation"),)), {"one": recorded(X="holds")}, {}, "holds"),
    ],
)
def test_status_follows_from_the_ledger(item, claims, tests, status):
    assert statuses([item], CATALOGUE, Ledger(claims, tests))[item.id].status == status


def test_every_status_is_worded_and_coloured():
    from deeptheory.cli.display import COLOURS
    from deeptheory.report import wording

    assert wording.STATUSES is STATUSES
    assert set(STATUSES) <= set(COLOURS)


def test_a_stale_record_says_so():
    book = Ledger({"one": recorded(source="older", X="holds")})
    assert "changed" in statuses([Item("X")], CATALOGUE, book)["X"].reason


def test_an_item_that_points_elsewhere_names_all_its_targets():
    assert statuses([Item("Z", points_to=("X", "Y"))], CATALOGUE, Ledger())["Z"].reason == "the same as X, Y"


def test_an_item_says_what_fell_beside_its_statement():
    remark = Item("X", errata=(Erratum("false", main=False),))
    found = statuses([remark], CATALOGUE, Ledger({"one": recorded(errata=("Xa",), X="holds")}))["X"]
    assert found.refuted == ("Xa",) and "Xa" in found.reason


def test_the_ledger_survives_saving(tmp_path):
    ledger().save(tmp_path)
    assert read(tmp_path) == ledger()


def test_what_two_branches_record_is_joined_by_git(tmp_path):
    git = lambda *words: subprocess.run(["git", *words], cwd=tmp_path, check=True, capture_output=True)  # noqa: E731
    git("init", "-b", "main")
    git("config", "user.email", "a@b.c")
    git("config", "user.name", "a")
    (tmp_path / ".gitattributes").write_text((Path(__file__).parents[1] / ".gitattributes").read_text())
    folder = tmp_path / "src" / "deeptheory" / "ledger"
    folder.mkdir(parents=True)
    names = {name: entry(name) for name in ("a", "m", "n", "z")}
    known = Catalogue("", names)

    def commit(*claims):
        record([Ran(name) for name in claims], known, folder)
        git("add", "-A")
        git("commit", "-m", " ".join(claims))

    commit("a", "z")
    git("checkout", "-b", "other")
    commit("m")
    git("checkout", "main")
    commit("n")
    git("merge", "other")
    assert set(read(folder).claims) == set(names)


def test_a_damaged_line_is_named(tmp_path):
    (tmp_path / "room.jsonl").write_text("<<<<<<< HEAD\n")
    with pytest.raises(ValueError, match=r"line 1 of .*room\.jsonl is no record of the ledger: '<<<<<<< HEAD'"):
        read(tmp_path)


@dataclass(frozen=True)
class Ran:
    claim: str
    verdict: str = "holds"
    items: dict = field(default_factory=dict)
    strength: str = ""
    resolution: float | None = None
    controls: tuple = ()
    seed: int = 0
    source: str = "hash"


def test_recording_merges_says_what_changed_and_touches_nothing_else(tmp_path):
    known = Catalogue("", {"one": entry("one"), "two": replace(entry("two"), subject="other")})
    assert str(record([Ran("one"), Ran("two")], known, tmp_path)) == "the ledger: 2 new (one, two)"
    untouched = (tmp_path / "other.jsonl").stat().st_mtime_ns
    assert str(record([Ran("one", "refuted")], known, tmp_path)) == "the ledger: 1 changed (one)"
    assert (tmp_path / "other.jsonl").stat().st_mtime_ns == untouched
    assert {name: line.verdict for name, line in read(tmp_path).claims.items()} == {"one": "refuted", "two": "holds"}
    assert str(record([Ran("one", "refuted")], known, tmp_path)) == "the ledger: nothing changed"
    gone = Catalogue("", {"two": known.claims["two"]})
    assert str(record([], gone, tmp_path)) == "the ledger: 1 dropped (one)"
    assert [path.name for path in tmp_path.iterdir()] == ["other.jsonl"]


def test_recording_one_test_file_keeps_the_others(tmp_path):
    (tmp_path / "tests" / "room").mkdir(parents=True)
    for name, item in (("test_a", "A1.1"), ("test_b", "A1.2")):
        (tmp_path / "tests" / "room" / f"{name}.py").write_text(f'@pytest.mark.item("{item}")\n')
    book = tmp_path / "ledger"
    a, b = "tests/room/test_a.py", "tests/room/test_b.py"
    record_tests({"A1.1": {a}, "A1.2": {b}}, tmp_path, book)
    record_tests({"A1.1": {a}}, tmp_path, book)
    assert read(book).tests == {"A1.1": [a], "A1.2": [b]}
    (tmp_path / b).write_text("")
    told = record_tests({}, tmp_path, book)
    assert read(book).tests == {"A1.1": [a]}
    assert str(told) == f"the ledger: 1 dropped (A1.2 in {b})"


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
