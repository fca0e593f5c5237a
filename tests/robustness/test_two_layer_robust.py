"""The robust two-layer network by hand, by quadratic programmes, and attacks against distances that are known."""

import cvxpy
import jax
import numpy as np
import pytest

from deeptheory.robustness.two_layer_robust import (
    TwoLayer,
    attack_lengths,
    flipping_lengths,
    largest_correlation,
    largest_margin_network,
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


@pytest.mark.item("L12.8")
def test_the_largest_margin_of_one_input_of_each_label_by_hand():
    # λ² = 3/8 for d = 2: the bias is 2λ/3 = √(1/6), and margin 1 fixes the rest.
    network = largest_margin_network(np.sqrt(2) * np.eye(2), np.array([1.0, -1.0]))
    multiplier = np.sqrt(3 / 8)
    np.testing.assert_allclose(network.outer, np.sqrt(multiplier) * np.array([1, -1]))
    np.testing.assert_allclose(network.biases, np.sqrt(multiplier) * 2 * multiplier / 3 * np.ones(2))
    np.testing.assert_allclose(network.weights[0], multiplier**1.5 * np.sqrt(2) * np.array([1, -1 / 3]))
    np.testing.assert_allclose(network_outputs(network, np.sqrt(2) * np.eye(2)), [1, -1])
    assert flipping_lengths(2, 1, 1) == pytest.approx((1, 1))  # half the distance of the two inputs


@pytest.mark.item("L12.8")
@pytest.mark.parametrize(("d", "p", "n"), [(6, 1, 4), (9, 3, 3), (5, 4, 1)])
def test_no_network_of_larger_margin_and_no_shorter_move(d, p, n):
    """The least norm of all networks of these patterns, and the distance to the other sign, by convex programmes."""
    x, y = np.sqrt(d) * np.eye(d)[: p + n], np.repeat([1.0, -1.0], [p, n])
    network = largest_margin_network(x, y)
    # A unit and its outer weight may be scaled against each other: its part of ½|θ|² is then the length of a·(w, b).
    rows = np.hstack([x, np.ones((p + n, 1))])
    units = [cvxpy.Variable(d + 1), cvxpy.Variable(d + 1)]
    rules = [rows[y > 0] @ units[0] >= 1, rows[y < 0] @ units[0] <= 0]
    rules += [rows[y < 0] @ units[1] >= 1, rows[y > 0] @ units[1] <= 0]
    least = cvxpy.Problem(cvxpy.Minimize(cvxpy.norm(units[0]) + cvxpy.norm(units[1])), rules).solve()
    assert sum(np.sum(part**2) for part in network) / 2 == pytest.approx(least, rel=1e-6)
    slopes, levels = network.outer[:, None] * network.weights, network.outer * network.biases
    for i in (0, p + n - 1):
        move = cvxpy.Variable(d)
        up, down = (slopes[j] @ (x[i] + move) + levels[j] for j in (0, 1))  # where both units are awake
        rules = [y[i] * (up + down) <= 0, up >= 0, down <= 0]
        length = cvxpy.Problem(cvxpy.Minimize(cvxpy.norm(move)), rules).solve()
        assert flipping_lengths(d, p, n)[1] == pytest.approx(length, rel=1e-6)
        common = flipping_lengths(d, p, n)[0] * (y @ x) / np.linalg.norm(y @ x)
        assert network_outputs(network, x[i] - y[i] * common) == pytest.approx(0, abs=1e-12)


def test_what_is_refused():
    with pytest.raises(ValueError, match="must be orthogonal"):
        largest_margin_network(PAIR, np.array([1.0, -1.0]))
    with pytest.raises(ValueError, match="both of them"):
        largest_margin_network(2 * np.eye(4), np.ones(4))
    with pytest.raises(ValueError, match="at least the 5 orthogonal inputs"):
        flipping_lengths(4, 2, 3)
    with pytest.raises(ValueError, match="length √d"):
        largest_correlation(np.ones((2, 3)) * 2)
    with pytest.raises(ValueError, match="−1 or 1"):
        robust_network(PAIR, np.array([0.0, 1.0]))
    with pytest.raises(ValueError, match="equal or opposite"):
        robust_network(PAIR[[0, 0]], np.array([1.0, -1.0]))
