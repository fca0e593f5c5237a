import numpy as np
import pytest

from deeptheory.attribution.datamodels import (
    biased_fourier,
    biased_spectrum,
    explained_share,
    fit_datamodel,
    population_datamodel,
    random_subsets,
)
from deeptheory.attribution.shapley import coalitions


def weighted_least_squares(table, share):
    """The population datamodel by its definition: all subsets, each with its chance."""
    masks = coalitions(int(np.log2(table.size)))
    chance = np.prod(np.where(masks, share, 1 - share), 1) ** 0.5
    design = np.concatenate([np.ones((len(masks), 1)), 2.0 * masks - 1], 1)
    solution = np.linalg.lstsq(design * chance[:, None], table * chance, rcond=None)[0]
    return solution, np.sum((chance * (design @ solution - table)) ** 2), chance**2


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
@pytest.mark.item("A10.18", "A10.19")
def test_regression_on_all_subsets(share):
    table = np.random.default_rng(0).standard_normal(2**5)
    solution, residual, chance = weighted_least_squares(table, share)
    model = population_datamodel(table, share)
    np.testing.assert_allclose([model.intercept, *model.coefficients], solution, atol=1e-13)
    spectrum = biased_spectrum(table, share)
    assert spectrum[2:].sum() == pytest.approx(residual)
    assert spectrum.sum() == pytest.approx(chance @ table**2)
    assert spectrum[0] == pytest.approx((chance @ table) ** 2)
    variance = chance @ table**2 - (chance @ table) ** 2
    assert explained_share(table, share) == pytest.approx(1 - residual / variance)


def test_coefficients_are_inner_products_with_characters():
    share, table = 0.3, np.random.default_rng(1).standard_normal(8)
    masks = coalitions(3)
    chance = np.prod(np.where(masks, share, 1 - share), 1)
    units = (2.0 * masks - 1 - (2 * share - 1)) / (4 * share * (1 - share)) ** 0.5
    characters = np.array([np.prod(np.where(chosen, units, 1.0), 1) for chosen in masks])
    np.testing.assert_allclose(biased_fourier(table, share), characters @ (chance * table), atol=1e-14)


def test_fits_of_a_linear_output_are_exact_and_the_lasso_satisfies_its_conditions(key):
    masks = random_subsets(key, 60, 8, 0.6)
    weights = np.array([1.0, 0, 0, -2.0, 0, 0.5, 0, 0])
    outputs = 0.3 + (2.0 * masks - 1) @ weights
    model = fit_datamodel(masks, outputs)
    np.testing.assert_allclose(model.coefficients, weights, atol=1e-13)
    np.testing.assert_allclose(model(masks), outputs, atol=1e-13)
    noisy = outputs + 0.1 * np.sin(np.arange(60.0))
    sparse = fit_datamodel(masks, noisy, penalty=0.2)
    signs = 2.0 * masks - 1
    slope = (signs - signs.mean(0)).T @ (noisy - sparse(masks)) / 60
    active = sparse.coefficients != 0
    assert 0 < active.sum() < 8
    np.testing.assert_allclose(slope[active], 0.2 * np.sign(sparse.coefficients[active]), atol=1e-12)
    assert np.all(np.abs(slope[~active]) <= 0.2)
    assert np.mean(noisy - sparse(masks)) == pytest.approx(0, abs=1e-13)


def test_what_cannot_be_fitted_is_refused(key):
    with pytest.raises(ValueError, match="every point at least once"):
        fit_datamodel(np.ones((4, 2), bool), np.ones(4))
    with pytest.raises(ValueError, match="more subsets than"):
        fit_datamodel(coalitions(2)[1:3], np.ones(2))
    with pytest.raises(ValueError, match="constant"):
        explained_share(np.ones(8), 0.5)
