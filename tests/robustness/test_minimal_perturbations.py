"""Exact radii of small networks beside dense grids, closed forms and attacks."""

from itertools import pairwise

import cvxpy as cp
import jax
import numpy as np
import pytest

from deeptheory.robustness.attacks import ascend
from deeptheory.robustness.linear_classifiers import softmax_radius
from deeptheory.robustness.minimal_perturbations import attack_radius, nearest_in_polyhedron, relu_radius
from deeptheory.robustness.threats import Threat

ORDERS = [1, 2, np.inf]


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def network(rng, *widths):
    return [(rng.standard_normal((m, n)) / np.sqrt(n), 0.4 * rng.standard_normal(m)) for n, m in pairwise(widths)]


def outputs(layers, x):
    for depth, (weights, bias) in enumerate(layers):
        x = (np.maximum(x, 0) if depth else x) @ weights.T + bias
    return x


@pytest.mark.parametrize("order", ORDERS)
def test_the_nearest_point_of_a_polyhedron_is_that_of_a_convex_solver(order, rng):
    for _ in range(6):
        normals, offsets = rng.standard_normal((5, 4)), rng.standard_normal(5)
        x = cp.Variable(4)
        value = cp.Problem(
            cp.Minimize(cp.norm(x, "inf" if order == np.inf else order)), [normals @ x >= offsets]
        ).solve()
        found = nearest_in_polyhedron(normals, offsets, order)
        if not np.isfinite(value):
            assert found is None
            continue
        assert np.all(normals @ found >= offsets - 1e-8)
        assert np.linalg.norm(found, order) == pytest.approx(value, abs=1e-6)
    assert nearest_in_polyhedron(np.array([[1.0], [-1.0]]), np.array([1.0, 1.0]), order) is None


@pytest.mark.item("H2.1")
@pytest.mark.parametrize("order", ORDERS)
def test_exact_radii_in_the_plane_are_those_of_a_fine_grid(order, rng):
    """No grid point nearer than the radius has another answer, and some just farther has one."""
    for widths in ((2, 8, 3), (2, 5, 5, 2)):
        layers = network(rng, *widths)
        point = rng.standard_normal(2)
        radius, where = relu_radius(layers, point, order)
        assert np.isfinite(radius)
        assert np.linalg.norm(where - point, order) == pytest.approx(radius, abs=1e-9)
        top = np.sort(outputs(layers, where))[-2:]
        assert top[0] == pytest.approx(top[1], abs=1e-8)
        grid = 1.05 * radius * np.stack(np.meshgrid(*[np.linspace(-1, 1, 801)] * 2), -1).reshape(-1, 2)
        other = np.argmax(outputs(layers, point + grid), 1) != np.argmax(outputs(layers, point))
        nearest = np.linalg.norm(grid[other], order, axis=1).min()
        assert radius - 1e-9 <= nearest <= 1.012 * radius


def test_without_hidden_units_it_is_the_closed_form(rng):
    (weights, bias), point = network(rng, 3, 4)[0], rng.standard_normal(3)
    label = int(np.argmax(weights @ point + bias))
    for order in ORDERS:
        exact = softmax_radius(weights, bias, point[None], np.array([label]), order)[0]
        assert relu_radius([(weights, bias)], point, order)[0] == pytest.approx(exact, rel=1e-7)


@pytest.mark.item("H2.1")
@pytest.mark.item("L12.2")
def test_an_attack_finds_the_radius_from_above(rng):
    """Just beyond the exact radius the nearest other point is allowed; below the radius no attack can succeed."""
    layers = network(rng, 3, 6, 2)
    points = rng.standard_normal((5, 3))
    labels = np.argmax(outputs(layers, points), 1)
    exact, where = map(np.array, zip(*[relu_radius(layers, point, np.inf) for point in points], strict=True))

    def lead(x):
        hidden = jax.nn.relu(x @ layers[0][0].T + layers[0][1]) @ layers[1][0].T + layers[1][1]
        return (1 - 2 * labels) * (hidden[:, 1] - hidden[:, 0])

    def each(radii):
        return np.array([ascend(lead, points, Threat(r), steps=30).values[i] > 0 for i, r in enumerate(radii)])

    def fooled(x):
        return np.argmax(outputs(layers, x), 1) != labels

    assert np.all(attack_radius(each, 2 * exact, halvings=8) >= exact - 1e-9)
    beyond = points + (1 + 1e-6) * (where - points)
    sure = attack_radius(lambda radii: (radii >= (1 + 1e-6) * exact) & fooled(beyond), 2 * exact, halvings=20)
    np.testing.assert_allclose(sure, (1 + 1e-6) * exact, rtol=1e-5)


def test_too_long_a_search_is_refused(rng):
    with pytest.raises(ValueError, match="more than most = 5 polyhedra"):
        relu_radius(network(rng, 2, 8, 2), np.zeros(2), 2, most=5)
