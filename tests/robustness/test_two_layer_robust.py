"""The robust two-layer network by hand, by quadratic programmes, and attacks against distances that are known."""

import jax
import numpy as np
import pytest

from deeptheory.robustness.two_layer_robust import (
    TwoLayer,
    attack_lengths,
    largest_correlation,
    network_gradients,
    network_outputs,
    robust_network,
    safe_radius,
    train_two_layer,
)

PAIR = np.array([[2.0, 0.0, 0.0, 0.0], [1.0, np.sqrt(3), 0.0, 0.0]])  # length 2, product 2 = ½·d


@pytest.mark.item("L12.7")
def test_two_inputs_by_hand():
    network = robust_network(PAIR, np.array([1.0, -1.0]))
    assert largest_correlation(PAIR) == pytest.approx(0.5)
    assert largest_correlation(PAIR[:1]) == 0.0
    np.testing.assert_allclose(network.weights, PAIR)
    np.testing.assert_allclose(network.biases, [-3, -3])
    np.testing.assert_allclose(PAIR @ network.weights.T + network.biases, [[1, -1], [-1, 1]], atol=1e-12)
    np.testing.assert_allclose(network_outputs(network, PAIR), [1, -1])
    assert safe_radius(PAIR) == pytest.approx(0.5)
    assert network_outputs(network, PAIR[:1] * (1 - 0.49 / 2))[0] > 0
    assert network_outputs(network, PAIR[:1] * (1 - 0.51 / 2))[0] == 0


@pytest.mark.item("L12.7")
def test_the_nearest_point_of_the_other_sign_is_beyond_the_safe_radius():
    # Between the two inputs: the sign changes where both units are silent or equal, by symmetry beyond half the way.
    network = robust_network(PAIR, np.array([1.0, -1.0]))
    draw = np.random.default_rng(0)
    moves = draw.standard_normal((20_000, 4))
    moves *= 0.4999 / np.linalg.norm(moves, axis=1, keepdims=True)
    assert np.all(network_outputs(network, PAIR[0] + moves) > 0)
    assert np.all(network_outputs(network, PAIR[1] + moves) < 0)


def test_attacks_on_a_function_with_known_distances():
    # |x₁| − 1 as two units and a constant one: the boundary is at x₁ = ±1.
    network = TwoLayer(
        np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 0.0]]), np.array([0.0, 0.0, 1.0]), np.array([1.0, 1, -1])
    )
    inputs = np.array([[3.0, 5.0], [0.25, -1.0], [-1.5, 0.0]])
    np.testing.assert_allclose(attack_lengths(network, inputs), [2.0, 0.75, 0.5], rtol=1e-9)
    np.testing.assert_allclose(network_gradients(network, inputs), [[1, 0], [1, 0], [-1, 0]])
    flat = TwoLayer(np.zeros((1, 2)), np.ones(1), np.ones(1))
    assert np.all(np.isinf(attack_lengths(flat, inputs)))


@pytest.mark.item("L12.8")
def test_trained_networks_fit_and_are_flipped_nearby(key):
    draw = np.random.default_rng(1)
    x = draw.standard_normal((16, 128))
    x *= np.sqrt(128) / np.linalg.norm(x, axis=1, keepdims=True)
    y = np.where(np.arange(16) % 2, 1.0, -1.0)
    network = train_two_layer(key, x, y, width=16)
    assert np.all(y * network_outputs(network, x) > 1)
    assert np.mean(attack_lengths(network, x)) < np.sqrt(128) / 1.5
    # One step is what automatic differentiation says.
    start, after = (train_two_layer(key, x, y, width=16, steps=1, rate=rate) for rate in (1e-12, 0.05))

    def loss(weights, biases, outer):
        hidden = jax.nn.relu(x @ weights.T + biases)
        return jax.numpy.mean(jax.numpy.log1p(jax.numpy.exp(-y * (hidden @ outer))))

    slopes = jax.grad(loss, (0, 1, 2))(*start)
    for moved, before, slope in zip(after, start, slopes, strict=True):
        np.testing.assert_allclose((moved - before) / 0.05, -slope, atol=1e-9)


def test_what_is_refused():
    with pytest.raises(ValueError, match="length √d"):
        largest_correlation(np.ones((2, 3)) * 2)
    with pytest.raises(ValueError, match="−1 or 1"):
        robust_network(PAIR, np.array([0.0, 1.0]))
    with pytest.raises(ValueError, match="equal or opposite"):
        robust_network(PAIR[[0, 0]], np.array([1.0, -1.0]))
