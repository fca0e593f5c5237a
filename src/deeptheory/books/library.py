"""The shelf: every item of the four books, found by its id, by the book's own number, or by words of its title.

The JSON files beside this module are the source of truth; they are read once, when first asked for.
"""

import functools
import json
import pkgutil  # importlib.resources would cost a quarter of the time to load
import re
import unicodedata
from dataclasses import dataclass
from typing import Any

from deeptheory.books.references import Number, Reference, fits, numbers, reference

__all__ = ["Book", "Chapter", "Erratum", "Item", "books", "find", "item", "items", "nearest"]

SHELF = ("arora", "handbook", "lucchi", "jagannath")
BOOK = rf"\b({'|'.join(SHELF)})\b(?:['’]s)?[,:;]*"
"""How a reader names a book."""
UNSAID = {"a", "an", "and", "as", "at", "by", "for", "from", "in", "is", "of", "on", "or", "the", "to", "with"}
"""Words that say nothing about an item."""


@dataclass(frozen=True)
class Erratum:
    """What is wrong with one sentence of an item as printed, and how it should read.

    `id` is the item's with a letter ("A2.26a"), `at` where the sentence stands, and `main` says whether it is the
    item's own statement, or a remark, a display or an example beside it. `kind` is the class of the defect: `false`
    (a counterexample within the stated hypotheses), `missing-hypothesis` (true only under a hypothesis that is not
    stated), `imprecise` (informal wording that a reader could take wrongly), `undefined` (a symbol or base case is not
    defined), `loose` (weaker than what is proved), `proof-only` (the statement stands, a step of its proof does not),
    `notation`, or `attribution`. Only the first two can be refuted.
    """

    id: str
    kind: str
    at: str
    main: bool
    printed: str
    corrected: str


@dataclass(frozen=True)
class Chapter:
    """A chapter (of the handbook: a week)."""

    number: int
    title: str


@dataclass(frozen=True)
class Item:
    """One entry of a book: a model, theorem, bound, experiment, exercise…

    `where` are the book's own numbers, the first the most telling; `room` is the part of the package where its
    mathematics lives, or will; `check` says whether there is a statement to check;
    `points_to` are the items that one without content of its own points to; `excluded` says why no scale at which
    an item could be run would mean anything.
    """

    id: str
    book: str
    chapter: int
    where: tuple[str, ...]
    kind: str
    room: str
    title: str
    check: bool
    points_to: tuple[str, ...] = ()
    errata: tuple[Erratum, ...] = ()
    excluded: str = ""


@dataclass(frozen=True)
class Book:
    """One of the four texts; `page` is its page on the web, or that of its course."""

    id: str
    title: str
    authors: tuple[str, ...]
    edition: str
    date: str
    chapters: tuple[Chapter, ...]
    items: tuple[Item, ...]
    page: str = ""


@functools.cache
def books() -> tuple[Book, ...]:
    """The four books."""
    return tuple(_read(name) for name in SHELF)


@functools.cache
def items() -> tuple[Item, ...]:
    """All items, book by book in the order of the text."""
    return tuple(each for book in books() for each in book.items)


def item(id: str) -> Item:
    """The item with this id, in either case."""
    if (found := _by_id().get(id.strip().upper())) is None:
        near = nearest(id)
        raise ValueError(f"no item is called {id!r}" + (f"; the nearest are {', '.join(near)}" if near else ""))
    return found


def find(text: str) -> list[Item]:
    """The items that a reader means, best first; none if nothing fits.

    An id ("A11.10"), a number of a book ("arora thm 11.1.1", "lucchi eq. 5.9", "jagannath ch. 14 eq 1.3", "handbook
    week 3"; without a book's name, in all of them), or words of titles ("marchenko pastur", "arora dropout").
    """
    plain = " ".join(text.split()).casefold()
    if (found := _by_id().get(plain.upper())) is not None:
        return [found]
    named = set(re.findall(BOOK, plain))
    rest = re.sub(BOOK, " ", plain).strip()
    if not rest:
        return [each for each in items() if each.book in named]
    wanted = reference(rest)
    fitting = _words(rest) if wanted is None else _numbered(wanted)
    return [each for each in fitting if not named or each.book in named]


def nearest(text: str, n: int = 3) -> list[str]:
    """The `n` names that look most like `text`, for messages: ids for an id, numbers for a number, else titles."""
    import difflib  # only messages need it

    plain = " ".join(text.split()).casefold()
    if re.fullmatch(r"\w?\d+(\.\d*)?", plain):
        names = [each.id for each in items()]
    elif any(sign.isdigit() for sign in plain):
        names = [f"{each.book} {place}" for each in items() for place in each.where]
    else:
        vocabulary = sorted({word for _, title in _titles() for word in title})
        meant = [(difflib.get_close_matches(word, vocabulary, 1) or [word])[0] for word in _spelt(plain)]
        if found := _words(" ".join(meant)):
            return list(dict.fromkeys(each.title for each in found))[:n]
        names = [each.title for each in items()]
    known = {name.casefold(): name for name in names}
    return [known[name] for name in difflib.get_close_matches(plain, known, n, 0.3)]


def _read(name: str) -> Book:
    record = json.loads(pkgutil.get_data("deeptheory.books", f"{name}.json") or "")
    return Book(
        id=record["id"],
        title=record["title"],
        authors=tuple(record["authors"]),
        edition=record["edition"],
        date=record["date"],
        chapters=tuple(Chapter(int(number), title) for number, title in record["chapters"].items()),
        items=tuple(_item(name, each) for each in record["items"]),
        page=record.get("page", ""),
    )


def _item(book: str, record: dict[str, Any]) -> Item:
    errata = record.get("errata", ())
    return Item(
        id=record["id"],
        book=book,
        chapter=record["chapter"],
        where=tuple(record["where"]),
        kind=record["kind"],
        room=record["room"],
        title=record["title"],
        check=record["check"],
        points_to=tuple(record.get("same_as", ())),
        errata=tuple(
            Erratum(each["id"], each["class"], each["at"], each["main"], each["printed"], each["corrected"])
            for each in errata
        ),
        excluded=record.get("excluded", ""),
    )


@functools.cache
def _by_id() -> dict[str, Item]:
    return {each.id: each for each in items()}


# By the book's own number ---------------------------------------------------------------------------------------------


@functools.cache
def _by_number() -> dict[Number, list[tuple[Item, Reference]]]:
    found: dict[Number, list[tuple[Item, Reference]]] = {}
    for each in items():
        for place in each.where:
            if (printed := reference(place)) is not None:
                for number in numbers(printed):
                    found.setdefault(number, []).append((each, printed))
    return found


def _numbered(wanted: Reference) -> list[Item]:
    if not wanted.first:
        return [each for each in items() if each.chapter == wanted.chapter]
    placed = _by_number().get(wanted.first, [])
    return list(dict.fromkeys(each for each, printed in placed if fits(wanted, printed, each.chapter)))


# By words -------------------------------------------------------------------------------------------------------------


def _words(text: str) -> list[Item]:
    """Items whose titles (or kinds) contain all words, or if there is none, more than half of them."""
    wanted = [word for word in _spelt(text) if word not in UNSAID]
    if not wanted:
        return []
    ranked = []
    for order, (each, title) in enumerate(_titles()):
        exact = sum(word in title or word == each.kind for word in wanted)
        matched = sum(word == each.kind or any(_alike(word, other) for other in title) for word in wanted)
        ranked.append((-matched, -exact, len(title), order, each))
    best = -min(ranked)[0]
    if 2 * best <= len(wanted):
        return []
    return [each for matched, *_, each in sorted(ranked) if -matched == best]


@functools.cache
def _titles() -> list[tuple[Item, tuple[str, ...]]]:
    return [(each, tuple(_spelt(each.title))) for each in items()]


def _spelt(text: str) -> list[str]:
    """The words of a text without accents, capitals and signs."""
    bare = unicodedata.normalize("NFKD", text.casefold().replace("ł", "l").replace("'s", ""))
    return re.findall(r"[^\W_]+", "".join(sign for sign in bare if not unicodedata.combining(sign)))


def _alike(word: str, other: str) -> bool:
    """Whether one word is the other, its beginning (four letters at least), or its plural."""
    if word == other or (len(word) >= 4 and other.startswith(word)):
        return True
    return len(other) >= 4 and len(word) - len(other) <= 2 and word.startswith(other)
