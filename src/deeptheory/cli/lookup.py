"""Commands that look things up; none of them imports JAX."""

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from deeptheory import books
from deeptheory.cli.app import Json, Refused, StorePath, app, complete, emit
from deeptheory.lab.catalogue import Entry, catalogue
from deeptheory.lab.ledger import counts, ledger, statuses
from deeptheory.lab.store import Store
from deeptheory.what import entries, items_of


def _check_book(book: str | None) -> None:
    names = {each.id for each in books.books()}
    if book is not None and book not in names:
        raise Refused(f"no book is called {book!r}; the books are {', '.join(sorted(names))}")


@app.command("list")
def list_(
    book: Annotated[str | None, typer.Option(help="only claims about this book")] = None,
    subject: Annotated[str | None, typer.Option(help="only this subject")] = None,
    json: Json = False,
) -> None:
    """List the claims."""
    _check_book(book)
    chosen = entries([book] if book else ["all"])
    if subject is not None:
        within = {entry.name for entry in entries([subject])}
        chosen = [entry for entry in chosen if entry.name in within]
    if json:
        return emit([{"claim": e.name, "subject": e.subject, "items": list(e.items), "says": e.says} for e in chosen])
    from deeptheory.cli.display import many_rows, printed_at

    recorded = ledger().claims
    verdicts = [recorded[entry.name].verdict if entry.name in recorded else "open" for entry in chosen]
    many_rows(
        ("claim", "subject", "verdict", "printed at"),
        [(e.name, e.subject, verdict, printed_at(e.items)) for e, verdict in zip(chosen, verdicts, strict=True)],
    )


@app.command()
def show(
    what: Annotated[str, typer.Argument(help="a claim or an item", autocompletion=complete)],
    store: StorePath = None,
    json: Json = False,
) -> None:
    """Show a claim or an item: statement, needs, where printed, erratum, parameters, last run."""
    from deeptheory.cli.display import show_claim, show_item

    known = catalogue().claims
    name = what.strip().lower().replace("-", "_")
    if name in known:
        last = _last_run(name, store)
        return emit(_claim_record(known[name], last)) if json else show_claim(known[name], last)
    found = items_of(what)
    if not found:
        entries([what])  # raises the sentence with the nearest names
        raise Refused(f"{what} is many things; `deeptheory list` lists its claims")
    status = statuses(found, catalogue(), ledger())
    if json:
        return emit([_item_record(item, status[item.id]) for item in found])
    for item in found[:5]:
        show_item(item, status[item.id], [known[name] for name in status[item.id].claims])
    if len(found) > 5:
        print(f"… and {len(found) - 5} more: {', '.join(item.id for item in found[5:25])}")


@app.command()
def coverage(
    book: Annotated[str | None, typer.Option(help="only this book")] = None,
    json: Json = False,
) -> None:
    """Every item of the books and its status."""
    _check_book(book)
    chosen = [item for item in books.items() if book in (None, item.book)]
    status = statuses(chosen, catalogue(), ledger())
    if json:
        listed = {item.id: _item_record(item, status[item.id]) for item in chosen}
        return emit({"total": len(chosen), "counts": counts(status), "items": listed})
    from deeptheory.cli.display import show_coverage

    show_coverage(chosen, status)


@app.command()
def runs(store: StorePath = None, json: Json = False) -> None:
    """What the store holds."""
    with Store(store) as opened:
        listed = opened.listing()
        if json:
            return emit(listed)
        from deeptheory.cli.display import coloured, console, table

        rows = table(">run", "claim", "verdict", ">seed", ">seconds", "when")
        for line in listed:
            when = time.strftime("%Y-%m-%d %H:%M", time.localtime(line["created"]))
            seconds = f"{line['seconds']:.1f}"
            rows.add_row(str(line["run"]), line["claim"], coloured(line["verdict"]), str(line["seed"]), seconds, when)
        console().print(rows)
        console().print(f"{len(listed)} runs in {opened.path}")


def _last_run(name: str, store: Path | None) -> dict[str, Any] | None:
    """The newest run of a claim, as recorded, where there is a store at all."""
    from deeptheory.lab.store import home

    path = store or home() / "runs.sqlite"
    if not Path(path).exists():
        return None
    with Store(path) as opened:
        return opened.last_record(name)


def _claim_record(entry: Entry, last: dict[str, Any] | None) -> dict[str, Any]:
    return {
        "claim": entry.name, "subject": entry.subject, "says": entry.says, "needs": entry.needs, "items": entry.items,
        "parameters": {name: parameter.record() for name, parameter in entry.parameters.items()},
        "controls": entry.controls, "source": entry.source, "last_run": last,
    }  # fmt: skip


def _item_record(item: books.Item, status: Any) -> dict[str, Any]:
    errata = [{"class": e.kind, "printed": e.printed, "corrected": e.corrected} for e in item.errata]
    return {
        "id": item.id, "book": item.book, "title": item.title, "status": status.status, "claims": list(status.claims),
        "where": list(item.where), "erratum": errata, "reason": status.reason,
    }  # fmt: skip
