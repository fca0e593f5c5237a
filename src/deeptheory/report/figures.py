"""Figures of runs: the claim's own drawing where it has one, else the default of each kind of evidence."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from deeptheory.lab.evidence import LEVEL, Evidence
from deeptheory.report import drawings
from deeptheory.report.drawings.canvas import THEME, Drawn, Spec, text

if TYPE_CHECKING:
    from deeptheory.lab.run import Run

__all__ = ["drawing_of", "drawn", "figure"]

Drawing = Callable[[Any], Any]

DEFAULTS: dict[str, Callable[[Any, float], Drawn]] = {
    "Exact": drawings.exact,
    "Identity": drawings.identity,
    "Inequality": drawings.inequality,
    "Chain": drawings.chain,
    "Printed": drawings.printed,
    "Counterexample": drawings.counterexample,
    "Law": drawings.law,
    "Chance": drawings.chance,
    "Share": drawings.share,
    "Distribution": drawings.distribution,
    "Trend": drawings.trend,
    "Rate": drawings.rate,
    "Limit": drawings.limit,
    "Bounded": drawings.bounded,
}


def figure(run: "Run", drawing: Drawing | None = None):
    """The figure of a run as one Altair chart.

    `drawing` stands in for the claim's own, which is looked up in the catalogue where none is given.
    """
    import altair as alt

    shown = drawn(run, drawing if drawing is not None else drawing_of(run.claim))
    panels: list[Spec] = []
    for name, each in shown.items():
        parts = [dict(part) for part in each.spec.get("vconcat", [each.spec])]
        if name and len(shown) > 1:
            parts[0]["title"] = name
        panels += parts if "resolve" in each.spec or "vconcat" not in each.spec else [each.spec]
    if not panels:
        panels = [text([run.reason])]
    whole = panels[0] if len(panels) == 1 else drawings.stacked(*panels)
    kinds = {"vconcat": alt.VConcatChart, "hconcat": alt.HConcatChart, "layer": alt.LayerChart}
    kind = next((kinds[part] for part in kinds if part in whole), alt.Chart)
    # Not validated here: Altair would check every row of data. It is when the chart is shown or saved.
    return kind.from_dict({**whole, "config": {**THEME, **whole.get("config", {})}}, validate=False)


def drawn(run: "Run", drawing: Drawing | None = None) -> dict[str, Drawn]:
    """The figures of a run by piece of evidence, each with a caption; a claim's own drawing is one figure named ""."""
    pieces = run.evidence
    if not pieces:
        return {}
    if drawing is not None:
        spec = drawing(pieces).to_dict()
        spec.pop("$schema", None)
        return {"": Drawn(spec, "Prediction beside observation.")}
    return {name: default(piece, LEVEL / len(pieces)) for name, piece in pieces.items()}


def default(piece: Evidence, level: float = LEVEL) -> Drawn:
    """The default figure of a piece of evidence."""
    return DEFAULTS[type(piece).__name__](piece, level)


def drawing_of(claim: str) -> Drawing | None:
    """The drawing a claim brings itself, or None; also None for a claim that is not (or no longer) in the catalogue."""
    from deeptheory.lab.catalogue import catalogue, load

    try:
        return load(claim).drawing if claim in catalogue().claims else None
    except ImportError:  # a source tree in the middle of an edit: the default figure still serves
        return None
