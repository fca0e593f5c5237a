"""Spaces of instances: each maps points of a unit cube to values, so that one sampler and one search serve all."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

__all__ = ["Integers", "Reals", "Space", "values", "width"]


class Space(Protocol):
    """A coordinate of an instance."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    def at(self, unit: np.ndarray) -> np.ndarray: ...

    def simpler(self, value: Any) -> list[Any]: ...


@dataclass(frozen=True)
class Reals:
    """Real numbers between two limits, or an array of them; `log=True` spreads them evenly over magnitudes."""

    low: float
    high: float
    log: bool = False
    shape: tuple[int, ...] = ()

    def at(self, unit: np.ndarray) -> np.ndarray:
        if self.log:
            return np.exp(np.log(self.low) + unit * (np.log(self.high) - np.log(self.low))).clip(self.low, self.high)
        return self.low + unit * (self.high - self.low)

    def simpler(self, value: float) -> list[float]:
        """Plainer numbers near this one, plainest first: 0, ±1, then few digits."""
        rounded = [float(f"{value:.{digits}g}") for digits in (1, 2, 3)]
        candidates = [0.0, 1.0, -1.0, float(round(value)), *rounded]
        return [c for c in dict.fromkeys(candidates) if self.low <= c <= self.high and c != value]


@dataclass(frozen=True)
class Integers:
    """Whole numbers between two limits, both included, or an array of them."""

    low: int
    high: int
    log: bool = False
    shape: tuple[int, ...] = ()

    def at(self, unit: np.ndarray) -> np.ndarray:
        spread = Reals(self.low, self.high + 1, self.log).at(unit)
        return np.minimum(np.floor(spread), self.high).astype(np.int64)

    def simpler(self, value: int) -> list[int]:
        """Smaller numbers, smallest first."""
        candidates = [self.low, 0, 1, (self.low + int(value)) // 2, int(value) - 1]
        return [c for c in dict.fromkeys(candidates) if self.low <= c <= self.high and abs(c) < abs(value)]


def width(spaces: dict[str, Space]) -> int:
    """Dimension of the unit cube behind these coordinates."""
    return sum(int(np.prod(space.shape)) for space in spaces.values())


def values(spaces: dict[str, Space], units: np.ndarray) -> dict[str, np.ndarray]:
    """The instances at points of the unit cube (rows of `units`): coordinate name → array with one entry a row."""
    found, start = {}, 0
    for name, space in spaces.items():
        size = int(np.prod(space.shape))
        found[name] = space.at(units[:, start : start + size].reshape(len(units), *space.shape))
        start += size
    return found
