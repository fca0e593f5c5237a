import jax
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import jv

from deeptheory.approximation.separation import (
    ball_density_cdf,
    ball_root_density,
    best_ridge_error,
    covered_share,
    draw_ball_density,
    limiting_tube_share,
    one_layer_floor,
    radial_energy,
    sphere_tube_share,
    tube_share,
    unit_volume_radius,
)


def ball_volume(dimension):
    return 2.0 if dimension == 1 else np.pi if dimension == 2 else ball_volume(dimension - 2) * 2 * np.pi / dimension


@pytest.mark.parametrize("dimension", [1, 2, 3, 7])
def test_the_ball_has_volume_one(dimension):
    assert ball_volume(dimension) * unit_volume_radius(dimension) ** dimension == pytest.approx(1.0)


@pytest.mark.item("L4.16")
@pytest.mark.parametrize("dimension", [1, 2, 3, 6, 11])
def test_root_density_is_the_integral_over_the_ball(dimension):
    radius = unit_volume_radius(dimension)
    slices = 1.0 if dimension == 1 else ball_volume(dimension - 1)
    for distance in (0.0, 1e-6, 0.3, 1.1, 2.4):
        # Slices of the ball at height u have volume V_{n−1}(R² − u²)^((n−1)/2); u = R sin t.
        expected = quad(
            lambda t, s=distance: (radius * np.cos(t)) ** dimension * np.cos(2 * np.pi * s * radius * np.sin(t)),
            -np.pi / 2, np.pi / 2,
        )[0]  # fmt: skip
        assert ball_root_density(np.array([distance]), dimension)[0] == pytest.approx(slices * expected, abs=1e-10)
    # In one dimension it is the sinc.
    x = np.array([0.2, 1.7])
    np.testing.assert_allclose(ball_root_density(x, 1), np.sin(np.pi * x) / (np.pi * x), atol=1e-14)


@pytest.mark.item("L4.16")
@pytest.mark.parametrize("dimension", [1, 2, 5, 20])
def test_mass_within_a_distance(dimension):
    end = 2 * np.pi * unit_volume_radius(dimension) * 2.5
    expected = dimension * quad(lambda z: jv(dimension / 2, z) ** 2 / z if z else 0.0, 0, end, limit=200)[0]
    assert ball_density_cdf(np.array([2.5]), dimension)[0] == pytest.approx(expected, abs=1e-9)
    assert 0.98 < ball_density_cdf(np.array([60.0]), dimension)[0] < 1


@pytest.mark.parametrize("dimension", [1, 3, 20])
def test_points_follow_the_density(dimension):
    x = draw_ball_density(jax.random.key(1), dimension, 20_000)
    at = np.linspace(0.1, 1.5, 8) * np.sqrt(dimension)
    share = np.mean(np.linalg.norm(x, axis=1)[:, None] <= at, axis=0)
    np.testing.assert_allclose(share, ball_density_cdf(at, dimension), atol=5 * 0.5 / np.sqrt(20_000))
    assert abs(np.mean(x[:, 0] > 0) - 0.5) < 0.02


@pytest.mark.item("L4.17")
@pytest.mark.parametrize(("dimension", "ratio"), [(2, 1.5), (3, 2.0), (20, 2.0), (20, np.e), (20, 4.0)])
def test_one_tube_by_slices(dimension, ratio):
    # Discs at distance ρ from the line, n − 1 dimensional, each with a chord of length 2√(r² − ρ²).
    slices = quad(lambda rho: rho ** (dimension - 2) * 2 * np.sqrt(ratio**2 - rho**2), 0, 1)[0]
    expected = (dimension - 1) * ball_volume(dimension - 1) * slices / (ball_volume(dimension) * ratio**dimension)
    assert tube_share(dimension, ratio) == pytest.approx(expected, rel=1e-9)


def test_one_tube_in_low_dimension():
    assert tube_share(1, 3.0) == 1.0
    # In the plane a tube covers of a large circle four arcs of arcsin(1/r).
    assert sphere_tube_share(np.array([2.0]), 2)[0] == pytest.approx(4 * np.arcsin(0.5) / (2 * np.pi))
    np.testing.assert_allclose(sphere_tube_share(np.array([0.5, 1.0]), 4), 1.0)
    assert limiting_tube_share(300, 2.0) / tube_share(300, 2.0) == pytest.approx(1.0, abs=0.01)


def test_covered_points_by_hand():
    points = np.array([[5.0, 0.9], [3.0, 3.5], [1.1, -7.0], [0.2, 0.1]])
    assert covered_share(points, np.array([[2.0, 0.0]])) == 0.5
    assert covered_share(points, np.array([[2.0, 0.0], [1.0, 1.0]])) == 0.75


@pytest.mark.item("L4.15")
@pytest.mark.parametrize("dimension", [2, 3])
def test_energy_by_a_plain_transform(dimension):
    def target(s):
        return np.cos(3 * s)

    edges, rho = np.array([0.2, 0.5, 1.1]), np.array([0.4, 1.7])
    found = radial_energy(target, edges, dimension, rho)
    for frequency, energy in zip(rho, found, strict=True):
        # The sphere's transform is J₀(2πρs) in the plane and sin(2πρs)/(2πρs) in space, times its area.
        def sphere(s, f=frequency):
            z = 2 * np.pi * f * s
            return 2 * np.pi * s * jv(0, z) if dimension == 2 else 4 * np.pi * s**2 * np.sin(z) / z

        by_hand = quad(
            lambda s: target(s) * ball_root_density(np.array([s]), dimension)[0] * sphere(s), 0.2, 1.1, limit=100
        )[0]
        area = 2 * np.pi * frequency if dimension == 2 else 4 * np.pi * frequency**2
        assert energy == pytest.approx(area * by_hand**2, rel=1e-8)


@pytest.mark.item("L4.15")
def test_floor_of_no_units_is_all_energy_and_falls_with_the_width():
    rho = np.linspace(0.01, 6, 200)
    energy = np.exp(-rho)
    floors = [one_layer_floor(energy, rho, 3, width) for width in (0, 1, 4, 1000)]
    assert floors[0] == pytest.approx(np.trapezoid(energy, rho))
    assert floors[0] > floors[1] > floors[2] > floors[3] == 0
    # In space a tube covers of a sphere the share 1 − √(1 − 1/r²).
    ratio = np.maximum(rho / unit_volume_radius(3), 1.0)
    assert floors[1] == pytest.approx(np.trapezoid(energy * np.sqrt(1 - ratio**-2.0), rho), rel=1e-12)


@pytest.mark.item("L4.15")
@pytest.mark.parametrize("dimension", [2, 3, 6])
def test_best_function_of_one_direction_by_bins(dimension):
    edges = np.sqrt(dimension) * np.array([0.2, 0.45, 0.8])

    def target(s):
        return np.where(s < edges[0], 0.0, np.where(s < edges[1], 1.0, np.where(s < edges[2], -1.0, 0.0)))

    x = draw_ball_density(jax.random.key(3), dimension, 200_000)
    values = target(np.linalg.norm(x, axis=1))
    bins = np.clip(np.floor(np.abs(x[:, 0]) / edges[-1] * 60).astype(int), 0, 60)
    means = np.bincount(bins, values, 61) / np.maximum(np.bincount(bins, minlength=61), 1)
    binned = np.mean((values - means[bins]) ** 2)
    assert best_ridge_error(target, edges, dimension) == pytest.approx(binned, abs=0.006)


def test_a_tube_reaches_as_far_as_its_radius():
    points = np.array([[5.0, 0.0], [5.0, 2.9], [-5.0, -2.9], [5.0, 3.1], [0.0, 3.0]])
    assert covered_share(points, np.array([[2.0, 0.0]]), radius=3.0) == pytest.approx(4 / 5)
