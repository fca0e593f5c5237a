"""Norms and margins against definitions."""

from itertools import pairwise, product

import numpy as np
import pytest
from scipy.optimize import minimize

from deeptheory.generalization.capacity.rademacher import exact_complexity, relu_plane_supremum
from deeptheory.generalization.networks.norm_bounds import (
    deciding,
    frobenius_product_bound,
    handbook_spectral_bound,
    network_factor,
    neyshabur_bound,
    path_norm_bound,
    peeled_deviation,
    spectral_complexity,
    spectrally_normalized_bound,
    stable_rank_bound,
)
from deeptheory.generalization.networks.norms import (
    absorbed_biases,
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
    assert spectral_norm(a) == spectral_norm(a.T) == pytest.approx(np.linalg.svd(a)[1][0])
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
    # Ratios of norm and margin are rounded up to quarter powers of two: 2^(11/4) for both layers, 2^(6/4) for the last.
    layers = [np.diag([2.0, 1.0]), np.array([[1.0, 1.0]])]
    common = dict(size=3.0, margin=0.5, samples=100, delta=0.1)
    ratio = np.sqrt(5) * np.sqrt(2) / 0.5
    assert 2**2.5 < ratio < 2**2.75

    def sure(power):
        return 3 * np.sqrt(np.log(2 / (2 * 0.1 / (3 * (power + 1) * (power + 2)))) / 200)

    assert frobenius_product_bound(layers, **common) == pytest.approx(2 * 0.3 * np.sqrt(2) * 2**2.75 + sure(11))
    assert path_norm(layers) == pytest.approx(np.sqrt(5))
    assert path_norm_bound(layers, **common) == pytest.approx(2 * 0.3 * np.sqrt(2) * np.sqrt(2) * 2**2.25 + sure(9))
    assert frobenius_product_bound(layers[1:], **common) == pytest.approx(2 * 0.3 * 2**1.5 + sure(6))
    with pytest.raises(ValueError, match="ratio"):
        peeled_deviation(1.0, 0.0, samples=10, delta=0.1)


def test_what_is_common_to_all_outputs_decides_nothing():
    common = dict(size=3.0, margin=0.5, samples=100, delta=0.1)
    for outputs in (2, 3):
        layers = [LAYERS[0], DRAW.standard_normal((outputs, 4))]
        moved = [LAYERS[0], layers[1] + DRAW.standard_normal(4)]
        labels = np.arange(6) % outputs
        least = deciding(layers)
        if outputs == 2:
            scores = np.asarray(relu_network(least, INPUTS))[:, 0]
            found = np.where(labels == 1, scores, -scores)
        else:
            found = margins(relu_network(least, INPUTS), labels)
        np.testing.assert_allclose(found, margins(relu_network(layers, INPUTS), labels), rtol=1e-5, atol=1e-6)
        for bound in (frobenius_product_bound, path_norm_bound):
            assert bound(moved, **common) == pytest.approx(bound(layers, **common))
        assert np.linalg.norm(least[-1]) < np.linalg.norm(layers[-1]) * np.sqrt(2)


def test_factors_by_hand():
    assert [network_factor(depth, 1) for depth in (1, 2, 3)] == pytest.approx([1, np.sqrt(2), 2])
    assert network_factor(9, 1) == pytest.approx(np.sqrt(16 * np.log(2)) + 1)
    assert [network_factor(depth, 5) for depth in (1, 2, 3)] == pytest.approx([4, 4 * np.sqrt(2), 8])
    assert network_factor(9, 10) == pytest.approx(6 * np.sqrt((np.sqrt(16 * np.log(2)) + 1) ** 2 + 1))


def test_all_powers_together_cost_delta():
    powers = np.arange(-200_000, 200_001)
    assert np.sum(2 / (3 * (abs(powers) + 1.0) * (abs(powers) + 2.0))) == pytest.approx(1, abs=1e-5)


def test_no_network_of_a_path_norm_fits_coins_better_than_its_complexity():
    """The best of many networks with one hidden layer at path norm 1, on all 2⁶ coins, beside size·√(2h)/√n."""
    draw, width = np.random.default_rng(0), 3
    hidden = draw.standard_normal((4000, width, 3))
    hidden /= np.linalg.norm(hidden, axis=2, keepdims=True)
    features = np.maximum(hidden @ INPUTS.T, 0)
    coins = np.array(list(product((-1.0, 1.0), repeat=6)))
    # Of weights with norm 1 on given units the best has the norm of what the units see.
    seen = np.linalg.norm(np.einsum("knu,cu->kcn", features, coins), axis=2) / 6
    size = np.sqrt(np.mean(np.sum(INPUTS**2, axis=1)))
    assert np.mean(seen.max(axis=0)) <= size * np.sqrt(2 * width) / np.sqrt(6)


@pytest.mark.parametrize("points", [1, 2, 5, 9])
def test_two_layers_fit_coins_no_better_than_their_factor(points):
    """The exact complexity of two-layer networks in the plane, Frobenius norms 1, beside √2·size/√n."""
    for seed in range(5):
        inputs = np.random.default_rng(seed).standard_normal((points, 2))
        size = np.sqrt(np.mean(np.sum(inputs**2, axis=1)))
        exact = exact_complexity(relu_plane_supremum(inputs, both_signs=True), points)
        assert exact <= network_factor(2, 1) * size / np.sqrt(points)
        # One ReLU costs something: without a factor for it the bound is false for one point.
        assert points > 1 or exact == pytest.approx(size)


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_margins_of_linear_classes_fit_coins_no_better_than_their_factor(classes):
    """The ramp of the margin, the best of many matrices of norm B on all coins, beside 2√(k−1)·B·size/√n."""
    draw, n, norm = np.random.default_rng(classes), 5, 1.5
    inputs, labels = draw.standard_normal((n, 3)), np.arange(n) % classes
    starts = draw.standard_normal((400, classes, 3))

    def ramps(weights):
        weights = norm * weights / np.maximum(np.linalg.norm(weights, axis=(1, 2), keepdims=True), 1e-12)
        outputs = np.einsum("skd,nd->snk", weights, inputs)
        return np.clip(1 - np.stack([margins(each, labels) for each in outputs]), 0, 1)

    coins = np.array(list(product((-1.0, 1.0), repeat=n)))
    best, held = np.full(len(coins), -np.inf), np.zeros((len(coins), classes, 3))
    for spread in (1.0, 0.3, 0.1):
        weights = starts if spread == 1.0 else held[:, None] + spread * starts[:20]
        values = ramps(weights.reshape(-1, classes, 3))
        scores = np.einsum(
            "cn,csn->cs",
            coins,
            np.broadcast_to(values, (len(coins), *values.shape))
            if spread == 1.0
            else values.reshape(len(coins), 20, n),
        )
        place = scores.argmax(axis=1)
        better = scores.max(axis=1) > best
        best = np.maximum(best, scores.max(axis=1))
        found = weights[place] if spread == 1.0 else weights[np.arange(len(coins)), place]
        found = norm * found / np.linalg.norm(found, axis=(1, 2), keepdims=True)
        held = np.where(better[:, None, None], found, held)
    size = np.sqrt(np.mean(np.sum(inputs**2, axis=1)))
    complexity = np.mean(best) / n
    assert 0.1 < complexity <= network_factor(1, classes) * norm * size / np.sqrt(n)


def test_a_sign_for_each_difference_costs_two_for_each_rival():
    """E‖G‖² = 2(k − 1)·Σ‖x‖² over all signs: with norm 1 the last layer collects Σᵢⱼ εᵢⱼ(f_y − fⱼ)(xᵢ) = ⟨A, G⟩."""
    inputs, labels, classes = INPUTS[:3], np.array([0, 2, 2]), 3
    pairs = [(i, j) for i in range(3) for j in range(classes) if j != labels[i]]
    squares = []
    for signs in product((-1.0, 1.0), repeat=len(pairs)):
        gathered = np.zeros((classes, 3))
        for sign, (i, j) in zip(signs, pairs, strict=True):
            gathered[labels[i]] += sign * inputs[i]
            gathered[j] -= sign * inputs[i]
        squares.append(np.sum(gathered**2))
    assert np.mean(squares) == pytest.approx(2 * (classes - 1) * np.sum(inputs**2))
    assert np.sqrt(2) * np.mean(np.sqrt(squares)) <= network_factor(1, classes) * np.sqrt(np.sum(inputs**2))


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_absorbed_biases_give_the_same_outputs_at_the_least_product_of_norms(depth):
    draw = np.random.default_rng(depth)
    widths = [3, *[4] * (depth - 1), 2]
    matrices = [draw.standard_normal((after, before)) for before, after in pairwise(widths)]
    biases = [0.4 * draw.standard_normal(width) for width in widths[1:]]
    hidden = INPUTS
    for place, (matrix, bias) in enumerate(zip(matrices, biases, strict=True)):
        hidden = (np.maximum(hidden, 0) if place else hidden) @ matrix.T + bias
    layers = absorbed_biases(matrices, biases)
    outputs = relu_network(layers, np.column_stack([INPUTS, np.ones(len(INPUTS))]))
    np.testing.assert_allclose(outputs, hidden, rtol=1e-4, atol=1e-5)

    def log_product(log_constants):
        s = np.exp([0.0, *log_constants, 0.0])
        total = 0.0
        for place, (matrix, bias) in enumerate(zip(matrices, biases, strict=True)):
            square = (np.sum(matrix**2) * s[place] ** 2 + np.sum(bias**2)) / s[place + 1] ** 2
            total += np.log(square + (place < depth - 1)) / 2
        return total

    least = minimize(log_product, np.zeros(depth - 1)).fun if depth > 1 else log_product([])
    found = sum(np.log(np.linalg.norm(layer)) for layer in layers)
    assert found == pytest.approx(least, abs=1e-6)
    if depth == 2:
        first = np.sqrt(np.sum(matrices[0] ** 2) + np.sum(biases[0] ** 2))
        assert np.exp(found) == pytest.approx(first * np.linalg.norm(matrices[1]) + np.linalg.norm(biases[1]))


def test_biases_that_are_not_there_cost_nothing():
    assert all(a is b or np.array_equal(a, b) for a, b in zip(absorbed_biases(LAYERS, [None] * 3), LAYERS, strict=True))
    # Behind a first bias alone nothing needs the constant: its column is all that is added.
    layers = absorbed_biases(LAYERS, [np.ones(4), None, None])
    first = np.sqrt(np.sum(LAYERS[0] ** 2) + 4)
    product_of_norms = first * np.linalg.norm(LAYERS[1]) * np.linalg.norm(LAYERS[2])
    assert np.prod([np.linalg.norm(layer) for layer in layers]) == pytest.approx(product_of_norms, rel=1e-6)


def test_zeros_have_no_stable_rank():
    with pytest.raises(ValueError, match="no stable rank"):
        stable_rank(np.zeros((2, 3)))
