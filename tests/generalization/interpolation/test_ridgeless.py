"""Ridgeless least squares against resampled noise, iterated descent, fresh data and simulated designs."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.optimize
import scipy.stats

from deeptheory.foundations import filters
from deeptheory.foundations.randomness import generator
from deeptheory.generalization.interpolation import ridgeless


@pytest.mark.item("J7.3")
@pytest.mark.parametrize("shape", [(12, 5), (5, 12), (8, 8)])
def test_conditional_risk_is_the_mean_over_noise(key, shape):
    draw = generator(key)
    design, coefficients = draw.standard_normal(shape), draw.standard_normal(shape[1])
    # Noise ±√n e_i has covariance I exactly, so 2n labels give the mean over the noise without sampling.
    samples = shape[0]
    noise = 0.5 * samples**0.5 * np.concatenate([np.eye(samples), -np.eye(samples)])
    estimates = (np.linalg.pinv(design) @ (design @ coefficients + noise).T).T
    bias, variance = ridgeless.conditional_bias_variance(design, coefficients, 0.25)
    np.testing.assert_allclose(bias + variance, np.mean(np.sum((estimates - coefficients) ** 2, axis=1)), rtol=1e-9)
    np.testing.assert_allclose(bias, np.sum((estimates.mean(0) - coefficients) ** 2), atol=1e-12)


def test_conditional_risk_of_a_rank_deficient_design(key):
    draw = generator(key)
    design = draw.standard_normal((9, 3)) @ draw.standard_normal((3, 6))
    coefficients = draw.standard_normal(6)
    covariance = design.T @ design / 9
    inverse = np.linalg.pinv(covariance)
    found = ridgeless.conditional_bias_variance(design, coefficients, 2.0)
    np.testing.assert_allclose(found.bias, coefficients @ (np.eye(6) - inverse @ covariance) @ coefficients)
    np.testing.assert_allclose(found.variance, 2.0 / 9 * np.trace(inverse))


def test_conditional_risk_batches_compiles_and_differentiates(key):
    draw = generator(key)
    designs, coefficients = draw.standard_normal((4, 5, 9)), draw.standard_normal(9)
    looped = [ridgeless.conditional_bias_variance(design, coefficients, 1.0).risk for design in designs]
    compiled = jax.jit(ridgeless.conditional_bias_variance)(jnp.asarray(designs), jnp.asarray(coefficients), 1.0)
    np.testing.assert_allclose(compiled.risk, looped, rtol=1e-12)
    several = ridgeless.conditional_bias_variance(designs, np.stack([coefficients, 2 * coefficients]), 1.0)
    np.testing.assert_allclose(several.bias, np.asarray(compiled.bias)[:, None] * [1, 4], rtol=1e-12)
    gradient = jax.grad(lambda x: ridgeless.conditional_bias_variance(x, jnp.asarray(coefficients), 1.0).variance)(
        jnp.asarray(designs[0])
    )
    gram = np.linalg.inv(designs[0] @ designs[0].T)
    np.testing.assert_allclose(gradient, -2 * gram @ gram @ designs[0], rtol=1e-8, atol=1e-10)


@pytest.mark.item("L13.3")
def test_excess_risk_on_fresh_data_and_its_split(key):
    draw = generator(key)
    root = draw.standard_normal((4, 4))
    covariance, target = root @ root.T, draw.standard_normal(4)
    estimates = draw.standard_normal((50, 4))
    split = ridgeless.bias_variance_of_estimates(estimates, target, covariance)
    np.testing.assert_allclose(split.risk, ridgeless.excess_risk(estimates, target, covariance).mean(), rtol=1e-13)
    fresh = draw.standard_normal((200_000, 4)) @ root.T
    losses = (fresh @ estimates[0] - fresh @ target - 0.3 * draw.standard_normal(len(fresh))) ** 2
    error = np.std(losses) / len(losses) ** 0.5
    assert abs(losses.mean() - 0.09 - ridgeless.excess_risk(estimates[0], target, covariance)) < 5 * error


@pytest.mark.item("L13.3")
@pytest.mark.parametrize("name", ["least squares", "ridge", "minimum norm", "gradient descent"])
def test_operators_against_direct_solutions_and_exact_noise_averages(key, name):
    draw = generator(key)
    design = draw.standard_normal((5, 8) if name == "minimum norm" else (12, 5))
    samples, features = design.shape
    labels, target = draw.standard_normal(samples), draw.standard_normal(features)
    if name == "ridge":
        filter = filters.ridge_filter(0.7)
        direct = np.linalg.solve(design.T @ design + 0.7 * np.eye(features), design.T @ labels)
    elif name == "gradient descent":
        filter = filters.gradient_descent_filter(0.01, 25)
        direct = np.zeros(features)
        for _ in range(25):
            direct = direct + 0.01 * design.T @ (labels - design @ direct)
    else:
        filter = filters.pseudo_inverse_filter
        direct = np.linalg.lstsq(design, labels)[0]
    operator = filters.spectral_operator(design, filter)
    np.testing.assert_allclose(operator @ labels, direct, atol=1e-11)
    covariance = np.diag(np.arange(1.0, features + 1))
    noise = 0.6 * samples**0.5 * np.concatenate([np.eye(samples), -np.eye(samples)])
    estimates = (design @ target + noise) @ operator.T
    exact = ridgeless.bias_variance_of_estimates(estimates, target, covariance)
    found = ridgeless.bias_variance_of_operator(operator, design, target, covariance, 0.36)
    np.testing.assert_allclose(found, exact, rtol=1e-10, atol=1e-12)


@pytest.mark.item("L13.4")
def test_ols_variance_fixed_and_gaussian_design(key):
    draw = generator(key)
    design = draw.standard_normal((30, 6))
    np.testing.assert_allclose(ridgeless.ols_variance(design, design.T @ design / 30, 2.0), 2.0 * 6 / 30)
    # The inverse Wishart mean of another library, for correlated rows too.
    root = draw.standard_normal((6, 6))
    covariance = root @ root.T
    inverse_wishart = scipy.stats.invwishart(df=30, scale=np.linalg.inv(covariance))
    expected = 2.0 * np.trace(covariance @ inverse_wishart.mean())
    np.testing.assert_allclose(ridgeless.gaussian_bias_variance(30, 6, noise=2.0).variance, expected)
    designs = draw.standard_normal((4000, 30, 6)) @ root.T
    values = ridgeless.ols_variance(designs, covariance, 2.0)
    assert abs(values.mean() - expected) < 5 * values.std() / len(values) ** 0.5


@pytest.mark.item("H13.2")
@pytest.mark.parametrize("features", [5, 20, 30, 50, 60, 200])
def test_prediction_risk_with_some_of_the_coordinates(key, features):
    draw = generator(key)
    beta = draw.standard_normal(200)
    beta /= np.linalg.norm(beta)
    inside = np.sum(beta[:features] ** 2)
    errors = []
    for _ in range(300):
        x = draw.standard_normal((41, 200))
        y = x @ beta + 0.3 * draw.standard_normal(41)
        weights = np.linalg.lstsq(x[:40, :features], y[:40])[0]
        errors.append(np.sum((weights - beta[:features]) ** 2) + 1 - inside + 0.09)
    expected = ridgeless.gaussian_prediction_risk(40, features, inside=inside, outside=1 - inside, noise=0.09)
    assert abs(np.mean(errors) - expected) < 5 * np.std(errors) / 300**0.5


@pytest.mark.item("J7.4")
@pytest.mark.parametrize("gamma", [0.2, 0.5, 0.8, 1.25, 2.0, 4.0])
def test_limit_of_the_exact_risk(gamma):
    limit = ridgeless.limiting_bias_variance(gamma, signal=1.0, noise=0.25)
    for n in (10**4, 10**6):
        exact = ridgeless.gaussian_bias_variance(n, round(gamma * n), signal=1.0, noise=0.25)
        np.testing.assert_allclose(exact, limit, rtol=10 / n)
    assert limit.variance > 0


def test_infinite_at_the_threshold():
    for features in (9, 10, 11):
        assert ridgeless.gaussian_bias_variance(10, features).variance == np.inf
    assert ridgeless.gaussian_bias_variance(10, 10, noise=0.0).risk == 0
    assert ridgeless.gaussian_bias_variance(10, 11, noise=0.5).variance == np.inf
    assert ridgeless.gaussian_bias_variance(10, 12, noise=0.5).variance == 5.0
    assert ridgeless.limiting_bias_variance(1.0, signal=1.0, noise=1.0).risk == np.inf
    assert ridgeless.limiting_bias_variance(1.0, signal=1.0, noise=0.0).risk == 0


def test_minimum_above_the_threshold():
    gamma, value = ridgeless.overparameterized_minimum(signal=1.0, noise=0.25)
    found = scipy.optimize.minimize_scalar(
        lambda g: float(ridgeless.limiting_bias_variance(g, signal=1.0, noise=0.25).risk),
        bounds=(1.1, 50),
        method="bounded",
    )
    assert (gamma, value) == (pytest.approx(found.x, rel=1e-4), pytest.approx(found.fun))
    assert ridgeless.overparameterized_minimum(signal=1.0, noise=2.0) == (np.inf, 1.0)
    curve = ridgeless.limiting_bias_variance(np.geomspace(1.01, 1e4, 500), signal=1.0, noise=2.0).risk
    assert np.all(np.diff(curve) < 0)


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="columns"):
        ridgeless.ols_variance(np.ones((2, 3)), np.eye(3), 1.0)
    with pytest.raises(ValueError, match="gamma"):
        ridgeless.limiting_bias_variance(-1.0, signal=1.0, noise=1.0)
    with pytest.raises(ValueError, match="positive"):
        ridgeless.gaussian_bias_variance(0, 3)


@pytest.mark.parametrize("rows", [3, 12])
def test_filters_of_a_design_that_is_not_of_full_rank(rows):
    design = np.random.default_rng(5).standard_normal((rows, 2)) @ np.random.default_rng(6).standard_normal((2, 6))
    expected = np.linalg.pinv(design, rcond=1e-12)
    for found in (
        filters.pseudo_inverse(design),
        filters.spectral_operator(design, filters.pseudo_inverse_filter),
        filters.spectral_operator(design, filters.gradient_descent_filter(1e-2, 10**6)),
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11)
