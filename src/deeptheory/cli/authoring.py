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

WIDTH = 120
"""Of a line."""

MATHEMATICS = '''"""{title}."""

from deeptheory.foundations.entrances import doors

__all__ = ["{quantity}"]


def {quantity}(x: float) -> float:
    """Return … in one plain sentence.

    The formula, what every argument is and in which range, when not to use it.

    Reference: {place}.
    """
    raise NotImplementedError(f"{{__name__}} is to be written")


doors(__name__, x="(0, ∞)")
'''

TEST = '''"""{title}: compared with an independent calculation."""

import numpy as np
{pytest}
{mathematics}


{mark}def test_{quantity}_by_hand():
    """A value worked out by hand, by enumeration or by another algorithm; never by the same formula."""
    assert np.isclose({quantity}(1.0), 1.0)
'''

CLAIM = '''"""{title}{at}."""

from dataclasses import replace

import numpy as np

{imports}


@claim(
    items={items},
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
def {function}(evidence):
    return replace(evidence, right=0.0 * evidence.right)"""

RIVAL = """@{name}.control("the nearest formula that someone might believe")
def rival(evidence):
    return replace(evidence, right=0.0 * evidence.right)"""


@app.command(rich_help_panel=AUTHORS)
def new(
    name: Annotated[str, typer.Argument(help="what the claim says, as a name: words_joined_like_this")],
    item: Annotated[
        str | None, typer.Option("--item", help="the item it checks; none if no book has it", autocompletion=complete)
    ] = None,
    room: Annotated[
        str | None,
        typer.Option(help="the room, where there is no item or it is not the item's own", autocompletion=complete_room),
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
    checked = None if item is None else _item(item)
    rooms = sorted({each.room for each in books.items()})
    if room is not None and room not in rooms:
        raise Refused(f"no room is called {room!r}; the rooms are {', '.join(rooms)}")
    room = room or (checked.room if checked else None)
    if room is None:
        raise Refused(f"name the item it checks with --item or, if no book has it, a --room: {', '.join(rooms)}")
    if topic is not None and not re.fullmatch(r"[a-z][a-z0-9_]*", topic):
        raise Refused(f"a topic is named by small words joined by _, not {topic!r}")
    tree = root or PACKAGE.parents[1]
    if not (tree / "src" / "deeptheory").is_dir():
        raise Refused(f"{tree} is no source tree of deeptheory; clone the project, or name one with --root")
    topics = _topics(tree / "src" / "deeptheory" / "claims" / room)
    if topics and topic is None:
        raise Refused(f"{room} is divided into topics; name one with --topic: {', '.join(topics)}")
    place = Path(room) / (topic or "")
    written = {
        tree / "src" / "deeptheory" / place / f"{name}.py": MATHEMATICS,
        tree / "tests" / place / f"test_{name}.py": TEST,
        tree / "src" / "deeptheory" / "claims" / place / f"{name}.py": CLAIM,
    }
    if existing := [path for path in written if path.exists()]:
        raise Refused(f"{existing[0]} exists already")
    words = _words(name, checked, ".".join(place.parts))
    for path, template in written.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        for folder in (path.parent, path.parent.parent) if topic else (path.parent,):
            if "tests" not in folder.parts and not (folder / "__init__.py").exists():
                (folder / "__init__.py").write_text(f'"""{folder.name.replace("_", " ").capitalize()}."""\n')
        path.write_text(template.format(**words))
        print(path)
    if topics and topic not in topics:
        print(f"{topic} is a new topic, beside {', '.join(topics)}")
    print(
        f"Fill them in, in this order. `deeptheory check {name}` shows how it stands; "
        f"then `deeptheory attack {name}`, `deeptheory calibrate {name}` and `deeptheory check {name} --record`"
    )


def _item(named: str) -> books.Item:
    found = books.find(named)
    if len(found) != 1:
        near = ", ".join(each.id for each in found[:4]) or ", ".join(books.nearest(named))
        raise Refused(f"{named!r} names {len(found)} items; name one" + (f": {near}" if near else ""))
    return found[0]


def _topics(folder: Path) -> list[str]:
    """The topics of a room that has no modules of its own beside them."""
    if any(path.name != "__init__.py" for path in folder.glob("*.py")):
        return []
    return sorted(path.parent.name for path in folder.glob("*/__init__.py"))


def _import(module: str, *names: str) -> str:
    """An import as the formatter writes it."""
    line = f"from {module} import {', '.join(names)}"
    listed = "".join(f"    {name},\n" for name in names)
    return line if len(line) <= WIDTH else f"from {module} import (\n{listed})"


def _comment(text: str) -> str:
    return "\n".join(f"# {line}" for line in textwrap.wrap(text, 116, break_long_words=False))


def _words(name: str, item: books.Item | None, room: str) -> dict[str, str]:
    refutable = [erratum for erratum in item.errata if erratum.kind in REFUTABLE] if item else []
    controls = [
        PRINTED.format(
            name=name,
            id=e.id,
            function="as_printed" if len(refutable) == 1 else f"as_printed_{e.id.lower().replace('.', '_')}",
            comment=_comment(f"{e.id}, {e.at}. Printed: {e.printed} → {e.corrected}"),
        )
        for e in refutable
    ] or [RIVAL.format(name=name)]
    place = f"{item.book} {item.where[0]}" if item else "authors and year"
    quantity, module = f"{name}_value", f"deeptheory.{room}.{name}"
    mathematics = _import(module, quantity)
    laboratory = _import("deeptheory.lab", "Identity", "claim")
    pictures = _import("deeptheory.lab.pictures", "Curves", "Dots", "Line")
    return {
        "name": name,
        "items": f'{{"{item.id}": ""}}' if item else "{}",
        "mark": f'@pytest.mark.item("{item.id}")\n' if item else "",
        "pytest": "import pytest\n" if item else "",
        "quantity": quantity,
        "mathematics": mathematics,
        "imports": "\n".join(sorted([laboratory, pictures, mathematics], key=lambda each: each.split()[1])),
        "title": item.title if item else name.replace("_", " ").capitalize(),
        "place": place,
        "at": f" ({place})" if item else "",
        "control": "\n\n\n".join(controls),
    }
