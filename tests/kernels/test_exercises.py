"""The exercises of arora 9.6 on the ReLU kernel of the first layer, each against another computation."""

import numpy as np
import pytest
from scipy.integrate import quad

from deeptheory.generalization.capacity.rademacher_bounds import kernel_label_complexity
from deeptheory.kernels.finite.first_layer import first_layer_limit, first_layer_series


def sphere(count, dimension, seed):
    x = np.random.default_rng(seed).standard_normal((count, dimension))
    return x / np.linalg.norm(x, axis=1, keepdims=True)


@pytest.mark.item("A9.28")
def test_the_angle_formula_is_an_integral_over_directions():
    """Exercise 1: both inputs are active on the arc of directions that two half circles share."""
    x = sphere(5, 2, 0)
    found = np.asarray(first_layer_limit(x)) / (x @ x.T)
    for i in range(5):
        for j in range(i):
            turns = np.sort(
                [(np.arctan2(*x[k, ::-1]) + s) % (2 * np.pi) for k in (i, j) for s in (np.pi / 2, -np.pi / 2)]
            )
            both = quad(
                lambda t, a=x[i], b=x[j]: float((a @ [np.cos(t), np.sin(t)] > 0) and (b @ [np.cos(t), np.sin(t)] > 0)),
                0,
                2 * np.pi,
                points=list(turns),
            )[0]
            assert found[i, j] == pytest.approx(both / (2 * np.pi), abs=1e-6)


@pytest.mark.item("A9.28")
def test_series_order_trace_and_complexity_of_a_linear_target():
    """Exercise 3: the series, H* ⪰ K/4 (so H*⁻¹ ⪯ 4K⁻¹), tr H* = n/2 ≤ n, and 2√2‖β‖/√n for y = Xβ."""
    x, beta = sphere(12, 20, 1), np.random.default_rng(2).standard_normal(20)
    gram, products = np.asarray(first_layer_limit(x)), x @ x.T
    apart = ~np.eye(12, dtype=bool)
    np.testing.assert_allclose(first_layer_series(products, terms=80)[apart], gram[apart], rtol=1e-10)
    assert np.linalg.eigvalsh(gram - products / 4)[0] > 0
    assert np.linalg.eigvalsh(4 * np.linalg.inv(products) - np.linalg.inv(gram))[0] > 0
    assert np.trace(gram) == pytest.approx(6)
    y = x @ beta
    by_hand = np.sqrt(2 * y @ np.linalg.inv(gram) @ y * np.trace(gram)) / 12
    assert kernel_label_complexity(gram, y) == pytest.approx(by_hand)
    assert by_hand <= 2 * np.sqrt(2) * np.linalg.norm(beta) / np.sqrt(12)
