"""Subjects as short courses: an introduction, and themes in an order in which each comes after what it builds on."""

import functools
import importlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deeptheory.books.library import SHELF
from deeptheory.report.wording import heading

if TYPE_CHECKING:
    from deeptheory.lab.entries import Entry

__all__ = ["Theme", "course", "courses"]


@dataclass(frozen=True)
class Theme:
    """A step of a course: what it is about, the claims it consists of, and the steps and subjects it builds on."""

    name: str
    title: str
    about: str
    claims: tuple[str, ...]
    after: tuple[str, ...]
    """Themes of the same subject, and other subjects, to read before."""


@functools.cache
def courses() -> dict[str, dict[str, Any]]:
    """By subject the introduction, and the themes in order with what each builds on: `courses/SUBJECT.md`.

    A file is a paragraph, then a line a theme: `- ridge_path: after pseudo_inverses, marchenko_pastur`.
    """
    found = {}
    for path in sorted((Path(__file__).parent / "courses").glob("*.md")):
        introduction, _, list_of_themes = path.read_text("utf-8").partition("\n\n")
        lines = [line.removeprefix("- ").partition(": after ") for line in list_of_themes.splitlines()]
        themes = {theme: after.split(", ") if after else [] for theme, _, after in lines}
        found[path.stem] = {"introduction": introduction, "themes": themes}
    return found


def course(subject: str, entries: "list[Entry]") -> tuple[str, list[Theme]]:
    """The introduction to a subject and the themes of these claims; one that no course names comes at the end."""
    known = courses().get(subject, {"introduction": "", "themes": {}})
    order = list(known["themes"])
    found: dict[str, list[Entry]] = {}
    for entry in sorted(entries, key=lambda each: order.index(each.theme) if each.theme in order else len(order)):
        found.setdefault(entry.theme, []).append(entry)
    return known["introduction"], [
        Theme(
            name,
            heading(name),
            about(group[0].module),
            tuple(entry.name for entry in group),
            tuple(each for each in known["themes"].get(name, ()) if each in found or each not in order),
        )
        for name, group in found.items()
    ]


def about(module: str) -> str:
    """What the file of a theme says of itself, in a sentence; nothing where it cannot be read."""
    try:
        said = importlib.import_module(module).__doc__ or ""
    except ImportError:
        return ""
    first = " ".join(said.split("\n\n")[0].split())
    return re.sub(rf"\b({'|'.join(SHELF)})\b(?= \d|, chapter)", lambda found: found[0].capitalize(), first)
