"""The rule of directions against moments of the sphere, by hand and by Gaussian integrals."""

import numpy as np
import pytest

from deeptheory.foundations.spheres import direction_rule


def test_two_dimensions_by_hand():
    """On the circle four of eight even directions: the mean of cos⁴ is 3/8, that of cos²sin² is 1/8."""
    points, weights = direction_rule(2)
    root = np.sqrt(0.5)
    np.testing.assert_allclose(points, [[1, 0], [0, 1], [root, root], [root, -root]])
    np.testing.assert_allclose(weights, 0.25)
    assert weights @ points[:, 0] ** 4 == pytest.approx(3 / 8)
    assert weights @ (points[:, 0] * points[:, 1]) ** 2 == pytest.approx(1 / 8)


@pytest.mark.parametrize("dimension", [1, 2, 3, 4, 5, 9])
def test_quadratic_forms_have_their_mean_and_variance(dimension):
    """E uᵀAu = tr A/d, Var uᵀAu = 2(‖A‖² − (tr A)²/d)/(d(d + 2)): from normals z = ‖z‖u by E‖z‖⁴ = d(d + 2)."""
    random = np.random.default_rng(dimension)
    matrix = random.standard_normal((dimension, dimension))
    matrix += matrix.T
    turned, _ = np.linalg.qr(random.standard_normal((dimension, dimension)))
    points, weights = direction_rule(dimension)
    np.testing.assert_allclose(np.sum(points**2, axis=1), 1)
    assert len(points) == dimension**2
    for each in (points, points @ turned):
        forms = np.einsum("ni,ij,nj->n", each, matrix, each)
        mean = weights @ forms
        assert mean == pytest.approx(np.trace(matrix) / dimension, abs=1e-12)
        centred = np.sum(matrix**2) - np.trace(matrix) ** 2 / dimension
        variance = 2 * centred / (dimension * (dimension + 2))
        assert weights @ (forms - mean) ** 2 == pytest.approx(variance, abs=1e-12)


def test_degree_six_is_beyond_the_rule():
    points, weights = direction_rule(3)
    assert weights @ points[:, 0] ** 6 != pytest.approx(1 / 7, abs=1e-3)  # E u⁶ = 15/(3·5·7)
    with pytest.raises(ValueError, match="dimension"):
        direction_rule(0)
