import cvxpy
import jax
import numpy as np
import pytest
import scipy.optimize

from deeptheory.implicit_bias.auditor import least_norm
from deeptheory.implicit_bias.paths import PiecewisePath, l1_path, lars_path, path_at, rises_monotonely, stagewise_path

RNG = np.random.default_rng(11)
DESIGN, LABELS = RNG.standard_normal((8, 20)), RNG.standard_normal(8)
TURNING, TURNED = np.array([[-2.0, -2.0, 0.0], [1.0, 2.0, -1.0]]), np.array([-2.0, 1.0])


def correlations(weights, design=DESIGN, labels=LABELS):
    return (labels - weights @ design.T) @ design


def middles(path):
    return (path.weights[1:] + path.weights[:-1]) / 2, (path.levels[1:] + path.levels[:-1]) / 2


@pytest.mark.item("A8.10")
def test_the_l1_path_satisfies_the_conditions_of_a_minimizer_at_and_between_breakpoints():
    path = l1_path(DESIGN, LABELS)
    for weights, level in ((path.weights, path.levels), middles(path)):
        found, moved = correlations(weights), np.abs(weights) > 1e-12
        assert (np.abs(found) < level[:, None] + 1e-11).all()
        np.testing.assert_allclose(np.where(moved, found - level[:, None] * np.sign(weights), 0), 0, atol=1e-11)
    np.testing.assert_allclose(np.abs(path.weights[-1]).sum(), np.abs(least_norm(DESIGN, LABELS, power=1)[0]).sum())


@pytest.mark.parametrize("shape", [(8, 20), (12, 5)])
def test_the_l1_path_against_an_interior_point_solver(shape):
    design, labels = RNG.standard_normal(shape), RNG.standard_normal(shape[0])
    path, w = l1_path(design, labels), cvxpy.Variable(shape[1])
    for level in path.levels[0] * np.array([0.9, 0.3, 0.05]):
        objective = cvxpy.sum_squares(design @ w - labels) / 2 + level * cvxpy.norm1(w)
        cvxpy.Problem(cvxpy.Minimize(objective)).solve(solver=cvxpy.CLARABEL, tol_gap_abs=1e-12, tol_gap_rel=1e-12)
        np.testing.assert_allclose(path_at(path, np.array([level]))[0], w.value, atol=3e-6)


@pytest.mark.item("A8.10")
def test_stagewise_moves_along_the_projection_on_the_cone_of_tied_columns():
    """Between breakpoints the move is the non-negative least-squares fit of the residual, by another solver."""
    path = stagewise_path(DESIGN, LABELS)
    for before, after, level in zip(path.weights[:-1], path.weights[1:], path.levels[:-1], strict=True):
        found = correlations(before)
        tied = np.abs(found) > level * (1 - 1e-8)
        signed = DESIGN[:, tied] * np.sign(found[tied])
        fit = np.zeros(20)
        fit[tied] = scipy.optimize.nnls(signed, LABELS - DESIGN @ before)[0] * np.sign(found[tied])
        move = after - before
        np.testing.assert_allclose(move / np.abs(move).sum(), fit / np.abs(fit).sum(), atol=1e-6)
    np.testing.assert_allclose(DESIGN @ path.weights[-1], LABELS, atol=1e-11)


def test_stagewise_is_the_limit_of_small_steps_down_the_steepest_coordinate():
    path, weights, rest, step = stagewise_path(TURNING, TURNED), np.zeros(3), TURNED.copy(), 1e-3
    while np.abs(TURNING.T @ rest).max() > 0.02:
        j = np.argmax(np.abs(TURNING.T @ rest))
        sign = np.sign(TURNING[:, j] @ rest)
        weights[j] += step * sign
        rest -= step * sign * TURNING[:, j]
    level = np.array([np.abs(TURNING.T @ rest).max()])
    np.testing.assert_allclose(path_at(path, level)[0], weights, atol=10 * step)


@pytest.mark.item("A8.11")
def test_the_path_that_turns_back_by_hand():
    regular, stagewise = l1_path(TURNING, TURNED), stagewise_path(TURNING, TURNED)
    np.testing.assert_allclose(regular.levels, [6, 2, 0], atol=1e-13)
    np.testing.assert_allclose(regular.weights, [[0, 0, 0], [0, 1 / 2, 0], [1, 0, 0]], atol=1e-13)
    np.testing.assert_allclose(stagewise.levels, [6, 2, 1 / 3, 0], atol=1e-13)
    np.testing.assert_allclose(stagewise.weights[2:], [[1 / 3, 1 / 2, 0], [1 / 2, 1 / 2, 1 / 2]], atol=1e-13)
    assert rises_monotonely(regular).tolist() == [True, False, True]
    assert rises_monotonely(stagewise).all()


def test_lars_keeps_its_correlations_tied():
    path = lars_path(DESIGN, LABELS)
    for count, (weights, level) in enumerate(zip(path.weights, path.levels, strict=True)):
        assert (np.abs(np.abs(correlations(weights)) - level) < 1e-10).sum() >= min(count + 1, 8)
    assert len(path.levels) == 9


def test_orthogonal_columns_shrink_softly():
    design = np.linalg.qr(RNG.standard_normal((6, 4)))[0]
    labels = RNG.standard_normal(6)
    levels, linear = np.linspace(0, 2, 9), design.T @ labels
    soft = np.sign(linear) * np.maximum(np.abs(linear) - levels[:, None], 0)
    for path in (l1_path(design, labels), lars_path(design, labels), stagewise_path(design, labels)):
        np.testing.assert_allclose(path_at(path, levels), soft, atol=1e-13)


def test_columns_that_are_equal_are_named():
    with pytest.raises(ArithmeticError, match="column"):
        l1_path(np.array([[1.0, 1.0], [2.0, 2.0]]), np.array([1.0, 1.0]))
    assert path_at(PiecewisePath(np.array([1.0, 0.0]), np.array([[0.0], [2.0]])), np.array([0.25, 3.0])).tolist() == [
        [1.5],
        [0.0],
    ]


def test_levels_may_be_traced_and_data_may_not():
    path = l1_path(DESIGN, LABELS)
    levels = np.array([path.levels[:2].mean(), path.levels[3:5].mean()])
    np.testing.assert_allclose(jax.jit(lambda at: path_at(path, at))(levels), path_at(path, levels), rtol=1e-12)
    slopes = jax.jvp(lambda at: path_at(path, at), (levels,), (np.ones(2),))[1]
    pieces = np.diff(path.weights, axis=0) / np.diff(path.levels)[:, None]
    np.testing.assert_allclose(slopes, pieces[[0, 3]], rtol=1e-10, atol=1e-12)
    with pytest.raises(TypeError, match="l1_path needs values, and labels is traced"):
        jax.grad(lambda labels: l1_path(DESIGN, labels).levels.sum())(LABELS)
