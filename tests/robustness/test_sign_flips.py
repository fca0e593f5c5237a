"""Random two-layer networks against automatic differentiation, direct integration and simulation."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import chi2, kstest, norm

from deeptheory.robustness.sign_flips import (
    activation_moment,
    flip_length_cdf,
    flipping_step,
    gradient_lower_bound,
    mean_squared_gradient,
    moment_condition,
    normal_defect,
    output_cdf,
    random_two_layer,
    slope_moment,
    two_layer_gradient,
    two_layer_value,
)


def by_hand(weights, signs, x):
    return sum(a * np.tanh(w @ x) for w, a in zip(weights, signs, strict=True)) / np.sqrt(len(signs))


def test_value_and_gradient_by_hand_and_by_jax(key):
    weights, signs = random_two_layer(key, 3, 5, 4)
    x = np.array([1.0, -1.0, 0.5, 2.0])
    expected = [by_hand(w, a, x) for w, a in zip(weights, signs, strict=True)]
    np.testing.assert_allclose(two_layer_value((weights, signs), x), expected, rtol=1e-13)

    def scalar(point):
        return jnp.sum(signs[1] * jnp.tanh(weights[1] @ point)) / np.sqrt(5)

    np.testing.assert_allclose(two_layer_gradient((weights, signs), x)[1], jax.grad(scalar)(x), rtol=1e-12)


def test_scale_and_signs_of_the_draw(key):
    weights, signs = random_two_layer(key, 40, 50, 30)
    assert np.mean(weights**2) * 30 == pytest.approx(1, rel=0.03)
    assert set(np.unique(signs)) == {-1.0, 1.0}


@pytest.mark.parametrize(("activation", "square"), [("relu", 0.5), ("tanh", None), ("sine", (1 - np.exp(-2)) / 2)])
def test_moments_by_integration(activation, square):
    function = {"relu": lambda z: max(z, 0), "tanh": np.tanh, "sine": np.sin}[activation]
    integral = quad(lambda z: function(z) ** 2 * norm.pdf(z), -12, 12, points=[0], limit=200)[0]
    assert activation_moment(activation) == pytest.approx(integral, rel=1e-8)
    if square is not None:
        assert activation_moment(activation) == pytest.approx(square, rel=1e-12)


@pytest.mark.item("L12.9")
def test_the_law_of_the_output_is_that_of_networks(key):
    networks = random_two_layer(key, 3000, 20, 2)
    values = two_layer_value(networks, np.array([1.0, 1.0]), activation="relu")
    assert kstest(values, lambda v: output_cdf(v, activation="relu", width=20)).pvalue > 1e-4


@pytest.mark.item("L12.9")
def test_the_law_approaches_the_normal_one_by_its_kurtosis():
    # σ = sine: E sin² = (1 − e⁻²)/2 and E sin⁴ = (3 − 4e⁻² + e⁻⁸)/8.
    square, fourth = (1 - np.exp(-2)) / 2, (3 - 4 * np.exp(-2) + np.exp(-8)) / 8
    grid = np.linspace(0, 3, 3001)
    largest = np.max(np.abs((grid**3 - 3 * grid) * norm.pdf(grid)))
    assert normal_defect("sine") == pytest.approx(abs(fourth / square**2 - 3) / 24 * largest, rel=1e-6)
    gap = np.abs(output_cdf(grid * np.sqrt(square), activation="sine", width=4000) - norm.cdf(grid))
    assert 4000 * gap.max() == pytest.approx(normal_defect("sine"), rel=1e-3)


@pytest.mark.item("L12.13")
@pytest.mark.parametrize(("activation", "largest"), [("tanh", 1.0), ("sigmoid", 0.25), ("relu", 1.0)])
def test_bounded_slopes_meet_the_moment_condition(activation, largest):
    assert moment_condition(activation, largest**2) <= largest**4
    # The first order, E σ′⁴ = s², is the one that binds.
    assert moment_condition(activation, largest**2) == pytest.approx(slope_moment(activation, 4.0), rel=1e-12)


@pytest.mark.item("L12.13")
def test_the_moment_condition_where_a_higher_order_binds():
    # E|relu′|^(2q) = 1/2 for all q: 1/(q! c^(q−2)) is largest at q = 2 if c ≥ 1/3, at q = 3 if c is a bit smaller.
    assert moment_condition("relu", 0.3) == pytest.approx(1 / (6 * 0.3), rel=1e-12)


@pytest.mark.item("L12.14")
def test_the_gradient_across_the_input_is_a_chi_square(key):
    d, networks = 4, random_two_layer(key, 3000, 6, 4)
    x = np.array([2.0, 0.0, 0.0, 0.0])
    gradient = two_layer_gradient(networks, x)
    slopes = 1 - np.tanh(networks[0] @ x) ** 2
    square = np.sum(gradient[:, 1:] ** 2, 1) / (np.sum(slopes**2, 1) / (6 * d))
    assert kstest(square, chi2(d - 1).cdf).pvalue > 1e-4
    seen = np.sum(gradient**2, 1)
    assert abs(seen.mean() - mean_squared_gradient("tanh", d)) < 5 * seen.std() / np.sqrt(3000)
    assert mean_squared_gradient("tanh", 10**9) == pytest.approx(slope_moment("tanh"), rel=1e-6)


def test_the_lower_bound_of_the_gradient_by_hand():
    slopes = np.array([[3.0, 4.0]])
    expected = (1 - 5 * np.sqrt(np.log(20) / 400)) * np.sqrt(12.5)
    np.testing.assert_allclose(gradient_lower_bound(slopes, 400, 0.1), [expected], rtol=1e-14)
    assert gradient_lower_bound(slopes, 50, 0.1)[0] == 0
    with pytest.raises(ValueError, match="gamma"):
        gradient_lower_bound(slopes, 400, 0.8)


@pytest.mark.item("L12.16")
def test_a_linear_model_is_turned_round(key):
    weights, x = np.array([[3.0, -4.0], [1.0, 2.0]]), np.array([0.3, 1.1])
    value = weights @ x
    step = flipping_step(value, weights)
    np.testing.assert_allclose(np.sum(weights * (x + step), 1), -value, rtol=1e-13)
    np.testing.assert_allclose(np.linalg.norm(step, axis=1), 2 * np.abs(value) / np.linalg.norm(weights, axis=1))
    np.testing.assert_allclose(np.sum(weights * (x + flipping_step(value, weights, factor=0.25)), 1), 0.75 * value)
    with pytest.raises(ValueError, match="gradient is zero"):
        flipping_step(value, 0 * weights)


@pytest.mark.item("L12.16")
def test_how_long_a_flipping_step_is():
    # d = 3: a coordinate of the sphere is uniform; d = 2: ‖Δ‖ = 2√2·|cos of a uniform angle|.
    length = np.linspace(0, 3, 7)
    np.testing.assert_allclose(flip_length_cdf(length, 3), length / (2 * np.sqrt(3)), atol=1e-13)
    expected = 1 - 2 / np.pi * np.arccos(np.minimum(length / (2 * np.sqrt(2)), 1))
    np.testing.assert_allclose(flip_length_cdf(length, 2), expected, atol=1e-12)
    np.testing.assert_allclose(flip_length_cdf(length, 10**7), 2 * norm.cdf(length / 2) - 1, atol=1e-6)


def test_unknown_activations_are_refused():
    with pytest.raises(ValueError, match="must be one of"):
        activation_moment("swoosh")
    with pytest.raises(ValueError, match="must be one of"):
        output_cdf(np.zeros(1), activation="sign", width=30)
