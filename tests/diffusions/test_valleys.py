"""Noise along a valley, against steps averaged over all signs, the product rule of D and Itô's formula by symbols."""

import mpmath
import numpy as np
import pytest

from deeptheory.diffusions.valleys import (
    Factors,
    fair_changes,
    gaussian_label_noise,
    isotropic_mean_square_sharpness,
    isotropic_noise,
    label_noise,
    label_noise_imbalance,
    on_the_valley,
    product_descent,
    valley_drift,
)


def test_places_on_the_valley():
    at = on_the_valley(np.array([-1.0, 0.0, 2.0]), target=1.7)
    np.testing.assert_allclose(at.first * at.second, 1.7)
    np.testing.assert_allclose(at.position, [-1, 0, 2], atol=1e-15)
    np.testing.assert_allclose(at.imbalance, 3.4 * np.sinh([-1, 0, 2]))
    np.testing.assert_allclose(at.sharpness, 3.4 * np.cosh([-1, 0, 2]))


def test_label_noise_multiplies_the_imbalance_by_a_known_factor():
    start = Factors(np.full(7, 1.3), np.full(7, 0.4))
    setting = dict(rate=0.1, target=0.6)
    path = product_descent(np.random.default_rng(1), start, label_noise, steps=30, deviation=0.5, **setting)
    # By hand: the step is −η·g·(v, u), so its size along u says what g was.
    g = (path.first[:-1] - path.first[1:]) / (0.1 * path.second[:-1])
    np.testing.assert_allclose(path.imbalance[1:], path.imbalance[:-1] * (1 - 0.01 * g**2), rtol=1e-12)
    noise = g - (path.first * path.second - 0.6)[:-1]
    np.testing.assert_allclose(np.abs(noise), 0.5, rtol=1e-12)
    still = product_descent(np.random.default_rng(1), start, label_noise, steps=400, deviation=0.0, **setting)
    np.testing.assert_allclose(still.first[-1] * still.second[-1], 0.6, rtol=1e-12)


@pytest.mark.parametrize(("noise", "covariance"), [(label_noise, 0), (gaussian_label_noise, 0), (isotropic_noise, 1)])
def test_noises_have_one_trace_and_their_covariance(noise, covariance):
    at = Factors(np.full(200_000, 1.5), np.full(200_000, 0.5))
    found = np.cov(np.stack(noise(np.random.default_rng(0), at, 0.8)))
    expected = [0.64 * np.outer([0.5, 1.5], [0.5, 1.5]), 0.64 * 2.5 / 2 * np.eye(2)][covariance]
    np.testing.assert_allclose(found, expected, atol=0.02)
    assert np.trace(expected) == pytest.approx(1.6)


def test_fair_changes_are_what_is_linear_in_the_noise():
    path = product_descent(
        np.random.default_rng(3), Factors(1.2, 0.7), isotropic_noise, rate=0.05, deviation=0.9, steps=5, target=1.0
    )
    u, v = path.first[:-1], path.second[:-1]
    r = u * v - 1
    kick_u, kick_v = (u - path.first[1:]) / 0.05 - r * v, (v - path.second[1:]) / 0.05 - r * u
    # Terms of D′ − D by their degree in the kicks, multiplied out.
    none = 0.05**2 * r**2 * (v**2 - u**2)
    two = 0.05**2 * (kick_u**2 - kick_v**2)
    np.testing.assert_allclose(fair_changes(path, rate=0.05), np.diff(path.imbalance) - none - two, atol=1e-14)


def test_the_laws_follow_from_itos_formula():
    """D has no drift and moves by √2·σS; x and S² as functions of D, differentiated twice by mpmath."""
    y, variance = 0.7, 0.36

    def drift(function, d):
        return float(mpmath.diff(function, d, 2) * variance * (d**2 + 4 * y**2))

    place = lambda d: mpmath.asinh(d / (2 * y))  # noqa: E731
    assert valley_drift(float(place(1.3)), variance=variance) == pytest.approx(drift(place, 1.3))
    # The mean of S² grows at the rate 2σ² that its drift is a multiple of it.
    assert drift(lambda d: d**2 + 4 * y**2, 1.3) == pytest.approx(2 * variance * (1.3**2 + 4 * y**2))
    assert isotropic_mean_square_sharpness(1.5, 0.4, variance=0.5) == pytest.approx(2.25 * np.exp(0.4))
    # Under label noise the drift of D is −σ²D, and x moves by its slope in D.
    slope = -variance * 1.3 * float(mpmath.diff(place, 1.3))
    assert valley_drift(float(place(1.3)), variance=variance) == pytest.approx(slope)
    assert label_noise_imbalance(2.0, 0.4, variance=0.5) == pytest.approx(2 * np.exp(-0.2))
