"""Residual networks and neural flows against loops, matrix exponentials and finite depth."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.linalg import expm

from deeptheory.attention.residual import Layers, euler_error, neural_flow, residual_network, stepped_neural_flow

DRAWN = np.random.default_rng(5)
W, A = DRAWN.standard_normal((2, 3, 3)) / 2
B, X = DRAWN.standard_normal((2, 3))


@pytest.mark.item("J14.1")
def test_network_is_the_printed_recursion():
    layers = Layers(DRAWN.standard_normal((4, 3, 5)), DRAWN.standard_normal((4, 5, 3)), DRAWN.standard_normal((4, 5)))
    points = DRAWN.standard_normal((2, 3))
    for x, found in zip(points, np.asarray(residual_network(layers, points)).swapaxes(0, 1), strict=True):
        path = [x]
        for w, a, b in zip(*layers, strict=True):
            path.append(path[-1] + w @ np.tanh(a @ path[-1] + b))
        assert np.allclose(found, path, atol=1e-12)


@pytest.mark.item("J14.1")
def test_zero_weights_are_the_identity():
    layers = Layers(np.zeros((3, 3, 3)), np.ones((3, 3, 3)), np.ones((3, 3)))
    assert np.array_equal(residual_network(layers, X[None]), np.tile(X, (4, 1, 1)))


@pytest.mark.item("J14.2")
def test_linear_flow_is_a_matrix_exponential():
    found = neural_flow(lambda t: Layers(W, A, B), X[None], np.array([0.5, 2.0]), lambda x: x)
    # ẋ = W(Ax + B), as one linear system of x and 1.
    system = np.zeros((4, 4))
    system[:3] = np.column_stack([W @ A, W @ B])
    exact = [(expm(t * system) @ np.append(X, 1.0))[:3] for t in (0.5, 2.0)]
    assert np.allclose(found[:, 0], exact, atol=1e-8)


@pytest.mark.item("J14.2")
def test_error_of_a_linear_network_times_its_depth():
    """(I + M/L)^L − e^M = −M² e^M / 2L + …, by the binomial series."""
    linear = euler_error(lambda t: Layers(W, A, jnp.zeros(3)), X, lambda x: x)
    assert np.allclose(linear, -(W @ A) @ (W @ A) @ expm(W @ A) @ X / 2, atol=1e-7)


def test_flow_may_begin_later_and_refuses_earlier_times():
    flow = neural_flow(lambda t: Layers(t * W, A, B), X[None], np.array([1.0]))[0]
    half = neural_flow(lambda t: Layers(t * W, A, B), X[None], np.array([0.4]))[0]
    assert np.allclose(neural_flow(lambda t: Layers(t * W, A, B), half, np.array([1.0]), begin=0.4)[0], flow, atol=1e-8)
    with pytest.raises(ValueError, match="increase"):
        neural_flow(lambda t: Layers(W, A, B), half, np.array([0.1]), begin=0.4)


@pytest.mark.item("J14.2")
def test_equal_steps_are_the_flow_and_carry_derivatives():
    times = np.array([0.3, 1.0])

    def weights(scale):
        return lambda t: Layers(scale * (1 + t) * W, A, B)

    ours = stepped_neural_flow(weights(1.0), X[None], times, substeps=32)
    np.testing.assert_allclose(ours, neural_flow(weights(1.0), X[None], times), atol=1e-7)

    @jax.jit
    def end(scale):
        return jnp.sum(stepped_neural_flow(weights(scale), X[None], times, substeps=32)[-1] ** 2)

    ends = [np.sum(neural_flow(weights(1 + h), X[None], times)[-1] ** 2) for h in (1e-4, -1e-4)]
    assert jax.grad(end)(1.0) == pytest.approx((ends[0] - ends[1]) / 2e-4, rel=1e-6)
