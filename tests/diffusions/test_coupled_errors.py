"""Measured weak errors against exact moments, on Ornstein–Uhlenbeck and with noise that depends on the state."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from deeptheory.diffusions.coupled_errors import WeakErrors, coupled_weak_errors, hybrid_paths, measured_order
from deeptheory.diffusions.weak_order import LinearOracle, diffusion_moments, hybrid_moments, sgd_moments

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


@pytest.mark.item("A12.23")
@pytest.mark.parametrize("oracle", [OU, STATE], ids=["Ornstein–Uhlenbeck", "noise that depends on the state"])
def test_hybrids_have_their_exact_moments_and_neighbours_differ_by_one_step(oracle):
    slopes, shifts = jnp.asarray(oracle.slopes), jnp.asarray(oracle.shifts)
    gradients = lambda x: (slopes * x[0] - shifts)[:, None]  # noqa: E731
    setting = dict(rate=0.1, steps=4, runs=20_000, refinement=32)
    paths = np.array(
        [hybrid_paths(jax.random.key(5), gradients, np.array([2.0]), switch=j, **setting)[..., 0] for j in range(5)]
    )
    assert paths.shape == (5, 20_000, 5)
    exact = hybrid_moments(oracle, 0.1, 4, degree=2, start=2.0)
    for power in 1, 2:
        ends = paths[:, :, -1] ** power
        error = ends.std(1) / np.sqrt(20_000)
        # What Euler–Maruyama leaves is a thirty-second of what descent, a single step of it, does.
        left = np.ptp(exact[:, power]) / 32
        assert np.all(np.abs(ends.mean(1) - exact[:, power]) < 5 * error + 2 * left)
        change = np.diff(ends, axis=0)
        error = change.std(1) / np.sqrt(20_000)
        assert np.all(np.abs(change.mean(1) - np.diff(exact[:, power])) < 5 * error + 2 * left)
    for j in range(4):
        np.testing.assert_array_equal(paths[j, :, : j + 1], paths[j + 1, :, : j + 1])
        assert np.all(paths[j, :, j + 1] != paths[j + 1, :, j + 1])
    # Descent takes one of three steps from 2, and each as often as the others.
    values, counts = np.unique(np.round(paths[-1, :, 1], 9), return_counts=True)
    np.testing.assert_allclose(values, np.sort(2 - 0.1 * (oracle.slopes * 2 - oracle.shifts)), atol=1e-8)
    np.testing.assert_allclose(counts / 20_000, 1 / 3, atol=0.02)
    with pytest.raises(ValueError, match="switch must be one of the 4 steps or 0, got 5"):
        hybrid_paths(jax.random.key(5), gradients, np.ones(1), rate=0.1, steps=4, switch=5)
