import cvxpy
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from deeptheory.foundations.margin_losses import EXPONENTIAL, HALF_QUADRATIC, LOGISTIC, polynomial_tail
from deeptheory.implicit_bias.separable import (
    gradient_descent_on_margins,
    logarithmic_flow,
    margin_rates,
    max_margin,
    residual_decay,
    residual_forces,
    residual_limit,
    separable_points,
    stable_step,
)

TOY = np.array([[1.5, 0.5], [0.5, 1.5], [2.0, 2.0], [3.0, 1.0], [1.0, 3.0], [2.5, 2.0]])
LOSSES = {"exponential": EXPONENTIAL, "logistic": LOGISTIC, "half": HALF_QUADRATIC, "polynomial": polynomial_tail(2.0)}


def separable(seed, n=30, d=5):
    return separable_points(jax.random.key(seed), count=n, dimension=d)


@pytest.mark.parametrize("seed", range(5))
def test_max_margin_agrees_with_a_cone_solver(seed):
    points = separable(seed)
    solution = max_margin(points)
    w = cvxpy.Variable(5)
    constraint = points @ w >= 1
    cvxpy.Problem(cvxpy.Minimize(0.5 * cvxpy.sum_squares(w)), [constraint]).solve(cvxpy.CLARABEL)
    np.testing.assert_allclose(solution.vector, w.value, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(solution.duals, constraint.dual_value, rtol=1e-4, atol=1e-5)
    # stationarity, feasibility and complementarity to rounding, which the cone solver does not reach
    np.testing.assert_allclose(points.T @ solution.duals, solution.vector, rtol=1e-12)
    assert (points @ solution.vector).min() > 1 - 1e-11
    assert solution.duals.min() >= 0 and not solution.duals[~solution.support].any()
    assert solution.duals.sum() == pytest.approx(solution.margin**-2)


def test_not_separable_is_refused():
    with pytest.raises(ValueError, match="not linearly separable"):
        max_margin(np.array([[1.0, 0.0], [-1.0, 0.1], [0.0, -1.0]]))


def test_the_derivative_of_the_max_margin_vector_by_hand_by_differences_and_by_the_envelope():
    point = np.array([[3.0, -4.0]])  # alone, ŵ = x/|x|²
    by_hand = np.eye(2) / 25 - 2 * np.outer(point, point) / 625
    np.testing.assert_allclose(jax.jacobian(lambda x: max_margin(x).vector)(point)[:, 0], by_hand, atol=1e-15)
    points, side = separable(0, n=12, d=4), np.random.default_rng(0).standard_normal((12, 4))
    vector, change = jax.jit(lambda x: jax.jvp(lambda y: max_margin(y).vector, (x,), (side,)))(points)
    known = max_margin(points)
    ahead, behind = (max_margin(points + step * side).vector for step in (1e-6, -1e-6))
    np.testing.assert_allclose(vector, known.vector, rtol=1e-12)
    np.testing.assert_allclose(change, (ahead - behind) / 2e-6, rtol=1e-7)
    # γ = max over |u| ≤ 1 of min over convex weights p of Σ pᵢ⟨u, x̄ᵢ⟩ changes with x̄ᵢ by pᵢu; p by a cone solver.
    w = cvxpy.Variable(4)
    constraint = points @ w >= 1
    cvxpy.Problem(cvxpy.Minimize(0.5 * cvxpy.sum_squares(w)), [constraint]).solve(cvxpy.CLARABEL)
    share = constraint.dual_value / constraint.dual_value.sum()
    slope = jax.grad(lambda x: max_margin(x).margin)(points)
    np.testing.assert_allclose(slope, np.outer(share, w.value / np.linalg.norm(w.value)), atol=1e-5)


def test_max_margins_of_many_data_sets_at_once():
    sets = np.stack([separable(seed, n=8, d=3) for seed in range(3)] + [np.eye(8, 3) - np.eye(8, 3, -3)])
    found = jax.jit(jax.vmap(max_margin))(sets)
    for i in range(3):
        known = max_margin(sets[i])
        np.testing.assert_allclose(found.vector[i], known.vector, rtol=1e-9)
        np.testing.assert_allclose(found.margin[i], known.margin, rtol=1e-12)
        np.testing.assert_array_equal(found.support[i], known.support)
    assert np.isnan(found.vector[3]).all()  # x and −x: not separable


def test_the_derivative_of_the_flow_of_one_point_has_its_closed_form():
    """ẇ = weight·x e^(−xw): e^(xw) = e^(xw₀) + weight·x²(t − t₀)."""

    def exact(point, log_times, start, weight):
        grown = jnp.exp(log_times) - jnp.exp(log_times[0])
        return jnp.log(jnp.exp(point * start) + weight * point**2 * grown) / point

    def followed(point, log_times, start, weight):
        return logarithmic_flow(point[None, None], log_times, start=start[None], weight=weight)[:, 0]

    given = np.array(1.3), np.array([-1.0, 0.5, 4.0, 30.0, 600.0]), np.array(0.4), 0.2
    for slope, by_hand in zip(*(jax.jacobian(f, argnums=(0, 1, 2, 3))(*given) for f in (followed, exact)), strict=True):
        np.testing.assert_allclose(slope, by_hand, rtol=1e-8, atol=1e-8)
    bends = [jax.jacfwd(jax.grad(lambda x, f=f: f(x, *given[1:])[2]))(given[0]) for f in (followed, exact)]
    np.testing.assert_allclose(bends[0], bends[1], rtol=1e-6)


@pytest.mark.parametrize("loss", [EXPONENTIAL, LOGISTIC])
def test_the_derivative_of_the_flow_by_differences_and_where_it_ends(loss):
    random, times = np.random.default_rng(1), np.array([0.0, 1.0, 7.0, 1e6])
    given, sides = (separable(2), np.zeros(5)), (random.standard_normal((30, 5)), random.standard_normal(5))

    def followed(points, start):
        return logarithmic_flow(points, times, start=start, loss=loss)

    found, change = jax.jit(lambda *each: jax.jvp(followed, each, sides))(*given)
    np.testing.assert_allclose(found, followed(*given), rtol=1e-12)
    ahead, behind = (followed(*(a + step * b for a, b in zip(given, sides, strict=True))) for step in (1e-5, -1e-5))
    np.testing.assert_allclose(change, (ahead - behind) / 2e-5, rtol=1e-5, atol=1e-5)
    # w = ŵ log t + O(1), in its derivative too.
    vector = jax.jvp(lambda points: max_margin(points).vector, given[:1], sides[:1])[1]
    np.testing.assert_allclose(change[-1] / times[-1], vector, atol=1e-3 * np.abs(vector).max())


def test_a_flow_that_ends_is_not_followed_for_ever():
    points = np.array([[1.0, 0.5], [-1.0, 0.2], [0.3, -1.0]])
    early = logarithmic_flow(points, np.array([0.0, 5.0, 30.0]))
    np.testing.assert_allclose(np.exp(-points @ early[-1]) @ points, 0, atol=1e-8)
    with pytest.raises(ValueError, match="not linearly separable"):
        logarithmic_flow(points, np.array([0.0, 500.0]))


def test_flows_of_many_data_sets_at_once_and_what_cannot_be_followed_is_nan():
    sets, times = np.stack([separable(seed, n=8, d=3) for seed in range(2)]), np.array([0.0, 20.0])
    found = jax.jit(jax.vmap(lambda points: logarithmic_flow(points, times)))(sets)
    for path, points in zip(found, sets, strict=True):
        np.testing.assert_allclose(path, logarithmic_flow(points, times), rtol=1e-12)
    assert np.isnan(jax.jit(lambda points: logarithmic_flow(points, np.array([0.0, 1e300])))(TOY)[-1]).all()
    with pytest.raises(TypeError, match="loss must compute with NumPy on NumPy arrays"):
        jax.jit(lambda x: logarithmic_flow(x, times, loss=EXPONENTIAL._replace(log_slope=lambda m: -jnp.asarray(m))))(
            TOY
        )


@pytest.mark.parametrize("name", LOSSES)
def test_losses_know_their_slope_and_smoothness(name):
    loss, u = LOSSES[name], np.linspace(-3, 6, 4001)
    value, h = loss.value(u), u[1] - u[0]
    slope = np.exp(loss.log_slope(u))
    np.testing.assert_allclose(np.exp(loss.log_slope(jnp.asarray(u))), slope, rtol=1e-12)
    np.testing.assert_allclose(-np.gradient(value, h)[1:-1], slope[1:-1], atol=3e-3)
    if np.isfinite(loss.smoothness):
        curvature = np.abs(np.diff(slope) / h).max()
        assert 0.98 * loss.smoothness < curvature <= loss.smoothness + 1e-9


def test_flow_of_one_point_has_its_closed_form_up_to_log_time_1000():
    log_times = np.array([0.0, 1, 10, 100, 1000])
    w = logarithmic_flow(np.array([[1.0]]), log_times, start=np.array([0.5]))[:, 0]
    exact = log_times + np.log1p((np.exp(0.5) - 1) * np.exp(-log_times))  # ẇ = e^(−w): e^w = t + e^w₀ − t₀
    np.testing.assert_allclose(w, exact, rtol=0, atol=1e-9)


@pytest.mark.item("L11.9")
def test_toy_set_has_the_residual_of_the_book_example():
    solution = max_margin(TOY)
    limit = residual_limit(TOY, solution, weight=1.0)
    np.testing.assert_allclose(solution.vector, [0.5, 0.5])
    np.testing.assert_allclose(limit, np.log(2) * np.ones(2))
    curvature, slack = residual_decay(TOY, solution)
    assert curvature == pytest.approx(0.25) and slack == pytest.approx(1.0)
    log_times = np.log([1.0, 1e6, 1e12, 1e18, 1e24])
    w = logarithmic_flow(TOY, log_times, start=np.array([1.0, 0.0]), weight=1.0)
    error = np.linalg.norm(w - np.outer(log_times, solution.vector) - limit, axis=1)
    np.testing.assert_allclose(np.diff(np.log(error))[1:] / np.log(1e6), -0.25, atol=2e-3)
    loss = np.exp(-w @ TOY.T).sum(1) * np.exp(log_times)
    assert loss[-1] == pytest.approx(solution.margin**-2, rel=1e-6)


@pytest.mark.item("J4.8")
@pytest.mark.parametrize("loss", [EXPONENTIAL, LOGISTIC])
def test_residual_limit_carries_the_sample_size(loss):
    points = separable(4)
    solution = max_margin(points)
    rho = logarithmic_flow(points, np.array([0.0, 1500]), loss=loss)[-1] - 1500 * solution.vector
    support = solution.support
    np.testing.assert_allclose(np.exp(-points[support] @ rho) / (len(points) * solution.duals[support]), 1, rtol=1e-7)
    limit = residual_limit(points, solution)
    np.testing.assert_allclose(np.exp(-points[support] @ limit) @ points[support], 30 * solution.vector)


def test_rescaled_errors_approach_their_constants():
    points = separable(2)
    solution = max_margin(points)
    s = 4000.0
    w = logarithmic_flow(points, np.array([0.0, s]))[-1]
    rates = margin_rates(points, solution, w - s * solution.vector)
    unit, best = w / np.linalg.norm(w), solution.vector * solution.margin
    assert np.linalg.norm(unit - best) * s == pytest.approx(rates.direction, rel=3e-3)
    assert (1 - unit @ best) * s**2 == pytest.approx(rates.cosine, rel=5e-3)
    assert (solution.margin - (points @ unit).min()) * s == pytest.approx(rates.margin, rel=3e-3)
    assert np.exp(s - points @ w).mean() == pytest.approx(rates.loss, rel=1e-6)


def test_gradient_descent_follows_the_flow_and_its_first_steps_are_by_hand():
    step, checkpoints = 0.5, np.array([1, 2, 20000])
    w = np.asarray(gradient_descent_on_margins(TOY, checkpoints, step=step))
    first = step * TOY.mean(0) / 2
    second = first + step * (TOY / (1 + np.exp(TOY @ first))[:, None]).mean(0)
    np.testing.assert_allclose(w[:2], [first, second], rtol=1e-12)
    flow = logarithmic_flow(TOY, np.log([1.0, 1 + step * 20000]), loss=LOGISTIC)[-1]
    np.testing.assert_allclose(w[2], flow, atol=2e-3)


def test_half_quadratic_descent_is_stable_below_the_step_and_diverges_above():
    points = np.sqrt([[0.9, 0.1], [0.9, 0.1]]) * [[1, 1], [-1, 1]]
    limit = stable_step(points, HALF_QUADRATIC)
    start, counts = np.array([3.0, 0.0]), np.arange(1, 200)
    for factor, monotone in ((0.99, True), (8.0, False)):
        path = gradient_descent_on_margins(points, counts, step=factor * limit, start=start, loss=HALF_QUADRATIC)
        losses = HALF_QUADRATIC.value(np.asarray(path) @ points.T).mean(1)
        assert bool(np.all(np.diff(losses) <= 1e-15)) == monotone
    assert losses[-1] > 1e6


@pytest.mark.item("J4.6")
def test_stable_step_is_the_longest_that_always_lowers_a_loss():
    # Two nearly opposite points, both far on the wrong side before and after the step: the loss is quadratic there.
    points = np.array([[1.0, 0.01], [-1.0, 0.01]])
    start = np.array([50.0, -1e4])
    for factor, lowers in ((0.99, True), (1.01, False)):
        step = factor * stable_step(points, HALF_QUADRATIC)
        moved = start + step * np.exp(HALF_QUADRATIC.log_slope(points @ start)) @ points / 2
        assert (points @ moved).max() < 0
        before, after = (HALF_QUADRATIC.value(points @ w).mean() for w in (start, moved))
        assert bool(after < before) == lowers
    assert jax.jit(lambda x: stable_step(x, HALF_QUADRATIC))(points) == pytest.approx(
        stable_step(points, HALF_QUADRATIC)
    )
    assert stable_step(points, LOGISTIC, weight=1.0) == pytest.approx(2 / (0.25 * np.linalg.norm(points, 2) ** 2))


def test_degenerate_support_has_no_limit():
    points = np.array([[1.0, 0.0], [1.0, 1.0]])
    with pytest.raises(ValueError, match="log log t"):
        residual_limit(points, max_margin(points))
    assert np.isnan(jax.jit(lambda x: residual_limit(x, max_margin(x)))(points)).all()


def test_residuals_have_derivatives_and_go_through_vmap():
    sets, side = np.stack([separable(seed) for seed in (4, 5, 6)]), np.random.default_rng(0).standard_normal((30, 5))

    def limit(points, weight=0.1):
        return residual_limit(points, max_margin(points), weight=weight)

    def rates(points):
        return jnp.array(residual_decay(points, max_margin(points)))

    def scaled(points):
        return jnp.array(margin_rates(points, max_margin(points), limit(points)))

    for function in (limit, rates, scaled):
        many = jax.jit(jax.vmap(function))(sets)
        np.testing.assert_allclose(many, [function(points) for points in sets], rtol=1e-8, atol=1e-9)
        change = jax.jvp(function, (sets[0],), (side,))[1]
        ahead, behind = (np.asarray(function(sets[0] + step * side)) for step in (1e-6, -1e-6))
        np.testing.assert_allclose(change, (ahead - behind) / 2e-6, rtol=1e-5, atol=1e-6)
    # Twice the weight is as good as starting log 2 later: the residual moves along ŵ by as much.
    by_log_weight = jax.jacobian(lambda log: limit(sets[0], jnp.exp(log)))(0.0)
    np.testing.assert_allclose(by_log_weight, max_margin(sets[0]).vector, rtol=1e-8)


def test_residual_forces_are_the_rate_of_change_of_the_squared_residual():
    points, times = separable(3), np.array([0.5, 3.0, 9.0])
    solution = max_margin(points)
    limit = residual_limit(points, solution)
    error = np.random.default_rng(0).normal(size=(3, 5))
    w = error + limit + np.outer(times, solution.vector)
    velocity = np.exp(times[:, None] - w @ points.T) @ points / len(points)
    forces = residual_forces(points, solution, times, error)
    direct = np.sum(error * (velocity - solution.vector), axis=1)
    others = forces.share * np.exp(forces.log_bound)
    np.testing.assert_allclose(forces.support + others, direct, rtol=1e-8)
    assert (forces.support <= 0).all() and (forces.share <= 1).all()
