"""Taylor's remainders and mean values against mpmath and by hand."""

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

from deeptheory.calculus.mean_values import (
    gradient_change,
    mean_value_points,
    mean_value_surplus,
    segment_integral,
    weighted_curvature,
)
from deeptheory.calculus.taylor import (
    integral_remainder,
    lagrange_points,
    remainder_bound,
    taylor_coefficients,
    taylor_remainder,
)


@pytest.mark.item("L1.5")
def test_coefficients_against_mpmath():
    mpmath.mp.dps = 30
    theirs = [float(each) for each in mpmath.taylor(lambda x: mpmath.exp(mpmath.sin(x)), 0.4, 6)]
    assert np.allclose(taylor_coefficients(lambda x: jnp.exp(jnp.sin(x)), 0.4, 6), theirs, rtol=1e-12)


@pytest.mark.item("L1.5")
@pytest.mark.parametrize("order", [0, 1, 3])
def test_the_remainders_are_one(order):
    """f less its polynomial, the integral, Lagrange's form at every point found; and no more than the certain bound."""
    x = np.array([-0.7, 0.2, 1.1])
    by_definition = taylor_remainder(jnp.log1p, 0.1, x, order)
    by_integral = integral_remainder(jnp.log1p, 0.1, x, order)
    assert np.allclose(by_definition, by_integral, rtol=1e-10, atol=1e-15)
    for place, remainder in zip(x, by_integral, strict=True):
        points = lagrange_points(jnp.log1p, 0.1, float(place), order)
        highest = (-1.0) ** order / (order + 1) * (1 + points) ** -(order + 1.0)  # f⁽ᵏ⁺¹⁾/(k + 1)! of log(1 + x)
        assert len(points) == 1 and np.allclose(highest * (place - 0.1) ** (order + 1), remainder, rtol=1e-9)
        assert min(0.1, place) < points[0] < max(0.1, place)
        bound = remainder_bound(jnp.log1p, 0.1, float(place), order)
        end = abs((place - 0.1) / (1 + min(0.1, place))) ** (order + 1) / (order + 1)
        assert bound.lower <= end * (1 + 1e-12) and abs(remainder) < end * (1 - 1e-12) <= bound.upper <= 1.01 * end


@pytest.mark.item("L1.6")
def test_mean_values_of_a_cubic():
    """f(x) = x³ on [0, 1] has its mean slope 1 at 1/√3, on [−1, 1] at ±1/√3; also along a segment in the plane."""

    def cubic(x):
        return x[0] ** 3

    assert np.allclose(mean_value_points(cubic, np.zeros(1), np.ones(1)), 3**-0.5, rtol=1e-12)
    shares = mean_value_points(cubic, -np.ones(1), 2 * np.ones(1))
    assert np.allclose(2 * shares - 1, [-(3**-0.5), 3**-0.5], rtol=1e-12)
    assert segment_integral(cubic, -np.ones(1), 2 * np.ones(1)) == pytest.approx(2.0, rel=1e-13)


@pytest.mark.item("L1.6")
def test_no_point_serves_all_entries_of_a_curve():
    """Once around the circle nothing changes, and the derivative has length 2π everywhere."""

    def circle(x):
        return jnp.array([jnp.cos(x[0]), jnp.sin(x[0])])

    around = mean_value_surplus(circle, np.zeros(1), np.array([2 * np.pi]), np.linspace(0, 1, 50))
    assert np.allclose(np.linalg.norm(around, axis=1), 2 * np.pi)
    assert np.allclose(segment_integral(circle, np.zeros(1), np.array([2 * np.pi])), 0, atol=1e-12)


@pytest.mark.item("L1.7")
def test_second_order_by_hand():
    """f = x³ from 0 to 1: the remainder is 1 with the weight 1 − t, and 3/2 with the printed ½."""

    def cubic(x):
        return x[0] ** 3

    zero, one = np.zeros(1), np.ones(1)
    assert weighted_curvature(cubic, zero, one) == pytest.approx(1.0, rel=1e-13)
    assert weighted_curvature(cubic, zero, one, lambda t: 0.5 + 0 * t) == pytest.approx(1.5, rel=1e-13)
    function, x, y = lambda z: jnp.exp(z[0]) * jnp.sin(z[1]), np.array([0.1, 0.4]), np.array([-0.5, 1.0])
    change = jax.grad(function)(x + y) - jax.grad(function)(x)
    assert np.allclose(gradient_change(function, x, y), change, rtol=1e-11)
