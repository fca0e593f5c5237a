"""Rates of gradient descent, against performance estimation (PEPit), explicit worst functions and direct runs."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from deeptheory.claims.optimization.gradient_descent import on_the_line
from deeptheory.claims.optimization.rates import convex_gap
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Inequality, Reals, claim, falsify
from deeptheory.optimization import landscapes as land
from deeptheory.optimization.descent import (
    convex_gap_bound,
    descent_cosine,
    guaranteed_decrease,
    least_gap,
    longest_descent,
    optimal_quadratic_step,
    polyak_lojasiewicz_factor,
    quadratic_losses,
    stationarity_bound,
    worst_contraction,
    worst_convex_gap,
    worst_stationarity,
)
from deeptheory.optimization.runs import trajectory

pytestmark = pytest.mark.slow


@functools.partial(jax.jit, static_argnames="steps")
def compiled(function, start, step_size, steps):
    return trajectory(function, optax.sgd(step_size), start, steps=steps)


def run(function, start, step_size, steps):
    return compiled(function, jnp.asarray(start, float), jnp.asarray(step_size, float), steps)


def performance_estimation(function_class, measure, *, step_size, steps, start=None, **constants):
    """The exact worst case over a class of functions, as a semidefinite programme."""
    from PEPit import PEP

    problem = PEP()
    function = problem.declare_function(function_class, **constants)
    best = function.stationary_point()
    point = problem.set_initial_point()
    initial = function(point) - function(best) if start == "gap" else (point - best) ** 2
    problem.set_initial_condition(initial <= 1)
    for index in range(steps + 1):
        gradient, value = function.oracle(point)
        if measure == "gradient":
            # The minimum is global: PEPit's stationary point alone would allow lower values elsewhere.
            problem.add_constraint(value - function(best) >= gradient**2 / (2 * constants["L"]))
            problem.set_performance_metric(gradient**2)
        elif index == steps:
            problem.set_performance_metric(value - function(best) if measure == "gap" else (point - best) ** 2)
        point = point - step_size * gradient
    return problem.solve(wrapper="cvxpy", solver="CLARABEL", verbose=0)


@pytest.mark.item("L5.6", "H4.4")
def test_trajectory_is_gradient_descent(key):
    weights = jnp.array([1.0, 0.3, 2.0])
    states = jax.tree.map(np.asarray, run(land.CosineSum(weights), [1.0, -2.0, 0.5], 0.4, 20))
    weights = np.asarray(weights)
    x = np.array([1.0, -2.0, 0.5])
    for t in range(21):
        np.testing.assert_allclose(states.position[t], x, atol=1e-13)
        np.testing.assert_allclose(states.value[t], np.sum(weights * (1 - np.cos(x))), atol=1e-13)
        x = x - 0.4 * weights * np.sin(x)
    with pytest.raises(ValueError, match=r"steps must .*, got -1"):
        trajectory(land.SineBowl(), optax.sgd(0.1), jnp.ones(1), steps=-1)


@pytest.mark.item("L5.9")
def test_quadratic_losses_match_the_run():
    random = np.random.default_rng(0)
    basis, _ = np.linalg.qr(random.standard_normal((20, 20)))
    eigenvalues = np.geomspace(0.01, 1, 20)
    function = land.Quadratic(jnp.asarray(basis * eigenvalues @ basis.T), jnp.asarray(random.standard_normal(20)))
    start = random.standard_normal(20)
    minimizer = basis @ ((basis.T @ function.linear) / eigenvalues)
    for step_size in (0.5, 2 / 1.01, 1.99):
        states = run(function, start, step_size, 100)
        predicted = quadratic_losses(
            jnp.asarray(eigenvalues), jnp.asarray(basis.T @ (start - minimizer)), step_size=step_size, steps=100
        )
        np.testing.assert_allclose(states.value - function(jnp.asarray(minimizer)), predicted, rtol=1e-10)


@pytest.mark.item("L5.9")
@pytest.mark.parametrize("condition", [1.5, 10.0, 100.0])
def test_optimal_step_by_grid_search(condition):
    grid = np.linspace(0.001, 2.2, 20_001)
    spectrum = np.linspace(1 / condition, 1, 50)
    factor = np.max((1 - grid[:, None] * spectrum) ** 2, axis=1)
    step_size, rate = optimal_quadratic_step(1 / condition, 1.0)
    assert grid[factor.argmin()] == pytest.approx(step_size, abs=2e-4)
    assert rate == pytest.approx(factor.min(), abs=1e-3)
    assert step_size > 1.0  # above 1/λ_max, where the printed condition forbids it
    assert rate <= (1 - 1 / condition) ** 2


@pytest.mark.item("A2.7", "L5.15")
def test_descent_lemma_is_attained_and_ends_at_two_over_smoothness():
    for step_size in np.linspace(0.01, 1.2, 25):
        states = run(land.Quadratic(jnp.array([[2.0]]), jnp.zeros(1)), [1.0], step_size, 1)
        drop = float(states.value[0] - states.value[1])
        assert drop == pytest.approx(guaranteed_decrease(4.0, step_size=step_size, smoothness=2.0), abs=1e-12)
        assert (drop > 0) == (step_size < 1.0)


@pytest.mark.item("L5.13")
@pytest.mark.parametrize(("step_size", "mu"), [(0.3, 0.1), (1.0, 0.4), (1.7, 0.1), (2.3, 0.5)])
def test_worst_contraction_by_performance_estimation(step_size, mu):
    from PEPit.functions import SmoothStronglyConvexFunction

    factor = float(worst_contraction(step_size=step_size, smoothness=1.0, strong_convexity=mu))
    for steps in (1, 3):
        worst = performance_estimation(
            SmoothStronglyConvexFunction, "distance", step_size=step_size, steps=steps, L=1.0, mu=mu
        )
        assert worst == pytest.approx(factor ** (2 * steps), rel=1e-4)
    if step_size <= 1:
        assert factor**2 <= 1 - step_size * mu


@pytest.mark.item("L5.14")
@pytest.mark.parametrize(("step_size", "steps"), [(1.0, 1), (1.0, 5), (0.4, 3), (0.25, 4)])
def test_worst_convex_gap_by_performance_estimation_and_by_huber(step_size, steps):
    from PEPit.functions import SmoothConvexFunction

    smoothness = 2.0
    step_size = step_size / smoothness
    bound = worst_convex_gap(1.0, step_size=step_size, smoothness=smoothness, steps=steps)
    worst = performance_estimation(SmoothConvexFunction, "gap", step_size=step_size, steps=steps, L=smoothness)
    assert worst == pytest.approx(bound, rel=1e-4)
    huber = land.Huber(smoothness, 1 / (2 * steps * step_size * smoothness + 1))
    assert float(run(huber, [0.6, 0.8], step_size, steps).value[-1]) == pytest.approx(bound, rel=1e-12)
    assert bound <= convex_gap_bound(1.0, step_size=step_size, steps=steps)


def test_worst_stationarity_has_the_units_of_its_constants():
    # f ↦ cf and x ↦ x/s: squared gradients grow by c²s², gaps by c, smoothness by cs², steps by 1/(cs²).
    plain = worst_stationarity(1.0, step_size=0.5, smoothness=1.0, gradients=4)
    c, s = 3.0, 0.7
    scaled = worst_stationarity(c, step_size=0.5 / (c * s**2), smoothness=c * s**2, gradients=4)
    assert scaled == pytest.approx(c**2 * s**2 * plain, rel=1e-12)


@pytest.mark.item("A2.22", "L5.16")
@pytest.mark.parametrize(("step_size", "steps"), [(1.0, 1), (1.0, 5), (0.5, 3)])
def test_worst_stationarity_by_performance_estimation_and_by_a_sawtooth(step_size, steps):
    from PEPit.functions import SmoothFunction

    bound = worst_stationarity(1.0, step_size=step_size, smoothness=1.0, gradients=steps + 1)
    worst = performance_estimation(SmoothFunction, "gradient", start="gap", step_size=step_size, steps=steps, L=1.0)
    assert worst == pytest.approx(bound, rel=1e-4)
    assert bound <= stationarity_bound(1.0, step_size=step_size, gradients=steps + 1)
    # The slope falls and recovers within each step, so every iterate sees slope −1; then a parabola to the minimum.
    breaks = -1 - step_size * np.arange(2 * steps, -1, -1) / 2
    curvatures = np.array([1.0] + [1.0, -1.0] * steps + [1.0])
    sawtooth = land.PiecewiseQuadratic(jnp.asarray(breaks), jnp.asarray(curvatures))
    states = run(sawtooth, [-1 - steps * step_size], step_size, steps)
    np.testing.assert_allclose(states.gradient[:, 0], -1, atol=1e-12)
    gap = float(states.value[0])
    attained = worst_stationarity(gap, step_size=step_size, smoothness=1.0, gradients=steps + 1)
    assert attained == pytest.approx(1.0, rel=1e-12)


@pytest.mark.item("A2.22")
def test_mean_squared_gradient_bound_is_attained():
    for horizon in (1, 4, 50):
        states = run(land.Quadratic(jnp.array([[3.0]]), jnp.zeros(1)), [1.0], 1 / 3, horizon)
        mean = float(jnp.mean(states.gradient[:-1] ** 2))
        drop = float(states.value[0] - states.value[-1])
        assert mean == pytest.approx(stationarity_bound(drop, step_size=1 / 3, gradients=horizon), rel=1e-12)


@pytest.mark.item("L5.17")
@pytest.mark.parametrize(("step_size", "mu"), [(1.0, 0.2), (1.0, 0.7), (0.5, 0.2), (0.5, 0.9)])
def test_polyak_lojasiewicz_factor_by_performance_estimation(step_size, mu):
    from PEPit.functions import SmoothQuadraticLojasiewiczFunctionExpensive

    worst = performance_estimation(
        SmoothQuadraticLojasiewiczFunctionExpensive, "gap", start="gap", step_size=step_size, steps=1, L=1.0, mu=mu
    )
    assert worst <= polyak_lojasiewicz_factor(step_size=step_size, smoothness=1.0, constant=mu) + 1e-6
    # The parabola ½μx² alone rules out the printed factor at η = 1/(2L).
    assert worst >= (1 - step_size * mu) ** 2 - 1e-6
    if step_size == 0.5:
        assert worst > 1 - mu + 1e-3


@pytest.mark.item("L5.17")
def test_polyak_lojasiewicz_rate_on_the_bowl_and_on_wide_least_squares(key):
    bowl = land.SineBowl()
    states = run(bowl, [3.0, -7.5, 11.0], 1 / 8, 400)
    factor = polyak_lojasiewicz_factor(step_size=1 / 8, smoothness=8.0, constant=bowl.polyak_lojasiewicz)
    assert factor == pytest.approx(1 - bowl.polyak_lojasiewicz / 8, rel=1e-12)
    assert np.all(np.asarray(states.value) <= factor ** np.arange(401) * float(states.value[0]) * (1 + 1e-12))
    design = generator(key).standard_normal((4, 9))
    wide = land.Quadratic(jnp.asarray(design.T @ design), jnp.zeros(9))
    mu, smoothness = np.linalg.eigvalsh(design @ design.T)[[0, -1]]
    states = run(wide, np.ones(9), 1 / smoothness, 100)
    assert np.all(np.asarray(states.value) <= (1 - mu / smoothness) ** np.arange(101) * float(states.value[0]) + 1e-14)


@pytest.mark.item("L5.4")
def test_angles_and_lengths_of_descent_by_hand():
    slope = np.array([3.0, 4.0])
    ways = np.array([[-3.0, -4.0], [-1.0, 0.0], [4.0, -3.0], [3.0, 4.0], [0.0, 0.0]])
    np.testing.assert_allclose(
        descent_cosine(np.broadcast_to(slope, (5, 2)), ways), [1.0, 0.6, 0.0, -1.0, 0.0], atol=1e-15
    )
    # 2·|∇f·s|/(L‖s‖²) with L = 2: 2·25/(2·25), 2·3/2, and nothing for the others.
    reach = longest_descent(np.broadcast_to(slope, (5, 2)), ways, smoothness=2.0)
    np.testing.assert_allclose(reach, [1.0, 3.0, 0.0, 0.0, 0.0])


@pytest.mark.item("L5.12")
def test_the_least_gap_on_a_parabola_and_a_function_that_is_not_convex():
    # ½Lx² from x: slope Lx, gap ½Lx² = (Lx)²/(2L).
    assert least_gap((3.0 * 2.0) ** 2, smoothness=3.0) == pytest.approx(6.0)
    sine = land.SineBowl()
    points = np.linspace(-6, 6, 2001)[:, None]
    values, slopes = jax.vmap(jax.value_and_grad(sine))(jnp.asarray(points))
    assert np.all(least_gap(slopes[:, 0] ** 2, smoothness=8.0) <= values + 1e-12)


def test_the_worst_convex_function_that_a_search_finds_comes_near_the_worst_there_is():
    """Of convex functions on the line, by `falsify`, beside the worst case over all convex functions."""
    from PEPit.functions import SmoothConvexFunction

    found = falsify(convex_gap, starts=8)
    assert not found.found
    curvatures, start, step = (found.instance[name] for name in ("curvatures", "start", "step"))
    shares = []
    for steps in (1, 3, 5):
        worst = performance_estimation(SmoothConvexFunction, "gap", step_size=step, steps=steps, L=1.0)
        shares.append(walked(curvatures, start, step, steps)[1] / (worst * start**2))
    assert 0.98 < max(shares) < 1 + 1e-6


def walked(curvatures, start, step, steps):
    """Point and value after steps on the function with these curvatures below 1, between 1 and 2, …; flat at 0."""
    x, ends = start, np.append(np.arange(1.0, len(curvatures)), np.inf)
    begins = np.append(0.0, ends[:-1])  # the first curvature goes on to the left of 0

    def inside(x):
        return np.append(min(x, 1.0), np.clip(x, begins[1:], ends[1:]) - begins[1:])

    for _ in range(steps):
        x = x - step * np.dot(curvatures, inside(x))
    return x, np.dot(curvatures, inside(x) * (x - begins - inside(x) / 2))


def searched(bound, *, step, steps, measure, low, kept=None):
    """The share of a bound that the worst function of four pieces reaches, of those that `falsify` finds.

    Distances and gaps are of the start's squared distance; with `kept`, a Polyak–Łojasiewicz constant, gaps are of the
    first gap, and functions that do not have it are no candidates.
    """

    @claim(items={}, says="x", over=dict(curvatures=Reals(low, 1.0, shape=(4,)), start=Reals(0.5, 40.0)))
    def worst_of_them(curvatures, start):
        function, states = on_the_line(curvatures, start, jnp.asarray(step), steps)
        reached = jnp.sum(states.position[-1] ** 2) if measure == "distance" else states.value[-1]
        if kept is None:
            return Inequality(reached / start**2, bound)
        constant = function.polyak_lojasiewicz
        return Inequality(jnp.where(constant >= kept, reached / states.value[0], constant - kept), bound)

    found = falsify(worst_of_them, starts=16)
    assert not found.found, found.summary()
    curvatures, start = found.instance["curvatures"], found.instance["start"]
    point, value = walked(curvatures, start, step, steps)
    unit = start**2 if kept is None else walked(curvatures, start, step, 0)[1]
    return (point**2 if measure == "distance" else value) / unit / bound


@pytest.mark.parametrize(
    ("measure", "step_size", "mu", "steps"),
    [
        ("gap", 1.0, 0.0, 1), ("gap", 1.0, 0.0, 5), ("gap", 0.4, 0.0, 3),
        ("gap", 1.0, 0.1, 3), ("gap", 0.5, 0.2, 4), ("gap", 1.5, 0.1, 3),
        ("distance", 1.0, 0.1, 3), ("distance", 0.5, 0.2, 4), ("distance", 1.9, 0.1, 3),
    ],
)  # fmt: skip
def test_a_search_on_the_line_reaches_the_exact_worst_case(measure, step_size, mu, steps):
    """Convex (μ = 0) and strongly convex functions: the worst of them are of one variable and two curvatures.

    Step and horizon are given, so that no corner where nothing moves is the worst. By the number of starts, not by the
    clock: the same instance on every machine.
    """
    from PEPit.functions import SmoothStronglyConvexFunction

    worst = performance_estimation(
        SmoothStronglyConvexFunction, measure, step_size=step_size, steps=steps, L=1.0, mu=mu
    )
    solved = worst * (1 + 1e-6)  # as far as the solver is to be trusted
    assert 0.99 < searched(solved, step=step_size, steps=steps, measure=measure, low=mu) <= 1


@pytest.mark.item("L5.17")
@pytest.mark.parametrize(("step_size", "mu", "steps"), [(1.0, 0.2, 1), (1.0, 0.2, 3), (0.5, 0.2, 2), (1.9, 0.2, 2)])
def test_on_the_line_polyak_lojasiewicz_functions_are_no_worse_than_parabolas(step_size, mu, steps):
    """Convex or not, a function of one variable keeps at most max(|1 − ημ|, |1 − ηL|)² of its gap a step.

    By hand: of slopes that satisfy ½f′² ≥ μf the one that falls as fast as it may, with curvature L and then along
    ½f′² = μf, leaves most; that is strongly convex, and the parabolas ½μx² and ½Lx² attain its factor. No conditions
    are known under which values and slopes belong to a function of this class, so what PEPit solves is an upper bound,
    over all dimensions: at η = 1/L and μ = L/5 it allows 0.683 where the line has 0.64.
    """
    from PEPit.functions import SmoothQuadraticLojasiewiczFunctionExpensive

    exact = max((1 - step_size * mu) ** 2, (1 - step_size) ** 2) ** steps
    worst = performance_estimation(
        *(SmoothQuadraticLojasiewiczFunctionExpensive, "gap"),
        start="gap", step_size=step_size, steps=steps, L=1.0, mu=mu,
    )  # fmt: skip
    assert exact <= worst * (1 + 1e-6)
    share = searched(exact * (1 + 1e-9), step=step_size, steps=steps, measure="gap", low=-1.0, kept=mu)
    assert 0.99 < share <= 1


@pytest.mark.parametrize(("mu", "smoothness"), [(0.3, 1.0), (0.5, 2.0), (0.9, 1.0)])
def test_restricted_secants_contract_by_their_best_step_in_performance_estimation(mu, smoothness):
    """Neither convex nor smooth: ⟨∇f(x), x − x*⟩ ≥ μ‖x − x*‖² and ‖∇f(x)‖ ≤ L‖x − x*‖ give 1 − μ²/L² at η = μ/L²."""
    from PEPit.functions import RsiEbFunction

    worst = performance_estimation(
        RsiEbFunction, "distance", step_size=mu / smoothness**2, steps=1, mu=mu, L=smoothness
    )
    assert worst == pytest.approx(1 - mu**2 / smoothness**2, rel=1e-4)
