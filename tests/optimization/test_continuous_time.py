"""Gradient flow against closed forms, on trees."""

import jax.numpy as jnp
import numpy as np
import pytest

from deeptheory.optimization.continuous_time import StepPenalty, gradient_flow
from deeptheory.optimization.landscapes import Quadratic


@pytest.mark.item("L5.7")
def test_flows_in_closed_form():
    times = np.array([0.0, 0.3, 2.0])
    # ẋ = −x³ from 2: x = (1/4 + 2t)^{−1/2}; beside it ẏ = −3y.
    path = gradient_flow(
        lambda p: p["x"] ** 4 / 4 + 1.5 * jnp.sum(p["y"] ** 2), {"x": 2.0, "y": np.array([1.0, -2.0])}, times
    )
    np.testing.assert_allclose(path["x"], (0.25 + 2 * times) ** -0.5, rtol=1e-8)
    np.testing.assert_allclose(path["y"], np.exp(-3 * times)[:, None] * [1.0, -2.0], rtol=1e-7)
    with pytest.raises(ValueError, match=r"times must .*increase"):
        gradient_flow(lambda x: x**2, 1.0, np.array([1.0, 0.5]))


@pytest.mark.item("L5.7", "L5.6")
def test_the_penalty_of_a_step_on_a_parabola():
    # f = ½λx²: descent is (1 − ηλ)^k, the flow with penalty exp(−(λ + ηλ²/2)t): equal to second order in η.
    penalty = StepPenalty(Quadratic(jnp.array([[3.0]]), jnp.zeros(1)), 0.2)
    assert float(penalty(jnp.array([2.0]))) == pytest.approx(6.0 + 0.05 * 36.0)
    path = gradient_flow(penalty, jnp.array([2.0]), np.array([0.4]))
    assert float(path[0, 0]) == pytest.approx(2 * np.exp(-(3 + 0.9) * 0.4), rel=1e-8)
    # The rate of descent at η = 0.02: the next term of its series is η²λ³/3 = 0.0036.
    assert np.log(1 - 0.02 * 3) / 0.02 == pytest.approx(-(3 + 0.02 * 9 / 2), abs=4e-3)
