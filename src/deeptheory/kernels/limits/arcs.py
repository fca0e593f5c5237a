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

__all__ = ["angle_and_sine", "angle_of_gap", "elevation", "inverse_root", "root"]


def _interpolate(function, degree: int) -> tuple[float, ...]:
    """Coefficients, highest first, of the polynomial that meets the function at Chebyshev points of [0, 1]."""
    coefficients = Chebyshev.interpolate(function, degree, domain=[0, 1]).convert(kind=Polynomial).coef
    return tuple(float(c) for c in coefficients[::-1])


def _horner(coefficients: tuple[float, ...], x: Array) -> Array:
    value = jnp.full_like(x, coefficients[0])
    for coefficient in coefficients[1:]:
        value = value * x + coefficient
    return value


ARC = _interpolate(lambda x: np.arccos(x) / np.sqrt(1 - x * x), 10)
"""θ/sin θ in powers of cos θ: smooth where the arccosine is not, so one root and one polynomial give angle and sine."""


ROUNDING = 8 * np.finfo(np.float64).eps
"""By how much a correlation of parallel inputs may miss ±1 in double precision, after pools and a few layers."""


def _wide(x: Array) -> bool:
    return x.dtype == jnp.float64


@jax.custom_jvp
def angle_and_sine(cosine: Array) -> tuple[Array, Array]:
    """Return θ = arccos c and sin θ; c a rounding error outside [−1, 1] counts as ±1, in double precision inside too.

    There parallel inputs are common and others as near are not, and a rounded 1 would be an angle of some √ε, another
    one with every way to compile it. In single precision inputs 1e-3 apart would be lost so.

    dθ/dc = −1/sin θ is infinite at c = ±1. There the derivative is taken to be 0: along any line of inputs through
    the coincidence θ grows like |t|, so 0 is the mean of the one-sided derivatives.
    """
    size = jnp.abs(cosine)
    if _wide(cosine):
        size = jnp.where(size < 1 - ROUNDING, size, 1)
    sine = jnp.sqrt(jnp.maximum((1 - size) * (1 + size), 0))
    if _wide(cosine):
        return jnp.arctan2(sine, cosine), sine
    acute = sine * _horner(ARC, size)
    return jnp.where(cosine < 0, np.pi - acute, acute), sine


@angle_and_sine.defjvp
def _angle_and_sine_derivative(primals, tangents):
    (cosine,), (change,) = primals, tangents
    angle, sine = angle_and_sine(cosine)
    turn = jnp.where(sine > 0, -change / jnp.where(sine > 0, sine, 1), 0)
    return (angle, sine), (turn, cosine * turn)


@jax.custom_jvp
def angle_of_gap(gap: Array) -> tuple[Array, Array]:
    """Return θ and sin θ from 1 − cos θ, accurate relative to their size; derivatives at 0 as in `angle_and_sine`."""
    sine = jnp.sqrt(jnp.maximum(gap * (2 - gap), 0))
    cosine = 1 - gap
    if _wide(gap):
        return jnp.arctan2(sine, cosine), sine
    acute = sine * _horner(ARC, jnp.abs(cosine))
    return jnp.where(cosine < 0, np.pi - acute, acute), sine


@angle_of_gap.defjvp
def _angle_of_gap_derivative(primals, tangents):
    (gap,), (change,) = primals, tangents
    angle, sine = angle_of_gap(gap)
    turn = jnp.where(sine > 0, change / jnp.where(sine > 0, sine, 1), 0)
    return (angle, sine), (turn, (1 - gap) * turn)


@jax.custom_jvp
def elevation(sine: Array, cosine: Array) -> Array:
    """Return the angle in [−π/2, π/2] of a sine and its cosine ≥ 0, accurate relative to its size."""
    return jnp.arctan2(sine, cosine) if _wide(sine) else sine * _horner(ARC, cosine)


@elevation.defjvp
def _elevation_derivative(primals, tangents):
    sine, cosine = primals
    return elevation(sine, cosine), cosine * tangents[0] - sine * tangents[1]


def inverse_root(x: Array) -> Array:
    """Return 1/√x, and 0 with derivative 0 at x = 0."""
    return jnp.where(x > 0, jax.lax.rsqrt(jnp.where(x > 0, x, 1)), 0)


def root(x: Array) -> Array:
    """Return √x, with derivative 0 at 0: black pixels are common."""
    return jnp.where(x > 0, jnp.sqrt(jnp.where(x > 0, x, 1)), 0)
