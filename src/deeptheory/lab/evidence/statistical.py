"""Evidence with chance in it. One rule for all: the interval of the deviation lies inside the resolution (holds),
outside it (refuted), or across its edge (inconclusive), so that too small a sample can only be inconclusive."""

from dataclasses import replace
from typing import Any

import numpy as np

from deeptheory.lab.evidence import intervals
from deeptheory.lab.evidence.base import RESOLUTION, Evidence, Judgement, coordinates, grouped, kind, static
from deeptheory.lab.evidence.saying import measured, percent

__all__ = ["Chance", "Distribution", "Law", "Share", "Trend"]


@kind
class Law(Evidence):
    """A predicted mean beside observations, whose last axis is independent trials.

    `exact=True`: the mean equals the prediction at these sizes, so the interval must contain it. Otherwise the first
    axis of `observed` runs over `sizes`, the law is a limit reached like size^-order, and what is tested is the
    intercept of the straight line in size^-order. Deviations are relative to `scale` (default: the prediction).
    """

    predicted: Any
    observed: Any
    along: dict[str, Any] = coordinates()
    sizes: Any = None
    order: float | None = static(None)
    exact: bool = static(False)
    scale: Any = None
    resolution: float = static(RESOLUTION)
    strength = "statistical"

    def thinned(self) -> "Law":
        return replace(self, observed=grouped(self.observed))

    def estimate(self, level: float) -> tuple[np.ndarray, np.ndarray, float]:
        """The observed value, its half-width at this level, and the least p-value of the extrapolating fit."""
        observed = np.asarray(self.observed, float)
        cells = max(int(np.prod(observed.shape[:-1] if self.exact else observed.shape[1:-1])), 1)
        middle, error, width = intervals.mean(observed, level / cells)
        if self.exact:
            return middle, width, 1.0
        sizes = np.asarray(self.sizes, float)
        freedom = len(sizes) * (observed.shape[-1] - 1)
        fit = intervals.line(sizes ** -float(self.order or 0), middle, error, level=level / cells, freedom=freedom)
        return fit.intercept, fit.intercept_width, float(np.min(fit.misfit) * cells)

    def judgement(self, level: float) -> Judgement:
        observed = np.asarray(self.observed, float)
        if observed.ndim == 0 or observed.shape[-1] < 8:
            return self.inconclusive("a mean needs at least 8 independent trials")
        if not self.exact and (self.sizes is None or self.order is None or len(np.asarray(self.sizes)) < 2):
            raise ValueError("a Law that is not exact needs sizes and the order at which the limit is approached")
        if np.any(np.ptp(observed, axis=-1) == 0):
            return self.inconclusive("some observations do not vary at all: the error of their mean is unknown")
        middle, width, misfit = self.estimate(level)
        predicted = np.broadcast_to(np.asarray(self.predicted, float), middle.shape)
        scale = np.abs(
            predicted if self.scale is None else np.broadcast_to(np.asarray(self.scale, float), middle.shape)
        )
        if np.any(scale == 0):
            return self.inconclusive("the prediction is zero somewhere: give a scale for deviations")
        deviation, half = (middle - predicted) / scale, width / scale
        seen = np.abs(deviation) + half

        def described(least: np.ndarray) -> str:
            """The cell where something is largest; deviations are said in what they are measured by, if not itself."""
            cell = np.unravel_index(np.argmax(least), least.shape) if least.ndim else ()
            said = "{} observed, {} predicted".format(*measured(middle[cell], width[cell], predicted[cell]))
            return said if self.scale is None else f"{said}, on a scale of {scale[cell]:.3g}"

        beyond = described(np.abs(deviation) - half)
        allowed = 0.0 if self.exact else self.resolution
        resolution = float(np.max(seen))
        judged = Judgement("refuted", beyond, self.strength, resolution, statistical=True)
        if np.any(np.abs(deviation) - half > allowed):
            return judged
        if misfit < level:
            return judged.doubted(f"the sizes do not yet follow the stated order {self.order:g}")
        if resolution > self.resolution:
            return judged.doubted(f"deviations up to {percent(resolution)} cannot be excluded: {described(seen)}")
        # Of what holds the cell is named that leaves most unseen: it decides to how many per cent.
        which = f"the least certain of {seen.size} predicted values: " if seen.size > 1 else ""
        reason = f"{which}{described(seen)}"
        return Judgement("holds", reason, f"holds to {percent(resolution)}", resolution, statistical=True)


@kind
class Chance(Evidence):
    """Something fails with probability at most δ: failures among trials against `at_most`.

    Holds when the exact binomial limit excludes a failure rate of `factor`·δ; refuted when it excludes δ itself.
    """

    failures: Any
    trials: Any
    at_most: Any
    factor: float = static(2.0)
    along: dict[str, Any] = coordinates()
    strength = "statistical"

    def judgement(self, level: float) -> Judgement:
        failures, at_most = np.broadcast_arrays(np.asarray(self.failures, float), np.asarray(self.at_most, float))
        trials = np.broadcast_to(np.asarray(self.trials, float), failures.shape)
        low, high = intervals.binomial(failures, np.asarray(self.trials), level / failures.size)
        reach = float(np.max(high / at_most))  # the largest share of the promise that the trials leave possible
        refuted = bool(np.any(low > at_most))
        said = low if refuted else high
        worst = np.unravel_index(np.argmax(said / at_most), failures.shape) if failures.ndim else ()
        failed = f"{failures[worst]:,.0f} of {trials[worst]:,.0f} failed"
        promise = at_most[worst] * trials[worst]
        chance = " on average; so many come about by chance" if failures[worst] > promise else ""
        reason = f"{failed} where {promise:,.4g} may{chance}"
        judged = Judgement("holds", reason, self.strength, max(reach - 1, 0.0), reach, statistical=True)
        if refuted:
            promised = f"a rate of at least {low[worst]:.3g} where at most {at_most[worst]:.3g} is promised"
            return replace(judged, verdict="refuted", reason=f"{failed}, {promised}")
        if np.any(high > self.factor * at_most):
            return judged.doubted(f"too few trials: {failed}, and a rate of {high[worst]:.3g} is not excluded")
        return judged


@kind
class Share(Evidence):
    """A predicted probability beside a count among independent trials, judged by exact binomial limits.

    Deviations are relative to the prediction; near 1 give `of_failures=True` to resolve the complement instead.
    """

    count: Any
    trials: Any
    predicted: Any
    resolution: float = static(RESOLUTION)
    of_failures: bool = static(False)
    along: dict[str, Any] = coordinates()
    strength = "statistical"

    def judgement(self, level: float) -> Judgement:
        count, predicted = np.broadcast_arrays(np.asarray(self.count, float), np.asarray(self.predicted, float))
        low, high = intervals.binomial(count, np.asarray(self.trials), level / count.size)
        scale = 1 - predicted if self.of_failures else predicted
        if np.any(scale <= 0):
            return self.inconclusive("a predicted probability of 0 or 1 has no relative deviation")
        trials = np.broadcast_to(np.asarray(self.trials, float), count.shape)
        beyond = np.maximum(low - predicted, predicted - high) / scale
        seen = np.maximum(high - predicted, predicted - low) / scale
        said = beyond if np.any(beyond > 0) else seen
        cell = np.unravel_index(np.argmax(said), said.shape) if said.ndim else ()
        resolution = float(np.max(seen))
        share, half = count[cell] / trials[cell], (high[cell] - low[cell]) / 2
        counted = f"{count[cell]:,.0f} of {trials[cell]:,.0f}"
        reason = "{}, a share of {}, {} predicted".format(counted, *measured(share, half, predicted[cell]))
        judged = Judgement("refuted", reason, self.strength, resolution, statistical=True)
        if np.any(beyond > 0):
            return judged
        if resolution > self.resolution:
            return judged.doubted(f"deviations up to {percent(resolution)} cannot be excluded: {reason}")
        return Judgement("holds", reason, f"holds to {percent(resolution)}", resolution, statistical=True)


@kind
class Distribution(Evidence):
    """Independent samples follow a law: `ranks` are its distribution function at the samples, so uniform on [0, 1].

    Judged by the Dvoretzky–Kiefer–Wolfowitz band, which is valid at every sample size. Never for eigenvalues of one
    matrix: they are rigid, not independent.
    """

    ranks: Any
    resolution: float = static(RESOLUTION)
    strength = "statistical"

    def thinned(self) -> "Distribution":
        ranks = np.sort(np.asarray(self.ranks, float))
        return replace(self, ranks=ranks[:: -(-len(ranks) // 4096)])

    def distance(self) -> float:
        """Kolmogorov–Smirnov distance between the samples and the law."""
        ranks = np.sort(np.asarray(self.ranks, float))
        steps = np.arange(len(ranks) + 1) / len(ranks)
        return float(max(np.max(steps[1:] - ranks), np.max(ranks - steps[:-1])))

    def judgement(self, level: float) -> Judgement:
        distance = self.distance()
        band = float(np.sqrt(np.log(2 / level) / (2 * np.size(self.ranks))))
        reason = f"Kolmogorov–Smirnov distance {distance:.4g}, band {band:.2g}"
        judged = Judgement("refuted", reason, self.strength, distance + band, statistical=True)
        if distance > band:
            return judged
        if distance + band > self.resolution:
            return judged.doubted(f"too few samples: {reason}")
        return Judgement("holds", reason, f"holds to {distance + band:.2g}", distance + band, statistical=True)


@kind
class Trend(Evidence):
    """The sign of an effect: independent differences whose mean should be positive. Never a theorem's only leg."""

    differences: Any
    along: dict[str, Any] = coordinates()
    strength = "trend"

    def thinned(self) -> "Trend":
        return replace(self, differences=grouped(self.differences))

    def judgement(self, level: float) -> Judgement:
        differences = np.asarray(self.differences, float)
        if np.any(np.ptp(differences, axis=-1) == 0):
            return self.inconclusive("the differences do not vary at all")
        middle, _, width = intervals.mean(differences, level / max(middle_size(differences), 1))
        worst = np.unravel_index(np.argmin(middle - width), middle.shape) if middle.ndim else ()
        reason = f"effect {measured(middle[worst], width[worst], 0.0)[0]}"
        resolution = float(np.max(width / np.maximum(np.abs(middle), 1e-300)))
        judged = Judgement("refuted", reason, self.strength, resolution, statistical=True)
        if np.any(middle + width < 0):
            return judged
        if np.any(middle - width <= 0):
            return judged.doubted(f"the sign is not settled: {reason}")
        return Judgement("holds", reason, self.strength, resolution, statistical=True)


def middle_size(samples: np.ndarray) -> int:
    """How many means a sample array holds: all axes but the last."""
    return int(np.prod(samples.shape[:-1]))
