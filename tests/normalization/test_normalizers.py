"""Normalizers against Equinox's layers and plain NumPy; the network against its formula, row by row."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from deeptheory.normalization.normalizers import (
    NormalizedNetwork,
    batch_norm,
    deep_outputs,
    group_norm,
    init_normalized_network,
    layer_norm,
    normalization_jacobian,
    unnormalized,
)

A = np.random.default_rng(0).standard_normal((5, 6)) * 3 + 1


@pytest.mark.item("A13.5")
@pytest.mark.parametrize("epsilon", [0.0, 0.2])
def test_layer_and_group_normalization_are_those_of_equinox(epsilon):
    layer = eqx.nn.LayerNorm(6, eps=epsilon, use_weight=False, use_bias=False)
    np.testing.assert_allclose(layer_norm(A, epsilon=epsilon), jax.vmap(layer)(jnp.asarray(A)), rtol=2e-4, atol=1e-5)
    groups = eqx.nn.GroupNorm(2, 6, eps=epsilon, channelwise_affine=False)
    np.testing.assert_allclose(
        group_norm(A, groups=2, epsilon=epsilon), jax.vmap(groups)(jnp.asarray(A)), rtol=2e-4, atol=1e-5
    )
    np.testing.assert_array_equal(group_norm(A, groups=1), layer_norm(A))


@pytest.mark.item("A13.5")
def test_batch_normalization_is_over_the_batch():
    np.testing.assert_allclose(batch_norm(A), (A - A.mean(0)) / A.std(0), rtol=1e-4, atol=1e-6)
    assert layer_norm(A).shape == batch_norm(A).shape == A.shape


@pytest.mark.item("A13.5")
def test_the_derivative_annihilates_shift_and_scale():
    a = jnp.asarray(A[0])
    jacobian = normalization_jacobian(a)
    np.testing.assert_allclose(jacobian, jax.jacobian(layer_norm)(a), atol=1e-5)
    np.testing.assert_allclose(jacobian @ np.ones(6), 0, atol=1e-6)
    np.testing.assert_allclose(jacobian @ (a - a.mean()), 0, atol=1e-5)


def test_a_network_by_hand():
    network = NormalizedNetwork((np.eye(2),), (np.array([2.0, 3.0]),), (np.array([1.0, 1.0]),), np.array([[1.0, 10.0]]))
    # (3, 1) is normalized to (1, −1); then 2·1 + 1 = 3 and 3·(−1) + 1 < 0.
    np.testing.assert_allclose(network(np.array([[3.0, 1.0]])), [[3.0]], rtol=1e-5)
    np.testing.assert_allclose(network.features(np.array([[1.0, 3.0]]))[0], [[0.0, 4.0]], rtol=1e-5)


def test_equal_layers_in_a_scan_are_the_same_network(key):
    network = init_normalized_network(key, (4, 4, 4, 2), affine=False)
    x = jnp.asarray(np.linspace(-1, 2, 12).reshape(3, 4))
    deep = deep_outputs(jnp.stack(network.weights), jnp.asarray(network.top), x, layer_norm)
    np.testing.assert_allclose(deep, network(x), rtol=1e-4, atol=1e-5)
    plain = init_normalized_network(key, (4, 4, 2), affine=False, normalize=unnormalized)
    np.testing.assert_allclose(
        plain(x), np.maximum(x @ plain.weights[0].T, 0) @ np.asarray(plain.top).T, rtol=1e-4, atol=1e-5
    )


def test_groups_divide_a_row_and_networks_have_a_hidden_layer(key):
    with pytest.raises(ValueError, match="groups must divide the 6 entries"):
        group_norm(A, groups=4)
    with pytest.raises(ValueError, match="a hidden layer"):
        init_normalized_network(key, (3, 1))
