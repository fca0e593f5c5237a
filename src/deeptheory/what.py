"""What a user means: a claim, an item of a book, a book, a subject, or everything. Answers without importing JAX."""

import difflib
import re
from collections.abc import Sequence

from deeptheory import books
from deeptheory.lab.catalogue import Catalogue, Entry, catalogue

__all__ = ["Unknown", "entries", "items_of"]


class Unknown(ValueError):
    """Nothing is called so; the message names what is nearest."""


def entries(names: Sequence[str]) -> list[Entry]:
    """The claims that these words name, each once, in the order of the catalogue."""
    known = catalogue()
    chosen: set[str] = set()
    for name in names or ("all",):
        found = _claims(name, known)
        if not found:
            chosen_items = items_of(name)
            if chosen_items:
                raise Unknown(f"no claim checks {_titles(chosen_items)} yet")
            raise _unknown(name, known)
        chosen |= found
    return [entry for entry in known.claims.values() if entry.name in chosen]


def items_of(name: str) -> list[books.Item]:
    """The items that a word names: an id, a book's own number, or words of a title."""
    return books.find(name)


def _claims(name: str, known: Catalogue) -> set[str]:
    plain = re.sub(r"[\s-]+", "_", name.strip().lower())
    if plain == "all":
        return set(known.claims)
    if plain in known.claims:
        return {plain}
    if plain in known.subjects():
        return {entry.name for entry in known.subjects()[plain]}
    if plain in {book.id for book in books.books()}:
        ids = {item.id for item in books.items() if item.book == plain}
        return {entry.name for entry in known.claims.values() if ids & set(entry.items)}
    found = items_of(name)
    return {entry.name for item in found for entry in known.serving(item.id)}


def _titles(found: list[books.Item]) -> str:
    return ", ".join(item.id for item in found[:3]) + (" …" if len(found) > 3 else "")


def _unknown(name: str, known: Catalogue) -> Unknown:
    words = [
        *known.claims,
        *known.subjects(),
        *(book.id for book in books.books()),
        *(item.id for item in books.items()),
    ]
    lower = {word.lower(): word for word in words}
    plain = re.sub(r"[\s-]+", "_", name.strip().lower())
    near = [lower[word] for word in difflib.get_close_matches(plain, lower, 3, 0.5)]
    near += [word for word in known.claims if plain and plain in word and word not in near][: 3 - len(near)]
    hint = f"; did you mean {', '.join(near)}?" if near else "; `deeptheory list` shows what there is"
    return Unknown(f"nothing is called {name!r}{hint}")
