"""Risks, gaps and minimisers against definitions, finite differences and independent solvers."""

import numpy as np
import pytest
import scipy.optimize
import scipy.stats

from deeptheory.foundations.randomness import generator
from deeptheory.generalization.capacity import risks


def test_linear_problem_has_the_risk_it_says(key):
    problem = risks.LinearProblem(np.asarray([1.0, -2.0]), 0.3)
    weights = np.asarray([0.5, -1.0])
    x, y = problem.draw(key, 200_000)
    assert float(problem.risk(weights)) == pytest.approx(0.25 + 1 + 0.3)
    assert float(problem.sample_risk(weights, x, y)) == pytest.approx(1.55, rel=0.02)
    assert problem.sample_risk(weights, *problem.draw(key, 4, 7)).shape == (4,)


def test_ridge_path_minimises_its_objective(key):
    draw = generator(key)
    x, y = draw.standard_normal((9, 3)), draw.standard_normal(9)
    for penalty, found in zip((0.01, 2.0), risks.ridge_path(x, y, np.asarray([0.01, 2.0])), strict=True):
        best = scipy.optimize.minimize(lambda w, p=penalty: ((x @ w - y) ** 2).mean() + p * (w**2).sum(), np.zeros(3))
        np.testing.assert_allclose(found, best.x, atol=1e-5)
    with pytest.raises(ValueError, match="positive"):
        risks.ridge_path(x, y, np.asarray([0.0]))


def test_counts_and_their_chances():
    counts = risks.all_counts(3, 4)
    law = np.asarray([0.2, 0.5, 0.3])
    assert len({tuple(row) for row in counts}) == 15 and np.all(counts.sum(1) == 4)
    np.testing.assert_allclose(risks.multinomial_chances(counts, law), scipy.stats.multinomial(4, law).pmf(counts))


def test_gaps_and_minimisers_on_a_small_class():
    losses, law = np.asarray([[0.0, 1.0], [0.4, 0.4]]), np.asarray([0.5, 0.5])
    counts = np.asarray([[3, 1], [1, 3]])
    np.testing.assert_allclose(risks.empirical_risks(losses, counts), [[0.25, 0.4], [0.75, 0.4]])
    np.testing.assert_allclose(risks.generalization_gaps(losses, law, counts), [[0.25, 0.0], [-0.25, 0.0]], atol=1e-15)
    np.testing.assert_array_equal(risks.empirical_minimizers(losses, counts), [0, 1])
