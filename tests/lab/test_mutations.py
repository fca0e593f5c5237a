"""Wrong versions of mathematics: what is changed, what is left alone, and how a check meets them."""

import ast
import warnings
from concurrent.futures import Future
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import jax
import numpy as np
import pytest

import deeptheory
from deeptheory.lab import attack
from deeptheory.lab.attack import equivalents, mutated, tried
from deeptheory.lab.checking import workers
from deeptheory.lab.mutations import Ran, mutants
from deeptheory.names import entries
from deeptheory.networks import tent
from deeptheory.networks.tent import sawtooth
from deeptheory.regularization import factors

SOURCE = '''
def area(width, height):
    """Twice two is 4."""
    inside(0, 1, width=width)
    if width > 3:
        raise ValueError(f"{2 * width}")
    return jnp.sum(jnp.sqrt(
        2.0 * width), axis=-1) ** 2 + (width @ height).T
'''


def changes(source=SOURCE):
    return {(each.before, each.after) for each in mutants("m", source)}


def test_slips_that_people_make_are_made():
    found = changes()
    for slip in [
        ("2.0", "2.2"),
        ("2.0 * width", "width"),
        ("2.0 * width", "2.0 / width"),
        ("jnp.sqrt(2.0 * width)", "2.0 * width"),
        ("(width @ height).T", "width @ height"),
        ("2", "3"),
    ]:
        assert slip in found, slip
    assert any(before.startswith("jnp.sum") and after.startswith("jnp.mean") for before, after in found)


def test_guards_messages_and_docstrings_are_left_alone():
    assert not any("width > 3" in before or before == "4" or "inside" in before for before, _ in changes())


def test_tolerances_are_left_alone():
    source = "def close(x, y):\n    return abs(x - y) < 1e-9 * max(x, y) + 64 * np.finfo(x.dtype).eps * x\n"
    assert {before for before, _ in changes(source)} == {
        "abs(x - y) < 1e-09 * max(x, y) + 64 * np.finfo(x.dtype).eps * x",
        "1e-09 * max(x, y) + 64 * np.finfo(x.dtype).eps * x",
        "x - y",
    }
    assert not mutants("m", "def kept(x):\n    return x > 1e-12 * x.scale\n")
    assert [each.after for each in mutants("m", "def above(x):\n    return x > x.scale\n")] == ["x >= x.scale"]


def test_every_mutant_parses_and_keeps_its_lines():
    for each in mutants("m", SOURCE):
        changed = each.applied(SOURCE)
        ast.parse(changed)
        assert changed.count("\n") == SOURCE.count("\n")


def test_equivalent_versions_are_of_lines_that_stand_in_the_source():
    package = Path(deeptheory.__file__).parent
    for each in equivalents(Path(__file__).parents[1] / "equivalents.json"):
        assert each["reason"], each
        *folders, name = each["where"].split(".")
        while not (path := package.joinpath(*folders).with_suffix(".py")).exists():
            name = f"{folders.pop()}.{name}"
        made = mutants(f"deeptheory.{'.'.join(folders)}", path.read_text())
        assert any(attack._alike(each.get("claim", ""), one, each) for one in made if one.function == name), each
        assert each.get("claim", "least_squares_descent") in {entry.name for entry in entries(["all"])}, each


BRANCHING = """
def area(width, height=None, *, turned=False):
    tall = height or 3 * width
    if turned:
        return tall * (width + 5)
    grow = lambda x: x - 7
    total = 0
    for each in (1, 2):
        total = total + (each * 11 if each < 9 else each * 13)
    return total + tall * (2**5 / 64)
"""


@pytest.mark.parametrize("closely", [10**6, 20])
def test_mutants_are_drawn_from_expressions_that_ran(closely, monkeypatch, tmp_path):
    """Of a long run only the lines are known; then all of a line counts."""
    path = tmp_path / "room.py"
    path.write_text(BRANCHING)
    space = {}
    exec(compile(BRANCHING, str(path), "exec"), space)
    monkeypatch.setattr(attack, "PACKAGE", tmp_path)
    monkeypatch.setattr(attack, "CLOSELY", closely)
    seen = {}
    with attack._watching(seen):
        assert space["area"](2.0, 4.0) == 35.0
    spans = [span for code in seen[str(path)].values() for span in code.spans()]
    changed = {each.before for each in mutants("room", BRANCHING, Ran(spans))}
    assert {"each * 11", "11", "total + tall * (2 ** 5 / 64)", "64", "2 ** 5", "each < 9"} <= changed
    assert not changed & {"tall * (width + 5)", "width + 5", "x - 7", "7"}
    assert changed.isdisjoint({"3 * width", "3", "13"}) or closely == 20


def all_of(module, function):
    source = Path(module.__file__).read_text()
    return [each for each in mutants(module.__name__, source) if each.function == function]


def test_a_mutant_stands_wherever_the_function_is_held_and_leaves_no_trace():
    x, held = np.array([0.3]), {"in a table": sawtooth}
    chosen = next(each for each in all_of(tent, "sawtooth") if (each.before, each.after) == ("2", "3"))
    before = held["in a table"](2, x)
    with mutated(chosen):
        assert held["in a table"](2, x) != before
    assert held["in a table"](2, x) == before


def test_compiled_programs_are_made_anew():
    matrix = np.diag([3.0, 1.0])
    compiled = jax.jit(factors.nuclear_norm)
    before = compiled(matrix)
    chosen = next(each for each in all_of(factors, "nuclear_norm") if each.before != each.after)
    with mutated(chosen):
        assert compiled(matrix) != before
    assert compiled(matrix) == before


@pytest.mark.slow
def test_a_claim_notices_a_wrong_penalty():
    chosen = next(each for each in all_of(factors, "induced_regularizer") if each.after == "nuclear_norm(matrix) ** 2")
    with workers(1) as pool:
        assert pool.submit(tried, "dropout_is_the_squared_nuclear_norm", chosen, 300.0, "").result()[0]


class Here:
    """A pool that does the work at once."""

    def submit(self, function, *arguments):
        done = Future()
        try:
            done.set_result(function(*arguments))
        except Exception as problem:
            done.set_exception(problem)
        return done


def test_a_claim_that_does_not_hold_is_not_attacked(monkeypatch):
    run = SimpleNamespace(as_expected=False, verdict="refuted", reason="2 against 1")
    monkeypatch.setattr(attack, "load", lambda name: SimpleNamespace(check=lambda: run))
    with pytest.raises(ValueError, match=r"c0 is not ready to be attacked: it is refuted as it stands.*: 2 against 1"):
        list(attack.attacked(["c0"], Here(), count=1))


def test_only_claims_that_were_drawn_are_run_and_a_reason_may_be_one_claims(monkeypatch):
    mutant = next(each for each in mutants("deeptheory.m", SOURCE) if (each.before, each.after) == ("2.0", "2.2"))
    asked = []
    monkeypatch.setattr(attack, "ground", lambda name: asked.append(name) or attack.Ground(1.0, "", [mutant]))
    monkeypatch.setattr(attack, "tried", lambda name, *_: (True, "refuted") if name < "c5" else (False, attack.UNMOVED))
    names = [f"c{number}" for number in range(9)]
    found = list(attack.attacked(names, Here(), count=5, seed=1))
    assert len(found) == 5 and set(asked) == {each.claim for each in found} and len(asked) == len(set(asked))
    assert all(each.survives == each.unmoved == (each.claim >= "c5") for each in found)
    known = [{"where": "m.area", "claim": "c3", "reason": "said of every area"}]
    told = {each.claim: each for each in attack.attacked(names, Here(), count=9, known=known)}
    assert (told["c3"].noticed, told["c3"].how) == ("equivalent", "said of every area")
    assert {each.noticed for name, each in told.items() if name != "c3"} == {"claim", ""}


@pytest.mark.filterwarnings("error")
def test_what_a_mutant_warns_of_is_not_said(monkeypatch):
    signs = ["refuted: 2 against 1"]

    def check():
        warnings.warn("overflow encountered in square", RuntimeWarning, stacklevel=1)
        return SimpleNamespace(verdict="holds", reason="", blob=b"evidence")

    monkeypatch.setattr(attack, "_first_sign", lambda claim: signs[-1])
    monkeypatch.setattr(attack, "load", lambda name: SimpleNamespace(check=check))
    monkeypatch.setattr(attack, "mutated", lambda mutant: nullcontext())
    assert tried("some_claim", None, 60.0, "") == (True, "refuted: 2 against 1")
    signs.append("")
    assert tried("some_claim", None, 60.0, "") == (False, attack.MOVED)
    same = attack._digest(SimpleNamespace(blob=b"evidence"))
    assert tried("some_claim", None, 60.0, same) == (False, attack.UNMOVED)
