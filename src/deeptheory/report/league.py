"""The league of bounds as a card for notebooks and as a page of its own."""

import html
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from deeptheory.report.notebook import CARD, CELL, MUTED

if TYPE_CHECKING:
    from deeptheory.generalization.league import Entry, League

__all__ = ["league_html", "league_page"]

COLOURS = {"says something": "#1b8f6a", "worse than guessing": "#b58900", "vacuous": "#b58900"}
HEADINGS = ("bound", "risk at most", "", "assumption not met", "does not change with")


def league_html(league: "League") -> str:
    """The card as a fragment of HTML."""
    head = "".join(f'<th style="{CELL};{MUTED};font-weight:400">{heading}</th>' for heading in HEADINGS)
    rows = "".join(f'<tr style="background:none">{row(entry, league)}</tr>' for entry in league.entries)
    facts = "".join(f"<div>{html.escape(name)}: {html.escape(text)}</div>" for name, text in league.facts.items())
    return (
        f'<div style="{CARD};max-width:64rem">'
        f'<div style="font-size:1.15em;font-weight:600">What theory says about this network</div>'
        f'<div style="{MUTED}">{html.escape(league.summary())}{facts}</div>'
        f'<div style="overflow-x:auto"><table style="border:0;margin-top:10px"><thead><tr>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div></div>"
    )


def row(entry: "Entry", league: "League") -> str:
    colour = COLOURS.get(entry.verdict(), "inherit")
    of = f"of {entry.of}; {entry.where}" if entry.of != "the network" else entry.where
    unmet = "".join(f"<div>{html.escape(text)}</div>" for text in entry.unmet) or "none"
    return (
        f'<td style="{CELL}"><b>{html.escape(entry.name)}</b><div style="{MUTED}">{html.escape(of)}</div></td>'
        f'<td style="{CELL};white-space:nowrap;font-variant-numeric:tabular-nums">{html.escape(entry.shown())}'
        f"{bar(entry, league)}</td>"
        f'<td style="{CELL};white-space:nowrap;color:{colour}">{html.escape(entry.verdict())}</td>'
        f'<td style="{CELL}">{unmet}</td><td style="{CELL};{MUTED}">{html.escape(entry.invariant)}</td>'
    )


def bar(entry: "Entry", league: "League") -> str:
    """The bound on a line from 0 to 1, the test error as a mark on it."""
    if entry.value is None:
        return ""
    width, place = 90, 90 * min(league.test_error, 1.0)
    reach = width * min(entry.value, 1.0)
    ink = "currentColor" if entry.valid else "rgba(128,128,128,.6)"
    return (
        f'<svg width="{width}" height="10" role="img" aria-label="bound {entry.shown()}" style="display:block">'
        f'<rect x="0" y="4" width="{width}" height="2" fill="rgba(128,128,128,.25)"/>'
        f'<rect x="0" y="3" width="{reach:.1f}" height="4" fill="{ink}"/>'
        f'<rect x="{place:.1f}" y="0" width="2" height="10" fill="#d55e00"/></svg>'
    )


def league_page(league: "League", path: Path) -> Path:
    """Write a self-contained page and return its place; the folder must exist."""
    style = files("deeptheory.report").joinpath("style.css").read_text()
    text = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><title>A league of bounds</title>'
        f'<link rel="icon" href="data:,"><style>{style}</style></head><body>'
        '<main id="main"><div class="wide" style="padding:2rem 0">'
        f"{league_html(league)}"
        "<p>The orange mark is the test error. Values in brackets are no bounds here: an assumption is not met. The "
        "others hold each by itself with the stated probability.</p></div></main></body></html>"
    )
    path = path.expanduser()
    try:
        path.write_text(text)
    except OSError as problem:
        raise ValueError(f"{path} cannot be written to: {problem.strerror}") from None
    return path
