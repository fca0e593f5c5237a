import numpy as np
import pytest
from scipy.optimize import linprog

from deeptheory.approximation.widths import (
    adaptive_width,
    best_fixed_basis,
    fixed_basis_error,
    fixed_width,
    limiting_fixed_width,
    wave_lengths,
)

LENGTHS = np.sort(np.random.default_rng(0).uniform(0.2, 2.0, 30))[::-1]


def test_waves_by_hand():
    # In the plane: four of length one, four of √2, four of 2.
    np.testing.assert_allclose(wave_lengths(2, 2, constant=3.0), 3 / np.sqrt(2 * np.repeat([1.0, 2.0, 4.0], 4)))
    assert len(wave_lengths(3, 1)) == 6


@pytest.mark.item("L4.8")
@pytest.mark.parametrize("terms", [1, 4, 11])
def test_width_is_the_least_worst_error(terms):
    # Diagonals of projections, by Schur and Horn: minimize t over p in [0, 1] with sum m and a²(1 − p) ≤ t.
    n = len(LENGTHS)
    answer = linprog(
        np.eye(n + 1)[n],
        A_ub=np.hstack([-np.diag(LENGTHS**2), -np.ones((n, 1))]), b_ub=-(LENGTHS**2),
        A_eq=np.append(np.ones(n), 0)[None], b_eq=[terms], bounds=[(0, 1)] * n + [(0, None)],
    )  # fmt: skip
    assert fixed_width(LENGTHS, terms) == pytest.approx(answer.fun, rel=1e-9)


@pytest.mark.item("L4.8")
@pytest.mark.parametrize("terms", [1, 4, 11])
def test_best_basis_attains_the_width_and_no_other_beats_it(terms):
    basis = best_fixed_basis(LENGTHS, terms)
    np.testing.assert_allclose(basis @ basis.T, np.eye(terms), atol=1e-12)
    assert fixed_basis_error(LENGTHS, basis) == pytest.approx(fixed_width(LENGTHS, terms), rel=1e-10)
    rng = np.random.default_rng(1)
    for _ in range(50):
        other = basis + 0.1 * rng.standard_normal(basis.shape)
        assert fixed_basis_error(LENGTHS, other) >= fixed_width(LENGTHS, terms)


@pytest.mark.item("L4.8")
def test_adaptive_width_is_the_worst_of_all_targets():
    rng = np.random.default_rng(2)
    lengths, terms = LENGTHS[:8], 3
    worst = 0.0
    for _ in range(20_000):
        used = rng.integers(4, 9)
        weights = np.zeros(8)
        weights[:used] = rng.dirichlet(np.full(used, 50.0) / lengths[:used])
        worst = max(worst, np.sum(np.sort((weights * lengths) ** 2)[: 8 - terms]))
    assert 0.8 * adaptive_width(lengths, terms) < worst <= adaptive_width(lengths, terms) <= lengths[0] ** 2 / 12


@pytest.mark.parametrize(("dimension", "largest"), [(1, 4000), (2, 150), (3, 30)])
def test_width_of_many_waves_has_its_limit(dimension, largest):
    lengths = wave_lengths(dimension, largest, constant=2.0)
    terms = len(lengths) // (dimension + 2)
    assert fixed_width(lengths, terms) == pytest.approx(limiting_fixed_width(dimension, terms, constant=2.0), rel=0.05)


def test_too_few_waves_are_refused():
    with pytest.raises(ValueError, match="reach beyond"):
        fixed_width(wave_lengths(2, 4), 40)
