import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import multivariate_normal

from deeptheory.generative.autoencoders import (
    GaussianNet,
    VariationalAutoencoder,
    bound_terms,
    gaussian_encoder_divergence,
    importance_bound,
    init_variational_autoencoder,
    net_output,
    sample_autoencoder,
    standard_grid_evidence,
    train_variational_autoencoder,
)

POINTS = np.random.default_rng(0).standard_normal((5, 3))


@pytest.mark.item("A14.11")
def test_bounds_lie_in_order_below_the_evidence():
    model = init_variational_autoencoder(jax.random.key(0), 3, latent=1, hidden=8)
    noise = np.random.default_rng(1).standard_normal((4096, 5, 1))
    evidence = np.asarray(standard_grid_evidence(model, POINTS))
    terms = np.asarray(bound_terms(model, POINTS, noise))
    error = 6 * terms.std(0) / 64
    many = np.asarray(importance_bound(model, POINTS, noise))
    assert np.all(terms.mean(0) < evidence + error)
    np.testing.assert_allclose(many, evidence, atol=0.1)
    # The mean over many estimates from eight samples each lies between bound and evidence.
    grouped = np.log(np.exp(terms.reshape(512, 8, 5)).mean(1)).mean(0)
    assert np.all(terms.mean(0) < grouped)
    assert np.all(grouped < evidence + error)


@pytest.mark.item("A14.12")
def test_terms_are_logarithms_of_densities():
    model = init_variational_autoencoder(jax.random.key(1), 3, latent=2, hidden=8, floor=1e-9)
    noise = np.random.default_rng(2).standard_normal((1, 5, 2))
    mean, log_scale = (np.asarray(each) for each in net_output(model.encoder, POINTS))
    z = mean + np.exp(log_scale)[:, None] * noise[0]
    centre, log_spread = (np.asarray(each) for each in net_output(model.decoder, z))
    expected = [
        multivariate_normal(centre[i], np.exp(2 * log_spread[i]) * np.eye(3)).logpdf(POINTS[i])
        + multivariate_normal(np.zeros(2), np.eye(2)).logpdf(z[i])
        - multivariate_normal(mean[i], np.exp(2 * log_scale[i]) * np.eye(2)).logpdf(z[i])
        for i in range(5)
    ]
    np.testing.assert_allclose(bound_terms(model, POINTS, noise)[0], expected, rtol=1e-7)
    draws = mean[0] + np.exp(log_scale[0]) * np.random.default_rng(3).standard_normal((100_000, 2))
    logs = multivariate_normal(mean[0], np.exp(2 * log_scale[0]) * np.eye(2)).logpdf(draws)
    logs -= multivariate_normal(np.zeros(2), np.eye(2)).logpdf(draws)
    exact = float(gaussian_encoder_divergence(mean[0], np.exp(log_scale[0])))
    assert exact == pytest.approx(logs.mean(), abs=6 * logs.std() / 300)


def test_gradient_by_differences():
    model = init_variational_autoencoder(jax.random.key(2), 3, latent=2, hidden=4)
    noise = np.random.default_rng(4).standard_normal((2, 5, 2))

    def bound(shift):
        decoder = model.decoder._replace(shift=shift)
        encoder = model.encoder._replace(shift=shift[:3])
        return jnp.mean(bound_terms(model._replace(encoder=encoder, decoder=decoder), POINTS, noise))

    start = 0.1 * np.arange(4.0)
    slope = np.asarray(jax.jit(jax.grad(bound))(start))
    value = jax.jit(bound)
    for i, step in enumerate(1e-5 * np.eye(4)):
        assert slope[i] == pytest.approx(float(value(start + step) - value(start - step)) / 2e-5, abs=1e-6)


def test_a_decoder_without_hidden_layer_has_the_evidence_of_its_gaussian():
    # A decoder that ignores z: p(x) is one Gaussian, and samples have its spread.
    flat = GaussianNet(np.zeros((1, 2)), np.zeros(2), np.zeros((2, 3)), np.array([0.5, -1.0, np.log(0.8)]))
    model = VariationalAutoencoder(init_variational_autoencoder(jax.random.key(3), 2, latent=1).encoder, flat, 1e-9)
    expected = multivariate_normal([0.5, -1.0], 0.64 * np.eye(2)).logpdf(POINTS[:, :2])
    np.testing.assert_allclose(standard_grid_evidence(model, POINTS[:, :2]), expected, rtol=1e-7)
    draws = np.asarray(sample_autoencoder(np.random.default_rng(5), model, 20_000))
    np.testing.assert_allclose(draws.mean(0), [0.5, -1.0], atol=0.04)
    np.testing.assert_allclose(draws.std(0), 0.8, atol=0.03)
    np.testing.assert_allclose(sample_autoencoder(np.random.default_rng(5), model, 2, noisy=False), [[0.5, -1.0]] * 2)


@pytest.mark.slow
def test_training_reaches_the_evidence_of_the_linear_model():
    # Data on a noisy line: one hidden coordinate explains it, and the bound comes near −entropy.
    draw = np.random.default_rng(6)
    data = draw.standard_normal((4000, 1)) @ np.array([[1.5, -1.0]]) + 0.3 * draw.standard_normal((4000, 2))
    covariance = np.array([[2.25, -1.5], [-1.5, 1.0]]) + 0.09 * np.eye(2)
    best = -0.5 * np.linalg.slogdet(2 * np.pi * np.e * covariance)[1]
    start = init_variational_autoencoder(jax.random.key(4), 2, latent=1, hidden=16)
    _, trace = train_variational_autoencoder(draw, start, data, steps=1500)
    late = np.asarray(trace[-300:])
    assert best - 0.15 < late.mean() < best + 0.05
