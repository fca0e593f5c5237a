"""Dropout in matrix sensing against enumeration, convex and descent solvers, and rational arithmetic."""

from fractions import Fraction

import cvxpy
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.optimize

from deeptheory.foundations.randomness import generator
from deeptheory.regularization import dropout

pytestmark = pytest.mark.slow


def problem(key, d2=4, d1=5, d0=3, n=7):
    draw = generator(key)
    return [draw.standard_normal(shape) for shape in ((d2, d1), (d0, d1), (n, d2, d0), (n,))]


def descend(objective, start):
    """Minimise a JAX function of one flat vector with L-BFGS."""
    value_and_grad = jax.jit(jax.value_and_grad(objective))
    return scipy.optimize.minimize(
        lambda x: tuple(map(np.asarray, value_and_grad(x))),
        start,
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": 5000, "ftol": 1e-16, "gtol": 1e-10},
    )


def test_masks_have_mean_one_and_variance_lambda():
    masks, probabilities = dropout.dropout_masks(6, 0.3)
    assert probabilities.sum() == pytest.approx(1)
    np.testing.assert_allclose(probabilities @ masks, 1)
    np.testing.assert_allclose(probabilities @ (masks - 1) ** 2, dropout.dropout_strength(0.3))


@pytest.mark.item("A11.5")
@pytest.mark.parametrize("rate", [0.0, 0.3, 0.9])
def test_dropout_objective_is_loss_plus_regularizer(key, rate):
    left, right, measurements, labels = problem(key)
    enumerated = dropout.dropout_objective(left, right, measurements, labels, rate)
    split = dropout.sensing_loss(left, right, measurements, labels) + dropout.dropout_strength(
        rate
    ) * dropout.dropout_regularizer(left, right, measurements)
    np.testing.assert_allclose(enumerated, split, rtol=1e-13)


def test_expected_regularizer_is_a_mean_over_measurements(key):
    # Orthogonal matrices of measurements with Σ Aᵢ ⊗ Aᵢ = identity stand for the Gaussian average exactly.
    left, right, _, _ = problem(key)
    basis = np.eye(12).reshape(12, 4, 3)
    exact = 12 * dropout.dropout_regularizer(left, right, basis)
    signs = np.array(np.meshgrid(*[[-1.0, 1.0]] * 12)).reshape(12, -1).T.reshape(-1, 4, 3)
    np.testing.assert_allclose(
        dropout.expected_dropout_regularizer(left, right), dropout.dropout_regularizer(left, right, signs), rtol=1e-12
    )
    assert exact != pytest.approx(dropout.expected_dropout_regularizer(left, right) * 2)


@pytest.mark.item("A11.8")
def test_chain_descends_and_is_tight_at_equalized_factors(key):
    draw = generator(key)
    chain = jax.jit(jax.vmap(dropout.nuclear_norm_chain))
    links = chain(draw.standard_normal((1000, 6, 4)), draw.standard_normal((1000, 5, 4)))
    assert np.all(links["regularizer"] >= links["cauchy_schwarz"] * (1 - 1e-12))
    np.testing.assert_allclose(links["cauchy_schwarz"], links["rank_one"], rtol=1e-12)
    assert np.all(links["rank_one"] >= links["triangle"] * (1 - 1e-12))
    tight = dropout.nuclear_norm_chain(*dropout.equalized_factors(draw.standard_normal((6, 5)), 7))
    np.testing.assert_allclose(list(tight.values()), float(tight["triangle"]), rtol=1e-12)


@pytest.mark.item("A11.8")
def test_descent_over_factorizations_reaches_the_induced_regularizer(key):
    matrix = generator(key).standard_normal((4, 3))
    left, right = dropout.balanced_factors(matrix, 5)
    # All factors of M of full row rank: (W S^½, 0) extended by an invertible change of basis.
    basis, singular, reflection = np.linalg.svd(matrix, full_matrices=False)

    def regularizer(flat):
        change = flat.reshape(3, 5)
        u = basis * np.sqrt(singular) @ change
        v = reflection.T * np.sqrt(singular) @ jnp.linalg.solve(change @ change.T, change)
        return dropout.expected_dropout_regularizer(u, v)

    best = descend(regularizer, generator(key).standard_normal(15))
    np.testing.assert_allclose(best.fun, dropout.induced_regularizer(matrix, 5), rtol=1e-7)
    assert best.fun < dropout.expected_dropout_regularizer(left, right) - 0.1


@pytest.mark.item("A11.9")
@pytest.mark.parametrize("width", [1, 2, 4, 9])
def test_equalizing_rotation(key, width):
    draw = generator(key)
    square = draw.standard_normal((width, width))
    for gram in (square + square.T, np.diag(np.arange(width) + 0.0), np.eye(width), np.zeros((width, width))):
        rotation = dropout.equalize(gram)
        np.testing.assert_allclose(rotation @ rotation.T, np.eye(width), atol=1e-13)
        assert np.linalg.det(rotation) == pytest.approx(1)
        np.testing.assert_allclose(np.diag(rotation.T @ gram @ rotation), np.trace(gram) / width, atol=1e-12)


@pytest.mark.item("A11.9")
def test_equalized_factors_of_a_low_rank_matrix(key):
    draw = generator(key)
    matrix = draw.standard_normal((6, 2)) @ draw.standard_normal((2, 5))
    left, right = dropout.equalized_factors(matrix, 4)
    share = np.linalg.norm(matrix, "nuc") / 4
    np.testing.assert_allclose(left @ right.T, matrix, atol=1e-13)
    np.testing.assert_allclose(np.sum(left**2, axis=0), share, rtol=1e-12)
    np.testing.assert_allclose(np.sum(right**2, axis=0), share, rtol=1e-12)


@pytest.mark.item("A11.11")
@pytest.mark.parametrize(
    "strength, printed",
    [(0.3, (2.83125, 1.83125, 0.83125, 0.13125)), (2.0, (2.25, 1.25, 0.25, 0)), (10.0, (4 / 3, 1 / 3, 0, 0))],
)
def test_shrinkage_against_descent_and_a_quadratic_program(key, strength, printed):
    singular = np.array([3, 2, 1, 0.3])
    shrunk, threshold = dropout.dropout_shrinkage(singular, 10, strength)
    np.testing.assert_allclose(shrunk, printed, atol=1e-12)
    np.testing.assert_allclose(threshold, singular[0] - printed[0], atol=1e-12)
    variable = cvxpy.Variable(4, nonneg=True)
    cvxpy.Problem(
        cvxpy.Minimize(cvxpy.sum_squares(singular - variable) + strength / 10 * cvxpy.square(cvxpy.sum(variable)))
    ).solve(solver=cvxpy.CLARABEL)
    np.testing.assert_allclose(shrunk, variable.value, atol=1e-5)

    target = np.diag(singular)

    def objective(flat):
        u, v = flat.reshape(2, 4, 10)
        return jnp.sum((target - u @ v.T) ** 2) + strength * dropout.expected_dropout_regularizer(u, v)

    best = descend(objective, generator(key).standard_normal(80))
    u, v = best.x.reshape(2, 4, 10)
    np.testing.assert_allclose(u @ v.T, np.diag(shrunk), atol=2e-4)


def test_shrinkage_keeps_no_more_than_the_width():
    shrunk, threshold = dropout.dropout_shrinkage(np.array([3.0, 2.0, 1.0]), 2, 0.1)
    assert np.count_nonzero(shrunk) == 2
    np.testing.assert_allclose(threshold, 0.1 * 5 / 2.2)


def test_optimum_moves_singular_values_only(key):
    target = generator(key).standard_normal((5, 4))
    optimum = dropout.dropout_optimum(target, 6, 0.5)
    left, singular, right = np.linalg.svd(target, full_matrices=False)
    expected, _ = dropout.dropout_shrinkage(singular, 6, 1.0)
    np.testing.assert_allclose(left.T @ optimum @ right.T, np.diag(expected), atol=1e-12)
    np.testing.assert_allclose(dropout.dropout_optimum(target, 6, 0.0), target, atol=1e-13)


@pytest.mark.item("A11.10")
def test_residual_of_the_diagonal_pair():
    # ‖UQ‖ columns are one, so the best rotation makes both products √5 where 2 is asked for.
    residual = dropout.unequalizable_residual(np.eye(2), np.diag([3.0, 1.0]))
    np.testing.assert_allclose(residual, 5**0.5 - 2, rtol=1e-6)
    assert dropout.equalization_defect([[1, 0], [0, 1]], [[3, 0], [0, 1]]) != 0


@pytest.mark.item("A11.10")
def test_residual_is_that_of_the_worse_column_at_the_best_angle(key):
    left, right = generator(key).standard_normal((2, 30, 2, 2))
    angles = np.linspace(0, np.pi / 2, 20_001)
    directions = [(np.cos(angles), np.sin(angles)), (-np.sin(angles), np.cos(angles))]
    for u, v, residual in zip(left, right, dropout.unequalizable_residual(left, right), strict=True):
        wanted = np.linalg.svd(u @ v.T, compute_uv=False).sum() / 2
        first, second = (np.linalg.norm(u @ q, axis=0) * np.linalg.norm(v @ q, axis=0) for q in directions)
        at = np.maximum(abs(first - wanted), abs(second - wanted))
        assert residual == pytest.approx(at.min(), abs=2e-3 * wanted)
        assert min(abs(first - wanted).min(), abs(second - wanted).min()) <= residual + 2e-3 * wanted


@pytest.mark.item("A11.10")
def test_defect_vanishes_exactly_where_the_residual_does(key):
    draw = generator(key)
    left, right = draw.integers(-3, 4, (2, 400, 2, 2))
    right[:80] = left[:80]  # balanced pairs: a rotation always exists
    right[80:120] = left[80:120][:, ::-1]
    left[120:140] = 0
    # Orthogonal columns whose lengths are exchanged: no direction is singled out, and some rotation works.
    left[140:160], right[140:160] = np.diag([2, 1]), np.diag([1, 2])
    left[160:180, 1] = 0
    defect = [dropout.equalization_defect(u.tolist(), v.tolist()) for u, v in zip(left, right, strict=True)]
    assert all(isinstance(value, Fraction) for value in defect)
    residual = dropout.unequalizable_residual(left * 1.0, right * 1.0, angles=256, refinements=40)
    vanishes = np.array([value == 0 for value in defect])
    assert vanishes[:160].all() and np.sum(~vanishes) > 100
    assert np.max(residual[vanishes]) < 1e-6
    # Where the defect is not zero the residual is of its size, over products of size ten.
    assert np.all(residual[~vanishes] > 0.005 * np.abs([float(value) for value in defect if value]))


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="rate"):
        dropout.dropout_strength(1.0)
    with pytest.raises(ValueError, match="width"):
        dropout.dropout_masks(30, 0.5)
    with pytest.raises(ValueError, match="symmetric"):
        dropout.equalize(np.array([[0.0, 1.0], [2.0, 0.0]]))
