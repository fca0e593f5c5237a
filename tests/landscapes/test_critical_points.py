"""Critical points against roots of polynomials, Lanczos against dense eigenvalues, kinds against functions by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from deeptheory.landscapes.critical_points import (
    distinct_points,
    find_critical_points,
    improvement,
    inertia,
    is_direction_of_improvement,
    is_second_order_stationary,
    kind_of_point,
    least_curvature,
    on_vectors,
    sphere_extremes,
)
from deeptheory.landscapes.obstacles import TiltedWell, flow_time_in_well, tilted_well_critical_points

QUADRATIC = jnp.diag(jnp.array([3.0, 1.0, -2.0]))


def bowl(w):
    return w @ QUADRATIC @ w / 2


@pytest.mark.item("A6.3")
def test_global_local_and_spurious_minima_of_a_tilted_well():
    roots = np.sort(np.roots([1, 0, -1, 0.3 / 4]).real)
    np.testing.assert_allclose(tilted_well_critical_points(0.3), roots, rtol=1e-12)
    found = find_critical_points(TiltedWell(0.3), jnp.linspace(-1.5, 1.5, 13)[:, None])
    kept = distinct_points(found.position)
    places, order = np.asarray(found.position)[kept, 0], np.argsort(np.asarray(found.position)[kept, 0])
    np.testing.assert_allclose(places[order], roots, atol=1e-9)
    kinds = [kind_of_point(np.asarray(found.eigenvalues)[kept][index]) for index in order]
    assert kinds == ["minimum", "maximum", "minimum"]
    values = np.asarray(found.value)[kept][order]
    assert values[0] < values[2], "the minimum on the right is spurious"


def test_flow_time_against_a_sum():
    steps = np.linspace(1.0, 2.0, 200_001)
    middle = (steps[1:] + steps[:-1]) / 2
    assert flow_time_in_well(2.0, 1.0) == pytest.approx(np.sum(np.exp(middle**2 / 2) / middle) * 5e-6, rel=1e-9)


@pytest.mark.item("H5.1", "A2.8", "L5.5")
@pytest.mark.parametrize(
    ("eigenvalues", "kind", "counts"),
    [
        ([1.0, 2.0], "minimum", [0, 0, 2]),
        ([-1.0, -2.0], "maximum", [2, 0, 0]),
        ([-1.0, 2.0], "saddle", [1, 0, 1]),
        ([-1.0, 0.0, 2.0], "saddle", [1, 1, 1]),
        ([0.0, 2.0], "degenerate", [0, 1, 1]),
        ([-2.0, 1e-12], "degenerate", [1, 1, 0]),
        ([0.0, 0.0], "degenerate", [0, 2, 0]),
    ],
)
def test_kinds_and_inertia(eigenvalues, kind, counts):
    assert kind_of_point(np.array(eigenvalues)) == kind
    assert inertia(np.array(eigenvalues)).tolist() == counts


def test_what_counts_as_zero_is_relative_to_the_largest_of_each_row():
    """Exactly the tolerance times the largest is still zero, by either sign; the rows know nothing of each other."""
    spectra = np.array([[-0.25, -0.125, 0.25, 1.0], [-2.0, -0.75, 0.5, 0.25], [-4e-9, 1e-9, 4e-9, 8e-9]])
    assert inertia(spectra, tolerance=0.25).tolist() == [[0, 3, 1], [2, 2, 0], [1, 1, 2]]
    assert inertia(spectra, tolerance=0.0).tolist() == [[2, 0, 2], [2, 0, 2], [1, 0, 3]]
    assert inertia(np.array([-1.0, 2e-8, 0.5e-8])).tolist() == [1, 1, 1], "a hundred-millionth unless told otherwise"
    assert kind_of_point(np.array([-1.0, 2e-8])) == "saddle" and kind_of_point(np.array([-1.0, 5e-9])) == "degenerate"


def test_spheres_tell_a_degenerate_saddle_from_a_degenerate_minimum():
    angles = np.linspace(0, 2 * np.pi, 64, endpoint=False)
    circle = jnp.asarray(3 * np.stack([np.cos(angles), np.sin(angles)], axis=1))
    radii = jnp.array([0.5, 0.1])
    low, high = sphere_extremes(lambda w: w[0] ** 2 + w[1] ** 4, jnp.zeros(2), radii, circle)
    assert np.all(np.asarray(low) > 0)
    np.testing.assert_allclose(high, np.asarray(radii) ** 2)
    low, _ = sphere_extremes(lambda w: w[0] ** 2 - w[1] ** 4, jnp.zeros(2), radii, circle)
    np.testing.assert_allclose(low, -(np.asarray(radii) ** 4), rtol=1e-12)


@pytest.mark.item("A6.14")
@pytest.mark.parametrize("steps", [3, 50])
def test_least_curvature_against_dense_eigenvalues(key, steps):
    matrix = jax.random.normal(key, (30, 30))
    matrix = jnp.diag(jnp.repeat(jnp.array([-4.0, 1.0, 5.0]), 10)) if steps == 3 else matrix + matrix.T
    found = least_curvature(lambda w: w @ matrix @ w / 2 + jnp.sum(w**3), jnp.zeros(30), steps=steps)
    np.testing.assert_allclose(found, np.linalg.eigvalsh(matrix)[0], rtol=1e-10)


@pytest.mark.item("A6.14")
def test_second_order_stationarity_at_the_threshold():
    point = jnp.array([0.1, 0.0, 0.0])  # gradient 0.3, least curvature −2
    assert is_second_order_stationary(bowl, point, slope=0.3 + 1e-12, curvature=2.0 + 1e-12)
    assert not is_second_order_stationary(bowl, point, slope=0.3 - 1e-9, curvature=2.5)
    assert not is_second_order_stationary(bowl, point, slope=1.0, curvature=2.0 - 1e-9)


@pytest.mark.item("A7.2", "H5.6")
@pytest.mark.parametrize(
    ("function", "point", "label"),
    [
        (lambda x: x[0] ** 2 - x[1] ** 2, [0.0, 0.0], False),
        (lambda x: x[0] ** 3 - 3 * x[0] * x[1] ** 2, [0.0, 0.0], True),  # degenerate: passes, though no minimum
        (lambda x: x[0] ** 2 + x[1] ** 4, [0.0, 0.0], True),
        (lambda x: x[0] ** 2 + x[1] ** 4, [1.0, 0.0], False),
        (lambda x: x[0] ** 2 - 0.04 * x[1] ** 2, [0.0, 0.0], True),  # −0.08 is above −√(ρε) = −0.1
    ],
)
def test_second_order_labels(function, point, label):
    """With ρ = 1 and ε = 0.01 the least curvature allowed is −√(ρε) = −0.1."""
    found = is_second_order_stationary(function, jnp.array(point), slope=0.01, curvature=0.1)
    assert bool(found) == label
    lanczos = least_curvature(function, jnp.array(point)) >= -0.1
    assert bool(lanczos & (jnp.linalg.norm(jax.grad(function)(jnp.array(point))) <= 0.01)) == label


@pytest.mark.item("A6.19")
def test_directions_of_improvement():
    point, up = jnp.array([0.1, 0.0, 0.0]), jnp.array([2.0, 0.0, 0.0])
    np.testing.assert_allclose(improvement(bowl, point, up), (0.3, 3.0))
    assert is_direction_of_improvement(bowl, point, up, slope=0.29)
    assert not is_direction_of_improvement(bowl, point, up, slope=0.31)
    down = jnp.array([0.0, 0.0, 5.0])
    assert is_direction_of_improvement(bowl, point, down, slope=1.0, curvature=1.9)
    assert not is_direction_of_improvement(bowl, point, down, slope=1.0, curvature=2.1)


def test_functions_of_trees():
    tree = {"a": jnp.ones((2, 2)), "b": jnp.arange(3.0)}
    function, start, back = on_vectors(lambda t: t["a"].sum() * t["b"][2], tree)
    assert start.shape == (7,)
    assert function(start) == 8.0
    np.testing.assert_array_equal(back(start)["b"], np.arange(3.0))


def test_refusals():
    with pytest.raises(ValueError, match=r"slope must lie in \[0, ∞\), got -1"):
        is_second_order_stationary(bowl, jnp.zeros(3), slope=-1.0, curvature=0.0)
    with pytest.raises(ValueError, match="tolerance"):
        inertia(np.ones(2), tolerance=-1.0)


def test_the_last_way_down_a_well_is_logarithmic():
    assert flow_time_in_well(1e-12, 1e-250) == pytest.approx(np.log(1e238), rel=1e-12)
    assert flow_time_in_well(1.001e-9, 0.999e-9) == pytest.approx(np.log(1.001 / 0.999), rel=1e-9)
