"""Products of factors in logistic regression: closed forms, and descent by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from deeptheory.normalization.product_models import (
    explosion_rate,
    logistic_minimizer,
    loss_of_weight,
    product_descent,
    product_loss,
    slope_by_weight,
)

MARGINS = np.array([2.0, 2.0, 2.0, -2.0])


@pytest.mark.item("A13.1")
def test_loss_slope_and_minimizer_in_closed_form():
    assert loss_of_weight(0.0, MARGINS) == pytest.approx(4 * np.log(2), rel=1e-6)
    assert slope_by_weight(0.0, MARGINS) == pytest.approx(-MARGINS.sum() / 2, rel=1e-6)
    assert logistic_minimizer(MARGINS) == pytest.approx(np.log(3) / 2, rel=1e-5)
    weights = jnp.array([0.5, -1.2])
    np.testing.assert_allclose(
        slope_by_weight(weights, MARGINS), jax.vmap(jax.grad(lambda w: loss_of_weight(w, MARGINS)))(weights), rtol=1e-5
    )


@pytest.mark.item("A13.1")
def test_the_gradient_of_a_product():
    factors = jnp.array([0.5, 3.0, -1.2])
    product = float(np.prod(factors))
    wanted = slope_by_weight(product, MARGINS) * product / factors
    np.testing.assert_allclose(jax.grad(product_loss)(factors, MARGINS), wanted, rtol=1e-5)
    path = product_descent(factors, MARGINS, rate=0.1, steps=1)
    np.testing.assert_allclose(path, [factors, factors - 0.1 * wanted], rtol=1e-5)


@pytest.mark.item("A13.2")
@pytest.mark.parametrize("depth", [2, 4, 8])
@pytest.mark.parametrize("product", [0.6, 0.9, 2.0])
def test_at_the_threshold_equal_factors_only_change_sign(depth, product):
    rate = explosion_rate(product, MARGINS, depth=depth)
    factor = product ** (1 / depth)
    path = product_descent(jnp.full(depth, factor), MARGINS, rate=rate, steps=1)
    np.testing.assert_allclose(path[1], -factor, rtol=1e-4)


def test_separable_data_have_no_minimizer():
    with pytest.raises(ValueError, match="both signs"):
        logistic_minimizer(np.array([1.0, 2.0]))
