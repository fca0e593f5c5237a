"""Sensing forms by their definition, the population as the case of the identity, and the worst form of the plane."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from deeptheory.landscapes import matrix_sensing as sensing
from deeptheory.landscapes.factorization import FactorizationLoss


def test_the_form_is_the_mean_of_squared_measurements():
    random = np.random.default_rng(0)
    operators = random.standard_normal((5, 3, 3))
    operators = operators + np.swapaxes(operators, 1, 2)
    s = random.standard_normal((3, 3))
    s = s + s.T
    form, at = sensing.sensing_form(operators), sensing.coordinates_of(s)
    assert float(at @ at) == pytest.approx((s**2).sum())
    assert float(at @ form @ at) == pytest.approx(np.mean(np.einsum("mij,ij->m", operators, s) ** 2))


def test_with_the_identity_it_is_the_population():
    random = np.random.default_rng(1)
    target, x = random.standard_normal((3, 3)), random.standard_normal(6)
    target = target + target.T
    sensed = sensing.SensingLoss(jnp.eye(6), jnp.asarray(target))
    assert float(sensed(jnp.asarray(x))) == pytest.approx(float(FactorizationLoss(jnp.asarray(target))(jnp.asarray(x))))
    assert sensing.isometry_defect(np.eye(6)) == 0.0


def test_the_example_at_one_half():
    """Eigenvalues ½, 3/2 and 3/2; at (0, 1/√2) no slope, no curvature along e₁, and the loss ¼·(1 − ½ + ¼)."""
    form = sensing.spurious_form(0.5)
    np.testing.assert_allclose(form, [[1, 0.5, 0], [0.5, 1, 0], [0, 0, 1.5]], atol=1e-14)
    assert sensing.isometry_defect(form) == pytest.approx(0.5)
    assert sensing.spurious_curvature(0.5) == pytest.approx(0.0, abs=1e-14)
    loss = sensing.SensingLoss(jnp.asarray(form), jnp.diag(jnp.array([1.0, 0.0])))
    point = jnp.array([0.0, 0.5**0.5])
    np.testing.assert_allclose(jax.grad(loss)(point), 0.0, atol=1e-14)
    np.testing.assert_allclose(np.linalg.eigvalsh(jax.hessian(loss)(point)), [0.0, 1.0], atol=1e-12)
    assert float(loss(point)) == pytest.approx((1 - 0.5 + 0.25) / 4)


@pytest.mark.slow
def test_shift_by_drawn_measurements():
    """Two thousand measurements of diag(2, 1): the minimum (√2, 0) and the saddle (0, 1), by Newton in NumPy."""
    random, matrix, count = np.random.default_rng(2), np.diag([2.0, 1.0]), 2000
    for point in (np.array([2**0.5, 0.0]), np.array([0.0, 1.0])):
        ways = []
        for _ in range(400):
            a = random.standard_normal((count, 2, 2)) / 2**0.5
            a = (a + np.swapaxes(a, 1, 2)) / 2**0.5
            x = point
            for _ in range(4):
                error = np.einsum("mij,ij->m", a, np.outer(x, x) - matrix)
                images = a @ x
                slope = error @ images / count
                bend = 2 * images.T @ images / count + np.tensordot(error, a, 1) / count
                x = x - np.linalg.solve(bend, slope)
            ways.append(count * np.sum((x - point) ** 2))
        assert np.mean(ways) == pytest.approx(sensing.sensed_shift(point, matrix), abs=5 * np.std(ways) / 20)


def test_refusals():
    with pytest.raises(ValueError, match="defect must lie in"):
        sensing.spurious_form(0.2)
