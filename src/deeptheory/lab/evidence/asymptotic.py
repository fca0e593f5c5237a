"""Evidence about how something grows or shrinks: rates, limits, bounded quantities.

Arrays have one entry per point of `x`; a second axis, where there is one, is independent trials."""

from dataclasses import replace
from typing import Any

import numpy as np

from deeptheory.lab.evidence import intervals
from deeptheory.lab.evidence.base import Evidence, Judgement, grouped, kind, static
from deeptheory.lab.evidence.saying import measured, power

__all__ = ["Bounded", "Limit", "Rate"]

EXPONENT = 0.25
"""How close an exponent must come by default: enough to tell 1/2 from 1, and 1 from 3/2."""


def local_exponents(x: Any, y: Any) -> np.ndarray:
    """Slopes of log y against log x between neighbouring points."""
    return np.diff(np.log(np.asarray(y, float))) / np.diff(np.log(np.asarray(x, float)))


def measured_exponent(x: Any, y: Any, level: float, order: float | None = None) -> tuple[float, float, np.ndarray]:
    """The exponent of y in x at the far end, its half-width, and all local exponents.

    Without trials it is the last local exponent. With trials it is the slope of the whole line where a straight line
    fits (in log–log axes), else again the last local one. With `order` a correction b·x^-order to log y is fitted
    beside the slope: to all points, or without trials to the last three.
    """
    x, y = np.asarray(x, float), np.asarray(y, float)
    columns = np.stack([np.log(x), np.ones_like(x), x ** -(order or 0.0)], axis=1)
    if y.ndim == 1:
        slopes = local_exponents(x, y)
        if order is not None:
            return float(np.linalg.solve(columns[-3:], np.log(y[-3:]))[0]), 0.0, slopes
        return float(slopes[-1]), 0.0, slopes
    middle, error, _ = intervals.mean(y, level)
    relative = error / middle
    slopes = local_exponents(x, middle)
    freedom = y.shape[1] - 1
    if order is not None:
        best, width = intervals.coefficients(columns, np.log(middle), relative, level=level, freedom=freedom * len(x))
        return float(best[0]), float(width[0]), slopes
    fit = intervals.line(np.log(x), np.log(middle), relative, level=level, freedom=freedom * len(x))
    if fit.misfit > 1e-3:
        return float(fit.slope), float(fit.slope_width), slopes
    last = intervals.line(np.log(x[-2:]), np.log(middle[-2:]), relative[-2:], level=level, freedom=2 * freedom)
    return float(last.slope), float(last.slope_width), slopes


def walks_away(x: Any, y: Any, exponent: float, level: float) -> bool:
    """Whether local exponents move further from a value at every step, in all by more than their errors explain."""
    x, y = np.asarray(x, float), np.asarray(y, float)
    middle, error, _ = intervals.mean(y, level)
    beside = local_exponents(x, middle) - exponent
    away = np.abs(beside)
    if np.any(np.diff(away) <= 0):
        return False
    # What the last distance less the first weighs each point with: neighbouring slopes share one.
    first, last = np.sign(beside[[0, -1]]) / np.diff(np.log(x))[[0, -1]]
    weights = np.zeros(len(x))
    weights[:2] += first, -first
    weights[-2:] += -last, last
    width = intervals.quantile(level, len(x) * (y.shape[1] - 1)) * np.linalg.norm(weights * error / middle)
    return bool(away[-1] - away[0] > width)


def extrapolated(slopes: np.ndarray) -> float:
    """Where a sequence of local exponents is heading, if its last changes go on shrinking geometrically."""
    if len(slopes) < 3:
        return float(slopes[-1])
    last, before = slopes[-1] - slopes[-2], slopes[-2] - slopes[-3]
    ratio = np.clip(last / before, 0.0, 0.9) if before else 0.0
    return float(slopes[-1] + last * ratio / (1 - ratio))


class _Exponents(Evidence):
    strength = "statistical"
    x: Any
    y: Any

    def thinned(self) -> Evidence:
        return replace(self, y=grouped(self.y) if np.ndim(self.y) == 2 else self.y)  # type: ignore[type-var]

    def problem(self) -> str | None:
        x, y = np.asarray(self.x, float), np.asarray(self.y, float)
        if len(x) < 3:
            return "an exponent needs at least three points"
        if y.shape[0] != len(x):
            raise ValueError(f"{len(x)} points but {y.shape[0]} values")
        middle = y if y.ndim == 1 else y.mean(1)
        if np.any(middle <= 0) or np.any(x <= 0):
            return "an exponent needs positive numbers"
        if y.ndim == 2 and (y.shape[1] < 8 or np.any(np.ptp(y, axis=1) == 0)):
            return "trials are too few, or do not vary"
        return None


@kind
class Rate(_Exponents):
    """y behaves like x^exponent: local exponents approach it and the measured one is within `resolution`.

    With trials the interval must also contain the exponent itself: one that excludes it, however close, says that the
    sizes do not follow the rate yet. Where the rate is reached like 1 + b·x^-order, give `order`; then b is fitted too.
    `rivals` are exponents someone might believe instead; each becomes a control that must be refuted.
    """

    x: Any
    y: Any
    exponent: float = static(1.0)
    resolution: float = static(EXPONENT)
    rivals: tuple[float, ...] = static(())
    order: float | None = static(None)

    def judgement(self, level: float) -> Judgement:
        if (problem := self.problem()) is not None:
            return self.inconclusive(problem)
        slope, width, slopes = measured_exponent(self.x, self.y, level, self.order)
        noisy = np.ndim(self.y) == 2
        deviation = abs(slope - self.exponent)
        seen = measured(slope, width, 0.0)[0] if noisy else f"{slope:.3f}"
        shown = f"exponent {seen}, {power(self.exponent)} predicted"
        judged = Judgement("refuted", shown, self.strength, deviation + width, statistical=noisy)
        if deviation - width > self.resolution:
            heading = slope if noisy else extrapolated(slopes)
            if abs(heading - self.exponent) <= self.resolution:
                return judged.doubted(f"still approaching: {shown}")
            return judged
        if deviation + width > self.resolution:
            return judged.doubted(f"not resolved: {shown}")
        if noisy and deviation > width:
            return judged.doubted(f"close, but the prediction is excluded: {shown}")
        first = abs(slopes[0] - self.exponent)
        away = (
            walks_away(self.x, self.y, self.exponent, level) if noisy else deviation > max(first, self.resolution / 4)
        )
        if away:
            return judged.doubted(f"moving away from the prediction: {shown}")
        strength = "statistical" if noisy else "exponent"
        return Judgement("holds", shown, strength, deviation + width, statistical=noisy)


@kind
class Limit(_Exponents):
    """Distances y at sizes x fall at least about as fast as x^-order."""

    x: Any
    y: Any
    order: float = static(0.5)
    resolution: float = static(EXPONENT)

    def judgement(self, level: float) -> Judgement:
        if (problem := self.problem()) is not None:
            return self.inconclusive(problem)
        slope, width, slopes = measured_exponent(self.x, self.y, level)
        noisy = np.ndim(self.y) == 2
        above = slope + self.order
        seen = measured(slope, width, 0.0)[0] if noisy else f"{slope:.3f}"
        shown = f"distances fall like size to the power {seen}, order {power(self.order)} stated"
        judged = Judgement("refuted", shown, self.strength, self.resolution, statistical=noisy)
        if above - width > self.resolution:
            heading = slope if noisy else extrapolated(slopes)
            return judged.doubted(f"still approaching: {shown}") if heading + self.order <= self.resolution else judged
        if above + width > self.resolution:
            return judged.doubted(f"not resolved: {shown}")
        return Judgement("holds", shown, self.strength, self.resolution, statistical=noisy)


@kind
class Bounded(Evidence):
    """Values stay O(1) as x grows (points in geometric or otherwise even progression of the relevant clock).

    Without trials: successive differences fall at least geometrically (ratio at most 0.7), or are already negligible:
    rounding, or at most the `error` that a solver inside may make. A logarithm has ratio 1 and is refuted. With
    trials: the trend per e-fold of x is inside the resolution.
    """

    x: Any
    y: Any
    resolution: float = static(0.05)
    error: float = static(0.0)
    strength = "statistical"

    def judgement(self, level: float) -> Judgement:
        x, y = np.asarray(self.x, float), np.asarray(self.y, float)
        if len(x) < 4:
            return self.inconclusive("boundedness needs at least four points")
        return self._noisy(x, y, level) if y.ndim == 2 else self._smooth(y)

    def _smooth(self, y: np.ndarray) -> Judgement:
        steps = np.abs(np.diff(y))
        size = float(np.max(np.abs(y)))
        negligible = max(1e-9 * size, self.error)
        untold = negligible / size if size else 1e-9
        if np.all(steps <= negligible):
            return Judgement("holds", "constant to rounding", self.strength, untold)
        ratio = float(
            max(steps[-1] / max(steps[-2], 1e-300), (steps[-1] / max(steps[0], 1e-300)) ** (1 / (len(steps) - 1)))
        )
        if steps[-1] <= negligible:
            shown = f"the steps between successive values shrink to rounding; last value {y[-1]:.4g}"
            return Judgement("holds", shown, self.strength, untold)
        shown = f"each step between values is about {ratio:.3g} times the one before; last value {y[-1]:.4g}"
        # What is left to come, were the differences to go on shrinking so: the growth that would still go unseen.
        to_come = float(steps[-1] / size) * (ratio / (1 - ratio) if ratio < 0.95 else 1.0)
        judged = Judgement("refuted", shown, self.strength, to_come)
        if ratio <= 0.7:
            return Judgement("holds", shown, self.strength, max(to_come, untold))
        return judged if ratio >= 0.95 else judged.doubted(shown)

    def _noisy(self, x: np.ndarray, y: np.ndarray, level: float) -> Judgement:
        if y.shape[1] < 8 or np.any(np.ptp(y, axis=1) == 0):
            return self.inconclusive("trials are too few, or do not vary")
        middle, error, _ = intervals.mean(y, level)
        fit = intervals.line(np.log(x), middle, error, level=level, freedom=len(x) * (y.shape[1] - 1))
        size = float(np.mean(np.abs(middle)))
        trend, width = float(fit.slope) / size, float(fit.slope_width) / size
        shown = f"trend {trend:+.3f} ± {width:.2g} of its size per e-fold"
        judged = Judgement("refuted", shown, self.strength, abs(trend) + width, statistical=True)
        if abs(trend) - width > self.resolution:
            return judged
        if abs(trend) + width > self.resolution:
            return judged.doubted(f"not resolved: {shown}")
        return Judgement("holds", shown, self.strength, abs(trend) + width, statistical=True)
