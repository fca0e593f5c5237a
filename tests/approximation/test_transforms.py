import numpy as np
import pytest
from scipy.integrate import quad

from deeptheory.approximation.transforms import (
    box_transform,
    centred_grid,
    convolution,
    exponential_transform,
    fourier_transform,
    gaussian_transform,
    inverse_fourier_transform,
    tent_transform,
    transform_of_gradient,
)


@pytest.mark.item("L4.1")
@pytest.mark.parametrize(
    ("closed", "function", "end"),
    [
        (gaussian_transform, lambda x, a: np.exp(-(x**2) / (2 * a * a)) / np.sqrt(2 * np.pi) / a, 12.0),
        (box_transform, lambda x, a: 1.0 * (abs(x) <= a), None),
        (tent_transform, lambda x, a: max(1 - abs(x) / a, 0.0), None),
        (exponential_transform, lambda x, a: np.exp(-abs(x) / a), 40.0),
    ],
)
@pytest.mark.parametrize("width", [0.6, 1.7])
def test_closed_forms_are_the_integrals(closed, function, end, width):
    frequencies = np.array([0.0, 0.21, 0.5, 1.3])
    # Even functions: twice the integral of the cosine over the half line.
    expected = [
        quad(lambda x, w=w: 2 * np.cos(2 * np.pi * w * x) * function(x, width), 0, (end or 1.0) * width, limit=200)[0]
        for w in frequencies
    ]
    np.testing.assert_allclose(closed(frequencies, width), expected, atol=2e-9)


@pytest.mark.item("L4.1")
@pytest.mark.parametrize("count", [63, 64])
def test_grid_transform_is_the_trapezoidal_sum(count):
    rng = np.random.default_rng(0)
    values, spacing = rng.standard_normal((count, 5)), 0.3
    x, y = centred_grid(count, spacing), centred_grid(5, spacing)
    u, v = centred_grid(count, 1 / (count * spacing)), centred_grid(5, 1 / (5 * spacing))
    direct = np.exp(-2j * np.pi * np.outer(u, x)) @ values @ np.exp(-2j * np.pi * np.outer(y, v)) * spacing**2
    np.testing.assert_allclose(fourier_transform(values, spacing), direct, atol=1e-11)
    np.testing.assert_allclose(inverse_fourier_transform(direct, spacing), values, atol=1e-12)


def test_gradient_rule_knows_its_axes():
    spacing = 0.25
    x, y = np.meshgrid(centred_grid(64, spacing), centred_grid(48, spacing), indexing="ij")
    values = np.exp(-((x - 0.7) ** 2) / 2 - (y + 0.4) ** 2)
    gradient = [-(x - 0.7) * values, -2 * (y + 0.4) * values]
    found = transform_of_gradient(fourier_transform(values, spacing), spacing)
    np.testing.assert_allclose(found, [fourier_transform(each, spacing) for each in gradient], atol=1e-9)


@pytest.mark.item("L4.2")
@pytest.mark.parametrize("count", [6, 7])
def test_convolution_is_the_sum_over_the_grid(count):
    rng = np.random.default_rng(1)
    one, other = rng.standard_normal((2, count, 3))
    first, second = count // 2, 1
    expected = np.zeros((count, 3))
    for x in range(count):
        for y in range(3):
            for s in range(count):
                for t in range(3):
                    # x − τ in steps of the grid, counted from its centre.
                    i, j = x - s + first, y - t + second
                    if 0 <= i < count and 0 <= j < 3:
                        expected[x, y] += one[s, t] * other[i, j] * 0.25
    np.testing.assert_allclose(convolution(one, other, 0.5), expected, atol=1e-13)
