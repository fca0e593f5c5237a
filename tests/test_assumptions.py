"""What a claim assumes of its settings is tested before any work is done: nobody waits to be refused."""

import ast
import builtins
from pathlib import Path

import pytest

import deeptheory.claims

CLAIMS = sorted(Path(deeptheory.claims.__file__).parent.rglob("*.py"))


def assumed(statement):
    """The calls of `assume` in a statement."""
    calls = (node for node in ast.walk(statement) if isinstance(node, ast.Call))
    return [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == "assume"]


def late(function):
    """Assumptions about settings and constants alone that come after something else."""
    settings = {each.arg for each in function.args.kwonlyargs}
    body = function.body[1:] if ast.get_docstring(function) else function.body
    working, found = False, []
    for statement in body:
        for call in assumed(statement) if working else ():
            names = [node for node in ast.walk(call.args[0]) if isinstance(node, ast.Name)]
            bound = {each.id for each in names if isinstance(each.ctx, ast.Store)}
            used = {each.id for each in names} - bound - set(dir(builtins))
            found += [call] if used & settings and all(each in settings or each.isupper() for each in used) else []
        working = working or not assumed(statement)
    return [ast.unparse(call) for call in found]


@pytest.mark.parametrize("path", CLAIMS, ids=lambda path: path.stem)
def test_assumptions_about_settings_come_first(path):
    tree = ast.parse(path.read_text())
    assert [each for node in tree.body if isinstance(node, ast.FunctionDef) for each in late(node)] == []


def test_one_that_comes_late_is_seen():
    source = "def claim(key, *, sizes):\n    x = work(key)\n    assume(all(n > 3 for n in sizes), 'more')"
    assert late(ast.parse(source).body[0]) == ["assume(all((n > 3 for n in sizes)), 'more')"]
    computed = source.replace("n > 3", "x[n] > 3")
    assert late(ast.parse(computed).body[0]) == []
