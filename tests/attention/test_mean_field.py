"""The velocity of a distribution, and densities on the circle, against quadrature, tokens and closed forms."""

import numpy as np
import pytest
from scipy.integrate import quad

from deeptheory.attention.clusters import random_tokens, token_velocity
from deeptheory.attention.mean_field import (
    circle_velocity,
    density_flow,
    fastest_mode,
    mean_field_velocity,
    mode_growth,
    poisson_density,
    synchrony,
)

ANGLES = 2 * np.pi * np.arange(64) / 64


@pytest.mark.item("J14.7")
def test_velocity_of_equal_atoms_is_that_of_tokens(key):
    tokens = random_tokens(key, 6, 3)
    assert np.allclose(mean_field_velocity(tokens, tokens, 1.5), token_velocity(tokens, 1.5), atol=1e-14)
    twice = np.concatenate([tokens, tokens[:1]])
    weights = np.array([2, 1, 1, 1, 1, 1]) / 7
    assert np.allclose(mean_field_velocity(tokens, tokens, 1.5, weights), token_velocity(twice, 1.5)[:6], atol=1e-14)


@pytest.mark.item("J14.7")
def test_velocity_on_the_circle_by_adaptive_quadrature():
    found = circle_velocity(poisson_density(ANGLES, 0.4), 2.0)

    def seen(theta, of):
        def integrand(phi):
            return np.exp(2 * np.cos(phi - theta)) * of(phi - theta) * poisson_density(np.array([phi]), 0.4)[0]

        return quad(integrand, 0, 2 * np.pi)[0]

    for index in (5, 40):
        expected = seen(ANGLES[index], np.sin) / seen(ANGLES[index], np.ones_like)
        assert np.isclose(found[index], expected, atol=1e-10)


@pytest.mark.item("J14.7")
def test_density_keeps_mass_and_closed_form():
    times = np.array([0.5, 1.0])
    found = np.asarray(density_flow(poisson_density(ANGLES, 0.3), times, 0.0))
    exact = np.stack([poisson_density(ANGLES, r) for r in synchrony(times, 0.3)])
    assert np.allclose(found, exact, atol=1e-7)
    assert np.allclose(found.mean(-1) * 2 * np.pi, 1, atol=1e-13)


def test_ripples():
    assert mode_growth(1, 0.0) == 0.5 and mode_growth(2, 0.0) == 0
    assert np.isclose(mode_growth(1, 1e-6), 0.5, atol=1e-6)
    # The series I_k(β) = (β/2)^k/k! (1 + …) by hand at k = 2, β = 0.2.
    ratio = (0.1**2 / 2 * (1 + 0.01 / 3 + 0.0001 / 24)) / (1 + 0.01 + 0.0001 / 4)
    assert np.isclose(mode_growth(2, 0.2), 4 * ratio / 0.2, rtol=1e-6)
    assert [fastest_mode(beta) for beta in (0.0, 200.0)] == [1, 20]


def test_time_and_radius_of_synchrony():
    times = np.linspace(0, 4, 4001)
    r = synchrony(times, 0.2)
    assert np.isclose(r[0], 0.2) and np.allclose(np.gradient(r, times)[1:-1], (r * (1 - r**2) / 2)[1:-1], atol=1e-6)
