"""Density models beside each other: a law known in closed form, what each model loses against it, total mass.

A model is a function that gives the log density of every point; points are one a row.

Reference: arora 14.2 and 14.5; for autoregressive models Larochelle and Murray 2011.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import affordable, inside
from deeptheory.generative.mixtures import GaussianMixture

__all__ = [
    "AutoregressiveHistogram",
    "compare_densities",
    "fit_autoregressive_histogram",
    "histogram_log_density",
    "normalised",
    "ring_of_gaussians",
    "sample_histogram",
    "total_mass",
]

Points = Float[np.ndarray, "n d"]
LogDensity = Callable[[Float[np.ndarray, "n d"]], Float[np.ndarray, " n"]]


def ring_of_gaussians(count: int = 8, *, radius: float = 2.0, deviation: float = 0.3) -> GaussianMixture:
    """Round Gaussians of even shares on a circle: a law in the plane with a known density that one Gaussian misses.

    Centres lie at the given radius, at angles 2πk/count; every covariance is deviation² I.
    """
    angles = 2 * np.pi * np.arange(count) / count
    means = radius * np.stack([np.cos(angles), np.sin(angles)], 1)
    return GaussianMixture(np.full(count, 1 / count), means, np.tile(deviation**2 * np.eye(2), (count, 1, 1)))


def total_mass(log_density: LogDensity, *, half_width: float = 8.0, resolution: int = 201) -> float:
    """The integral of a density in the plane over the square [−w, w]², by the midpoint rule.

    Spectrally accurate for densities that are smooth on the scale of a cell and vanish at the border. `half_width` is
    w, and the square has `resolution`² cells.
    """
    cell = 2 * half_width / resolution
    axis = -half_width + cell * (np.arange(resolution) + 0.5)
    grid = np.stack(np.meshgrid(axis, axis, indexing="ij"), -1).reshape(-1, 2)
    return float(np.exp(np.asarray(log_density(grid), float)).sum() * cell**2)


def normalised(
    log_density: LogDensity, *, half_width: float = 8.0, resolution: int = 201, tolerance: float = 0.01
) -> float:
    """The `total_mass` of a density in the plane, refused if it is not one up to the tolerance."""
    mass = total_mass(log_density, half_width=half_width, resolution=resolution)
    inside(1 - tolerance, 1 + tolerance, "[]", **{"the total mass of log_density": mass})
    return mass


class AutoregressiveHistogram(NamedTuple):
    """P(cell of x₁) and P(cell of x₂ | cell of x₁) on a square [−w, w]² of equal cells."""

    first: Float[np.ndarray, " bins"]
    second: Float[np.ndarray, "bins bins"]
    half_width: float


def fit_autoregressive_histogram(
    points: Float[np.ndarray, "n 2"], *, bins: int = 24, half_width: float = 4.0, prior: float = 0.1
) -> AutoregressiveHistogram:
    """The simplest autoregressive model: one coordinate after the other, each from its frequencies given those before.

    `prior` is added to every count, so that no cell is impossible. Draws take as many steps in sequence as there are
    coordinates, which is why models that go pixel by pixel do not parallelize (arora Sec. 14.5). The square [−w, w]²
    with w = `half_width` has `bins`² cells; points outside of it are refused.
    """
    inside(-half_width, half_width, "[]", points=points)
    cells = np.clip(((points + half_width) / (2 * half_width) * bins).astype(int), 0, bins - 1)
    counts = np.full((bins, bins), prior)
    np.add.at(counts, (cells[:, 0], cells[:, 1]), 1.0)
    rows = counts.sum(1)
    return AutoregressiveHistogram(rows / rows.sum(), counts / rows[:, None], half_width)


def histogram_log_density(model: AutoregressiveHistogram, points: Float[np.ndarray, "n 2"]) -> Float[np.ndarray, " n"]:
    """log p(x₁) + log p(x₂ | x₁), constant on cells; −∞ outside of the square."""
    bins, w = len(model.first), model.half_width
    cells = np.floor((points + w) / (2 * w) * bins).astype(int)
    outside = ((cells < 0) | (cells >= bins)).any(1)
    one, two = np.clip(cells, 0, bins - 1).T
    logs = np.log(model.first[one]) + np.log(model.second[one, two]) - 2 * np.log(2 * w / bins)
    return np.where(outside, -np.inf, logs)


def sample_histogram(
    draw: np.random.Generator, model: AutoregressiveHistogram, samples: int
) -> Float[np.ndarray, "samples 2"]:
    """Draws, in two steps that cannot be exchanged: a cell of x₁, then one of x₂ given it."""
    affordable(samples=(samples, len(model.first)))
    last = len(model.first) - 1
    one = np.minimum(np.searchsorted(model.first.cumsum(), draw.random(samples)), last)
    reached = model.second.cumsum(1)[one]
    two = np.minimum((draw.random((samples, 1)) > reached).sum(1), last)
    cells = np.stack([one, two], 1) + draw.random((samples, 2))
    return -model.half_width + 2 * model.half_width * cells / len(model.first)


def compare_densities(
    truth: LogDensity, models: dict[str, LogDensity], train: Points, test: Float[np.ndarray, "m d"]
) -> dict[str, dict[str, float]]:
    """For each model: mean log likelihood of training and test points, and its divergence from the truth on the latter.

    The divergence is the mean of log p − log q over test points, with its standard error; its mean is KL(p‖q) ≥ 0 for
    every q that is a density. A negative one by many standard errors means that q is none.
    """
    true, table = np.asarray(truth(test), float), {}
    for name, model in models.items():
        held = np.asarray(model(test), float)
        table[name] = {
            "train": float(np.mean(model(train))),
            "test": float(held.mean()),
            "divergence": float((true - held).mean()),
            "error": float((true - held).std() / np.sqrt(len(held))),
        }
    return table


doors(
    __name__,
    count="[1, 1000]",
    radius="[0, ∞)",
    deviation="(0, ∞)",
    half_width="(0, 1e6]",
    resolution="[2, 3000]",
    tolerance="(0, 1)",
    bins="[1, 1000]",
    prior="(0, ∞)",
    samples="[1, ∞)",
)
