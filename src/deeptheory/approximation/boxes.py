"""Functions of several inputs on boxes: constant on each, or as a ReLU network of two hidden layers with soft edges.

Reference: lucchi Lemma 15, Thm 16 and Remark 1 (the curse of dimensionality); Telgarsky 2021.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, factorial
from typing import Annotated, Any

import numpy as np
from jaxtyping import Float
from scipy.optimize import brentq

from deeptheory.approximation.errors import sampled
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import inside

__all__ = [
    "BoxNetwork",
    "box_network",
    "box_units",
    "bump",
    "bump_error",
    "bump_error_bound",
    "margin_for",
    "piecewise_constant",
]

MOST_AT_ONCE = 2**22
"""numbers of coordinates of points times boxes that are looked at together"""
MOST_BOXES = 2**23


@dataclass(frozen=True)
class BoxNetwork:
    """The function Σᵢ αᵢ bumpᵢ(x) over boxes with corners aᵢ = `lows` and bᵢ = `highs`, see `bump`.

    With `margin` 0 it is constant on each half-open box, no network; with a positive one it has two hidden layers of
    ReLUs (three layers as lucchi Thm 16 counts them), 4d + 1 units a box.
    """

    lows: Float[np.ndarray, "boxes d"]
    highs: Float[np.ndarray, "boxes d"]
    heights: Float[np.ndarray, " boxes"]
    margin: Annotated[float, "[0, ∞)"]

    def __call__(self, x: Any) -> Any:
        """Return the values at points of shape (…, d)."""
        x = np.asarray(x, float)
        if x.shape[-1:] != self.lows.shape[1:]:
            raise ValueError(f"x must have {self.lows.shape[1]} coordinates on its last axis, got {x.shape}")
        flat = x.reshape(-1, x.shape[-1])
        few = max(1, MOST_AT_ONCE // self.lows.size)
        parts = [self._soft(flat[i : i + few]) @ self.heights for i in range(0, len(flat), few)]
        return np.concatenate(parts).reshape(x.shape[:-1])

    def _soft(self, x: np.ndarray) -> np.ndarray:
        if self.margin:
            return bump(x[:, None, :], self.lows, self.highs, self.margin)
        return np.all((self.lows <= x[:, None, :]) & (x[:, None, :] < self.highs), -1).astype(float)

    @property
    def units(self) -> int:
        """(4d + 1) for each box: four a coordinate, and one that joins them."""
        return (4 * self.lows.shape[1] + 1) * len(self.heights)

    @property
    def knots(self) -> list[np.ndarray]:
        """For each coordinate, where boxes and their margins begin and end."""
        edges = [self.lows, self.highs, self.lows - self.margin, self.highs + self.margin]
        return [np.unique(each) for each in np.concatenate(edges).T]


def bump(
    x: Float[np.ndarray, "*n d"], low: Float[np.ndarray, "*b d"], high: Float[np.ndarray, "*b d"], margin: float
) -> Float[np.ndarray, "*c"]:
    """Return the ReLU network that is 1 on a box, 0 beyond a margin γ around it, and between 0 and 1 there.

    (Σⱼ gⱼ(xⱼ) − (d − 1))₊ with gⱼ(z) = r((z − a + γ)/γ) − r((z − a)/γ) − r((z − b)/γ) + r((z − b − γ)/γ), r the ReLU
    (lucchi eq. 3.4, where the text calls it a threshold: with thresholds gⱼ would vanish on the box).
    """
    # r(u + 1) − r(u) is u + 1 cut to [0, 1]: written so it keeps its digits where the margin is small beside the box.
    with np.errstate(over="ignore"):
        rising, falling = (np.clip(each, 0, 1) for each in ((x - low) / margin + 1, (x - high) / margin))
    return np.maximum((rising - falling).sum(-1) - (x.shape[-1] - 1), 0)


def bump_error(sides: Float[np.ndarray, " d"], margin: float) -> float:
    """Return ‖bump − 1_box‖₁ = Σ_S ∏_{j∈S} 2γ ∏_{j∉S} lⱼ/(|S| + 1)! over non-empty sets S of coordinates, exactly.

    Where the coordinates in S are in their margins the bump is (1 − Σ_{j∈S} sⱼ)₊ with sⱼ uniform in [0, 1], and the
    integral of that is the volume 1/(|S| + 1)! of a simplex. `sides` are the lengths lⱼ of the box. `margin` is γ. For
    the bound of lucchi Thm 16 see `bump_error_bound`.
    """
    # Elementary symmetric sums of l by the number of coordinates that are in their margins.
    sums = np.zeros(len(sides) + 1)
    sums[0] = 1.0
    for side in sides:
        sums[1:] = sums[1:] * side + sums[:-1] * 2 * margin
        sums[0] *= side
    return float(sum(each / factorial(k + 1) for k, each in enumerate(sums) if k))


def bump_error_bound(sides: Float[np.ndarray, " d"], margin: float) -> float:
    """Return ∏(lⱼ + 2γ) − ∏ lⱼ, the volume of the margin, which bounds ‖bump − 1_box‖₁ (lucchi Thm 16).

    By the elementary expansion, which keeps its digits when γ is small.
    """
    whole, rest = 1.0, 0.0
    for side in sides:
        whole, rest = whole * side, rest * (side + 2 * margin) + whole * 2 * margin
    return float(rest)


def margin_for(error: float, heights: Float[np.ndarray, " boxes"], sides: Float[np.ndarray, " d"]) -> float:
    """Return the γ at which Σ|αᵢ| times the volume of the margin is ε, or ∞ if all heights vanish (lucchi Thm 16).

    With it the soft boxes are within ε of the hard ones in L1, all boxes having the same sides. Not the largest such γ:
    neighbouring bumps overlap, and the bump is below 1 in its margin. `error` is ε.
    """
    total, volume = np.abs(heights).sum(), np.prod(sides)
    if not 0 < volume < np.inf or np.any(sides < 0):
        raise ValueError(f"sides must be positive and span a box of finite volume, got {sides}")
    if total == 0:
        return np.inf
    top = (error / total + volume) ** (1 / len(sides))
    root = brentq(lambda margin: total * bump_error_bound(sides, margin) - error, 0.0, top, xtol=1e-300, maxiter=2000)
    return float(np.asarray(root))


def piecewise_constant(
    f: Callable[..., Any], cells: int, low: Float[np.ndarray, " d"], high: Float[np.ndarray, " d"]
) -> BoxNetwork:
    """Return the function that has on each of cellsᵈ equal boxes the value of f at the centre (lucchi Lemma 15).

    If |f(x) − f(y)| ≤ ρ‖x − y‖ its error is at most ρ times half the diagonal of a box: half a side in the sup norm,
    √d/2 sides in the Euclidean one. f takes points of shape (n, d).
    """
    if not np.all(low < high):
        raise ValueError(f"low must lie below high in every coordinate, got {low} and {high}")
    inside(1, MOST_BOXES, **{"the number of boxes": float(cells) ** len(low)})
    side = (high - low) / cells
    places = np.meshgrid(*[np.arange(cells, dtype=float)] * len(low), indexing="ij")
    corners = low + side * np.stack(places, -1).reshape(-1, len(low))
    upper = np.where(
        np.isclose(corners + side, high, rtol=0, atol=side / 2), np.nextafter(high, np.inf), corners + side
    )
    return BoxNetwork(corners, upper, sampled(f, corners + side / 2, coordinates=True), 0.0)


def box_network(
    f: Callable[..., Any],
    cells: int,
    low: Float[np.ndarray, " d"],
    high: Float[np.ndarray, " d"],
    *,
    softness: float = 0.01,
) -> BoxNetwork:
    """Return the ReLU network of cellsᵈ soft boxes with the values of f at their centres, near f in L1 (lucchi Thm 16).

    The margin is chosen so that the soft edges cost at most `softness` of the largest |value| in the mean over the
    box. Near in L1 only: at edges, where neighbouring bumps add up, the network is about twice f.
    """
    hard = piecewise_constant(f, cells, low, high)
    allowed = softness * np.abs(hard.heights).max() * np.prod(high - low)
    margin = margin_for(allowed, hard.heights, (high - low) / cells) if allowed else np.inf
    # Without heights any margin serves: one that is no larger than a side.
    return BoxNetwork(hard.lows, hard.highs, hard.heights, min(margin, float(np.min(high - low)) / cells))


def box_units(dimension: int, side: float) -> int:
    """Return (4d + 1)⌈1/δ⌉ᵈ, the ReLUs that soft boxes of side δ on the unit cube take: the curse of dimensionality.

    Reference: lucchi Remark 1.
    """
    return (4 * dimension + 1) * ceil(1 / side) ** dimension


doors(
    __name__,
    margin="(0, ∞)",
    cells="[1, 10000000]",
    error="(0, ∞)",
    softness="(0, 1]",
    dimension="[1, 1000]",
    side="(0, ∞)",
)
