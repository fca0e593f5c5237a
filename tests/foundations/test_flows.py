"""Flows against their closed form; and an end to those that never come to one."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from deeptheory.foundations import flows
from deeptheory.foundations.flows import adaptive_flow, flow, followed


@pytest.mark.parametrize("method", ["LSODA", "DOP853"])
def test_a_flow_is_that_of_its_closed_form(method):
    times = np.array([1.0, 1.5, 4.0])
    found = followed(lambda t, y: -y / t, 1.0, np.array([2.0, -1.0]), times, method=method, tolerance=1e-10)
    assert np.allclose(found, np.outer(1 / times, [2.0, -1.0]), rtol=1e-8)


def test_the_first_time_may_be_the_only_one():
    assert np.array_equal(
        followed(lambda t, y: y, 0.0, np.ones(2), np.zeros(1), method="LSODA", tolerance=1e-9), [[1, 1]]
    )


@pytest.mark.parametrize("times", [[-1.0, 1.0], [1.0, 1.0], [2.0, 1.0], [1.0, np.inf], [np.nan]])
def test_times_increase(times):
    with pytest.raises(ValueError, match="times must be finite and increase from 0 on, got"):
        followed(lambda t, y: y, 0.0, np.ones(1), np.array(times), method="LSODA", tolerance=1e-9)


def test_a_flow_that_is_too_stiff_for_its_method_ends(monkeypatch):
    monkeypatch.setattr(flows, "EVALUATIONS", 500)
    with pytest.raises(ArithmeticError, match="the flow is too stiff or too long to be followed beyond time"):
        followed(lambda t, y: -1e9 * (y - t), 0.0, np.ones(1), np.array([1.0]), method="DOP853", tolerance=1e-9)


def test_a_flow_of_a_tree_against_scipy():
    times = np.array([0.5, 1.0, 3.0])
    ours = jax.jit(lambda s: flow(lambda _, s: {"q": s["p"], "p": -jnp.sin(s["q"])}, s, times, substeps=64))(
        {"q": jnp.array(1.0), "p": jnp.array(0.2)}
    )
    theirs = solve_ivp(lambda t, s: [s[1], -np.sin(s[0])], (0, 3), [1.0, 0.2], t_eval=times, rtol=1e-11, atol=1e-12).y
    np.testing.assert_allclose([ours["q"], ours["p"]], theirs, atol=1e-7)


def test_equal_steps_know_the_time_and_are_of_order_four():
    # ẏ = −2ty from time 1 has the solution y(1) e^(1 − t²).
    times, start = np.array([1.5, 2.0]), np.array([2.0, -1.0])
    exact = start * np.exp(1 - times[:, None] ** 2)
    found = [flow(lambda t, y: -2 * t * y, start, times, begin=1.0, substeps=n) for n in (16, 32)]
    errors = [np.abs(np.asarray(each) - exact).max() for each in found]
    assert errors[1] < 1e-6 and errors[0] / errors[1] == pytest.approx(16, rel=0.1)


def test_a_flow_has_derivatives_in_both_directions_and_runs_in_batches():
    # y(t) = y(0) e^(at): ∂y/∂a = t·y.
    def end(a, y):
        return flow(lambda _, u: a * u, y, np.array([0.5, 2.0]), substeps=64)[-1]

    value = 3.0 * np.exp(2 * -0.7)
    assert jax.grad(end)(-0.7, 3.0) == pytest.approx(2 * value, rel=1e-6)
    assert jax.jvp(lambda a: end(a, 3.0), (-0.7,), (1.0,))[1] == pytest.approx(2 * value, rel=1e-6)
    many = jax.jit(jax.vmap(end, (0, None)))(jnp.array([-0.7, 0.3]), 3.0)
    np.testing.assert_allclose(many, 3.0 * np.exp(2 * np.array([-0.7, 0.3])), rtol=1e-6)
    with pytest.raises(ValueError, match="substeps must"):
        flow(lambda _, u: u, 1.0, np.ones(1), substeps=0)


def logistic(y):
    return y * (1 - y)


def test_adaptive_steps_keep_the_error_asked_for_and_carry_derivatives():
    # ẏ = y(1 − y) ends at 1/(1 + (1/y₀ − 1)e⁻ᵗ), whose derivative in y₀ is e⁻ᵗ y²/y₀².
    start, times = np.array([0.01, 0.5, 3.0]), np.array([0.0, 0.2, 7.0])
    exact = 1 / (1 + (1 / start - 1) * np.exp(-times[:, None]))
    for tolerance, bound in ((1e-5, 1e-5), (1e-12, 1e-11)):
        found = jax.jit(lambda y, t=tolerance: adaptive_flow(logistic, y, times, tolerance=t))(start)
        np.testing.assert_allclose(found, exact, atol=bound)
    assert np.abs(np.asarray(adaptive_flow(logistic, start, times, tolerance=1e-2)) - exact).max() > 1e-9

    def end(y, t):
        return adaptive_flow(logistic, y, t, tolerance=1e-12)

    in_start, in_times = jax.jit(jax.jacobian(end, (0, 1)))(start, times)
    slopes = np.exp(-times[:, None]) * exact**2 / start**2
    np.testing.assert_allclose(in_start, slopes[..., None] * np.eye(3), atol=1e-10)
    np.testing.assert_allclose(in_times, (exact * (1 - exact))[..., None] * np.eye(3)[:, None], atol=1e-10)
    np.testing.assert_allclose(jax.jvp(lambda y: end(y, times), (start,), (np.ones(3),))[1], slopes, atol=1e-10)
    # In what the velocity is made of, for many at once, twice: y₀e^(at).
    growth = jax.vmap(
        jax.grad(jax.grad(lambda a: adaptive_flow(lambda y: a * y, np.ones(1), times, tolerance=1e-12)[2, 0]))
    )
    rates = np.array([-1.0, 0.3])
    np.testing.assert_allclose(jax.jit(growth)(rates), 49 * np.exp(7 * rates), rtol=1e-9)


def test_adaptive_steps_shorten_and_lengthen_as_those_of_scipy():
    def oscillator(y):
        return jnp.stack([y[1], 20 * (1 - y[0] ** 2) * y[1] - y[0]])

    times, precision = np.linspace(1.0, 60, 7), {"rtol": 1e-11, "atol": 1e-12, "method": "DOP853"}
    found = adaptive_flow(oscillator, np.array([2.0, 0.0]), times, tolerance=1e-11)
    known = solve_ivp(lambda _, y: np.asarray(oscillator(y)), (0, 60), [2.0, 0.0], t_eval=times, **precision).y.T
    np.testing.assert_allclose(found, known, rtol=1e-6, atol=1e-7)


def test_what_adaptive_steps_cannot_follow_is_nan():
    for times in ([1.0, 1.0], [2.0, 1.0], [-1.0, 1.0], [1.0, np.nan]):
        assert np.isnan(adaptive_flow(logistic, np.ones(1), np.array(times), tolerance=1e-6)).all()
    for velocity in (lambda y: -1e9 * (y - 1), lambda y: y * y):
        assert np.isnan(adaptive_flow(velocity, np.full(1, 2.0), np.ones(1), tolerance=1e-6)).all()
