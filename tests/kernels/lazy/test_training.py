"""Training in full against a frozen kernel, and against single steps of plain gradient descent."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.scipy.special import erf

from deeptheory.kernels.finite.tangents import relative_drift
from deeptheory.kernels.layers.activations import Erf
from deeptheory.kernels.lazy.training import train, train_with_kernel
from deeptheory.kernels.limits.dense_networks import fully_connected, layerwise_ntk
from deeptheory.kernels.limits.recursion import limit_kernel
from deeptheory.kernels.regression.predictions import kernel_training
from deeptheory.networks.mlp import init_mlp

pytestmark = pytest.mark.slow
SETTINGS = dict(activation=erf, weight_scale=1.2, bias_scale=0.5, input_scale=0.7)


def inputs(n=4, d=3):
    return np.random.default_rng(0).standard_normal((n, d))


def tangent(network, x, other=None):
    return layerwise_ntk(network, x, other).sum(0)[:, :, 0, 0]


@pytest.mark.item("L7.19", "J8.12")
def test_frozen_kernel_training_against_the_linearised_network():
    # Gradient descent on the first-order Taylor model, parameters and all, is a route that never forms a power of Θ.
    network = init_mlp(jax.random.key(3), (3, 8, 1), **SETTINGS)
    x, other, y = inputs(), inputs(6)[4:], np.array([1.0, -1.0, 0.5, 0.0])
    step_size, steps = 0.05, 30

    def linear(moved, at):
        value, change = jax.jvp(lambda net: net(at)[:, 0], (network,), (moved,))
        return value + change

    @jax.jit
    def step(moved):
        gradient = jax.grad(lambda m: 0.5 * jnp.sum((linear(m, x) - y) ** 2))(moved)
        after = jax.tree.map(lambda m, g: m - step_size * g, moved, gradient)
        return after, linear(moved, x), linear(moved, other)

    moved, outputs, other_outputs = jax.tree.map(np.zeros_like, network), [], []
    for _ in range(steps + 1):
        moved, here, there = step(moved)
        outputs.append(here)
        other_outputs.append(there)
    predicted, other_predicted = kernel_training(
        tangent(network, x), tangent(network, other, x), outputs[0], other_outputs[0], y,
        step_size=step_size, steps=steps,
    )  # fmt: skip
    np.testing.assert_allclose(predicted, outputs, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(other_predicted, other_outputs, rtol=1e-9, atol=1e-10)


@pytest.mark.item("L7.19", "J8.12")
def test_training_follows_the_limit_kernel_when_wide():
    x, other, y = inputs(), inputs(6)[4:], np.array([1.0, -1.0, 0.5, 0.0])
    network = init_mlp(jax.random.key(5), (3, 8192, 1), **SETTINGS)
    wide = fully_connected(3, **SETTINGS | dict(hidden_layers=1, activation=Erf()))
    limit = limit_kernel(wide, np.concatenate([x, other]), want=("ntk",)).ntk
    trace = train(network, x, y, other, step_size=0.2, steps=60)
    predicted, other_predicted = kernel_training(
        limit[:4, :4], limit[4:, :4], trace.outputs[0], trace.other_outputs[0], y, step_size=0.2, steps=60
    )
    assert trace.outputs.shape == (61, 4)
    np.testing.assert_allclose(trace.outputs[0], network(x)[:, 0], rtol=1e-9)
    assert np.abs(predicted - trace.outputs).max() < 0.06
    assert np.abs(other_predicted - trace.other_outputs).max() < 0.06
    drift = relative_drift(tangent(trace.network, x), tangent(network, x))
    assert 1e-6 < drift < 0.01


def test_kernel_trace_agrees_with_plain_training():
    network = init_mlp(jax.random.key(6), (3, 5, 1), **SETTINGS)
    x, y = inputs(), np.ones(4)
    trace = train(network, x, y, x[:2], step_size=0.1, steps=6)
    watched = train_with_kernel(network, x, y, x[:2], step_size=0.1, steps=6, parts=2)
    np.testing.assert_allclose(watched.outputs, trace.outputs, rtol=1e-10)
    np.testing.assert_allclose(watched.other_outputs, trace.other_outputs, rtol=1e-10)
    before, after = (np.asarray(tangent(net, x)) for net in (network, trace.network))
    expected = np.sqrt(np.sum((after - before) ** 2) / np.sum(before**2))
    assert float(watched.drift[-1]) == pytest.approx(expected, rel=1e-9)
    with pytest.raises(ValueError, match="multiple of parts"):
        train_with_kernel(network, x, y, x[:2], step_size=0.1, steps=5, parts=2)


def test_training_is_plain_gradient_descent():
    network = init_mlp(jax.random.key(6), (3, 5, 1), **SETTINGS)
    x, y = inputs(), np.ones(4)
    trace = train(network, x, y, x[:1], step_size=0.1, steps=1)
    gradient = jax.grad(lambda net: 0.5 * jnp.sum((net(x)[:, 0] - y) ** 2))(network)
    expected = jax.tree.map(lambda p, g: p - 0.1 * g, network, gradient)
    for ours, theirs in zip(jax.tree.leaves(trace.network), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)
