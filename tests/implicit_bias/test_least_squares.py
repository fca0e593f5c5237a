import jax.numpy as jnp
import numpy as np
import pytest

from deeptheory.implicit_bias.least_squares import (
    descent_iterate,
    descent_residual,
    descent_series,
    nearest_solution,
    pseudo_inverse,
    supported_solution,
    symmetric_singular_vectors,
    unseen_projection,
)

RNG = np.random.default_rng(3)
WIDE, TALL = RNG.standard_normal((4, 9)), RNG.standard_normal((9, 4))


@pytest.mark.parametrize("shape", [(5, 7, 3), (7, 5, 2), (6, 6, 6)])
def test_pseudo_inverse_against_the_library(shape):
    rows, columns, rank = shape
    matrix = RNG.standard_normal((rows, rank)) @ RNG.standard_normal((rank, columns))
    np.testing.assert_allclose(pseudo_inverse(matrix), np.linalg.pinv(matrix), rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(pseudo_inverse(jnp.asarray(matrix)), np.linalg.pinv(matrix), rtol=1e-9, atol=1e-11)
    assert pseudo_inverse(matrix, cutoff=2.0).max() == 0


@pytest.mark.parametrize("design", [WIDE, TALL])
@pytest.mark.parametrize("begin", [0.0, 1.0])
def test_closed_form_against_the_loop(design, begin):
    labels, start = RNG.standard_normal(len(design)), begin * RNG.standard_normal(design.shape[1])
    step = 1.3 / np.linalg.norm(design, 2) ** 2
    weights = start.copy()
    for steps in range(12):
        found = descent_iterate(design, labels, step_size=step, steps=steps, start=start)
        np.testing.assert_allclose(found, weights, atol=1e-12)
        rest = descent_residual(design, labels, step_size=step, steps=steps, start=start)
        np.testing.assert_allclose(rest, labels - design @ weights, atol=1e-12)
        weights = weights - step * design.T @ (design @ weights - labels)
    far = descent_iterate(design, labels, step_size=step, steps=5000, start=start)
    np.testing.assert_allclose(nearest_solution(design, labels, start), far, atol=1e-9)


@pytest.mark.item("A8.2")
def test_nearest_solution_solves_the_optimality_conditions():
    labels, start = RNG.standard_normal(4), RNG.standard_normal(9)
    system = np.block([[np.eye(9), WIDE.T], [WIDE, np.zeros((4, 4))]])
    nearest = np.linalg.solve(system, np.concatenate([start, labels]))[:9]
    np.testing.assert_allclose(nearest_solution(WIDE, labels, start), nearest, atol=1e-12)
    np.testing.assert_allclose(nearest_solution(WIDE, labels), np.linalg.pinv(WIDE) @ labels, atol=1e-12)


def test_solutions_with_few_coordinates():
    labels = RNG.standard_normal(4)
    sparse = supported_solution(WIDE, labels, [1, 3, 5, 8])
    np.testing.assert_allclose(WIDE @ sparse, labels, atol=1e-10)
    assert set(np.flatnonzero(sparse)) == {1, 3, 5, 8}
    repeated = WIDE.copy()
    repeated[:, 3] = 2 * repeated[:, 1]
    with pytest.raises(ValueError, match="independent"):
        supported_solution(repeated, labels, [1, 3, 5, 8])


def test_partial_sums_of_the_matrix_series():
    step = 0.7 / np.linalg.norm(WIDE, 2) ** 2
    power, total = np.eye(9), np.zeros((9, 9))
    for terms in range(30):
        np.testing.assert_allclose(descent_series(WIDE, step_size=step, terms=terms), total, atol=1e-10)
        total, power = total + power, power @ (np.eye(9) - step * WIDE.T @ WIDE)
    assert np.linalg.matrix_rank(unseen_projection(WIDE), tol=1e-8) == 5


def test_singular_vectors_of_a_symmetric_matrix():
    matrix = RNG.standard_normal((6, 6))
    matrix = matrix + matrix.T
    left, values, right = symmetric_singular_vectors(matrix)
    np.testing.assert_allclose((left * values) @ right.T, matrix, atol=1e-12)
    np.testing.assert_allclose(values, np.linalg.svd(matrix, compute_uv=False), rtol=1e-12)
    assert (np.sum(left * right, 0) < 0).sum() == (np.linalg.eigvalsh(matrix) < 0).sum()
