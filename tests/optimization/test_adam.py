"""Adam of optax by hand: two steps, and the least that any gradient moves it."""

import jax.numpy as jnp
import numpy as np
import optax
import pytest

from deeptheory.optimization.runs import trajectory


@pytest.mark.item("H4.11")
def test_two_steps_by_hand():
    """On 3w from 0 every step is −η; on w²/2 from 1 the second has means 0.09 + 0.1·0.99 and 0.000999 + 0.001·0.99²."""
    plane = trajectory(lambda w: jnp.sum(3 * w), optax.adam(0.01, eps=0.0), jnp.zeros(1), steps=5).position[:, 0]
    np.testing.assert_allclose(plane, -0.01 * np.arange(6), rtol=1e-6)
    bowl = trajectory(lambda w: jnp.sum(w**2) / 2, optax.adam(0.01, eps=0.0), jnp.ones(1), steps=2).position[:, 0]
    mean, square = (0.09 + 0.1 * 0.99) / (1 - 0.81), (0.999e-3 + 1e-3 * 0.9801) / (1 - 0.999**2)
    np.testing.assert_allclose(bowl, [1.0, 0.99, 0.99 - 0.01 * mean / np.sqrt(square)], rtol=1e-6)
