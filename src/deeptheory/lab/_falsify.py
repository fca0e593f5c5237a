"""Falsify: search a space of instances for a violation, shrink it to a plain one, verify it exactly."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import jax
import numpy as np

from deeptheory.foundations.randomness import generator
from deeptheory.lab._claim import Claim
from deeptheory.lab.evidence import RESOLUTION, Counterexample
from deeptheory.lab.parameters import SEED, Parameter
from deeptheory.lab.run import key_of, named
from deeptheory.lab.search import Landscape, evolve, landscape
from deeptheory.lab.spaces import Space, values

__all__ = ["Falsification", "falsify"]

GENERATIONS = 40
BUDGET = Parameter("budget", "float", 10.0, low=0.1, high=86_400)
STARTS = Parameter("starts", "int", 8, low=1, high=1_000_000)


@dataclass(frozen=True)
class Falsification:
    """What a search found: a counterexample, or the tightest instance and whether a violation would have been seen.

    `violation` is relative to the statement's scale; where nothing is violated it is minus the least slack.
    `planted_found`: a second, independent search rediscovered a violation planted at the size of the resolution.
    """

    statement: str
    found: bool
    instance: dict[str, Any]
    violation: float
    counterexample: Counterexample | None
    planted_found: bool | None
    starts: int
    evaluations: int
    seconds: float
    control: str | None = None

    def summary(self) -> str:
        """One sentence for people."""
        shown = ", ".join(f"{name} = {np.asarray(value).tolist()}" for name, value in self.instance.items())
        effort = f"{self.evaluations:,} instances, {self.starts} starts, {self.seconds:.1f} s"
        if self.found:
            exact = self.counterexample
            verified = f"; exactly, {exact.quantity} > {exact.bound} ({exact.how})" if exact and exact.violated else ""
            return f"violated at {shown} by {self.violation:.3g} of its scale{verified} [{effort}]"
        power = "a planted violation was found" if self.planted_found else "but neither was a planted violation"
        return f"no violation found, {power}; tightest at {shown}, slack {-self.violation:.3g} [{effort}]"


def falsify(
    claim: Claim,
    *,
    budget: float = 10.0,
    starts: int | None = None,
    seed: int = 0,
    control: str | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Falsification:
    """Search for a violation of a claim, or of one of its controls, for at most about `budget` seconds.

    Restarts differential evolution until something is violated or the budget is spent. A violation is shrunk and,
    where the claim says how (`@claim.verify`), verified in rationals. Where nothing is found, half of the budget
    goes to independent starts that must rediscover a violation planted at the tightest instance, to within the
    resolution.

    With `starts` the clock is not asked: so many starts at most, and as many again for what was planted, so that a
    busy machine finds the same instance as an idle one.
    """
    seed, budget = SEED.check(seed), BUDGET.check(budget)
    starts = None if starts is None else STARTS.check(starts)
    rival = None if control is None else named(claim, control)
    chosen = claim.settings(settings or {})
    begin = time.perf_counter()
    with jax.enable_x64(True):
        ground = landscape(claim, chosen, rival)
        random = generator(jax.random.fold_in(key_of(claim.name, seed), 7))
        half, whole = (budget_of(starts, until=begin + share * budget) for share in (0.5, 1.0))
        best, worst, made, evaluations = search(ground, random, more=half)
        planted = None
        if worst <= 0:
            # The planted statement lowers the bound to just below what the first search reached.
            threshold = worst - RESOLUTION
            _, again, *others = search(ground, random, more=whole, stop_above=threshold)
            made, evaluations, planted = made + others[0], evaluations + others[1], again >= threshold
        else:
            best, worst = shrink(ground, best, worst)
        instance = {name: value[0] for name, value in best.items()}
        seconds = round(time.perf_counter() - begin, 2)
        counterexample = verified(claim, instance, made, seconds) if worst > 0 else None
    return Falsification(
        statement=claim.name,
        found=worst > 0,
        instance={name: np.asarray(value).tolist() for name, value in instance.items()},
        violation=float(worst),
        counterexample=counterexample,
        planted_found=planted,
        starts=made,
        evaluations=evaluations,
        seconds=seconds,
        control=rival.name if rival else None,
    )


def budget_of(starts: int | None, *, until: float) -> Callable[[int], bool]:
    """Whether one more start may be made after so many: by their number where it is given, else by the clock."""
    if starts is None:
        return lambda made: time.perf_counter() < until
    return lambda made: made < starts


def search(
    ground: Landscape, random: np.random.Generator, *, more: Callable[[int], bool], stop_above: float = 0.0
) -> tuple[dict[str, np.ndarray], float, int, int]:
    """Evolve from fresh draws, once and then for as long as there may be `more`, or the violation exceeds `stop_above`.

    Returns the worst instance, its violation, the number of starts and the number of instances evaluated.
    """
    best, worst, starts, evaluations = None, -np.inf, 0, 0

    def enough(value: float) -> bool:
        nonlocal evaluations
        evaluations += ground.batch
        return value > max(stop_above, 1e-6)

    while best is None or (worst <= stop_above and more(starts)):
        points, found = evolve(ground, random, generations=GENERATIONS, stop=enough)
        starts += 1
        if best is None or found[0] > worst:
            best, worst = points[:1], float(found[0])
    return values(ground.spaces, best), worst, starts, evaluations


def shrink(ground: Landscape, instance: dict[str, np.ndarray], worst: float) -> tuple[dict[str, np.ndarray], float]:
    """Replace entries by plainer ones, one at a time, while at least a tenth of the violation stays."""
    keep = worst / 10
    changed = True
    while changed:
        changed = False
        for name, space in ground.spaces.items():
            for index in np.ndindex(space.shape):
                candidates = plainer(space, instance[name][(0, *index)])
                if not candidates:
                    continue
                trials = repeated(instance, ground.batch)
                for row, candidate in enumerate(candidates[: ground.batch]):
                    trials[name][(row, *index)] = candidate
                found = np.asarray(ground.evaluate(trials).violation(), float)[: len(candidates)]
                good = np.flatnonzero(np.nan_to_num(found, nan=-1.0) >= keep)
                if len(good):
                    instance = {key: value[good[0] : good[0] + 1].copy() for key, value in trials.items()}
                    worst, changed = float(found[good[0]]), True
    return instance, worst


def plainer(space: Space, value: Any) -> list[Any]:
    """Candidates strictly plainer than a value, by the length of how they are written."""

    def cost(candidate: Any) -> tuple[int, float]:
        return len(f"{float(candidate):.12g}".strip("-")), abs(float(candidate))

    return [candidate for candidate in space.simpler(value) if cost(candidate) < cost(value)]


def repeated(instance: dict[str, np.ndarray], times: int) -> dict[str, np.ndarray]:
    return {name: np.repeat(value, times, axis=0) for name, value in instance.items()}


def verified(claim: Claim, instance: dict[str, np.ndarray], starts: int, seconds: float) -> Counterexample | None:
    """Re-verify a found violation exactly, where the claim says how."""
    if claim.exact is None:
        return None
    rational = {name: rationals(value) for name, value in instance.items()}
    quantity, bound, how = claim.exact(**rational)
    plain = {name: np.asarray(value) for name, value in instance.items()}
    return Counterexample(plain, str(quantity), str(bound), bool(quantity > bound), how, starts, seconds)


def rationals(value: np.ndarray) -> Any:
    """The same numbers as Fractions, in nested lists."""
    if np.ndim(value):
        return [rationals(entry) for entry in value]
    return Fraction(repr(float(value))) if isinstance(value, (float, np.floating)) else Fraction(int(value))
