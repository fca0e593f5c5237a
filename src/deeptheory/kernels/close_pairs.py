"""Nearly parallel inputs in single precision: the gap of a covariance to its largest value, carried on its own.

An angle θ enters a kernel with a kink through √(1 − cos²θ). Where inputs are nearly parallel, cos θ rounded to seven
digits leaves three of θ. So the deficit √(ab) − k, for variances a, b and covariance k, is computed from differences of
the inputs and followed through the layers beside the covariance, never as a difference of rounded numbers.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from deeptheory.kernels.arcs import angle_of_gap, inverse_root

__all__ = ["affine_deficit", "gaps", "input_deficit", "rectified_deficit"]

CLOSE = 5e-4
"""Gap 1 − cos θ below which differences are taken: above it rounding moves an angle by 1e-5 at most."""


def gaps(
    left: Float[Array, "n d"], right: Float[Array, "m d"], covariance: Float[Array, "n m"], same: Array | None
) -> tuple[Float[Array, "n m"], Array]:
    """Return 1 − cos θ of raw inputs from their covariance, the mean over channels, and where it is too small for that.

    An input is not close to itself: there the gap is 0, exactly.
    """
    one, two = (inverse_root(jnp.mean(x * x, -1)) for x in (left, right))
    gap = 1 - covariance * one[:, None] * two
    if same is not None:
        gap = jnp.where(same, 0, gap)
    close = (gap < CLOSE) & (jnp.ones((), bool) if same is None else ~same)
    return gap, close


@jax.custom_jvp
def _refined(left: Float[Array, "n d"], right: Float[Array, "m d"], gap: Float[Array, "n m"], close: Array) -> Array:
    """Replace small gaps by ½|u − v|² of the unit vectors; rows without such gaps cost nothing."""

    def row(item: tuple[Array, Array, Array]) -> Array:
        u, own, near = item
        return lax.cond(near.any(), lambda: jnp.where(near, jnp.sum((right - u) ** 2, -1) / 2, own), lambda: own)

    return lax.map(row, (left, gap, close))


@_refined.defjvp
def _refined_derivative(primals, tangents):
    return _refined(*primals), tangents[2]  # the same function of the inputs, only better rounded


def input_deficit(
    left: Float[Array, "n d"], right: Float[Array, "m d"], gap: Float[Array, "n m"], close: Array
) -> Float[Array, "n m"]:
    """Return √(ab) − k of raw inputs, with gaps that are too small taken from differences of the inputs."""
    a, b = (jnp.mean(x * x, -1) for x in (left, right))
    one, two = inverse_root(a), inverse_root(b)
    scale = left.shape[-1] ** -0.5
    gap = _refined(scale * left * one[:, None], scale * right * two[:, None], gap, close)
    return gap * (a * one)[:, None] * (b * two)


def affine_deficit(deficit: Array, a: Array | None, b: Array | None, *, weight: float, bias: float) -> Array | None:
    """Return √(a′b′) − k′ for k′ = weight·k + bias and the same for a, b.

    √((A+β)(B+β)) − √(AB) − β = β(√A − √B)²/(√((A+β)(B+β)) + √(AB) + β), without cancellation.
    """
    deficit = weight * deficit
    if not bias:
        return deficit
    if a is None or b is None:
        return None
    one, two = jnp.sqrt(weight * a), jnp.sqrt(weight * b)
    whole = jnp.sqrt((weight * a + bias) * (weight * b + bias))
    return deficit + bias * (one - two) ** 2 / (whole + one * two + bias)


def rectified_deficit(deficit: Array, a: Array, b: Array, *, below: float, above: float) -> tuple[Array, Array, Array]:
    """Return E[φφ], E[φ′φ′] of a rectifier (`integrals.rectifier`) and the deficit after it."""
    one, two = inverse_root(a), inverse_root(b)
    gap, size = deficit * one * two, (a * one) * (b * two)
    angle, sine = angle_of_gap(gap)
    even, odd = (below**2 + above**2) / 2, (below - above) ** 2 / (2 * np.pi)
    slope, cosine = even - odd * angle, 1 - gap
    left_over = even * gap + odd * (angle * cosine - sine)
    return (odd * sine + slope * cosine) * size, slope, jnp.maximum(left_over, 0) * size
