"""Equilibria of small games by hand, and every rule of play against its matrix and against finite differences."""

import jax.numpy as jnp
import numpy as np
import pytest

from deeptheory.generative.games import bilinear_step, mixed_equilibrium, play, pure_equilibria, pure_values

RULES = ("simultaneous", "alternating", "extragradient", "look-ahead", "competitive")


@pytest.mark.item("A16.12")
def test_pennies_and_a_game_with_a_saddle():
    pennies = np.array([[1.0, -1.0], [-1.0, 1.0]])
    assert pure_values(pennies) == (-1.0, 1.0)
    assert not pure_equilibria(pennies).any()
    found = mixed_equilibrium(pennies)
    np.testing.assert_allclose([*found.rows, *found.columns], 0.5, atol=1e-9)
    assert found.least_loss == pytest.approx(0, abs=1e-9)
    saddle = np.array([[3.0, 1.0], [5.0, 6.0]])  # the first row pays at most 3, the first column gets at least 3
    assert pure_values(saddle) == (3.0, 3.0)
    np.testing.assert_array_equal(pure_equilibria(saddle), [[True, False], [False, False]])


@pytest.mark.item("A16.12")
def test_a_two_by_two_game_by_its_formula():
    """Without a saddle the value is (ad − bc)/(a + d − b − c)."""
    a, b, c, d = 4.0, -1.0, -2.0, 3.0
    found = mixed_equilibrium(np.array([[a, b], [c, d]]))
    value = (a * d - b * c) / (a + d - b - c)
    assert found.least_loss == pytest.approx(value, rel=1e-9)
    assert found.most_gain == pytest.approx(value, rel=1e-9)
    assert found.rows[0] == pytest.approx((d - c) / (a + d - b - c), rel=1e-9)


@pytest.mark.item("A16.10", "A16.11", "A16.21")
@pytest.mark.parametrize("rule", RULES)
def test_play_of_the_bilinear_game_is_its_matrix(rule):
    rate, steps = 0.3, 4
    x, y = play(lambda x, y: x @ y, jnp.array([1.0]), jnp.array([0.5]), rule=rule, rate=rate, steps=steps)
    state, step = np.array([1.0, 0.5]), bilinear_step(rule, rate)
    for t in range(steps + 1):
        np.testing.assert_allclose([x[t, 0], y[t, 0]], state, rtol=1e-6)
        state = step @ state


@pytest.mark.item("A16.10")
def test_a_look_ahead_step_by_finite_differences():
    """∇ₓ[f(x, y + η∂_y f)] and its counterpart by central differences of the anticipated payoff."""
    rate, small = 0.2, 1e-5

    def payoff(x, y):
        return jnp.sum(jnp.sin(x) * y) + 0.3 * jnp.sum(x**2) - 0.1 * jnp.sum(y**4)

    def up(x, y):
        return np.sin(x) - 0.4 * y**3

    def down(x, y):
        return np.cos(x) * y + 0.6 * x

    x, y = np.array([0.4]), np.array([0.7])
    moved = play(payoff, jnp.asarray(x), jnp.asarray(y), rule="look-ahead", rate=rate, steps=1)
    answered = [float(payoff(z, y + rate * up(z, y))) for z in (x + small, x - small)]
    anticipated = [float(payoff(x - rate * down(x, z), z)) for z in (y + small, y - small)]
    assert moved[0][1, 0] == pytest.approx(x[0] - rate * (answered[0] - answered[1]) / 2 / small, rel=1e-4)
    assert moved[1][1, 0] == pytest.approx(y[0] + rate * (anticipated[0] - anticipated[1]) / 2 / small, rel=1e-4)


@pytest.mark.item("A16.21")
def test_a_competitive_step_solves_the_local_game():
    """Δx and Δy are best responses in f + ∇f·Δ + Δxᵀ D Δy with penalties |Δ|²/2η."""
    draw, rate = np.random.default_rng(0), 0.4
    cross, slope_x, slope_y = draw.standard_normal((2, 3)), draw.standard_normal(2), draw.standard_normal(3)

    def payoff(x, y):
        return x @ jnp.asarray(cross) @ y + jnp.asarray(slope_x) @ x + jnp.asarray(slope_y) @ y

    start = draw.standard_normal(2), draw.standard_normal(3)
    moved = play(payoff, jnp.asarray(start[0]), jnp.asarray(start[1]), rule="competitive", rate=rate, steps=1)
    dx, dy = (np.asarray(after[1]) - before for after, before in zip(moved, start, strict=True))
    down, up = cross @ start[1] + slope_x, cross.T @ start[0] + slope_y
    np.testing.assert_allclose(dx, -rate * (down + cross @ dy), rtol=1e-5)
    np.testing.assert_allclose(dy, rate * (up + cross.T @ dx), rtol=1e-5)
