"""A piece of evidence as prediction beside observation, in words: at the one place that its verdict hangs on."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from deeptheory.formulas import lettered
from deeptheory.lab.evidence import LEVEL, Evidence
from deeptheory.lab.evidence.asymptotic import measured_exponent
from deeptheory.lab.evidence.intervals import binomial, mean
from deeptheory.lab.evidence.saying import apart, measured, power

__all__ = ["Comparison", "compared"]


@dataclass(frozen=True)
class Comparison:
    """What was predicted and what was seen, and where along the axes of the evidence that was."""

    predicted: str
    observed: str
    at: str = ""


def compared(piece: Evidence, level: float = LEVEL) -> Comparison:
    """Prediction and observation where they are furthest apart, or where most is left unseen; "" where there is none.

    Numbers are as they are recorded, so of evidence that was thinned a little less than what was judged.
    """
    return KINDS.get(type(piece).__name__, lambda *_: Comparison("", ""))(piece, level)


def _law(piece: Any, level: float) -> Comparison:
    middle, width, _ = piece.estimate(level)
    predicted = np.broadcast_to(np.asarray(piece.predicted, float), middle.shape)
    scale = predicted if piece.scale is None else np.broadcast_to(np.asarray(piece.scale, float), middle.shape)
    cell = _largest((np.abs(middle - predicted) + width) / np.maximum(np.abs(scale), np.finfo(float).tiny))
    seen, said = measured(float(middle[cell]), float(width[cell]), float(predicted[cell]))
    return Comparison(said, seen, _at(piece.along, cell))


def _share(piece: Any, _: float) -> Comparison:
    count, trials, predicted = _arrays(piece.count, piece.trials, piece.predicted)
    cell = _largest(np.abs(count / trials - predicted))
    return Comparison(f"{predicted[cell]:.4g}", f"{count[cell] / trials[cell]:.4g}", _at(piece.along, cell))


def _chance(piece: Any, level: float) -> Comparison:
    """The share that failed, with its interval: by chance it may be above the promise."""
    failures, trials, most = _arrays(piece.failures, piece.trials, piece.at_most)
    low, high = (end.reshape(most.shape) for end in map(np.asarray, binomial(failures, trials, level / failures.size)))
    cell = _largest(failures / trials / most)
    share = failures[cell] / trials[cell]
    seen, _ = measured(float(share), float(max(high[cell] - share, share - low[cell])), 0.0)
    return Comparison(f"at most {most[cell]:.3g}", seen, _at(piece.along, cell))


def _rate(piece: Any, level: float) -> Comparison:
    rated = hasattr(piece, "exponent")  # the order of a rate is fitted beside it, that of a limit is what is stated
    slope, width, _ = measured_exponent(piece.x, piece.y, level, piece.order if rated else None)
    seen = measured(slope, width, 0.0)[0] if np.ndim(piece.y) == 2 else f"{slope:.3f}"
    stated = power(piece.exponent) if rated else f"≲ {power(-piece.order)}"
    return Comparison(f"exponent {stated}", seen)


def _bounded(piece: Any, _: float) -> Comparison:
    y = np.asarray(piece.y, float)
    middle = y.mean(1) if y.ndim == 2 else y
    return Comparison("bounded", f"{middle[0]:.4g} … {middle[-1]:.4g}")


def _distribution(piece: Any, _: float) -> Comparison:
    return Comparison("distance 0", f"{piece.distance():.2g}")


def _trend(piece: Any, level: float) -> Comparison:
    middle, _, width = mean(np.asarray(piece.differences, float), level)
    cell = _largest(width - middle)
    return Comparison("above 0", measured(float(middle[cell]), float(width[cell]), 0.0)[0], _at(piece.along, cell))


def _inequality(piece: Any, _: float) -> Comparison:
    quantity, bound, gap = _gaps(piece)
    cell = _largest(gap)
    said = ("at most e^{}", "e^{}") if piece.log else ("at most {}", "{}")
    most, seen = (f"{side[cell]:.4g}" for side in (bound, quantity))
    allowed = np.broadcast_to(piece.allowed(), bound.shape)[cell]
    if most != seen and 0 < quantity[cell] - bound[cell] <= allowed:
        most += f" + {allowed:.2g}"  # what a solver may be off: without it the bound would seem to be broken
    return Comparison(said[0].format(most), said[1].format(seen), _at(piece.along, cell))


def _chain(piece: Any, level: float) -> Comparison:
    """The link that comes nearest to breaking, or is furthest broken."""
    links = piece.inequalities()
    name = max(links, key=lambda each: np.max(_gaps(links[each])[2]))
    found = _inequality(links[name], level)
    return Comparison(found.predicted, found.observed, name)


def _gaps(piece: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Quantities, bounds, and how far the first exceed the second, relative to their size."""
    quantity, bound, scale = _arrays(piece.quantity, piece.bound, piece.measure())
    return quantity, bound, quantity - bound if piece.log else (quantity - bound) / scale


def _sides(left: str, right: str) -> Callable[[Any, float], Comparison]:
    """Two computations of the same numbers, where they differ most."""

    def beside(piece: Any, _: float) -> Comparison:
        one, other = np.asarray(getattr(piece, left)), np.asarray(getattr(piece, right))
        if one.dtype.kind not in "fiub" or other.dtype.kind not in "fiub":
            return Comparison("equal entries", f"{one.size:,} compared")
        one, other = np.broadcast_arrays(one.astype(float), other.astype(float))
        gap = np.abs(one - other)
        scale = np.asarray(piece.measure(), float) if hasattr(piece, "measure") else np.abs(one) + np.abs(other)
        cell = _largest(gap / np.maximum(scale, np.finfo(float).tiny) + 1e-30 * np.abs(one))
        said = (
            apart(float(one[cell]), float(other[cell]))
            if gap[cell] > 1e-9 * abs(one[cell])
            else (f"{one[cell]:.6g}",) * 2
        )
        return Comparison(said[1], said[0], _at(getattr(piece, "along", {}), cell))

    return beside


KINDS: Mapping[str, Callable[[Any, float], Comparison]] = {
    "Law": _law, "Share": _share, "Chance": _chance, "Rate": _rate, "Limit": _rate, "Bounded": _bounded,
    "Distribution": _distribution, "Trend": _trend, "Inequality": _inequality, "Chain": _chain,
    "Identity": _sides("left", "right"), "Exact": _sides("left", "right"), "Printed": _sides("ours", "printed"),
}  # fmt: skip


def _arrays(*values: Any) -> list[Any]:
    return list(np.broadcast_arrays(*(np.asarray(value, float) for value in values)))


def _largest(values: Any) -> Any:
    values = np.asarray(values)
    return np.unravel_index(np.argmax(values), values.shape) if values.ndim else ()


def _at(along: Mapping[str, Any], cell: tuple[int, ...]) -> str:
    """Where a cell lies: γ = 0.5, n = 100; nothing of axes that have no labels."""
    found = []
    for (name, values), index in zip(along.items(), cell, strict=False):
        if np.ndim(values) == 1 and len(values) > index:
            value = np.asarray(values)[index]
            found.append(f"{lettered(name)} = {f'{value:g}' if isinstance(value, np.number) else value}")
    return ", ".join(found)
