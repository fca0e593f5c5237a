"""Least nuclear norm against a semidefinite programme, by hand, and through the auditor."""

import cvxpy
import jax
import numpy as np
import pytest

from deeptheory.implicit_bias.auditor import solves
from deeptheory.implicit_bias.mirror import conjugate
from deeptheory.implicit_bias.nuclear import least_nuclear_norm, nuclear_certificate
from deeptheory.implicit_bias.potentials import nuclear_norm

RNG = np.random.default_rng(3)
MEASUREMENTS, MATRIX = RNG.standard_normal((9, 4, 3)), RNG.standard_normal((4, 3))
LABELS = np.einsum("iab,ab->i", MEASUREMENTS, MATRIX)
FLAT, POTENTIAL = MEASUREMENTS.reshape(9, 12), nuclear_norm(rows=4, columns=3)


@pytest.mark.item("A8.1")
def test_the_least_nuclear_norm_is_that_of_a_semidefinite_programme_and_its_audit_says_so():
    w = cvxpy.Variable((4, 3))
    fit = [cvxpy.sum(cvxpy.multiply(each, w)) == label for each, label in zip(MEASUREMENTS, LABELS, strict=True)]
    problem = cvxpy.Problem(cvxpy.Minimize(cvxpy.normNuc(w)), fit)
    problem.solve(solver=cvxpy.CLARABEL)
    matrix, multipliers = least_nuclear_norm(MEASUREMENTS, LABELS)
    np.testing.assert_allclose(matrix, w.value, atol=1e-3)
    np.testing.assert_allclose(np.linalg.svd(matrix)[1].sum(), problem.value, rtol=1e-6)
    audit = solves(matrix.ravel(), FLAT, LABELS, POTENTIAL, solution=(matrix.ravel(), multipliers))
    assert audit.unfit < 1e-12 and abs(audit.excess) < 1e-8 and audit.distance == 0
    # The matrix that made the labels fits as well and is larger; so is the one of least Frobenius norm.
    for other in (MATRIX.ravel(), np.linalg.lstsq(FLAT, LABELS)[0]):
        seen = solves(other, FLAT, LABELS, POTENTIAL, solution=(matrix.ravel(), multipliers))
        assert seen.unfit < 1e-12 and seen.excess > 1e-3
        np.testing.assert_allclose(seen.value, np.linalg.norm(other.reshape(4, 3), "nuc") ** 2 / 2)
        np.testing.assert_allclose(seen.distance, np.linalg.norm(other - matrix.ravel()))


def test_a_certificate_by_hand():
    """Seen are the first row and column of diag(2, 1): completed by 0 it is least, and no certificate is for 1."""
    units = np.eye(4).reshape(4, 2, 2)
    first = nuclear_certificate(np.diag([2.0, 0.0]), units[:3])
    np.testing.assert_allclose(first.combination, [[1, 0], [0, 0]], atol=1e-15)
    assert first.off < 1e-15 and first.beside < 1e-15
    # On the diagonal alone the tangent space of full rank is everything, and the identity is made of both.
    second = nuclear_certificate(np.diag([2.0, 1.0]), units[[0, 3]])
    np.testing.assert_allclose(second.combination, np.eye(2), atol=1e-15)
    third = nuclear_certificate(np.diag([2.0, 1.0]), units[:3])
    np.testing.assert_allclose(third.off, 1.0)  # the lower right corner of UVᵀ is not measured
    with pytest.raises(ValueError, match="rank must be from 1 to 2"):
        nuclear_certificate(np.eye(2), units, rank=3)
    with pytest.raises(ValueError, match="contradict"):
        least_nuclear_norm(units[[0, 0]], np.array([1.0, 2.0]))
    assert not least_nuclear_norm(units, np.zeros(4))[0].any()


def test_a_certificate_below_one_goes_with_the_least_norm():
    proved = 0
    for _ in range(6):
        measurements = RNG.standard_normal((20, 5, 5))
        target = np.outer(RNG.standard_normal(5), RNG.standard_normal(5))
        found = nuclear_certificate(target, measurements)
        assert found.off < 1e-12
        if found.beside < 1:
            proved += 1
            labels = np.einsum("iab,ab->i", measurements, target)
            np.testing.assert_allclose(least_nuclear_norm(measurements, labels)[0], target, atol=1e-6)
            flat, vector = measurements.reshape(20, 25), target.ravel()
            solution = vector, found.multipliers * np.linalg.norm(target, "nuc")
            audit = solves(vector, flat, labels, nuclear_norm(rows=5, columns=5), solution=solution)
            assert abs(audit.excess) < 1e-12
    assert proved


def test_the_potential_is_half_a_squared_norm_with_its_conjugate():
    w, z = RNG.standard_normal((2, 12))
    np.testing.assert_allclose(POTENTIAL.value(w), np.linalg.norm(w.reshape(4, 3), "nuc") ** 2 / 2)
    np.testing.assert_allclose(conjugate(POTENTIAL, z), np.linalg.norm(z.reshape(4, 3), 2) ** 2 / 2)
    np.testing.assert_allclose(POTENTIAL.gradient(w), jax.grad(POTENTIAL.value)(w), rtol=1e-6)
    np.testing.assert_allclose(POTENTIAL.value(w), POTENTIAL.gradient(w) @ w / 2)
    with pytest.raises(ValueError, match="corners"):
        POTENTIAL.metric(w)
