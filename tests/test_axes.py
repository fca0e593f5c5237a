"""The axes of pictures are named in words: a symbol alone says nothing to who has not read the statement."""

import ast
import re
from pathlib import Path

import deeptheory.claims

CLAIMS = Path(deeptheory.claims.__path__[0])
PANELS = {"Curves", "Field", "HeatMap", "Histogram", "Plane", "Relief", "Surface", "dict"}
"""What takes the names of axes: panels, and settings that several panels share."""


def labels():
    """Place and text of every name of an axis that is written out in a claim."""
    for path in sorted(CLAIMS.rglob("*.py")):
        for call in ast.walk(ast.parse(path.read_text())):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in PANELS:
                for given in call.keywords:
                    if given.arg in ("x", "y", "value") and isinstance(given.value, ast.Constant | ast.JoinedStr):
                        yield f"{path.relative_to(CLAIMS)}:{given.value.lineno}", ast.unparse(given.value)[1:-1]


def test_axes_have_a_word():
    found = list(labels())
    assert len(found) > 100
    assert [(place, label) for place, label in found if not re.search(r"[A-Za-z]{3}", label)] == []
