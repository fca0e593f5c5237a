"""What the command line shows: tables and progress, in colour where there is a terminal."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from deeptheory import books
from deeptheory.characters import visible
from deeptheory.lab.records import STATUSES
from deeptheory.names import fallen

__all__ = ["COLOURS", "coloured", "console", "many_rows", "printed_at", "progress", "served", "standing", "table"]

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

ANSI = {"green": 32, "red": 31, "yellow": 33, "magenta": 35, "cyan": 36, "dim": 2}


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
    """A verdict, or where an item stands, in its colour."""
    return Text(standing(word), style=COLOURS.get(word, ""))


def standing(word: str) -> str:
    """A verdict, or where an item stands, in words."""
    return STATUSES.get(word, (word,))[0]


def table(*columns: str, title: str | None = None) -> Table:
    """A table with thin rules."""
    made = Rows(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for name in columns:
        made.add_column(name.lstrip(">"), justify="right" if name.startswith(">") else "left", overflow="fold")
    return made


def many_rows(heads: Sequence[str], rows: Sequence[Sequence[str]], *, below: bool = False) -> None:
    """Hundreds of rows, one line each, verdicts in colour: a rich table would take a second to lay out.

    The last column is cut where the terminal ends; where there is none, it is whole. With `below` it is put on a line
    of its own where it does not fit.
    """
    out = console()
    terminal = out.is_terminal
    rows = [[visible(word) for word in row] for row in rows]
    widths = [max(len(standing(word)) for word in column) for column in zip(heads, *rows, strict=True)][:-1]
    left = out.width - sum(width + 2 for width in widths)

    def cells(row: Sequence[str], style: Callable[[str], str]) -> str:
        last = row[-1] if len(row[-1]) <= left or not terminal else row[-1][: max(left - 1, 0)] + "…"
        if below and last != row[-1]:
            last = f"\n    {row[-1]}"
        padded = (
            style(word) + " " * (width - len(standing(word)) + 2) for word, width in zip(row[:-1], widths, strict=True)
        )
        return "".join(padded) + last

    def tint(word: str) -> str:
        said = standing(word)
        return f"\x1b[{ANSI[COLOURS[word]]}m{said}\x1b[0m" if terminal and word in COLOURS else said

    print("\n".join([cells(heads, str), *(cells(row, tint) for row in rows)]))


def printed_at(items: Iterable[str]) -> str:
    """Where the items are printed, in the books' own numbers."""
    places = (f"{item.book} {item.where[0] if item.where else item.id}" for item in map(books.item, items))
    return ", ".join(dict.fromkeys(places))


def served(items: Iterable[str]) -> str:
    """Where the items of a claim are printed, and which of them do not hold as printed, although the claim does."""
    items = list(items)
    down = fallen(items)
    standing = printed_at(each for each in items if each not in down)
    return ", ".join(filter(None, [standing, *(f"{printed_at([each])} (refuted as printed)" for each in sorted(down))]))


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
