"""Steepest steps against their definition, runs against plain loops, certificates by hand."""

import cvxpy
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from deeptheory.implicit_bias.boosting import CYCLING_ANSWERS, adaboost, cycle_margin, line_search_step
from deeptheory.implicit_bias.separable import separable_points
from deeptheory.implicit_bias.steepest import (
    data_width,
    margin_certificate,
    margin_descent,
    steepest_step,
)

POINTS = separable_points(jax.random.key(2), count=8, dimension=3)


@pytest.mark.parametrize("norm", [1.0, 1.5, 2.0, 4.0, np.inf])
def test_the_steepest_step_minimizes_its_model(norm):
    gradient = np.array([0.7, -1.9, 0.4])
    step = np.asarray(steepest_step(jnp.asarray(gradient), norm=norm))
    delta = cvxpy.Variable(3)
    model = delta @ gradient + cvxpy.square(cvxpy.norm(delta, norm)) / 2
    cvxpy.Problem(cvxpy.Minimize(model)).solve(cvxpy.CLARABEL)
    np.testing.assert_allclose(step, delta.value, atol=2e-4)
    size = np.linalg.norm(step, norm)
    assert -step @ gradient == pytest.approx(size**2)
    order = np.inf if norm == 1 else 1 if norm == np.inf else norm / (norm - 1)
    assert size == pytest.approx(np.linalg.norm(gradient, order))


def test_a_zero_gradient_gives_no_step():
    for norm in (1.0, 2.0, 3.0, np.inf):
        np.testing.assert_array_equal(steepest_step(jnp.zeros(3), norm=norm), 0)


@pytest.mark.parametrize("norm", [1.0, 2.0, np.inf])
def test_a_run_is_the_plain_loop_and_its_certificate_the_plain_sums(norm):
    start, shares, cap = np.array([0.3, -0.2, 0.1]), np.array([1.0, 0.5, 0.25, 0.9]), 0.01
    run = margin_descent(POINTS, shares, norm=norm, largest_step=cap, start=start)
    dual = {1.0: np.inf, 2.0: 2, np.inf: 1}[norm]
    width = max(np.linalg.norm(x, dual) for x in POINTS)
    assert float(data_width(POINTS, norm=norm)) == pytest.approx(width)
    w, gained, length = start, -np.log(np.exp(-POINTS @ start).sum()), np.linalg.norm(start, norm)
    certificate = margin_certificate(run, width=width, start_norm=np.linalg.norm(start, norm))
    for t, share in enumerate(shares):
        losses = np.exp(-POINTS @ w)
        gradient = -losses @ POINTS
        size = np.linalg.norm(gradient, dual)
        step = min(cap, share / (width**2 * losses.sum()))
        gained += step * size**2 / losses.sum() - step**2 * width**2 * size**2 / 2
        length += step * size
        w = w + step * np.asarray(steepest_step(gradient, norm=norm))
        np.testing.assert_allclose(run.weights[t + 1], w, rtol=1e-12)
        assert float(run.domination[t]) == pytest.approx(size / losses.sum())
        assert float(certificate.margin[t]) == pytest.approx(gained)
        assert float(certificate.length[t]) == pytest.approx(length)
        assert float(certificate.normalized[t]) == pytest.approx(gained / length)
    np.testing.assert_allclose(run.log_losses[-1], np.log(np.exp(-POINTS @ w).sum()))


def test_the_loss_may_be_smaller_than_any_number():
    run = margin_descent(np.array([[2.0], [3.0]]), np.ones(20_000))
    assert float(run.log_losses[-1]) < -800 and np.isfinite(run.weights).all()


def test_shares_beyond_the_curvature_are_refused():
    with pytest.raises(ValueError, match="shares must"):
        margin_descent(POINTS, np.array([1.0, 1.5]))
    with pytest.raises(ValueError, match="norm must be at least 1"):
        margin_descent(POINTS, np.ones(3), norm=0.3)


def test_adaboost_is_its_textbook_loop():
    answers = CYCLING_ANSWERS
    run = adaboost(answers, rounds=30)
    weights, votes = np.full(8, 1 / 8), np.zeros(8)
    for t in range(30):
        errors = (weights[:, None] * (answers < 0)).sum(0)
        chosen = int(run.chosen[t])
        assert errors[chosen] == pytest.approx(errors.min())
        step = np.log((1 - errors[chosen]) / errors[chosen]) / 2
        votes[chosen] += step
        assert float(line_search_step(float(run.edges[t]))) == pytest.approx(step)
        weights = weights * np.exp(-step * answers[:, chosen])
        weights /= weights.sum()
        np.testing.assert_allclose(run.votes[t], votes, rtol=1e-9)
        assert float(run.log_losses[t]) == pytest.approx(np.log(np.exp(-answers @ votes).sum()))


def test_the_margin_of_a_cycle_by_hand():
    golden = (np.sqrt(5) - 1) / 2
    assert cycle_margin(np.full(3, golden)) == pytest.approx(1 / 3, rel=1e-14)
    assert cycle_margin(np.array([0.5])) == pytest.approx(np.log(4 / 3) / np.log(3))


def test_a_perfect_learner_is_refused():
    with pytest.raises(ValueError, match="its vote alone is infinite"):
        adaboost(np.array([[1.0, 1.0], [1.0, -1.0]]), rounds=3)
    with pytest.raises(ValueError, match="answers must"):
        adaboost(np.array([[1.0, 2.0], [-1.0, -1.0]]), rounds=3)
