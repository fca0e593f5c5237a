"""What a look at a loss finds: smoothness, tails and signs, against derivatives by hand."""

import jax.numpy as jnp
import numpy as np
import pytest

from deeptheory.foundations.margin_losses import EXPONENTIAL, HALF_QUADRATIC, LOGISTIC, hinge_loss, polynomial_tail
from deeptheory.implicit_bias.assumptions import loss_assumptions


@pytest.mark.item("J4.5")
@pytest.mark.item("L11.5")
def test_the_logistic_loss_is_all_that_is_asked():
    found = loss_assumptions(LOGISTIC.value)
    assert found.smooth_decreasing and found.tight
    assert (
        found.smoothness == pytest.approx(0.25) and found.rate == pytest.approx(1) and found.scale == pytest.approx(1)
    )


@pytest.mark.item("J4.5")
@pytest.mark.item("L11.5")
def test_the_exponential_loss_has_the_tail_and_no_smoothness():
    found = loss_assumptions(EXPONENTIAL.value)
    assert found.positive and found.decreasing and found.vanishing and found.pushing and found.tight
    assert found.smoothness == np.inf and not found.smooth_decreasing


@pytest.mark.item("L11.5")
def test_rates_and_scales_of_tails_are_found():
    found = loss_assumptions(lambda u: 3.0 * jnp.logaddexp(0.0, -0.7 * u + 0.2))
    assert found.rate == pytest.approx(0.7, rel=1e-6) and found.scale == pytest.approx(3 * 0.7 * np.exp(0.2), rel=1e-5)
    assert found.smoothness == pytest.approx(3 * 0.49 / 4, rel=1e-4)
    assert loss_assumptions(HALF_QUADRATIC.value).smoothness == pytest.approx(1)


@pytest.mark.item("L11.5")
def test_losses_that_fail_are_told_by_what_they_fail():
    power = loss_assumptions(polynomial_tail(2.0).value)
    assert power.smooth_decreasing and not power.tight and np.isnan(power.rate)
    hinge = loss_assumptions(hinge_loss)
    assert not hinge.positive and not hinge.decreasing and not hinge.tight
    assert not loss_assumptions(lambda u: 1 / (1 + jnp.exp(u)) ** 2).pushing
    with pytest.raises(ValueError, match="reach must"):
        loss_assumptions(LOGISTIC.value, reach=1.0)
