import jax.numpy as jnp
import numpy as np
import pytest

from deeptheory.kernels.regression.solvers import (
    conjugate_gradients,
    kernel_function_product,
    low_rank_preconditioner,
    matrix_product,
    pivoted_cholesky,
    solve_kernel,
)

RNG = np.random.default_rng(1)
X = RNG.uniform(-1, 1, (150, 2))
K = np.exp(-((X[:, None] - X[None]) ** 2).sum(-1) / 2)
Y = RNG.standard_normal((150, 3))


def test_pivoted_cholesky_error_is_the_trace_it_reports():
    low = pivoted_cholesky(np.diagonal(K), lambda i: K[i], rank=12)
    error = K - low.factor @ low.factor.T
    assert np.trace(error) == pytest.approx(low.remaining[-1], rel=1e-6)
    assert np.linalg.eigvalsh(error).min() > -1e-10
    np.testing.assert_allclose(error[low.pivots], 0, atol=1e-8)
    short = pivoted_cholesky(np.ones(5), lambda i: np.ones(5), rank=4)
    assert short.factor.shape == (5, 1)


@pytest.mark.parametrize("y", [Y, Y[:, 0]])
def test_solution_and_its_residual_against_a_dense_solve(y):
    found = solve_kernel(K, y, ridge=1e-3, rank=30, tolerance=1e-10, rows=40)
    exact = np.linalg.solve(K + 1e-3 * np.eye(150), y)
    np.testing.assert_allclose(found.dual, exact, rtol=1e-5, atol=1e-6 * np.abs(exact).max())
    true = np.linalg.norm(y - (K + 1e-3 * np.eye(150)) @ found.dual, axis=0) / np.linalg.norm(y, axis=0)
    np.testing.assert_allclose(found.residual, true, rtol=0.5, atol=1e-13)
    assert found.converged and found.residual.shape == y.shape[1:]


def test_the_preconditioner_pays():
    plain = conjugate_gradients(matrix_product(K), Y, ridge=1e-3, max_iterations=400)
    low = pivoted_cholesky(np.diagonal(K), lambda i: K[i], rank=30)
    better = conjugate_gradients(
        matrix_product(K), Y, ridge=1e-3, preconditioner=low_rank_preconditioner(low, ridge=1e-3)
    )
    assert better.converged and better.iterations * 5 < plain.iterations


def test_a_system_not_solved_says_so():
    found = conjugate_gradients(matrix_product(K), Y, ridge=1e-6, max_iterations=3)
    assert not found.converged and found.iterations == 3 and found.residual.max() > 1e-3
    with pytest.raises(ValueError, match="as many rows"):
        solve_kernel(K, Y[:5])


def test_product_of_a_kernel_that_is_never_stored():
    def kernel(x, other):
        return jnp.exp(-jnp.sum((x[:, None] - other[None]) ** 2, -1) / 2)

    product = kernel_function_product(kernel, X, tile=64)
    np.testing.assert_allclose(product(Y), K @ Y, rtol=1e-10, atol=1e-10)


def test_zero_target():
    found = conjugate_gradients(matrix_product(K), np.zeros(150), ridge=0.1)
    assert found.converged and found.iterations == 0 and not found.dual.any()


@pytest.mark.parametrize("size", [1e-300, 1e-200, 1e200, 1e300])
def test_targets_and_kernels_of_all_sizes_are_solved(size):
    draw = np.random.default_rng(6)
    x, y = draw.standard_normal((6, 4)), draw.standard_normal(6)
    kernel = x @ x.T + 0.1 * np.eye(6)
    expected = np.linalg.solve(kernel, y)
    for found in (solve_kernel(kernel, y * size).dual / size, solve_kernel(kernel * size, y).dual * size):
        np.testing.assert_allclose(found, expected, rtol=1e-6)
