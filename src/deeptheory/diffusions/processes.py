"""Paths of processes with stationary independent increments (Lévy processes): Brownian motion and others.

Paths are drawn at times 0, h, 2h, …, one a row, from a NumPy generator; the first entry is zero.

Reference: arora Defs. 12.2.1 and 12.2.2; Sato, Lévy Processes and Infinitely Divisible Distributions (1999).
"""

import numpy as np
from jaxtyping import Float

from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import affordable, inside

__all__ = [
    "bridge_refined",
    "compound_poisson_paths",
    "gamma_paths",
    "quadratic_variation",
    "stable_paths",
    "wiener_paths",
]

Paths = Float[np.ndarray, "paths times"]


def _summed(increments: Float[np.ndarray, "paths steps"]) -> Paths:
    return np.concatenate([np.zeros((len(increments), 1)), increments.cumsum(1)], 1)


def wiener_paths(draw: np.random.Generator, paths: int, *, steps: int, horizon: float = 1.0) -> Paths:
    """Brownian motion: increments N(0, h). Continuous, nowhere differentiable (arora Def. 12.2.2).

    h = `horizon`/`steps`.
    """
    affordable(paths=(paths, steps))
    return _summed(draw.standard_normal((paths, steps)) * np.sqrt(horizon / steps))


def compound_poisson_paths(
    draw: np.random.Generator, paths: int, *, steps: int, rate: float, horizon: float = 1.0
) -> Paths:
    """Jumps of size N(0, 1) at the times of a Poisson process: a Lévy process whose paths are not continuous.

    arora Def. 12.2.1 asks for continuous paths in its item 5; then only Brownian motion with drift is left. `rate`
    jumps a unit of time on average, up to `horizon`.
    """
    affordable(paths=(paths, steps))
    inside(0, 1e18, "[]", **{"rate · horizon / steps": rate * horizon / steps})
    counts = draw.poisson(rate * horizon / steps, (paths, steps))
    return _summed(draw.standard_normal((paths, steps)) * np.sqrt(counts))


def gamma_paths(draw: np.random.Generator, paths: int, *, steps: int, rate: float = 1.0, horizon: float = 1.0) -> Paths:
    """The gamma process, whose increments over a time h are Gamma(h·rate): it only rises, by infinitely many jumps.

    `rate` is the mean per unit of time (scale 1), h = `horizon`/`steps`. Reference: Sato 1999.
    """
    affordable(paths=(paths, steps))
    return _summed(draw.gamma(rate * horizon / steps, size=(paths, steps)))


def stable_paths(draw: np.random.Generator, paths: int, *, steps: int, index: float, horizon: float = 1.0) -> Paths:
    """Symmetric stable motion, X_t of the law of t^(1/α)X₁ with E cos ξX₁ = e^(−|ξ|^α): noise with heavy tails.

    `index` is α: 2 for √2 times Brownian motion, 1 for the Cauchy process. Below 2 paths jump and the variance is
    infinite, from 1 down there is no mean either. To drive an equation by it give its increments (`np.diff`) to
    `euler_maruyama`. h = `horizon`/`steps`. Reference: Chambers, Mallows and Stuck 1976; Sato 1999.
    """
    affordable(paths=(paths, steps))
    angle, wait = draw.uniform(-np.pi / 2, np.pi / 2, (paths, steps)), draw.exponential(size=(paths, steps))
    turned = np.sin(index * angle) / np.cos(angle) ** (1 / index)
    unit = turned * (np.cos((1 - index) * angle) / wait) ** (1 / index - 1)
    return _summed(unit * (horizon / steps) ** (1 / index))


def bridge_refined(
    draw: np.random.Generator, paths: Paths, *, horizon: float = 1.0
) -> Float[np.ndarray, "paths finer"]:
    """Brownian paths at twice as many times, the given ones kept: midpoints are means plus N(0, h/4) noise.

    h is the spacing of the given times, which end at `horizon`. Reference: Mörters and Peres, Brownian Motion (2010),
    Ch. 1.
    """
    spacing = horizon / (paths.shape[1] - 1)
    middles = (paths[:, 1:] + paths[:, :-1]) / 2
    middles = middles + draw.standard_normal(middles.shape) * np.sqrt(spacing / 4)
    refined = np.empty((len(paths), 2 * paths.shape[1] - 1))
    refined[:, ::2], refined[:, 1::2] = paths, middles
    return refined


def quadratic_variation(paths: Paths) -> Float[np.ndarray, " paths"]:
    """The sum of squared increments: for Brownian motion it tends to the time, with error √(2t²/n).

    n is the number of increments, up to time t. Reference: Mörters and Peres, Brownian Motion (2010), Ch. 1.
    """
    return (np.diff(paths, axis=1) ** 2).sum(1)


doors(__name__, steps="[1, 1e8]", rate="(0, ∞)", index="[0.1, 2]", horizon="(0, ∞)")
