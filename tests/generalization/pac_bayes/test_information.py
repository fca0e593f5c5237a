"""Information against entropies, gaps and stability against brute enumeration, the witness against all its patterns."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import entropy

from deeptheory.foundations.concentration import bernoulli_proxy
from deeptheory.generalization.pac_bayes.information import (
    coordinate_information,
    enumerate_samples,
    expected_gap,
    gaussian_mean_information,
    information_bound,
    mutual_information,
    on_average_stability,
    sample_information,
    zero_loss_witness,
)

LAW = np.array([0.2, 0.3, 0.5])


def problem():
    rng = np.random.default_rng(0)
    return rng.random((4, 3)), rng.dirichlet(np.full(4, 0.5), 9)


def test_samples_are_all_listed_with_their_probabilities():
    listed = enumerate_samples(LAW, 2)
    assert [tuple(row) for row in listed.outcomes] == list(product(range(3), repeat=2))
    np.testing.assert_allclose(listed.law, np.outer(LAW, LAW).ravel())


def test_information_against_entropies():
    joint = np.random.default_rng(1).dirichlet(np.ones(12)).reshape(3, 4)
    expected = entropy(joint.sum(0)) + entropy(joint.sum(1)) - entropy(joint.ravel())
    assert mutual_information(joint) == pytest.approx(expected, rel=1e-12)
    assert mutual_information(np.outer(LAW, LAW)) == pytest.approx(0, abs=1e-15)
    assert mutual_information(np.diag(LAW)) == pytest.approx(entropy(LAW))


def test_gap_and_stability_against_loops():
    losses, channel = problem()
    listed = enumerate_samples(LAW, 2)
    gap = stability = 0.0
    for s, (a, b) in enumerate(product(range(3), repeat=2)):
        for h in range(4):
            gap += LAW[a] * LAW[b] * channel[s, h] * (losses[h] @ LAW - (losses[h, a] + losses[h, b]) / 2)
            for c in range(3):
                chance = LAW[a] * LAW[b] * LAW[c] / 2
                stability += chance * (channel[3 * c + b, h] - channel[s, h]) * losses[h, a]
                stability += chance * (channel[3 * a + c, h] - channel[s, h]) * losses[h, b]
    assert expected_gap(listed, channel, losses, LAW) == pytest.approx(gap, rel=1e-12)
    assert on_average_stability(listed, channel, losses, LAW) == pytest.approx(stability, rel=1e-12)
    assert gap == pytest.approx(stability, rel=1e-12)


def test_information_of_one_place():
    _, channel = problem()
    listed = enumerate_samples(LAW, 2)
    first = np.einsum("abh,a,b->ah", channel.reshape(3, 3, 4), LAW, LAW)
    parts = coordinate_information(listed, channel)
    assert parts[0] == pytest.approx(mutual_information(first), rel=1e-12)
    assert parts.sum() <= sample_information(listed, channel)


def test_gaussian_information_by_the_determinant_of_a_covariance():
    n, spread, noise = 4, 1.3, 0.6
    variance = spread**2 / n
    joint = np.array([[variance, variance], [variance, variance + noise**2]])
    expected = 0.5 * np.log(joint[0, 0] * joint[1, 1] / np.linalg.det(joint))
    assert gaussian_mean_information(n, spread=spread, noise=noise) == pytest.approx(expected, rel=1e-12)
    assert np.isinf(gaussian_mean_information(n, spread=spread, noise=0.0))


def test_proxy_is_the_smallest_that_works():
    tilts = np.linspace(-30, 30, 6001)
    tilts = tilts[tilts != 0]
    for p in (0.01, 0.2, 0.5, 0.9):
        needed = 2 * (np.log(1 - p + p * np.exp(tilts)) - p * tilts) / tilts**2
        assert float(bernoulli_proxy(p)) == pytest.approx(needed.max(), rel=1e-5)


def test_witness_against_all_patterns_of_losses():
    p, k = 0.3, 5
    patterns = np.array(list(product((0, 1), repeat=k)))
    law = np.prod(np.where(patterns == 0, p, 1 - p), axis=1)
    channel = np.where((patterns == 0).any(1, keepdims=True), patterns == 0, True).astype(float)
    channel /= channel.sum(1, keepdims=True)
    listed = enumerate_samples(law, 1)
    gap, information = zero_loss_witness(p, k)
    assert gap == pytest.approx(expected_gap(listed, channel, patterns.T.astype(float), law), rel=1e-12)
    assert information == pytest.approx(sample_information(listed, channel), rel=1e-12)


def test_the_variance_is_not_enough_for_rare_losses():
    printed, corrected = (0.529, 0.297, 0.115), (0.949, 0.976, 0.981)
    for (p, k), low, high in zip(((0.05, 60), (0.01, 300), (0.001, 3000)), printed, corrected, strict=True):
        gap, information = zero_loss_witness(p, k)
        assert float(information_bound(information, 1, proxy=p * (1 - p))) == pytest.approx(low, abs=6e-4)
        assert float(information_bound(information, 1, proxy=float(bernoulli_proxy(p)))) == pytest.approx(
            high, abs=6e-4
        )
        assert low < gap < high


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="sum to 1"):
        enumerate_samples(np.array([0.2, 0.2]), 2)
    with pytest.raises(ValueError, match="probability must lie"):
        bernoulli_proxy(1.0)
    with pytest.raises(ValueError, match="noise must "):
        gaussian_mean_information(3, spread=1.0, noise=-1.0)


def test_small_noise_and_small_chances_keep_their_digits():
    assert gaussian_mean_information(4, spread=1.0, noise=1e-200) == pytest.approx(np.log(1e200) - np.log(2), rel=1e-12)
    assert zero_loss_witness(1e-20, 3)[0] == pytest.approx(2e-20, rel=1e-12)
    assert zero_loss_witness(1.0, 3)[0] == zero_loss_witness(0.5, 1)[0] == 0.0
