"""Lanczos coefficients against Legendre polynomials, against measures written out, and where nothing is left."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.linalg import eigh_tridiagonal

from deeptheory.foundations.krylov import expanded, jacobi_coefficients, krylov_start


def test_coefficients_of_the_uniform_measure_are_those_of_legendre():
    points, weights = np.polynomial.legendre.leggauss(40)
    alpha, beta = jacobi_coefficients(lambda v: points * v, jnp.asarray(np.sqrt(weights)), 12)
    k = np.arange(1, 13)
    np.testing.assert_allclose(alpha, 0, atol=1e-14)
    np.testing.assert_allclose(beta, k / np.sqrt(4 * k**2 - 1), rtol=1e-13)


def test_two_steps_by_hand_and_an_end_when_nothing_is_left():
    matrix = jnp.array([[2.0, 1.0], [1.0, 4.0]])
    alpha, beta = jacobi_coefficients(lambda v: matrix @ v, jnp.array([3.0, 0.0]), 5)
    np.testing.assert_allclose(alpha, [2, 4, 0, 0, 0], atol=1e-15)
    np.testing.assert_allclose(beta, [1, 0, 0, 0, 0], atol=1e-15)
    alpha, beta = jacobi_coefficients(lambda v: 0 * v, jnp.ones(3), 2)
    np.testing.assert_array_equal(alpha, [0, 0])
    np.testing.assert_array_equal(beta, [0, 0])


@pytest.mark.parametrize("until", [1, 3, 6])
def test_a_space_grows_to_the_size_that_was_asked_for(until):
    """Rows in use are orthonormal and span the powers of the matrix, and the matrix in them is as written out."""
    random = np.random.default_rng(7)
    matrix = random.standard_normal((9, 9))
    matrix, start = matrix + matrix.T, random.standard_normal(9)
    space = expanded(lambda v: jnp.asarray(matrix) @ v, krylov_start(jnp.asarray(start), 6), until)
    assert int(space.filled) == until and bool(space.alive)
    basis = np.asarray(space.basis)
    np.testing.assert_allclose(basis @ basis.T, np.diag(np.arange(6) < until), atol=1e-13)
    np.testing.assert_allclose(space.projected, basis @ matrix @ basis.T, atol=1e-12)
    powers = np.stack([np.linalg.matrix_power(matrix / 8, k) @ start for k in range(until)])
    np.testing.assert_allclose(powers @ basis.T @ basis, powers, atol=1e-10)
    # What comes next is what the last product has outside, at unit length.
    rest = matrix @ basis[until - 1] - basis.T @ (basis @ matrix @ basis[until - 1])
    np.testing.assert_allclose(np.asarray(space.beta * space.following), rest, atol=1e-12)
    enough = expanded(lambda v: jnp.asarray(matrix) @ v, krylov_start(jnp.asarray(start), 6), 6, lambda s: s.filled > 1)
    assert int(enough.filled) == 2


@pytest.mark.parametrize(("precision", "near"), [(np.float64, 1e-13), (np.float32, 1e-5)])
def test_ghosts_share_the_weight_of_their_eigenvalue(precision, near):
    """Eight outliers are found many times over in 60 steps; the measure is that of the start all the same."""
    values = np.concatenate([np.linspace(-0.01, 0.01, 392), np.arange(1.0, 9.0)])
    start = np.random.default_rng(3).standard_normal(400)
    diagonal = jnp.asarray(values, precision)
    alpha, beta = jacobi_coefficients(lambda v: diagonal * v, jnp.asarray(start, precision), 60)
    nodes, vectors = eigh_tridiagonal(np.asarray(alpha, float), np.asarray(beta, float)[:-1])
    copies = [np.abs(nodes - value) < 1e-4 for value in values[-8:]]
    found = [vectors[0, each] @ vectors[0, each] for each in copies]
    np.testing.assert_allclose(found, start[-8:] ** 2 / (start @ start), rtol=near)
    assert np.mean([each.sum() for each in copies]) > 1.5
