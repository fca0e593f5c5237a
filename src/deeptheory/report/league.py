"""The league of bounds as a card for notebooks and as a page of its own."""

import html
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from deeptheory.report.notebook import CARD, CELL, MUTED
from deeptheory.report.security import policy

if TYPE_CHECKING:
    from deeptheory.generalization.league.table import Entry, League

__all__ = ["league_html", "league_page"]

# The page has these colours for light and dark; a notebook, which has not, takes ones that do for both.
GOOD, UNSURE = "var(--good, #1b8f6a)", "var(--unsure, #b58900)"
COLOURS = {"says something": GOOD, "worse than guessing": UNSURE, "vacuous": UNSURE}
TITLE = "What theory says about this network"
HEADINGS = ("bound", "risk at most", "worth", "made of, or not met", "does not change with")
PAPERS = {
    "Bartlett et al. 2017": "P. Bartlett, D. Foster, M. Telgarsky, Spectrally-normalized margin bounds",
    "Catoni 2007": "O. Catoni, PAC-Bayesian supervised classification",
    "Golowich et al. 2018": "N. Golowich, A. Rakhlin, O. Shamir, Size-independent sample complexity",
    "Maurer 2004": "A. Maurer, A note on the PAC-Bayesian theorem",
    "Maurer 2016": "A. Maurer, A vector-contraction inequality for Rademacher complexities",
    "Neyshabur et al. 2015": "B. Neyshabur, R. Tomioka, N. Srebro, Norm-based capacity control",
    "Neyshabur et al. 2018": "B. Neyshabur, S. Bhojanapalli, N. Srebro, A PAC-Bayesian approach to margin bounds",
    "Wei and Ma 2019": "C. Wei, T. Ma, Improved sample complexities via all-layer margin",
}
# On a phone the cells of a row stand below each other, each with its heading.
STYLE = """
.league td { font-size: 0.92rem; }
.league td:last-child { color: var(--muted); }
.league td.r { text-align: left; max-width: none; white-space: nowrap; }
.league .group th { padding-top: 1.8rem; color: var(--ink); font-weight: 600; white-space: normal; }
.sources { list-style: none; padding: 0; }
@media (max-width: 46rem) {
  .league .group { padding: 0; } .league .group th { display: block; }
  .league td[data-label] { display: block; padding-top: 0.3rem; }
  .league td[data-label]::before { content: attr(data-label) ": "; color: var(--muted); }
}
"""


def league_html(league: "League") -> str:
    """The card as a fragment of HTML."""
    about = "".join(f"<div>{html.escape(line)}</div>" for line in lines(league))
    return (
        f'<div style="{CARD};max-width:64rem"><div style="font-size:1.15em;font-weight:600">{TITLE}</div>'
        f'<div style="{MUTED}">{about}</div><div style="overflow-x:auto">{table(league, inline=True)}</div></div>'
    )


def lines(league: "League") -> list[str]:
    return [*league.summary(), *(f"{name}: {text}" for name, text in league.facts.items())]


def table(league: "League", *, inline: bool) -> str:
    """The rows, group by group; styled in place for a notebook, by the sheet of the page otherwise."""
    cell = f' style="{CELL}"' if inline else ""
    muted = f' style="{CELL};{MUTED}"' if inline else ""
    opening = '<table style="border:0;margin-top:10px">' if inline else '<table class="claims league">'
    head = "".join(f'<th scope="col"{muted}>{heading}</th>' for heading in HEADINGS)
    body = ""
    for heading, entries in league.groups().items():
        body += (
            f'<tr class="group"><th colspan="{len(HEADINGS)}" scope="rowgroup"{muted}>{html.escape(heading)}</th></tr>'
        )
        body += "".join(row(entry, league, cell, muted) for entry in entries)
    return f"{opening}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def row(entry: "Entry", league: "League", cell: str, muted: str) -> str:
    about = [f"of {entry.of}", entry.where] if entry.of != "the network" else [entry.where]
    small = f' style="{MUTED}"' if muted else ""
    shown = html.escape(entry.shown()) + bar(entry, league)
    worth = "" if entry.unmet else html.escape(entry.verdict())
    colour = COLOURS.get(worth, "inherit")
    said = "".join(f"<div>{html.escape(text)}</div>" for text in (*entry.unmet, *entry.detail))
    cells = [f'<td class="what"{cell}><b class="name">{html.escape(entry.name)}</b>']
    cells[0] += "".join(f'<div class="meta"{small}>{html.escape(text)}</div>' for text in about) + "</td>"
    for text, heading, kind, style in (
        (shown if entry.value is not None else "", HEADINGS[1], ' class="r"', cell),
        (worth and f'<span style="white-space:nowrap;color:{colour}">{worth}</span>', HEADINGS[2], "", cell),
        (said, HEADINGS[3], "", cell),
        (html.escape(entry.invariant), HEADINGS[4], "", muted),
    ):
        label = f' data-label="{heading}"' if text else ""
        cells.append(f"<td{kind}{label}{style}>{text}</td>")
    return f"<tr>{''.join(cells)}</tr>"


def bar(entry: "Entry", league: "League") -> str:
    """The bound on a line from 0 to 1, the test error as a mark on it."""
    if entry.value is None:
        return ""
    width, place = 90, 90 * min(league.test_error, 1.0)
    reach = width * min(entry.value, 1.0)
    ink = "currentColor" if entry.valid else "rgba(128,128,128,.6)"
    return (
        f'<svg width="{width}" height="10" role="img" aria-label="bound {html.escape(entry.shown())}" '
        f'style="display:block"><rect x="0" y="4" width="{width}" height="2" fill="rgba(128,128,128,.25)"/>'
        f'<rect x="0" y="3" width="{reach:.1f}" height="4" fill="{ink}"/>'
        f'<rect x="{place:.1f}" y="0" width="2" height="10" fill="#d55e00"/></svg>'
    )


def sources(league: "League") -> list[str]:
    """What the short references in the table stand for."""
    from deeptheory.books import books

    named = " ".join(entry.where for entry in league.entries)
    shelf = [f"{b.id}: {b.authors[0]} and others, {b.title} ({b.edition})" for b in books() if b.id in named]
    return shelf + [f"{short}: {title}" for short, title in PAPERS.items() if short in named]


def league_page(league: "League", path: Path) -> Path:
    """Write a self-contained page and return its place; the folder must exist."""
    style = files("deeptheory.report").joinpath("style.css").read_text() + STYLE
    about = "".join(f"<div>{html.escape(line)}</div>" for line in lines(league))
    references = "".join(f"<li>{html.escape(line)}</li>" for line in sources(league))
    text = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy(sheet=style)}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta name="color-scheme" content="light dark"><title>{TITLE}</title>'
        f'<link rel="icon" href="data:,"><style>{style}</style></head><body>'
        f'<main id="main" class="wide" style="padding-block:2.5rem"><h1>{TITLE}</h1>'
        f'<div class="meta" style="margin-block:1rem 1.5rem">{about}</div>'
        f'<div class="table-wrap">{table(league, inline=False)}</div>'
        '<p class="meta" style="margin-top:2rem">The orange mark is the test error, the line runs from 0 to 1. Values '
        "in brackets are no bounds here: an assumption is not met. The others hold each by itself with the stated "
        f'probability.</p><h2 style="margin-top:2rem">Sources</h2><ul class="sources meta">{references}</ul>'
        "</main></body></html>"
    )
    path = path.expanduser()
    try:
        path.write_text(text)
    except OSError as problem:
        raise ValueError(f"{path} cannot be written to: {problem.strerror}") from None
    return path
