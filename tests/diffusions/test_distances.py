"""Distances of distributions, against SciPy, closed forms and quadrature."""

import numpy as np
import pytest
from scipy import stats

from deeptheory.diffusions.distances import (
    dictionary_distance,
    gaussian_mmd,
    kernel_distance,
    trajectory_distance,
    wasserstein_on_the_line,
)

GRID = stats.norm.ppf((np.arange(1500) + 0.5) / 1500)
"""a standard normal in equally likely parts"""


@pytest.mark.item("A12.14")
def test_transport_of_samples_and_of_shifted_gaussians():
    random = np.random.default_rng(0)
    first, second = random.standard_normal(40), random.gamma(2.0, size=57)
    assert wasserstein_on_the_line(first, second) == pytest.approx(stats.wasserstein_distance(first, second))
    assert wasserstein_on_the_line(GRID, GRID + 0.3) == pytest.approx(0.3)


@pytest.mark.item("A12.14")
def test_kernel_distance_of_gaussians_in_closed_form():
    seen = kernel_distance(0.7 * GRID[:, None], 0.7 * GRID[:, None] + 0.9, width=1.3)
    assert seen == pytest.approx(gaussian_mmd(0.9, 0.7, width=1.3), rel=1e-3)


@pytest.mark.item("A12.14")
@pytest.mark.item("A12.15")
def test_test_functions_on_samples_and_along_trajectories():
    tests = [lambda x: x[:, 0], lambda x: (x**2).sum(1), lambda x: np.cos(x[:, 1])]
    first = np.array([[0.0, 0.0], [2.0, 0.0]])
    second = np.array([[1.0, 1.0]])
    # means 1 and 1, squares 2 and 2, cosines 1 and cos 1
    assert dictionary_distance(first, second, tests) == pytest.approx(1 - np.cos(1))
    times = np.stack([first, first + 1]), np.stack([second, second + 1])
    # squares at the second time: (2 + 10)/2 = 6 and 8
    assert trajectory_distance(*times, tests) == pytest.approx(2.0)


@pytest.mark.parametrize("width", [1e3, 1e6, 1e12])
def test_a_wide_kernel_sees_the_means(width):
    first, second = np.array([[0.1], [0.4], [0.2]]), np.array([[0.9], [0.3]])
    apart = abs(first.mean() - second.mean())
    assert kernel_distance(first, second, width=width) == pytest.approx(apart / width, rel=1e-6)
