"""A run as a small card for notebooks: verdict, reason, controls, figure. It needs no script; its ink is the page's."""

import html
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from deeptheory.lab.sensitivity import overall
from deeptheory.names import fallen
from deeptheory.report.drawings import INK
from deeptheory.report.figures import composed, drawing_of, drawn
from deeptheory.report.wording import VERDICTS, heading, seconds, spoken

if TYPE_CHECKING:
    from deeptheory.lab.outcome import Run

__all__ = ["run_html", "runs_html"]

COLOURS = {"holds": "#1b8f6a", "refuted": "#d55e00", "inconclusive": "#b58900"}
CARD = "border:1px solid rgba(128,128,128,.35);border-radius:8px;padding:14px 18px;max-width:46rem;line-height:1.5"
CELL = "text-align:left;vertical-align:top;padding:3px 14px 3px 0;background:none"
PIECES = 2
MUTED = "opacity:.7;font-size:.9em"


def run_html(run: "Run") -> str:
    """The card of a run as a fragment of HTML."""
    controls = "".join(
        f'<tr style="background:none"><td style="{CELL};white-space:nowrap">{badge(control.verdict)}</td>'
        f'<td style="{CELL}">{spoken(control.name)}{printed(control.erratum)}'
        f'<div style="{MUTED}">{spoken(control.reason)}</div></td></tr>'
        for control in run.controls
    )
    table = (
        f'<div style="{MUTED};margin-top:10px">Controls</div><table style="border:0;margin:2px 0 0">{controls}</table>'
    )
    facts = f"{spoken(run.strength)} · resolution {spoken(overall(run))} · seed {html.escape(str(run.seed))} · "
    return (
        f'<div style="{CARD}">'
        f'<div style="font-size:1.15em;font-weight:600">{html.escape(heading(run.claim))}</div>'
        f'<div style="{MUTED}">{served(run)}</div>'
        f'<div style="margin:8px 0 2px">{badge(run.verdict)} {spoken(run.reason)}</div>'
        f'<div style="{MUTED}">{facts}{seconds(run.seconds)}</div>'
        f'<div style="margin:12px 0 0;overflow-x:auto">{drawing(run)}</div>'
        f"{table if run.controls else ''}</div>"
    )


def runs_html(runs: "Sequence[Run]") -> str:
    """Several runs as a table."""
    rows = "".join(
        f'<tr style="background:none"><td style="{CELL}">{badge(run.verdict)}</td>'
        f'<td style="{CELL}">{html.escape(heading(run.claim))}'
        f'<div style="{MUTED}">{served(run)} · {spoken(run.reason)}</div></td>'
        f'<td style="{CELL}">{spoken(run.strength)}</td></tr>'
        for run in runs
    )
    return f'<div style="{CARD}"><table style="border:0">{rows}</table></div>'


def served(run: "Run") -> str:
    """The items of a run's claim, and which of them do not hold as printed."""
    down = fallen(run.items)
    return html.escape(", ".join(f"{each} (refuted as printed)" if each in down else each for each in run.items))


def badge(verdict: str) -> str:
    glyph, said, _ = VERDICTS[verdict]
    return f'<b style="color:{COLOURS[verdict]};white-space:nowrap">{glyph} {said}</b>'


def printed(erratum: str | None) -> str:
    return f' <span style="{MUTED}">(as printed in {html.escape(erratum)})</span>' if erratum else ""


def drawing(run: "Run") -> str:
    """The figure as static SVG whose text has the colour of the text around it; of many pieces, the first few."""
    import vl_convert

    figures = drawn(run, drawing_of(run.claim))
    if not figures:
        return ""
    few = dict(list(figures.items())[:PIECES])
    rest = len(figures) - len(few)
    note = f'<div style="{MUTED}">and {rest} more: <code>run.figure()</code> shows them all</div>' if rest else ""
    spec = json.dumps(composed(few)).replace(INK, "currentColor")
    return vl_convert.vegalite_to_svg(spec) + note
