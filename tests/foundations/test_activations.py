"""Activations by hand, in both libraries, and their slopes at the kink."""

import jax
import jax.numpy as jnp
import numpy as np

from deeptheory.foundations.activations import relu, sigmoid, slope_of, threshold

Z = np.array([-2.0, 0.0, 3.0])


def test_activations_by_hand():
    for array in (Z, jnp.asarray(Z)):
        assert relu(array).tolist() == [0, 0, 3]
        assert threshold(array).tolist() == [0, 1, 1]
        np.testing.assert_allclose(sigmoid(array), 1 / (1 + np.exp(-Z)), rtol=1e-14)
        np.testing.assert_allclose(sigmoid(array + 0.3j), 1 / (1 + np.exp(-Z - 0.3j)), rtol=1e-14)
        assert all(isinstance(each(array), type(array)) for each in (relu, threshold, sigmoid))


def test_numbers_are_welcome_and_nothing_overflows():
    assert (float(relu(-1.5)), float(threshold(0.0)), float(sigmoid(0.0))) == (0.0, 1.0, 0.5)
    assert float(sigmoid(-800.0)) == 0.0 and float(sigmoid(800.0)) == 1.0


def test_slopes():
    assert jax.vmap(jax.grad(relu))(jnp.asarray(Z)).tolist() == [0, 0, 1]
    np.testing.assert_allclose(jax.vmap(jax.grad(sigmoid))(jnp.asarray(Z)), sigmoid(Z) * sigmoid(-Z), rtol=1e-14)


def test_the_slope_of_any_activation_entry_by_entry_and_twice():
    z = jnp.asarray(Z)
    np.testing.assert_allclose(slope_of(jnp.tanh)(z), 1 / np.cosh(Z) ** 2, rtol=1e-14)
    np.testing.assert_allclose(slope_of(slope_of(lambda x: x**3))(z[:, None]), 6 * Z[:, None], rtol=1e-14)
    assert slope_of(relu)(z).tolist() == [0, 0, 1]
