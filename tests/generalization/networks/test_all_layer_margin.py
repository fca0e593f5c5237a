"""All-layer margins against closed forms, SciPy's constrained minimiser and JAX's derivatives."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize

from deeptheory.generalization.networks.all_layer_margin import (
    _forward,
    _slopes,
    all_layer_margin_bound,
    all_layer_margins,
    last_layer_margins,
    least_all_layer_margins,
    linear_layer_margins,
    perturbed_outputs,
)
from deeptheory.generalization.networks.norms import relu_network


@pytest.fixture
def network():
    draw = np.random.default_rng(5)
    layers = [draw.standard_normal(shape) / np.sqrt(shape[1]) for shape in ((9, 5), (8, 9), (3, 8))]
    x = draw.standard_normal((12, 5))
    return layers, x, np.argmax(np.asarray(relu_network(layers, x)), axis=1)


def test_without_perturbation_it_is_the_network(network):
    layers, x, _ = network
    nothing = [np.zeros((12, layer.shape[0])) for layer in layers]
    np.testing.assert_allclose(perturbed_outputs(layers, x, nothing), relu_network(layers, x), rtol=1e-12)


def test_slopes_are_those_of_automatic_differentiation(network):
    layers, x, _ = network
    draw = np.random.default_rng(6)
    changes = [0.2 * draw.standard_normal((12, layer.shape[0])) for layer in layers]
    direction = np.array([1.0, -1.0, 0.0])

    def ahead(changes):
        hidden = jnp.asarray(x)
        for place, (layer, change) in enumerate(zip(layers, changes, strict=True)):
            image = hidden @ layer.T
            image = image if place == 2 else jax.nn.relu(image)
            hidden = image + change * jnp.linalg.norm(hidden, axis=1, keepdims=True)
        return jnp.sum(hidden @ direction)

    slopes = _slopes(layers, _forward(layers, x, changes), changes, np.tile(direction, (12, 1)))
    for ours, theirs in zip(slopes, jax.grad(ahead)(changes), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-12)


@pytest.mark.item("H8.5")
def test_one_linear_layer(network):
    draw = np.random.default_rng(7)
    layer, x = draw.standard_normal((4, 3)), 3 * draw.standard_normal((15, 3))
    labels = draw.integers(0, 4, 15)
    closed = linear_layer_margins(layer, x, labels)
    assert np.any(closed == 0) and np.any(closed > 0)
    np.testing.assert_allclose(all_layer_margins([layer], x, labels), closed, rtol=1e-10)
    np.testing.assert_allclose(least_all_layer_margins([layer], x, labels), closed, rtol=1e-9)
    right = np.argmax(x @ layer.T, axis=1)
    gaps = np.sort(x @ layer.T, axis=1)[:, -1] - np.sort(x @ layer.T, axis=1)[:, -2]
    np.testing.assert_allclose(
        linear_layer_margins(layer, x, right), gaps / np.sqrt(2) / np.linalg.norm(x, axis=1), rtol=1e-12
    )


@pytest.mark.item("H8.5")
def test_the_search_finds_what_scipy_finds(network):
    layers, x, labels = network
    cuts = np.cumsum([9, 8])
    found = all_layer_margins(layers, x, labels)
    for i in range(3):
        best = np.inf
        for rival in {0, 1, 2} - {int(labels[i])}:

            def ahead(change, i=i, rival=rival):
                outputs = perturbed_outputs(layers, x[i : i + 1], [part[None] for part in np.split(change, cuts)])[0]
                return outputs[rival] - outputs[labels[i]]

            # From its own start, the δ of the last layer alone.
            start = np.zeros(20)
            start[17 + rival], start[17 + labels[i]] = 0.5, -0.5
            solved = minimize(lambda c: c @ c, start, constraints=[{"type": "ineq", "fun": ahead}], method="SLSQP")
            best = min(best, np.linalg.norm(solved.x)) if solved.success else best
        assert found[i] <= best * (1 + 1e-5)


@pytest.mark.item("H8.5")
def test_order_of_the_margins(network):
    layers, x, labels = network
    together, alone = all_layer_margins(layers, x, labels), all_layer_margins(layers, x, labels, together=False)
    assert np.all(least_all_layer_margins(layers, x, labels) <= together)
    assert np.all(together <= alone) and np.all(alone <= last_layer_margins(layers, x, labels) * (1 + 1e-12))


def test_random_perturbations_below_the_lower_bound_change_nothing(network):
    layers, x, labels = network
    least = least_all_layer_margins(layers, x, labels)
    draw = np.random.default_rng(8)
    for _ in range(200):
        changes = [draw.standard_normal((12, layer.shape[0])) for layer in layers]
        # At every layer as long as the bound itself: more than the root of the sum of squares allows.
        changes = [0.999 * least[:, None] * c / np.linalg.norm(c, axis=1, keepdims=True) for c in changes]
        assert np.all(np.argmax(perturbed_outputs(layers, x, changes), axis=1) == labels)


def test_the_lower_bound_solves_its_equation_with_every_norm():
    layers = [np.diag([2.0, 1.0]), np.diag([3.0, 0.5]), np.array([[1.0, 0.0], [0.0, 0.25]])]
    (least,) = least_all_layer_margins(layers, np.array([[1.0, 0.2]]), np.array([0]))
    margin = 2 * 3 * 1 - 0.2 * 1 * 0.5 * 0.25
    assert np.hypot(1, 0.2) * ((2 + least) * (3 + least) * (1 + least) - 6) == pytest.approx(margin / 2**0.5)


@pytest.mark.item("H8.5")
def test_the_order_of_the_bound():
    values = np.array([0.5, 1.0, 2.0, 2.0])
    assert all_layer_margin_bound(values, capacity=3.0) == pytest.approx(9 * np.log(4) ** 2 * 5.5 / 16)
    with pytest.raises(ValueError, match="positive margins"):
        all_layer_margin_bound(np.array([0.0, 1.0]))
