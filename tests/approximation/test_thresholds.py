import jax
import numpy as np
import pytest
from scipy.integrate import quad

from deeptheory.approximation.barron import bump_barron_constant
from deeptheory.approximation.thresholds import (
    CosineSum,
    GaussianBump,
    ThresholdNetwork,
    barron_error_bound,
    expected_threshold_error,
    threshold_integral,
    threshold_network,
)

WAVES = CosineSum(np.array([0.5, 1.2]), np.array([[0.7, -0.4], [0.3, 1.1]]), np.array([0.1, 0.35]))


@pytest.mark.item("L4.4")
def test_threshold_integral_is_the_function():
    rng = np.random.default_rng(0)
    x = rng.uniform(-0.7, 0.7, (6, 2))
    found = threshold_integral(x, WAVES.frequencies, WAVES.amplitudes, WAVES.phases)
    np.testing.assert_allclose(found, WAVES(x) - WAVES(np.zeros((1, 2))), atol=1e-12)
    # One wave on the line, with the thresholds as they are printed, by a quadrature that knows where they jump.
    for at in (0.8, -0.6):
        for theta, frequency in ((0.2, 1.3), (0.2, -0.9)):
            right = quad(
                lambda b, x=at, f=frequency, t=theta: (f * x - b >= 0) * np.sin(2 * np.pi * (b + t)),
                0, abs(frequency), points=[min(max(frequency * at, 0), abs(frequency))],
            )[0]  # fmt: skip
            left = quad(
                lambda b, x=at, f=frequency, t=theta: (-f * x + b >= 0) * np.sin(2 * np.pi * (b + t)),
                -abs(frequency), 0, points=[max(min(frequency * at, 0), -abs(frequency))],
            )[0]  # fmt: skip
            one = (np.array([[at]]), np.array([[frequency]]), np.ones(1), np.array([theta]))
            assert threshold_integral(*one)[0] == pytest.approx(2 * np.pi * (left - right), abs=1e-9)


def test_bump_is_drawn_from_its_spectrum():
    bump = GaussianBump(np.array([0.3, -0.2, 0.5]), 0.8)
    frequencies, phases = bump.draw(np.random.default_rng(1), 200_000)
    length = np.linalg.norm(frequencies, axis=1)
    # Under ‖ω‖|f̂|/C the mean of 1/‖ω‖ is ∫|f̂|/C = f's value at its top over C, and that of cos(2πθ)/‖ω‖ is f(0)/C.
    assert np.mean(1 / length) == pytest.approx(1 / bump.barron_constant, rel=0.01)
    at_zero = np.mean(np.cos(2 * np.pi * phases) / length) * bump.barron_constant
    assert at_zero == pytest.approx(bump(np.zeros((1, 3)))[0], abs=0.01)
    assert bump.barron_constant == bump_barron_constant(3, 0.8)


@pytest.mark.item("L4.5")
@pytest.mark.parametrize("radius", [1.0, 1.7])
def test_drawn_networks_are_right_on_average(radius):
    rng = np.random.default_rng(2)
    x = rng.uniform(-0.7, 0.7, (5, 2))
    many = threshold_network(jax.random.key(0), WAVES, 400_000, radius=radius)
    # One unit has standard deviation of at most 4πrC.
    spread = 4 * np.pi * radius * WAVES.barron_constant / np.sqrt(400_000)
    np.testing.assert_allclose(many(x), WAVES(x), atol=5 * spread)


@pytest.mark.item("L4.5")
def test_expected_error_by_integrating_over_one_unit():
    radius, x = 1.3, np.array([[0.5, 0.6], [-0.9, 0.1], [0.0, -1.2]])
    constant = WAVES.barron_constant
    assert constant == pytest.approx(0.5 * np.hypot(0.7, 0.4) + 1.2 * np.hypot(0.3, 1.1))
    second = 0.0
    for amplitude, frequency, phase in zip(WAVES.amplitudes, WAVES.frequencies, WAVES.phases, strict=True):
        length = np.linalg.norm(frequency)
        for point in x:
            for side in (1, -1):
                end = min(max(side * frequency @ point, 0.0), radius * length)
                inner = quad(lambda b, s=side, p=phase: np.sin(2 * np.pi * (s * b + p)) ** 2, 0, end)[0]
                chance = amplitude * length / constant / 2 / (radius * length) / len(x)
                second += chance * (4 * np.pi * radius * constant) ** 2 * inner
    mean = np.mean((WAVES(x) - WAVES(np.zeros((1, 2)))) ** 2)
    found = expected_threshold_error(WAVES, x, 7, radius=radius)
    assert found == pytest.approx((second - mean) / 7, rel=1e-10)
    assert found <= barron_error_bound(constant, 7, radius=radius) == (4 * np.pi * radius * constant) ** 2 / 7


def test_points_outside_the_ball_are_refused():
    with pytest.raises(ValueError, match="ball of radius 1"):
        expected_threshold_error(WAVES, np.array([[0.9, 0.9]]), 3)


def test_other_units_are_put_in_place_of_thresholds():
    network = ThresholdNetwork(np.array([[1.0], [-2.0]]), np.array([0.0, 1.0]), np.array([3.0, -1.0]), 0.5)
    np.testing.assert_allclose(network(np.array([[0.25], [1.0]])), [0.5 + 3 - 1, 0.5 + 3])
    ramp = network(np.array([[0.25], [1.0]]), lambda t: np.clip(t, 0, 1))
    np.testing.assert_allclose(ramp, [0.5 + 0.75 - 0.5, 0.5 + 3])
