"""Derivatives as limits of difference quotients, checks of a gradient, and gradients that one computes by hand."""

from collections.abc import Callable
from typing import Annotated, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors

__all__ = [
    "GradientCheck",
    "chain_rule_jacobian",
    "difference_hessian_product",
    "difference_jacobian",
    "directional_derivative",
    "factorization_gradients",
    "gradient_check",
    "least_squares_gradient",
    "nonlinear_least_squares",
]

Point = Float[AnyArray, "d"]
Matrix = Float[AnyArray, "n d"]
Function = Callable[[Float[Array, "d"]], Float[Array, "..."]]
Scalar = Callable[[Float[Array, ""]], Float[Array, ""]]
Step = Annotated[float, "(0, ∞)"]


def difference_jacobian(
    function: Function, point: Point, *, step: Step = 1e-5, central: bool = True
) -> Float[Array, "..."]:
    """Return the difference quotients along all coordinates, on a last axis: an approximate gradient or Jacobian.

    (f(x + εeᵢ) − f(x))/ε is off by ε/2 times the second derivative, (f(x + εeᵢ) − f(x − εeᵢ))/2ε by ε²/6 times the
    third; rounding adds about 10⁻¹⁶|f|/ε. The best steps are about 10⁻⁸ and 10⁻⁵ for values of order one. For a
    derivative to all digits take `jax.jacfwd`. `step` is ε, `point` x; the second form where `central`.

    Reference: lucchi eqs. 1.8–1.11.
    """
    x = jnp.asarray(point, float)
    moves = step * jnp.eye(len(x))
    ahead = jax.vmap(function, out_axes=-1)(x + moves)
    if central:
        return (ahead - jax.vmap(function, out_axes=-1)(x - moves)) / (2 * step)
    return (ahead - jnp.asarray(function(x))[..., None]) / step


def directional_derivative(function: Function, point: Point, direction: Point) -> Float[Array, "..."]:
    """Return the derivative of t ↦ f(x + t·v) at t = 0, which is ∇f(x)·v, by one pass of forward differentiation.

    The direction is taken as it is: twice the vector gives twice the derivative. `point` is x. Reference: lucchi Sec.
    1.3.1.
    """
    return jax.jvp(function, (jnp.asarray(point, float),), (jnp.asarray(direction, float),))[1]


def chain_rule_jacobian(outer: Function, inner: Function, point: Point) -> Float[Array, "_d _k"]:
    """Return J_f(g(x))·J_g(x), the Jacobian of f∘g: (d × m) times (m × k), outer first.

    `point` is x.

    Reference: lucchi Sec. 1.3.2.
    """
    x = jnp.asarray(point, float)
    return jax.jacfwd(outer)(inner(x)) @ jax.jacfwd(inner)(x)


class GradientCheck(NamedTuple):
    """Steps, how far the given gradient is from central differences at each, and the least of these."""

    steps: Float[np.ndarray, "k"]
    errors: Float[np.ndarray, "k"]
    best: float


def gradient_check(function: Function, gradient: Function, point: Point) -> GradientCheck:
    """Compare a gradient with central differences over steps from 1 to 10⁻⁹, relative to the larger of both.

    A right gradient has errors that fall like the square of the step, to about 10⁻¹⁰ near 10⁻⁵, and rise below it by
    rounding; a wrong one has errors that level off at its own. `best` is the least of them.

    Reference: lucchi eq. 1.11.
    """
    steps = 10.0 ** -np.arange(10)
    given = np.ravel(gradient(jnp.asarray(point, float)))
    found = [np.ravel(difference_jacobian(function, point, step=float(step))) for step in steps]
    if given.shape != found[0].shape:
        raise ValueError(f"gradient must return {found[0].size} numbers, got {given.size}")
    size = max(np.linalg.norm(given), np.linalg.norm(found[5]), np.finfo(float).tiny)
    errors = np.array([np.linalg.norm(given - each) for each in found]) / size
    return GradientCheck(steps, errors, float(errors.min()))


def difference_hessian_product(
    function: Function, point: Point, direction: Point, *, step: Step = 1e-5
) -> Float[Array, "d"]:
    """Return (∇f(x + tv) − ∇f(x))/t, which tends to the product Hv of the Hessian with a vector as t → 0.

    Two gradients in place of a Hessian. Exact to all digits, at the same cost: `jax.jvp(jax.grad(f), (x,), (v,))`.
    `point` is x, `direction` v.

    Reference: lucchi Ch. 1 Problem 3(b).
    """
    x, v = jnp.asarray(point, float), jnp.asarray(direction, float)
    return (jax.grad(function)(x + step * v) - jax.grad(function)(x)) / step


def least_squares_gradient(matrix: Matrix, targets: Float[AnyArray, "n"], point: Point) -> Float[Array, "d"]:
    """Return 2Aᵀ(Ax − y), the gradient of ‖Ax − y‖², as a column.

    `point` is x. Reference: lucchi eqs. 1.20–1.22, Problem 2(a).
    """
    return 2 * jnp.asarray(matrix).T @ (jnp.asarray(matrix) @ jnp.asarray(point) - jnp.asarray(targets))


def factorization_gradients(
    left: Float[AnyArray, "n p"],
    right: Float[AnyArray, "p m"],
    target: Float[AnyArray, "n m"],
) -> tuple[Float[Array, "n p"], Float[Array, "p m"]]:
    """Return (UV − R)Vᵀ and Uᵀ(UV − R), the derivatives of ½‖UV − R‖² in U and in V.

    Reference: lucchi Ch. 1 Problem 2(b).
    """
    u, v = jnp.asarray(left), jnp.asarray(right)
    residual = u @ v - jnp.asarray(target)
    return residual @ v.T, u.T @ residual


def nonlinear_least_squares(
    link: Scalar, inputs: Matrix, targets: Float[AnyArray, "n"], weights: Point
) -> tuple[Float[Array, "d"], Float[Array, "d d"]]:
    """Return gradient and Hessian of (1/2n) Σ(yᵢ − ℓ(xᵢ·w))² in w.

    −(1/n) Σ(yᵢ − ℓᵢ)ℓ′ᵢ xᵢ and (1/n) Σ[ℓ′ᵢ² − (yᵢ − ℓᵢ)ℓ″ᵢ] xᵢxᵢᵀ: not positive semidefinite where a residual times ℓ″
    exceeds ℓ′². `link` is ℓ.

    Reference: lucchi Ch. 1 Problem 2(c).
    """
    x = jnp.asarray(inputs)
    scores = x @ jnp.asarray(weights)
    value, slope, bend = (jax.vmap(each)(scores) for each in (link, jax.grad(link), jax.grad(jax.grad(link))))
    residual = jnp.asarray(targets) - value
    return -(residual * slope) @ x / len(x), (x * (slope**2 - residual * bend)[:, None]).T @ x / len(x)


doors(__name__)
