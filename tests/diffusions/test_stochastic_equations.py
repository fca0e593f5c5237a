"""Stochastic equations: paths by hand, generators and exit times against closed forms and finite differences."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_bvp

from deeptheory.diffusions.stochastic_equations import (
    ItoEquation,
    canonical_equation,
    euler_maruyama,
    exit_time_from_saddle,
    generator_of,
    geometric_errors,
    gibbs_density,
    least_squares_moments,
    time_changed,
)
from deeptheory.diffusions.weak_order import LinearOracle, diffusion_moments


@pytest.mark.item("A12.9")
def test_two_steps_by_hand_and_a_change_of_time():
    equation = ItoEquation(lambda x: -x, lambda x: jnp.outer(x, jnp.array([1.0, 2.0])))
    increments = np.array([[0.1, 0.0], [0.0, -0.2]])
    path = euler_maruyama(equation, np.array([4.0]), increments, step=0.5)
    # 4 − 2 + 0.4 = 2.4, then 2.4 − 1.2 − 2.4·0.4 = 0.24
    np.testing.assert_allclose(path[:, 0], [4.0, 2.4, 0.24], rtol=1e-5)
    faster = time_changed(equation, 4.0)
    np.testing.assert_allclose(faster.drift(jnp.array([3.0])), [-12.0])
    np.testing.assert_allclose(faster.diffusion(jnp.array([3.0])), [[6.0, 12.0]], rtol=1e-6)


@pytest.mark.item("A12.25")
def test_the_generator_of_a_quadratic_with_a_root_that_is_not_symmetric():
    root = jnp.array([[0.0, 1.0], [0.0, 0.0]])
    equation = ItoEquation(lambda x: jnp.array([2.0, x[0]]), lambda x: root)
    half_square = generator_of(equation, lambda x: x[0] ** 2 / 2 + x[1])
    # ⟨(x₁, 1), (2, x₁)⟩ + ½·1 at x₁ = 3
    assert half_square(jnp.array([3.0, 5.0])) == pytest.approx(9.5)


@pytest.mark.item("A12.12")
def test_the_canonical_equation_has_the_covariance_of_the_gradients():
    points = jnp.array([[1.0, 2.0], [0.0, -1.0], [3.0, 1.0]])

    def gradients(x):
        return (points @ x - jnp.array([1.0, 0.0, 2.0]))[:, None] * points

    x = jnp.array([0.4, -0.7])
    equation = canonical_equation(gradients, rate=0.2, batch=4)
    spread = np.asarray(equation.diffusion(x))
    wanted = 0.2 / 4 * np.cov(np.asarray(gradients(x)).T, bias=True)
    np.testing.assert_allclose(spread @ spread.T, wanted, rtol=1e-5)
    np.testing.assert_allclose(equation.drift(x), -np.asarray(gradients(x)).mean(0), rtol=1e-6)


@pytest.mark.item("A12.12")
def test_second_moments_of_least_squares_in_one_dimension():
    points, targets = np.array([1.0, 2.0, -0.5]), np.array([0.3, -1.0, 2.0])
    oracle = LinearOracle(points**2, points * targets, np.full(3, 1 / 3)).amplified(5**-0.5)
    wanted = diffusion_moments(oracle, 0.1, 7, degree=2, start=0.8)[-1]
    seen = least_squares_moments(points[:, None], targets, np.array([0.8]), rate=0.1, batch=5, time=0.7)
    np.testing.assert_allclose(seen, [[wanted[2], wanted[1]], [wanted[1], 1.0]], rtol=1e-10)


@pytest.mark.item("A12.11")
def test_the_stationary_density_of_a_quadratic_is_gaussian():
    points = np.linspace(-6, 6, 4001)
    density = gibbs_density(lambda x: 1.5 * x**2, points, rate=0.5, noise=2.0)
    variance = 0.5 * 4.0 / (2 * 3.0)
    np.testing.assert_allclose(
        density, np.exp(-(points**2) / (2 * variance)) / np.sqrt(2 * np.pi * variance), atol=1e-9
    )


def test_exact_errors_of_one_step_of_a_geometric_motion():
    # One step of size one without drift: E(e^{W−½} − 1 − W)² = e − 2(1 + 1) + 2 with s = 1.
    strong, weak = geometric_errors(0.0, 1.0, np.array([1.0]))
    assert strong[0] == pytest.approx(np.sqrt(np.e - 2))
    assert weak[0] == pytest.approx(np.e - 2)
    strong, _ = geometric_errors(0.0, 1.0, np.array([1.0]), milstein=True)
    # with ½(W² − 1) more: e − 2·2.5 + 2.5
    assert strong[0] == pytest.approx(np.sqrt(np.e - 2.5))


@pytest.mark.item("A12.32")
@pytest.mark.parametrize("noise", [0.5, 2.0])
def test_the_exit_time_solves_its_boundary_value_problem(noise):
    curvature, level = 1.5, 1.2

    def equation(x, y):
        return np.stack([y[1], (-1 - curvature * x * y[1]) * 2 / noise**2])

    mesh = np.linspace(0, level, 200)
    solution = solve_bvp(equation, lambda a, b: np.array([a[1], b[0]]), mesh, np.zeros((2, 200)), tol=1e-8)
    assert exit_time_from_saddle(curvature, level, noise) == pytest.approx(solution.sol(0.0)[0], rel=1e-6)
