from itertools import product

import numpy as np
import pytest

from deeptheory.diffusions.weak_order import (
    diffusion_moments,
    diffusion_transition,
    gaussian_noise,
    hybrid_moments,
    linear_oracle,
    sgd_moments,
    three_losses,
    two_point_noise,
    weak_error,
)

SQUARE, CUBE = np.array([0.0, 0, 1]), np.array([0.0, 0, 0, 1])


@pytest.mark.parametrize("skewness", [0.0, 1.0, -2.5])
def test_two_point_noise_has_its_moments(skewness):
    z = two_point_noise(skewness)
    np.testing.assert_allclose([z.probabilities @ z.values**p for p in range(4)], [1, 0, 1, skewness], atol=1e-12)


def test_gaussian_noise_matches_the_normal_moments():
    z = gaussian_noise(8)
    np.testing.assert_allclose([z.probabilities @ z.values**p for p in (2, 4, 6, 8, 7)], [1, 3, 15, 105, 0], atol=1e-11)


def test_sgd_moments_are_those_of_all_paths():
    oracle = linear_oracle(1.3, two_point_noise(0.7), additive=0.4, multiplicative=0.9)
    eta, start, powers = 0.2, 0.8, np.arange(6)
    expected = np.zeros(6)
    for path in product(range(2), repeat=7):
        x, probability = start, 1.0
        for i in path:
            x -= eta * (oracle.slopes[i] * x - oracle.shifts[i])
            probability *= oracle.probabilities[i]
        expected += probability * x**powers
    np.testing.assert_allclose(sgd_moments(oracle, eta, 7, degree=5, start=start)[-1], expected, rtol=1e-12)


@pytest.mark.item("A12.13")
def test_three_losses_have_their_closed_forms():
    oracle, eta, k, start = three_losses(), 0.1, 15, 2.0
    np.testing.assert_allclose(oracle.mean(), (2, 0), atol=1e-15)
    np.testing.assert_allclose(oracle.variance(), [24, 0, 0], atol=1e-15)
    discrete = sgd_moments(oracle, eta, k, degree=2, start=start)[-1]
    continuous = diffusion_moments(oracle, eta, k, degree=2, start=start)[-1]
    shrink = (1 - 2 * eta) ** (2 * k)
    np.testing.assert_allclose(discrete[1:], [0.8**15 * 2, shrink * 4 + 6 * eta / (1 - eta) * (1 - shrink)], rtol=1e-12)
    assert discrete[2] == pytest.approx(0.67079, abs=5e-6) and continuous[2] == pytest.approx(0.60843, abs=5e-6)


def test_diffusion_moments_are_gaussian_for_additive_noise():
    eta, steps, start, degree = 0.05, 30, 1.5, 6
    moments = diffusion_moments(three_losses(), eta, steps, degree=degree, start=start)[-1]
    t = eta * steps
    mean, deviation = np.exp(-2 * t) * start, np.sqrt(6 * eta * (1 - np.exp(-4 * t)))
    z = gaussian_noise(degree)
    expected = [z.probabilities @ (mean + deviation * z.values) ** p for p in range(degree + 1)]
    np.testing.assert_allclose(moments, expected, rtol=1e-11)


def test_diffusion_moments_are_lognormal_for_multiplicative_noise():
    eta, steps, start = 0.1, 12, 0.7
    oracle = linear_oracle(1.1, two_point_noise(0.0), additive=0.0, multiplicative=1.4)
    moments = diffusion_moments(oracle, eta, steps, degree=5, start=start)[-1]
    p, t = np.arange(6), eta * steps
    np.testing.assert_allclose(moments, start**p * np.exp((-1.1 * p + eta * 1.4**2 * p * (p - 1) / 2) * t), rtol=1e-11)


def test_diffusion_moments_of_mixed_noise_are_the_limit_of_fine_euler_steps():
    eta, t, noise = 0.2, 0.6, gaussian_noise(4)
    coarse = linear_oracle(0.9, noise, additive=0.5, multiplicative=-0.6)
    euler = []
    for h in (0.01, 0.005, 0.0025):  # Euler–Maruyama of the same equation is the oracle amplified by √(η/h)
        euler.append(sgd_moments(coarse.amplified(np.sqrt(eta / h)), h, round(t / h), degree=4, start=1.2)[-1])
    first = [2 * euler[1] - euler[0], 2 * euler[2] - euler[1]]
    extrapolated = (4 * first[1] - first[0]) / 3
    np.testing.assert_allclose(diffusion_moments(coarse, eta, 3, degree=4, start=1.2)[-1], extrapolated, rtol=2e-6)


@pytest.mark.item("A12.16")
def test_local_orders_of_the_three_losses():
    eta = 0.1 / 2.0 ** np.arange(5)
    orders = -np.diff(np.log2([weak_error(three_losses(), e, SQUARE) for e in eta]))
    np.testing.assert_allclose(orders, [0.65, 0.85, 0.93, 0.97], atol=6e-3)


@pytest.mark.item("A12.18")
def test_third_cumulant_of_skewed_noise():
    for eta, expected in ((0.1, 0.353), (0.025, 0.325), (0.00625, 0.319)):
        oracle = linear_oracle(1.0, two_point_noise(-1.0)).amplified(eta**-0.5)
        m = sgd_moments(oracle, eta, round(1 / eta), degree=3, start=0.4)[-1]
        cumulant = m[3] - 3 * m[2] * m[1] + 2 * m[1] ** 3
        assert cumulant / np.sqrt(eta) == pytest.approx(expected, abs=5e-4)
        exact = eta**1.5 * (1 - (1 - eta) ** (3 * round(1 / eta))) / (1 - (1 - eta) ** 3)
        assert cumulant == pytest.approx(exact, rel=1e-10)


@pytest.mark.parametrize(("step", "steps"), [(0.3, 3), (0.1, 10)])
def test_weak_error_goes_to_the_last_step_within_the_horizon(step, steps):
    """Uphill, where errors grow to the end: of the mean, from 2, |(1 + η)ᵏ − e^(kη)| · 2 at the last step k."""
    uphill = linear_oracle(-1.0, two_point_noise(0.0))
    exact = 2 * (np.exp(steps * step) - (1 + step) ** steps)
    assert weak_error(uphill, step, np.array([0.0, 1.0])) == pytest.approx(exact, rel=1e-10)


def test_weak_error_refuses_steps_beyond_the_horizon():
    with pytest.raises(ValueError, match="step must lie in"):
        weak_error(three_losses(), 2.0, CUBE)
    with pytest.raises(ValueError, match=r"the horizon may have at most 1,000,000 steps, got 1\.0 in steps of 1e-300"):
        weak_error(three_losses(), 1e-300, CUBE)


@pytest.mark.item("A12.23")
def test_hybrids_lead_from_the_diffusion_to_the_iteration():
    oracle, settings = linear_oracle(1.0, two_point_noise(1.0), multiplicative=0.5), dict(degree=3, start=0.7)
    hybrids = hybrid_moments(oracle, 0.1, 5, **settings)
    np.testing.assert_allclose(hybrids[0], diffusion_moments(oracle, 0.1, 5, **settings)[-1])
    np.testing.assert_allclose(hybrids[-1], sgd_moments(oracle, 0.1, 5, **settings)[-1])
    by_hand = diffusion_transition(oracle, 0.1, degree=3, time=0.3) @ sgd_moments(oracle, 0.1, 2, **settings)[-1]
    np.testing.assert_allclose(hybrids[2], by_hand)
