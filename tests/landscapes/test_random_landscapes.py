"""The index law against closed forms, cubature and draws; densities against Rice, Longuet-Higgins and Bardeen et al."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, stats

from deeptheory.landscapes import random_landscapes as fields
from deeptheory.landscapes.critical_points import distinct_points, find_critical_points


@pytest.mark.item("H4.7")
def test_positive_definite_with_the_known_probabilities():
    known = [1 / 2, (2 - 2**0.5) / 4, 1 / 4 - 2**0.5 / (2 * np.pi)]
    laws = [fields.goe_index_law(n) for n in (1, 2, 3, 6)]
    np.testing.assert_allclose([law[0] for law in laws[:3]], known, rtol=1e-10)
    for law in laws:
        assert law.sum() == pytest.approx(1.0, abs=1e-12)
        np.testing.assert_allclose(law, law[::-1], rtol=1e-8)


@pytest.mark.item("H4.7")
@pytest.mark.parametrize("threshold", [-1.3, 0.4, 2.0])
def test_law_of_two_eigenvalues_by_cubature(threshold):
    """Density (y − x)exp(−(x² + y²)/4) of the ordered pair, up to its integral."""
    weight = lambda y, x: (y - x) * np.exp(-(x**2 + y**2) / 4)  # noqa: E731
    total = integrate.dblquad(weight, -15, 15, lambda x: x, 15)[0]
    both_above = integrate.dblquad(weight, threshold, 15, lambda x: x, 15)[0] / total
    both_below = integrate.dblquad(weight, -15, threshold, lambda x: x, threshold)[0] / total
    law = fields.goe_index_law(2, threshold=threshold)
    np.testing.assert_allclose(law, [both_above, 1 - both_above - both_below, both_below], rtol=1e-8)
    one = fields.goe_index_law(1, threshold=np.array([threshold]))
    np.testing.assert_allclose(one[0, 1], stats.norm.cdf(threshold / 2**0.5), rtol=1e-10)


def test_law_in_five_dimensions_by_draws():
    random = np.random.default_rng(0)
    a = random.standard_normal((40_000, 5, 5))
    spectra = np.linalg.eigvalsh((a + np.swapaxes(a, 1, 2)) / 2**0.5)
    seen = np.bincount((spectra < 1.0).sum(1), minlength=6)
    expected = 40_000 * fields.goe_index_law(5, threshold=1.0)
    assert np.all(np.abs(seen - expected) < 5 * np.sqrt(expected) + 5)


@pytest.mark.item("H4.7")
def test_densities_of_critical_points_known_from_the_literature():
    """√3/π zeros of the slope a length (Rice); 1:2:1 in the plane; 29 ∓ 6√6 in space (Bardeen et al. 1986)."""
    np.testing.assert_allclose(fields.critical_point_density(1), [3**0.5 / (2 * np.pi)] * 2, rtol=1e-9)
    np.testing.assert_allclose(fields.critical_point_density(2), np.array([1, 2, 1]) / (2 * 3**0.5 * np.pi), rtol=1e-9)
    few, many = (29 - 6 * 6**0.5), (29 + 6 * 6**0.5)
    space = np.array([few, many, many, few]) * 3**1.5 / (27 * 8 * np.pi**2)
    np.testing.assert_allclose(fields.critical_point_density(3), space, rtol=1e-9)


@pytest.mark.parametrize("dimension", [4, 7])
def test_indices_alternate_to_nothing_and_heights_add_up(dimension):
    """The Euler characteristic of a torus is zero; and every critical point has some height."""
    density = fields.critical_point_density(dimension)
    assert abs(np.sum(density * (-1.0) ** np.arange(dimension + 1))) < 1e-12
    heights = np.linspace(-10, 10, 401)
    by_height = fields.critical_point_density_at(heights, dimension=dimension)
    np.testing.assert_allclose(by_height.sum(0) * 0.05, density, rtol=1e-7)
    assert by_height[100, 0] / by_height[100].sum() > 0.9, "at height −5 nearly all are minima"


@pytest.mark.slow
def test_critical_points_of_one_field_by_another_search(key):
    field = fields.random_field(key, dimension=2, length=6.0)
    found = fields.torus_critical_points(field, length=6.0, points=40)
    one = fields.PeriodicField(field.waves, field.cosines[0], field.sines[0])
    grid = np.stack(np.meshgrid(*[np.linspace(0, 6, 12, endpoint=False)] * 2), -1).reshape(-1, 2)
    other = jax.tree.map(np.asarray, find_critical_points(one, jnp.asarray(grid), steps=60))
    places = other.position[other.slope < 1e-10] % 6.0
    kept = places[distinct_points(places, tolerance=1e-5)]
    assert len(kept) == len(found.position)
    gaps = np.abs(kept[:, None] - found.position)
    assert np.all(np.linalg.norm(np.minimum(gaps, 6 - gaps), axis=-1).min(1) < 1e-6)
    assert np.sum((-1.0) ** (found.eigenvalues < 0).sum(1)) == 0


def test_the_field_has_its_covariance(key):
    field = fields.random_field(key, dimension=2, length=7.0, draws=4000)
    here, there = field(jnp.zeros(2)), field(jnp.array([0.6, -0.8]))
    products = np.asarray(here * there)
    assert products.mean() == pytest.approx(np.exp(-0.5), abs=5 * products.std() / 4000**0.5)
    assert np.asarray(here**2).mean() == pytest.approx(1.0, abs=5 * 2**0.5 / 4000**0.5)


def test_refusals():
    with pytest.raises(ValueError, match="dimension must lie in"):
        fields.goe_index_law(0)
    with pytest.raises(ValueError, match="dimension must lie in"):
        fields.critical_point_density(40)
