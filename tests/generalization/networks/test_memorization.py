"""Memorizing networks against rational arithmetic, training against optax, corrupted labels against their law."""

from fractions import Fraction

import jax
import numpy as np
import optax
import pytest

from deeptheory.generalization.networks.memorization import (
    corrupt_labels,
    fit_labels,
    initial_layers,
    memorizing_network,
    small_digits,
)
from deeptheory.generalization.networks.norms import relu_network

pytestmark = pytest.mark.slow


def rational_weights(projections, thresholds, values):
    """Forward substitution in rationals."""
    weights = []
    for i, value in enumerate(values):
        seen = sum(w * (projections[i] - b) for w, b in zip(weights, thresholds, strict=False))
        weights.append((Fraction(value) - seen) / (projections[i] - thresholds[i]))
    return weights


@pytest.mark.item("H9.2")
def test_weights_are_those_of_rational_arithmetic(key):
    draw = np.random.default_rng(3)
    inputs = draw.permutation(np.arange(40))[:12, None].astype(float)
    values = draw.integers(-3, 4, 12).astype(float)
    network = memorizing_network(inputs, values, np.ones(1), place=0.5)
    order = np.argsort(inputs[:, 0])
    exact = rational_weights(
        [Fraction(z) for z in inputs[order, 0]], [Fraction(b) for b in network.thresholds], values[order]
    )
    np.testing.assert_allclose(network.weights, [float(w) for w in exact], rtol=1e-12)
    np.testing.assert_allclose(network(inputs), values, atol=1e-12)
    assert network.parameters == 1 + 24


@pytest.mark.item("H9.2")
def test_fifty_points_in_ten_dimensions(key):
    draw = np.random.default_rng(0)
    inputs, values = draw.standard_normal((50, 10)), draw.standard_normal(50)
    network = memorizing_network(inputs, values, draw.standard_normal(10))
    assert np.max(np.abs(network(inputs) - values)) < 1e-9
    hidden = network.hidden(inputs[np.argsort(inputs @ network.direction)])
    assert np.all(np.triu(hidden, 1) == 0) and np.all(np.diag(hidden) > 0)


@pytest.mark.parametrize(("place", "grows"), [(0.3, False), (0.8, True)])
def test_slopes_die_out_or_explode_with_the_place_of_the_thresholds(place, grows):
    values = np.zeros(60)
    values[0] = 1.0
    network = memorizing_network(np.arange(60.0)[:, None], values, np.ones(1), place=place)
    slopes = np.abs(np.cumsum(network.weights))
    ratio = slopes[11] / slopes[10]
    assert ratio == pytest.approx(place / (1 - place), rel=1e-6)
    assert (slopes[-1] > 1e6) == grows


def test_equal_projections_are_refused():
    with pytest.raises(ValueError, match="same projection"):
        memorizing_network(np.ones((2, 3)), np.zeros(2), np.ones(3))
    with pytest.raises(ValueError, match=r"in \(0, 1\), got 1.0"):
        memorizing_network(np.eye(2), np.zeros(2), np.ones(2), place=1.0)


@pytest.mark.item("H9.1")
def test_training_takes_the_steps_of_adam(key):
    images, labels = small_digits(3, 8)
    inputs, labels = images[:60].astype(float), labels[:60]
    start = tuple(initial_layers(key, (49, 12, 2)))
    method = optax.adam(0.02)

    def objective(layers):
        return optax.softmax_cross_entropy_with_integer_labels(relu_network(layers, inputs), labels).mean()

    slope = jax.jit(jax.grad(objective))
    layers, memory = start, method.init(start)
    wrong = []
    for _ in range(25):
        wrong.append(np.mean(np.argmax(np.asarray(relu_network(layers, inputs)), axis=1) != labels))
        before = layers
        change, memory = method.update(slope(layers), memory)
        layers = optax.apply_updates(layers, change)
    # The last look at the sample changes nothing: its loss and error are those of the weights returned.
    found = fit_labels(start, inputs, labels, loss=0.0, rate=0.02, most=25)
    for ours, theirs in zip(found.layers, before, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(found.errors, wrong, atol=1e-12)
    assert int(found.steps) == 24 and float(found.loss) == pytest.approx(float(objective(before)), rel=1e-9)


@pytest.mark.item("H9.1", "L8.23")
def test_random_labels_are_fitted_and_training_stops_there(key):
    images, truth = small_digits(*range(10))
    labels = corrupt_labels(key, truth[:80], 1.0, classes=10)
    start = initial_layers(key, (49, 96, 10))
    network = fit_labels(start, images[:80], labels, loss=0.3, most=400)
    further = fit_labels(start, images[:80], labels, loss=0.03, most=400)
    assert float(further.loss) <= 0.03 < float(network.loss) and int(further.steps) < 399
    outputs = np.asarray(relu_network(network.layers, images[:80]))
    assert np.all(np.argmax(outputs, axis=1) == labels)
    assert float(network.loss) <= 0.3 and int(network.steps) < 399
    costs = optax.softmax_cross_entropy_with_integer_labels(outputs, labels)
    assert float(network.loss) == pytest.approx(float(np.mean(costs)), rel=1e-4)
    assert float(network.errors[0]) > 0.5 and float(network.errors[-1]) == 0.0


def test_absent_examples_and_zero_units_change_nothing(key):
    images, labels = small_digits(0, 1)
    inputs, labels = images[:50].astype(float), labels[:50]
    start = initial_layers(key, (49, 6, 2))
    plain = fit_labels(start, inputs[:30], labels[:30], most=30, loss=0.0)
    weights = (np.arange(50) < 30).astype(float)
    wider = [np.pad(start[0], ((0, 3), (0, 0))), np.pad(start[1], ((0, 0), (0, 3)))]
    padded = fit_labels(wider, inputs, labels, most=30, loss=0.0, weights=weights)
    np.testing.assert_allclose(padded.layers[0][:6], plain.layers[0], rtol=1e-7, atol=1e-10)
    assert np.all(np.asarray(padded.layers[0][6:]) == 0) and np.all(np.asarray(padded.layers[1][:, 6:]) == 0)


@pytest.mark.item("H9.1")
def test_a_label_changes_with_its_probability(key):
    labels = np.arange(40_000) % 5
    for share in (0.0, 0.3, 1.0):
        changed = np.mean(corrupt_labels(key, labels, share, classes=5) != labels)
        predicted = share * 4 / 5
        assert abs(changed - predicted) <= 5 * np.sqrt(predicted * (1 - predicted) / 40_000)
    less, more = (corrupt_labels(key, labels, share, classes=5) for share in (0.2, 0.6))
    assert np.all((less == labels) | (less == more))
    with pytest.raises(ValueError, match=r"in \[0, 1\], got 1.5"):
        corrupt_labels(key, labels, 1.5, classes=5)


def test_small_digits_are_named_by_their_order():
    images, labels = small_digits(8, 3)
    assert images.shape[1] == 49 and set(labels) == {0, 1}
    np.testing.assert_allclose(np.linalg.norm(images, axis=1), 1.0, rtol=1e-6)
    with pytest.raises(ValueError, match="different digits"):
        small_digits(3, 3)
