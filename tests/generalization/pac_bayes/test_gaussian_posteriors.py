"""Drawn networks against answers drawn one by one, divergences against sampled ratios, limits against binomial sums."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import binom

from deeptheory.generalization.pac_bayes.gaussian_posteriors import (
    GaussianNetwork,
    draw_networks,
    gaussian_network,
    monte_carlo_errors,
    monte_carlo_risk,
    network_kl,
    network_outputs,
    sampled_outputs,
    softmax_error,
    train_posterior,
    units,
)

pytestmark = pytest.mark.slow


def small_law(key):
    law = gaussian_network(key, (3, 5, 2), spread=0.8)
    return law._replace(log_scales=tuple(s - 0.3 * i for i, s in enumerate(law.log_scales)))


def test_widths_and_scales_of_the_initial_law(key):
    law = gaussian_network(key, (400, 300, 10), spread=0.5)
    assert [m.shape for m in law.means] == [(300, 401), (10, 301)] and units(law) == 310
    assert float(jnp.std(law.means[0][:, :-1])) == pytest.approx((2 / 400) ** 0.5, rel=0.02)
    assert float(law.log_scales[1][0, 0]) == pytest.approx(np.log(0.5 / 300**0.5), rel=1e-12)
    assert np.all(np.asarray(law.means[0][:, -1]) == 0)


def test_outputs_by_hand():
    first, second = jnp.array([[1.0, -1.0, 0.5], [2.0, 0.0, -1.0]]), jnp.array([[1.0, 3.0, 0.25]])
    value = network_outputs((first, second), np.array([[1.0, 2.0]]))
    assert float(value[0, 0]) == max(1 - 2 + 0.5, 0) + 3 * max(2 - 1, 0) + 0.25


def test_answers_drawn_one_by_one_have_the_law_of_whole_networks(key):
    law, x = small_law(key), np.array([[0.7, -1.2, 0.4]])
    whole = np.asarray(jax.vmap(lambda m: network_outputs(m, x)[0])(draw_networks(key, law, 40_000)))
    noise = np.random.default_rng(0).standard_normal((40_000, units(law)))
    single = np.asarray(sampled_outputs(law, np.repeat(x, 40_000, 0), noise))
    for power in (1, 2, 3):
        a, b = whole**power, single**power
        error = np.sqrt((a.var(0) + b.var(0)) / 40_000)
        assert np.all(np.abs(a.mean(0) - b.mean(0)) < 5 * error)
    product = [(v[:, 0] * v[:, 1]) for v in (whole, single)]  # outputs of one network depend on each other
    assert abs(product[0].mean() - product[1].mean()) < 5 * np.sqrt(sum(v.var() for v in product) / 40_000)


def test_one_layer_errs_as_often_as_the_normal_law_says(key):
    law = GaussianNetwork((jnp.array([[0.0, 0.0], [0.6, 0.1]]),), (jnp.log(jnp.array([[1e-9, 1e-9], [0.5, 0.2]])),))
    x = np.full((50_000, 1), 0.8)
    errors = monte_carlo_errors(key, law, x, np.ones(50_000, int), passes=2, batch=20_000)
    risk = float(ndtr(-(0.6 * 0.8 + 0.1) / np.hypot(0.5 * 0.8, 0.2)))
    assert abs(errors / 100_000 - risk) < 5 * np.sqrt(risk / 100_000)


def test_divergence_against_sampled_ratios(key):
    prior, law = gaussian_network(key, (3, 5, 2), spread=1.0), small_law(jax.random.fold_in(key, 1))
    ratios = np.zeros(20_000)
    for w, m, s, n, t in zip(draw_networks(key, law, 20_000), *law, *prior, strict=True):
        m, s, n, t = map(np.asarray, (m, s, n, t))
        ratios += (t - s + (((w - n) / np.exp(t)) ** 2 - ((w - m) / np.exp(s)) ** 2) / 2).sum((1, 2))
    assert abs(float(network_kl(law, prior)) - ratios.mean()) < 5 * ratios.std() / np.sqrt(20_000)
    assert float(network_kl(law, law)) == 0.0


def test_surrogates_lie_between_zero_and_one_and_become_the_error():
    outputs, labels = jnp.array([[3.0, 1.0, 0.0], [0.0, 50.0, 0.0]]), jnp.array([0, 2])
    np.testing.assert_allclose(softmax_error(outputs, labels, sharpness=40.0), [0, 1], atol=1e-12)


def test_training_lowers_the_bound_it_reports_and_keeps_single_precision(key):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((600, 2))
    labels = (x[:, 0] > 0).astype(int)
    prior = gaussian_network(key, (2, 4, 2), spread=1.0, dtype=np.float32)
    law, (bound, risk, divergence) = train_posterior(
        key, prior, x, labels, loss=softmax_error, epochs=40, batch=100, rate=0.03
    )
    assert law.means[0].dtype == jnp.float32 and bound.shape == (40,)
    assert float(bound[-1]) < float(bound[0]) - 0.1 and float(risk[-1]) < float(bound[-1])
    assert 0 < float(divergence[0]) < float(divergence[-1])
    before, after = (monte_carlo_errors(key, each, x, labels) for each in (prior, law))
    assert after < before / 2


def test_sampled_risk_limit_fails_no_more_often_than_it_says():
    limits = np.asarray(monte_carlo_risk(np.arange(41.0), 40, 0.1))
    for rate in (0.01, 0.2, 0.5):
        assert binom.pmf(np.arange(41), 40, rate) @ (limits < rate) <= 0.1
    assert float(monte_carlo_risk(0, 40, 0.1)) == pytest.approx(1 - 0.1 ** (1 / 40), rel=1e-12)


def test_bad_input_is_refused(key):
    with pytest.raises(ValueError, match="spread must be positive"):
        gaussian_network(key, (2, 2), spread=0.0)
    with pytest.raises(ValueError, match="widths needs"):
        gaussian_network(key, (2,), spread=1.0)
    with pytest.raises(ValueError, match="delta must lie"):
        monte_carlo_risk(1, 10, 1.5)
    with pytest.raises(ValueError, match="batch must lie"):
        train_posterior(
            key, gaussian_network(key, (2, 2), spread=1.0), np.ones((5, 2)), np.ones(5, int), loss=softmax_error,
            epochs=1, batch=6,
        )  # fmt: skip
