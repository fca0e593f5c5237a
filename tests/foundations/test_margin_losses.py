"""Losses of the margin by hand, by automatic derivatives, and in both libraries."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from deeptheory.foundations import margin_losses
from deeptheory.foundations.margin_losses import (
    EXPONENTIAL,
    HALF_QUADRATIC,
    LOGISTIC,
    hinge_loss,
    label_probability,
    logistic_derivative,
    logistic_loss,
    polynomial_tail,
    ramp_loss,
    sigmoid_loss,
    zero_one_loss,
)

NAMED = {"exponential": EXPONENTIAL, "half quadratic": HALF_QUADRATIC, "logistic": LOGISTIC, "slow": polynomial_tail(2)}


@pytest.mark.parametrize("margin", [-800.0, -3.0, 0.0, 0.4, 700.0])
def test_logistic_loss_and_its_derivative(margin):
    assert float(logistic_loss(margin)) == pytest.approx(max(-margin, 0) + np.log1p(np.exp(-abs(margin))), rel=1e-12)
    assert float(jax.grad(logistic_loss)(margin)) == pytest.approx(float(logistic_derivative(margin)), rel=1e-12)
    assert float(label_probability(margin) + sigmoid_loss(margin)) == pytest.approx(1)


def test_losses_by_their_definitions():
    margins = np.asarray([-2.0, 0.0, 0.25, 1.0, 3.0])
    np.testing.assert_array_equal(zero_one_loss(margins), [1, 1, 0, 0, 0])
    np.testing.assert_array_equal(ramp_loss(margins), [1, 1, 0.75, 0, 0])
    np.testing.assert_array_equal(hinge_loss(margins), [3, 1, 0.75, 0, 0])
    np.testing.assert_allclose(sigmoid_loss(margins), 1 / (1 + np.exp(margins)), rtol=1e-14)


@pytest.mark.parametrize("name", [name for name in margin_losses.__all__ if name.endswith("_loss")])
def test_what_comes_in_goes_out(name):
    loss, margins = getattr(margin_losses, name), np.linspace(-3, 3, 13)
    assert isinstance(loss(margins), np.ndarray) and isinstance(loss(jnp.asarray(margins)), jax.Array)
    if loss is not zero_one_loss:  # its values are constants
        assert loss(jnp.float32(margins)).dtype == jnp.float32 and loss(np.float32(margins)).dtype == np.float32
    np.testing.assert_allclose(loss(margins), loss(jnp.asarray(margins)), rtol=1e-12)
    np.testing.assert_allclose(loss(margins), [float(loss(float(m))) for m in margins], rtol=1e-12)


@pytest.mark.parametrize("loss", NAMED.values(), ids=NAMED)
def test_slopes_and_smoothness_are_those_of_the_value(loss):
    margins = jnp.append(jnp.linspace(-6.1, 8.0, 95), 1e-3)
    slopes = jax.vmap(jax.grad(loss.value))(margins)
    np.testing.assert_allclose(np.exp(loss.log_slope(margins)), -slopes, rtol=1e-12)
    np.testing.assert_allclose(loss.log_slope(np.asarray(margins)), loss.log_slope(margins), rtol=1e-12)
    curved = np.abs(jax.vmap(jax.grad(jax.grad(loss.value)))(margins))
    assert curved.max() <= loss.smoothness * (1 + 1e-12)
    assert loss is EXPONENTIAL or curved.max() > 0.95 * loss.smoothness
