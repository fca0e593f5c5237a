"""Commands that look things up; none of them imports JAX, unless to repair."""

import shutil
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from deeptheory import books
from deeptheory.characters import visible
from deeptheory.cli.app import (
    Json,
    Refused,
    StorePath,
    app,
    book_names,
    complete,
    complete_book,
    complete_room,
    complete_subject,
    emit,
    stored,
    within,
)
from deeptheory.lab.entries import Entry, catalogue
from deeptheory.lab.records import STATUSES, counts, ledger, statuses
from deeptheory.lab.store import Store, home
from deeptheory.names import entries, plain

Book = Annotated[str | None, typer.Option(help="only this book", autocompletion=complete_book)]
Subject = Annotated[
    str | None,
    typer.Option("--subject", "--room", help="only this subject: the room of a claim", autocompletion=complete_subject),
]
Room = Annotated[str | None, typer.Option(help="only this room", autocompletion=complete_room)]
Kind = Annotated[str | None, typer.Option(help="only items of this kind: theorem, law, bound …")]
Chapter = Annotated[int | None, typer.Option(help="only this chapter (of the handbook: week)")]
StatusName = Annotated[str | None, typer.Option("--status", help="only this status: holds, open …")]


def _known(kind: str, name: str | None, names: Sequence[str]) -> str | None:
    """A book or subject as it is written, in whatever letters it was typed."""
    if name is None or plain(name) in names:
        return None if name is None else plain(name)
    raise Refused(f"no {kind} is called {name!r}; the {kind}s are {', '.join(sorted(names))}")


@app.command("list")
def list_(
    book: Book = None, subject: Subject = None, chapter: Chapter = None, kind: Kind = None, status: StatusName = None,
    json: Json = False,
) -> None:  # fmt: skip
    """List the claims; with a chapter, kind or status those that serve such an item."""
    subject = _known("subject", subject, list(catalogue().subjects()))
    chosen = catalogue().claims.values()
    if any(value is not None for value in (book, chapter, kind, status)):
        wanted = {item.id for item in _items(book, None, chapter, kind, status)}
        chosen = [entry for entry in chosen if wanted & set(entry.items)]
    _list([entry for entry in chosen if subject in (None, entry.subject)], json)


def _list(chosen: Sequence[Entry], json: bool) -> None:
    if json:
        return emit([{"claim": e.name, "subject": e.subject, "items": list(e.items), "says": e.says} for e in chosen])
    from deeptheory.cli.display import many_rows, served

    recorded = ledger().claims
    verdicts = [recorded[entry.name].verdict if entry.name in recorded else "open" for entry in chosen]
    many_rows(
        ("claim", "subject", "verdict", "printed at"),
        [(e.name, e.subject, verdict, served(e.items)) for e, verdict in zip(chosen, verdicts, strict=True)],
    )


@app.command()
def show(
    what: Annotated[str, typer.Argument(help="a claim, an item, a subject or a book", autocompletion=complete)],
    store: StorePath = None,
    json: Json = False,
) -> None:
    """Show a claim or an item: statement, needs, where printed, erratum, parameters, last run; or what a subject or a
    book holds."""
    from deeptheory.cli.screens import item_rows, show_claim, show_item

    known, name = catalogue().claims, plain(what)
    if name in known:
        last = _last_run(known[name], store)
        if json:
            return emit(_claim_record(known[name], last))
        return show_claim(known[name], statuses(map(books.item, known[name].items), catalogue(), ledger()), last)
    if name in catalogue().subjects():
        return _list(catalogue().subjects()[name], json)
    found = books.find(what)
    if not found:
        entries([what])  # raises the sentence with the nearest names
        raise Refused(f"{what} is every claim; `deeptheory list` lists them")
    status = statuses(found, catalogue(), ledger())
    if json:
        return emit([_item_record(item, status[item.id]) for item in found])
    if len(found) > 5:
        return item_rows(found, status)
    for item in found:
        show_item(item, status[item.id], [known[name] for name in status[item.id].claims])


@app.command()
def find(
    words: Annotated[list[str], typer.Argument(help="what to look for: marchenko, double descent, ntk …")],
    most: Annotated[int, typer.Option(help="how many of each kind")] = 6,
    json: Json = False,
) -> None:
    """Claims, functions and items that speak of something, with the import line to paste."""
    from deeptheory import finding
    from deeptheory.formulas import clipped

    within("--most", most, 1, 1000)
    found = finding.find(" ".join(words), most=most)
    if json:
        return emit([asdict(each) for each in found])
    # Without the library that lays out tables, which would take as long to load as all the rest.
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 140
    for kind in (kind for kind in finding.KINDS if found.of(kind)):
        print(f"{kind}s")
        for each in found.of(kind):
            print(f"  {each.paste if kind == 'function' else each.name}")
            said = clipped(each.says, 2 * width - 24)
            print(textwrap.fill(said, width, initial_indent=" " * 6, subsequent_indent=" " * 6))
    print("`deeptheory show NAME` tells more of a claim or an item")


@app.command()
def coverage(
    book: Book = None, chapter: Chapter = None, room: Room = None, kind: Kind = None, status: StatusName = None,
    json: Json = False,
) -> None:  # fmt: skip
    """Every item of the books and its status."""
    chosen = _items(book, room, chapter, kind, status)
    found = statuses(chosen, catalogue(), ledger())
    if json:
        listed = {item.id: _item_record(item, found[item.id]) for item in chosen}
        return emit({"total": len(chosen), "counts": counts(found), "items": listed})
    from deeptheory.cli.screens import show_coverage

    show_coverage(chosen, found)


def _items(
    book: str | None, room: str | None, chapter: int | None, kind: str | None, status: str | None
) -> list[books.Item]:
    """The items that fit every filter that is given."""
    book = _known("book", book, book_names())
    room = _known("room", room, sorted({item.room for item in books.items()}))
    kind = _known("kind", kind, sorted({item.kind for item in books.items()}))
    if status is not None and (status := status.strip().lower().replace(" ", "-")) not in STATUSES:
        raise Refused(f"no status is called {status!r}; an item is one of {', '.join(STATUSES)}")
    wanted = {"book": book, "room": room, "kind": kind, "chapter": chapter}
    chosen = [
        item
        for item in books.items()
        if all(value is None or getattr(item, name) == value for name, value in wanted.items())
    ]
    if chapter is not None and not chosen:
        raise Refused(f"there are no items of chapter {chapter}" + (f" in {book}" if book else ""))
    if status is None:
        return chosen
    found = statuses(chosen, catalogue(), ledger())
    return [item for item in chosen if status == found[item.id].status]


@app.command()
def runs(
    store: StorePath = None,
    repair: Annotated[bool, typer.Option("--repair", help="drop damaged runs, and say which")] = False,
    prune: Annotated[
        bool, typer.Option("--prune", help="drop runs that are superseded, or whose claim is gone or has changed")
    ] = False,
    json: Json = False,
) -> None:
    """What the store holds."""
    if repair or prune:
        return _tidy(store, repair, prune, json)
    with stored(store) as opened:
        listed = opened.listing() if opened else []
    if json:
        return emit(listed)
    if opened is None:
        return print("no runs yet; `deeptheory check CLAIM` makes one")
    from deeptheory.cli.screens import show_runs

    show_runs(listed, catalogue().claims)
    print(f"{len(listed)} runs in {visible(str(opened.path))}")


def _tidy(store: Path | None, repair: bool, prune: bool, json: bool) -> None:
    """Drop what is damaged or superseded, and say what; a file in which nothing can be found is rescued on opening."""
    path = store or home() / "runs.sqlite"
    if not path.exists():  # opening it would make it
        raise Refused(f"the store {path} cannot be opened: there is no such file")
    dropped: list[dict[str, Any]] = []
    with Store(path) as writable:
        dropped += writable.repair() if repair else []
        dropped += writable.prune(catalogue().claims) if prune else []
    if json:
        return emit(dropped)
    for row in dropped:
        print(f"dropped run {row['run']} of {row['claim']}: {row['why']}")
    print(f"{len(dropped) or 'no'} runs dropped")


def _last_run(entry: Entry, store: Path | None) -> dict[str, Any] | None:
    """The run of a claim to show, as recorded, where there is one; `stale` if the claim has changed since."""
    with stored(store) as opened:
        last = opened.record_of(entry) if opened else None
    return None if last is None else {**last, "stale": last["source"] != entry.source}


def _claim_record(entry: Entry, last: dict[str, Any] | None) -> dict[str, Any]:
    return {
        "claim": entry.name, "subject": entry.subject, "says": entry.says, "needs": entry.needs, "items": entry.items,
        "parameters": {name: parameter.record() for name, parameter in entry.parameters.items()},
        "controls": entry.controls, "uses": entry.uses, "source": entry.source, "last_run": last,
    }  # fmt: skip


def _item_record(item: books.Item, status: Any) -> dict[str, Any]:
    errata = [
        {
            "id": e.id, "class": e.kind, "at": e.at, "main": e.main, "printed": e.printed, "corrected": e.corrected,
            "refuted": e.id in status.refuted,
        }
        for e in item.errata
    ]  # fmt: skip
    return {
        "id": item.id, "book": item.book, "room": item.room, "title": item.title, "status": status.status,
        "claims": list(status.claims), "where": list(item.where), "erratum": errata, "reason": status.reason,
    }  # fmt: skip
