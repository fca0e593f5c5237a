"""Fully connected networks: the wide limit against closed forms, the finite kernels against Jacobians."""

import jax
import numpy as np
import pytest
from jax.scipy.special import erf

from deeptheory.kernels.finite.tangents import functional, tangent_kernel
from deeptheory.kernels.layers.activations import Erf, Numerical, Polynomial
from deeptheory.kernels.limits.dense_networks import conditional_covariance, fully_connected, layerwise_ntk
from deeptheory.kernels.limits.recursion import limit_kernel
from deeptheory.networks.mlp import init_mlp

pytestmark = pytest.mark.slow

SETTINGS = dict(activation=erf, weight_scale=1.2, bias_scale=0.5, input_scale=0.7)


def inputs(n=4, d=3):
    return np.random.default_rng(0).standard_normal((n, d))


def wide(x, other=None, **settings):
    return limit_kernel(fully_connected(x.shape[1], **settings), x, other, want=("nngp", "ntk"))


@pytest.mark.item("A9.21", "J8.10")
@pytest.mark.parametrize("outputs", [1, 3])
def test_layerwise_kernel_is_the_gram_matrix_of_the_jacobian(outputs):
    network = init_mlp(jax.random.key(1), (3, 7, 5, outputs), **SETTINGS)
    x, other = inputs(), inputs(7)[4:]
    jacobian, other_jacobian = (jax.jit(jax.jacobian(lambda net, x=x: net(x)))(network) for x in (x, other))
    grams = [
        np.einsum("nip,mkp->nmik", a.reshape(len(x), outputs, -1), b.reshape(len(other), outputs, -1))
        for a, b in zip(jax.tree.leaves(jacobian), jax.tree.leaves(other_jacobian), strict=True)
    ]
    layers = jax.jit(layerwise_ntk)(network, x, other)
    for layer in range(3):
        np.testing.assert_allclose(layers[layer], grams[layer] + grams[layer + 3], rtol=1e-10, atol=1e-12)
    general = jax.jit(lambda net: tangent_kernel(*functional(net), x, other, trace_axes=()))(network)
    np.testing.assert_allclose(general, sum(grams), rtol=1e-10, atol=1e-12)


def test_conditional_covariance_is_the_covariance_of_fresh_output_layers():
    network = init_mlp(jax.random.key(8), (3, 6, 40_000), **SETTINGS)
    outputs = np.asarray(network(inputs()))
    sampled = outputs @ outputs.T / outputs.shape[1]
    np.testing.assert_allclose(conditional_covariance(network, inputs()), sampled, atol=0.03)


@pytest.mark.item("A9.23", "L7.18", "J8.11")
def test_tangent_kernel_is_the_printed_sum_with_the_last_factor_one():
    # Θ = Σ_h Σ^(h−1) ∏_{h′≥h} Σ̇^(h′) with Σ̇^(L+1) := 1, from closed forms in the angle alone (unit inputs, ReLU).
    rng = np.random.default_rng(1)
    x = rng.standard_normal((5, 4))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    for depth in (1, 2, 3):
        cosines, slopes = [x @ x.T], []
        for _ in range(depth):
            angle = np.arccos(np.clip(cosines[-1], -1, 1))
            slopes.append(1 - angle / np.pi)
            cosines.append((np.sin(angle) + (np.pi - angle) * np.cos(angle)) / np.pi)
        expected = sum(cosines[h] * np.prod([*slopes[h:], np.ones((5, 5))], axis=0) for h in range(depth + 1))
        kernels = wide(x, hidden_layers=depth, weight_scale=np.sqrt(2))
        np.testing.assert_allclose(kernels.ntk, expected, atol=1e-6)
        np.testing.assert_allclose(kernels.nngp, cosines[-1], atol=1e-6)
        np.testing.assert_allclose(np.diag(kernels.ntk), depth + 1, atol=1e-6)


@pytest.mark.item("A9.23")
def test_first_layer_part_at_depth_one_is_twice_the_fixed_output_kernel():
    x = np.random.default_rng(2).standard_normal((4, 3))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    kernels = wide(x, hidden_layers=1, weight_scale=np.sqrt(2))
    inner = x @ x.T
    fixed_outputs = inner * (np.pi - np.arccos(np.clip(inner, -1, 1))) / (2 * np.pi)
    np.testing.assert_allclose(kernels.ntk - kernels.nngp, 2 * fixed_outputs, atol=1e-6)


@pytest.mark.item("L7.18", "J8.11")
def test_rectangular_blocks_and_generic_activation_agree():
    x = np.random.default_rng(3).standard_normal((6, 3))
    settings = dict(hidden_layers=2, weight_scale=1.4, bias_scale=0.3, input_scale=0.6)
    whole = wide(x, activation=Erf(), **settings)
    block = wide(x[:2], x[2:], activation=Erf(), **settings)
    generic = wide(x, activation=Numerical(erf, 160), **settings)
    for name in ("nngp", "ntk"):
        full, part, other = (getattr(each, name) for each in (whole, block, generic))
        np.testing.assert_allclose(full[:2, 2:], part, rtol=1e-12)
        np.testing.assert_allclose(full, other, atol=1e-8)


def test_linear_network_and_doors():
    x = np.random.default_rng(4).standard_normal((3, 2))
    kernels = wide(x, hidden_layers=2, activation=Polynomial((0.0, 1.0)))
    np.testing.assert_allclose(kernels.ntk, 3 * x @ x.T, rtol=1e-10)
    np.testing.assert_allclose(wide(x, hidden_layers=0).ntk, x @ x.T, rtol=1e-12)
    with pytest.raises(ValueError, match=r"hidden_layers must .*, got -1"):
        fully_connected(2, hidden_layers=-1)
