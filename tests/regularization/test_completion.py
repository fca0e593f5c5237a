"""Matrix completion with dropout against sums over all entries, convex solvers and numbers worked out by hand."""

import cvxpy
import jax
import numpy as np
import pytest
from scipy import stats

from deeptheory.foundations.randomness import generator
from deeptheory.regularization import completion, sensing

ROWS, COLUMNS = np.array([0.4, 0.3, 0.2, 0.1]), np.array([0.5, 0.3, 0.2])

pytestmark = pytest.mark.slow


@pytest.mark.item("A11.12")
@pytest.mark.parametrize("column_law", [COLUMNS, np.full(3, 1 / 3)])
def test_entries_come_with_the_product_of_the_laws(key, column_law):
    rows, columns = completion.draw_entries(key, ROWS, column_law, 60_000)
    seen = np.zeros((4, 3))
    np.add.at(seen, (np.asarray(rows), np.asarray(columns)), 1)
    assert stats.chisquare(seen.ravel(), 60_000 * np.outer(ROWS, column_law).ravel()).pvalue > 1e-4


@pytest.mark.item("A11.12")
def test_completion_is_sensing_with_indicator_matrices(key):
    draw = generator(key)
    left, right, labels = draw.standard_normal((4, 5)), draw.standard_normal((3, 5)), draw.standard_normal(7)
    rows, columns = draw.integers(0, 4, 7), draw.integers(0, 3, 7)
    indicators = np.zeros((7, 4, 3))
    indicators[np.arange(7), rows, columns] = 1
    np.testing.assert_allclose(
        completion.completion_loss(left, right, rows, columns, labels),
        sensing.sensing_loss(left, right, indicators, labels),
    )
    np.testing.assert_allclose(
        completion.completion_regularizer(left, right, rows, columns),
        sensing.dropout_regularizer(left, right, indicators),
    )


@pytest.mark.item("A11.13")
def test_expected_regularizer_is_a_sum_over_all_entries(key):
    draw = generator(key)
    left, right = draw.standard_normal((4, 5)), draw.standard_normal((3, 5))
    by_entry = sum(ROWS[i] * COLUMNS[k] * np.sum((left[i] * right[k]) ** 2) for i in range(4) for k in range(3))
    found = completion.expected_completion_regularizer(left, right, ROWS, COLUMNS)
    np.testing.assert_allclose(found, by_entry, rtol=1e-13)


@pytest.mark.item("A11.13")
def test_constructed_factors_attain_the_weighted_trace_norm(key):
    matrix = generator(key).standard_normal((4, 3))
    left, right = completion.weighted_equalized_factors(matrix, ROWS, COLUMNS, 5)
    np.testing.assert_allclose(left @ right.T, matrix, atol=1e-12)
    norm = np.linalg.norm(np.sqrt(ROWS)[:, None] * matrix * np.sqrt(COLUMNS), "nuc")
    attained = completion.expected_completion_regularizer(left, right, ROWS, COLUMNS)
    np.testing.assert_allclose(attained, norm**2 / 5, rtol=1e-11)
    np.testing.assert_allclose(completion.weighted_trace_norm(matrix, ROWS, COLUMNS), norm, rtol=1e-13)


@pytest.mark.item("A11.17")
def test_weighted_optimum_against_a_convex_solver(key):
    target, rate, width = generator(key).standard_normal((4, 3)), 0.6, 5
    law = np.outer(ROWS, COLUMNS)
    matrix = cvxpy.Variable((4, 3))
    scaled = cvxpy.multiply(np.sqrt(law), matrix)
    loss = cvxpy.sum_squares(cvxpy.multiply(np.sqrt(law), target - matrix))
    penalty = rate / (1 - rate) / width * cvxpy.square(cvxpy.normNuc(scaled))
    cvxpy.Problem(cvxpy.Minimize(loss + penalty)).solve(solver=cvxpy.CLARABEL)
    ours = completion.weighted_optimum(target, ROWS, COLUMNS, width, rate)
    np.testing.assert_allclose(ours, matrix.value, atol=2e-4)


@pytest.mark.item("A11.15")
def test_supremum_over_the_trace_ball_against_a_convex_solver(key):
    draw = generator(key)
    rows, columns, signs = draw.integers(0, 4, 6), draw.integers(0, 3, 6), draw.choice([-1.0, 1.0], 6)
    matrix = cvxpy.Variable((4, 3))
    ball = cvxpy.normNuc(cvxpy.multiply(np.sqrt(np.outer(ROWS, COLUMNS)), matrix)) <= 1.7
    total = sum(sign * matrix[int(i), int(k)] for sign, i, k in zip(signs, rows, columns, strict=True)) / 6
    best = cvxpy.Problem(cvxpy.Maximize(total), [ball]).solve(solver=cvxpy.CLARABEL)
    ours = completion.trace_ball_supremum(signs, rows, columns, ROWS, COLUMNS, 1.7)
    np.testing.assert_allclose(ours, best, rtol=1e-6)


@pytest.mark.item("A11.15")
def test_bound_of_the_trace_ball_by_hand_and_above_the_mean_over_all_signs():
    rows, columns = np.array([0, 0, 3, 2]), np.array([0, 1, 2, 0])
    # 1/(pq) is 5, 25/3, 50 and 10: the largest row sum is 50, the largest column sum 50 too.
    bound = completion.trace_ball_bound(rows, columns, ROWS, COLUMNS, 2.0)
    np.testing.assert_allclose(bound, 2 / 4 * np.sqrt(2 * 50 * np.log(7)), rtol=1e-12)
    signs = np.array(np.meshgrid(*[[-1.0, 1.0]] * 4)).reshape(4, -1).T
    suprema = jax.vmap(lambda s: completion.trace_ball_supremum(s, rows, columns, ROWS, COLUMNS, 2.0))(signs)
    assert np.mean(suprema) <= bound


@pytest.mark.item("A11.14")
def test_terms_and_conditions_of_the_bound_by_hand():
    terms = completion.completion_terms(entries=800, larger=50, capacity=4.0, square=0.5, delta=0.1, first=2, second=3)
    np.testing.assert_allclose(terms.complexity, 2 * 1.5 * np.sqrt(4 * 50 * np.log(50) / 800))
    np.testing.assert_allclose(terms.chance, 3 * 1.25 * np.sqrt(np.log(20) / 1600))
    left, right, target = np.ones((4, 2)), np.ones((3, 2)), np.full((4, 3), 0.9)
    # The least p(i)q(k) is 0.02, and log 4/(n√12) is 0.0200 at n = 20.01.
    for entries, met in ((20, False), (21, True)):
        found = completion.completion_conditions(left, right, target, ROWS, COLUMNS, entries)
        assert list(found.values()) == [True, True, met]
    assert not completion.completion_conditions(left, right, 2 * target, ROWS, COLUMNS, 50)[
        "no entry of the target above one"
    ]


def test_laws_that_do_not_add_up_to_one_are_refused():
    with pytest.raises(ValueError, match=r"column_law must be probabilities that add up to one, got a sum of 1\.5"):
        completion.weighted_trace_norm(np.eye(2), np.full(2, 0.5), np.array([0.5, 1.0]))
