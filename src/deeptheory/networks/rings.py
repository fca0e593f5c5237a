"""Two rings around each other, and coordinates in which a straight line parts them: polar ones, or a layer of ReLUs.

No line parts them in the plane, nor after any linear change of coordinates: the centre is in the hull of both. The
layer of `polygon_features` does if and only if the regular polygon around the inner ring fits inside the outer one.

Reference: lucchi 2.1 and Fig. 2.1.
"""

import numpy as np
from jaxtyping import Float

from deeptheory.foundations.entrances import doors

__all__ = ["polar_coordinates", "polygon_features", "ring_points"]

Points = Float[np.ndarray, "n 2"]


def ring_points(count: int, *, radius: float) -> Points:
    """Return points on a circle about the origin at equal angles, the first on the horizontal axis."""
    angles = 2 * np.pi * np.arange(count) / count
    return radius * np.stack([np.cos(angles), np.sin(angles)], axis=1)


def polar_coordinates(points: Points) -> Points:
    """Return radius and angle in (−π, π] of points in the plane: rings become vertical lines (lucchi 2.1)."""
    return np.stack([np.hypot(*points.T), np.arctan2(points[:, 1], points[:, 0])], axis=1)


def polygon_features(points: Points, *, sides: int, radius: float) -> Float[np.ndarray, "n sides"]:
    """Return what a layer of ReLUs sees of the points: max(0, u_k·x − r) for unit vectors u_k at equal angles.

    All are zero inside the regular polygon with that many sides around the circle of radius r, whose corners are at
    distance r/cos(π/k). So a ring outside is parted from what is inside by their sum if its radius is larger than that;
    if it is smaller, its points near a corner look like the centre.
    """
    return np.maximum(points @ ring_points(sides, radius=1.0).T - radius, 0.0)


doors(__name__, count="[1, 1e6]", sides="[1, 10000]", radius="(0, ∞)")
