"""Interpolating networks: the flat network against the layered one, solutions against their definition."""

import jax
import jax.numpy as jnp
import numpy as np

from deeptheory.foundations.randomness import generator
from deeptheory.generalization.capacity import solution_sets as s


def test_flat_weights_are_the_layers_in_order(key):
    draw = generator(key)
    widths = (3, 4, 5, 1)
    flat, x = draw.standard_normal(s.weight_count(widths)), draw.standard_normal((6, 3))
    assert len(flat) == 12 + 20 + 5
    first, second, last = flat[:12].reshape(4, 3), flat[12:32].reshape(5, 4), flat[32:]
    hidden = np.tanh(np.tanh(x @ first.T / 3**0.5) @ second.T / 2)
    np.testing.assert_allclose(s.network_answers(flat, x, widths), hidden @ last / 5**0.5)


def test_interpolation_and_null_space_of_a_linear_map(key):
    draw = generator(key)
    matrix, labels = draw.standard_normal((4, 9)), draw.standard_normal(4)
    start = draw.standard_normal(9)
    found = s.interpolate(lambda w: jnp.asarray(matrix @ w - labels), lambda w: matrix, start)
    np.testing.assert_allclose(found, start - np.linalg.pinv(matrix) @ (matrix @ start - labels), atol=1e-12)
    free = s.null_space(matrix)
    assert free.shape == (5, 9)
    np.testing.assert_allclose(matrix @ free.T, 0, atol=1e-13)
    np.testing.assert_allclose(free @ free.T, np.eye(5), atol=1e-13)


def test_a_small_network_is_interpolated(key):
    draw = generator(key)
    widths, x, y = (2, 6, 1), draw.standard_normal((5, 2)), draw.standard_normal(5) / 2
    residuals = jax.jit(lambda w: s.network_answers(w, x, widths) - y)
    found = s.interpolate(residuals, jax.jit(jax.jacrev(residuals)), draw.standard_normal(s.weight_count(widths)))
    assert float(jnp.max(jnp.abs(residuals(found)))) < 1e-12
