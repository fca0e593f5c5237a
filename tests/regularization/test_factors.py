"""Factors of least dropout penalty against descent over all factors and rational arithmetic."""

from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from deeptheory.foundations.randomness import generator
from deeptheory.regularization import factors, sensing

pytestmark = pytest.mark.slow


@pytest.mark.item("A11.8")
def test_chain_descends_and_is_tight_at_equalized_factors(key):
    draw = generator(key)
    chain = jax.jit(jax.vmap(factors.nuclear_norm_chain))
    links = chain(draw.standard_normal((1000, 6, 4)), draw.standard_normal((1000, 5, 4)))
    assert np.all(links["regularizer"] >= links["cauchy_schwarz"] * (1 - 1e-12))
    np.testing.assert_allclose(links["cauchy_schwarz"], links["rank_one"], rtol=1e-12)
    assert np.all(links["rank_one"] >= links["triangle"] * (1 - 1e-12))
    tight = factors.nuclear_norm_chain(*factors.equalized_factors(draw.standard_normal((6, 5)), 7))
    np.testing.assert_allclose(list(tight.values()), float(tight["triangle"]), rtol=1e-12)


@pytest.mark.item("A11.8")
def test_descent_over_factorizations_reaches_the_induced_regularizer(key, descend):
    matrix = generator(key).standard_normal((4, 3))
    left, right = factors.balanced_factors(matrix, 5)
    # All factors of M of full row rank: (W S^½, 0) extended by an invertible change of basis.
    basis, singular, reflection = np.linalg.svd(matrix, full_matrices=False)

    def regularizer(flat):
        change = flat.reshape(3, 5)
        u = basis * np.sqrt(singular) @ change
        v = reflection.T * np.sqrt(singular) @ jnp.linalg.solve(change @ change.T, change)
        return sensing.expected_dropout_regularizer(u, v)

    best = descend(regularizer, generator(key).standard_normal(15))
    np.testing.assert_allclose(best.fun, factors.induced_regularizer(matrix, 5), rtol=1e-7)
    assert best.fun < sensing.expected_dropout_regularizer(left, right) - 0.1


@pytest.mark.item("A11.9")
@pytest.mark.parametrize("width", [1, 2, 4, 9])
def test_equalizing_rotation(key, width):
    draw = generator(key)
    square = draw.standard_normal((width, width))
    for gram in (square + square.T, np.diag(np.arange(width) + 0.0), np.eye(width), np.zeros((width, width))):
        rotation = factors.equalize(gram)
        np.testing.assert_allclose(rotation @ rotation.T, np.eye(width), atol=1e-13)
        assert np.linalg.det(rotation) == pytest.approx(1)
        np.testing.assert_allclose(np.diag(rotation.T @ gram @ rotation), np.trace(gram) / width, atol=1e-12)


@pytest.mark.item("A11.9")
def test_equalized_factors_of_a_low_rank_matrix(key):
    draw = generator(key)
    matrix = draw.standard_normal((6, 2)) @ draw.standard_normal((2, 5))
    left, right = factors.equalized_factors(matrix, 4)
    share = np.linalg.norm(matrix, "nuc") / 4
    np.testing.assert_allclose(left @ right.T, matrix, atol=1e-13)
    np.testing.assert_allclose(np.sum(left**2, axis=0), share, rtol=1e-12)
    np.testing.assert_allclose(np.sum(right**2, axis=0), share, rtol=1e-12)


@pytest.mark.item("A11.10")
def test_residual_of_the_diagonal_pair():
    # ‖UQ‖ columns are one, so the best rotation makes both products √5 where 2 is asked for.
    residual = factors.unequalizable_residual(np.eye(2), np.diag([3.0, 1.0]))
    np.testing.assert_allclose(residual, 5**0.5 - 2, rtol=1e-6)
    assert factors.equalization_defect([[1, 0], [0, 1]], [[3, 0], [0, 1]]) != 0


@pytest.mark.item("A11.10")
def test_residual_is_that_of_the_worse_column_at_the_best_angle(key):
    left, right = generator(key).standard_normal((2, 30, 2, 2))
    angles = np.linspace(0, np.pi / 2, 20_001)
    directions = [(np.cos(angles), np.sin(angles)), (-np.sin(angles), np.cos(angles))]
    for u, v, residual in zip(left, right, factors.unequalizable_residual(left, right), strict=True):
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
    defect = [factors.equalization_defect(u.tolist(), v.tolist()) for u, v in zip(left, right, strict=True)]
    assert all(isinstance(value, Fraction) for value in defect)
    residual = factors.unequalizable_residual(left * 1.0, right * 1.0, angles=256, refinements=40)
    vanishes = np.array([value == 0 for value in defect])
    assert vanishes[:160].all() and np.sum(~vanishes) > 100
    assert np.max(residual[vanishes]) < 1e-6
    # Where the defect is not zero the residual is of its size, over products of size ten.
    assert np.all(residual[~vanishes] > 0.005 * np.abs([float(value) for value in defect if value]))


def test_a_gram_matrix_that_is_not_symmetric_is_refused():
    with pytest.raises(ValueError, match="symmetric"):
        factors.equalize(np.array([[0.0, 1.0], [2.0, 0.0]]))


def test_fewer_columns_than_the_rank_have_no_factors():
    matrix = np.diag([3.0, 2.0, 1.0])
    for ask in (factors.induced_regularizer, factors.equalized_factors):
        with pytest.raises(ValueError, match=r"width must be at least the rank of the matrix, 3, .* got 2"):
            ask(matrix, 2)
    assert float(factors.induced_regularizer(matrix, 3)) == pytest.approx(12)
    assert float(factors.induced_regularizer(np.diag([3.0, 2.0, 0.0]), 2)) == pytest.approx(12.5)
