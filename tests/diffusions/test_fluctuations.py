"""The scatter of descent by all sequences of draws, by closed forms, and by the diffusion's own moments."""

from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from deeptheory.diffusions.fluctuations import descent_ends, descent_moments, isotropic_moments, limiting_scatter
from deeptheory.diffusions.stochastic_equations import least_squares_moments

POINTS = np.array([[1.0, 0.5], [0.3, -1.2], [-0.7, 0.4]])
TARGETS, START = np.array([0.4, -1.0, 0.8]), np.array([1.5, -0.5])


def gradients(x):
    return (jnp.asarray(POINTS) @ x - jnp.asarray(TARGETS))[:, None] * jnp.asarray(POINTS)


def covariance(moments):
    return moments[:-1, :-1] - np.outer(moments[:-1, -1], moments[:-1, -1])


@pytest.mark.parametrize(("batch", "steps"), [(1, 4), (2, 2)])
def test_moments_of_descent_by_all_sequences_of_draws(batch, steps):
    ends = []
    for drawn in product(range(3), repeat=batch * steps):
        x = START
        for chosen in np.reshape(drawn, (steps, batch)):
            x = x - 0.3 * np.mean([(POINTS[i] @ x - TARGETS[i]) * POINTS[i] for i in chosen], axis=0)
        ends.append(np.append(x, 1.0))
    wanted = np.einsum("ni,nj->ij", ends, ends) / len(ends)
    np.testing.assert_allclose(
        descent_moments(POINTS, TARGETS, START, rate=0.3, batch=batch, steps=steps), wanted, rtol=1e-12
    )


def test_equal_points_have_a_variance_by_hand():
    """On ½(x − yᵢ)² a step keeps 1 − η and adds η²C/B: a geometric series; the diffusion has ηC(1 − e^−2t)/2B."""
    points, targets = np.ones((4, 1)), np.array([1.0, -2.0, 0.5, 3.0])
    spread, rate, steps, batch = targets.var(), 0.2, 7, 3
    kept = (1 - rate) ** 2
    seen = covariance(descent_moments(points, targets, np.ones(1), rate=rate, batch=batch, steps=steps))
    assert seen[0, 0] == pytest.approx(rate**2 * spread / batch * (1 - kept**steps) / (1 - kept), rel=1e-12)
    own = limiting_scatter(lambda x: x[None] - jnp.asarray(targets)[:, None], np.ones(1), time=1.4)
    assert own[0, 0] == pytest.approx(spread * (1 - np.exp(-2.8)) / 2, rel=1e-6)


def test_even_noise_is_the_right_one_in_one_dimension_only():
    setting = dict(rate=0.2, batch=2, time=0.9)
    line = POINTS[:, :1], TARGETS, START[:1]
    np.testing.assert_allclose(isotropic_moments(*line, **setting), least_squares_moments(*line, **setting), rtol=1e-10)

    def velocity(_, flat):
        moments = flat.reshape(3, 3)
        pull, noise = np.zeros((3, 3)), 0.0
        for point, target in zip(POINTS, TARGETS, strict=True):
            pull[:2] += np.outer(point, np.append(point, -target)) / 3
        for point, target in zip(POINTS, TARGETS, strict=True):
            own = np.zeros((3, 3))
            own[:2] = np.outer(point, np.append(point, -target))
            noise += np.trace((own - pull) @ moments @ (own - pull).T) / 3
        change = -pull @ moments - moments @ pull.T
        change[[0, 1], [0, 1]] += 0.2 / 2 * noise / 2
        return change.ravel()

    first = np.outer(np.append(START, 1.0), np.append(START, 1.0)).ravel()
    wanted = solve_ivp(velocity, (0, 0.9), first, rtol=1e-11, atol=1e-12).y[:, -1].reshape(3, 3)
    seen = isotropic_moments(POINTS, TARGETS, START, **setting)
    np.testing.assert_allclose(seen, wanted, rtol=1e-8)
    assert np.abs(covariance(seen) - covariance(least_squares_moments(POINTS, TARGETS, START, **setting))).max() > 0.01


def test_the_limit_of_the_scatter_is_that_of_the_diffusion_and_of_descent():
    limit = limiting_scatter(gradients, START, time=1.0)
    own = covariance(least_squares_moments(POINTS, TARGETS, START, rate=1e-5, batch=2)) * 2 / 1e-5
    np.testing.assert_allclose(own, limit, rtol=1e-4)
    fine = [
        covariance(descent_moments(POINTS, TARGETS, START, rate=1 / n, batch=2, steps=n)) * 2 * n for n in (999, 1998)
    ]
    np.testing.assert_allclose(2 * fine[1] - fine[0], limit, rtol=1e-4)
    twice = limiting_scatter(gradients, START, covariance=lambda x: 2 * jnp.eye(2))
    flat = limiting_scatter(gradients, START, covariance=lambda x: jnp.eye(2))
    np.testing.assert_allclose(twice, 2 * flat, rtol=1e-6)


def test_runs_have_the_moments_that_are_worked_out():
    runs = 40_000
    ends = descent_ends(jax.random.key(1), gradients, START, rate=0.2, batch=2, steps=6, runs=runs)
    wanted = descent_moments(POINTS, TARGETS, START, rate=0.2, batch=2, steps=6)
    spread = covariance(wanted)
    assert np.all(np.abs(ends.mean(0) - wanted[:2, 2]) < 5 * np.sqrt(np.diag(spread) / runs))
    assert np.cov(ends.T) == pytest.approx(spread, rel=0.06)
    with pytest.raises(ValueError, match="rate"):
        descent_ends(jax.random.key(1), gradients, START, rate=-0.2, batch=2, steps=6, runs=4)
