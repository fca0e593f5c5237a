"""Rules of the house that no eye can check: controls for every item, and what packages and modules may be."""

import ast
import re
import tomllib
from collections import Counter
from pathlib import Path

import pytest

import deeptheory
from deeptheory.lab.entries import catalogue
from deeptheory.lab.records import ledger

HOUSE = Path(deeptheory.__file__).parent
HOLDING_CODE = {"cli", "report/pictures"}
"""Packages whose `__init__` still does something itself."""
ABOVE_THE_ROOMS = {"books", "claims", "cli", "lab", "report"}
PACKAGES = [
    path for path in sorted(HOUSE.rglob("__init__.py")) if path.parent.relative_to(HOUSE).as_posix() not in HOLDING_CODE
]


def fallen_pieces(entry):
    """The pieces of evidence on which some control of a claim must fall; None among them where it is not said which."""
    declared = {control["name"] for control in entry.controls}
    recorded = ledger().claims[entry.name].controls if entry.name in ledger().claims else {}
    exponents = [re.fullmatch(r"(?:(.*): )?exponent \S+", name) for name in recorded if name not in declared]
    return {control["of"] for control in entry.controls} | {found[1] or "" for found in exponents if found}


def test_every_item_has_a_control_on_a_piece_that_serves_it():
    for entry in catalogue().claims.values():
        fallen = fallen_pieces(entry)
        for item, pieces in entry.items.items():
            assert fallen & set(pieces) or (pieces == [""] and fallen), f"{entry.name}: no control falls on {item}"


def test_no_control_is_the_claim_turned_round():
    """That an effect has the other sign is refuted by any effect: a rival that lacks the ingredient is not."""
    turned = [
        f"{path.relative_to(HOUSE)}:{node.lineno}"
        for path in (HOUSE / "claims").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.keyword) and node.arg == "differences" and isinstance(node.value, ast.UnaryOp)
        if "evidence.differences" in ast.unparse(node.value)
    ]
    assert not turned, turned


def test_no_item_rests_on_two_formulas_of_ours_alone():
    for entry in catalogue().claims.values():
        for item, pieces in entry.items.items():
            assert set(pieces) - set(entry.consistency), f"{entry.name}: {item} is only consistent with itself"


def test_a_folder_can_be_taken_in_at_a_glance():
    """Above this the subject is divided into topics; below, names and the package's map are enough."""
    sizes = Counter(path.parent.relative_to(HOUSE).as_posix() for path in HOUSE.rglob("*.py"))
    assert {folder: size for folder, size in sizes.items() if size > 30} == {}


def test_every_room_is_under_the_contract_of_imports():
    """A room that is not listed in the contracts may borrow from any other, and nobody is told."""
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())
    below, layers, laboratory = project["tool"]["importlinter"]["contracts"][:3]
    rooms = {path.parent.name for path in HOUSE.glob("*/__init__.py")} - ABOVE_THE_ROOMS
    assert {name.removeprefix("deeptheory.") for name in below["source_modules"]} >= rooms
    assert set(re.findall(r"\w+", " ".join(layers["layers"]))) == rooms
    known = rooms - {"foundations", "neural_tangents"}
    assert {name.removeprefix("deeptheory.") for name in laboratory["forbidden_modules"]} >= known


def test_no_module_is_named_like_a_function_it_holds():
    same = set()
    for path in HOUSE.rglob("*.py"):
        held = {node.name for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)}
        if path.stem in held and path.relative_to(HOUSE).parts[0] != "claims":
            same.add(path.relative_to(HOUSE).as_posix())
    assert not same, "a package cannot show both the module and its function"


@pytest.mark.parametrize("path", PACKAGES, ids=lambda path: path.parent.name)
def test_a_package_is_a_docstring_and_names(path):
    tree = ast.parse(path.read_text())
    assert ast.get_docstring(tree), "a package's docstring is its map"
    names = Counter(
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    )
    names.update(
        node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )
    assert [name for name, times in names.items() if times > 2] == [], (
        "a name is listed where it is imported, and in __all__"
    )
    assert [ast.unparse(node) for node in tree.body[1:] if not _names(node)] == []


def _names(node):
    """Whether a statement only names things: an import, what Python looks for in a package, a call made of words."""
    if isinstance(node, ast.If):
        return all(map(_names, node.body))
    if isinstance(node, ast.Assign):
        return all(re.fullmatch(r"__\w+__(, __\w+__)*", ast.unparse(target).strip("()")) for target in node.targets)
    if isinstance(node, ast.FunctionDef):
        return node.name in ("__dir__", "__getattr__")
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        return all(isinstance(each.value, ast.Constant) for each in (*node.value.args, *node.value.keywords))
    return isinstance(node, (ast.Import, ast.ImportFrom))
