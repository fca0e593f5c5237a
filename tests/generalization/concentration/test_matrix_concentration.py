"""Matrix Bernstein: its ingredients against definitions, its bounds against simulation."""

import numpy as np
import pytest

from deeptheory.foundations.concentration import log_bernstein
from deeptheory.foundations.randomness import generator
from deeptheory.generalization.concentration import matrix_concentration as m


def test_row_sampling_is_centred_and_adds_up(key):
    draw = generator(key)
    left, right = draw.standard_normal((6, 3)), draw.standard_normal((6, 2))
    sums = m.row_sampling(left, right, 4)
    assert sums.outcomes.shape == (4, 6, 3, 2)
    np.testing.assert_allclose(sums.outcomes.mean(1), 0, atol=1e-14)
    rows = [0, 3, 3, 5]
    estimate = sum(6 * np.outer(left[j], right[j]) for j in rows) / 4
    found = sum(sums.outcomes[i, j] for i, j in enumerate(rows))
    np.testing.assert_allclose(found, estimate - left.T @ right, atol=1e-13)


def test_variance_and_bound_by_definition(key):
    x = generator(key).standard_normal((5, 3, 4))
    sums = m.signed_matrices(x)
    rows, columns = sum(a @ a.T for a in x), sum(a.T @ a for a in x)
    assert m.matrix_variance(sums) == pytest.approx(max(np.linalg.norm(rows, 2), np.linalg.norm(columns, 2)))
    assert sums.bound == pytest.approx(max(np.linalg.norm(a, 2) for a in x))


def test_bounds_hold_in_simulation_and_by_formula(key):
    draw = generator(key)
    x = draw.standard_normal((30, 6, 4))
    sums = m.signed_matrices(x)
    variance, bound = m.matrix_variance(sums), sums.bound
    norms = m.spectral_norms(np.tensordot(draw.choice([-1.0, 1.0], (2000, 30)), x, 1))
    assert norms.mean() < m.expected_matrix_norm(variance, bound, (6, 4))
    for t in np.quantile(norms, [0.5, 0.9]):
        assert np.log((norms >= t).mean()) < m.log_matrix_tail(t, variance, bound, (6, 4))
    expected = log_bernstein(2.0, variance, bound) + np.log(10)
    assert float(m.log_matrix_tail(2.0, variance, bound, (6, 4))) == pytest.approx(expected)
    assert float(m.expected_matrix_norm(8.0, 3.0, (1, 1))) == pytest.approx((16 * np.log(2)) ** 0.5 + np.log(2))


def test_all_choices_are_all():
    assert len({tuple(row) for row in m.all_choices(4, 3)}) == 81
