import numpy as np
import pytest

from deeptheory.alignment.overlaps import alignment, living_error, outlier_count, top_eigenspace
from deeptheory.foundations.randomness import unit_vectors


@pytest.mark.item("J13.5")
def test_alignment_is_the_cosine_of_the_nearest_vector_of_the_space():
    draw = np.random.default_rng(0)
    basis, vectors = draw.standard_normal((3, 8)), draw.standard_normal((5, 8))
    for vector, found in zip(vectors, alignment(vectors, basis), strict=True):
        residual = np.linalg.lstsq(basis.T, vector)[1][0]
        assert np.isclose(found, np.sqrt(1 - residual / (vector @ vector)), rtol=1e-12)
    dependent = np.concatenate([basis, basis[:1] + basis[1:2]])
    assert np.allclose(alignment(vectors[0], dependent), alignment(vectors[0], basis))


@pytest.mark.item("J13.5")
def test_random_directions_have_the_mean_square_of_the_dimensions_ratio():
    vectors = unit_vectors(np.random.default_rng(1), 20_000, 40)
    squares = alignment(vectors, np.eye(40)[:4]) ** 2
    # ρ² is a beta variable with parameters 2 and 18.
    assert abs(squares.mean() - 0.1) < 6 * np.sqrt(0.1 * 0.9 / 21 / 20_000)


@pytest.mark.item("J13.5")
def test_leading_eigenvectors_are_those_of_largest_modulus():
    frame = np.linalg.qr(np.random.default_rng(2).standard_normal((5, 5)))[0]
    matrix = frame @ np.diag([1.0, -3.0, 2.0, 0.1, -0.5]) @ frame.T
    found = top_eigenspace(matrix, 2)
    assert np.allclose(np.abs(found @ frame), np.eye(5)[[1, 2]])
    with pytest.raises(ValueError, match="count must be at most"):
        top_eigenspace(matrix, 6)
    with pytest.raises(ValueError, match="symmetric"):
        top_eigenspace(np.triu(matrix), 2)


@pytest.mark.item("J13.5")
def test_no_matrix_with_image_in_the_space_is_nearer():
    """The least ‖A − N‖ over N with rows of the projection: by convex optimization."""
    cvxpy = pytest.importorskip("cvxpy")
    draw = np.random.default_rng(3)
    matrix = draw.standard_normal((4, 4))
    matrix, basis = matrix + matrix.T, draw.standard_normal((2, 4))
    inside = cvxpy.Variable((2, 4))
    problem = cvxpy.Problem(cvxpy.Minimize(cvxpy.sigma_max(matrix - basis.T @ inside)))
    nearest = problem.solve(solver="CLARABEL")
    assert np.isclose(living_error(matrix, basis), nearest / np.linalg.norm(matrix, 2), rtol=1e-6)


def test_outliers_are_counted_by_the_widest_gap():
    assert outlier_count(np.array([0.1, 5.0, -4.0, 0.09, 0.11, 0.12])) == 2
    assert outlier_count(np.array([1.0, 0.9, 0.8, 0.7])) == 0
    assert outlier_count(np.array([3.0, 2.0, 0.0, 0.0])) == 2
    assert outlier_count(np.zeros(4)) == 0
