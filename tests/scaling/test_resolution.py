"""Errors of linear pieces beside integrals that are done by hand, by quadrature and by SciPy's triangulation."""

import numpy as np
import pytest
from scipy.interpolate import LinearNDInterpolator
from scipy.spatial import Delaunay

from deeptheory.scaling.resolution import grid_error, grid_interpolant, simplex_error


@pytest.mark.item("H13.8")
def test_errors_of_a_segment_and_of_a_triangle_by_hand():
    """∫₀¹(x(1 − x)/2)²dx = 1/120; for ½(x² + y²) on the triangle the error is ½(x(1 − x) + y(1 − y))."""
    assert simplex_error(np.array([[0.0], [1.0]]), np.eye(1)) == pytest.approx(1 / 120)
    nodes, rule = np.polynomial.legendre.leggauss(6)
    u, w = (nodes + 1) / 2, rule / 2
    x, y = np.repeat(u, 6), (np.outer(1 - u, u)).ravel()
    weights = 2 * (np.outer(w * (1 - u), w)).ravel()
    error = (x * (1 - x) + y * (1 - y)) / 2
    corners = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    assert simplex_error(corners, np.eye(2)) == pytest.approx(weights @ error**2)
    assert grid_error(np.array([[3.0]]), 4) == pytest.approx(9 / 120 / 4**4)


def test_the_error_does_not_see_where_a_simplex_lies_or_how_it_is_named():
    rng = np.random.default_rng(0)
    corners, half = rng.standard_normal((4, 3)), rng.standard_normal((3, 3))
    curvature = half + half.T
    here = simplex_error(corners, curvature)
    assert simplex_error(corners[::-1] + 5.0, curvature) == pytest.approx(here)
    assert simplex_error(2 * corners, curvature) == pytest.approx(16 * here)
    with pytest.raises(ValueError, match="the number of vertices"):
        simplex_error(corners[:3], curvature)


def test_linear_pieces_are_those_of_a_triangulation_and_reproduce_linear_functions():
    rng = np.random.default_rng(1)
    points = rng.random((300, 3))
    slope = np.array([1.0, -2.0, 0.5])
    np.testing.assert_allclose(grid_interpolant(lambda x: x @ slope + 3, points, 3), points @ slope + 3, atol=1e-13)
    # One cube cut along its diagonal: the simplices are those of the six orders of the coordinates.
    square = rng.random((200, 2))
    corners, values = np.array([[0.0, 0], [1, 0], [0, 1], [1, 1]]), np.array([1.0, -2.0, 4.0, 0.5])
    chosen = lambda x: values[(x[:, 0] + 2 * x[:, 1]).astype(int)]  # noqa: E731
    below = square[:, 0] >= square[:, 1]
    expected = np.where(
        below,
        *(
            LinearNDInterpolator(Delaunay(corners[list(each)]), values[list(each)])(square)
            for each in ((0, 1, 3), (0, 2, 3))
        ),
    )
    np.testing.assert_allclose(grid_interpolant(chosen, square, 1), expected, atol=1e-13)


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_the_exact_error_is_the_mean_over_many_points(dimension):
    rng = np.random.default_rng(dimension)
    half = rng.standard_normal((dimension, dimension))
    curvature, points = half + half.T, rng.random((40_000, dimension))
    quadratic = lambda x: np.einsum("ni,ij,nj->n", x, curvature, x) / 2  # noqa: E731
    squares = (grid_interpolant(quadratic, points, 3) - quadratic(points)) ** 2
    assert abs(squares.mean() - grid_error(curvature, 3)) < 5 * squares.std() / 200
