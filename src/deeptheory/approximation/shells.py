"""Radial targets of signed shells, and the network with two hidden layers that first finds the norm, then the shell.

Reference: lucchi Sec. 4.2.2, Thm 33; Eldan and Shamir 2016.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from deeptheory.approximation.separation import ball_density_cdf
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import affordable

__all__ = ["Shells", "TwoStageNetwork", "two_stage_error", "two_stage_network"]


@dataclass(frozen=True)
class Shells:
    """The target g(x) = Σ ε_i 1[‖x‖ ∈ Δ_i] for shells Δ_i between increasing edges, zero outside of them.

    Called with lengths ‖x‖. `signs` ε_i are one fewer than `edges`. Reference: lucchi (4.5).
    """

    edges: Float[np.ndarray, " k"]
    signs: Float[np.ndarray, " s"]

    def __post_init__(self) -> None:
        if len(self.signs) + 1 != len(self.edges):
            raise ValueError(f"signs must be one fewer than the {len(self.edges)} edges, got {len(self.signs)}")
        if np.any(np.diff(self.edges) <= 0) or self.edges[0] <= 0:
            raise ValueError(f"edges must be positive and increase, got {self.edges}")

    def __call__(self, distance: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
        values = np.concatenate([[0.0], self.signs, [0.0]])
        return values[np.searchsorted(self.edges, distance, side="right")]

    @property
    def jumps(self) -> Float[np.ndarray, " k"]:
        return np.diff(np.concatenate([[0.0], self.signs, [0.0]]))


@dataclass(frozen=True)
class TwoStageNetwork:
    """A ReLU network with two hidden layers: x ↦ output·relu(second·relu(first·x + first_bias) + second_bias).

    `step` is the spacing of the knots of the first layer and `ramp` the half-width in ‖x‖² of the steps of the second.
    """

    first: Float[np.ndarray, "u n"]
    first_bias: Float[np.ndarray, " u"]
    second: Float[np.ndarray, "v u"]
    second_bias: Float[np.ndarray, " v"]
    output: Float[np.ndarray, " v"]
    step: float
    ramp: float

    @property
    def units(self) -> int:
        return len(self.first_bias) + len(self.second_bias)

    def squared_norm(self, x: Float[np.ndarray, "k n"]) -> Float[np.ndarray, " k"]:
        """What the first layer makes of ‖x‖²: between ‖x‖² and ‖x‖² + n·step²/4 as far as its knots reach."""
        inner = np.maximum(x @ self.first.T + self.first_bias, 0.0) @ self.second[0]
        return inner * 2 * self.ramp

    def __call__(self, x: Float[np.ndarray, "k n"]) -> Float[np.ndarray, " k"]:
        affordable(hidden=(len(x), len(self.first_bias)))
        hidden = np.maximum(x @ self.first.T + self.first_bias, 0.0)
        return np.maximum(hidden @ self.second.T + self.second_bias, 0.0) @ self.output


def two_stage_network(target: Shells, dimension: int, *, step: float, ramp: float) -> TwoStageNetwork:
    """Return the two-hidden-layer ReLU network for a target of shells on n variables.

    The first layer draws t² in each coordinate through the knots 0, ±step, ±2·step, … up to the last edge, 2 units a
    knot; the second sees their sum q, which is ‖x‖² up to n·step²/4 on one side, and climbs at each edge e from one
    value to the next for q within e² + n·step²/8 ± ramp, 2 units an edge. Beyond the last edge it is zero for good.
    Steep ramps come at no cost in units. It equals the target except where ‖x‖² is within n·step²/8 + ramp of some e²;
    what that costs is said by `two_stage_error`, not promised here. Reference: lucchi Thm 33, step IV.
    """
    knots = np.arange(int(np.ceil(target.edges[-1] / step))) * step
    affordable(first=(2 * dimension * len(knots), dimension))
    slopes = np.where(knots == 0, step, 2 * step)
    sides = np.concatenate([np.eye(dimension), -np.eye(dimension)])
    first = np.repeat(sides, len(knots), axis=0)
    first_bias = np.tile(-knots, 2 * dimension)
    squares = np.tile(slopes, 2 * dimension) / (2 * ramp)
    # Two ReLUs of slope 1/(2·ramp) make one step of height one, from the middle of the error of q.
    centers = target.edges**2 + dimension * step**2 / 8
    starts = np.stack([centers - ramp, centers + ramp], axis=1).ravel() / (2 * ramp)
    output = np.stack([target.jumps, -target.jumps], axis=1).ravel()
    return TwoStageNetwork(first, first_bias, np.tile(squares, (len(starts), 1)), -starts, output, step, ramp)


def two_stage_error(target: Shells, dimension: int, *, step: float, ramp: float) -> float:
    """Return an upper bound on the mean squared error of `two_stage_network` under φ², certain and exact in its mass.

    Σ jump²·P(|‖X‖² − e²| ≤ n·step²/8 + ramp) over the edges e. Bands that overlap are refused.
    """
    band = dimension * step**2 / 8 + ramp
    squares = target.edges**2
    if np.any(np.diff(squares) < 2 * band) or squares[0] < band:
        raise ValueError(f"step and ramp must leave the shells apart, got bands of ±{band:.3g} around {squares}")
    ends = np.sqrt(np.stack([squares - band, squares + band], axis=1).ravel())
    mass = np.diff(ball_density_cdf(ends, dimension).reshape(-1, 2), axis=1)[:, 0]
    return float(target.jumps**2 @ mass)


doors(__name__, dimension="[1, 300]", step="[1e-6, 1e6]", ramp="[1e-9, 1e6]")
