"""What all commands share: the application, its options, and how a refusal is said."""

import json as jsonlib
import os
from pathlib import Path
from typing import Annotated, Any

import typer

from deeptheory import books
from deeptheory.lab.catalogue import catalogue

app = typer.Typer(
    name="deeptheory",
    help="Deep-learning theory you can run: every statement checked, prediction beside observation.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class Refused(Exception):
    """Bad input: one clear sentence, exit 2."""


def complete(incomplete: str) -> list[str]:
    known = catalogue()
    words = [*known.claims, *known.subjects(), *(book.id for book in books.books()), "all"]
    return [word for word in words if word.startswith(incomplete.lower())]


What = Annotated[
    list[str] | None, typer.Argument(help="claims, items, books, subjects, or all", autocompletion=complete)
]
One = Annotated[str, typer.Argument(help="a claim", autocompletion=complete)]
Json = Annotated[bool, typer.Option("--json", help="print JSON alone on standard output")]
Seed = Annotated[int, typer.Option(help="seed of all randomness")]
Jobs = Annotated[int, typer.Option(help="worker processes", show_default="one a core")]
StorePath = Annotated[Path | None, typer.Option("--store", help="where runs are kept")]
Set = Annotated[list[str] | None, typer.Option("--set", help="a parameter, name=value; may be given again")]
JOBS = os.cpu_count() or 1


def within(name: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        raise Refused(f"{name} must be from {low:g} to {high:g}, not {value:g}")


def emit(value: Any) -> None:
    print(jsonlib.dumps(value, ensure_ascii=False, indent=1, default=str))
