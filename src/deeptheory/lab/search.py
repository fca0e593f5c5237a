"""Searching a space of instances for the worst one: random draws, then differential evolution, a batch at a time."""

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np

from deeptheory.lab._claim import Claim, Control
from deeptheory.lab.evidence import Evidence
from deeptheory.lab.spaces import Space, values, width

__all__ = ["Landscape", "evolve", "landscape", "surveyed"]


@dataclass(frozen=True)
class Landscape:
    """How badly each instance violates a statement: a function on the unit cube, evaluated in batches of one size."""

    spaces: dict[str, Space]
    evaluate: Callable[[dict[str, np.ndarray]], Evidence]
    batch: int

    @property
    def dimension(self) -> int:
        return width(self.spaces)

    def evidence(self, units: np.ndarray) -> Evidence:
        return self.evaluate(values(self.spaces, units))

    def violation(self, units: np.ndarray) -> np.ndarray:
        """The violation at each row; what cannot be evaluated counts as far from violated."""
        found = np.asarray(self.evidence(units).violation(), float)
        return np.where(np.isfinite(found), found, -1e300)


def landscape(claim: Claim, settings: Mapping[str, Any], control: Control | None = None) -> Landscape:
    """The landscape of a claim, or of one of its controls, at these settings."""
    chosen = {**settings, **(control.settings if control else {})}
    spaces = claim.spaces(chosen, control.over if control else None)
    evaluate = _evaluator(claim, tuple(sorted(chosen.items())))
    if control is None or control.transform is None:
        return Landscape(spaces, evaluate, claim.draws)
    transform = control.transform
    takes_instance = len(inspect.signature(transform).parameters) > 1

    def rival(instances: dict[str, np.ndarray]) -> Evidence:
        evidence = evaluate(instances)
        return transform(evidence, instances) if takes_instance else transform(evidence)

    return Landscape(spaces, rival, claim.draws)


@functools.cache
def _evaluator(claim: Claim, settings: tuple[tuple[str, Any], ...]) -> Callable[[dict[str, np.ndarray]], Evidence]:
    """Evaluate a batch of instances at once, and return evidence whose arrays have the batch as first axis."""
    function = functools.partial(claim.function, **dict(settings))
    if claim.each == "array":
        return lambda instances: aligned(function(**instances))
    if claim.each == "vmap":
        compiled = jax.jit(jax.vmap(lambda instances: function(**instances)))
        return lambda instances: aligned(jax.tree.map(np.asarray, compiled(instances)))

    def loop(instances: dict[str, np.ndarray]) -> Evidence:
        count = len(next(iter(instances.values())))
        each = [function(**{name: value[i] for name, value in instances.items()}) for i in range(count)]
        return aligned(jax.tree.map(lambda *leaves: np.stack([np.asarray(leaf) for leaf in leaves]), *each))

    return loop


def aligned(evidence: Evidence) -> Evidence:
    """Give all arrays the same number of axes (trailing ones of length 1): they then broadcast instance by instance."""
    leaves, tree = jax.tree.flatten(replace(evidence, aside={}))
    arrays = [np.asarray(leaf) for leaf in leaves]
    axes = max((array.ndim for array in arrays), default=0)
    padded = [array.reshape(array.shape + (1,) * (axes - array.ndim)) if array.ndim else array for array in arrays]
    return replace(jax.tree.unflatten(tree, padded), aside=evidence.aside)


def drawn(generator: np.random.Generator, count: int, dimension: int) -> np.ndarray:
    """Random points of the unit cube, one coordinate in ten pushed to an end, where worst cases like to sit."""
    units = generator.random((count, dimension))
    ends = generator.random((count, dimension))
    return np.where(ends < 0.05, 0.0, np.where(ends > 0.95, 1.0 - 1e-12, units))


def evolve(
    landscape: Landscape,
    generator: np.random.Generator,
    *,
    generations: int,
    stop: Callable[[float], bool] = lambda worst: False,
) -> tuple[np.ndarray, np.ndarray]:
    """Differential evolution from random draws; returns the final population and its violations, worst first.

    Half of the trial points go from their parent towards the best, half from a random parent, so that the search
    neither stalls in one valley nor wanders; points that leave the cube are reflected. `stop` sees the worst.
    """
    size, dimension = landscape.batch, landscape.dimension
    points = drawn(generator, size, dimension)
    worst = landscape.violation(points)
    for _ in range(generations):
        if stop(float(worst.max())):
            break
        one, two, three = (points[generator.integers(size, size=size)] for _ in range(3))
        leader = points[np.argsort(-worst)[generator.integers(max(size // 10, 1), size=size)]]
        greedy = generator.random((size, 1)) < 0.5
        step = generator.uniform(0.3, 0.9, (size, 1))
        trial = np.where(greedy, points + step * (leader - points), one) + step * (two - three)
        trial = np.where(generator.random((size, dimension)) < 0.8, trial, points)
        trial = np.abs(trial) % 2.0
        trial = np.clip(np.where(trial > 1.0, 2.0 - trial, trial), 0.0, 1.0)
        found = landscape.violation(trial)
        better = found >= worst
        points, worst = np.where(better[:, None], trial, points), np.where(better, found, worst)
    order = np.argsort(-worst)
    return points[order], worst[order]


def surveyed(landscape: Landscape, generator: np.random.Generator, *, generations: int) -> Evidence:
    """Evidence about a for-all statement: the draws and the last generation of a search that set out to break it."""
    first = drawn(generator, landscape.batch, landscape.dimension)
    last, _ = evolve(landscape, generator, generations=generations)
    pair = landscape.evidence(first), landscape.evidence(last)
    return jax.tree.map(lambda one, two: np.concatenate([one, two]) if np.ndim(one) else one, *pair)
