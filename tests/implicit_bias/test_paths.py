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


def test_levels_may_be_traced():
    path = l1_path(DESIGN, LABELS)
    levels = np.array([path.levels[:2].mean(), path.levels[3:5].mean()])
    np.testing.assert_allclose(jax.jit(lambda at: path_at(path, at))(levels), path_at(path, levels), rtol=1e-12)
    slopes = jax.jvp(lambda at: path_at(path, at), (levels,), (np.ones(2),))[1]
    pieces = np.diff(path.weights, axis=0) / np.diff(path.levels)[:, None]
    np.testing.assert_allclose(slopes, pieces[[0, 3]], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("follow", [l1_path, lars_path, stagewise_path])
@pytest.mark.parametrize("shape", [(8, 20), (12, 5)])
def test_the_derivative_of_a_path_in_data_and_labels_by_differences(follow, shape):
    random = np.random.default_rng(4)
    given = random.standard_normal(shape) @ (np.eye(shape[1]) + 0.5), random.standard_normal(shape[0])
    sides, known = tuple(random.standard_normal(each.shape) for each in given), follow(*given)
    breaks = len(known.levels) + 2

    def followed(*each):
        return follow(*each, breaks=breaks)

    found, change = jax.jit(lambda *each: jax.jvp(followed, each, sides))(*given)
    ahead, behind = (followed(*(a + step * b for a, b in zip(given, sides, strict=True))) for step in (1e-6, -1e-6))
    for each, moved, after, before, host in zip(found, change, ahead, behind, known, strict=True):
        np.testing.assert_allclose(each[: len(host)], host, atol=1e-11)
        np.testing.assert_allclose(each[len(host) :], [host[-1]] * 2, atol=1e-11)
        np.testing.assert_allclose(moved, (after - before) / 2e-6, rtol=1e-5, atol=1e-6)


def test_the_derivative_of_the_path_that_turns_back_by_hand():
    """λ₁ = 6 = x₂ᵀy, and at λ₂ = 2 the first column, whose correlation is x₁ᵀy − (x₁ᵀx₂/8)(x₂ᵀy − λ), comes to −λ."""
    slopes = jax.jacobian(lambda labels: l1_path(TURNING, labels, breaks=4).levels)(TURNED)
    first, second = TURNING[:, 0], TURNING[:, 1]
    share = first @ second / (second @ second)
    side = np.sign(first @ TURNED - share * (second @ TURNED - 2))
    by_hand = (first - share * second) / (side - share)
    sizes = np.array([np.sign(second @ TURNED) * second, by_hand, np.zeros(2), np.zeros(2)])
    np.testing.assert_allclose(slopes, sizes, atol=1e-14)
    # At the end two columns are left, which fit any labels near these.
    ends = jax.jacobian(lambda labels: l1_path(TURNING, labels, breaks=4).weights[-1])(TURNED)
    np.testing.assert_allclose(TURNING @ ends, np.eye(2), atol=1e-13)


def test_the_optimal_value_changes_with_data_and_labels_by_the_envelope():
    """The derivative of min ½‖Xw − y‖² + λ‖w‖₁ is the residual in y, its product with w in X, and ‖w‖₁ in λ."""
    level = 0.4

    def least(design, labels, level):
        w = path_at(l1_path(design, labels, breaks=20), level[None])[0]
        return ((design @ w - labels) ** 2).sum() / 2 + level * abs(w).sum()

    slopes = jax.jit(jax.grad(least, argnums=(0, 1, 2)))(DESIGN, LABELS, np.array(level))
    w = cvxpy.Variable(20)
    objective = cvxpy.sum_squares(DESIGN @ w - LABELS) / 2 + level * cvxpy.norm1(w)
    cvxpy.Problem(cvxpy.Minimize(objective)).solve(solver=cvxpy.CLARABEL, tol_gap_abs=1e-12, tol_gap_rel=1e-12)
    rest = DESIGN @ w.value - LABELS
    for slope, exact in zip(slopes, (np.outer(rest, w.value), -rest, np.abs(w.value).sum()), strict=True):
        np.testing.assert_allclose(slope, exact, atol=3e-5)


def test_paths_of_many_labels_at_once_and_those_that_are_not_found_are_nan():
    labels = np.stack([LABELS, 2 * LABELS, RNG.standard_normal(8)])
    many = jax.jit(jax.vmap(lambda y: l1_path(DESIGN, y, breaks=24)))(labels)
    for levels, weights, y in zip(*many, labels, strict=True):
        known = l1_path(DESIGN, y, breaks=24)
        np.testing.assert_allclose(levels, known.levels, atol=1e-11)
        np.testing.assert_allclose(weights, known.weights, atol=1e-11)
    short = jax.jit(lambda y: l1_path(DESIGN, y, breaks=5))(LABELS)
    tied = jax.jit(lambda y: l1_path(np.array([[1.0, 1.0], [2.0, 2.0]]), y, breaks=5))(np.ones(2))
    assert all(np.isnan(each).all() for each in (*short, *tied))


def test_how_many_breakpoints_there_may_be_is_asked_for():
    with pytest.raises(TypeError, match="breaks must say how many breakpoints the path may have"):
        jax.grad(lambda labels: l1_path(DESIGN, labels).levels.sum())(LABELS)
    with pytest.raises(ValueError, match="breaks must be at least the 9 breakpoints of the path, got 8"):
        l1_path(DESIGN, LABELS, breaks=8)
