"""Kernel averages against sums written out, integrals and simulated neighbourhoods."""

import numpy as np
import pytest
from scipy.integrate import quad

from deeptheory.foundations.randomness import generator
from deeptheory.generalization.interpolation import nadaraya_watson


@pytest.mark.item("J5.3", "J5.4")
@pytest.mark.parametrize("bandwidth", [0.01, 0.4, 5.0])
def test_weights_written_out_and_at_the_data(key, bandwidth):
    draw = generator(key)
    points, queries, values = draw.uniform(size=(30, 2)), draw.uniform(size=(12, 2)), draw.standard_normal(30)
    kernel = nadaraya_watson.singular_kernel(0.6)
    weights = nadaraya_watson.nadaraya_watson_weights(points, queries, kernel=kernel, bandwidth=bandwidth)
    for query, row in zip(queries, weights, strict=True):
        lengths = np.linalg.norm(points - query, axis=1) / bandwidth
        near = [length**-0.6 if length <= 1 else 0.0 for length in lengths]
        np.testing.assert_allclose(row, np.array(near) / sum(near) if sum(near) else np.zeros(30))
    at_data = nadaraya_watson.nadaraya_watson_weights(points, points, kernel=kernel, bandwidth=bandwidth) @ values
    np.testing.assert_array_equal(at_data, values)


def test_values_that_add_up_to_less_than_one_are_normalised_too():
    values = np.array([[0.1, 0.3], [0.0, 0.0]])
    np.testing.assert_allclose(nadaraya_watson.averaging_weights(values), [[0.25, 0.75], [0, 0]])


def test_box_kernel_is_the_mean_within_the_bandwidth():
    points, values = np.array([[0.0], [0.3], [2.0]]), np.array([1.0, 3.0, 50.0])
    weights = nadaraya_watson.nadaraya_watson_weights(
        points, np.array([[0.1], [9.0]]), kernel=nadaraya_watson.box_kernel, bandwidth=0.5
    )
    np.testing.assert_allclose(weights @ values, [2.0, 0.0])


def test_slope_at_data_is_the_difference_quotient(key):
    draw = generator(key)
    points, values = draw.uniform(size=(15, 1)), draw.standard_normal(15)
    expected = nadaraya_watson.slope_at_data(points, values, exponent=0.8, bandwidth=0.5)
    moved = points + 1e-9
    kernel = nadaraya_watson.singular_kernel(0.8)
    there = nadaraya_watson.nadaraya_watson_weights(points, moved, kernel=kernel, bandwidth=0.5) @ values
    np.testing.assert_allclose((there - values) / 1e-9**0.8, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.item("J5.5")
def test_holder_seminorm():
    x = np.linspace(-1, 1, 41)[:, None]
    for smoothness in (0.4, 1.0):
        found = nadaraya_watson.holder_seminorm(x, np.abs(x[:, 0]) ** smoothness, smoothness=smoothness)
        assert found == pytest.approx(1.0)
    assert nadaraya_watson.holder_seminorm(x, 3 * x[:, 0], smoothness=0.5) == pytest.approx(3 * 2**0.5)


@pytest.mark.item("J5.7")
@pytest.mark.parametrize(("dimension", "exponent"), [(1, 0.2), (2, 0.7), (3, 1.2)])
def test_kernel_square_integral(dimension, exponent):
    area = {1: 2.0, 2: 2 * np.pi, 3: 4 * np.pi}[dimension]
    radial = quad(lambda r: r ** (dimension - 1 - 2 * exponent), 0, 1)[0]
    assert nadaraya_watson.kernel_square_integral(dimension, exponent) == pytest.approx(area * radial, rel=1e-6)


@pytest.mark.item("J5.7")
def test_void_probability_and_second_moment(key):
    draw = generator(key)
    lengths = np.linalg.norm(draw.uniform(-1, 1, (20_000, 9, 2)), axis=2)
    mass = np.pi * 0.25 / 4
    empty = np.mean(np.all(lengths > 0.5, axis=1))
    assert abs(empty - np.exp(nadaraya_watson.log_void_probability(mass, 9))) < 5 * (empty / 20_000) ** 0.5
    square = np.mean(nadaraya_watson.singular_kernel(0.4)(lengths / 0.5) ** 2)
    bound = nadaraya_watson.second_moment_bound(9, 2, 0.4, bandwidth=0.5, mass=mass, highest=0.25)
    assert 4 * square / (9 * mass) ** 2 == pytest.approx(bound, rel=0.03)  # uniform density: an equality


@pytest.mark.item("J5.6")
def test_limit_of_the_pointwise_risk_is_a_ratio_of_integrals():
    dimension, exponent, smoothness, density, noise = 2, 0.6, 0.7, 0.3, 0.5
    first, shifted, second = (
        2 * np.pi * quad(lambda r, k=k: r ** (1 - k), 0, 1)[0] for k in (exponent, exponent - smoothness, 2 * exponent)
    )
    found = nadaraya_watson.limiting_pointwise_risk(dimension, exponent, smoothness, density=density, noise=noise)
    assert found.bias == pytest.approx((shifted / first) ** 2, rel=1e-6)
    assert found.variance == pytest.approx(noise * second / (first**2 * density), rel=1e-6)
    h = nadaraya_watson.minimax_bandwidth(10_000.0, dimension, smoothness)
    assert h ** (2 * smoothness) == pytest.approx(1 / (10_000 * h**dimension))


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="diverges"):
        nadaraya_watson.kernel_square_integral(2, 1.0)
    with pytest.raises(ValueError, match="exponent"):
        nadaraya_watson.singular_kernel(0.0)
    with pytest.raises(ValueError, match="smoothness"):
        nadaraya_watson.holder_seminorm(np.zeros((2, 1)), np.zeros(2), smoothness=1.5)
    with pytest.raises(ValueError, match="density"):
        nadaraya_watson.limiting_pointwise_risk(2, 0.5, 1.0, density=0.0, noise=1.0)
    with pytest.raises(ValueError, match="bandwidth"):
        nadaraya_watson.nadaraya_watson_weights(
            np.zeros((1, 1)), np.zeros((1, 1)), kernel=nadaraya_watson.box_kernel, bandwidth=0.0
        )
