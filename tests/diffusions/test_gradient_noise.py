"""Noise of mini-batches and of SVAG, against enumeration and hand-made cases."""

from itertools import combinations, product

import numpy as np
import pytest

from deeptheory.diffusions.gradient_noise import (
    Schedule,
    batch_covariance,
    gradient_covariance,
    linearly_scaled,
    scaled_batch_cumulants,
    svag_gradient,
    svag_moment_factors,
    svag_weights,
)

GRADIENTS = np.array([[1.0, 0.0], [2.0, -1.0], [0.0, 4.0], [-3.0, 1.0]])


@pytest.mark.item("A12.2")
def test_covariances_of_all_batches():
    drawn = np.array([GRADIENTS[list(each)].mean(0) for each in product(range(4), repeat=3)])
    np.testing.assert_allclose(batch_covariance(GRADIENTS, 3), np.cov(drawn.T, bias=True))
    chosen = np.array([GRADIENTS[list(each)].mean(0) for each in combinations(range(4), 3)])
    np.testing.assert_allclose(batch_covariance(GRADIENTS, 3, replacement=False), np.cov(chosen.T, bias=True))
    np.testing.assert_allclose(gradient_covariance(GRADIENTS), np.cov(GRADIENTS.T, bias=True))
    assert np.all(batch_covariance(GRADIENTS, 4, replacement=False) == 0)


@pytest.mark.item("A12.3")
def test_cumulants_of_scaled_batch_noise():
    # Of fair coin flips ±1 two draws give −2, 0, 2 over 2; times √2: fourth moment 2, fourth cumulant 2 − 3 = −1.
    np.testing.assert_allclose(scaled_batch_cumulants(np.array([0.0, 1.0, 0.0, -2.0]), 2), [0.0, 1.0, 0.0, -1.0])


@pytest.mark.item("A12.4")
def test_a_schedule_scaled_linearly():
    assert linearly_scaled(Schedule(0.1, 32, 100), 4) == Schedule(0.4, 128, 25)
    with pytest.raises(ValueError, match="factor must divide the 100 steps"):
        linearly_scaled(Schedule(0.1, 32, 100), 3)


@pytest.mark.item("A12.26")
def test_svag_of_one_is_the_first_gradient_and_of_five_has_round_weights():
    np.testing.assert_array_equal(svag_gradient(GRADIENTS[0], GRADIENTS[1], 1), GRADIENTS[0])
    assert svag_weights(5) == (2.0, -1.0)
    np.testing.assert_allclose(svag_gradient(GRADIENTS[0], GRADIENTS[1], 5), [0.0, 1.0])
    # 2 − 1, 4 + 1, 8 − 1, 16 + 1
    np.testing.assert_allclose(svag_moment_factors(5.0), [1.0, 5.0, 7.0, 17.0])


def test_more_examples_than_there_are_cannot_be_drawn_without_replacement():
    with pytest.raises(ValueError, match="at most the number of examples 4"):
        batch_covariance(GRADIENTS, 5, replacement=False)


def test_equal_gradients_are_left_as_they_are_however_large_the_amplification():
    gradient = np.array([0.3, -0.2])
    np.testing.assert_allclose(svag_gradient(gradient, gradient, 1e40), gradient, rtol=1e-15)
