"""Optimal discriminators by a search, weights by differentiation, and training that finds a Gaussian."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from deeptheory.generative.adversarial_networks import (
    best_discriminator,
    gan_value,
    generator_weights,
    mode_shares,
    modes_covered,
    train_adversarially,
)
from deeptheory.networks.mlp import init_mlp

REAL, SYNTHETIC = np.array([0.5, 0.3, 0.2, 0.0]), np.array([0.1, 0.3, 0.2, 0.4])


@pytest.mark.item("A16.5")
@pytest.mark.parametrize("measure", ["log", "identity"])
def test_the_best_discriminator_by_a_search_point_by_point(measure):
    outputs = np.linspace(0, 1, 20_001)
    with np.errstate(divide="ignore"):
        f = np.log if measure == "log" else np.asarray
        yes, no = f(outputs), f(1 - outputs)
    with np.errstate(invalid="ignore"):
        values = np.nan_to_num(REAL[:, None] * yes) + np.nan_to_num(SYNTHETIC[:, None] * no)
    best = best_discriminator(REAL, SYNTHETIC, measure)
    assert gan_value(REAL, SYNTHETIC, best, measure) == pytest.approx(values.max(1).sum(), rel=1e-8)


@pytest.mark.item("A16.5")
def test_values_by_hand():
    half = np.full(4, 0.5)
    assert gan_value(REAL, SYNTHETIC, half) == pytest.approx(-np.log(4))
    assert gan_value(REAL, SYNTHETIC, half, "identity") == pytest.approx(1.0)
    assert gan_value(REAL, SYNTHETIC, np.array([0.0, 1.0, 1.0, 1.0])) == -np.inf


@pytest.mark.item("A16.9")
def test_weights_by_differentiation():
    outputs = np.linspace(0.01, 0.99, 33)
    losses = {
        "saturating": lambda d: jnp.log(1 - d),
        "non-saturating": lambda d: -jnp.log(d),
        "identity": lambda d: -d,
    }
    for name, loss in losses.items():
        slope = np.abs(jax.vmap(jax.grad(loss))(jnp.asarray(outputs)))
        np.testing.assert_allclose(generator_weights(outputs, name), slope, rtol=1e-5)


@pytest.mark.slow
@pytest.mark.item("A16.6")
def test_training_moves_a_gaussian_to_the_data():
    """An affine generator against a small net: mean 2 and deviation 0.5 are found from 0 and about 1."""
    draw = np.random.default_rng(0)
    data = 2 + 0.5 * draw.standard_normal((4000, 1))
    generator = init_mlp(jax.random.key(1), (1, 1), bias_scale=1.0)
    discriminator = init_mlp(jax.random.key(2), (1, 32, 1), bias_scale=1.0, activation=jnp.tanh)
    trained = train_adversarially(
        jax.random.key(3), data, generator, discriminator, rounds=3000, batch=128, discriminator_steps=2, rate=5e-3
    )
    made = np.asarray(trained.generator(draw.standard_normal((20_000, 1))))
    assert made.mean() == pytest.approx(2, abs=0.15)
    assert made.std() == pytest.approx(0.5, abs=0.15)
    assert np.mean(np.asarray(trained.values)[-500:]) == pytest.approx(-np.log(4), abs=0.1)


@pytest.mark.slow
@pytest.mark.item("A16.6")
@pytest.mark.parametrize("objective", ["saturating", "non-saturating", "identity"])
def test_the_first_round_by_hand(objective):
    """Adam's first step has the length of the rate and the sign of the gradient: the discriminator leans to the data,
    the generator, which started below, moves up."""
    data = np.full((8, 1), 3.0)
    generator = init_mlp(jax.random.key(0), (1, 1), bias_scale=1.0)
    discriminator = init_mlp(jax.random.key(1), (1, 1), bias_scale=1.0)
    discriminator.weights[0][:] = 0.1
    made = train_adversarially(
        jax.random.key(2), data, generator, discriminator, objective=objective, rounds=1, batch=512, rate=0.01
    )
    assert made.discriminator.weights[0][0, 0] == pytest.approx(0.11, rel=1e-4)
    assert made.generator.biases[0][0] - generator.biases[0][0] == pytest.approx(0.01, rel=1e-4)
    assert made.values.shape == (1,)


def test_networks_that_do_not_fit_the_data_are_refused():
    flat = init_mlp(jax.random.key(0), (1, 1))
    with pytest.raises(ValueError, match="must end and discriminator begin with the 2 coordinates"):
        train_adversarially(jax.random.key(1), np.zeros((3, 2)), flat, flat)


def test_modes_of_a_ring():
    draw = np.random.default_rng(0)
    angles = 2 * np.pi * np.arange(5) / 5
    centres = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    points = np.repeat(centres, 100, axis=0) + 0.01 * draw.standard_normal((500, 2))
    assert modes_covered(points, centres, radius=0.1) == 5
    assert modes_covered(points[:100], centres, radius=0.1) == 1


def test_shares_of_modes_by_hand():
    centres = np.array([[0.0, 0.0], [3.0, 4.0]])
    points = np.array([[0.0, 0.5], [0.0, -1.0], [3.0, 4.2], [6.0, 0.0]])
    np.testing.assert_array_equal(mode_shares(points, centres, radius=1.0), [0.5, 0.25])
    np.testing.assert_array_equal(
        mode_shares(np.stack([points, points[::-1]]), centres, radius=0.6), [[0.25, 0.25]] * 2
    )
    np.testing.assert_array_equal(mode_shares(points, centres, radius=6.0), [1.0, 1.0])  # discs that overlap
