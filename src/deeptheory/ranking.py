"""The league of bounds with its faces: terminal, notebook, page."""

import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from deeptheory.generalization.league import League, rank_bounds

__all__ = ["ShownLeague", "league"]

PATIENCE = 2.0
"""Seconds before a terminal is told how far the league has come."""


class ShownLeague(League):
    """A league that draws itself in a notebook and writes its own page."""

    def _repr_html_(self) -> str:
        from deeptheory.report.league import league_html

        return league_html(self)

    def page(self, path: str | Path = "league.html") -> Path:
        """Write a page of its own that needs nothing else, and return where."""
        from deeptheory.report.league import league_page

        return league_page(self, Path(path))


def league(
    model: Callable[[Any], Any],
    train: tuple[Any, Any],
    test: tuple[Any, Any],
    *,
    delta: float = 0.05,
    layers: Sequence[Any] | None = None,
    initial: Any = None,
    key: Any = None,
) -> ShownLeague:
    """Return every bound that applies to a trained classifier, at confidence 1 − δ, beside its true gap; 0–1 loss.

    `model` is an Equinox model that maps one input to its outputs, one for each class, or any function that maps a
    batch of inputs to a batch of outputs. `train` and `test` are pairs (inputs, labels), labels whole numbers from 0;
    `test` gives the error that the bounds are compared with and the hold-out bound, and must not have been trained on.
    Layers of an Equinox model are found; for any other model they are passed as `layers`, matrices (out × in) in order
    without biases, and without them the bounds by norms and counts read "needs layers". `initial` is the model before
    training, the best data-free centre for a PAC-Bayes prior (default: zero). `key` draws the noise of the PAC-Bayes
    bounds (default: always the same).

    Every number an Equinox model stores is paid for. What is not in it, its code and static fields, is taken as fixed
    before the data were seen. Where the layers with ReLU between do not give the outputs of the model, bounds by norms
    are flagged.
    """
    say = _Progress()
    found = rank_bounds(model, train, test, delta=delta, layers=layers, initial=initial, key=key, progress=say)
    say.done()
    return ShownLeague(**vars(found))


class _Progress:
    """One line on standard error, in a terminal and for slow networks only."""

    def __init__(self) -> None:
        self.start, self.shown = time.monotonic(), False

    def __call__(self, done: int, total: int) -> None:
        if sys.stderr.isatty() and time.monotonic() - self.start > PATIENCE:
            print(f"\rnetworks with noise: {done} of {total}", end="", file=sys.stderr, flush=True)
            self.shown = True

    def done(self) -> None:
        if self.shown:
            print("\r" + " " * 50 + "\r", end="", file=sys.stderr, flush=True)
