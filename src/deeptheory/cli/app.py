"""What all commands share: the application, its options, and how a refusal is said."""

import json as jsonlib
import math
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

import deeptheory
from deeptheory import books
from deeptheory.characters import ESCAPED
from deeptheory.lab.entries import Entry, catalogue
from deeptheory.lab.parameters import SEED, plainly
from deeptheory.lab.store import Store, home
from deeptheory.names import Unknown, entries

app = typer.Typer(
    name="deeptheory",
    help="Deep-learning theory you can run: every statement checked, prediction beside observation.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class Refused(Exception):
    """Bad input: one clear sentence, exit 2."""


AUTHORS = "For authors of claims"
"""Where `--help` lists their commands."""


def _version(wanted: bool) -> None:
    if wanted:
        print(f"deeptheory {deeptheory.__version__}")
        raise typer.Exit


@app.callback()
def _whole(
    version: Annotated[
        bool, typer.Option("--version", help="print the version and exit", callback=_version, is_eager=True)
    ] = False,
) -> None:
    pass


# Completion ----------------------------------------------------------------------------------------------------------


def begins(words: Iterable[str], incomplete: str) -> list[str]:
    return [word for word in words if word.lower().startswith(incomplete.lower())]


def complete(incomplete: str) -> list[str]:
    known = catalogue()
    items = [item.id for item in books.items()] if incomplete else []
    return begins([*known.claims, *known.subjects(), *book_names(), "all", *items], incomplete)


def complete_book(incomplete: str) -> list[str]:
    return begins(book_names(), incomplete)


def complete_subject(incomplete: str) -> list[str]:
    return begins(catalogue().subjects(), incomplete)


def complete_room(incomplete: str) -> list[str]:
    return begins(sorted({item.room for item in books.items()}), incomplete)


def complete_control(ctx: typer.Context, incomplete: str) -> list[str]:
    return begins((str(control["name"]) for entry in _typed(ctx) for control in entry.controls), incomplete)


def complete_setting(ctx: typer.Context, incomplete: str) -> list[str]:
    return begins(dict.fromkeys(f"{name}=" for entry in _typed(ctx) for name in entry.parameters), incomplete)


def _typed(ctx: typer.Context) -> list[Entry]:
    """The claims already named on the line; the parser leaves its words in one place or the other."""
    try:
        return entries([*(ctx.params.get("what") or ()), *filter(None, [ctx.params.get("claim")]), *ctx.args])
    except Unknown:
        return []


def book_names() -> list[str]:
    return [book.id for book in books.books()]


# Options -------------------------------------------------------------------------------------------------------------


def seed_of(text: str) -> int:
    try:
        return replace(SEED, name="--seed").check(text)
    except ValueError as problem:
        raise Refused(str(problem)) from None


def path_of(text: str | Path) -> Path:
    """A file or folder that was named: no text at all would be the folder in which the command is typed."""
    if not str(text).strip():
        raise Refused(f"a file or folder must have a name, got {text!r}")
    return Path(text)


What = Annotated[
    list[str] | None, typer.Argument(help="claims, items, books, subjects, or all", autocompletion=complete)
]
One = Annotated[str, typer.Argument(help="a claim", autocompletion=complete)]
Json = Annotated[bool, typer.Option("--json", help="print JSON alone on standard output")]
Seed = Annotated[int, typer.Option(help="seed of all randomness", parser=seed_of, metavar="<int>")]
Jobs = Annotated[int, typer.Option(help="worker processes", show_default="one a core")]
PATH: dict[str, Any] = {"parser": path_of, "metavar": "<path>"}
StorePath = Annotated[Path | None, typer.Option("--store", help="where runs are kept", **PATH)]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", help="a parameter, name=value; may be given again", autocompletion=complete_setting),
]
JOBS = os.cpu_count() or 1


@contextmanager
def stored(path: Path | None) -> Iterator[Store | None]:
    """The store to read from; None where the machine has none yet. One that was named must be there."""
    if path is None and not (home() / "runs.sqlite").exists():
        yield None
        return
    with Store(path, existing=True) as opened:
        yield opened


def asked() -> list[str]:
    """What to check, asked for where somebody can answer."""
    if not (sys.stdin and sys.stdin.isatty() and sys.stderr.isatty()):
        raise Refused("name what to check: a claim, an item, a book or a subject; `all` is every claim")
    question = "What shall be checked? A claim, an item (J7.4), a book, a subject; `all` is every claim: "
    print(question, end="", file=sys.stderr, flush=True)
    answer = sys.stdin.readline().strip()
    if not answer:
        raise Refused("nothing was named, and nothing is checked")
    return [answer]


def within(name: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        raise Refused(f"{name} must be from {plainly(low)} to {plainly(high)}, not {plainly(value)}")


def writable(path: Path) -> None:
    """Refuse, before anything is run, a file that could not be written afterwards."""
    if path.is_dir() or not (path.parent.is_dir() and os.access(path.parent, os.W_OK)):
        why = "it is a folder" if path.is_dir() else f"there is no writable folder {path.parent}"
        raise Refused(f"{path} cannot be written: {why}")


def emit(value: Any) -> None:
    """Print JSON, indented for people and on one line for programs; what is not a finite number is null there."""
    indent = 1 if sys.stdout.isatty() else None
    text = jsonlib.dumps(_finite(value), ensure_ascii=False, indent=indent, default=str, allow_nan=False)
    print(text.translate(ESCAPED))


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
