"""Resolvents against dense inverses, SciPy's matrix functions and full enumeration."""

import itertools

import numpy as np
import pytest
import scipy.linalg

from deeptheory.spectra import (
    marchenko_pastur_proof as proof,
    resolvents as rs,
    ridge_path as ridge,
    spectral_measure as measure,
)


@pytest.fixture
def matrix():
    draw = np.random.default_rng(3)
    x = draw.standard_normal((6, 6))
    return x @ x.T / 6 + np.eye(6)


@pytest.mark.item("J6.6")
def test_contour_integrals_are_matrix_functions(matrix):
    top = np.linalg.eigvalsh(matrix)[-1]
    circle = (top + 0.5) / 2 + 0.2, (top + 0.5) / 2 - 0.2
    np.testing.assert_allclose(
        rs.contour_function(matrix, np.exp, *circle, nodes=400), scipy.linalg.expm(matrix), atol=1e-10
    )
    np.testing.assert_allclose(rs.spectral_function(matrix, np.sqrt), scipy.linalg.sqrtm(matrix), atol=1e-12)
    one = rs.contour_function(np.asarray([[0.3]]), np.ones_like, 0.0, 1.0, nodes=3)
    assert one[0, 0] == pytest.approx(rs.contour_weight(np.asarray([0.3]), 0.0, 1.0, nodes=3)[0])
    with pytest.raises(ValueError, match="radius"):
        rs.contour_function(matrix, np.exp, 0.0, -1.0)


@pytest.mark.item("J6.11", "J6.12")
def test_rank_one_changes(matrix):
    vector, z = np.arange(1.0, 7), 0.7 + 0.3j
    changed = matrix - 0.2 * np.outer(vector, vector)
    np.testing.assert_allclose(rs.rank_one_solve(matrix, vector, -0.2), np.linalg.solve(changed, vector), rtol=1e-11)
    direct = np.trace(rs.resolvent(changed, z)) - np.trace(rs.resolvent(matrix, z))
    assert rs.rank_one_trace_change(matrix, vector, -0.2, z) == pytest.approx(direct, rel=1e-11)
    assert abs(direct) <= 1 / z.imag
    x = np.random.default_rng(0).standard_normal((4, 7))
    for k, found in enumerate(rs.leave_one_out_transforms(x, z)):
        rest = np.delete(x, k, axis=1)
        assert found == pytest.approx(np.trace(rs.resolvent(rest @ rest.T / 7, z)) / 4, rel=1e-11)


@pytest.mark.item("J6.13")
def test_variance_of_a_quadratic_form_by_enumeration():
    draw = np.random.default_rng(1)
    for fourth in (1.0, 2.5):
        points = (-(fourth**0.5), fourth**0.5) if fourth == 1 else (-(fourth**0.5), 0.0, fourth**0.5)
        shares = (0.5, 0.5) if fourth == 1 else (0.2, 0.6, 0.2)
        vectors = np.asarray(list(itertools.product(points, repeat=5)))
        weights = np.prod(list(itertools.product(shares, repeat=5)), axis=1)
        matrix = draw.standard_normal((5, 5))
        form = (vectors @ matrix * vectors).sum(1)
        spread = weights @ form**2 - (weights @ form) ** 2
        assert rs.quadratic_form_variance(matrix, fourth) == pytest.approx(spread, rel=1e-12)
        batch = rs.quadratic_form_variance(np.stack([matrix, 2 * matrix]), fourth)
        np.testing.assert_allclose(batch, [spread, 4 * spread], rtol=1e-12)


@pytest.mark.item("J6.14")
def test_proof_steps_fit_together():
    x, z = np.random.default_rng(5).standard_normal((9, 18)), 0.8 + 0.6j
    steps = proof.proof_steps(x, z)
    assert steps.trace == pytest.approx(1 + z * steps.transform, rel=1e-12)
    assert steps.samplewise == pytest.approx(steps.trace, rel=1e-12)
    np.testing.assert_allclose(steps.traces, rs.leave_one_out_transforms(x, z), rtol=1e-11)
    assert abs(steps.traces - steps.transform).max() <= 1 / (9 * z.imag)
    assert np.all(steps.variances <= proof.quadratic_form_bound(9, z, 3.0) ** 2)
    factor = proof.stability_factor(complex(steps.transform), complex(steps.transform - steps.error), z, 2.0)
    assert steps.residual * factor == pytest.approx(steps.error, rel=1e-10)
    assert proof.replacement_slope(1 + 1j) == pytest.approx(2)
    assert proof.replacement_slope(3 + 1j) == pytest.approx(10)
    # √(max(2, κ − 1)/N)/|Im z|.
    assert proof.quadratic_form_bound(8, 1 + 2j, 9.0) == pytest.approx(0.5)
    assert proof.quadratic_form_bound(8, 1 - 2j, 1.8) == pytest.approx(0.25)


def test_spread_of_a_quadratic_form_in_one_sample_by_enumeration():
    """Over all signs of the first sample, the others held: what the trace lemma gives for |q − s|², both parts."""
    draw, z = np.random.default_rng(5), 0.7 + 0.4j
    x = np.sign(draw.standard_normal((4, 3)))
    gaps = []
    for signs in itertools.product((-1.0, 1.0), repeat=4):
        x[:, 0] = signs
        steps = proof.proof_steps(x, z, fourth=1.0)
        gaps.append(abs(steps.forms[0] - steps.traces[0]) ** 2)
    assert np.mean(gaps) == pytest.approx(steps.variances[0], rel=1e-12)


def test_ridge_inverse_by_singular_values():
    a = np.random.default_rng(6).standard_normal((3, 5))
    u, s, v = np.linalg.svd(a, full_matrices=False)
    np.testing.assert_allclose(ridge.ridge_inverse(a, 0.3), u * (s / (s**2 + 0.3)) @ v, rtol=1e-12)


@pytest.mark.item("J6.3", "J6.1")
def test_spectral_measure_and_distance_to_the_identity(matrix):
    values = np.linalg.eigvalsh(matrix)
    assert measure.linear_statistic(values, lambda v: v**3) == pytest.approx(np.trace(matrix @ matrix @ matrix) / 6)
    np.testing.assert_array_equal(measure.empirical_cdf(values, np.asarray([0.0, values[2], 99.0])), [0, 0.5, 1])
    assert measure.covariance_error(values) == pytest.approx(np.linalg.norm(matrix - np.eye(6), 2))
    assert measure.covariance_error_limit(0.25) == 1.25
    with pytest.raises(ValueError, match="ratio"):
        measure.covariance_error_limit(0)


@pytest.mark.item("J6.17")
def test_escaping_mass_is_lost_to_functions_of_bounded_support():
    points, weights = measure.escaping_mass(1e6, 0.3)
    assert weights.sum() == 1
    assert (weights * np.exp(-(points**2))).sum() == pytest.approx(0.7)
    with pytest.raises(ValueError, match="share"):
        measure.escaping_mass(1.0, 1.5)


def test_azuma_tail_is_two_sided_azuma_for_two_parts():
    # Real and imaginary part at t/√2 each, differences of 2/(Nv).
    assert rs.azuma_tail(0.3, 100, 50, 2.0) == pytest.approx(4 * np.exp(-(0.3**2 / 2) / (2 * 50 * (2 / 200) ** 2)))
    assert rs.transform_variance_bound(10, 20, 0.5) == pytest.approx(20 * (1 / 5) ** 2)
