"""The optimum of dropout matrix sensing against a convex solver and descent."""

from fractions import Fraction

import cvxpy
import jax.numpy as jnp
import numpy as np
import pytest

from deeptheory.foundations.randomness import generator
from deeptheory.regularization import sensing, shrinkage

pytestmark = pytest.mark.slow


@pytest.mark.item("A11.11")
@pytest.mark.parametrize(
    "strength, printed",
    [(0.3, (2.83125, 1.83125, 0.83125, 0.13125)), (2.0, (2.25, 1.25, 0.25, 0)), (10.0, (4 / 3, 1 / 3, 0, 0))],
)
def test_shrinkage_against_descent_and_a_quadratic_program(key, strength, printed, descend):
    singular = np.array([3, 2, 1, 0.3])
    shrunk, threshold = shrinkage.dropout_shrinkage(singular, 10, strength)
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
        return jnp.sum((target - u @ v.T) ** 2) + strength * sensing.expected_dropout_regularizer(u, v)

    best = descend(objective, generator(key).standard_normal(80))
    u, v = best.x.reshape(2, 4, 10)
    np.testing.assert_allclose(u @ v.T, np.diag(shrunk), atol=2e-4)


def test_shrinkage_keeps_no_more_than_the_width():
    shrunk, threshold = shrinkage.dropout_shrinkage(np.array([3.0, 2.0, 1.0]), 2, 0.1)
    assert np.count_nonzero(shrunk) == 2
    np.testing.assert_allclose(threshold, 0.1 * 5 / 2.2)


def test_optimum_moves_singular_values_only(key):
    target = generator(key).standard_normal((5, 4))
    optimum = shrinkage.dropout_optimum(target, 6, 0.5)
    left, singular, right = np.linalg.svd(target, full_matrices=False)
    expected, _ = shrinkage.dropout_shrinkage(singular, 6, 1.0)
    np.testing.assert_allclose(left.T @ optimum @ right.T, np.diag(expected), atol=1e-12)
    np.testing.assert_allclose(shrinkage.dropout_optimum(target, 6, 0.0), target, atol=1e-13)


@pytest.mark.parametrize("strength", [0.0, 1e-12, 1.0, 1e8, 1e16, 1e100])
@pytest.mark.parametrize("singular", [(1.2, 1.2, 1.2, 1.2), (3.0, 1.0, 1.0, 0.2), (1.0, 1.0 - 1e-9, 0.5, 0.0)])
def test_shrinkage_at_all_strengths_in_rational_arithmetic(singular, strength):
    width, exact, power = 3, [Fraction(s) for s in singular], Fraction(strength)
    rank = max(
        (j for j in range(1, width + 1) if exact[j - 1] * (width + power * j) > power * sum(exact[:j])), default=0
    )
    threshold = power * sum(exact[:rank]) / (width + power * rank)
    expected = [float(s - threshold) if i < rank else 0.0 for i, s in enumerate(exact)]
    shrunk, lowered = shrinkage.dropout_shrinkage(jnp.array(singular), width, strength)
    np.testing.assert_allclose(
        shrunk, expected, rtol=1e-12 * max(1.0, 1e-9 * strength if len(set(singular)) > 2 else 1)
    )
    assert float(lowered) == pytest.approx(float(threshold))


def test_shrinkage_refuses_values_out_of_order():
    with pytest.raises(ValueError, match="sorted downwards"):
        shrinkage.dropout_shrinkage(jnp.array([0.1, 0.9]), 2, 0.5)
