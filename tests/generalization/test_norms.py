"""Norms and margins against definitions."""

from itertools import product

import numpy as np
import pytest

from deeptheory.generalization.norm_bounds import (
    frobenius_product_bound,
    handbook_spectral_bound,
    linear_margin_bound,
    neyshabur_bound,
    path_norm_bound,
    peeled_deviation,
    spectral_complexity,
    spectrally_normalized_bound,
    stable_rank_bound,
)
from deeptheory.generalization.norms import (
    lipschitz_bound,
    margin_loss,
    margins,
    normalized_margins,
    path_norm,
    relu_network,
    row_group_norm,
    spectral_norm,
    stable_rank,
)

DRAW = np.random.default_rng(3)
LAYERS = [DRAW.standard_normal(shape) for shape in ((4, 3), (5, 4), (2, 5))]
INPUTS = DRAW.standard_normal((6, 3))


def test_the_network_unit_by_unit():
    for x, out in zip(INPUTS, np.asarray(relu_network(LAYERS, INPUTS)), strict=True):
        first = [max(0.0, sum(w * v for w, v in zip(row, x, strict=True))) for row in LAYERS[0]]
        second = [max(0.0, sum(w * v for w, v in zip(row, first, strict=True))) for row in LAYERS[1]]
        np.testing.assert_allclose(out, [sum(w * v for w, v in zip(r, second, strict=True)) for r in LAYERS[2]])


def test_norms_by_other_routes():
    a = LAYERS[0]
    assert spectral_norm(a) == pytest.approx(np.sqrt(np.linalg.eigvalsh(a.T @ a)[-1]))
    eigenvalues = np.linalg.eigvalsh(a @ a.T)
    assert stable_rank(a) == pytest.approx(eigenvalues.sum() / eigenvalues.max())
    assert row_group_norm(a) == pytest.approx(sum(sum(v * v for v in row) ** 0.5 for row in a))
    paths = sum(
        (LAYERS[0][i, x] * LAYERS[1][j, i] * LAYERS[2][k, j]) ** 2
        for x, i, j, k in product(range(3), range(4), range(5), range(2))
    )
    assert path_norm(LAYERS) == pytest.approx(np.sqrt(paths))


def test_path_norm_does_not_see_rescaled_units_and_the_product_of_norms_does():
    scales = np.array([0.1, 3.0, 1.0, 7.0])
    changed = [LAYERS[0] * scales[:, None], LAYERS[1] / scales, LAYERS[2]]
    np.testing.assert_allclose(relu_network(changed, INPUTS), relu_network(LAYERS, INPUTS))
    assert path_norm(changed) == pytest.approx(path_norm(LAYERS))
    assert lipschitz_bound(changed) > 1.5 * lipschitz_bound(LAYERS)


def test_margins_by_hand():
    outputs = np.array([[3.0, 1.0, 2.5], [0.0, 1.0, 0.0], [2.0, 2.0, 1.0]])
    values = margins(outputs, np.array([0, 2, 1]))
    np.testing.assert_allclose(values, [0.5, -1.0, 0.0])
    assert [margin_loss(values, g) for g in (0.0, 0.4, 0.5, -2.0)] == pytest.approx([2 / 3, 2 / 3, 1, 0])
    scaled = [2 * a for a in LAYERS]
    labels = np.array([0, 1, 0, 1, 0, 1])
    np.testing.assert_allclose(normalized_margins(scaled, INPUTS, labels), normalized_margins(LAYERS, INPUTS, labels))


def test_margins_where_all_outputs_are_negative():
    np.testing.assert_allclose(margins(np.array([[-3.0, -1.0]]), np.array([1])), [2.0])


def test_normalized_margins_divide_by_the_product_of_spectral_norms():
    layers = [np.diag([2.0, 1.0]), np.diag([3.0, 3.0])]
    np.testing.assert_allclose(normalized_margins(layers, np.ones((1, 2)), np.array([0])), [3 / 6])


def test_width_is_the_largest_side_of_any_layer():
    layers = [np.ones((3, 7)), np.ones((2, 3))]
    value = stable_rank_bound(layers, radius=1.0, margin=1.0, samples=4)
    assert value == pytest.approx(np.sqrt(7 * 2 / 4) * 2 * np.sqrt(21) * np.sqrt(6))


def test_bounds_around_a_reference_and_with_long_inputs():
    layers = [np.diag([2.0, 1.0]), np.diag([3.0, 3.0])]
    common = dict(margin=0.5, samples=100, delta=0.1)
    alone = spectrally_normalized_bound(layers, size=1.0, reference=layers, **common)
    assert alone == pytest.approx(np.sqrt(np.log(10) / 100))
    capacity = 4 * 4 * 36 * 2 * np.log(4) * 3.25
    value = neyshabur_bound(layers, radius=2.0, **common)
    assert value == pytest.approx(np.sqrt((capacity + np.log(2000)) / 100) / 0.5)


def test_bounds_on_a_diagonal_network_by_hand():
    # Two layers diag(2, 1) and diag(3, 3): spectral norms 2 and 3, stable ranks 5/4 and 2, row sums 3 and 6.
    layers = [np.diag([2.0, 1.0]), np.diag([3.0, 3.0])]
    common = dict(margin=0.5, samples=100)
    assert stable_rank_bound(layers, radius=1.0, **common) == pytest.approx(np.sqrt(2 * 4 * 36 * 3.25 / (0.25 * 100)))
    assert handbook_spectral_bound(layers, size=2.0, **common) == pytest.approx(2 * 6 * np.sqrt(3.25 / 100) / 0.5)
    complexity = 6 * ((3 / 2) ** (2 / 3) + 2 ** (2 / 3)) ** 1.5
    assert spectral_complexity(layers) == pytest.approx(complexity)
    assert spectral_complexity(layers, layers) == 0
    assert spectrally_normalized_bound(layers, size=1.0, delta=0.1, **common) == pytest.approx(
        complexity * np.log(2) / (0.5 * 10) + np.sqrt(np.log(10) / 100)
    )
    capacity = 4 * 36 * 2 * np.log(4) * 3.25
    assert neyshabur_bound(layers, radius=1.0, delta=0.1, **common) == pytest.approx(
        np.sqrt((capacity + np.log(2000)) / 100) / 0.5
    )


def test_bounds_of_networks_with_one_output_by_hand():
    # Ratios of norm and margin are rounded up to powers of two: 8 = 2³ for both layers, 4 = 2² for the last alone.
    layers = [np.diag([2.0, 1.0]), np.array([[1.0, 1.0]])]
    common = dict(size=3.0, margin=0.5, samples=100, delta=0.1)
    frobenius = np.sqrt(5) * np.sqrt(2) / 0.5
    assert 4 < frobenius < 8
    golowich = 3.0 * (np.sqrt(4 * np.log(2)) + 1) / 10
    sure = 3 * np.sqrt(np.log(2 / (2 * 0.1 / (3 * 4 * 5))) / 200)
    assert frobenius_product_bound(layers, **common) == pytest.approx(2 * golowich * 8 + sure)
    assert 4 < path_norm(layers) / 0.5 < 8
    assert path_norm_bound(layers, **common) == pytest.approx(2 * (3.0 * 2 * np.sqrt(2) / 10) * 8 + sure)
    assert linear_margin_bound(layers[1:], **common) == pytest.approx(
        2 * 0.3 * 4 + 3 * np.sqrt(np.log(2 / (2 * 0.1 / (3 * 3 * 4))) / 200)
    )
    with pytest.raises(ValueError, match="for one output, got 2"):
        frobenius_product_bound([np.eye(2)], **common)
    with pytest.raises(ValueError, match="ratio"):
        peeled_deviation(1.0, 0.0, samples=10, delta=0.1)


def test_all_powers_of_two_together_cost_delta():
    powers = np.arange(-200_000, 200_001)
    assert np.sum(2 / (3 * (abs(powers) + 1.0) * (abs(powers) + 2.0))) == pytest.approx(1, abs=1e-5)


def test_no_network_of_a_path_norm_fits_coins_better_than_its_complexity():
    """The best of many networks with one hidden layer at path norm 1, on all 2⁶ coins, beside size·2√h/√n."""
    draw, width = np.random.default_rng(0), 3
    hidden = draw.standard_normal((4000, width, 3))
    hidden /= np.linalg.norm(hidden, axis=2, keepdims=True)
    features = np.maximum(hidden @ INPUTS.T, 0)
    coins = np.array(list(product((-1.0, 1.0), repeat=6)))
    # Of weights with norm 1 on given units the best has the norm of what the units see.
    seen = np.linalg.norm(np.einsum("knu,cu->kcn", features, coins), axis=2) / 6
    size = np.sqrt(np.mean(np.sum(INPUTS**2, axis=1)))
    assert np.mean(seen.max(axis=0)) <= size * 2 * np.sqrt(width) / np.sqrt(6)


def test_zeros_have_no_stable_rank():
    with pytest.raises(ValueError, match="no stable rank"):
        stable_rank(np.zeros((2, 3)))
