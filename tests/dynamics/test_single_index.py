import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp

from deeptheory.dynamics.single_index import (
    critical_ratio,
    descent_time,
    escape_rate,
    fisher_consistent,
    information_exponent,
    mixture_loss,
    mixture_series,
    overlap_velocity,
    principal_component_series,
    teacher_student_series,
)
from deeptheory.foundations.hermite import hermite_coefficients, hermite_link


def normal_mean(function):
    return quad(lambda z: function(z) * np.exp(-z * z / 2) / np.sqrt(2 * np.pi), -12, 12, points=[0.0], limit=200)[0]


@pytest.mark.item("J11.6")
def test_hermite_coefficients_against_closed_forms():
    np.testing.assert_allclose(hermite_coefficients(lambda x: x**2, 4), [1, 0, np.sqrt(2), 0, 0], atol=1e-12)
    relu = hermite_coefficients(jax.nn.relu, 3)
    np.testing.assert_allclose(relu, [1 / np.sqrt(2 * np.pi), 0.5, 0.5 / np.sqrt(np.pi), 0], atol=1e-12)
    for degree in range(5):
        np.testing.assert_allclose(hermite_coefficients(hermite_link(degree), 4), np.eye(5)[degree], atol=1e-11)


@pytest.mark.item("J11.13")
def test_table_of_exponents():
    links = {
        "linear": (lambda x: x, 1),
        "relu": (jax.nn.relu, 1),
        "tanh": (jnp.tanh, 1),
        "square": (lambda x: x**2, 2),
        "cosine": (jnp.cos, 2),
        "hermite 3": (hermite_link(3), 3),
        "cube": (lambda x: x**3, 1),
    }
    for name, (link, exponent) in links.items():
        assert information_exponent(teacher_student_series(link)) == exponent, name
    assert information_exponent(principal_component_series(0.7)) == 2
    assert information_exponent(mixture_series(0.0)) == 2
    assert information_exponent(mixture_series(0.5)) == 1
    assert information_exponent(teacher_student_series(lambda x: x, lambda x: -x)) is None
    assert information_exponent(teacher_student_series(jnp.ones_like)) is None
    assert [critical_ratio(100, k) for k in (1, 2, 4)] == [1, np.log(100), 1e4]


def test_teacher_student_series_is_the_mean_squared_error():
    f, g, m = jnp.tanh, jax.nn.relu, 0.6
    rng = np.random.default_rng(0)
    z = rng.standard_normal((2, 400_000))
    error = (np.tanh(z[0]) - np.maximum(m * z[0] + np.sqrt(1 - m * m) * z[1], 0)) ** 2
    series = teacher_student_series(f, g, degree=40)
    assert np.polynomial.polynomial.polyval(m, series) == pytest.approx(error.mean(), abs=5 * error.std() / 632)


@pytest.mark.parametrize("field", [0.0, 0.5, -1.0])
def test_mixture_series_against_numerical_integration(field):
    series = mixture_series(field)
    first = -np.tanh(field) * normal_mean(lambda z: np.tanh(z + field))
    second = -normal_mean(lambda z: np.cosh(z + field) ** -2)
    np.testing.assert_allclose(series[1:3], [first, second / 2], atol=1e-10)
    share = 1 / (1 + np.exp(-2 * field))

    def loss(m):
        sides = [normal_mean(lambda z, s=s: np.log(np.cosh(z + s * m + field))) for s in (1, -1)]
        return -(share * sides[0] + (1 - share) * sides[1])

    value = np.polynomial.polynomial.polyval(0.3, mixture_series(field, degree=24))
    assert value == pytest.approx(loss(0.3), abs=1e-9)


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_velocity_is_descent_on_the_population_loss_for_small_steps(degree):
    m = np.linspace(-0.5, 0.9, 8)
    series = teacher_student_series(hermite_link(degree))
    slope = np.polynomial.polynomial.polyval(m, np.polynomial.polynomial.polyder(series))
    np.testing.assert_allclose(
        overlap_velocity(hermite_link(degree), m, step=1e-9) / 1e-9, -slope * (1 - m**2), atol=1e-5
    )


def test_velocity_escape_and_descent_in_closed_form():
    # c = 2(a − b): E c² = 8(1 − m); for the second Hermite polynomial E c² = 48 at m = 0.
    m, step = np.array([0.2, 0.7]), 0.3
    expected = 2 * step * (1 - m**2) - 4 * step**2 * m * (1 - m)
    np.testing.assert_allclose(overlap_velocity(hermite_link(1), m, step=step), expected, rtol=1e-10)
    assert escape_rate(hermite_link(2), step=0.1) == pytest.approx(4 * 0.1 - 24 * 0.01, rel=1e-6)
    small = (-1 / 0.9 + np.arctanh(0.9) + 1 / 0.5 - np.arctanh(0.5)) / 6
    assert 1e-7 * descent_time(hermite_link(3), 0.5, 0.9, step=1e-7) == pytest.approx(small, rel=1e-4)
    time = descent_time(jnp.cos, 0.5, 0.9, step=0.5)
    path = solve_ivp(lambda s, y: overlap_velocity(jnp.cos, y, step=0.5, nodes=32), (0, time), [0.5], rtol=1e-9)
    assert path.y[0, -1] == pytest.approx(0.9, abs=1e-6)


def test_too_long_a_step_never_descends():
    with pytest.raises(ValueError, match="does not grow"):
        descent_time(hermite_link(2), 0.01, 0.5, step=0.5)


@pytest.mark.item("J11.4")
def test_mixture_loss_against_numerical_integration():
    for field in (0.5, -1.0):
        share = np.exp(field) / (np.exp(field) + np.exp(-field))
        sides = [normal_mean(lambda z, s=s, h=field: np.log(np.cosh(z + 0.7 * s + h))) for s in (1, -1)]
        assert mixture_loss(0.7, field) == pytest.approx(-(share * sides[0] + (1 - share) * sides[1]), abs=1e-10)
        value = np.polynomial.polynomial.polyval(0.3, mixture_series(field, degree=24))
        assert mixture_loss(np.array([0.3, 0.7]), field)[0] == pytest.approx(value, abs=1e-9)


@pytest.mark.item("J11.12")
def test_consistency_is_the_sign_of_the_slope_inside():
    assert fisher_consistent(np.array([1.0, -1.0]))
    assert fisher_consistent(np.array([0.0, 0.0, 0.0, -2.0]))
    assert not fisher_consistent(np.array([0.0, 1.0]))
    # φ′ = −(m − ½)² touches zero at one half; −(m − ½)(m − 2) changes sign there; 2 lies outside.
    assert not fisher_consistent(np.array([0.0, -0.25, 0.5, -1 / 3]))
    assert not fisher_consistent(np.array([0.0, -1.0, 1.25, -1 / 3]))
    assert fisher_consistent(np.array([0.0, -2.0, 0.5]))
    assert not fisher_consistent(np.array([3.0]))
