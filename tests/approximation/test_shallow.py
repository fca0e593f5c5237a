from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from deeptheory.approximation.shallow import (
    ShallowNetwork,
    collapsed,
    fit_output,
    scaled_sum,
)
from deeptheory.foundations.activations import relu, sigmoid, threshold

RNG = np.random.default_rng(0)


@pytest.mark.item("H1.1")
@pytest.mark.parametrize("activation", [np.tanh, relu, sigmoid, threshold])
def test_a_network_is_the_sum_over_its_units(activation):
    weights, biases, output = RNG.normal(size=(7, 3)), RNG.normal(size=7), RNG.normal(size=7)
    network, x = ShallowNetwork(weights, biases, output, activation), RNG.normal(size=(4, 5, 3))
    expected = [
        sum(
            c * float(activation(np.float64(sum(wi * xi for wi, xi in zip(w, point, strict=True)) + b)))
            for w, b, c in zip(weights, biases, output, strict=True)
        )
        for point in x.reshape(-1, 3)
    ]
    np.testing.assert_allclose(network(x).ravel(), expected, atol=1e-12)
    assert (network.units, network.parameters) == (7, 7 * (3 + 2))


@pytest.mark.item("H1.1")
def test_gradients_of_a_traced_network_are_difference_quotients():
    network = ShallowNetwork(RNG.normal(size=(5, 2)), RNG.normal(size=5), RNG.normal(size=5), jnp.tanh)
    with jax.enable_x64(True):
        x, h = jnp.array([0.3, -0.4]), 1e-5
        gradient = jax.grad(network)(x)
        steps = [(network(x + h * e) - network(x - h * e)) / (2 * h) for e in np.eye(2)]
        np.testing.assert_allclose(gradient, steps, atol=1e-9)


def test_sums_of_networks_are_networks():
    one, other = (
        ShallowNetwork(RNG.normal(size=(m, 2)), RNG.normal(size=m), RNG.normal(size=m), np.tanh) for m in (3, 4)
    )
    x = RNG.normal(size=(6, 2))
    np.testing.assert_allclose(scaled_sum([2.0, -3.0], [one, other])(x), 2 * one(x) - 3 * other(x), atol=1e-12)
    with pytest.raises(ValueError, match="share their activation"):
        scaled_sum([1.0, 1.0], [one, ShallowNetwork(other.weights, other.biases, other.output, np.cos)])
    with pytest.raises(ValueError, match="must have 2 coordinates"):
        one(np.zeros((4, 3)))


def test_the_fitted_output_leaves_a_residual_orthogonal_to_all_units():
    weights, biases = RNG.normal(size=(6, 1)), RNG.normal(size=6)
    x = np.linspace(-1, 1, 50)[:, None]
    network = fit_output(weights, biases, np.tanh, x, np.cos(3 * x[:, 0]))
    residual = network(x) - np.cos(3 * x[:, 0])
    assert np.abs(np.tanh(x @ weights.T + biases).T @ residual).max() < 1e-8


@pytest.mark.item("H1.4")
def test_layers_without_activation_are_one_affine_map():
    sizes = (3, 5, 2, 4)
    matrices = [RNG.normal(size=(m, n)) for n, m in pairwise(sizes)]
    biases = [RNG.normal(size=m) for m in sizes[1:]]
    x = RNG.normal(size=(9, 3))
    through = x
    for matrix, bias in zip(matrices, biases, strict=True):
        through = np.array([[row @ point for row in matrix] for point in through]) + bias
    whole, shift = collapsed(matrices, biases)
    np.testing.assert_allclose(x @ whole.T + shift, through, atol=1e-12)
    with pytest.raises(ValueError, match="fits neither"):
        collapsed([matrices[0], matrices[2]], [biases[0], biases[2]])
