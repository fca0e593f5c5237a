"""The dropout autoencoder against autodiff, enumeration of masks, search for critical points, and numbers by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from deeptheory.claims.regularization.autoencoder import descent_ends
from deeptheory.foundations.randomness import generator
from deeptheory.landscapes.critical_points import inertia
from deeptheory.regularization import autoencoder, catalogue, masks
from deeptheory.regularization.autoencoder import equalizing_turn

pytestmark = pytest.mark.slow


def symmetric(key, spectrum):
    basis = np.linalg.qr(generator(key).standard_normal((len(spectrum),) * 2))[0]
    matrix = basis * np.array(spectrum) @ basis.T
    return (matrix + matrix.T) / 2, basis


@pytest.mark.item("A11.22")
def test_risk_of_the_autoencoder_over_isotropic_inputs(key):
    draw = generator(key)
    inputs = np.linalg.qr(draw.standard_normal((9, 3)))[0] * 3  # the mean of xxᵀ is the identity, exactly
    outputs, weights = (
        inputs @ draw.standard_normal((3, 3)) + draw.standard_normal((9, 3)),
        draw.standard_normal((3, 2)),
    )
    cross = outputs.T @ inputs / 9
    observed = np.mean(np.sum((outputs - inputs @ weights @ weights.T) ** 2, axis=1))
    power = np.mean(np.sum(outputs**2, axis=1))
    found = autoencoder.autoencoder_risk(weights, cross, power)
    np.testing.assert_allclose(found, observed, rtol=1e-12)
    np.testing.assert_allclose(
        found, power - 2 * np.sum(cross * (weights @ weights.T)) + np.sum((weights @ weights.T) ** 2)
    )
    # With ‖C_yx‖² in the constant, as printed, it would be off by what is not symmetric in C_yx.
    skew = (cross - cross.T) / 2
    assert np.sum(cross**2) - np.sum(autoencoder.autoencoder_target(cross) ** 2) == pytest.approx(np.sum(skew**2))


@pytest.mark.item("A11.23")
def test_loss_is_the_mean_over_masks_and_its_derivatives_those_of_autodiff(key):
    draw = generator(key)
    matrix, _ = symmetric(key, (3.0, 1.0, -0.5))
    weights, direction, rate = draw.standard_normal((3, 4)), draw.standard_normal((3, 4)), 0.35
    strength = rate / (1 - rate)
    # y = Mx with isotropic x: E‖y − UBUᵀx‖² = ‖M − UBUᵀ‖², averaged over masks.
    mean = masks.mean_over_masks(lambda mask: jnp.sum((matrix - (weights * mask) @ weights.T) ** 2), 4, rate)
    np.testing.assert_allclose(autoencoder.autoencoder_loss(weights, matrix, strength), mean, rtol=1e-12)
    loss = lambda flat: autoencoder.autoencoder_loss(flat.reshape(3, 4), matrix, strength)  # noqa: E731
    flat = jnp.asarray(weights.ravel())
    slope = autoencoder.autoencoder_gradient(weights, matrix, strength)
    np.testing.assert_allclose(slope.ravel(), jax.grad(loss)(flat), rtol=1e-11)
    bend = direction.ravel() @ jax.hessian(loss)(flat) @ direction.ravel()
    np.testing.assert_allclose(
        autoencoder.autoencoder_curvature(weights, matrix, strength, direction), bend, rtol=1e-11
    )


@pytest.mark.item("A11.24")
def test_optimum_by_hand():
    # M = 1, two hidden units: UUᵀ = 2/(2 + λ), value λ/(2 + λ).
    np.testing.assert_allclose(autoencoder.autoencoder_optimum(np.ones((1, 1)), 2, 0.6), 2 / 2.6)
    np.testing.assert_allclose(autoencoder.least_autoencoder_loss(np.ones((1, 1)), 2, 0.6), 0.6 / 2.6)
    # diag(1, 0.2, 0, 0), d₁ = 3, λ = 0.4: κ₂ = 0.6 and the threshold 0.48/3.8 keeps both.
    shrunk = autoencoder.autoencoder_optimum(np.diag([1, 0.2, 0, 0]), 3, 0.4)
    np.testing.assert_allclose(np.diag(shrunk), [1 - 0.48 / 3.8, 0.2 - 0.48 / 3.8, 0, 0], atol=1e-14)


@pytest.mark.item("A11.27")
def test_mass_moves_without_changing_the_product(key):
    draw = generator(key)
    for weights in (draw.standard_normal((3, 4)), np.diag([2.0, 1.0, 0.5]), np.array([[2.0, 1e-3], [0.0, 0.0]])):
        for distance in (1e-3, 0.1, 10.0):
            moved = np.asarray(autoencoder.moved_mass(weights, distance))
            np.testing.assert_allclose(moved @ moved.T, weights @ weights.T, atol=1e-13)
            assert np.linalg.norm(moved - weights) <= distance * (1 + 1e-9)
            before, after = ((each**2).sum(0) for each in (weights, moved))
            assert np.sum(after**2) < np.sum(before**2)
    # Far enough, the two become equally long; equalized weights stay.
    ends = (np.asarray(autoencoder.moved_mass(np.diag([2.0, 1.0]), 10.0)) ** 2).sum(0)
    np.testing.assert_allclose(ends, 2.5)
    np.testing.assert_array_equal(autoencoder.moved_mass(np.eye(2), 0.1), np.eye(2))


@pytest.mark.item("A11.31")
def test_listed_points_are_critical_and_counted_by_hand():
    """Eigenvalues 1 and 0.9, two columns, λ = 1: seven sets of groups, by hand."""
    points = catalogue.dropout_critical_points(np.diag([1.0, 0.9]), 2, 1.0)
    groups = {each.groups for each in points}
    assert groups == {
        ((2, ()),),
        ((2, (0,)),),
        ((2, (1,)),),
        ((2, (0, 1)),),
        ((1, (0,)), (1, (1,))),
        ((1, ()), (1, (0,))),
        ((1, ()), (1, (1,))),
    }
    for each in points:
        np.testing.assert_allclose(
            autoencoder.autoencoder_gradient(each.weights, np.diag([1.0, 0.9]), 1.0), 0, atol=1e-14
        )
    assert [each.groups for each in points if each.optimal] == [((2, (0, 1)),)]
    np.testing.assert_allclose(catalogue.equalized_squares(np.array([1.0, 0.9]), 2, 1.0), [1 - 1.9 / 4, 0.9 - 1.9 / 4])


@pytest.mark.item("A11.29")
@pytest.mark.parametrize("strength", [0.2, 3.0])
def test_strict_saddles_are_all_points_but_the_optimum(key, strength):
    matrix, _ = symmetric(key, (3.0, 1.7, 0.6))
    points = catalogue.dropout_critical_points(matrix, 2, strength)
    hessians = jax.vmap(jax.hessian(lambda flat: autoencoder.autoencoder_loss(flat.reshape(3, 2), matrix, strength)))
    spectra = np.linalg.eigvalsh(hessians(jnp.asarray([each.weights.ravel() for each in points])))
    negative = inertia(spectra)[:, 0]
    assert [each.optimal for each in points] == list(negative == 0) and sum(negative == 0) == 1
    assert len(points) >= 10 and [each.index for each in points] == list(negative)


@pytest.mark.item("A11.31")
@pytest.mark.parametrize("strength", [0.1, 0.8, 4.0])
def test_the_index_of_an_equalized_point_by_hand(key, strength):
    """A kept eigenvector may be exchanged for a larger one; a free column may take one above the common threshold.

    On the eigenvectors it keeps the point is optimal, so nothing bends downwards there. arora Lemma 11.3.7.
    """
    spectrum, width = np.array([3.0, 2.2, 0.9, 0.2]), 3
    matrix, _ = symmetric(key, spectrum)
    points = [each for each in catalogue.dropout_critical_points(matrix, width, strength) if each.equalized]
    for each in points:
        ((_, chosen),) = each.groups
        free = [spectrum[k] for k in range(4) if k not in chosen]
        threshold = strength * (each.weights**2).sum() / width
        exchanges = sum(other > spectrum[k] for other in free for k in chosen)
        assert each.index == exchanges + (width - len(chosen)) * sum(other > threshold for other in free)
    assert max(each.index for each in points) == 12 and min(each.index for each in points) == 0


def test_the_indices_of_figure_11_1():
    points = catalogue.dropout_critical_points(np.ones((1, 1)), 2, 0.6)
    assert {each.groups: each.index for each in points} == {((2, (0,)),): 0, ((1, ()), (1, (0,))): 1, ((2, ()),): 2}


@pytest.mark.item("A11.32")
@pytest.mark.item("A11.33")
@pytest.mark.item("A11.35")
def test_second_derivatives_along_the_curves_by_differences(key):
    spectrum = np.array([1.0, 0.5, 0.0])
    matrix, basis = symmetric(key, spectrum)
    strength, width, h = 1.9, 3, 1e-3
    assert strength < catalogue.threshold_strength(spectrum) == pytest.approx(2.0)
    value = lambda weights: float(autoencoder.autoencoder_loss(weights, matrix, strength))  # noqa: E731
    listed = {each.groups: each for each in catalogue.dropout_critical_points(matrix, width, strength)}
    point = listed[((3, (0,)),)]
    bend = 2 * (value(catalogue.lifted(point.weights, matrix, h)) - point.value) / h**2
    assert bend == pytest.approx(catalogue.lifted_curvature(spectrum, 1, width, strength), rel=1e-3)
    # This curve ascends, below the printed threshold; another direction descends.
    assert bend > 1.0 > 0 > catalogue.new_unit_curvature(spectrum, 1, width, strength)
    null = np.linalg.svd(point.weights)[2][1]
    moved = point.weights + h * np.outer(basis[:, 1], null)
    bend = 2 * (value(moved) - point.value) / h**2
    assert bend == pytest.approx(catalogue.new_unit_curvature(spectrum, 1, width, strength), rel=1e-3)
    other = listed[((3, (1,)),)]
    square = float((other.weights**2).sum())
    for t in (0.1, 0.7, 1.0):
        change = value(catalogue.swapped(other.weights, basis[:, 1], basis[:, 0], t)) - other.value
        assert change == pytest.approx(t**2 / 2 * catalogue.swap_curvature(square, 0.5, 1.0))


def test_lists_too_long_and_settings_without_a_meaning_are_refused():
    with pytest.raises(ValueError, match="at most 8 rows"):
        catalogue.dropout_critical_points(np.eye(9), 2, 1.0)
    with pytest.raises(ValueError, match="distinct positive eigenvalues"):
        catalogue.dropout_critical_points(np.diag([2.0, 2.0, 1.0]), 2, 1.0)
    assert len(catalogue.dropout_critical_points(np.diag([1.0, 0.0, 0.0]), 2, 1.0)) == 3  # zeros may repeat
    with pytest.raises(ValueError, match="positive"):
        catalogue.threshold_strength(np.array([-1.0, 0.0]))
    with pytest.raises(ValueError, match="rank"):
        catalogue.new_unit_curvature(np.array([1.0, 0.5]), 2, 2, 1.0)
    assert catalogue.threshold_strength(np.array([1.0, 1.0, 0.0])) == np.inf


def test_descent_ends_at_no_saddle(key):
    # With one column to itself an eigenvalue of 0.7 is kept as 0.7/1.1: a saddle near which weak dropout is slow.
    matrix = np.diag([1.0, 0.7, 0.5, 0.3])
    starts = generator(key).standard_normal((40, 4, 3))
    ends, values = descent_ends(starts, np.repeat(matrix[None], 40, axis=0), np.full(40, 0.1))
    least = autoencoder.least_autoencoder_loss(matrix, 3, 0.1)
    np.testing.assert_allclose(values, np.full(40, least), rtol=1e-10)
    np.testing.assert_allclose(
        ends @ jnp.swapaxes(ends, 1, 2),
        np.repeat(autoencoder.autoencoder_optimum(matrix, 3, 0.1)[None], 40, 0),
        atol=1e-8,
    )


def test_the_critical_points_at_strong_dropout_are_single_columns():
    """With λ → ∞ a column in one eigenvector has λᵢ/(1 + λ) of it, and all others fall away."""
    points = catalogue.dropout_critical_points(np.diag([2.0, 1.0]), 2, 1e14)
    best = [point for point in points if point.optimal]
    assert len(best) == 1 and best[0].groups == ((2, (0,)),)
    np.testing.assert_allclose((best[0].weights ** 2).sum(), 2.0 * 2 / (2 + 1e14))
    assert {point.groups for point in points} >= {((2, ()),), ((2, (1,)),), ((1, (0,)), (1, (1,)))}


def test_risk_of_a_large_target_keeps_what_the_weights_add():
    weights, cross = np.array([[1.0], [2.0]]), 1e20 * np.diag([1.0, 3.0])
    assert autoencoder.autoencoder_risk(weights, cross, 0.0) == pytest.approx(-2 * 13e20)


def test_a_turn_takes_two_columns_that_are_there():
    weights = np.arange(6.0).reshape(2, 3)
    for places, message in (((0, 3), r"second must lie in \[0, 2\]"), ((1, 1), "two columns")):
        with pytest.raises(ValueError, match=message):
            autoencoder.turned_pair(weights, *places, 0.5)
    turned = autoencoder.turned_pair(weights, 0, 1, 1 - 2.0**-52)
    np.testing.assert_allclose(turned[0, 1] - 0.0, 2.0**-25.5 * 1.0, rtol=1e-12)
    with pytest.raises(ValueError, match="rank ≤ width"):
        catalogue.lifted_curvature(np.array([2.0, 1.0]), 3, 2, 1.0)


@pytest.mark.parametrize("side", [1, -1])
def test_the_turn_that_equalizes_by_hand(side):
    """‖u₁‖² = 4, ‖u₂‖² = 1, u₁ᵀu₂ = ±2: tan 2θ = 3/4, so sin θ = √0.1; the column between them stays out of it."""
    weights = np.array([[0.0, 2.0, side * 1.0], [1.5, 0.0, 0.0]])
    longest, shortest, sine = equalizing_turn(weights, 10.0)
    assert (longest, shortest) == (1, 2)
    np.testing.assert_allclose(sine, -side * 0.1**0.5, rtol=1e-12)
    # A way of 0.1 is a chord of the circle of radius √5.
    half = np.arcsin(0.1 / 2 / 5**0.5)
    np.testing.assert_allclose(equalizing_turn(weights, 0.1)[2], -side * np.sin(2 * half), rtol=1e-12)


def test_the_turn_of_orthogonal_equal_and_vanishing_columns():
    np.testing.assert_allclose(equalizing_turn(np.diag([2.0, 1.0]), 10.0)[2], -(0.5**0.5), rtol=1e-12)
    np.testing.assert_allclose(equalizing_turn(np.diag([2.0, 0.0]), 10.0)[2], -(0.5**0.5), rtol=1e-12)
    assert equalizing_turn(np.eye(2), 10.0)[2] == 0
    assert equalizing_turn(np.zeros((2, 2)), 10.0)[2] == 0


def test_a_matrix_that_is_not_symmetric_is_refused():
    lopsided, weights = np.array([[1.0, 0.5], [0.0, 2.0]]), np.ones((2, 2))
    for ask in (
        lambda m: autoencoder.autoencoder_optimum(m, 2, 0.5),
        lambda m: autoencoder.least_autoencoder_loss(m, 2, 0.5),
        lambda m: autoencoder.autoencoder_gradient(weights, m, 0.5),
        lambda m: autoencoder.autoencoder_curvature(weights, m, 0.5, weights),
        lambda m: catalogue.dropout_critical_points(m, 2, 0.5),
        lambda m: catalogue.lifted(0 * weights, m, 0.1),
    ):
        with pytest.raises(ValueError, match=r"matrix must be symmetric, .* 0\.5 apart: see autoencoder_target"):
            ask(lopsided)
        ask(np.asarray(autoencoder.autoencoder_target(lopsided)))


def test_derivatives_of_curvatures_squares_and_threshold_by_hand():
    values, strength, width = np.array([3.0, 2.0, 1.0]), 0.7, 3
    # rλ_r/(Σλᵢ − rλ_r) = 3·1/(6 − 3) = 1, and its derivative (−1/3, −1/3, 1 + 2/3).
    slope = jax.jit(jax.grad(catalogue.threshold_strength))(values)
    np.testing.assert_allclose(slope, [-1 / 3, -1 / 3, 5 / 3], rtol=1e-12)
    many = jax.vmap(catalogue.threshold_strength)(np.array([[3.0, 2, 1], [1.0, 0, 0], [0.0, -1, -2], [5.0, 1, 0]]))
    np.testing.assert_allclose(many, [1.0, np.inf, np.nan, 0.5], rtol=1e-12)
    fresh = jax.grad(lambda e: catalogue.new_unit_curvature(e, 1, width, strength))(values)
    np.testing.assert_allclose(fresh, [4 * strength / (width + strength), -4, 0], rtol=1e-12)
    raised = jax.grad(lambda e: catalogue.lifted_curvature(e, 1, width, strength))(values)
    np.testing.assert_allclose(raised, [8 * strength / (width + strength), -4, -4], rtol=1e-12)
    by_strength = jax.grad(lambda s: catalogue.lifted_curvature(values, 1, width, s))(strength)
    assert by_strength == pytest.approx(8 * 3 * width / (width + strength) ** 2)
    squares = jax.jacobian(lambda e: catalogue.equalized_squares(e, width, strength))(values)
    np.testing.assert_allclose(squares, np.eye(3) - strength / (width + 3 * strength), rtol=1e-12)
