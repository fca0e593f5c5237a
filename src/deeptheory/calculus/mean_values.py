"""Mean values of functions of several variables: at a point of the segment, and as integrals along it."""

from collections.abc import Callable
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from deeptheory.calculus.taylor import crossings
from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors

__all__ = [
    "gradient_change",
    "mean_value_points",
    "mean_value_surplus",
    "segment_integral",
    "weighted_curvature",
]

Function = Callable[[Float[Array, "d"]], Float[Array, "..."]]
Scalar = Callable[[Float[Array, "d"]], Float[Array, ""]]
Point = Float[AnyArray, "d"]
Nodes = Annotated[int, "[1, 200]"]


def segment_integral(function: Function, x: Point, y: Point, *, nodes: Nodes = 40) -> Float[np.ndarray, "..."]:
    """Return ∫₀¹ Df(x + ty)·y dt by Gauss and Legendre's rule: for any smooth f it is f(x + y) − f(x).

    Also of functions with several values, each by itself. Reference: lucchi Thm. 4, eq. 1.16.
    """
    return _average(lambda t: jax.jvp(function, (_on(x, y, t),), (_as(y),))[1], nodes)


def gradient_change(function: Scalar, x: Point, y: Point, *, nodes: Nodes = 40) -> Float[np.ndarray, "d"]:
    """Return ∫₀¹ ∇²f(x + ty) y dt, the change ∇f(x + y) − ∇f(x) of the gradient. Reference: lucchi eq. 1.18."""
    return segment_integral(jax.grad(function), x, y, nodes=nodes)


def weighted_curvature(
    function: Scalar, x: Point, y: Point, weight: Callable[[Float[Array, ""]], Float[Array, ""]] | None = None, *,
    nodes: Nodes = 40,
) -> float:  # fmt: skip
    """Return ∫₀¹ w(t) yᵀ∇²f(x + ty) y dt, with the weight w(t) = 1 − t where none is given.

    With 1 − t it is f(x + y) − f(x) − ∇f(x)·y, the remainder of second order. With ½, as eq. 1.17 prints it, it is
    half the change of the slope along y, and equals the remainder only by accident, as for quadratic f.

    Reference: lucchi eq. 1.17.
    """

    def curvature(t: Float[Array, ""]) -> Float[Array, ""]:
        bend = _as(y) @ jax.jvp(jax.grad(function), (_on(x, y, t),), (_as(y),))[1]
        return bend * (1 - t if weight is None else weight(t))

    return float(_average(curvature, nodes))


def mean_value_surplus(
    function: Function, x: Point, y: Point, shares: Float[AnyArray, "k"]
) -> Float[np.ndarray, "k ..."]:
    """Return Df(x + cy)·y − (f(x + y) − f(x)) for every c among `shares`, entry by entry where f has several values.

    Of a function with one value it vanishes at some c in (0, 1). With several values every entry vanishes somewhere,
    but in general nowhere all together: on the circle t ↦ (cos t, sin t) the way once around ends where it began.

    Reference: lucchi eq. 1.15.
    """
    change = jnp.asarray(function(_as(x) + _as(y))) - jnp.asarray(function(_as(x)))
    slopes = jax.vmap(lambda t: jax.jvp(function, (_on(x, y, t),), (_as(y),))[1])(jnp.asarray(shares, float))
    return np.asarray(slopes - change)


def mean_value_points(function: Scalar, x: Point, y: Point) -> Float[np.ndarray, "k"]:
    """Return all c in (0, 1) with f(x + y) − f(x) = ∇f(x + cy)·y, in order, as far as a grid of 400 tells them apart.

    There is at least one and may be many; for a linear f every c will do and those of the grid are returned.

    Reference: lucchi Thm. 3, eq. 1.15.
    """
    change = jnp.asarray(function(_as(x) + _as(y))) - jnp.asarray(function(_as(x)))
    slopes = jax.jit(jax.vmap(lambda t: jax.jvp(function, (_on(x, y, t),), (_as(y),))[1]))
    return crossings(lambda shares: np.asarray(slopes(jnp.asarray(shares)) - change))


def _as(vector: Point) -> Float[Array, "d"]:
    return jnp.asarray(vector, float)


def _on(x: Point, y: Point, t: Float[Array, ""]) -> Float[Array, "d"]:
    return _as(x) + t * _as(y)


def _average(integrand: Callable, nodes: int) -> np.ndarray:
    places, weights = np.polynomial.legendre.leggauss(nodes)
    values = np.asarray(jax.vmap(integrand)(jnp.asarray((places + 1) / 2)))
    return np.tensordot(weights / 2, values, 1)


doors(__name__)
