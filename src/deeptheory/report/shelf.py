"""All that a report is made from, and what its pages ask of it in plain values; the templates only place them."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from deeptheory.formulas import clipped
from deeptheory.lab.sensitivity import overall
from deeptheory.lab.store import stale
from deeptheory.report.neighbours import related
from deeptheory.report.themes import Theme, course
from deeptheory.report.wording import STATUSES, VERDICTS, day, findable, heading, seconds, stated

if TYPE_CHECKING:
    from deeptheory.books import Book, Item
    from deeptheory.lab.entries import Catalogue, Entry
    from deeptheory.lab.exploring import Explored
    from deeptheory.lab.outcome import Run
    from deeptheory.report.stills import Stills

__all__ = ["Shelf"]


@dataclass
class Shelf:
    """All that a report is made from: the runs, one a claim, beside the catalogue, the books and where items stand."""

    runs: dict[str, "Run"]
    catalogue: "Catalogue"
    books: tuple["Book", ...]
    statuses: Mapping[str, Any]
    counterexamples: Mapping[str, Any] = field(default_factory=dict)
    explored: "Mapping[str, Explored]" = field(default_factory=dict)
    pictures: dict[str, "Stills"] = field(default_factory=dict)
    """The claims' own pictures, as files that several pages show."""

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

    def course(self, subject: str) -> tuple[str, list[Theme], list["Run"]]:
        """A subject as a course: introduction, themes in order, and the runs of claims that are no longer known."""
        runs = self.subjects[subject]
        entries = [entry for run in runs if (entry := self.entry(run.claim)) is not None]
        return *course(subject, entries), [run for run in runs if self.entry(run.claim) is None]

    def beside(self, book: "Book") -> dict[str, list["Run"]]:
        """By item of a book, the runs that are shown beside it: each at the item of the book that it names first."""
        own, found = {item.id for item in book.items}, dict[str, list["Run"]]()
        for run in (run for group in self.subjects.values() for run in group):
            if (first := next((id for id in run.items if id in own), None)) is not None:
                found.setdefault(first, []).append(run)
        return found

    def related(self, claim: str) -> list[dict[str, str]]:
        """The claims of this report that are nearest to one, and what they share with it."""
        found = related(claim, self.catalogue, self.items, self.runs)
        return [{"claim": name, "title": heading(name), "shared": shared} for name, shared in found]

    def where(self, run: "Run") -> list[dict[str, Any]]:
        """The places in the books that a claim serves: book, number, title, anchor, verdict."""
        return [self.place(item, run.items[item]) for item in run.items]

    def place(self, id: str, verdict: str = "") -> dict[str, Any]:
        item = self.items.get(id)
        if item is None:
            return {
                "id": id,
                "place": id,
                "book": "",
                "name": "",
                "number": id,
                "title": "",
                "link": "",
                "verdict": verdict,
                "errata": (),
            }
        number = ", ".join(item.where) or id
        return {
            "id": id,
            "place": f"{item.book} {number}",
            "book": item.book,
            "name": item.book.capitalize(),
            "number": number,
            "title": item.title,
            "link": f"books/{item.book}.html#{id}",
            "verdict": verdict,
            "errata": item.errata,
            "chapter": item.chapter,
        }

    def printed_at(self, erratum: str) -> str:
        """Where the sentence stands that an erratum concerns: "Arora, Lemma 1.1.4"."""
        item = self.items.get(erratum.rstrip("abcdefghijklmnopqrstuvwxyz"))
        at = next((each.at for each in item.errata if each.id == erratum), "") if item else ""
        return f"{item.book.capitalize()}, {at}" if item and at else erratum

    def status(self, id: str) -> dict[str, Any]:
        """Where an item stands, with the claims that serve it; those in this report have a page."""
        found = self.statuses.get(id)
        name = found.status if found else "open"
        claims = [
            {"name": claim, "title": heading(claim), "page": claim in self.runs}
            for claim in (found.claims if found else ())
        ]
        said, meaning = STATUSES.get(name, (name, ""))
        return {
            "found": found,
            "status": name,
            "said": said,
            "meaning": meaning,
            "reason": found.reason if found else "",
            "claims": claims,
            "refuted": found.refuted if found else (),
        }

    def tally(self, items: Iterable["Item"]) -> list[dict[str, Any]]:
        """How many items have each status, for a bar."""
        found = Counter(self.status(item.id)["status"] for item in items)
        total = sum(found.values()) or 1
        ordered = [name for name in STATUSES if found[name]] + sorted(set(found) - set(STATUSES))
        return [
            {
                "name": name,
                "said": "hold" if name == "holds" and found[name] != 1 else STATUSES.get(name, (name,))[0],
                "count": found[name],
                "share": 100 * found[name] / total,
            }
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
        where, subject = self.where(run), self.subject(run.claim)
        return {
            "claim": run.claim,
            "title": heading(run.claim),
            "says": clipped(entry.says, 300) if entry else "",  # the sheet cuts it after two lines
            "statement": stated(entry.says)[0] if entry else "",
            "stale": self.stale(run),
            "made": day(run.made),
            "verdict": run.verdict,
            "strength": run.strength,
            "resolution": overall(run),
            "controls": f"{refuted} of {len(run.controls)}",
            "controls_good": refuted == len(run.controls),
            "seconds": seconds(run.seconds),
            "where": where,
            "subject": subject,
            "picture": self.pictures.get(run.claim),
            "errata": [control.erratum for control in run.controls if control.erratum and control.verdict == "refuted"],
            "words": findable(
                run.claim,
                heading(run.claim),
                entry.says if entry else "",
                subject,
                run.verdict,
                *(f"{place['name']} {place['number']} {place['id']} {place['title']}" for place in where),
            ),
            "marks": " ".join([f"verdict:{run.verdict}", *sorted({f"book:{place['book']}" for place in where})]),
        }

    def stale(self, run: "Run") -> bool:
        """Whether a run was made by another version of its claim than the one whose statement and code are shown."""
        entry = self.entry(run.claim)
        return entry is not None and stale(run, entry)

    def refuted_errata(self) -> set[str]:
        """Errata whose printed form a control of these runs refutes."""
        return {erratum for run in self.runs.values() for erratum in self.line(run)["errata"]}
