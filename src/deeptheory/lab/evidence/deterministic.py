"""Evidence without chance: equalities, inequalities, chains of them, printed tables, counterexamples."""

from typing import Any

import numpy as np

from deeptheory.lab.evidence.base import EPSILON, RESOLUTION, Evidence, Judgement, coordinates, kind, namespace, static
from deeptheory.lab.evidence.saying import apart, counted, every, percent
from deeptheory.lab.evidence.strata import layered, stratified

__all__ = ["NEVER", "Chain", "Counterexample", "Exact", "Identity", "Inequality", "Printed"]

ROUNDING = 64 * EPSILON

NEVER = -1e6
"""Stands for the logarithm of a probability of zero, where evidence must be finite."""


@kind
class Exact(Evidence):
    """Two enumerations agree entry by entry: integers, booleans, words, or rationals (`Fraction`)."""

    left: Any
    right: Any
    along: dict[str, Any] = coordinates()
    strength = "enumerated"

    def judgement(self, level: float) -> Judgement:
        left, right = np.asarray(self.left), np.asarray(self.right)
        if "f" in left.dtype.kind + right.dtype.kind:
            raise TypeError("Exact compares integers, words or Fractions; for floating point use Identity")
        if left.shape != right.shape:
            return Judgement("refuted", f"{left.shape} entries against {right.shape}", self.strength, 0.0)
        differ = np.argwhere(left != right)
        if len(differ) == 0:
            return Judgement("holds", every(left.size, "entry", "agree"), self.strength, 0.0)
        first = tuple(int(index) for index in differ[0])
        reason = (
            f"{len(differ):,} of {counted(left.size, 'entry')} differ{'s' if left.size == 1 else ''}, "
            f"first {left[first]} against {right[first]}"
        )
        return Judgement("refuted", reason, self.strength, 0.0)

    def violation(self) -> Any:
        differ = np.asarray(self.left) != np.asarray(self.right)
        return _worst(differ.astype(float)) - 0.5


@kind
class Identity(Evidence):
    """Two computations of the same real numbers, `left` and `right`, agree to rounding.

    Allowed is 64 eps sqrt(size) scale condition + error: `size` how many numbers were added up, `scale` how large they
    were (default: the sides themselves; where terms cancel give theirs, as `deeptheory.lab.rounding` does), `condition`
    the condition number of the problem, `error` the calibrated error of a solver inside. A difference beyond that
    refutes; an allowance above 5 % of the sides makes the verdict inconclusive.

    `along` labels the axes, in order: `along={"gamma": gammas}`; figures, tables and `run.dataset()` read it. `aside`
    carries further arrays, or lists of words, that are stored and not judged, for pictures and controls.
    """

    left: Any
    right: Any
    scale: Any = None
    condition: Any = 1.0
    error: Any = 0.0
    size: Any = 1.0
    along: dict[str, Any] = coordinates()
    strength = "to rounding"

    def measure(self) -> Any:
        """Scale on which the two sides are compared."""
        xp = namespace(self.left, self.right)
        return xp.maximum(xp.abs(self.left), xp.abs(self.right)) if self.scale is None else xp.abs(self.scale)

    def allowed(self) -> Any:
        return ROUNDING * np.sqrt(self.size) * self.measure() * self.condition + self.error

    def judgement(self, level: float) -> Judgement:
        left, right = np.broadcast_arrays(np.asarray(self.left, float), np.asarray(self.right, float))
        # Numbers far below the largest scale among their fellows are compared on that scale's rounding.
        measure = np.maximum(np.asarray(self.measure(), float), EPSILON * np.max(np.abs(left), initial=0.0))
        allowed = np.broadcast_to(np.asarray(self.allowed(), float), left.shape)
        allowed = np.maximum(allowed, np.finfo(float).tiny)
        gap = np.abs(left - right)
        worst = np.unravel_index(np.argmax(gap / allowed), gap.shape) if gap.ndim else ()
        resolution = float(np.max(allowed / np.maximum(measure, np.finfo(float).tiny)))
        if gap[worst] > allowed[worst]:
            one, other = apart(left[worst], right[worst])
            reason = f"{one} against {other}, {gap[worst] / allowed[worst]:.3g} times the allowed gap"
            return Judgement("refuted", reason, self.strength, resolution)
        largest = float(np.max(gap / np.maximum(measure, 1e-300)))
        reason = f"{every(left.size, 'number', 'agree')} {f'within {percent(largest)}' if largest else 'exactly'}"
        judged = Judgement("holds", reason, self.strength, resolution)
        if resolution > RESOLUTION:
            return judged.doubted(f"rounding and solver error leave {percent(resolution)} unseen")
        return judged

    def violation(self) -> Any:
        xp = namespace(self.left, self.right)
        floor = xp.maximum(self.measure(), np.finfo(float).tiny)
        return _worst((xp.abs(self.left - self.right) - self.allowed()) / floor)


@kind
class Inequality(Evidence):
    """A quantity never exceeds its bound, on every instance tried; `error` is what a solver inside may be off.

    With `log=True` both are logarithms and tightness is the ratio of what they are logarithms of.
    """

    quantity: Any
    bound: Any
    error: Any = 0.0
    scale: Any = None
    log: bool = static(False)
    along: dict[str, Any] = coordinates()
    strength = "no violation"

    def measure(self) -> Any:
        xp = namespace(self.quantity, self.bound)
        if self.scale is not None:
            return xp.abs(self.scale)
        return xp.maximum(xp.maximum(xp.abs(self.quantity), xp.abs(self.bound)), np.finfo(float).tiny)

    def shares(self) -> np.ndarray:
        """Of each instance, the share of the bound that the quantity reaches; NaN where that says nothing.

        That is where the bound is not positive, or so small that the error of a solver hides more than the resolution.
        """
        quantity, bound, error = np.broadcast_arrays(
            *(np.asarray(each, float) for each in (self.quantity, self.bound, self.error))
        )
        if self.log:
            return np.exp(np.minimum(quantity - bound, 0.0))
        told = (bound > 0) & (error <= RESOLUTION * bound)
        return np.where(told, np.clip(quantity / np.where(told, bound, 1.0), 0.0, 1.0), np.nan)

    def allowed(self) -> np.ndarray:
        """How far beyond its bound a quantity may be by rounding, and by the error of a solver."""
        return ROUNDING * np.asarray(self.measure(), float) + np.asarray(self.error, float)

    def judgement(self, level: float) -> Judgement:
        quantity, bound = np.broadcast_arrays(np.asarray(self.quantity, float), np.asarray(self.bound, float))
        beyond = quantity - bound - self.allowed()
        shares = self.shares()
        tightness = None if np.all(np.isnan(shares)) else float(np.nanmax(shares))
        resolution = None if tightness is None else 1.0 - tightness
        if np.any(beyond > 0):
            worst = np.unravel_index(np.argmax(beyond), beyond.shape) if beyond.ndim else ()
            reason = "the side that should be smaller is larger: {} against {}".format(
                *apart(quantity[worst], bound[worst])
            )
            return Judgement("refuted", reason, self.strength, resolution, tightness)
        strength = f"{self.strength} in {counted(quantity.size, 'instance')}"
        if tightness is None and np.any(bound > 0):
            return self.inconclusive(f"the error that is allowed hides more than {percent(RESOLUTION)} of every bound")
        if tightness is None:
            return Judgement("holds", f"{every(quantity.size, 'instance', 'keep')} the inequality", strength)
        word = "loose: " if tightness < 0.5 else ""
        where = "" if quantity.size == 1 else f" on the tightest of {quantity.size:,} instances"
        strata = stratified(shares, self.along)
        # Of a bound from below the theorem's side is the smaller one, so neither is called the bound.
        reason = f"{word}the smaller side reaches {percent(tightness)} of the larger{where}{layered(strata, tightness)}"
        return Judgement("holds", reason, strength, resolution, tightness, strata=strata)

    def violation(self) -> Any:
        return _worst((self.quantity - self.bound - self.error) / self.measure() - ROUNDING)


@kind
class Chain(Evidence):
    """The steps of a proof: named links, each a pair (smaller, larger); the first broken one is named.

    With `log=True` both sides are logarithms, so that a link of any size, however small, is compared in proportion.
    """

    links: dict[str, tuple[Any, Any]]
    error: Any = 0.0
    log: bool = static(False)
    along: dict[str, Any] = coordinates()
    strength = "no violation"

    def inequalities(self) -> dict[str, Inequality]:
        return {
            name: Inequality(small, large, error=self.error, log=self.log)
            for name, (small, large) in self.links.items()
        }

    def judgement(self, level: float) -> Judgement:
        judged = {name: link.judge(level) for name, link in self.inequalities().items()}
        for name, judgement in judged.items():
            if judgement.verdict != "holds":
                reason = f"the link “{name}” breaks: {judgement.reason}"
                return Judgement(judgement.verdict, reason, self.strength, judgement.resolution)
        size = max(np.asarray(small).size for small, _ in self.links.values())
        tight = {name: judgement.tightness for name, judgement in judged.items() if judgement.tightness is not None}
        reason, strength = every(len(judged), "link", "hold"), f"{self.strength} in {counted(size, 'instance')}"
        if not tight:
            return Judgement("holds", reason, strength)
        slackest, least = min(tight.items(), key=lambda link: link[1])
        reason += f"; the slackest, “{slackest}”, reaches {percent(least)} of its larger side"
        strata = stratified(np.array(list(tight.values())), {"link": list(tight)})
        return Judgement("holds", reason, strength, 1.0 - least, least, strata=strata)

    def violation(self) -> Any:
        links = [link.violation() for link in self.inequalities().values()]
        xp = namespace(*links)
        return xp.max(xp.stack(links), axis=0)


@kind
class Printed(Evidence):
    """Our values agree with a printed table to half a unit of its last digit (`digits` decimals).

    `error` is how far our values may move when the printed inputs they were computed from are un-rounded.
    """

    ours: Any
    printed: Any
    digits: int = static(3)
    error: Any = 0.0
    along: dict[str, Any] = coordinates()
    strength = "to the digit"

    def judgement(self, level: float) -> Judgement:
        ours, printed = np.broadcast_arrays(np.asarray(self.ours, float), np.asarray(self.printed, float))
        half = 0.5 * 10.0**-self.digits
        beyond = np.abs(ours - printed) - half * (1 + 1e-9) - np.asarray(self.error, float)
        resolution = float(np.max((half + np.asarray(self.error)) / np.maximum(np.abs(printed), half)))
        if np.any(beyond > 0):
            worst = np.unravel_index(np.argmax(beyond), beyond.shape) if beyond.ndim else ()
            count = int(np.sum(beyond > 0))
            pair = "{} against the printed {}".format(*apart(ours[worst], printed[worst]))
            reason = f"{count} of {counted(ours.size, 'entry')} differ{'s' if ours.size == 1 else ''}; worst {pair}"
            return Judgement("refuted", reason, self.strength, resolution)
        return Judgement("holds", f"{every(ours.size, 'printed entry', 'agree')}", self.strength, resolution)


@kind
class Counterexample(Evidence):
    """A violation of a statement, verified exactly: `quantity` and `bound` are rationals or mpmath numbers as text."""

    instance: dict[str, Any]
    quantity: Any
    bound: Any
    violated: bool = static(False)
    how: str = static("")
    starts: int = static(0)
    seconds: float = static(0.0)
    strength = "exact"

    def judgement(self, level: float) -> Judgement:
        relation = "exceeds" if self.violated else "does not exceed"
        reason = f"{self.quantity} {relation} {self.bound} ({self.how})"
        return Judgement("holds" if self.violated else "refuted", reason, self.strength, 0.0)


def _worst(values: Any) -> Any:
    """Largest value of each instance (the leading axis, where there is one)."""
    xp = namespace(values)
    return xp.max(xp.reshape(values, (values.shape[0], -1)), axis=1) if xp.ndim(values) > 1 else values
