"""Circular linear networks against loops over their layers, and their largest margin against a cone programme."""

import cvxpy
import numpy as np
import pytest

from deeptheory.implicit_bias.circular import circular_predictor, fourier_norm, largest_fourier_margin


def output(layers, x):
    """Layer by layer, index by index."""
    d = len(x)
    for w in layers[:-1]:
        x = np.array([sum(w[k] * x[(i + k) % d] for k in range(d)) for i in range(d)]) / d**0.5
    return layers[-1] @ x


@pytest.mark.item("A8.14")
@pytest.mark.parametrize("depth, d", [(1, 4), (2, 5), (3, 6), (4, 3)])
def test_the_predictor_is_the_network(depth, d):
    draw = np.random.default_rng(depth)
    layers = draw.standard_normal((depth, d))
    for x in draw.standard_normal((3, d)):
        assert circular_predictor(layers) @ x == pytest.approx(output(layers, x), rel=1e-12)


@pytest.mark.item("A8.14")
@pytest.mark.parametrize("depth", [2, 3, 4])
def test_balanced_layers_are_the_smallest_and_cost_the_fourier_norm(depth):
    beta = np.random.default_rng(0).standard_normal(7)
    spectrum = np.fft.fft(beta, norm="ortho")
    even, phase = np.abs(spectrum) ** (1 / depth), spectrum / np.abs(spectrum)
    layers = np.fft.ifft(np.vstack([even * phase, np.tile(even, (depth - 1, 1))]), norm="ortho").real
    np.testing.assert_allclose(circular_predictor(layers), beta, atol=1e-12)
    power = 2 / depth
    least = depth * fourier_norm(beta, power=power) ** power
    assert np.sum(layers**2) == pytest.approx(least)
    moved = np.fft.fft(layers, norm="ortho")
    moved[0, [1, -1]] *= 1.1
    moved[1, [1, -1]] /= 1.1
    moved = np.fft.ifft(moved, norm="ortho").real
    np.testing.assert_allclose(circular_predictor(moved), beta, atol=1e-12)
    assert np.sum(moved**2) > least + 1e-3


def test_the_fourier_norm_of_power_two_is_the_length():
    beta = np.random.default_rng(1).standard_normal((3, 5))
    np.testing.assert_allclose(fourier_norm(beta, power=2.0), np.linalg.norm(beta, axis=1))


@pytest.mark.item("A8.14")
@pytest.mark.parametrize("count, width", [(1, 8), (4, 9), (6, 8), (17, 6)])
def test_the_largest_margin_is_that_of_a_cone_programme(count, width):
    draw = np.random.default_rng(count)
    points = draw.standard_normal((count, width))
    points *= np.sign(points @ draw.standard_normal(width))[:, None]
    transform = np.fft.fft(np.eye(width), norm="ortho")
    beta = cvxpy.Variable(width)
    problem = cvxpy.Problem(cvxpy.Minimize(cvxpy.sum(cvxpy.abs(transform @ beta))), [points @ beta >= 1])
    problem.solve(cvxpy.CLARABEL)
    best = np.asarray(beta.value)
    norm = np.abs(transform @ best).sum()
    found = largest_fourier_margin(points)
    assert found.margin * norm == pytest.approx(1, abs=1e-6)
    np.testing.assert_allclose(found.vector, best / norm, atol=1e-4)
    assert found.weights.min() >= 0 and found.weights.sum() == pytest.approx(1)
    assert np.abs(transform @ (points.T @ found.weights)).max() == pytest.approx(found.margin, rel=1e-6)


def test_points_that_are_not_separable_are_refused():
    with pytest.raises(ValueError, match="separable"):
        largest_fourier_margin(np.array([[1.0, 0.0], [-1.0, 0.0]]))
