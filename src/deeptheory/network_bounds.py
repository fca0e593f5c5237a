"""The league of bounds with its faces: terminal, notebook, page."""

import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from deeptheory.generalization.league.ranking import rank_bounds
from deeptheory.generalization.league.table import League

__all__ = ["ShownLeague", "league"]

PATIENCE = 2.0
"""Seconds before one is told how far the league has come."""
SELDOM = 10.0
"""Seconds between two lines where a line cannot be written over: in notebooks and logs."""


class ShownLeague(League):
    """A league that draws itself in a notebook and writes its own page."""

    def _repr_html_(self) -> str:
        from deeptheory.report.league import league_html

        return league_html(self)

    def page(self, path: str | Path = "league.html") -> Path:
        """Write a page of its own that needs nothing else, and return where."""
        from deeptheory.report.league import league_page

        if not isinstance(path, str | Path):
            raise TypeError(f"a page is written to the file that a path names, not {path!r:.60}")
        return league_page(self, Path(path))


def league(
    model: Callable[..., Any],
    train: tuple[Any, Any],
    test: tuple[Any, Any],
    *,
    delta: float = 0.05,
    parameters: Any = None,
    layers: Sequence[Any] | None = None,
    initial: Any = None,
    key: Any = None,
) -> ShownLeague:
    """Return every bound that applies to a trained classifier, at confidence 1 − δ, beside its errors; 0–1 loss.

    `model` is an Equinox model that maps one input to its outputs, one for each class; or a function of (parameters,
    batch of inputs) with `parameters` its pytree; or any function that maps a batch of inputs to a batch of outputs.
    `train` and `test` are pairs (inputs, labels), labels whole numbers from 0; `test` gives the hold-out bound and the
    error that the others are compared with, and must not have been trained on.

    Layers of an Equinox model are found; for any other model they are passed as `layers`, matrices (out × in) or pairs
    (matrix, bias) in order. Where they, with ReLU between, give the outputs of the model, bounds by norms are proved of
    it, and a function without `parameters` gets those by compression and PAC-Bayes too. `initial` is what the
    parameters were before training, in the same form: the best data-free centre for a PAC-Bayes prior (default: zero).
    `key` draws the noise of the PAC-Bayes bound (default: always the same).

    Every number that the model stores is paid for. What is not in it, its code and static fields, is taken as fixed
    before the data were seen.
    """
    say = _Progress()
    found = rank_bounds(
        model,
        train,
        test,
        delta=delta,
        parameters=parameters,
        layers=layers,
        initial=initial,
        key=key,
        progress=say,
    )
    say.done()
    return ShownLeague(**vars(found))


class _Progress:
    """One line on standard error for slow networks: rewritten in a terminal, elsewhere a new one now and then."""

    def __init__(self) -> None:
        self.start, self.last, self.shown = time.monotonic(), -SELDOM, False

    def __call__(self, text: str) -> None:
        now = time.monotonic() - self.start
        if now <= PATIENCE:
            return
        if sys.stderr.isatty():
            print(f"\r{text:<70}", end="", file=sys.stderr, flush=True)
            self.shown = True
        elif now - self.last >= SELDOM:
            print(text, file=sys.stderr, flush=True)
            self.last = now

    def done(self) -> None:
        if self.shown:
            print("\r" + " " * 70 + "\r", end="", file=sys.stderr, flush=True)
