"""What the command line shows: tables and progress, in colour where there is a terminal."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from deeptheory import books
from deeptheory.characters import visible
from deeptheory.lab.catalogue import Entry
from deeptheory.lab.ledger import STATUSES

if TYPE_CHECKING:
    from deeptheory.lab.outcome import Run

__all__ = ["COLOURS", "console", "item_rows", "progress", "runs_table", "table"]

COLOURS = {
    "holds": "green",
    "refuted": "red",
    "inconclusive": "yellow",
    "refuted-as-printed": "magenta",
    "computed": "cyan",
    "same-as": "dim",
    "excluded": "dim",
    "open": "dim",
    "failing": "red",
}

ANSI = {
    name: {"green": 32, "red": 31, "yellow": 33, "magenta": 35, "cyan": 36, "dim": 2}[c] for name, c in COLOURS.items()
}


class Screen(Console):
    """A console that shows texts as they are: no markup, and a picture for every control character."""

    def print(self, *objects: Any, **options: Any) -> None:
        super().print(*(plainly(each) for each in objects), **options)


class Rows(Table):
    """A table whose cells are texts as they are."""

    def add_row(self, *cells: RenderableType | None, **options: Any) -> None:
        super().add_row(*(plainly(cell) for cell in cells), **options)


def plainly(shown: Any) -> Any:
    """A text, with its colours if it has any, without what a terminal would obey."""
    if isinstance(shown, str):
        return Text(visible(shown))
    if isinstance(shown, Text):
        shown.plain = visible(shown.plain)  # of one length, so that colours stay where they are
    return shown


def console(*, error: bool = False) -> Console:
    """A console as wide as the terminal; 140 columns where output goes to a file."""
    stream = sys.stderr if error else sys.stdout
    return Screen(file=stream, width=None if stream.isatty() else 140, highlight=False)


def coloured(word: str) -> Text:
    return Text(word, style=COLOURS.get(word, ""))


def table(*columns: str, title: str | None = None) -> Table:
    """A table with thin rules."""
    made = Rows(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for name in columns:
        made.add_column(name.lstrip(">"), justify="right" if name.startswith(">") else "left", overflow="fold")
    return made


def many_rows(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Hundreds of rows, one line each, verdicts in colour: a rich table would take a second to lay out."""
    out = console()
    rows = [[visible(word) for word in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)][:-1]
    left = out.width - sum(width + 2 for width in widths)

    def cells(row: Sequence[str], style: Callable[[str], str]) -> str:
        last = row[-1] if len(row[-1]) <= left else row[-1][: max(left - 1, 0)] + "…"
        padded = (style(word) + " " * (width - len(word) + 2) for word, width in zip(row[:-1], widths, strict=True))
        return "".join(padded) + last

    def tint(word: str) -> str:
        return f"\x1b[{ANSI[word]}m{word}\x1b[0m" if out.is_terminal and word in ANSI else word

    print("\n".join([cells(heads, str), *(cells(row, tint) for row in rows)]))


def printed_at(items: Iterable[str]) -> str:
    """Where the items are printed, in the books' own numbers."""
    places = (f"{item.book} {item.where[0] if item.where else item.id}" for item in map(books.item, items))
    return ", ".join(dict.fromkeys(places))


def runs_table(rows: Sequence[tuple[Entry, "Run"]]) -> Table:
    """The table of a check: claim, where printed, verdict, strength and resolution, controls refuted, seconds.

    A control run in the claim's place stands there under its own name.
    """
    from deeptheory.lab.evidence.resolution import overall

    made = table("claim", "printed at", "verdict", "strength", ">resolution", ">controls", ">seconds")
    made.columns[0].no_wrap = True
    for entry, run in rows:
        refuted = sum(control.verdict == "refuted" for control in run.controls)
        ids = list(entry.items)
        where = printed_at(ids[:1]) + (f" +{len(ids) - 1}" if len(ids) > 1 else "")
        controls = f"{refuted}/{len(run.controls)}" if run.control is None else ""
        found = (coloured(run.verdict), run.strength, overall(run), controls, f"{run.seconds:.1f}")
        made.add_row(Text(entry.name if run.control is None else f"control “{run.control}”"), where, *found)
    return made


@contextmanager
def progress(total: int, what: str) -> Iterator[Callable[[str], None]]:
    """A live bar on standard error; yields a function to call with the name of what was just finished."""
    if not sys.stderr.isatty():
        yield _lines(total)
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[last]}", style="dim", markup=False),
    )
    with Progress(*columns, console=console(error=True), transient=True) as bar:
        task = bar.add_task(what, total=total, last="")
        yield lambda name: bar.update(task, advance=1, last=visible(name))


def _lines(total: int) -> Callable[[str], None]:
    """Progress for a log: one line each."""
    done = 0

    def tell(name: str) -> None:
        nonlocal done
        done += 1
        print(f"[{done}/{total}] {visible(name)}", file=sys.stderr, flush=True)

    return tell


# Pages of the terminal -----------------------------------------------------------------------------------------------


def show_claim(entry: Entry, last: dict[str, Any] | None) -> None:
    """A claim on one screen."""
    out = console()
    out.print(Text.assemble((entry.name, "bold"), "  ", (f"{entry.subject} · {entry.theme}", "dim")))
    out.print(Text(entry.says))
    if entry.needs:
        out.print(Text(f"needs: {entry.needs}"))
    if entry.scale:
        out.print(Text(f"scale: {entry.scale}"))
    out.print()
    printed = table("item", "printed at", "title", "evidence")
    for name, pieces in entry.items.items():
        item = books.item(name)
        printed.add_row(name, printed_at([name]), Text(item.title), ", ".join(piece for piece in pieces if piece))
    out.print(printed)
    _errata(out, [books.item(name) for name in entry.items])
    controls = table("control", "erratum")
    for control in entry.controls:
        controls.add_row(Text(str(control["name"])), control["erratum"] or "")
    out.print()
    out.print(controls)
    if entry.parameters:
        settings = table("parameter", "default", "full", "allowed")
        for parameter in entry.parameters.values():
            full = "" if parameter.full is None else str(parameter.full)
            settings.add_row(parameter.name, str(parameter.default), full, parameter.allowed())
        out.print()
        out.print(settings)
    if last is not None:
        out.print()
        earlier = " by an earlier version of this claim" if last["stale"] else ""
        said = f" · {last['strength']} · seed {last['seed']}"
        out.print(f"last run{earlier}: ", coloured(last["verdict"]), said, sep="")
        out.print(Text(last["reason"]))


def show_item(item: books.Item, status: Any, serving: list[Entry]) -> None:
    """An item on one screen."""
    out = console()
    out.print(Text.assemble((item.id, "bold"), f"  {printed_at([item.id])}  ", (item.kind, "dim")))
    out.print(Text(item.title))
    out.print("status: ", coloured(status.status), f"  {status.reason}" if status.reason else "", sep="")
    _errata(out, [item])
    for entry in serving:
        out.print(f"claim {entry.name}: ", Text(entry.says), sep="")
    out.print()


def _errata(out: Console, items: Iterable[books.Item]) -> None:
    for item in items:
        for erratum in item.errata:
            out.print(
                Text(f"erratum {erratum.id} ({erratum.kind}), {erratum.at}: {erratum.printed} → {erratum.corrected}")
            )


def show_coverage(items: Sequence[books.Item], status: dict[str, Any]) -> None:
    """Counts by book, then every item."""
    out = console()
    order = [name for name in STATUSES if any(each.status == name for each in status.values())]
    total = table("book", *(f">{name}" for name in order), ">items")
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
        [(item.id, status[item.id].status, printed_at([item.id])[:34], item.title) for item in items],
    )


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
            out.print(Text(f"{line['claim']}: {reason}"))
