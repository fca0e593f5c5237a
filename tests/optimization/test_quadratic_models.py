"""Quadratic models and preconditioners, by hand and against NumPy and SciPy."""

import jax.numpy as jnp
import numpy as np
import optax
import pytest
import scipy.linalg
import scipy.optimize

from deeptheory.optimization.landscapes import CosineSum
from deeptheory.optimization.methods import newton
from deeptheory.optimization.quadratic_models import (
    block_diagonal_part,
    condition_number,
    diagonal_part,
    model_at,
    preconditioned_curvature,
)
from deeptheory.optimization.runs import trajectory

MATRIX = np.array([[4.0, 1.0, 0.5], [1.0, 2.0, -0.3], [0.5, -0.3, 1.0]])


@pytest.mark.item("L5.8")
def test_the_step_of_a_model_minimizes_it():
    wells, point = CosineSum(jnp.array([1.0, 0.25, 2.0])), jnp.array([0.4, -0.7, 0.2])
    own, plain = model_at(wells, point), model_at(wells, point, curvature=np.eye(3) / 0.3)
    for model, method in ((own, newton()), (plain, optax.sgd(0.3))):
        found = scipy.optimize.minimize(
            lambda move, model=model: float(model(jnp.asarray(move))), np.zeros(3), tol=1e-12
        )
        np.testing.assert_allclose(model.step, found.x, atol=1e-6)
        run = trajectory(wells, method, point, steps=1)
        np.testing.assert_allclose(run.position[1] - run.position[0], model.step, rtol=1e-12)
    # Σ w(1 − cos x): value, slope w sin x and curvature w cos x, written out.
    weights, x = np.array([1.0, 0.25, 2.0]), np.asarray(point)
    move = np.array([0.1, 0.2, -0.3])
    by_hand = weights @ (1 - np.cos(x)) + (weights * np.sin(x)) @ move + (weights * np.cos(x)) @ move**2 / 2
    assert float(own(jnp.asarray(move))) == pytest.approx(by_hand, rel=1e-12)


@pytest.mark.item("L5.8", "L5.10")
def test_parts_of_a_matrix_and_what_they_do_to_its_condition():
    np.testing.assert_array_equal(diagonal_part(MATRIX), np.diag([4.0, 2.0, 1.0]))
    np.testing.assert_array_equal(
        block_diagonal_part(MATRIX, (2, 1)), [[4.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 1.0]]
    )
    assert float(condition_number(MATRIX)) == pytest.approx(np.linalg.cond(MATRIX))
    assert float(condition_number(np.diag([1.0, 0.0]))) == np.inf
    root = scipy.linalg.sqrtm(np.linalg.inv(MATRIX))
    np.testing.assert_allclose(
        preconditioned_curvature(np.diag([1.0, 2, 3]), MATRIX), root @ np.diag([1.0, 2, 3]) @ root
    )
    np.testing.assert_allclose(preconditioned_curvature(MATRIX, MATRIX), np.eye(3), atol=1e-14)
    # Two variables of correlation r on any scales: (1 + |r|)/(1 − |r|) after Jacobi.
    scaled = np.outer([100.0, 0.1], [100.0, 0.1]) * np.array([[1.0, -0.6], [-0.6, 1.0]])
    assert float(condition_number(preconditioned_curvature(scaled, diagonal_part(scaled)))) == pytest.approx(4.0)
    many = condition_number(np.stack([MATRIX, 2 * np.eye(3)]))
    assert many.shape == (2,) and float(many[1]) == pytest.approx(1.0)
    with pytest.raises(ValueError, match=r"sizes must be positive and add up to 3, got \(2, 2\)"):
        block_diagonal_part(MATRIX, (2, 2))
    with pytest.raises(ValueError, match="approximation must be positive definite, got an eigenvalue -1"):
        preconditioned_curvature(np.eye(2), np.diag([1.0, -1.0]))
    with pytest.raises(ValueError, match="matrix must be positive semidefinite, got an eigenvalue -1"):
        condition_number(np.diag([1.0, -1.0]))
