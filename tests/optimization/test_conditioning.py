"""Gradient descent on quadratics, against rational arithmetic, matrix powers and counting."""

from fractions import Fraction

import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

from deeptheory.optimization.conditioning import quadratic_offsets, steps_to_accuracy


@pytest.mark.item("A2.1")
def test_offsets_are_powers_of_the_matrix():
    random = np.random.default_rng(0)
    basis, _ = np.linalg.qr(random.standard_normal((4, 4)))
    eigenvalues, start = np.array([-0.3, 0.1, 1.0, 2.5]), random.standard_normal(4)
    step = np.eye(4) - 0.6 * (basis * eigenvalues @ basis.T)
    seen = quadratic_offsets(jnp.asarray(eigenvalues), jnp.asarray(basis.T @ start), step_size=0.6, steps=12)
    assert seen.shape == (13, 4)
    for k in range(13):
        np.testing.assert_allclose(basis @ seen[k], np.linalg.matrix_power(step, k) @ start, atol=1e-12)


def test_offsets_by_hand():
    seen = quadratic_offsets(jnp.array([1.0, 2.0, 4.0]), jnp.array([3.0, 1.0, -1.0]), step_size=0.5, steps=2)
    np.testing.assert_array_equal(seen, [[3.0, 1.0, -1.0], [1.5, 0.0, 1.0], [0.75, 0.0, -1.0]])


@pytest.mark.item("A2.16")
@pytest.mark.parametrize("step", [Fraction(1, 8), Fraction(1, 2), Fraction(9, 10), Fraction(19, 10)])
@pytest.mark.parametrize("smallest", [Fraction(1), Fraction(1, 3), Fraction(1, 50)])
@pytest.mark.parametrize("accuracy", [Fraction(7, 10), Fraction(1, 999)])  # no power of ρ: ties are rounded
def test_steps_by_counting_in_rationals(step, smallest, accuracy):
    distances, count = [Fraction(1), Fraction(1)], 0
    while max(distances) > accuracy:
        distances = [abs(1 - step * curvature) * z for curvature, z in zip((smallest, 1), distances, strict=True)]
        count += 1
    # In other units: curvatures times 5/2, the step divided by it.
    setting = dict(step_size=float(step) / 2.5, smallest=2.5 * float(smallest), largest=2.5)
    assert float(steps_to_accuracy(float(accuracy), **setting)) == count


def test_steps_at_the_ends():
    assert float(steps_to_accuracy(0.01, step_size=0.5, smallest=2.0, largest=2.0)) == 1.0  # there in one step
    for step_size in (2.0, 2.5):
        assert float(steps_to_accuracy(0.5, step_size=step_size, smallest=0.5, largest=1.0)) == np.inf
    many = steps_to_accuracy(0.5, step_size=0.5, smallest=np.array([1.0, 0.5]), largest=1.0)
    np.testing.assert_array_equal(many, [1.0, 3.0])  # ½ ≤ ½ at once; (3/4)² > ½ ≥ (3/4)³
    with pytest.raises(ValueError, match=r"accuracy must .*, got 0"):
        steps_to_accuracy(0.0, step_size=0.5, smallest=0.5, largest=1.0)


@pytest.mark.parametrize("step_size", [1e-3, 1e-9, 1e-14, 1e-100, 1e-300])
def test_short_steps_are_counted_though_one_minus_them_rounds_to_one(step_size):
    with mpmath.workdps(400):
        exact = mpmath.log(mpmath.mpf("0.01")) / mpmath.log(1 - mpmath.mpf(step_size) * mpmath.mpf("0.5"))
        counted = float(steps_to_accuracy(0.01, step_size=step_size, smallest=0.5, largest=2.0))
        assert abs(counted - exact) <= 1 + 1e-12 * exact
