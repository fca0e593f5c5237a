"""Nearly parallel inputs in single precision: the gap of a covariance to its largest value, carried on its own.

An angle θ enters a kernel with a kink through √(1 − cos²θ). Where inputs are nearly parallel, cos θ rounded to seven
digits leaves three of θ. So the deficit √(ab) − k, for variances a, b and covariance k, is computed from differences of
the inputs and followed through the layers beside the covariance, never as a difference of rounded numbers. Where a
layer mixes positions or branches it is the squared distance a + b − 2k that is linear; there lengths that differ cost
digits, inputs that are nearly the same none. A deficit that rounding leaves below zero stays so, for its derivative's
sake, and counts as zero where an angle is taken. Layers that do not know the deficit drop it.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from deeptheory.kernels.arcs import angle_of_gap, inverse_root

__all__ = [
    "affine_deficit",
    "as_vectors",
    "gaps",
    "image_deficit",
    "input_deficit",
    "mixed_deficit",
    "rectified_deficit",
    "sign_deficit",
]

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


def as_vectors(x: Float[Array, "*positions n c"]) -> Float[Array, "n d"]:
    """Return inputs as rows."""
    return jnp.moveaxis(x, -2, 0).reshape(x.shape[-2], -1)


def image_deficit(left: Float[Array, "*positions n c"], right: Float[Array, "*positions m c"], *, full: bool) -> Array:
    """Return √(ab) − k of positions of images, ½(|x − y|² − (|x| − |y|)²)/c: at equal positions, or at all pairs."""
    rank = left.ndim - 2
    if full:
        left, right = left.reshape(*left.shape[:rank], *(1,) * rank, *left.shape[rank:]), right[(None,) * rank]

    def add(total: Array, channel: tuple[Array, Array]) -> tuple[Array, None]:
        one, two = channel
        return total + (one[..., :, None] - two[..., None, :]) ** 2, None

    one, two = (jnp.moveaxis(x, -1, 0) for x in (left, right))
    places = jnp.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    start = jnp.zeros((*places, left.shape[-2], right.shape[-2]), left.dtype)
    distance, _ = lax.scan(add, start, (one, two))
    lengths = [_root(jnp.sum(x * x, -1)) for x in (left, right)]
    gap = distance - (lengths[0][..., :, None] - lengths[1][..., None, :]) ** 2
    return gap / (2 * left.shape[-1])


def _root(x: Array) -> Array:
    """Return √x, with derivative 0 at 0: black pixels are common."""
    return x * inverse_root(x)


Ends = tuple[Array, Array]


def mixed_deficit(parts: list[tuple[Array, Ends]], after: Ends, mix: Callable[[list[Array]], Array]) -> Array:
    """Return the deficit after a linear map of covariances, from parts (deficit, variances) and the variances after it.

    ½(a + b − 2k) = √(ab) − k + ½(√a − √b)² is mapped as covariances are; the last term is then taken off again.
    """

    def apart(a: Array, b: Array) -> Array:
        return (_root(a) - _root(b)) ** 2 / 2

    return mix([deficit + apart(*ends) for deficit, ends in parts]) - apart(*after)


def affine_deficit(deficit: Array, a: Array | None, b: Array | None, *, weight: float, bias: float) -> Array | None:
    """Return √(a′b′) − k′ for k′ = weight·k + bias and the same for a, b.

    √((A+β)(B+β)) − √(AB) − β = β(√A − √B)²/(√((A+β)(B+β)) + √(AB) + β), without cancellation.
    """
    deficit = weight * deficit
    if not bias:
        return deficit
    if a is None or b is None:
        return None
    one, two = _root(weight * a), _root(weight * b)
    whole = jnp.sqrt((weight * a + bias) * (weight * b + bias))
    return deficit + bias * (one - two) ** 2 / (whole + one * two + bias)


def sign_deficit(deficit: Array, a: Array, b: Array) -> Array:
    """Return the deficit 2θ/π after a sign; its covariance is one less that."""
    return 2 / np.pi * angle_of_gap(deficit * inverse_root(a) * inverse_root(b))[0]


def rectified_deficit(deficit: Array, a: Array, b: Array, *, below: float, above: float) -> tuple[Array, Array, Array]:
    """Return E[φφ], E[φ′φ′] of a rectifier (`integrals.rectifier`) and the deficit after it."""
    one, two = inverse_root(a), inverse_root(b)
    gap, size = deficit * one * two, (a * one) * (b * two)
    angle, sine = angle_of_gap(gap)
    even, odd = (below**2 + above**2) / 2, (below - above) ** 2 / (2 * np.pi)
    slope, cosine = even - odd * angle, 1 - gap
    left_over = even * gap + odd * (angle * cosine - sine)
    return (odd * sine + slope * cosine) * size, slope, left_over * size
