"""Isoperimetric quotients, caps and tails against values worked out by hand and by direct integration."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from deeptheory.robustness.isoperimetry import (
    cap_measure,
    isoperimetric_quotient,
    law_of_robustness,
    log_lipschitz_tail,
    log_noise_fitting_chance,
    regular_polygon_quotient,
)


@pytest.mark.item("H2.3")
def test_quotients_by_hand():
    square = np.array([[0.0, 0.0], [2.0, 0.0], [2.0, 2.0], [0.0, 2.0]])
    assert isoperimetric_quotient(square) == pytest.approx(np.pi / 4)
    assert isoperimetric_quotient(square[::-1] + 5) == pytest.approx(np.pi / 4)
    right = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 4.0]])
    assert isoperimetric_quotient(right) == pytest.approx(4 * np.pi * 6 / 144)
    assert regular_polygon_quotient(4) == pytest.approx(np.pi / 4)
    assert regular_polygon_quotient(3) == pytest.approx(np.pi / (3 * np.sqrt(3)))
    assert regular_polygon_quotient(10**4) == pytest.approx(1 - np.pi**2 / 3e8, abs=1e-15)
    with pytest.raises(ValueError, match="at least three"):
        isoperimetric_quotient(np.zeros((2, 2)))


@pytest.mark.item("H2.3")
def test_caps_by_integration():
    # Archimedes: in three dimensions the height is uniform.
    t = np.linspace(-1, 1, 9)
    np.testing.assert_allclose(cap_measure(t, 3), (1 - t) / 2, atol=1e-13)
    for d in (2, 5, 12):
        whole = quad(lambda a, d=d: np.sin(a) ** (d - 2), 0, np.pi)[0]
        part = quad(lambda a, d=d: np.sin(a) ** (d - 2), 0, np.arccos(0.4))[0]
        assert cap_measure(np.array([0.4]), d)[0] == pytest.approx(part / whole, rel=1e-9)


@pytest.mark.item("H2.3")
def test_a_linear_function_of_a_gaussian_obeys_its_tail():
    t = np.linspace(0.01, 2, 50)
    exact = np.log(2) + norm.logsf(t * np.sqrt(30) / 3)  # 3·x₁ on N(0, I/30)
    bound = log_lipschitz_tail(t, lipschitz=3.0, dimension=30)
    assert np.all(exact <= bound)
    assert log_lipschitz_tail(0.5, lipschitz=1.0, dimension=8, constant=2.0) == pytest.approx(np.log(2) - 0.5)


@pytest.mark.item("H2.5")
def test_at_the_least_lipschitz_constant_the_class_fits_with_the_chance_allowed():
    n, d, log_class, epsilon, delta = 4000, 30, 500.0, 0.5, 0.01
    least = law_of_robustness(n, d, log_class=log_class, epsilon=epsilon, delta=delta)
    assert least == pytest.approx(0.5 * np.sqrt(120_000 / (32 * (500 + np.log(200)))))
    chance = np.exp(log_noise_fitting_chance(n, d, log_class=log_class, epsilon=epsilon, lipschitz=least))
    assert chance == pytest.approx(2 * np.exp(-4000 / 128) + delta / 2)
    with pytest.raises(ValueError, match="samples must be at least"):
        law_of_robustness(100, d, log_class=log_class, epsilon=epsilon, delta=delta)


@pytest.mark.item("H2.5")
def test_the_chance_of_one_linear_function_is_below_the_bound():
    # f = L·x₁ clipped never reaches 1 here: mean y·f is normal with variance L²/(nd) given the labels.
    n, d, lipschitz, epsilon = 200, 10, 0.3, 0.4
    exact = norm.logsf(epsilon / 2 * np.sqrt(n * d) / lipschitz)
    assert exact <= log_noise_fitting_chance(n, d, log_class=0.0, epsilon=epsilon, lipschitz=lipschitz)
    # Where functions are all but constant only the mean of the labels is left: 2·exp(−nε²/32).
    assert log_noise_fitting_chance(800, d, log_class=0.0, epsilon=0.4, lipschitz=1e-6) == pytest.approx(np.log(2) - 4)
