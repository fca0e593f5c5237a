"""Figures of runs: the claim's own picture where it has one, and the default of each kind of evidence."""

import importlib
import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from deeptheory.characters import legible
from deeptheory.charts import offline
from deeptheory.lab.evidence import LEVEL, Evidence
from deeptheory.lab.pictures import Picture
from deeptheory.report import drawings
from deeptheory.report.drawings.canvas import THEME, Drawn, Spec
from deeptheory.report.drawings.values import Names
from deeptheory.report.pictures import painted

if TYPE_CHECKING:
    from deeptheory.lab.outcome import Run

__all__ = ["drawing_of", "drawn", "figure"]

Drawing = Callable[..., Picture]

DEFAULTS: dict[str, Callable[[Any, float, Names], Drawn]] = {
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
    """The figure of a run as one Altair chart, which a notebook shows without a network.

    `drawing` stands in for the claim's own, which is looked up in the catalogue where none is given.
    """
    drawing = drawing if drawing is not None else drawing_of(run.claim)
    return offline(charted(composed(drawn(run, drawing) or {"": Drawn.said([run.reason], run.reason)})))


def composed(shown: dict[str, Drawn]) -> Spec:
    """Figures below each other, each under its name, in our look."""
    titled = []
    for name, each in shown.items():
        parts = each.spec.get("vconcat", [each.spec])
        first = {**parts[0], "title": legible(name)} if name and len(shown) > 1 else parts[0]
        titled.append({**each.spec, "vconcat": [first, *parts[1:]]} if "vconcat" in each.spec else first)
    whole = titled[0] if len(titled) == 1 else drawings.stacked(*titled)
    side = {"continuousWidth": 580 // len(whole["hconcat"])} if "hconcat" in whole else {}
    return {**whole, "config": THEME | {"view": THEME["view"] | side}}


def charted(spec: Spec):
    """A specification made of our panels as an Altair chart. (`from_dict` would do, thirty times as slowly.)"""
    import altair as alt

    made = ("vconcat", "hconcat", "layer", "data", "params", "encoding")
    rest = {name: value for name, value in spec.items() if name not in made}
    if "data" in spec:
        rest["data"] = alt.InlineData(**spec["data"])
    if spec.get("params"):
        rest["params"] = [alt.TopLevelSelectionParameter(**param) for param in spec["params"]]
    for kind, part in ((alt.VConcatChart, "vconcat"), (alt.HConcatChart, "hconcat"), (alt.LayerChart, "layer")):
        if part in spec:
            return kind(**{part: [charted(each) for each in spec[part]]}, **rest)
    return alt.Chart(encoding=alt.FacetedEncoding(**spec["encoding"]), **rest)


def drawn(run: "Run", drawing: Drawing | None = None) -> dict[str, Drawn]:
    """The figures of a run by piece of evidence, each with a caption; a claim's own picture is one figure named ""."""
    pieces = run.evidence
    if not pieces:
        return {}
    if drawing is not None:
        given = (pieces, run.parameters)[: len(inspect.signature(drawing).parameters)]
        with jax.enable_x64(True):  # as where the numbers were made
            picture = drawing(*given)
        made = {"": painted(picture, " ".join((drawing.__doc__ or run.reason).split()))}
    else:
        made = {name: default(piece, LEVEL / len(pieces), names(run, name, piece)) for name, piece in pieces.items()}
    # A control character among its labels would end the process that draws it.
    return {name: replace(each, spec=legible(each.spec)) for name, each in made.items()}


def names(run: "Run", name: str, piece: Evidence) -> Names:
    """What the numbers of a piece are called: it by its name, what they run along by the parameter that lists them."""
    along = getattr(piece, "x", None)
    same = [
        each
        for each, value in run.parameters.items()
        if along is not None and isinstance(value, (list, tuple)) and list(value) == np.ravel(along).tolist()
    ]
    x = same[0].replace("_", " ").removesuffix("s") if same else Names().x
    return Names(name.replace("_", " ") or Names().value, x)


def default(piece: Evidence, level: float = LEVEL, names: Names = Names()) -> Drawn:  # noqa: B008 - a tuple of words
    """The default figure of a piece of evidence."""
    return DEFAULTS[type(piece).__name__](piece, level, names)


def drawing_of(claim: str, known: Any = None) -> Drawing | None:
    """What makes the picture of a claim, or None; also None for a claim that is not (or no longer) in the catalogue."""
    try:
        if known is None:
            from deeptheory.lab.entries import catalogue

            known = catalogue()
        entry = known.claims.get(claim)
        module = importlib.import_module(entry.module) if entry is not None else None
    except ImportError:  # a source tree in the middle of an edit: the default figure still serves
        return None
    return getattr(getattr(module, claim, None), "drawing", None)
