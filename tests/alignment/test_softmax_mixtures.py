import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit

from deeptheory.alignment.softmax_mixtures import (
    mixture_draws,
    population_gradient,
    reduced_coordinates,
    softmax_loss,
    softmax_quadrature,
    softmax_velocity,
    symmetric_solution,
)
from deeptheory.calculus.expectations import gaussian_product_rule
from deeptheory.dynamics.projections import Projected, projected_velocity

DRAW = np.random.default_rng(0)
MEANS = np.linalg.qr(DRAW.standard_normal((6, 6)))[0][:3] + 0.2 * DRAW.standard_normal((3, 6))
POINT = DRAW.standard_normal((3, 6))


@pytest.mark.item("J13.4")
def test_draws_have_the_moments_of_the_mixture():
    weights = np.array([0.2, 0.3, 0.5])
    inputs, classes = mixture_draws(jax.random.key(0), MEANS, count=60_000, precision=4.0, weights=weights)
    assert np.allclose(np.bincount(classes) / 60_000, weights, atol=0.012)
    assert np.allclose(inputs.mean(0), weights @ MEANS, atol=0.02)
    noise = inputs - MEANS[classes]
    assert np.allclose(noise.T @ noise / 60_000, np.eye(6) / 4, atol=0.012)


@pytest.mark.item("J13.17")
def test_heavy_tails_keep_the_covariance_and_raise_the_kurtosis():
    inputs, _ = mixture_draws(jax.random.key(1), np.zeros((1, 2)), count=200_000, precision=4.0, freedom=12.0)
    assert np.allclose(inputs.T @ inputs / 200_000, np.eye(2) / 4, atol=0.01)
    # Student's with ν degrees has kurtosis 3(ν − 2)/(ν − 4).
    assert abs((inputs[:, 0] ** 4).mean() * 16 - 3 * 10 / 8) < 0.25


@pytest.mark.item("J13.4")
def test_the_loss_is_minus_the_log_chance_of_the_label():
    sample = jnp.asarray(MEANS[1])
    for label in range(3):
        chances = np.exp(POINT @ MEANS[1]) / np.exp(POINT @ MEANS[1]).sum()
        assert np.isclose(softmax_loss(POINT, (sample, jnp.asarray(label))), -np.log(chances[label]))


def test_product_rule_integrates_moments_exactly():
    points, rule = gaussian_product_rule(3, 5)
    assert np.isclose(rule.sum(), 1) and np.isclose(rule @ (points[:, 0] ** 4 * points[:, 2] ** 2), 3)
    assert gaussian_product_rule(0)[0].shape == (1, 0)
    with pytest.raises(ValueError, match="draw at random"):
        gaussian_product_rule(12, 12)


@pytest.mark.item("J13.4")
def test_expected_gradient_is_the_slope_of_the_expected_loss():
    """The expected loss integrates over all logits, without the reduction to differences."""
    points, rule = gaussian_product_rule(3, 24)
    weights = np.array([0.2, 0.3, 0.5])

    def expected(point):
        root = jnp.linalg.cholesky(point @ point.T)
        logits = (point @ MEANS.T).T[:, None] + points @ root.T / 6.0
        own = jnp.take_along_axis(logits, jnp.arange(3)[:, None, None], axis=-1)[..., 0]
        return jnp.asarray(weights) @ ((jax.nn.logsumexp(logits, axis=-1) - own) @ rule)

    found = population_gradient(POINT, MEANS, precision=36.0, weights=weights, nodes=24)
    assert np.allclose(found, jax.jit(jax.grad(expected))(jnp.asarray(POINT)), atol=1e-9)
    with pytest.raises(ValueError, match="sum to 1"):
        softmax_quadrature(POINT, MEANS, precision=4.0, weights=2 * weights)


def test_velocity_is_that_of_the_gram_matrix_in_the_general_limit():
    """`projections` integrates over six fields by draws of a rule, without Stein's identity."""

    def loss(fields, hidden, parameters, label):
        return jax.nn.logsumexp(fields) - fields[label]

    frame = np.linalg.qr(MEANS.T)[0]
    beside = POINT - POINT @ frame @ frame.T
    whole = np.concatenate([POINT, MEANS])
    points, rule = gaussian_product_rule(6, 4)
    model = Projected(loss, np.eye(3), np.arange(3), 0.125, 0.3)
    limit = jax.jit(lambda gram: projected_velocity(model, gram, (), points, rule, ratio=0.7))
    slow, _, corrector = limit(whole @ whole.T)
    slow, corrector = np.asarray(slow), np.asarray(corrector)
    state, gram = (POINT @ MEANS.T, beside @ beside.T), MEANS @ MEANS.T
    drift, rest = softmax_velocity(state, gram, precision=64.0, decay=0.3, ratio=0.7, nodes=10)
    assert np.allclose(drift, slow[:3, 3:], atol=1e-5)
    inside = np.asarray(drift) @ np.linalg.solve(gram, state[0].T)
    assert np.allclose(inside + inside.T + rest, (slow + corrector)[:3, :3], atol=1e-5)


@pytest.mark.item("J13.8")
def test_the_symmetric_solution_is_at_rest():
    for classes, precision in ((2, np.inf), (3, 50.0), (4, 200.0)):
        size, means = symmetric_solution(classes, decay=0.02, precision=precision), np.eye(classes)
        point = size * (classes * means - 1) / (classes - 1)
        slope = population_gradient(point, means, precision=precision) + 0.02 * point
        assert np.abs(slope).max() < 1e-10
    own = symmetric_solution(5, decay=0.01)
    chance = np.exp(own) / (np.exp(own) + 4 * np.exp(-own / 4))
    assert np.isclose(5 * 0.01 * own, 1 - chance, rtol=1e-10)


def test_reduced_coordinates_keep_all_inner_products():
    point, means = np.pad(POINT, ((0, 0), (0, 9))), np.pad(MEANS, ((0, 0), (0, 9)))
    small, centres = reduced_coordinates(point, means)
    assert small.shape == (3, 6) and np.allclose(centres[:, 3:], 0)
    assert np.allclose(small @ centres.T, point @ means.T) and np.allclose(small @ small.T, point @ point.T)


@pytest.mark.parametrize("precision", [1.0, 0.3, 0.1])
def test_expectations_are_right_or_refused_as_the_noise_grows(precision):
    """Of two classes on a line against adaptive quadrature."""
    parameters, means = np.array([[0.5, 0.0], [-0.5, 0.0]]), np.array([[1.0, 0.0], [-1.0, 0.0]])
    width = precision**-0.5

    def pulled(z):
        at = 1 + width * z
        return -at * expit(-at) * np.exp(-z * z / 2) / np.sqrt(2 * np.pi)

    exact = quad(pulled, -12, 12, limit=500)[0]
    found = population_gradient(parameters, means, precision=precision, nodes=60)[0, 0]
    assert found == pytest.approx(exact, rel=1e-3)
    with pytest.raises(ValueError, match="nodes must be at least the square of the logits' noise"):
        population_gradient(parameters, means, precision=1e-4, nodes=60)


def test_the_symmetric_solution_of_very_noisy_inputs_is_proportional_to_the_precision():
    found = [symmetric_solution(3, decay=0.1, precision=precision) / precision for precision in (1e-6, 1e-9, 1e-12)]
    np.testing.assert_allclose(found, 2 / 3, rtol=1e-5)
