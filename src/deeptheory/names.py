"""Names of claims: by claim, item of a book, book, subject, or everything. Answers without importing JAX."""

import difflib
import re
from collections.abc import Iterable, Sequence

from deeptheory import books
from deeptheory.lab.entries import Catalogue, Entry, catalogue
from deeptheory.lab.records import badge, ledger, statuses

__all__ = ["Unknown", "entries", "fallen", "only", "plain"]


class Unknown(ValueError):
    """Nothing is called so; the message names what is nearest."""


def entries(names: Sequence[str]) -> list[Entry]:
    """The claims that these words name, each once, in the order of the catalogue."""
    known = catalogue()
    chosen: set[str] = set()
    for name in names:
        if not isinstance(name, str):
            raise Unknown(f"a claim, item, book or subject is named by words, not by {name!r}")
        found = _claims(name, known)
        if not found:
            chosen_items = books.find(name)
            if chosen_items:
                raise Unknown(f"no claim checks {_titles(chosen_items)} yet")
            raise _unknown(name, known)
        chosen |= found
    return [entry for entry in known.claims.values() if entry.name in chosen]


def fallen(items: Iterable[str]) -> set[str]:
    """Those of the items whose main statement is refuted as printed: a claim that serves them holds, they do not."""
    wanted = set(items)
    standing = statuses([item for item in books.items() if item.id in wanted], catalogue(), ledger())
    return {name for name, status in standing.items() if badge("holds", status) != "holds"}


def only(name: str) -> Entry:
    """The one claim that these words name."""
    found = entries([name])
    if len(found) != 1:
        raise Unknown(f"{name} names {len(found)} claims ({', '.join(each.name for each in found[:4])} …); name one")
    return found[0]


def plain(name: str) -> str:
    """A name as claims, subjects and books are written."""
    return re.sub(r"[\s-]+", "_", name.strip().lower())


def _claims(name: str, known: Catalogue) -> set[str]:
    word = plain(name)
    if word == "all":
        return set(known.claims)
    if word in known.claims:
        return {word}
    if word in known.subjects():
        return {entry.name for entry in known.subjects()[word]}
    if word in {book.id for book in books.books()}:
        ids = {item.id for item in books.items() if item.book == word}
        return {entry.name for entry in known.claims.values() if ids & set(entry.items)}
    return {entry.name for item in books.find(name) for entry in known.serving(item.id)}


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
    word = plain(name)
    near = [lower[match] for match in difflib.get_close_matches(word, lower, 3, 0.6)]
    near += [each for each in known.claims if word and word in each and each not in near][: 3 - len(near)]
    hint = f"; did you mean {', '.join(near)}?" if near else "; `deeptheory list` shows what there is"
    return Unknown(f"nothing is called {name!r:.80}{hint}")
