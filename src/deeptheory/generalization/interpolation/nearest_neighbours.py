"""Averages over nearest neighbours, and how far apart neighbours are.

Reference: jagannath Example 5.1 and Ch. 5 Sec. 2.
"""

import math

import numpy as np
from jaxtyping import Float
from scipy.spatial import KDTree
from scipy.special import gammaln

from deeptheory.foundations.balls import ball_volume
from deeptheory.foundations.entrances import doors

__all__ = ["expected_nearest_distance", "nearest_distances", "neighbour_weights"]


def neighbour_weights(
    points: Float[np.ndarray, "n d"], queries: Float[np.ndarray, "m d"], *, neighbours: int
) -> Float[np.ndarray, "m n"]:
    """Return the weights of the mean response of the k nearest points: 1/k for each of them.

    With k = 1 it interpolates. The responses are averaged, noise and all; an average of values f(Xᵢ), as jagannath
    Example 5.1 prints, would have no variance.
    """
    if not 1 <= neighbours <= len(points):
        raise ValueError(f"neighbours must be between 1 and the number of points {len(points)}, not {neighbours}")
    nearest = np.asarray(KDTree(points).query(queries, k=neighbours)[1]).reshape(len(queries), neighbours)
    if (nearest == len(points)).any():  # what the tree answers where a distance overflows
        raise ValueError("queries must be less than about 1e150 away from the points")
    weights = np.zeros((len(queries), len(points)))
    np.put_along_axis(weights, nearest, 1 / neighbours, axis=1)
    return weights


def nearest_distances(points: Float[np.ndarray, "n d"], *, torus: bool = False) -> Float[np.ndarray, " n"]:
    """Return how far each point of the unit cube is from the nearest other one; on the torus opposite faces meet.

    By a tree of the points, which saves nothing in some ten dimensions or more.
    """
    distances, _ = KDTree(points, boxsize=1.0 if torus else None).query(points, k=2)
    return distances[:, 1]


def expected_nearest_distance(samples: int, dimension: int) -> float:
    """Return the mean distance to the nearest of the others for n independent uniform points on the unit torus.

    v^{−1/d} Γ(1 + 1/d) Γ(n)/Γ(n + 1/d) with v the volume of the unit ball, about Γ(1 + 1/d)(v n)^{−1/d}: the integral
    of (1 − v rᵈ)^{n−1}. Exact on the circle, 1/(2n); in more dimensions up to the chance, exponentially small in n,
    that no other point lies within half the side. jagannath Ch. 5 Sec. 2, which speaks of the distance "between any n
    points": that one does not shrink.
    """
    if samples < 2:
        raise ValueError(f"samples must be at least 2, not {samples}")
    if dimension < 1:
        raise ValueError(f"dimension must be at least 1, not {dimension}")
    power = 1 / dimension
    ratio = math.exp(gammaln(samples) - gammaln(samples + power))
    return ball_volume(dimension) ** -power * math.gamma(1 + power) * ratio


doors(__name__, neighbours="[1, 1e6]")
