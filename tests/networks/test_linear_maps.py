import numpy as np
import pytest

from deeptheory.networks.linear_maps import affine_parts, collapsed, is_affine, is_linear, superposition_defect

MATRIX, OFFSET = np.array([[1.0, -2.0, 0.5], [3.0, 0.0, 1.0]]), np.array([0.7, -1.1])


@pytest.mark.item("L2.2")
def test_maps_are_told_apart():
    linear, affine = (lambda x: MATRIX @ x), (lambda x: MATRIX @ x + OFFSET)
    bent, square = (lambda x: np.maximum(MATRIX @ x, 0)), (lambda x: (MATRIX @ x) ** 2)
    assert [is_linear(f, inputs=3) for f in (linear, affine, bent, square)] == [True, False, False, False]
    assert [is_affine(f, inputs=3) for f in (linear, affine, bent, square)] == [True, True, False, False]
    assert is_linear(lambda x: 0 * x, inputs=3)


@pytest.mark.item("L2.2")
def test_matrix_and_offset_are_recovered():
    matrix, offset = affine_parts(lambda x: MATRIX @ x + OFFSET, inputs=3)
    np.testing.assert_allclose(matrix, MATRIX, rtol=1e-14, atol=1e-15)
    np.testing.assert_allclose(offset, OFFSET)


@pytest.mark.item("L2.2")
def test_the_defect_of_an_affine_map_is_no_constant():
    x, y = np.array([0.2, 0.4, -1.0]), np.array([1.5, 0.0, 2.0])
    for alpha, beta in [(0.0, 0.0), (1.0, 0.0), (2.0, 3.0), (0.3, 0.7)]:
        defect = superposition_defect(lambda x: MATRIX @ x + OFFSET, x, y, alpha=alpha, beta=beta)
        np.testing.assert_allclose(defect, (1 - alpha - beta) * OFFSET, atol=1e-14)


def test_a_deep_linear_network_collapses():
    rng = np.random.default_rng(0)
    layers = [rng.standard_normal(shape) for shape in [(5, 3), (2, 5), (4, 2)]]
    x = rng.standard_normal(3)
    np.testing.assert_allclose(collapsed(layers) @ x, layers[2] @ (layers[1] @ (layers[0] @ x)), rtol=1e-12)
    assert np.linalg.matrix_rank(collapsed(layers)) == 2
    with pytest.raises(ValueError, match=r"a layer must take what the one before gives, 5 numbers, got \(4, 2\)"):
        collapsed([layers[0], layers[2]])
