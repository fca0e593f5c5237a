"""The laboratory: claims, evidence, verdicts, controls, falsification, runs. It knows no particular claim."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deeptheory.lab._claim import Claim, assume, claim
    from deeptheory.lab._falsify import Falsification, falsify
    from deeptheory.lab.evidence import (
        Bounded,
        Chain,
        Chance,
        Counterexample,
        Distribution,
        Evidence,
        Exact,
        Identity,
        Inequality,
        Judgement,
        Law,
        Limit,
        Printed,
        Rate,
        Share,
        Trend,
    )
    from deeptheory.lab.numbers import parts, rounding
    from deeptheory.lab.outcome import Run
    from deeptheory.lab.parameters import Count, Positive, Probability, Sizes, Trials
    from deeptheory.lab.run import execute
    from deeptheory.lab.spaces import Integers, Reals

# Looked up on first use, so that naming a parameter or reading the catalogue does not import JAX.
_WHERE = {
    "_claim": ("Claim", "assume", "claim"),
    "evidence": (
        *("Bounded", "Chain", "Chance", "Counterexample", "Distribution", "Evidence", "Exact", "Identity"),
        *("Inequality", "Judgement", "Law", "Limit", "Printed", "Rate", "Share", "Trend"),
    ),
    "_falsify": ("Falsification", "falsify"),
    "numbers": ("parts", "rounding"),
    "parameters": ("Count", "Positive", "Probability", "Sizes", "Trials"),
    "outcome": ("Run",),
    "run": ("execute",),
    "spaces": ("Integers", "Reals"),
}
_MODULE = {name: module for module, names in _WHERE.items() for name in names}

__all__ = [
    "Bounded", "Chain", "Chance", "Claim", "Count", "Counterexample", "Distribution", "Evidence", "Exact",
    "Falsification", "Identity", "Inequality", "Integers", "Judgement", "Law", "Limit", "Positive", "Printed",
    "Probability", "Rate", "Reals", "Run", "Share", "Sizes", "Trend", "Trials", "assume", "claim", "execute", "falsify",
    "parts", "rounding",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _MODULE:
        return getattr(importlib.import_module(f"deeptheory.lab.{_MODULE[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
