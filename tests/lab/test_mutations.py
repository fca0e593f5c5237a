"""Wrong versions of mathematics: what is changed, what is left alone, and how a check meets them."""

import ast
import warnings
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import jax
import numpy as np
import pytest

import deeptheory
from deeptheory.lab import attack, run
from deeptheory.lab.attack import equivalents, mutated, tried
from deeptheory.lab.checking import workers
from deeptheory.lab.mutations import mutants
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
    return {(each.before, each.after) for each in mutants("m", source, set(range(1, 50)))}


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


def test_every_mutant_parses_and_keeps_its_lines():
    for each in mutants("m", SOURCE, set(range(1, 50))):
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
        lines = path.read_text().splitlines()
        at = {number for number, line in enumerate(lines, 1) if line.strip() == each["line"]}
        found = [made for made in mutants("deeptheory.m", path.read_text(), at) if made.function == name]
        told = {(each.get("before", made.before), each.get("after", made.after)) for made in found}
        assert told & {(made.before, made.after) for made in found}, each


def all_of(module, function):
    source = Path(module.__file__).read_text()
    return [each for each in mutants(module.__name__, source, set(range(1, 500))) if each.function == function]


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
        assert pool.submit(tried, "dropout_is_the_squared_nuclear_norm", chosen, 300.0).result()


@pytest.mark.filterwarnings("error")
def test_what_a_mutant_warns_of_is_not_said(monkeypatch):
    def execute(claim, *, hasty):
        assert hasty
        warnings.warn("overflow encountered in square", RuntimeWarning, stacklevel=1)
        return SimpleNamespace(verdict="refuted", reason="2 against 1")

    monkeypatch.setattr(run, "execute", execute)
    monkeypatch.setattr(attack, "load", lambda name: None)
    monkeypatch.setattr(attack, "mutated", lambda mutant: nullcontext())
    assert tried("some_claim", None, 60.0) == "refuted: 2 against 1"
