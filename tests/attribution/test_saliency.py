import jax.numpy as jnp
import numpy as np
import pytest

from deeptheory.attribution.saliency import (
    feature_game,
    gradient_saliency,
    gradient_times_input,
    integrated_gradients,
    smooth_gradient,
)
from deeptheory.attribution.shapley import game_table, shapley_values

X, BASE = np.array([1.0, -2.0, 0.5]), np.array([0.3, 0.0, 1.0])
SLOPE = np.array([2.0, -1.0, 4.0])


def linear(x):
    return x @ jnp.asarray(SLOPE) + 0.7


def bent(x):
    return x[:, 0] * x[:, 1] ** 2 + jnp.sin(x[:, 2])


@pytest.mark.item("A10.17", "A10.20")
def test_all_agree_on_a_linear_model(key):
    credit = SLOPE * (X - BASE)
    np.testing.assert_allclose(gradient_saliency(linear, X), SLOPE)
    np.testing.assert_allclose(smooth_gradient(key, linear, X, noise=0.5), SLOPE)
    np.testing.assert_allclose(gradient_times_input(linear, X, BASE), credit)
    np.testing.assert_allclose(integrated_gradients(linear, X, BASE), credit)
    np.testing.assert_allclose(shapley_values(game_table(feature_game(linear, X, BASE), 3)), credit, atol=1e-14)


@pytest.mark.item("A10.20")
def test_a_product_is_shared_otherwise_along_a_line_than_in_random_order():
    """f = x₀x₁² from 0 to (1, 1): Shapley halves it, the straight line gives 1/3 and 2/3."""
    one, zero = np.ones(3), np.array([0.0, 0.0, 1.0])
    line = integrated_gradients(bent, one, zero)
    np.testing.assert_allclose(line, [1 / 3, 2 / 3, 0], atol=1e-14)
    np.testing.assert_allclose(shapley_values(game_table(feature_game(bent, one, zero), 3)), [0.5, 0.5, 0], atol=1e-15)
    total = integrated_gradients(bent, X, BASE).sum()
    np.testing.assert_allclose(total, bent(jnp.asarray(X[None]))[0] - bent(jnp.asarray(BASE[None]))[0], rtol=1e-12)


def test_groups_move_together():
    game = feature_game(bent, X, BASE, groups=np.array([0, 1, 0]))
    mixed = np.array([X[0], BASE[1], X[2]])
    found = game(np.array([[True, False], [True, True]]))
    np.testing.assert_allclose(found, bent(jnp.asarray([mixed, X])))
