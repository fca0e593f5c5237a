from fractions import Fraction
from itertools import product

import jax
import numpy as np
import pytest

from deeptheory.dynamics.projections import gram_matrix, projected_velocity
from deeptheory.dynamics.xor_mixture import (
    class_strength,
    class_strengths,
    component_count,
    components_by_exchange,
    placement,
    settled,
    starting_classes,
    success_probability,
    xor_loss,
    xor_model,
    xor_population_loss,
    xor_velocity,
)


def test_loss_is_the_cross_entropy_of_the_label():
    v, fields = np.array([0.5, -1.0]), np.array([2.0, 0.3])
    chance = 1 / (1 + np.exp(-(0.5 * 2.0 - 0.3)))
    assert xor_loss(fields, np.zeros(2), v, np.array(1.0)) == pytest.approx(-np.log(chance))
    assert xor_loss(fields, np.zeros(2), v, np.array(0.0)) == pytest.approx(-np.log(1 - chance))


@pytest.mark.slow
def test_velocity_is_that_of_the_model_without_noise():
    rng = np.random.default_rng(0)
    v, w = rng.standard_normal(3), rng.standard_normal((3, 5))
    gram, further, corrector = jax.jit(
        lambda w, v: projected_velocity(
            xor_model(decay=0.07), gram_matrix(w, np.eye(5)[:2]), v, np.zeros((1, 5)), np.ones(1)
        )
    )(w, v)
    weights, overlaps = xor_velocity(v, w[:, :2], decay=0.07)
    np.testing.assert_allclose(gram[:3, 3:], overlaps, atol=1e-12)
    np.testing.assert_allclose(further, weights, atol=1e-12)
    np.testing.assert_allclose(corrector, 0, atol=1e-12)


@pytest.mark.slow
def test_difference_of_squares_only_shrinks():
    rng = np.random.default_rng(1)
    v, m = rng.standard_normal(5), rng.standard_normal((5, 2))
    weights, overlaps = xor_velocity(v, m, decay=0.07)
    change = 2 * v * weights - 2 * (m * overlaps).sum(1)
    np.testing.assert_allclose(change, -2 * 0.07 * (v**2 - (m**2).sum(1)), atol=1e-12)


@pytest.mark.parametrize("classes", [[0, 1, 2, 3], [0, 0, 4, 2], [4, 4, 4, 4], [3, 3, 3, 1]])
def test_placements_are_fixed_points(classes):
    weights, overlaps, occupied = placement(np.array(classes), decay=0.05)
    for velocity in xor_velocity(weights, overlaps, decay=0.05):
        np.testing.assert_allclose(velocity, 0, atol=1e-12)
    np.testing.assert_allclose(class_strengths(weights, overlaps), occupied * class_strength(0.05), atol=1e-12)


def test_runs_end_where_the_signs_at_the_start_say():
    rng = np.random.default_rng(2)
    v, m = np.sign(rng.standard_normal((64, 5))), 1e-2 * rng.standard_normal((64, 5, 2))
    end = jax.jit(lambda v, m: settled(v, m, decay=0.05))(v, m)
    classes = starting_classes(v, m)
    occupied = np.stack([(classes == each).any(-1) for each in range(4)], -1)
    np.testing.assert_allclose(class_strengths(*end), occupied * np.log(4.0), atol=1e-6)


def test_nothing_survives_a_strong_penalty():
    v, m = np.ones((1, 4)), np.full((1, 4, 2), 0.5)
    end = jax.jit(lambda v, m: settled(v, m, decay=0.14, time=2000.0, steps=2000))(v, m)
    assert np.abs(end[0]).max() < 1e-6
    assert class_strength(0.125) == class_strength(0.14) == class_strength(0.25) == class_strength(0.3) == 0.0
    assert class_strength(0.1) == pytest.approx(np.log(1.5))


@pytest.mark.item("J12.13")
def test_number_of_components_by_joining_assignments():
    assert [components_by_exchange(k) for k in range(1, 6)] == [component_count(k) for k in range(1, 6)]
    assert component_count(4) == 39


def test_success_probability_by_enumeration():
    for neurons in range(1, 8):
        whole = sum(len(set(each)) == 4 for each in product(range(4), repeat=neurons))
        assert success_probability(neurons) == Fraction(whole, 4**neurons)
    assert success_probability(4) == Fraction(3, 32)


@pytest.mark.item("J12.11")
@pytest.mark.parametrize(("corner", "precision"), [(-0.5, 3.0), (0.0, 3.0), (1.2, 3.0), (1.2, 0.1)])
def test_population_loss_is_the_mean_over_inputs(corner, precision):
    decay, count = 0.04, 200_000
    rng = np.random.default_rng(3)
    weights, w = np.array([0.9, -1.1]), np.array([[0.5, -0.4, 0.8], [0.2, 0.7, corner]])
    which = rng.integers(4, size=count)
    inputs = np.array([[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0]])[which]
    inputs = inputs + rng.standard_normal((count, 3)) / precision**0.5
    score = np.maximum(inputs @ w.T, 0) @ weights
    losses = np.logaddexp(0, score) - (which < 2) * score + decay / 2 * (weights @ weights + (w**2).sum())
    gram = np.asarray(gram_matrix(w, np.eye(3)[:2]))
    found = xor_population_loss(weights, gram, precision=precision, decay=decay)
    assert found == pytest.approx(losses.mean(), abs=5 * losses.std() / count**0.5)
