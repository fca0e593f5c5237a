"""Subspaces, spectra and the Loewner order against SciPy, NumPy and hand-made matrices."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.linalg import null_space, orth

from deeptheory.calculus.matrices import (
    characteristic_polynomial,
    coordinates_in_span,
    loewner_order,
    rank_one_terms,
    spectrum,
    subspaces,
)


@pytest.mark.item("L1.1")
@pytest.mark.item("L1.13")
def test_subspaces_against_scipy():
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(5, 2)) @ rng.normal(size=(2, 4))
    found = subspaces(matrix)
    assert found.rank == 2 == np.linalg.matrix_rank(matrix)
    for ours, theirs in (
        (found.columns, orth(matrix)),
        (found.rows, orth(matrix.T)),
        (found.kernel, null_space(matrix)),
        (found.cokernel, null_space(matrix.T)),
    ):
        assert np.allclose(ours @ ours.T, theirs @ theirs.T, atol=1e-12)
    terms = rank_one_terms(matrix)
    assert np.allclose(terms.sum(0), matrix) and all(np.linalg.matrix_rank(each, tol=1e-9) <= 1 for each in terms)


@pytest.mark.item("L1.1")
def test_the_printed_examples_of_a_span():
    """(0.5, 4) = 0.5(−3, 2) + (2, 3); of (1, 2) and (2, 4) only multiples of (1, 2) are reached."""
    coefficients, apart = coordinates_in_span(np.array([[-3.0, 2.0], [2.0, 3.0]]), np.array([0.5, 4.0]))
    assert np.allclose(coefficients, [0.5, 1]) and apart < 1e-14
    line = np.array([[1.0, 2.0], [2.0, 4.0]])
    assert coordinates_in_span(line, np.array([2.0, 4.0]))[1] < 1e-14
    assert coordinates_in_span(line, np.array([2.0, 3.0]))[1] == pytest.approx(5**-0.5)
    for unit in (1.0, 1e-20, 1e20):  # what counts as zero does so beside the largest
        assert subspaces(unit * line).rank == 1
        assert subspaces(unit * np.diag([1.0, 2.0])).rank == 2


@pytest.mark.item("L1.11")
def test_characteristic_polynomial_and_multiplicities():
    """Against NumPy's, and for Jordan blocks: algebraic 2, geometric 1."""
    matrix = np.random.default_rng(1).integers(-3, 4, (5, 5)).astype(float)
    assert np.allclose([float(each) for each in characteristic_polynomial(matrix)], np.poly(matrix), atol=1e-8)
    jordan = np.array([[2.0, 1, 0, 0], [0, 2, 0, 0], [0, 0, 2, 0], [0, 0, 0, -1]])
    assert spectrum(jordan) == ((Fraction(-1), Fraction(2)), (1, 3), (1, 2))
    assert spectrum(np.eye(2)) == ((Fraction(1),), (2,), (2,))
    assert spectrum(np.ones((3, 3))) == ((Fraction(0), Fraction(3)), (2, 1), (2, 1))  # equal rows: one is left
    assert spectrum(np.array([[0.0, -1], [1, 0]])) == ((), (), ())


@pytest.mark.item("L1.12")
def test_loewner_order_by_hand_and_by_cholesky():
    first, second = np.diag([2.0, 0]), np.diag([0.0, 2])
    found = loewner_order(first, second)
    assert found.relation == "incomparable" and found.above @ first @ found.above > found.above @ second @ found.above
    assert found.below @ first @ found.below < found.below @ second @ found.below
    assert loewner_order(first, first).relation == "="
    rng = np.random.default_rng(2)
    for _ in range(50):
        one, other = (each + each.T for each in rng.normal(size=(2, 3, 3)))
        shift = rng.uniform(0, 4)
        try:
            np.linalg.cholesky(one + shift * np.eye(3) - other)
            above = True
        except np.linalg.LinAlgError:
            above = False
        assert (loewner_order(one + shift * np.eye(3), other).relation == "≽") == above
    with pytest.raises(ValueError, match="must be symmetric"):
        loewner_order(np.triu(np.ones((2, 2))), first)
