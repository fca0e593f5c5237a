"""Falsifying a claim of the catalogue beside its rivals, in a worker, and keeping what was found."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

from deeptheory.lab import ledger as ledgers
from deeptheory.lab._falsify import Falsification
from deeptheory.lab.catalogue import Entry, catalogue, load
from deeptheory.lab.checking import workers

__all__ = ["Falsified", "falsified", "keep"]


@dataclass(frozen=True)
class Falsified:
    """The search for a violation of a claim, beside the searches for violations of its rivals."""

    claim: Falsification
    controls: list[Falsification]

    @property
    def as_expected(self) -> bool:
        """The claim stands, its search would have seen a planted violation, and every rival fell."""
        return not self.claim.found and bool(self.claim.planted_found) and all(each.found for each in self.controls)

    def record(self) -> dict[str, Any]:
        return {**_plain(self.claim), "controls": [_plain(each) for each in self.controls]}


def falsified(entry: Entry, *, budget: float, seed: int, tell: Callable[[str], None]) -> Falsified:
    """Search for violations of a claim and of each of its controls, for at most `budget` seconds each."""
    names = [str(control["name"]) for control in entry.controls]
    found = []
    with workers(1) as pool:
        for control in (*names, None):
            found.append(pool.submit(search, entry.name, budget, seed, control).result())
            said = "violated" if found[-1].found else "not violated"
            tell(f"{entry.name}: {said}" if control is None else f"control “{control}”: {said}")
    return Falsified(found[-1], found[:-1])


def search(name: str, budget: float, seed: int, control: str | None) -> Falsification:
    """What runs in the worker."""
    return load(name).falsify(budget=budget, seed=seed, control=control)


def keep(found: Falsified) -> None:
    """Write the counterexamples into the ledger."""
    book = ledgers.read()
    name = found.claim.statement
    book.counterexamples[name] = [_plain(each) for each in found.controls if each.found]
    book.rooms[name] = catalogue().claims[name].subject
    book.save()


def _plain(each: Falsification) -> dict[str, Any]:
    record = {entry.name: getattr(each, entry.name) for entry in fields(each)}
    exact = each.counterexample
    if exact is not None:
        record["counterexample"] = {
            "quantity": exact.quantity, "bound": exact.bound, "violated": exact.violated, "how": exact.how
        }  # fmt: skip
    return record
