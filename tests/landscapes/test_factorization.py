"""Every critical point of a factorization against autodiff, and the rank-one formulas against vectors."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from deeptheory.landscapes.factorization import (
    CompletionLoss,
    FactorizationLoss,
    aligned,
    aligned_curvature,
    factorization_critical_points,
    factorization_curvature,
    factorization_gradient,
    rank_one_improvement,
    rank_one_loss,
    top_eigenvector_hessian,
)


@pytest.mark.item("A6.18")
def test_the_staircase_of_a_diagonal_matrix():
    points = factorization_critical_points(np.diag([5.0, 3.0, 2.0, 1.0]))
    assert [point.index for point in points] == [4, 0, 1, 2, 3]
    spectra = [[-5, -3, -2, -1], [2, 3, 4, 10], [-2, 1, 2, 6], [-3, -1, 1, 4], [-4, -2, -1, 2]]
    np.testing.assert_allclose([point.spectrum for point in points], spectra)
    np.testing.assert_allclose([point.value for point in points], [39 / 4, 14 / 4, 30 / 4, 35 / 4, 38 / 4])


def test_repeated_and_vanishing_eigenvalues():
    points = factorization_critical_points(np.diag([2.0, 1.0, 1.0, 0.0]))
    assert len(points) == 4, "an eigenvector of eigenvalue zero is the origin"
    loss = FactorizationLoss(jnp.diag(jnp.array([2.0, 1.0, 1.0])))
    between = jnp.array([0.0, 1.0, 1.0]) / 2**0.5  # on the sphere of the repeated eigenvalue
    np.testing.assert_allclose(jax.grad(loss)(between), np.zeros(3), atol=1e-15)


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_critical_points_and_spectra_against_autodiff(rank):
    random = np.random.default_rng(rank)
    basis, _ = np.linalg.qr(random.standard_normal((4, 4)))
    matrix = basis * np.array([3.0, 2.0, 0.7, -0.5]) @ basis.T
    loss = FactorizationLoss(jnp.asarray(matrix))
    for point in factorization_critical_points(matrix, rank=rank):
        flat = jnp.asarray(point.factor.ravel())
        np.testing.assert_allclose(jax.grad(loss)(flat), np.zeros(4 * rank), atol=1e-12)
        np.testing.assert_allclose(np.linalg.eigvalsh(jax.hessian(loss)(flat)), point.spectrum, atol=1e-12)
        assert loss(flat) == pytest.approx(point.value)
        assert point.index == sum(point.spectrum < -1e-9)


@pytest.mark.item("A6.17")
def test_derivatives_against_autodiff():
    random = np.random.default_rng(0)
    x, along, matrix = random.standard_normal((4, 2)), random.standard_normal((4, 2)), random.standard_normal((4, 4))
    matrix = matrix + matrix.T
    loss = FactorizationLoss(jnp.asarray(matrix))
    flat = jnp.asarray(x.ravel())
    np.testing.assert_allclose(jax.grad(loss)(flat), factorization_gradient(x, matrix).ravel())
    curved = along.ravel() @ np.asarray(jax.hessian(loss)(flat)) @ along.ravel()
    assert factorization_curvature(x, matrix, along) == pytest.approx(curved)
    column = jnp.asarray(x[:, 0])
    np.testing.assert_allclose(jax.hessian(loss)(column), top_eigenvector_hessian(x[:, 0], matrix))


@pytest.mark.item("A6.23")
def test_alignment_is_the_best_of_many_rotations():
    random = np.random.default_rng(1)
    x, z = random.standard_normal((2, 5, 2))
    best = np.linalg.norm(x - np.asarray(aligned(x, z)))
    angles = np.linspace(0, 2 * np.pi, 721)
    turns = np.array([[[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]] for a in angles])
    turns = np.concatenate([turns, turns * np.array([1, -1])])
    assert best == pytest.approx(np.linalg.norm(x - z @ turns, axis=(1, 2)).min(), rel=1e-4)
    away = x - np.asarray(aligned(x, z))
    curvature, bound = aligned_curvature(x, z)
    assert curvature == pytest.approx(factorization_curvature(x, z @ z.T, away))
    assert curvature <= bound


@pytest.mark.item("A6.20")
def test_rank_one_by_its_invariants():
    random = np.random.default_rng(2)
    x, z = random.standard_normal(4), np.array([0.6, 0.8, 0.0, 0.0])
    loss = FactorizationLoss(jnp.asarray(np.outer(z, z)))
    unit = x / np.linalg.norm(x)
    gradient, hessian = (np.asarray(f(loss)(jnp.asarray(x))) for f in (jax.grad, jax.hessian))
    expected = abs(gradient @ unit), unit @ hessian @ unit, abs(gradient @ z), z @ hessian @ z
    np.testing.assert_allclose(rank_one_improvement(float(x @ x), float(x @ z)), expected)
    assert rank_one_loss(float(x @ x), float(x @ z)) == pytest.approx(float(loss(jnp.asarray(x))))


@pytest.mark.item("A6.22")
def test_the_best_constant_is_one_over_root_two():
    from scipy.optimize import minimize

    def ratio(place):
        square, share = np.exp(place[0]), np.sin(place[1])
        overlap = share * square**0.5
        along_x, bend_x, along_z, bend_z = rank_one_improvement(square, overlap)
        missing = max(0.0, -0.25 - min(bend_x, bend_z))
        return max(along_x, along_z) / min(rank_one_loss(square, overlap), 1) + 100 * missing

    options = dict(xatol=1e-10, fatol=1e-12, maxiter=4000)
    found = [
        minimize(ratio, start, method="Nelder-Mead", options=options).fun
        for start in ([-1.0, 0.5], [-0.7, 0.5], [-0.5, 0.3], [0.5, 1.0])
    ]
    assert min(found) == pytest.approx(2**-0.5, abs=1e-5)


def test_completion_counts_observed_entries_only():
    matrix, observed = jnp.ones((2, 2)), jnp.array([[True, False], [False, True]])
    assert CompletionLoss(matrix, observed)(jnp.array([2.0, 0.0])) == pytest.approx((9 + 1) / 4)
    assert FactorizationLoss(matrix)(jnp.array([2.0, 0.0])) == pytest.approx((9 + 1 + 1 + 1) / 4)
