"""Taylor's theorem: the polynomial, and its remainder as Peano, as Lagrange and as an integral.

Reference: lucchi Sec. 1.3.3.
"""

from collections.abc import Callable
from math import factorial
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from deeptheory.calculus.certified import Bounds, maximum
from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors

__all__ = [
    "crossings",
    "derivative",
    "integral_remainder",
    "lagrange_points",
    "remainder_bound",
    "taylor_coefficients",
    "taylor_remainder",
]

Scalar = Callable[[Float[Array, ""]], Float[Array, ""]]
Order = Annotated[int, "[0, 12]"]
Nodes = Annotated[int, "[1, 200]"]


def derivative(function: Scalar, order: Order = 1) -> Scalar:
    """Return the derivative of the given order as a function, by repeated forward differentiation.

    The cost grows about twofold an order. Reference: lucchi eq. 1.8.
    """
    if order == 0:
        return function
    below = derivative(function, order - 1)
    return lambda x: jax.jvp(below, (x,), (jnp.ones_like(x),))[1]


def taylor_coefficients(function: Scalar, at: float, order: Order) -> Float[np.ndarray, "k"]:
    """Return f(a), f′(a), f″(a)/2!, …, f⁽ᵏ⁾(a)/k!: the coefficients of the powers of x − a.

    f is `function`, a `at` and k `order`.

    Reference: lucchi eq. 1.12.
    """
    place = jnp.asarray(at, float)
    return np.array([float(derivative(function, n)(place)) / factorial(n) for n in range(order + 1)])


def taylor_remainder(function: Scalar, at: float, x: Float[AnyArray, "n"], order: Order) -> Float[np.ndarray, "n"]:
    """Return f(x) less its Taylor polynomial of order k about a.

    It is h(x)(x − a)ᵏ with h → 0 (Peano); with one derivative more it is of order (x − a)ᵏ⁺¹. Near a it drowns in the
    rounding of f: `integral_remainder` does not.

    Reference: lucchi Thm. 2.
    """
    steps = np.asarray(x, float) - at
    powers = steps[:, None] ** np.arange(order + 1)
    return np.asarray(jax.vmap(function)(jnp.asarray(x, float))) - powers @ taylor_coefficients(function, at, order)


def integral_remainder(
    function: Scalar, at: float, x: Float[AnyArray, "n"], order: Order, *, nodes: Nodes = 40
) -> Float[np.ndarray, "n"]:
    """Return ∫ₐˣ f⁽ᵏ⁺¹⁾(t)(x − t)ᵏ/k! dt, the remainder of order k as an integral, by Gauss and Legendre's rule.

    Exact for polynomials of degree up to about 2·`nodes`; for functions with k + 1 continuous derivatives between.

    Reference: lucchi Thm. 2, proof.
    """
    points, weights = np.polynomial.legendre.leggauss(nodes)
    shares, weights = (points + 1) / 2, weights / 2
    steps = np.asarray(x, float)[:, None] - at
    highest = jax.jit(jax.vmap(jax.vmap(derivative(function, order + 1))))(jnp.asarray(at + shares * steps))
    return (
        (np.asarray(highest) * (1 - shares) ** order * weights).sum(1) * steps[:, 0] ** (order + 1) / factorial(order)
    )


def lagrange_points(function: Scalar, at: float, x: float, order: Order) -> Float[np.ndarray, "k"]:
    """Return the points c between a and x with remainder f⁽ᵏ⁺¹⁾(c)(x − a)ᵏ⁺¹/(k + 1)!, in order; there is at least one.

    Order 0 is the mean value theorem, f(x) − f(a) = f′(c)(x − a). Found where the difference of both sides changes its
    sign on a grid of 400 places: two points closer than that, or one where it only touches zero, may be missed.

    Reference: lucchi Thms. 2, 3.
    """
    if x == at:
        raise ValueError(f"x must differ from at, got {x} for both")
    highest = jax.jit(jax.vmap(derivative(function, order + 1)))
    [left] = integral_remainder(function, at, np.array([x]), order)
    wanted = float(left) * factorial(order + 1) / (x - at) ** (order + 1)
    shares = crossings(lambda t: np.asarray(highest(jnp.asarray(at + t * (x - at)))) - wanted)
    return at + shares * (x - at)


def crossings(
    function: Callable[[Float[np.ndarray, "n"]], Float[np.ndarray, "n"]], *, cells: Annotated[int, "[2, 1e5]"] = 400
) -> Float[np.ndarray, "k"]:
    """Return where a function on (0, 1) changes its sign, to rounding, one place for each cell of a grid."""
    grid = (np.arange(cells) + 0.5) / cells
    values = np.asarray(function(grid))
    changes = np.flatnonzero(np.sign(values[1:]) * np.sign(values[:-1]) < 0)
    low, high, rows = grid[changes], grid[changes + 1], np.arange(len(changes))
    # Always as many places at once, so that a compiled function is compiled once.
    parts = max(cells // max(len(changes), 1), 2)
    for _ in range(int(np.ceil(53 / np.log2(parts))) if len(changes) else 0):
        places = low[:, None] + (high - low)[:, None] * np.linspace(0, 1, parts)
        found = np.asarray(function(np.resize(places, max(cells, places.size))))[: places.size].reshape(places.shape)
        first = np.argmax(np.sign(found[:, 1:]) != np.sign(found[:, :1]), 1)
        low, high = places[rows, first], places[rows, first + 1]
    return np.sort(np.array([*(low / 2 + high / 2), *grid[values == 0]]))


def remainder_bound(function: Scalar, at: float, x: float, order: Order) -> Bounds:
    """Bound the largest |f⁽ᵏ⁺¹⁾|·|x − a|ᵏ⁺¹/(k + 1)! between a and x, an upper bound of the remainder that is certain.

    The derivative is enclosed by intervals; `upper` therefore bounds the remainder, and `lower` says how much of that
    is the bound's own.

    Reference: lucchi Thm. 2, proof (|f‴| ≤ M gives M|x − a|³/3!).
    """
    highest, ends = derivative(function, order + 1), np.sort([float(at), float(x)])
    found = maximum(lambda t: jnp.abs(highest(t[0])), ends[:1], ends[1:])
    factor = abs(x - at) ** (order + 1) / factorial(order + 1)
    rounding = 8 * (order + 2) * np.finfo(float).eps
    return Bounds(found.lower * factor * (1 - rounding), found.upper * factor * (1 + rounding))


doors(__name__)
