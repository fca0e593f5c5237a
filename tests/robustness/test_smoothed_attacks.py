"""Attacks on a smoothed classifier where the worst point is known."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import expit

from deeptheory.robustness.smoothed_attacks import attack_smoothed

WEIGHTS = np.array([3.0, -4.0, 0.0])
INPUTS = np.array([[0.2, 0.1, 0.5], [1.0, -0.3, 0.0], [-0.4, 0.2, 2.0]])
RADII = np.array([0.5, 0.0, 1.25])
DRAWS = np.random.default_rng(0).standard_normal((40, 3))


def straight(x):
    score = x @ WEIGHTS
    return jnp.stack([-score / 2, score / 2], axis=1)


def strips(x):
    """Three labels across the first coordinate; around zero the middle one, and its nearer neighbour on the right."""
    return jnp.stack([-8 * (x[:, 0] + 1), jnp.zeros(len(x)), 8 * (x[:, 0] - 0.6)], axis=1)


def test_a_linear_classifier_is_left_straight_across_its_boundary_whatever_the_noise():
    labels = np.array([1, 1, 0])
    moved = np.asarray(attack_smoothed(straight, INPUTS, labels, RADII, DRAWS, beta=0.3, steps=10))
    away = np.where(labels == 1, -1.0, 1.0)[:, None] * WEIGHTS / 5
    np.testing.assert_allclose(moved, INPUTS + RADII[:, None] * away, atol=1e-5)


@pytest.mark.parametrize("beta", [0.05, 0.4])
def test_the_vote_is_least_where_a_search_along_the_line_finds_it(beta):
    """Through three strips: the noise decides how the two borders weigh, and the attack finds the side by itself."""
    start, reach = np.zeros((1, 3)), 0.5
    moved = np.asarray(attack_smoothed(strips, start, np.array([1]), np.array([reach]), DRAWS, beta=beta, steps=20))[0]
    along = np.linspace(-reach, reach, 401)
    copies = along[:, None] + beta * DRAWS[:, 0]
    shares = 1 / (1 + np.exp(-8 * (copies + 1)) + np.exp(8 * (copies - 0.6)))
    assert moved[0] == pytest.approx(along[np.argmin(shares.mean(1))], abs=0.01)
    np.testing.assert_allclose(moved[1:], 0, atol=1e-6)
    assert expit(8 * (moved[0] - 0.6)) > expit(-8 * 0.6)


def test_radii_must_be_lengths():
    with pytest.raises(ValueError, match="radii"):
        attack_smoothed(straight, INPUTS, np.array([1, 1, 0]), -RADII, DRAWS, beta=0.3)
