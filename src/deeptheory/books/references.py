"""The books' own numbers: "Thm 11.1.1", "eqs. 8.12–8.21", "Ch. 5 Problem 2(a)–(d)", however a reader spells them."""

import re
from typing import NamedTuple

__all__ = ["Reference", "fits", "numbers", "reference"]

# fmt: off
LABELS = (
    "theorem", "lemma", "proposition", "corollary", "definition", "remark", "example", "problem", "exercise", "claim",
    "assumption", "algorithm", "equation", "section", "figure", "table", "listing", "footnote",
)
# fmt: on
IRREGULAR = {"thm": "theorem", "defn": "definition", "eqn": "equation", "§": "section"}

# Compiled by `re` when first used, not at import.
PLACE = r"""
    (?: (?:chapter|chap|ch|week) \W* (?P<chapter>\d+) \W* )?
    (?: (?P<label>[^\W\d]+|§+) [\s.:]* )?
    \(? (?P<first>\d+(?:[.-]\d+)*|\bsa\b)? \)?
    (?: \s*[–—-]\s* \(? (?P<last>\d+(?:\.\d+)*) \)? )?
    (?: \(? (?P<part>[a-z]) \)? (?: \s*[–—-]\s* \(? (?P<until>[a-z]) \)? )? )?
    \W*
"""

Number = tuple[int | str, ...]


class Reference(NamedTuple):
    """A place in a book: its chapter if said, the labels it may carry (none: any), its numbers, and its parts."""

    chapter: int | None
    labels: frozenset[str]
    first: Number
    last: Number
    parts: tuple[str, str] | None


def reference(text: str) -> Reference | None:
    """Read a place, as printed or as typed; None if the text is not one."""
    match = re.fullmatch(PLACE, text.strip().casefold(), re.VERBOSE)
    if match is None or not (match["first"] or match["chapter"]):
        return None
    labels = _labels(match["label"])
    if labels is None or (match["label"] and not match["first"]):
        return None
    first = _number(match["first"] or "")
    last = _number(match["last"]) if match["last"] else first
    parts = (match["part"], match["until"] or match["part"]) if match["part"] else None
    return Reference(int(match["chapter"]) if match["chapter"] else None, labels, first, last, parts)


def numbers(printed: Reference) -> set[Number]:
    """All numbers by which a printed place may be looked up; "Ch. 5 Problem 2" also answers to 5.2."""
    if not printed.first:
        return set()
    start, end = printed.first[-1], printed.last[-1]
    found: set[Number] = {printed.first}
    if isinstance(start, int) and isinstance(end, int):
        found = {(*printed.first[:-1], n) for n in range(start, end + 1)}
    if printed.chapter is not None:
        found |= {(printed.chapter, *number) for number in found}
    return found


def fits(wanted: Reference, printed: Reference, chapter: int) -> bool:
    """Whether a printed place, of an item of that chapter, is the wanted one, given that their numbers agree."""
    if wanted.labels and not wanted.labels & printed.labels:
        return False
    if wanted.chapter is not None and wanted.chapter != (printed.chapter or chapter):
        return False
    if wanted.parts is None or printed.parts is None:
        return True
    return printed.parts[0] <= wanted.parts[1] and wanted.parts[0] <= printed.parts[1]


def _labels(word: str | None) -> frozenset[str] | None:
    """What a label may stand for ("ex" is an example or an exercise); None if it is no label."""
    if not word:
        return frozenset()
    for spelling in (word, word.removesuffix("s"), word[:1]):
        if spelling in IRREGULAR:
            return frozenset({IRREGULAR[spelling]})
        if len(spelling) >= 2 and (found := frozenset(label for label in LABELS if label.startswith(spelling))):
            return found
    return None


def _number(text: str) -> Number:
    return tuple(int(piece) if piece.isdigit() else piece for piece in re.split(r"[.-]", text)) if text else ()
