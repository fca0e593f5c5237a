"""One step in a chain of scalar layers: its polynomial against sums over sets of layers, in rationals."""

from fractions import Fraction
from itertools import combinations
from math import prod

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from deeptheory.architectures.scalar_chains import chain_gradient, first_order_rate, step_polynomial

W, G = [0.5, -1.25, 2.0, 0.75, 1.5], [0.25, 1.0, -0.5, 2.0, 0.125]


@pytest.mark.item("L10.22")
def test_coefficients_are_sums_over_sets_of_layers():
    w, g = [Fraction(v) for v in W], [Fraction(v) for v in G]
    expected = [
        (-1) ** k * sum(prod(g[i] if i in chosen else w[i] for i in range(5)) for chosen in combinations(range(5), k))
        for k in range(6)
    ]
    np.testing.assert_array_equal(step_polynomial(np.array(W), np.array(G)), [float(c) for c in expected])
    np.testing.assert_allclose(np.polyval(expected[::-1], 0.3), np.prod(np.array(W) - 0.3 * np.array(G)), rtol=1e-14)


@pytest.mark.item("L10.22")
def test_the_gradient_leaves_one_weight_out():
    w = np.array([[0.5, 0.0, 2.0], [3.0, 1.5, -1.0]])
    np.testing.assert_allclose(chain_gradient(w, 2.0), [[0, 2, 0], [-3, -6, 9]])
    np.testing.assert_allclose(chain_gradient(w[1]), jax.grad(jnp.prod)(jnp.asarray(w[1])))


@pytest.mark.item("L10.22")
def test_the_rate_at_which_first_order_fails():
    # Two equal layers: (1 − u)² − 1 + 2u = u², which is a tenth of 2u at u = 0.2.
    np.testing.assert_allclose(first_order_rate(np.array([2.0, 2.0]), np.array([0.5, 0.5])), 0.2 * 4, rtol=1e-12)
    deep = first_order_rate(np.ones(200), np.ones(200))
    np.testing.assert_allclose(deep, 2 * 0.1 / 199, rtol=0.1)
    assert first_order_rate(np.ones(1), np.ones(1)) == float("inf")
