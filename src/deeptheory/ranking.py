"""The league of bounds with its faces: terminal, notebook, page."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from deeptheory.generalization.league import League, rank_bounds

__all__ = ["ShownLeague", "league"]


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
    batch of inputs to a batch of outputs. Layers of an Equinox model are found; for any other model they are passed as
    `layers`, matrices (out × in) in order, and without them the bounds by norms and counts read "needs layers".
    `initial` is the model before training, the best data-free centre for a PAC-Bayes prior (default: zero).
    """
    found = rank_bounds(model, train, test, delta=delta, layers=layers, initial=initial, key=key)
    return ShownLeague(**vars(found))
