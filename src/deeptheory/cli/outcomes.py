"""What checks came to, in the terminal: prediction beside observation, the verdict in a sentence, the controls."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from deeptheory.cli.display import coloured, console, served, table
from deeptheory.formulas import readable, spoken
from deeptheory.lab.entries import Entry
from deeptheory.lab.parameters import written

if TYPE_CHECKING:
    from deeptheory.lab.outcome import Run

__all__ = ["show_outcomes"]

FEW = 5
"""So many runs are shown one by one; more in a table."""
PIECES = 8
"""Pieces of evidence shown of one run."""
REPORT = "deeptheory-report"
"""The folder that `deeptheory report` writes."""


def show_outcomes(done: Sequence[tuple[Entry, "Run"]], *, page: bool = True) -> None:
    """Runs one by one where they are few; else one line each, below what is not as it should be, and where to look."""
    out = console()
    if len(done) <= FEW:
        for entry, run in done:
            _card(out, entry, run)
            out.print()
    else:
        out.print(_lines(done))
        out.print()
        for entry, run in done:
            if not run.as_expected:
                out.print(f"{entry.name} is {_sentence(run)}")
    pages = [entry.name for entry, run in done if run.control is None]
    if pages and page:
        where = f"{REPORT}/claims/{pages[0]}.html" if len(pages) == 1 else f"{REPORT}/index.html"
        out.print(f"page: {where}, when `deeptheory report` has written it")


def _card(out: Console, entry: Entry, run: "Run") -> None:
    """One run: the statement, the verdict, every piece of evidence, every control."""
    of = "" if run.control is None else f"  control “{readable(run.control)}”"
    out.print(Text.assemble((entry.name, "bold"), (of, "bold"), "  ", (served(entry.items), "dim")))
    out.print(Text(readable(entry.says), style="dim"))
    if run.control is None:
        out.print(coloured(run.verdict), f": {_sentence(run).partition(': ')[2]}", sep="")
    else:
        must = "as it must be" if run.as_expected else "and should be refuted"
        out.print(
            f"the control “{readable(run.control)}” of {entry.name} is {run.verdict}, {must}: {spoken(run.reason)}."
        )
    if run.judgements and run.described:
        out.print(_pieces(run))
        if len(run.judgements) > PIECES:
            out.print(Text(f"and {len(run.judgements) - PIECES} more pieces of evidence", style="dim"))
    if run.control is None:
        for item, pieces in entry.items.items():
            for lost in sorted(set(pieces) - set(run.judgements)):
                known = ", ".join(f"“{name}”" for name in run.judgements if name) or 'one without a name, ""'
                out.print(f"{item} rests on “{lost}”, and no piece of evidence is called so; there is {known}")
    if run.controls:
        controls = table("control", "verdict", "why")
        for each in run.controls:
            controls.add_row(readable(each.name), coloured(each.verdict), spoken(each.reason))
        out.print(controls)
    settings = f" · {written(run.parameters)}" if run.parameters else ""
    out.print(Text(f"seed {run.seed} · {run.seconds:.1f} s{settings}", style="dim"))


def _sentence(run: "Run") -> str:
    """Verdict, reason, and what would have been noticed."""
    from deeptheory.lab.sensitivity import unseen

    noticed = unseen(run)
    return f"{run.verdict}: {spoken(run.reason)}." + (f" {spoken(noticed)}" if noticed else "")


def _pieces(run: "Run") -> Table:
    """Prediction beside observation, a line for each piece of evidence."""
    from deeptheory.lab.comparing import compared
    from deeptheory.lab.evidence import LEVEL
    from deeptheory.lab.sensitivity import resolution

    made = table("evidence", ">predicted", ">observed", "at", "verdict", "resolution")
    evidence = run.evidence
    for name, piece in list(evidence.items())[:PIECES]:
        judged = run.judgements[name]
        found = compared(piece, LEVEL / len(evidence))
        unsaid = resolution(run.described[name]["kind"], judged)
        numbers = (spoken(found.predicted), spoken(found.observed), found.at)
        made.add_row(readable(name) or "all", *numbers, coloured(judged.verdict), spoken(unsaid))
    return made


def _lines(done: Sequence[tuple[Entry, "Run"]]) -> Table:
    """One line a run: prediction beside observation at the piece its verdict is taken from."""
    from deeptheory.lab.comparing import Comparison, compared
    from deeptheory.lab.evidence import LEVEL
    from deeptheory.lab.sensitivity import decisive, overall

    made = table("claim", "verdict", ">predicted", ">observed", "resolution", ">controls", ">seconds")
    made.columns[0].no_wrap = True
    for entry, run in done:
        name = decisive(run)
        found = Comparison("", "") if name is None else compared(run.evidence[name], LEVEL / len(run.judgements))
        refuted = sum(control.verdict == "refuted" for control in run.controls)
        controls = f"{refuted}/{len(run.controls)}" if run.control is None else ""
        said = (spoken(each) for each in (found.predicted, found.observed, overall(run)))
        shown = (*said, controls, f"{run.seconds:.1f}")
        made.add_row(entry.name if run.control is None else f"control “{run.control}”", coloured(run.verdict), *shown)
    return made
