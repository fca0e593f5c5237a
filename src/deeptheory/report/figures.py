"""Figures of runs: the claim's own drawing where it has one, else the default of each kind of evidence."""

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from deeptheory.lab.evidence import LEVEL, Evidence
from deeptheory.report import drawings
from deeptheory.report.drawings.canvas import THEME, Drawn, Spec

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
    shown = drawn(run, drawing if drawing is not None else drawing_of(run.claim))
    return composed(shown) if shown else composed({"": Drawn.said([run.reason], run.reason)})


def composed(shown: dict[str, Drawn]):
    """Figures below each other, each under its name, as one Altair chart."""
    import altair as alt

    panels: list[Spec] = []
    for name, each in shown.items():
        parts = [dict(part) for part in each.spec.get("vconcat", [each.spec])]
        if name and len(shown) > 1:
            parts[0]["title"] = name
        panels += parts
    whole = dict(next(iter(shown.values())).spec) if len(shown) == 1 else drawings.stacked(*panels)
    kinds = {"vconcat": alt.VConcatChart, "hconcat": alt.HConcatChart, "layer": alt.LayerChart, "facet": alt.FacetChart}
    kind = next((kinds[part] for part in kinds if part in whole), alt.Chart)
    # Not validated here: Altair would check every row of data. It is when the chart is shown or saved.
    return kind.from_dict({**whole, "config": configured(whole.get("config", {}))}, validate=False)


def configured(config: Spec) -> Spec:
    """Our look, with what a drawing sets for itself."""
    return THEME | {
        name: {**THEME[name], **value} if isinstance(value, dict) and isinstance(THEME.get(name), dict) else value
        for name, value in config.items()
    }


def drawn(run: "Run", drawing: Drawing | None = None) -> dict[str, Drawn]:
    """The figures of a run by piece of evidence, each with a caption; a claim's own drawing is one figure named ""."""
    pieces = run.evidence
    if not pieces:
        return {}
    if drawing is not None:
        return {"": Drawn(own(drawing(pieces).to_dict()), "Prediction beside observation.")}
    return {name: default(piece, LEVEL / len(pieces)) for name, piece in pieces.items()}


def own(spec: Spec) -> Spec:
    """A chart made with Altair without the defaults it writes into every chart, which would stand against ours."""
    config = {name: value for name, value in spec.get("config", {}).items() if name != "view" or "stroke" in value}
    return {name: value for name, value in spec.items() if name not in ("$schema", "config")} | (
        {"config": config} if config else {}
    )


def default(piece: Evidence, level: float = LEVEL) -> Drawn:
    """The default figure of a piece of evidence."""
    return DEFAULTS[type(piece).__name__](piece, level)


def drawing_of(claim: str, known: Any = None) -> Drawing | None:
    """The drawing a claim brings itself, or None; also None for a claim that is not (or no longer) in the catalogue."""
    try:
        if known is None:
            from deeptheory.lab.catalogue import catalogue

            known = catalogue()
        entry = known.claims.get(claim)
        module = importlib.import_module(entry.module) if entry is not None else None
    except ImportError:  # a source tree in the middle of an edit: the default figure still serves
        return None
    return getattr(getattr(module, claim, None), "drawing", None)
