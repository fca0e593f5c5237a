"""Falsifying a claim of the catalogue beside its rivals, in a worker, and keeping what was found."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

from deeptheory.lab import records as ledgers
from deeptheory.lab._falsify import Falsification
from deeptheory.lab.checking import workers
from deeptheory.lab.entries import Entry, catalogue, load

__all__ = ["Falsified", "falsified", "keep"]


@dataclass(frozen=True)
class Falsified:
    """The search for a violation of a claim, beside the searches for violations of its rivals."""

    name: str
    claim: Falsification | None
    controls: list[Falsification]
    failed: dict[str | None, Exception]
    """what ended a search before it found anything, by the control; that of the claim itself under None"""

    @property
    def as_expected(self) -> bool:
        """The claim stands, its search would have seen a planted violation, and every rival fell."""
        stands = self.claim is not None and not self.claim.found and bool(self.claim.planted_found)
        return stands and not self.failed and all(each.found for each in self.controls)

    def failures(self) -> list[str]:
        """A sentence for each search that came to nothing."""
        return [
            f"the search for a violation of {_titled(self.name, control)} failed: {type(problem).__name__}: {problem}"
            for control, problem in self.failed.items()
        ]

    def record(self) -> dict[str, Any]:
        claim = _plain(self.claim) if self.claim else {"statement": self.name, "found": None}
        return {**claim, "controls": [_plain(each) for each in self.controls], "failures": self.failures()}


def falsified(entry: Entry, *, budget: float, seed: int, tell: Callable[[str], None]) -> Falsified:
    """Search for violations of a claim and of each of its controls, for at most `budget` seconds each.

    A search that fails does not keep the others from being made.
    """
    names = [str(control["name"]) for control in entry.controls]
    found: dict[str | None, Falsification] = {}
    failed: dict[str | None, Exception] = {}
    with workers(1) as pool:
        for control in (*names, None):
            try:
                found[control] = pool.submit(search, entry.name, budget, seed, control).result()
                said = "violated" if found[control].found else "not violated"
            except Exception as problem:
                failed[control], said = problem, "failed"
            tell(f"{_titled(entry.name, control)}: {said}")
    return Falsified(entry.name, found.pop(None, None), list(found.values()), failed)


def search(name: str, budget: float, seed: int, control: str | None) -> Falsification:
    """What runs in the worker."""
    return load(name).falsify(budget=budget, seed=seed, control=control)


def keep(found: Falsified) -> None:
    """Write the counterexamples into the ledger."""
    book = ledgers.read()
    name = found.name
    book.counterexamples[name] = [_plain(each) for each in found.controls if each.found]
    book.rooms[name] = catalogue().claims[name].subject
    book.save()


def _titled(claim: str, control: str | None) -> str:
    return claim if control is None else f"control “{control}”"


def _plain(each: Falsification) -> dict[str, Any]:
    record = {entry.name: getattr(each, entry.name) for entry in fields(each)}
    exact = each.counterexample
    if exact is not None:
        record["counterexample"] = {
            "quantity": exact.quantity, "bound": exact.bound, "violated": exact.violated, "how": exact.how
        }  # fmt: skip
    return record
