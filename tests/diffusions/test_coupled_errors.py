"""Measured weak errors against exact moments, on Ornstein–Uhlenbeck and with noise that depends on the state."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from deeptheory.diffusions.coupled_errors import WeakErrors, coupled_weak_errors, measured_order
from deeptheory.diffusions.weak_order import LinearOracle, diffusion_moments, sgd_moments

pytestmark = pytest.mark.slow

OU = LinearOracle(np.full(3, 2.0), np.array([6.0, -6.0, 0.0]), np.full(3, 1 / 3))
STATE = LinearOracle(np.array([0.5, 2.0, 1.1]), np.array([1.0, -0.5, 0.2]), np.full(3, 1 / 3))
RATES = np.array([0.05, 0.1, 0.2])
TESTS = (lambda x: x[0], lambda x: x[0] ** 2)


@pytest.mark.parametrize("oracle", [OU, STATE], ids=["Ornstein–Uhlenbeck", "noise that depends on the state"])
def test_errors_are_those_of_exact_moments(oracle):
    slopes, shifts = jnp.asarray(oracle.slopes), jnp.asarray(oracle.shifts)
    gradients = lambda x: (slopes * x[0] - shifts)[:, None]  # noqa: E731
    found = coupled_weak_errors(jax.random.key(3), gradients, np.array([2.0]), TESTS, RATES, runs=2048)
    for place, rate in enumerate(RATES):
        setting = dict(degree=2, start=2.0)
        discrete, continuous = (
            law(oracle, rate, round(1 / rate), **setting)[-1, 1:] for law in (sgd_moments, diffusion_moments)
        )
        exact = discrete - continuous
        # The extrapolation leaves (η/4)² of what the equation does in a unit of time.
        assert np.all(np.abs(found.errors[place] - exact) < 5 * found.deviations[place] + 0.1 * np.abs(exact))
        assert found.errors[place, 0] == pytest.approx(exact[0], abs=6 * found.deviations[place, 0] + 2e-3)


def test_the_order_of_written_errors_and_what_is_refused():
    rates = np.array([0.1, 0.2, 0.4])
    errors = np.stack([3 * rates, -0.5 * rates**2], axis=1)
    order, error = measured_order(WeakErrors(rates, errors, 0.01 * np.abs(errors), errors[..., None]))
    np.testing.assert_allclose(order, [1, 2], atol=1e-12)
    np.testing.assert_allclose(error, 0.01 / np.sqrt(2 * np.log(2) ** 2), rtol=1e-12)
    flat = lambda x: x[None]  # noqa: E731
    with pytest.raises(ValueError, match="rates must divide the horizon"):
        coupled_weak_errors(jax.random.key(0), flat, np.ones(1), TESTS, np.array([0.3]))
    with pytest.raises(ValueError, match="refinement must be even, got 3"):
        coupled_weak_errors(jax.random.key(0), flat, np.ones(1), TESTS, RATES, refinement=3)
