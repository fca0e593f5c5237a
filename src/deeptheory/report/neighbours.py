"""Claims that belong together: about the same item of a book, or built from the same functions."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deeptheory.books import Item
    from deeptheory.lab.entries import Catalogue

__all__ = ["related"]

COMMON = 6
"""A function that more claims use than this says nothing about two of them."""


def related(
    claim: str, catalogue: "Catalogue", items: "Mapping[str, Item]", among: Collection[str], most: int = 6
) -> list[tuple[str, str]]:
    """The claims nearest to one, each with what they share: first items of the books, then functions few others use."""
    own = catalogue.claims.get(claim)
    if own is None:
        return []
    others = {name: entry for name, entry in catalogue.claims.items() if name in among and name != claim}
    mine, found = linked(own.items, items), dict[str, str]()
    for name, entry in others.items():
        if shared := [id for id in mine if id in linked(entry.items, items)]:
            item = items[shared[0]]
            found[name] = f"on {item.book.capitalize()}, {item.where[0] if item.where else item.id} too"
    users = Counter(function for entry in catalogue.claims.values() for function in entry.uses)
    near = {
        name: sorted((each for each in entry.uses if each in own.uses and users[each] <= COMMON), key=users.__getitem__)
        for name, entry in others.items()
        if name not in found
    }
    # The rarer what two claims share, the nearer they are.
    ranked = sorted(near, key=lambda name: -sum(1 / users[each] for each in near[name]))
    found |= {name: f"uses {near[name][0].rpartition('.')[2]} too" for name in ranked if near[name]}
    return list(found.items())[:most]


def linked(served: Iterable[str], items: "Mapping[str, Item]") -> list[str]:
    """The items that a claim serves, and those that these point to."""
    known = [id for id in served if id in items]
    return list(dict.fromkeys([*known, *(other for id in known for other in items[id].points_to if other in items)]))
