"""The command that begins a claim: mathematics, its test, the claim and its control, as stubs to fill in."""

import re
import textwrap
from pathlib import Path
from typing import Annotated

import typer

from deeptheory import books
from deeptheory.cli.app import AUTHORS, PATH, Refused, app, complete, complete_room
from deeptheory.lab.entries import PACKAGE, catalogue
from deeptheory.lab.records import REFUTABLE

MATHEMATICS = '''"""{title}."""

from deeptheory.foundations.entrances import doors

__all__ = ["{quantity}"]


def {quantity}(x: float) -> float:
    """Return … in one plain sentence.

    The formula, what every argument is and in which range, when not to use it.

    Reference: {place}.
    """
    raise NotImplementedError


doors(__name__, x="(0, ∞)")
'''

TEST = '''"""{title}: compared with an independent calculation."""

import numpy as np
import pytest

from deeptheory.{room}.{theme} import {quantity}


@pytest.mark.item("{item}")
def test_{quantity}_by_hand():
    """A value worked out by hand, by enumeration or by another algorithm; never by the same formula."""
    assert np.isclose({quantity}(1.0), 1.0)
'''

CLAIM = '''"""{title} ({place})."""

from dataclasses import replace

import numpy as np

from deeptheory.lab import Identity, claim
from deeptheory.lab.pictures import Curves, Dots, Line
from deeptheory.{room}.{theme} import {quantity}


@claim(
    items={{"{item}": ""}},
    says=r"One sentence of our own, mathematics between dollar signs.",
    needs="its hypotheses",
    symbols={{"x": "what each symbol of the statement stands for, in order of appearance"}},
    why="The idea in two to five sentences of our own, not the proof.",
    notice="What is to be seen in the picture, and where the rival goes wrong.",
)
def {name}():
    x = np.linspace(0.5, 2.0, 7)
    predicted = np.array([{quantity}(each) for each in x])
    observed = np.ones(7)  # by another route
    return Identity(observed, predicted, along={{"x": x}})


{control}


@{name}.picture
def drawn(pieces):
    """One sentence that says what is drawn: it becomes the caption."""
    found = pieces[""]
    x = found.along["x"]
    return Curves([Line("predicted", x, found.right), Dots("observed", x, found.left)], x="x", y="value")
'''

PRINTED = """{comment}
@{name}.control("…, as printed", erratum="{id}")
def as_printed(evidence):
    return replace(evidence, right=0.0 * evidence.right)"""

RIVAL = """@{name}.control("the nearest formula that someone might believe")
def rival(evidence):
    return replace(evidence, right=0.0 * evidence.right)"""


@app.command(rich_help_panel=AUTHORS)
def new(
    name: Annotated[str, typer.Argument(help="what the claim says, as a name: words_joined_like_this")],
    item: Annotated[str, typer.Option("--item", help="the item it checks", autocompletion=complete)],
    room: Annotated[
        str | None, typer.Option(help="the room, where it is not the item's own", autocompletion=complete_room)
    ] = None,
    topic: Annotated[str | None, typer.Option(help="the topic inside the room, where it has topics")] = None,
    root: Annotated[
        Path | None, typer.Option(help="the source tree to write into", show_default="this one", **PATH)
    ] = None,
) -> None:
    """Mathematics, test, claim and control, as stubs."""
    if not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)+", name):
        raise Refused(f"a claim is named by two or more small words joined by _, not {name!r}")
    if name in catalogue().claims:
        raise Refused(f"there is a claim named {name} already, in {catalogue().claims[name].module}")
    found = books.find(item)
    if len(found) != 1:
        near = ", ".join(each.id for each in found[:4]) or ", ".join(books.nearest(item))
        raise Refused(f"{item!r} names {len(found)} items; name one" + (f": {near}" if near else ""))
    rooms = sorted({each.room for each in books.items()})
    if room is not None and room not in rooms:
        raise Refused(f"no room is called {room!r}; the rooms are {', '.join(rooms)}")
    if topic is not None and not re.fullmatch(r"[a-z][a-z0-9_]*", topic):
        raise Refused(f"a topic is named by small words joined by _, not {topic!r}")
    tree = root or PACKAGE.parents[1]
    if not (tree / "src" / "deeptheory").is_dir():
        raise Refused(f"{tree} is no source tree of deeptheory; clone the project, or name one with --root")
    place = Path(room or found[0].room) / (topic or "")
    written = {
        tree / "src" / "deeptheory" / place / f"{name}.py": MATHEMATICS,
        tree / "tests" / place / f"test_{name}.py": TEST,
        tree / "src" / "deeptheory" / "claims" / place / f"{name}.py": CLAIM,
    }
    if existing := [path for path in written if path.exists()]:
        raise Refused(f"{existing[0]} exists already")
    words = _words(name, found[0], ".".join(place.parts))
    for path, template in written.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        for folder in (path.parent, path.parent.parent) if topic else (path.parent,):
            if "tests" not in folder.parts and not (folder / "__init__.py").exists():
                (folder / "__init__.py").write_text(f'"""{folder.name.replace("_", " ").capitalize()}."""\n')
        path.write_text(template.format(**words))
        print(path)
    print(f"Fill them in, in this order, then `deeptheory calibrate {name}` and `deeptheory check {name} --record`")


def _comment(text: str) -> str:
    return "\n".join(f"# {line}" for line in textwrap.wrap(text, 116, break_long_words=False))


def _words(name: str, item: books.Item, room: str) -> dict[str, str]:
    refutable = [erratum for erratum in item.errata if erratum.kind in REFUTABLE]
    controls = [
        PRINTED.format(name=name, id=e.id, comment=_comment(f"{e.id}, {e.at}. Printed: {e.printed} → {e.corrected}"))
        for e in refutable
    ] or [RIVAL.format(name=name)]
    return {
        "name": name,
        "item": item.id,
        "room": room,
        "theme": name,
        "quantity": f"{name}_value",
        "title": item.title,
        "place": f"{item.book} {item.where[0]}",
        "control": "\n\n\n".join(controls),
    }
