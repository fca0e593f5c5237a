"""Lipschitz constants of small ReLU networks by hand, on grids, in rational arithmetic, and by interval arithmetic."""

from fractions import Fraction
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from deeptheory.calculus.certified import lipschitz_constant
from deeptheory.networks.pieces import layers_from_arrays, network_function
from deeptheory.robustness.lipschitz import (
    binary_certificate,
    exact_lipschitz,
    linear_pieces,
    local_jacobians,
    margin_certificate,
    relu_outputs,
    sampled_lipschitz,
    spectral_product,
)


def random_layers(seed, widths):
    draw = np.random.default_rng(seed)
    return [(draw.standard_normal((b, a)) / np.sqrt(a), 0.5 * draw.standard_normal(b)) for a, b in pairwise(widths)]


@pytest.mark.item("H2.6")
def test_absolute_value_by_hand():
    # |x₁| + 2·relu(x₂ − 1): slopes ±1 and 0 or 2, so √5.
    layers = [
        (np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]]), np.array([0.0, 0.0, -1.0])),
        (np.array([[1.0, 1.0, 2.0]]), np.zeros(1)),
    ]
    assert exact_lipschitz(layers) == pytest.approx(np.sqrt(5), rel=1e-12)
    assert len(linear_pieces(layers)) == 4
    assert exact_lipschitz(layers, reach=0.9) == pytest.approx(1.0)  # the third unit never wakes
    assert spectral_product(layers) == pytest.approx(np.sqrt(2) * np.sqrt(6))
    assert sampled_lipschitz(layers, np.array([[3.0, 0.0]])) == pytest.approx(1.0)
    with pytest.raises(ValueError, match="more than most"):
        linear_pieces(layers, most=3)


@pytest.mark.item("H2.6")
def test_one_input_in_rational_arithmetic():
    layers = random_layers(1, (1, 5, 4, 1))
    function = network_function(layers_from_arrays([w for w, _ in layers], [b for _, b in layers]))
    steepest = max(abs(slope) for slope, _ in function.pieces)
    assert isinstance(steepest, Fraction)
    assert exact_lipschitz(layers) == pytest.approx(float(steepest), rel=1e-9)


@pytest.mark.item("H2.6")
def test_two_inputs_against_a_fine_grid_and_intervals():
    layers = random_layers(2, (2, 4, 2, 2))
    exact = exact_lipschitz(layers, reach=2.0)
    axis = np.linspace(-2, 2, 301)
    grid = np.stack(np.meshgrid(axis, axis), -1).reshape(-1, 2)
    assert sampled_lipschitz(layers, grid) == pytest.approx(exact, rel=1e-9)
    seen = {tuple(map(tuple, np.round(j, 9))) for j in local_jacobians(layers, grid)}
    assert len(seen) <= len(linear_pieces(layers, reach=2.0))

    def function(x):
        for matrix, bias in layers[:-1]:
            x = jnp.maximum(matrix @ x + bias, 0.0)
        return layers[-1][0] @ x + layers[-1][1]

    bounds = lipschitz_constant(function, np.full(2, -2.0), np.full(2, 2.0), tolerance=0.3, boxes=400)
    assert bounds.lower <= exact * (1 + 1e-9) and exact <= bounds.upper * (1 + 1e-9)
    np.testing.assert_allclose(local_jacobians(layers, grid[:3])[1], jax.jacobian(function)(grid[1]), rtol=1e-10)
    np.testing.assert_allclose(relu_outputs(layers, grid[7]), function(grid[7]), rtol=1e-12)


@pytest.mark.item("H2.6")
def test_certificates_by_hand():
    np.testing.assert_allclose(binary_certificate(np.array([3.0, -1.0]), 2.0), [1.5, 0.5])
    # f = (x, −x)/√2 has L = 1 and changes its answer at x = 0, at distance x.
    x = np.array([0.3, 2.0])
    outputs = np.stack([x, -x], 1) / np.sqrt(2)
    np.testing.assert_allclose(margin_certificate(outputs, np.array([0, 0]), 1.0), x)
    np.testing.assert_allclose(margin_certificate(outputs, np.array([1, 1]), 1.0), [0, 0])
