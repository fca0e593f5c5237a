"""Evidence: what running a claim returns, of a kind that says how it is judged."""

from deeptheory.lab.evidence.asymptotic import Bounded, Limit, Rate
from deeptheory.lab.evidence.base import LEVEL, RESOLUTION, Evidence, Judgement, Verdict
from deeptheory.lab.evidence.deterministic import NEVER, Chain, Counterexample, Exact, Identity, Inequality, Printed
from deeptheory.lab.evidence.record import decode, encode, known
from deeptheory.lab.evidence.statistical import Chance, Distribution, Law, Share, Trend

__all__ = [
    "LEVEL",
    "NEVER",
    "RESOLUTION",
    "Bounded",
    "Chain",
    "Chance",
    "Counterexample",
    "Distribution",
    "Evidence",
    "Exact",
    "Identity",
    "Inequality",
    "Judgement",
    "Law",
    "Limit",
    "Printed",
    "Rate",
    "Share",
    "Trend",
    "Verdict",
    "decode",
    "encode",
    "known",
]
