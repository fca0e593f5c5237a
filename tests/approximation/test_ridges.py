from itertools import product

import numpy as np
import pytest

from deeptheory.approximation.errors import measured_error
from deeptheory.approximation.monomials import monomial_network
from deeptheory.approximation.ridges import as_powers_of_forms, lifted, polynomial_ridge_network, ridge_sum

RNG = np.random.default_rng(0)


@pytest.mark.item("L3.12")
@pytest.mark.parametrize("exponents", [(1,), (1, 1), (2, 1), (2, 2), (3, 0, 1), (1, 1, 1, 1)])
def test_monomials_are_sums_of_powers_in_whole_numbers(exponents):
    forms = as_powers_of_forms(exponents)
    scale = np.rint(1 / np.abs(forms.weights).min())
    counts = np.rint(forms.weights * scale).astype(int)
    for x in product((-2, 0, 1, 3), repeat=len(exponents)):
        powers = np.rint(forms.directions @ np.array(x)).astype(int) ** forms.power
        assert (counts * powers).sum() == scale * np.prod(np.array(x) ** np.array(exponents))


def test_xy_by_hand():
    forms = as_powers_of_forms((1, 1))
    assert forms.directions.tolist() == [[1, 1], [1, -1]]
    assert forms.weights.tolist() == [1 / 4, -1 / 4]


@pytest.mark.item("L3.12")
def test_a_lifted_network_is_the_ridge_sum_of_its_parts():
    directions = RNG.normal(size=(3, 2))
    networks = [monomial_network(k, np.tanh, 0.5, 0.1) for k in (1, 2, 3)]
    x = RNG.normal(size=(20, 2))
    parts = [lambda z, each=each: each(z[..., None]) for each in networks]
    np.testing.assert_allclose(lifted(directions, networks)(x), ridge_sum(directions, parts, x), rtol=1e-6)
    by_hand = ridge_sum(np.eye(2), [np.exp, np.cos], x)
    np.testing.assert_allclose(by_hand, np.exp(x[:, 0]) + np.cos(x[:, 1]))


@pytest.mark.item("L3.12")
def test_a_polynomial_of_two_inputs_as_a_network():
    terms = [((1, 1), 2.0), ((2, 1), -1.0), ((0, 1), 0.5)]
    network = polynomial_ridge_network(terms, np.tanh, 0.5, 0.01)
    gap = measured_error(
        network,
        lambda x: 2 * x[..., 0] * x[..., 1] - x[..., 0] ** 2 * x[..., 1] + 0.5 * x[..., 1],
        -np.ones(2),
        np.ones(2),
        points=41,
    )
    assert gap < 0.005
    with pytest.raises(ValueError, match="as many exponents"):
        polynomial_ridge_network([((1, 1), 1.0), ((1,), 1.0)], np.tanh, 0.5, 0.01)
