import numpy as np
import pytest

from deeptheory.attribution.data_values import nearest_neighbour_shapley, nearest_neighbour_utility, ridge_utility
from deeptheory.attribution.shapley import coalitions, game_table, shapley_values


@pytest.mark.item("A10.16")
def test_the_utility_is_that_of_a_ridge_fit_on_the_mask():
    draw = np.random.default_rng(0)
    x, y, u, v = draw.standard_normal((5, 2)), draw.standard_normal(5), draw.standard_normal((7, 2)), np.arange(7.0)
    found = ridge_utility(x, y, u, v, ridge=0.3)(coalitions(5))
    for mask, value in zip(coalitions(5), found, strict=True):
        w = np.linalg.solve(x[mask].T @ x[mask] + 0.3 * np.eye(2), x[mask].T @ y[mask])
        assert value == pytest.approx(-np.mean((u @ w - v) ** 2))


@pytest.mark.parametrize("neighbours", [1, 3, 8])
def test_neighbours_are_priced_without_enumeration(neighbours):
    draw = np.random.default_rng(1)
    data = draw.standard_normal((6, 2)), draw.integers(0, 2, 6), draw.standard_normal((4, 2)), draw.integers(0, 2, 4)
    table = game_table(nearest_neighbour_utility(*data, neighbours=neighbours), 6)
    found = nearest_neighbour_shapley(*data, neighbours=neighbours)
    np.testing.assert_allclose(found, shapley_values(table), atol=1e-15)
