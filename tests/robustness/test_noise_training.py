"""Training on noisy copies and the certified accuracy it yields."""

import jax
import numpy as np
import pytest

from deeptheory.robustness.noise_training import certified_accuracy, fit_on_noisy_copies, two_moons


@pytest.mark.item("A18.15")
def test_noisy_copies_of_two_clouds_give_the_half_plane_between_them(key):
    """For two points with noise the least-squares classifier must answer by the nearer one."""
    inputs, labels = np.array([[-1.0, 0.0], [1.0, 0.0]]), np.array([0, 1])
    classify = fit_on_noisy_copies(key, inputs, labels, beta=0.5, copies=2000, bandwidth=1.5)
    points = np.random.default_rng(0).uniform(-1.5, 1.5, (500, 2))
    clear = np.abs(points[:, 0]) > 0.25
    assert np.mean(classify(points[clear]) == (points[clear, 0] > 0)) > 0.97


def test_two_moons_are_learnt(key):
    one, two, three = jax.random.split(key, 3)
    classify = fit_on_noisy_copies(two, *two_moons(one, 200), beta=0.1)
    inputs, labels = two_moons(three, 400)
    assert np.mean(classify(inputs) == labels) > 0.97


def test_certified_accuracy_counts():
    radii, correct = np.array([0.1, 0.5, 0.9, 2.0]), np.array([1, 1, 0, 1])
    np.testing.assert_array_equal(certified_accuracy(radii, correct, np.array([0.0, 0.5, 1.0])), [0.75, 0.5, 0.25])


def test_bad_input_is_refused(key):
    with pytest.raises(ValueError, match="beta ≥ 0"):
        fit_on_noisy_copies(key, np.zeros((2, 2)), np.array([0, 1]), beta=-1.0)
