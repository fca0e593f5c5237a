"""Momentum against companion matrices, plain recursions, an ODE solver and performance estimation (PEPit)."""

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from deeptheory.optimization import momentum
from deeptheory.optimization.landscapes import Huber, LogisticRidge
from deeptheory.optimization.methods import accelerated
from deeptheory.optimization.promises import audit
from deeptheory.optimization.runs import trajectory

pytestmark = pytest.mark.slow


@pytest.mark.item("A2.11")
def test_factor_by_companion_matrices_and_its_best_value_by_search():
    eigenvalues = np.array([0.05, 0.4, 1.0, 2.5, 4.1])
    for step, beta in ((0.3, 0.6), (0.9, 0.2), (0.9, 0.0), (0.4, 1.0)):
        roots = [np.abs(np.linalg.eigvals([[1 + beta - step * lam, -beta], [1, 0]])).max() for lam in eigenvalues]
        ours = momentum.heavy_ball_factor(eigenvalues, step_size=step, momentum=beta)
        np.testing.assert_allclose(ours, roots, rtol=1e-7)
    step, beta = momentum.optimal_heavy_ball(1.0, 100.0)
    assert (step, beta) == (pytest.approx(4 / 121), pytest.approx((9 / 11) ** 2))
    spectrum, grid = np.linspace(1, 100, 300), np.linspace(0.8, 1.2, 9)
    worst = [
        [
            float(jnp.max(momentum.heavy_ball_factor(spectrum, step_size=a * step, momentum=b))) for a in grid
        ] for b in np.linspace(0.5, 0.8, 13)
    ]  # fmt: skip
    assert np.min(worst) >= beta**0.5 - 1e-9


@pytest.mark.item("A2.11", "A2.13")
def test_closed_form_by_the_three_term_recursion():
    eigenvalues, offsets = np.array([0.05, 0.4, 1.0, 2.5]), np.array([1.0, -2.0, 0.5, 3.0])
    for step, beta in ((0.3, 0.6), (0.9, 0.2), (4 / 1.05, 0.3)):
        path = momentum.heavy_ball_offsets(eigenvalues, offsets, step_size=step, momentum=beta, steps=25)
        before = now = offsets
        for each in path:
            np.testing.assert_allclose(each, now, atol=1e-9 * max(1, np.abs(now).max()))
            before, now = now, now - step * eigenvalues * now + beta * (now - before)


@pytest.mark.item("A2.12")
@pytest.mark.parametrize(("stiffness", "damping"), [(4.0, 0.5), (1.0, 2.0), (0.3, 3.0), (0.0, 1.0), (2.0, 0.0)])
def test_oscillator_by_an_ode_solver(stiffness, damping):
    times = np.linspace(0, 8, 30)
    field = lambda t, s: [s[1], -damping * s[1] - stiffness * s[0]]  # noqa: E731
    found = solve_ivp(field, (0, 8), [1.0, 0.0], t_eval=times, rtol=1e-10, atol=1e-12).y[0]
    ours = momentum.damped_oscillator(jnp.asarray(times), stiffness=stiffness, damping=damping)
    np.testing.assert_allclose(ours, found, atol=1e-8)
    late = momentum.damped_oscillator(1e6, stiffness=0.3, damping=3.0)
    assert float(late) == 0.0


@pytest.mark.item("A2.14")
@pytest.mark.parametrize("steps", [1, 2, 4])
def test_worst_gap_of_nesterov_by_performance_estimation_and_by_a_cone(steps):
    from PEPit import PEP
    from PEPit.functions import SmoothConvexFunction

    problem = PEP()
    function = problem.declare_function(SmoothConvexFunction, L=2.0)
    best = function.stationary_point()
    point = ahead = problem.set_initial_point()
    problem.set_initial_condition((point - best) ** 2 <= 1)
    for t in range(steps):
        following = ahead - function.gradient(ahead) / 2.0
        ahead, point = following + t / (t + 3) * (following - point), following
    problem.set_performance_metric(function(point) - function(best))
    bound = momentum.worst_accelerated_gap(1.0, smoothness=2.0, steps=steps)
    assert problem.solve(wrapper="cvxpy", solver="CLARABEL", verbose=0) == pytest.approx(bound, rel=1e-4)
    assert bound <= momentum.accelerated_gap_bound(1.0, step_size=0.5, steps=steps)
    cone = Huber(2.0, 4 / (steps**2 + 5 * steps + 6))
    run = trajectory(cone, accelerated(0.5), jnp.array([0.6, 0.8]), steps=steps)
    assert float(cone(run.memory.point[-1])) == pytest.approx(bound, rel=1e-12)


@pytest.mark.item("A2.14")
def test_the_potential_never_rises_and_does_with_too_long_a_step():
    random = np.random.default_rng(3)
    function = LogisticRidge(
        jnp.asarray(3 * random.standard_normal((20, 4))), jnp.asarray(np.sign(random.standard_normal(20))), 1e-3
    )
    for scale, kept in ((1.0, True), (4.0, False)):
        step = scale / float(function.smoothness)
        run = trajectory(function, accelerated(step), jnp.full(4, 3.0), steps=60)
        values = jax.vmap(function)(run.memory.point)
        best = function.minimizer
        potential = momentum.nesterov_potential(
            run.position, run.memory.point, values, step_size=step, minimizer=best, minimum=float(function(best))
        )
        found = audit((potential[1:], potential[:-1]), error=1e-9)
        assert (int(found.violated) == -1) == kept


@pytest.mark.item("H4.10")
def test_way_on_a_slope_by_the_printed_recursion():
    """v ← βv + ηg, θ ← θ − v: with β = 0.9 and ηg = 1 the ways are 1, 2.9, 5.61, and in the end ten a step."""
    way, speed = 0.0, 0.0
    for time in range(40):
        found = momentum.constant_slope_way(time, slope=2.0, step_size=0.5, momentum=0.9)
        assert float(found) == pytest.approx(way, abs=1e-12)
        speed = 0.9 * speed + 0.5 * 2.0
        way += speed
    assert momentum.constant_slope_way(np.array([3.0]), slope=1.0, step_size=1.0, momentum=0.9)[0] == pytest.approx(
        5.61
    )
    ends = momentum.constant_slope_way(np.array([400.0, 401.0]), slope=1.0, step_size=1.0, momentum=0.9)
    assert np.diff(ends)[0] == pytest.approx(10.0)


@pytest.mark.parametrize(("damping", "times"), [(1e6, 2e6), (1e12, 3e12), (1e160, 1e160), (1e9, 1.0)])
def test_strong_damping_leaves_the_slow_rate(damping, times):
    with mpmath.workdps(700):
        a, t = mpmath.mpf(damping), mpmath.mpf(times)
        slow, fast = ((-a + sign * mpmath.sqrt(a**2 - 4)) / 2 for sign in (1, -1))
        exact = (slow * mpmath.exp(fast * t) - fast * mpmath.exp(slow * t)) / (slow - fast)
        assert abs(float(momentum.damped_oscillator(times, stiffness=1.0, damping=damping)) / exact - 1) < 1e-12


def test_the_factor_of_a_step_far_too_long_is_that_step():
    assert float(momentum.heavy_ball_factor(1e200, step_size=1.0, momentum=0.5)) == pytest.approx(1e200)
