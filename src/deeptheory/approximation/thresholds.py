"""Functions as integrals over threshold units, and the finite networks one draws from them: Barron's construction.

Targets are written f(x) = ∫ cos(2π(ω·x + θ(ω))) |f̂(ω)| dω and share one interface: called they give values,
`barron_constant` is C_f, and `draw` gives frequencies from the density ‖ω‖|f̂(ω)|/C_f, one a row, with their phases θ.

Reference: lucchi Thms 26 and 27; Barron 1993.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Array, Float, Key

from deeptheory.approximation.barron import bump_barron_constant, cosine_barron_constant
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import affordable
from deeptheory.foundations.randomness import generator, unit_vectors

__all__ = [
    "CosineSum",
    "GaussianBump",
    "ThresholdNetwork",
    "barron_error_bound",
    "expected_threshold_error",
    "threshold_integral",
    "threshold_network",
]


@dataclass(frozen=True)
class GaussianBump:
    """The function exp(−‖x − c‖²/2σ²) on d dimensions, c = `center`, σ = `scale`; its phases are θ(ω) = −ω·c."""

    center: Float[np.ndarray, " d"]
    scale: float = 1.0

    @property
    def barron_constant(self) -> float:
        return bump_barron_constant(len(self.center), self.scale)

    def __call__(self, x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
        return np.exp(-np.sum((x - self.center) ** 2, axis=1) / (2 * self.scale**2))

    def draw(self, rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
        dimension = len(self.center)
        # The factor ‖ω‖ makes the length that of a Gaussian in one dimension more.
        length = np.sqrt(rng.chisquare(dimension + 1, count)) / (2 * np.pi * self.scale)
        frequencies = unit_vectors(rng, count, dimension) * length[:, None]
        return frequencies, -frequencies @ self.center


@dataclass(frozen=True)
class CosineSum:
    """The function Σ a_j cos(2π(w_j·x + θ_j)): amplitudes a_j > 0, frequencies w_j ≠ 0 in rows, phases θ_j in turns."""

    amplitudes: Float[np.ndarray, " m"]
    frequencies: Float[np.ndarray, "m d"]
    phases: Float[np.ndarray, " m"]

    def __post_init__(self) -> None:
        if not np.all(np.asarray(self.amplitudes) > 0):
            raise ValueError(f"amplitudes must be positive (a sign is half a turn of phase), got {self.amplitudes}")
        if not np.all(np.any(np.asarray(self.frequencies) != 0, axis=1)):
            raise ValueError("frequencies must not be zero: a constant is no wave")

    @property
    def barron_constant(self) -> float:
        return cosine_barron_constant(self.amplitudes, self.frequencies)

    def __call__(self, x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
        return np.cos(2 * np.pi * (x @ self.frequencies.T + self.phases)) @ self.amplitudes

    def draw(self, rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
        share = self.amplitudes * np.linalg.norm(self.frequencies, axis=1) / self.barron_constant
        chosen = rng.choice(len(share), count, p=share)
        return self.frequencies[chosen], self.phases[chosen]


def threshold_integral(
    x: Float[np.ndarray, "n d"],
    frequencies: Float[np.ndarray, "m d"],
    mass: Float[np.ndarray, " m"],
    phases: Float[np.ndarray, " m"],
    *,
    nodes: int = 40,
) -> Float[np.ndarray, " n"]:
    """Return f(x) − f(0) as lucchi's Theorem 26 writes it, with threshold units 1[ω·x − b ≥ 0] and 1[−ω·x + b ≥ 0].

    −2π ∫∫₀^‖ω‖ 1[ω·x − b ≥ 0] sin(2π(b + θ)) |f̂| db dω + 2π ∫∫_{−‖ω‖}^0 1[−ω·x + b ≥ 0] sin(2π(b + θ)) |f̂| db dω.

    `frequencies` are nodes of a quadrature over ω (or the waves of a sum of cosines), `mass` its weights times |f̂|,
    `phases` θ in turns. The integral over b is taken by Gauss and Legendre over the b at which a unit is on. Equal to
    f(x) − f(0) for ‖x‖ ≤ 1; beyond that the offsets end at ±‖ω‖ and the value is another one.
    """
    affordable(units=(len(x), len(mass), nodes))
    at, weights = np.polynomial.legendre.leggauss(nodes)
    projection, length = x @ frequencies.T, np.linalg.norm(frequencies, axis=1)
    total = np.zeros(len(x))
    for side in (1.0, -1.0):
        reach = np.clip(side * projection, 0.0, length)  # units on this side are on for |b| up to here
        offset = side * reach[..., None] * (1 + at) / 2
        sine = np.sin(2 * np.pi * (offset + phases[:, None])) @ weights * reach / 2
        total -= side * 2 * np.pi * sine @ mass
    return total


@dataclass(frozen=True)
class ThresholdNetwork:
    """x ↦ constant + Σ heights_j σ(directions_j·x + offsets_j), with threshold units σ unless called with others."""

    directions: Float[np.ndarray, "k d"]
    offsets: Float[np.ndarray, " k"]
    heights: Float[np.ndarray, " k"]
    constant: float = 0.0

    def __call__(
        self, x: Float[np.ndarray, "n d"], activation: Callable[[np.ndarray], Any] | None = None
    ) -> Float[np.ndarray, " n"]:
        inner = x @ self.directions.T + self.offsets
        return self.constant + (inner >= 0 if activation is None else activation(inner)) @ self.heights


def threshold_network(
    key: Key[Array, ""], target: GaussianBump | CosineSum, units: int, *, radius: float = 1.0
) -> ThresholdNetwork:
    """Return a network of k threshold units drawn from Barron's representation of a function on the ball of a radius.

    Frequencies come from ‖ω‖|f̂|/C_f, one of the two sides by a coin, the offset b evenly from [0, r‖ω‖] or [−r‖ω‖, 0],
    and the heights are ∓4πrC_f sin(2π(b + θ))/k. The mean network is f on the ball. What this one misses is not
    promised by its construction: measure it where it matters, `np.mean((target(x) - network(x))**2)`; on average it is
    `expected_threshold_error`. Reference: lucchi Thm 27.
    """
    rng = generator(key)
    affordable(network=(units, 4))
    frequencies, phases = target.draw(rng, units)
    side = np.where(rng.uniform(size=units) < 0.5, 1.0, -1.0)
    offset = side * radius * np.linalg.norm(frequencies, axis=1) * rng.uniform(size=units)
    scale = 4 * np.pi * radius * target.barron_constant / units
    heights = -side * scale * np.sin(2 * np.pi * (offset + phases))
    origin = float(target(np.zeros((1, frequencies.shape[1])))[0])
    return ThresholdNetwork(side[:, None] * frequencies, -side * offset, heights, origin)


def barron_error_bound(constant: float, units: int, *, radius: float = 1.0) -> float:
    """Return (4πrC_f)²/k: some k threshold units come this near to f in L²(μ) squared, for any law μ on the r-ball.

    It bounds the mean over `threshold_network`, so at least one of its networks; a drawn one may be worse. With
    Barron's angular constant 2πC_f it reads (2rC)²/k. `radius` is r, `units` k. Reference: lucchi Thm 27, Barron
    (1993).
    """
    return (4 * np.pi * radius * constant) ** 2 / units


def expected_threshold_error(
    target: CosineSum, x: Float[np.ndarray, "n d"], units: int, *, radius: float = 1.0
) -> float:
    """Return the mean squared distance at the points x of a sum of cosines from its drawn `threshold_network`.

    Exact, in closed form: (E‖V‖² − ‖f − f(0)‖²)/k, V one drawn unit times k. Points beyond the radius are refused.
    """
    length = np.linalg.norm(target.frequencies, axis=1)
    farthest = float(np.max(np.linalg.norm(x, axis=1)))
    if farthest > radius * (1 + 1e-12):
        raise ValueError(f"x must lie in the ball of radius {radius}, got a point of length {farthest:.6g}")
    projection = x @ target.frequencies.T
    turn = 4 * np.pi * target.phases
    # ∫ sin²(2π(b + θ)) db from 0 to ω·x, counted positive towards either side.
    square = np.abs(projection / 2 - (np.sin(4 * np.pi * projection + turn) - np.sin(turn)) / (8 * np.pi))
    share = target.amplitudes * length / target.barron_constant
    second = (4 * np.pi * radius * target.barron_constant) ** 2 * np.mean(square @ (share / (2 * radius * length)))
    mean = target(x) - target(np.zeros((1, x.shape[1])))
    return float((second - np.mean(mean**2)) / units)


doors(
    __name__,
    nodes="[1, 1000]",
    units="[1, 1e8]",
    radius="(0, 1e6]",
    scale="[1e-6, 1e6]",
    constant="(-∞, ∞)",
)
