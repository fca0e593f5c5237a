"""Angles of correlations: fast in single precision, with finite derivatives at coinciding inputs.

In single precision inverse trigonometric functions are short polynomials (Chebyshev interpolation, errors below one
unit in the last place of the result), because library versions cost most of a kernel's time; in double precision they
are the library's.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array
from numpy.polynomial import Chebyshev, Polynomial


def _interpolate(function, degree: int) -> tuple[float, ...]:
    """Coefficients, highest first, of the polynomial that meets the function at Chebyshev points of [0, 1]."""
    coefficients = Chebyshev.interpolate(function, degree, domain=[0, 1]).convert(kind=Polynomial).coef
    return tuple(float(c) for c in coefficients[::-1])


def _horner(coefficients: tuple[float, ...], x: Array) -> Array:
    value = jnp.full_like(x, coefficients[0])
    for coefficient in coefficients[1:]:
        value = value * x + coefficient
    return value


ARCCOSINE = _interpolate(lambda x: np.arccos(x) / np.sqrt(1 - x), 7)
"""arccos x / √(1 − x): smooth on [0, 1], where arccos is not."""

ROOT = _interpolate(lambda x: np.sqrt(1 + x), 9)
"""√(1 + x): a second hardware root would cost another pass over memory, since compilers do not fuse across it."""

ARCTANGENT = _interpolate(lambda x: np.arctan(np.sqrt(x)) / np.sqrt(x), 8)
"""arctan z / z in powers of z² on [0, 1]: accurate relative to the result."""


def _wide(x: Array) -> bool:
    return x.dtype == jnp.float64


@jax.custom_jvp
def angle_and_sine(cosine: Array) -> tuple[Array, Array]:
    """Return θ = arccos c and sin θ; c a rounding error outside [−1, 1] counts as ±1.

    dθ/dc = −1/sin θ is infinite at c = ±1. There the derivative is taken to be 0: along any line of inputs through
    the coincidence θ grows like |t|, so 0 is the mean of the one-sided derivatives.
    """
    size = jnp.abs(cosine)
    root = jnp.sqrt(jnp.maximum(1 - size, 0))
    if _wide(cosine):
        sine = root * jnp.sqrt(1 + size)
        return jnp.arctan2(sine, cosine), sine
    acute = root * _horner(ARCCOSINE, size)
    return jnp.where(cosine < 0, np.pi - acute, acute), root * _horner(ROOT, size)


@angle_and_sine.defjvp
def _angle_and_sine_derivative(primals, tangents):
    (cosine,), (change,) = primals, tangents
    angle, sine = angle_and_sine(cosine)
    turn = jnp.where(sine > 0, -change / jnp.where(sine > 0, sine, 1), 0)
    return (angle, sine), (turn, cosine * turn)


@jax.custom_jvp
def elevation(rise: Array, run: Array, hypotenuse: Array) -> Array:
    """Return arctan(rise/run) in [−π/2, π/2] for run ≥ 0, accurate relative to its size.

    As twice the arctangent of rise/(run + hypotenuse), which needs no cases; hypotenuse² = rise² + run² > 0.
    """
    if _wide(rise):
        return jnp.arctan2(rise, run)
    ratio = rise / (run + hypotenuse)
    return 2 * ratio * _horner(ARCTANGENT, ratio * ratio)


@elevation.defjvp
def _elevation_derivative(primals, tangents):
    rise, run, hypotenuse = primals
    turn = run * tangents[0] - rise * tangents[1]
    return elevation(rise, run, hypotenuse), turn / (hypotenuse * hypotenuse)


def inverse_root(x: Array) -> Array:
    """Return 1/√x, and 0 with derivative 0 at x = 0."""
    return jnp.where(x > 0, jax.lax.rsqrt(jnp.where(x > 0, x, 1)), 0)
