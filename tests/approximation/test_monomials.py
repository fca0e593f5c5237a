import mpmath
import numpy as np
import pytest

from deeptheory.approximation.errors import measured_error
from deeptheory.approximation.monomials import (
    derivatives_at,
    lively_point,
    monomial_error_term,
    monomial_network,
    polynomial_network,
)
from deeptheory.approximation.polynomials import bernstein_polynomial
from deeptheory.foundations.activations import sigmoid

X = np.linspace(-1, 1, 41)


@pytest.mark.item("L3.9")
@pytest.mark.parametrize(
    ("activation", "exact"),
    [(np.tanh, mpmath.tanh), (sigmoid, lambda z: 1 / (1 + mpmath.exp(-z))), (np.exp, mpmath.exp)],
)
def test_derivatives_are_those_of_mpmath(activation, exact):
    expected = [[float(mpmath.diff(exact, b, k)) for k in range(7)] for b in (0.0, 0.5)]
    np.testing.assert_allclose(derivatives_at(activation, np.array([0.0, 0.5]), 6), expected, rtol=1e-9, atol=1e-11)


def test_what_is_not_analytic_is_refused():
    with pytest.raises(ValueError, match="has poles or jumps there"):
        derivatives_at(lambda z: np.maximum(z.real, 0), np.array([0.3]), 3)


@pytest.mark.item("L3.11")
def test_a_lively_point_has_no_vanishing_derivative():
    for activation in (np.tanh, sigmoid, np.cos):
        found = lively_point(activation, 6)
        assert np.abs(found.derivatives).min() > 0.01
        origin = derivatives_at(activation, np.zeros(1), 6)[0]
        assert np.abs(origin).min() < 1e-12
    with pytest.raises(ValueError, match="vanishing derivative"):
        lively_point(lambda z: z**3 - z, 4)


@pytest.mark.item("L3.9")
@pytest.mark.parametrize("power", [0, 1, 2, 3])
def test_differences_are_monomials_to_leading_order(power):
    for centred in (False, True):
        step = 0.01
        network = monomial_network(power, np.tanh, 0.5, step, centred=centred)
        error = network(X[:, None]) - X**power
        assert network.units == power + 1
        term = monomial_error_term(power, np.tanh, 0.5, step, X, centred=centred)
        np.testing.assert_allclose(error, term, atol=0.06 * np.abs(term).max() + 1e-8)
    with pytest.raises(ValueError, match="vanishes"):
        monomial_network(2, np.tanh, 0.0, 0.1)


def test_the_second_difference_by_hand():
    # cos at 0: (cos 2hx − 2 cos hx + 1)/(−h²)
    network = monomial_network(2, np.cos, 0.0, 0.1)
    np.testing.assert_allclose(network(X[:, None]), (np.cos(0.2 * X) - 2 * np.cos(0.1 * X) + 1) / -0.01, atol=1e-12)


@pytest.mark.item("L3.9")
def test_from_a_function_to_bernstein_to_a_network():
    polynomial = bernstein_polynomial(np.sin, 3)
    network = polynomial_network(polynomial.powers(), np.tanh, 0.5, 1e-3)
    assert network.units == 4
    gap = measured_error(network, lambda x: polynomial(x[..., 0]), np.zeros(1), np.ones(1))
    singles = [
        measured_error(monomial_network(k, np.tanh, 0.5, 1e-3), lambda x, k=k: x[..., 0] ** k, np.zeros(1), np.ones(1))
        for k in range(4)
    ]
    assert gap <= np.abs(polynomial.powers()) @ singles < 0.01


@pytest.mark.parametrize("radius", [2.0, 5.0, 10.0])
def test_a_circle_around_poles_is_refused(radius):
    """The integral exists on every circle, and is no derivative."""
    with pytest.raises(ValueError, match="has poles or jumps there"):
        derivatives_at(np.tanh, np.array([0.5]), 3, radius=radius)
    assert derivatives_at(np.cos, np.array([0.0]), 2, radius=radius)[0, 2] == pytest.approx(-1)


def test_a_circle_too_small_for_the_order_is_refused():
    with pytest.raises(ValueError, match="radius must lie in"):
        derivatives_at(np.tanh, np.array([0.5]), 3, radius=1e-6)
