"""The one-step classifier against explicit gradients, its exact errors against simulation and adaptive quadrature."""

from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ndtr
from scipy.stats import chi2

from deeptheory.generalization.capacity.uniform_convergence import (
    conditional_test_error,
    expected_flipped_error,
    expected_test_error,
    expected_train_error,
    limiting_flipped_error,
    limiting_test_error,
    margins,
    one_step_classifier,
    signal_noise_sample,
    squared_norm,
)


def explicit_points(sample, coordinates=3, seed=5):
    """The whole vectors in R^{K+D}, with u in a random direction of length 1/√m."""
    m = len(sample.labels)
    u = np.random.default_rng(seed).standard_normal(coordinates)
    u /= np.linalg.norm(u) * np.sqrt(m)
    return np.hstack([sample.signal * sample.labels[:, None] * u, sample.noise])


def test_labels_are_fair_signs(key):
    labels = signal_noise_sample(key, 400, 1).labels
    assert set(labels) == {-1, 1} and abs(labels.sum()) < 120  # six standard deviations of a fair sum


@pytest.mark.item("A5.16")
def test_one_gradient_step_on_the_whole_vectors(key):
    sample = signal_noise_sample(key, 7, 11, noise=1.7, signal=2.0)
    points = explicit_points(sample)
    weights = jax.grad(lambda w: jnp.sum(sample.labels * (points @ w)))(jnp.zeros(points.shape[1]))
    classifier = one_step_classifier(sample)
    np.testing.assert_allclose(weights[3:], classifier.across, rtol=1e-12)
    np.testing.assert_allclose(sample.labels * (points @ weights), margins(classifier, sample), rtol=1e-12)
    assert float(squared_norm(classifier, 7)) == pytest.approx(float(weights @ weights), rel=1e-12)


@pytest.mark.item("A5.16", "H9.3")
@pytest.mark.parametrize(("samples", "dimension", "noise", "signal"), [(40, 200, 1.0, 1.0), (50, 5000, 32.0, 2.0)])
def test_conditional_error_counts_fresh_points(key, samples, dimension, noise, signal):
    first, second = jax.random.split(key)
    classifier = one_step_classifier(signal_noise_sample(first, samples, dimension, noise=noise, signal=signal))
    fresh = signal_noise_sample(second, 2000, dimension, noise=noise, signal=signal)
    predicted = float(conditional_test_error(classifier, noise=noise, signal=signal))
    observed = np.mean(margins(classifier, fresh) < 0)
    assert abs(observed - predicted) < 5 * np.sqrt(predicted * (1 - predicted) / 2000)


@pytest.mark.parametrize("dimension", [1, 2, 9, 300])
def test_expected_errors_agree_with_adaptive_quadrature(dimension):
    m, c, a = 7, 1.3, 1.1

    def mean(function):
        edges = chi2.ppf([1e-15, 0.1, 0.5, 0.9, 1 - 1e-15], dimension)
        pieces = zip([0.0, *edges], [*edges, edges[-1] * 2], strict=True)
        return sum(quad(lambda r: chi2.pdf(r, dimension) * function(r), *piece, epsabs=1e-13)[0] for piece in pieces)

    def own(sign):
        return mean(
            lambda r: ndtr(-(a * a + sign * c / dimension * r) / (c / dimension * np.sqrt(r * (m - 1)) + 1e-300))
        )

    test = mean(lambda r: ndtr(-a * a / (c / dimension * np.sqrt(m * r) + 1e-300)))
    assert expected_test_error(m, dimension, noise=c, signal=a) == pytest.approx(test, abs=1e-10)
    assert expected_train_error(m, dimension, noise=c, signal=a) == pytest.approx(own(1), abs=1e-10)
    assert expected_flipped_error(m, dimension, noise=c, signal=a) == pytest.approx(own(-1), abs=1e-10)


@pytest.mark.item("A5.17")
def test_errors_on_the_sample_agree_with_simulation(key):
    m, dimension, c = 20, 60, 1.5
    sample = signal_noise_sample(key, m, dimension, noise=c, batch=(400,))
    train = np.mean(margins(one_step_classifier(sample), sample) < 0, axis=1)
    flipped = np.mean(margins(one_step_classifier(sample.flipped()), sample) < 0, axis=1)
    for observed, predicted in [
        (train, expected_train_error(m, dimension, noise=c)),
        (flipped, expected_flipped_error(m, dimension, noise=c)),
    ]:
        assert abs(np.mean(observed) - predicted) < 5 * np.std(observed) / 20


def test_the_twin_has_the_same_labels_and_the_opposite_noise(key):
    sample = signal_noise_sample(key, 5, 7, noise=2.0, signal=3.0)
    twin = sample.flipped()
    np.testing.assert_array_equal(twin.labels, sample.labels)
    np.testing.assert_array_equal(twin.noise, -sample.noise)
    assert twin.signal == sample.signal == 3.0


@pytest.mark.item("A5.16", "A5.17", "H9.3")
def test_closed_forms_are_the_limits_in_the_dimension():
    for noise, signal in [(1.0, 1.0), (2.0, 1.0), (8.0, 2.0)]:
        gaps = [
            (
                abs(
                    expected_test_error(m, 4 * m, noise=noise, signal=signal)
                    - limiting_test_error(m, 4 * m, noise=noise, signal=signal)
                ),
                abs(
                    expected_flipped_error(m, 4 * m, noise=noise, signal=signal)
                    - limiting_flipped_error(m, 4 * m, noise=noise, signal=signal)
                ),
            )
            for m in (25, 100, 400, 1600)
        ]
        for wide, narrow in pairwise(gaps):
            assert narrow[0] < wide[0] / 3 and (narrow[1] < wide[1] / 1.8 or narrow[1] < 1e-12)
    assert limiting_test_error(50, 5000, noise=32.0, signal=2.0) == pytest.approx(ndtr(-10 / 8))


@pytest.mark.item("A5.17")
def test_pruning_the_noise_weights_leaves_no_gap(key):
    sample = signal_noise_sample(key, 20, 200, noise=2.0)
    pruned = one_step_classifier(sample).pruned()
    assert float(conditional_test_error(pruned, noise=2.0)) == 0.0
    assert np.all(margins(pruned, sample) > 0) and np.all(margins(pruned, sample.flipped()) > 0)


def test_bad_input_is_refused(key):
    with pytest.raises(ValueError, match=r"must .*1.*, got 0"):
        signal_noise_sample(key, 0, 5)
    with pytest.raises(ValueError, match="noise must "):
        expected_test_error(5, 5, noise=-1.0)
