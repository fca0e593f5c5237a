"""Linear smoothers against resampled noise, other solvers, brute force and exact spacings."""

import numpy as np
import pytest

from deeptheory.foundations.randomness import generator
from deeptheory.generalization.interpolation import nearest_neighbours, smoothers


@pytest.mark.item("J5.1", "H13.1")
@pytest.mark.parametrize("degree", [0, 2, 5])
def test_split_of_a_polynomial_fit_is_the_mean_over_noise(key, degree):
    draw = generator(key)
    x, at = draw.uniform(size=12), draw.uniform(size=5)
    truth, target = np.sin(5 * x), np.sin(5 * at)
    noise = 0.3 * 12**0.5 * np.concatenate([np.eye(12), -np.eye(12)])  # mean zero and covariance 0.09 I, exactly
    answers = np.array([np.polyval(np.polyfit(x, truth + each, degree), at) for each in noise])
    found = smoothers.smoother_bias_variance(smoothers.polynomial_smoother(x, at, degree=degree), truth, target, 0.09)
    np.testing.assert_allclose(found.bias, (answers.mean(0) - target) ** 2, atol=1e-10)
    np.testing.assert_allclose(found.variance, answers.var(0), rtol=1e-8)


def test_training_error_and_optimism(key):
    draw = generator(key)
    x = draw.uniform(size=15)
    truth = np.cos(4 * x)
    hat = smoothers.polynomial_smoother(x, x, degree=3)
    noise = 0.5 * 15**0.5 * np.concatenate([np.eye(15), -np.eye(15)])
    labels = truth + noise
    np.testing.assert_allclose(smoothers.training_error(hat, truth, 0.25), np.mean((labels - labels @ hat.T) ** 2))
    fresh = 0.25 + np.mean(smoothers.smoother_bias_variance(hat, truth, truth, 0.25).risk)
    np.testing.assert_allclose(fresh - smoothers.training_error(hat, truth, 0.25), smoothers.optimism(hat, 0.25))
    np.testing.assert_allclose(smoothers.optimism(hat, 0.25), 2 * 0.25 * 4 / 15)
    np.testing.assert_allclose(smoothers.optimism(np.eye(15), 0.25), 0.5)


@pytest.mark.item("J5.2")
@pytest.mark.parametrize("neighbours", [1, 3, 20])
def test_neighbours_by_brute_force(key, neighbours):
    draw = generator(key)
    points, queries, values = draw.standard_normal((20, 3)), draw.standard_normal((7, 3)), draw.standard_normal(20)
    order = np.argsort(np.linalg.norm(queries[:, None] - points, axis=2), axis=1)[:, :neighbours]
    weights = nearest_neighbours.neighbour_weights(points, queries, neighbours=neighbours)
    np.testing.assert_allclose(weights @ values, values[order].mean(1))
    np.testing.assert_allclose((weights**2).sum(1), 1 / neighbours)


@pytest.mark.item("J5.10")
def test_expected_nearest_distance():
    # On the circle the distance to the nearest is half the least of the two adjoining ones: P(R > r) = (1 − 2r)^{n−1}.
    for samples in (2, 5, 40):
        assert nearest_neighbours.expected_nearest_distance(samples, 1) == pytest.approx(1 / (2 * samples))
    radius = np.linspace(0, np.pi**-0.5, 200_001)
    survival = (1 - np.pi * radius**2) ** 99
    expected = np.trapezoid(survival, radius)
    assert nearest_neighbours.expected_nearest_distance(100, 2) == pytest.approx(expected, rel=1e-8)


def test_nearest_distances_on_cube_and_torus():
    points = np.array([[0.05, 0.5], [0.95, 0.5], [0.5, 0.4]])
    np.testing.assert_allclose(nearest_neighbours.nearest_distances(points, torus=True)[:2], 0.1)
    np.testing.assert_allclose(nearest_neighbours.nearest_distances(points)[0], np.hypot(0.45, 0.1))


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="degree 3"):
        smoothers.polynomial_smoother(np.array([0.1, 0.2]), np.array([0.1]), degree=3)
    with pytest.raises(ValueError, match="neighbours"):
        nearest_neighbours.neighbour_weights(np.zeros((3, 1)), np.zeros((1, 1)), neighbours=4)
    with pytest.raises(ValueError, match="samples"):
        nearest_neighbours.expected_nearest_distance(1, 2)
    with pytest.raises(ValueError, match="dimension"):
        nearest_neighbours.expected_nearest_distance(5, 0)
