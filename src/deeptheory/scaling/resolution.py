"""Losses limited by resolution: what a function loses when finitely many linear pieces stand for it.

Kuhn's triangulation cuts each cube of a grid into d! simplices, one for each order of the coordinates. Linear pieces
with knots on the grid are a model with N = (cells + 1)^d parameters, whose mean squared error falls like N^(−4/d).
References: Sharma and Kaplan (2022), Scaling laws from the data manifold dimension; Bahri et al. (2024), Explaining
neural scaling laws; handbook Sec. 13.2.
"""

from collections.abc import Callable
from itertools import combinations, permutations
from math import factorial

import numpy as np
from jaxtyping import Float

from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import affordable, inside

__all__ = ["grid_error", "grid_interpolant", "simplex_error"]


def simplex_error(vertices: Float[np.ndarray, "corners d"], curvature: Float[np.ndarray, "d d"]) -> float:
    """Return the mean squared error over a simplex of the linear interpolant of ½xᵀHx at its d + 1 corners, exactly.

    In barycentric coordinates the error is ½Σ_{i<j} b_ib_j q_ij, q_ij = (v_i − v_j)ᵀH(v_i − v_j), and a uniform point
    has E∏b_i^{a_i} = d!∏a_i!/(d + 4)! for powers that add up to 4: a pair with itself counts 4, pairs that share a
    corner 2, others 1. A linear part of the function changes nothing. `curvature` is H, of which the symmetric part
    counts. For functions that are not
    quadratic it is the leading term as the simplex shrinks.
    """
    count, dimension = vertices.shape
    inside(dimension + 1, dimension + 1, **{"the number of vertices": count})
    pairs = list(combinations(range(count), 2))
    sides = np.array([vertices[i] - vertices[j] for i, j in pairs])
    lengths = np.einsum("pi,ij,pj->p", sides, curvature, sides)
    shared = np.array([[2 ** len({*one} & {*other}) for other in pairs] for one in pairs])
    return float(lengths @ shared @ lengths / 4 * factorial(dimension) / factorial(dimension + 4))


def grid_error(curvature: Float[np.ndarray, "d d"], cells: int) -> float:
    """Return the mean squared error over the unit cube of the linear pieces of ½xᵀHx on a grid, exactly.

    The mean of `simplex_error` over the d! simplices of one cube of side 1/cells: proportional to cells^(−4), so to
    N^(−4/d) up to a share of order N^(−1/d), with N = (cells + 1)^d knots. Six dimensions at most.
    """
    dimension = len(curvature)
    inside(1, 6, **{"the dimension of curvature": dimension})
    corners = (
        np.concatenate([np.zeros((1, dimension)), np.cumsum(np.eye(dimension)[list(order)], axis=0)]) / cells
        for order in permutations(range(dimension))
    )
    return float(np.mean([simplex_error(each, curvature) for each in corners]))


def grid_interpolant(
    function: Callable[[Float[np.ndarray, "n d"]], Float[np.ndarray, " n"]],
    points: Float[np.ndarray, "n d"],
    cells: int,
) -> Float[np.ndarray, " n"]:
    """Evaluate the linear pieces of a function on Kuhn's triangulation of the unit cube, at points in it.

    Within its cube a point's coordinates, sorted downwards, say its simplex and its place there: it is reached from the
    lowest corner by adding the axes in that order, and the differences of the sorted coordinates are its weights.
    """
    inside(0, 1, points=points)
    affordable(corners=(points.shape[1] + 1, *points.shape))
    low = np.minimum(np.floor(points * cells), cells - 1)
    places = points * cells - low
    order = np.argsort(-places, axis=1)
    falling = np.take_along_axis(places, order, axis=1)
    weights = -np.diff(falling, axis=1, prepend=1.0, append=0.0)
    corner, total = low.copy(), np.zeros(len(points))
    for step in range(points.shape[1] + 1):
        if step:
            corner[np.arange(len(points)), order[:, step - 1]] += 1
        total += weights[:, step] * function(corner / cells)
    return total


doors(__name__, cells="[1, 1e9]")
