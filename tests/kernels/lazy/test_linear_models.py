"""Flows, lazy certificates and the two-layer network with fixed signs, against closed forms and other computations."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from deeptheory.kernels.lazy.linear_models import (
    gradient_flow,
    lazy_certificate,
    least_squares_form,
    linearized_path,
    sharp_lazy_bounds,
)
from deeptheory.kernels.lazy.signed_network import (
    SHIFTED_TANH,
    TANH,
    SignedNetwork,
    compressed,
    flow_to,
    jacobian_lipschitz_bound,
    jacobian_lipschitz_constant,
    nonvanishing_degree,
    signed_problem,
    signed_weights,
)


def test_flow_of_a_linear_model_is_its_linearized_path():
    rng = np.random.default_rng(0)
    matrix, start, y = rng.standard_normal((3, 5)), rng.standard_normal(5), rng.standard_normal(3)
    times = np.array([0.0, 0.5, 4.0])
    found = gradient_flow(lambda theta: jnp.asarray(matrix) @ theta, start, y, times)
    np.testing.assert_allclose(found - start, linearized_path(matrix, y - matrix @ start, times), atol=1e-9)
    end = linearized_path(matrix, y - matrix @ start, np.array([np.inf]))[0]
    np.testing.assert_allclose(end, np.linalg.pinv(matrix) @ (y - matrix @ start), atol=1e-10)
    with pytest.raises(ValueError, match="times must be finite and increase from 0 on"):
        gradient_flow(lambda theta: theta, start, start, np.array([1.0, 0.5]))


def test_flow_of_one_parameter_against_its_closed_form():
    """θ̇ = 2θ(y − θ²): the logistic equation for θ²."""
    times = np.linspace(0, 2, 5)
    found = gradient_flow(lambda theta: theta**2, np.array([0.3]), np.array([1.7]), times)[:, 0]
    square = 1.7 / (1 + (1.7 / 0.09 - 1) * np.exp(-4 * 1.7 * times))
    np.testing.assert_allclose(found**2, square, rtol=1e-9)


def test_least_squares_form_is_the_expanded_risk():
    rng = np.random.default_rng(1)
    jacobian, outputs, start, y = (rng.standard_normal(shape) for shape in ((3, 6), 3, 6, 3))
    features, targets = least_squares_form(jacobian, outputs, start, y)
    place = rng.standard_normal(6)
    np.testing.assert_allclose(features @ place - targets, outputs + jacobian @ (place - start) - y)


def test_certificate_in_numbers():
    """s = 2, S = 4, E = 0.1, L = 3, n = 2: each bound by hand."""
    found = lazy_certificate(np.array([[2.0, 0, 0], [0, 4, 0]]), np.array([0.06, 0.08]), lipschitz=3.0)
    assert found == pytest.approx((0.3, 1.0, 0.1, 1 / 3, 0.15))
    assert found.applies
    near = lazy_certificate(np.array([[2.0, 0, 0], [0, 4, 0]]), np.array([0.006, 0.008]), lipschitz=0.03)
    assert near.deviation == pytest.approx(28 * 0.03 * 16 * 1e-4 / 32)
    with pytest.raises(ValueError, match="full row rank"):
        lazy_certificate(np.ones((2, 3)), np.ones(2), lipschitz=1.0)


def test_sharp_bounds_are_those_of_the_parabola():
    """θ − θ²/2 reaches y at 1 − √(1 − 2y), where its slope is √(1 − 2y)."""
    found = sharp_lazy_bounds(smallest=1.0, lipschitz=1.0, distance=0.3, count=1)
    assert found == pytest.approx((2 * 0.4, 1 - np.sqrt(0.4)))
    several = sharp_lazy_bounds(smallest=1.0, lipschitz=1.0, distance=0.3, count=4)
    assert several == pytest.approx((found.rate / 4, found.travel))
    with pytest.raises(ValueError, match="below 1"):
        sharp_lazy_bounds(smallest=1.0, lipschitz=1.0, distance=0.5, count=1)


@pytest.mark.parametrize("activation", [TANH, SHIFTED_TANH])
def test_jacobian_and_curvature_of_the_signed_network(key, activation):
    network, weights, x, _ = signed_problem(
        key, width=6, count=3, dimension=4, activation=activation, scale=1.3, doubled=True
    )
    np.testing.assert_allclose(network.outputs(weights, x), 0, atol=1e-15)
    weights = weights + 0.1 * np.arange(24).reshape(6, 4)
    expected = jax.jacobian(network.flat(x))(weights.ravel())
    np.testing.assert_allclose(network.jacobian(weights, x), expected, atol=1e-14)
    bends = jax.vmap(jax.grad(jax.grad(activation.value)))(np.linspace(-4, 4, 20001))
    assert np.abs(bends).max() == pytest.approx(activation.curvature, rel=1e-6)
    with pytest.raises(ValueError, match="even"):
        network.factors(5)


def test_lipschitz_constants_against_a_search(key):
    network, _, x, _ = signed_problem(key, width=2, count=3, dimension=4)
    constant, bound = (f(network, x, width=2) for f in (jacobian_lipschitz_constant, jacobian_lipschitz_bound))
    v = np.random.default_rng(0).standard_normal((200_000, 4))
    v /= np.linalg.norm(v, axis=1, keepdims=True)
    seen = TANH.curvature / np.sqrt(2) * np.sqrt(((v @ x.T) ** 4).sum(1).max())
    assert seen <= constant <= bound
    assert seen == pytest.approx(constant, rel=0.02)


def test_compressed_training_is_the_same_training(key):
    network, weights, x, y = signed_problem(key, width=8, count=3, dimension=7, scale=2.0)
    small, inputs = compressed(weights, x)
    assert small.shape == (8, 3)
    ends = [flow_to(w, each, y, scale=2.0, time=1.5, steps=60) for w, each in ((weights, x), (small, inputs))]
    np.testing.assert_allclose(jnp.linalg.norm(ends[0] - weights), jnp.linalg.norm(ends[1] - small), rtol=1e-10)
    slow = gradient_flow(network.flat(x), weights.ravel(), y, np.array([1.5]))[0]
    np.testing.assert_allclose(ends[0].ravel(), slow, atol=1e-6)


def test_weights_lie_on_the_sphere_and_few_coordinates_have_their_law(key):
    np.testing.assert_allclose(np.linalg.norm(signed_weights(key, 6, 5), axis=1), 1)
    some = signed_weights(key, 40_000, 9, coordinates=2)
    assert np.mean(some**2) == pytest.approx(1 / 9, rel=0.02)
    assert np.mean(some**4) == pytest.approx(3 / (9 * 11), rel=0.04)
    with pytest.raises(ValueError, match="coordinates"):
        signed_weights(key, 4, 3, coordinates=4)


def test_nonvanishing_degree():
    assert nonvanishing_degree(np.array([1.0, 0.5, 0.0, 2.0])) == 1
    assert nonvanishing_degree(np.array([0.0, 1.0])) == -1
    assert nonvanishing_degree(np.array([1.0, -1.0])) == 1
    assert SignedNetwork().scale == 1.0
