import equinox as eqx
import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
import pytest

from deeptheory.kernels.finite.linearization import (
    Laziness,
    doubled,
    fan_out,
    laziness,
    loss_curvature,
    padded,
    parameter_norm,
)
from deeptheory.kernels.finite.tangents import functional, jacobian_kernel
from deeptheory.kernels.lazy.monitors import (
    activity as monitors,
    activity_polynomial,
    activity_rate_bound,
    activity_rates,
    activity_sum,
    aligned_network,
    mean_loss_velocity,
)
from deeptheory.kernels.limits.fixed_features import fixed_feature_floor, single_index_spectrum
from deeptheory.kernels.limits.gaussian_processes import band_coverage, conditional_law
from deeptheory.kernels.regression.predictions import GaussianLaw
from deeptheory.networks.mlp import init_mlp

pytestmark = pytest.mark.slow

RNG = np.random.default_rng(3)
X, OTHER, Y = RNG.standard_normal((4, 3)), RNG.standard_normal((2, 3)), np.array([1.0, -1.0, 0.5, 0.0])
SCALES = dict(activation=jnp.tanh, weight_scale=1.2, bias_scale=0.3, input_scale=0.8)


def test_conditional_law_from_the_precision_matrix():
    root = RNG.standard_normal((5, 5))
    covariance, mean = root @ root.T, RNG.standard_normal(5)
    law = conditional_law(
        GaussianLaw(jnp.asarray(mean), jnp.asarray(covariance)), np.array([1, 3]), np.array([0.2, -0.4])
    )
    precision, rest = np.linalg.inv(covariance), [0, 2, 4]
    expected = np.linalg.inv(precision[np.ix_(rest, rest)])
    np.testing.assert_allclose(law.covariance, expected, rtol=1e-8)
    shift = expected @ precision[np.ix_(rest, [1, 3])] @ (np.array([0.2, -0.4]) - mean[[1, 3]])
    np.testing.assert_allclose(law.mean, mean[rest] - shift, rtol=1e-8)
    with pytest.raises(ValueError, match="different coordinates"):
        conditional_law(GaussianLaw(jnp.asarray(mean), jnp.asarray(covariance)), np.array([1, 1]), np.zeros(2))
    assert float(band_coverage(1.959963984540054)) == pytest.approx(0.95, abs=1e-12)


def test_padding_changes_nothing_in_training():
    network = init_mlp(jax.random.key(1), (3, 5, 1), **SCALES)
    followed = jax.jit(lambda each: laziness(each, X, Y, OTHER, step_size=0.1, steps=10))
    plain, wide = followed(network), followed(padded(network, 9))
    for one, two in zip(plain, wide, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-9, atol=1e-11)
    assert float(plain.gap) > 1e-3
    with pytest.raises(ValueError, match="widest hidden layer"):
        padded(network, 4)


def test_gap_is_the_largest_distance_at_any_time_on_either_side():
    outputs = np.array([[0.0, 0.0], [0.5, -0.9], [0.1, 0.2]])
    run = Laziness(jnp.zeros((3, 4)), jnp.asarray(outputs), jnp.zeros((3, 2)), jnp.zeros(()), jnp.zeros(()))
    assert float(run.gap) == pytest.approx(0.9)


def test_scalings():
    network = init_mlp(jax.random.key(2), (3, 6, 1), **{**SCALES, "bias_scale": 0.0})
    kernel_of = jax.jit(lambda each: jacobian_kernel(*functional(each), X))
    kernel = np.asarray(kernel_of(network))
    hidden = np.tanh(1.2 / np.sqrt(6) * X @ network.weights[0].T)
    np.testing.assert_allclose(fan_out(network)(X), 1.2 * hidden @ network.weights[1].T, rtol=1e-10)
    twice = doubled(network)
    np.testing.assert_allclose(twice(X), 0, atol=1e-14)
    np.testing.assert_allclose(kernel_of(twice), kernel, rtol=1e-10)
    size = np.sqrt(sum(np.sum(np.square(leaf)) for leaf in jax.tree.leaves(network)))
    assert float(parameter_norm(network)) == pytest.approx(size)


def test_activity_bounds_and_the_polynomial():
    network = init_mlp(jax.random.key(3), (3, 8, 8, 1), **SCALES)
    velocity = jax.jit(mean_loss_velocity)(network, X, Y)
    rates, bounds = jax.jit(activity_rates)(network, X, velocity), jax.jit(activity_rate_bound)(network, X, Y)
    for rate, bound in zip(rates, bounds, strict=True):
        assert (np.asarray(rate) <= np.asarray(bound)).all()
    here = jax.jit(monitors)(network, network, X)
    np.testing.assert_allclose(here.weights[0], np.linalg.norm(network.weights[1], 2) / np.sqrt(8), rtol=1e-9)
    np.testing.assert_allclose(rates[0][0], np.linalg.norm(velocity.weights[1], 2) / np.sqrt(8), rtol=1e-6)
    total = float(activity_sum(here, here))
    later = jax.tree.map(lambda p: p + 0.1, network)
    there = jax.jit(monitors)(later, network, X)
    moved = [
        np.asarray(f - g) for f, g in zip(later.preactivations(X)[:-1], network.preactivations(X)[:-1], strict=True)
    ]
    drifts = sum(np.linalg.norm(f) / np.sqrt(f.size) for f in moved) * 0.5 + 0.1 * (8 + 8**0.5) / np.sqrt(8)
    assert float(activity_sum(there, here, slope=0.5)) - total == pytest.approx(drifts, rel=1e-9)
    residual = float(np.sqrt(np.mean((np.asarray(network(X))[:, 0] - Y) ** 2)))
    allowed = np.polyval(np.asarray(activity_polynomial(network, X)), total) * residual / np.sqrt(8)
    assert float(sum(jnp.sum(bound) for bound in bounds)) <= allowed


def halved(u):
    return 0.5 * u


@pytest.mark.parametrize("widths", [(3, 5, 1), (3, 4, 7, 5, 1), (3, 6, 6, 1)])
def test_aligned_networks_attain_the_bounds(widths):
    x, y = X[:1], Y[:1]
    scales = dict(weight_scale=1.2, bias_scale=0.3, input_scale=0.8)
    network = aligned_network(jax.random.key(4), widths, x, level=1.3, activation=halved, slope=0.5, **scales)

    @jax.jit
    def examined(each):
        rates = activity_rates(each, x, mean_loss_velocity(each, x, y))
        return monitors(each, each, x), rates, activity_rate_bound(each, x, y, slope=0.5), each(x)[0, 0] - y[0]

    here, rates, bounds, residual = examined(network)
    np.testing.assert_allclose(here.weights, 1.3, rtol=1e-10)
    np.testing.assert_allclose(here.activations, 1.3, rtol=1e-10)
    np.testing.assert_allclose(rates, bounds, rtol=1e-9)
    if len(set(widths[1:-1])) == 1:
        grown = float(jnp.sum(rates[0]) + 0.5 * jnp.sum(rates[1])) * np.sqrt(widths[1]) / abs(float(residual))
        polynomial = np.asarray(activity_polynomial(network, x, slope=0.5))
        assert np.polyval(polynomial, 1.3) == pytest.approx(grown, rel=1e-9)
    else:
        with pytest.raises(ValueError, match="one width"):
            activity_polynomial(network, x)
    with pytest.raises(ValueError, match="bias_scale"):
        aligned_network(jax.random.key(4), widths, x, level=1.0, activation=halved, slope=0.5, bias_scale=0.0)


def test_curvature_beside_the_whole_hessian():
    network = init_mlp(jax.random.key(5), (3, 4, 1), **{**SCALES, "bias_scale": 0.0})
    weights, unravel = jax.flatten_util.ravel_pytree(network.weights)

    def outputs(theta):
        return eqx.tree_at(lambda each: each.weights, network, unravel(theta))(X)[:, 0]

    @jax.jit
    def curvatures(theta):
        whole = jax.hessian(lambda theta: 0.5 * jnp.sum((outputs(theta) - Y) ** 2))(theta)
        return whole, jax.jacobian(outputs)(theta), loss_curvature(network, X, outputs(theta) - Y)

    hessian, jacobian, blocks = map(np.asarray, curvatures(weights))
    expected, found = hessian - jacobian.T @ jacobian, np.zeros(hessian.shape)
    for neuron, block in enumerate(blocks):
        place = np.array([12 + neuron, *range(3 * neuron, 3 * neuron + 3)])
        found[np.ix_(place, place)] = block
    np.testing.assert_allclose(found, expected, atol=1e-10)
    with pytest.raises(ValueError, match="one hidden layer"):
        loss_curvature(init_mlp(jax.random.key(5), (3, 4, 4, 1)), X, Y)


def test_floor_of_fixed_features():
    spectrum = single_index_spectrum(20, linear=0.5, quadratic=0.5)
    assert sum(value * count for value, count in spectrum) == pytest.approx(1)
    assert spectrum[0] == (0.025, 20) and spectrum[1] == (0.025, 1)
    assert fixed_feature_floor(spectrum, 0) == pytest.approx(1)
    assert fixed_feature_floor(spectrum, 230) == pytest.approx(0, abs=1e-12)
    # Degree two over many directions: the covariance of the coefficients of (u·x)² − 1 in the basis of monomials.
    u = RNG.standard_normal((200_000, 3))
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    pairs = np.triu_indices(3)
    weights = np.where(pairs[0] == pairs[1], 1.0, 2**0.5)
    coefficients = weights * u[:, pairs[0]] * u[:, pairs[1]]
    values = np.linalg.eigvalsh(coefficients.T @ coefficients / len(u))[::-1]
    expected = [value for value, count in single_index_spectrum(3, linear=0.0, quadratic=1.0)[1:] for _ in range(count)]
    np.testing.assert_allclose(values, expected, rtol=0.02)
