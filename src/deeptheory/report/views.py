"""What each page says, in plain values: the templates only place them."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from deeptheory.lab.evidence.base import percent

if TYPE_CHECKING:
    from deeptheory.books import Book, Item
    from deeptheory.lab.catalogue import Catalogue, Entry
    from deeptheory.lab.run import Run

__all__ = ["VERDICTS", "Shelf", "heading", "resolution", "seconds", "words"]

VERDICTS = {
    "holds": ("✓", "holds", "The statement holds on the evidence, and every control was refuted."),
    "refuted": ("✕", "refuted", "The evidence contradicts the statement."),
    "inconclusive": ("?", "inconclusive", "The evidence does not settle the statement."),
}

STATUSES = {
    "holds": ("holds", "every formula of the item is checked by a claim that holds"),
    "refuted-as-printed": ("refuted as printed", "the corrected statement holds, and the printed one is refuted"),
    "computed": ("computed", "code whose values are tested against an independent calculation"),
    "same-as": ("see elsewhere", "the item only points to another one"),
    "excluded": ("excluded", "no scale at which we could run it would mean anything"),
    "failing": ("failing", "a claim that should hold does not"),
    "open": ("open", "not checked yet"),
}

ERRATA = {
    "false": "false as printed",
    "missing-hypothesis": "missing hypothesis",
    "undefined": "undefined",
    "loose": "loose",
    "proof-only": "proof only",
    "notation": "notation",
    "attribution": "attribution",
}


@dataclass
class Shelf:
    """All that a report is made from: the runs, one a claim, beside the catalogue, the books and where items stand."""

    runs: dict[str, "Run"]
    catalogue: "Catalogue"
    books: tuple["Book", ...]
    statuses: Mapping[str, Any]
    counterexamples: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def items(self) -> dict[str, "Item"]:
        return {item.id: item for book in self.books for item in book.items}

    def entry(self, claim: str) -> "Entry | None":
        """What the catalogue says of a claim; None for one that is no longer there."""
        return self.catalogue.claims.get(claim)

    def subject(self, claim: str) -> str:
        entry = self.entry(claim)
        return entry.subject if entry else "other"

    @cached_property
    def subjects(self) -> dict[str, list["Run"]]:
        """The runs by subject, in the order of the catalogue."""
        order = {name: place for place, name in enumerate(self.catalogue.claims)}
        runs = sorted(self.runs.values(), key=lambda run: (order.get(run.claim, len(order)), run.claim))
        found: dict[str, list[Run]] = {}
        for run in runs:
            found.setdefault(self.subject(run.claim), []).append(run)
        return dict(sorted(found.items()))

    def where(self, run: "Run") -> list[dict[str, Any]]:
        """The places in the books that a claim serves: book, number, title, anchor, verdict."""
        return [self.place(item, run.items[item]) for item in run.items]

    def place(self, id: str, verdict: str = "") -> dict[str, Any]:
        item = self.items.get(id)
        if item is None:
            return {"id": id, "book": "", "name": "", "number": id, "title": "", "link": "", "verdict": verdict, "errata": ()}
        return {
            "id": id,
            "book": item.book,
            "name": item.book.capitalize(),
            "number": ", ".join(item.where) or id,
            "title": item.title,
            "link": f"books/{item.book}.html#{id}",
            "verdict": verdict,
            "errata": item.errata,
            "chapter": item.chapter,
        }

    def status(self, id: str) -> dict[str, Any]:
        """Where an item stands, with the claims that serve it; those in this report have a page."""
        found = self.statuses.get(id)
        name = found.status if found else "open"
        claims = [{"name": claim, "title": heading(claim), "page": claim in self.runs} for claim in (found.claims if found else ())]
        said, meaning = STATUSES.get(name, (name, ""))
        return {"status": name, "said": said, "meaning": meaning, "reason": found.reason if found else "", "claims": claims}

    def tally(self, items: Iterable["Item"]) -> list[dict[str, Any]]:
        """How many items have each status, for a bar."""
        found = Counter(self.status(item.id)["status"] for item in items)
        total = sum(found.values()) or 1
        ordered = [name for name in STATUSES if found[name]] + sorted(set(found) - set(STATUSES))
        return [
            {"name": name, "said": STATUSES.get(name, (name,))[0], "count": found[name], "share": 100 * found[name] / total}
            for name in ordered
        ]

    def verdicts(self) -> dict[str, int]:
        """How many runs came to each verdict."""
        found = Counter(run.verdict for run in self.runs.values())
        return {verdict: found[verdict] for verdict in VERDICTS if found[verdict]}

    def line(self, run: "Run") -> dict[str, Any]:
        """A run as one line of a table."""
        entry = self.entry(run.claim)
        refuted = sum(control.verdict == "refuted" for control in run.controls)
        return {
            "claim": run.claim,
            "title": heading(run.claim),
            "says": entry.says if entry else "",
            "verdict": run.verdict,
            "strength": run.strength,
            "resolution": overall_resolution(run),
            "controls": f"{refuted} of {len(run.controls)}",
            "controls_good": refuted == len(run.controls),
            "seconds": seconds(run.seconds),
            "where": self.where(run),
            "subject": self.subject(run.claim),
            "theme": entry.theme if entry else "",
            "errata": [control.erratum for control in run.controls if control.erratum and control.verdict == "refuted"],
        }

    def refuted_errata(self) -> set[str]:
        """Items whose printed form a control of these runs refutes."""
        return {erratum for run in self.runs.values() for erratum in self.line(run)["errata"]}


# Words ---------------------------------------------------------------------------------------------------------------


def heading(name: str) -> str:
    """A claim's name as a heading: chernoff_upper_tail → Chernoff upper tail."""
    said = name.replace("_", " ").strip()
    return said[:1].upper() + said[1:]


def words(name: str) -> str:
    return name.replace("_", " ")


def seconds(value: float) -> str:
    return f"{value:.2g} s" if value < 10 else f"{value:.0f} s"


def resolution(kind: str, value: float | None) -> str:
    """The smallest deviation that would have been refuted, in the unit of the kind."""
    if value is None:
        return "—"
    if kind in ("Exact", "Counterexample"):
        return "exact"
    if kind in ("Rate", "Limit"):
        return f"±{value:.2g} in the exponent"
    if kind in ("Inequality", "Chain"):
        return f"{percent(max(value, 0.0))} of the bound left unreached" if value > 0 else "attained"
    if kind == "Bounded":
        return f"{value:.2g}"
    return percent(value)


def overall_resolution(run: "Run") -> str:
    """The resolution of a run: that of the piece which leaves most unseen."""
    seen = [(judged.resolution, run.described[name]["kind"]) for name, judged in run.judgements.items()
            if judged.resolution is not None and name in run.described]  # fmt: skip
    return resolution(*max(seen)[::-1]) if seen else "—"


def shown(value: Any) -> str:
    """A parameter's value as one would type it."""
    if isinstance(value, (list, tuple)):
        return ", ".join(shown(each) for each in value)
    return f"{value:g}" if isinstance(value, float) else str(value).lower() if isinstance(value, bool) else str(value)


def versions(platform: str) -> list[str]:
    return [part.strip() for part in platform.split(",") if part.strip()]


def embedded(value: Any) -> str:
    """JSON that may stand inside a script element."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return re.sub(r"[<>\u2028\u2029]", lambda sign: f"\\u{ord(sign[0]):04x}", text)
