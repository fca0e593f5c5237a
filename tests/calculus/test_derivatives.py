"""Difference quotients and gradients by hand against automatic differentiation, and by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from deeptheory.calculus.derivatives import (
    chain_rule_jacobian,
    difference_hessian_product,
    difference_jacobian,
    directional_derivative,
    factorization_gradients,
    gradient_check,
    least_squares_gradient,
    nonlinear_least_squares,
)

RNG = np.random.default_rng(0)
POINT = RNG.normal(size=3)
MATRIX, TARGETS = RNG.normal(size=(20, 3)), RNG.normal(size=20)


@pytest.mark.item("L1.4")
def test_quotients_by_hand():
    """Of x³ at 2: forward 12 + 6ε + ε², central 12 + ε²; of (x²y, y): the Jacobian [[2xy, x²], [0, 1]]."""

    def cube(x):
        return x[0] ** 3

    two = np.array([2.0])
    assert difference_jacobian(cube, two, step=0.5, central=False)[0] == pytest.approx(15.25)
    assert difference_jacobian(cube, two, step=0.5)[0] == pytest.approx(12.25)
    found = difference_jacobian(lambda x: jnp.array([x[0] ** 2 * x[1], x[1]]), np.array([3.0, 5.0]))
    assert np.allclose(found, [[30, 9], [0, 1]], atol=1e-8)
    assert directional_derivative(cube, two, np.array([-0.5])) == pytest.approx(-6)


@pytest.mark.item("L1.4")
def test_chain_rule_against_differences_of_the_composition():
    def inner(x):
        return jnp.tanh(MATRIX[:4] @ x)

    def outer(z):
        return jnp.array([z[0] * z[1], jnp.sin(z[2]) + z[3] ** 2])

    found = chain_rule_jacobian(outer, inner, POINT)
    assert found.shape == (2, 3)
    assert np.allclose(found, difference_jacobian(lambda x: outer(inner(x)), POINT), atol=1e-9)


def test_a_wrong_gradient_is_found():
    right = gradient_check(lambda x: jnp.sum(x**3), lambda x: 3 * x**2, POINT)
    wrong = gradient_check(lambda x: jnp.sum(x**3), lambda x: 3.001 * x**2, POINT)
    assert right.best < 1e-8 and 2e-4 < wrong.best < 1e-3
    with pytest.raises(ValueError, match="gradient must return 3"):
        gradient_check(lambda x: jnp.sum(x**3), lambda x: x[:2], POINT)


@pytest.mark.item("L1.8")
@pytest.mark.item("L1.18")
def test_gradients_by_hand_against_automatic_ones():
    def squares(x):
        return jnp.sum((MATRIX @ x - TARGETS) ** 2)

    assert np.allclose(least_squares_gradient(MATRIX, TARGETS, POINT), jax.grad(squares)(POINT), rtol=1e-12)
    left, right, target = RNG.normal(size=(4, 2)), RNG.normal(size=(2, 3)), RNG.normal(size=(4, 3))
    expected = jax.grad(lambda u, v: jnp.sum((u @ v - target) ** 2) / 2, (0, 1))(left, right)
    for ours, theirs in zip(factorization_gradients(left, right, target), expected, strict=True):
        assert np.allclose(ours, theirs, rtol=1e-12)


@pytest.mark.item("L1.18")
def test_hessian_of_nonlinear_least_squares():
    def risk(w):
        return jnp.mean((TARGETS - jnp.tanh(MATRIX @ w)) ** 2) / 2

    slope, bend = nonlinear_least_squares(jnp.tanh, MATRIX, TARGETS, POINT)
    assert np.allclose(slope, jax.grad(risk)(POINT), rtol=1e-11) and np.allclose(
        bend, jax.hessian(risk)(POINT), rtol=1e-11
    )
    # One input 1, target 9, ℓ = z²/2 at w = 1: ℓ′² − (y − ℓ)ℓ″ = 1 − 8.5 < 0.
    one = np.ones((1, 1))
    assert nonlinear_least_squares(lambda z: z**2 / 2, one, np.array([9.0]), np.ones(1))[1][0, 0] == pytest.approx(-7.5)


@pytest.mark.item("L1.19")
def test_hessian_products_tend_to_the_hessian():
    def function(x):
        return jnp.exp(x[0] * x[1]) + jnp.sin(x[2]) * x[0]

    direction = np.array([1.0, -2.0, 0.5])
    exact = jax.hessian(function)(POINT) @ direction
    coarse, fine = (
        np.linalg.norm(difference_hessian_product(function, POINT, direction, step=t) - exact) for t in (1e-3, 1e-4)
    )
    assert fine < 1e-2 and coarse / fine == pytest.approx(10, rel=0.05)
