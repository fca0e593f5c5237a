"""Default figures, one function a kind of evidence; grouped as the kinds are."""

from deeptheory.report.drawings.asymptotic import bounded, limit, rate
from deeptheory.report.drawings.canvas import BAND, INK, OBSERVED, PREDICTED, RIVAL, SERIES, THEME, Drawn, stacked
from deeptheory.report.drawings.deterministic import chain, counterexample, exact, identity, inequality, printed
from deeptheory.report.drawings.statistical import chance, distribution, law, share, trend

__all__ = [
    "BAND",
    "INK",
    "OBSERVED",
    "PREDICTED",
    "RIVAL",
    "SERIES",
    "THEME",
    "Drawn",
    "bounded",
    "chain",
    "chance",
    "counterexample",
    "distribution",
    "exact",
    "identity",
    "inequality",
    "law",
    "limit",
    "printed",
    "rate",
    "share",
    "stacked",
    "trend",
]
