"""Pages of the terminal: a claim, an item, a chapter, what was found, what is kept."""

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from deeptheory import books
from deeptheory.cli.display import coloured, console, many_rows, printed_at, table
from deeptheory.formulas import readable, spoken
from deeptheory.lab.entries import Entry
from deeptheory.lab.functions import imports
from deeptheory.lab.parameters import written
from deeptheory.lab.records import STATUSES

__all__ = ["item_rows", "show_calibration", "show_claim", "show_coverage", "show_item", "show_runs"]


def show_claim(entry: Entry, status: Mapping[str, Any], last: dict[str, Any] | None) -> None:
    """A claim on one screen."""
    out = console()
    out.print(Text.assemble((entry.name, "bold"), "  ", (f"{entry.subject} · {entry.theme}", "dim")))
    out.print(readable(entry.says))
    if entry.needs:
        out.print(f"needs: {readable(entry.needs)}")
    if entry.scale:
        out.print(f"scale: {readable(entry.scale)}")
    out.print()
    if entry.symbols:  # a claim that is being written may have none yet, nor a reason
        meanings = table("symbol", "meaning")
        for symbol, meaning in entry.symbols.items():
            meanings.add_row(readable(f"${symbol}$"), readable(meaning))
        out.print(meanings)
        out.print()
    if entry.why:
        out.print(f"why: {readable(entry.why)}")
        out.print()
    printed = table("item", "printed at", "status", "title", "evidence")
    for name, pieces in entry.items.items():
        title = readable(books.item(name).title)
        served = " · ".join(piece for piece in pieces if piece)
        printed.add_row(name, printed_at([name]), coloured(status[name].status), title, served)
    out.print(printed)
    _errata(out, [books.item(name) for name in entry.items])
    controls = table("control", "erratum")
    for control in entry.controls:
        controls.add_row(readable(str(control["name"])), control["erratum"] or "")
    out.print()
    out.print(controls)
    if entry.parameters:
        settings = table("parameter", "default", "full", "allowed")
        for parameter in entry.parameters.values():
            full = "" if parameter.full is None else written(parameter.full)
            settings.add_row(parameter.name, written(parameter.default), full, parameter.allowed())
        out.print()
        out.print(settings)
    if entry.uses:
        out.print()
        print(imports(entry.uses))  # as they are, so that they can be pasted
    if last is not None:
        out.print()
        earlier = " by an earlier version of this claim" if last["stale"] else ""
        said = f" · {spoken(last['strength'])} · seed {last['seed']}"
        out.print(f"last run{earlier}: ", coloured(last["verdict"]), said, sep="")
        out.print(spoken(last["reason"]))


def show_item(item: books.Item, status: Any, serving: list[Entry]) -> None:
    """An item on one screen."""
    out = console()
    out.print(Text.assemble((item.id, "bold"), f"  {printed_at([item.id])}  ", (item.kind, "dim")))
    out.print(readable(item.title))
    out.print("status: ", coloured(status.status), f"  {status.reason}" if status.reason else "", sep="")
    _errata(out, [item])
    for entry in serving:
        out.print(f"claim {entry.name}: {readable(entry.says)}")
        if entry.uses:
            print(imports(entry.uses))
    out.print()


def _errata(out: Console, items: Iterable[books.Item]) -> None:
    for item in items:
        for erratum in item.errata:
            said = f"{readable(erratum.printed)} → {readable(erratum.corrected)}"
            out.print(f"erratum {erratum.id} ({erratum.kind}), {readable(erratum.at)}: {said}")


def show_coverage(items: Sequence[books.Item], status: dict[str, Any]) -> None:
    """Counts by book, then every item."""
    out = console()
    if not items:
        return out.print("no item of the books is so")
    order = [name for name in STATUSES if any(each.status == name for each in status.values())]
    total = table("book", *(f">{STATUSES[name][0]}" for name in order), ">items")
    for book in books.books():
        ids = [item.id for item in items if item.book == book.id]
        if ids:
            numbers = [str(sum(status[name].status == each for name in ids)) for each in order]
            total.add_row(book.id, *numbers, str(len(ids)))
    item_rows(items, status)
    print()
    out.print(total)


def item_rows(items: Sequence[books.Item], status: dict[str, Any]) -> None:
    """One line an item."""
    many_rows(
        ("item", "status", "printed at", "title"),
        [(item.id, status[item.id].status, printed_at([item.id])[:34], readable(item.title)) for item in items],
    )


def show_runs(listed: Sequence[Mapping[str, Any]], known: Mapping[str, Entry]) -> None:
    """What the store holds, one line a run: of its settings those that are not the claim's own."""
    rows = []
    for line in listed:
        entry = known.get(line["claim"])
        own = {name: parameter.default for name, parameter in entry.parameters.items()} if entry else {}
        changed = {n: v for n, v in line["parameters"].items() if n not in own or written(v) != written(own[n])}
        settings = "full size" if line["full"] else written(changed)
        control = "" if line["control"] is None else f"control “{line['control']}”"
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(line["created"]))
        numbers = (str(line["run"]), line["claim"], line["verdict"], str(line["seed"]), f"{line['seconds']:.1f}", when)
        rows.append((*numbers, " · ".join(filter(None, (control, settings)))))
    many_rows(("run", "claim", "verdict", "seed", "seconds", "when", "settings"), rows, below=True)


def show_calibration(summary: list[dict[str, Any]]) -> None:
    """How each claim fares over seeds."""
    out = console()
    rows = table("claim", ">holds", ">controls", ">resolution", ">import", ">compile", ">run")
    for line in summary:
        least = min(line["controls"].values(), default=0)
        low, high = line["resolution"]
        resolution = "" if low is None else f"{low:.2g}–{high:.2g}"
        seconds = [f"{line['first']['import']:.1f}", f"{line['first']['compile']:.1f}", f"{line['seconds']['run']:.2f}"]
        rows.add_row(line["claim"], f"{line['holds']}/{line['runs']}", f"{least}/{line['runs']}", resolution, *seconds)
    out.print(rows)
    for line in summary:
        for reason in line["trouble"]:
            out.print(f"{line['claim']}: {reason}")
