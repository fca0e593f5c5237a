"""Nearly parallel inputs in single precision: the gap of a covariance to its largest value, carried on its own.

An angle θ enters a kernel with a kink through √(1 − cos²θ). Where inputs are nearly parallel, cos θ rounded to seven
digits leaves three of θ. So the deficit √(ab) − k, for variances a, b and covariance k, is computed from differences of
the inputs and followed through the layers beside the covariance, never as a difference of rounded numbers. Where a
layer mixes positions or branches it is the squared distance a + b − 2k that is linear; there lengths that differ cost
digits, inputs that are nearly the same none. A deficit that rounding leaves below zero stays so, for its derivative's
sake, and counts as zero where an angle is taken. Of nearly opposite inputs it is the surplus √(ab) + k that is small;
it is followed to the first layer that turns them. Layers that do not know the deficit drop it.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from deeptheory.kernels.layers.layer import Scalar, known
from deeptheory.kernels.limits.arcs import angle_of_gap, inverse_root, root

__all__ = [
    "affine_deficit",
    "affine_surplus",
    "as_vectors",
    "image_deficit",
    "input_deficit",
    "is_equal",
    "jump_deficit",
    "least_gap",
    "mixed_deficit",
    "rectified_deficit",
    "subtracted_deficit",
]

CLOSE = 5e-3
"""Gap 1 − cos θ below which differences are taken: above it rounding, 1e-7 of k, moves θ by 1e-6, ab − k² by 1e-5."""


def _cosines(left: Float[Array, "n d"], right: Float[Array, "m d"], covariance: Float[Array, "n m"]) -> Array:
    one, two = (inverse_root(jnp.mean(x * x, -1)) for x in (left, right))
    return covariance * one[:, None] * two


def least_gap(
    left: Float[Array, "n d"], right: Float[Array, "m d"], covariance: Float[Array, "n m"], same: Array | None
) -> Array:
    """Return the smallest 1 − |cos θ| of two raw inputs, not counting one with itself."""
    cosine = jnp.abs(_cosines(left, right, covariance))
    return 1 - jnp.max(cosine if same is None else jnp.where(same, 0, cosine))


@jax.custom_jvp
def _refined(left: Float[Array, "n d"], right: Float[Array, "m d"], gap: Float[Array, "n m"], close: Array) -> Array:
    """Replace small gaps by ½|u − v|² of the unit vectors, 0 for equal inputs; rows without such gaps cost nothing."""
    scale = left.shape[-1] ** -0.5
    units = [scale * x * inverse_root(jnp.mean(x * x, -1))[:, None] for x in (left, right)]

    def row(item: tuple[Array, Array, Array, Array]) -> Array:
        whole, unit, own, near = item

        def fine() -> Array:
            apart = jnp.where((right == whole).all(-1), 0, jnp.sum((units[1] - unit) ** 2, -1) / 2)
            return jnp.where(near, apart, own)

        return lax.cond(near.any(), fine, lambda: own)

    return lax.cond(close.any(), lambda: lax.map(row, (left, units[0], gap, close)), lambda: gap)


@_refined.defjvp
def _refined_derivative(primals, tangents):
    return _refined(*primals), tangents[2]  # the same function of the inputs, only better rounded


def input_deficit(
    left: Float[Array, "n d"], right: Float[Array, "m d"], covariance: Float[Array, "n m"], same: Array | None
) -> tuple[Float[Array, "n m"], Float[Array, "n m"]]:
    """Return √(ab) ∓ k of raw inputs, taken from their differences and sums where too small for a subtraction.

    An input with itself has the deficit 0, exactly.
    """
    cosine = _cosines(left, right, covariance)
    gap, rest = 1 - cosine, 1 + cosine
    close = gap < CLOSE
    if same is not None:
        gap, close = jnp.where(same, 0, gap), close & ~same
    gap = _refined(left, right, gap, close)
    rest = _refined(left, -right, rest, rest < CLOSE)
    size = root(jnp.mean(left * left, -1))[:, None] * root(jnp.mean(right * right, -1))
    return gap * size, rest * size


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
    lengths = [root(jnp.sum(x * x, -1)) for x in (left, right)]
    gap = distance - (lengths[0][..., :, None] - lengths[1][..., None, :]) ** 2
    return gap / (2 * left.shape[-1])


Ends = tuple[Array, Array]


def mixed_deficit(parts: list[tuple[Array, Ends]], after: Ends, mix: Callable[[list[Array]], Array]) -> Array:
    """Return the deficit after a linear map of covariances, from parts (deficit, variances) and the variances after it.

    ½(a + b − 2k) = √(ab) − k + ½(√a − √b)² is mapped as covariances are; the last term is then taken off again.
    """

    def apart(a: Array, b: Array) -> Array:
        return (root(a) - root(b)) ** 2 / 2

    return mix([deficit + apart(*ends) for deficit, ends in parts]) - apart(*after)


def affine_deficit(deficit: Array, a: Array | None, b: Array | None, *, weight: Scalar, bias: Scalar) -> Array | None:
    """Return √(a′b′) − k′ for k′ = weight·k + bias and the same for a, b.

    √((A+β)(B+β)) − √(AB) − β = β(√A − √B)²/(√((A+β)(B+β)) + √(AB) + β), without cancellation.
    """
    deficit = weight * deficit
    if known(bias, 0):
        return deficit
    if a is None or b is None:
        return None
    one, two = root(weight * a), root(weight * b)
    whole = root(weight * a + bias) * root(weight * b + bias)
    return deficit + bias * (one - two) ** 2 / (whole + one * two + bias)


def affine_surplus(surplus: Array, a: Array | None, b: Array | None, *, weight: Scalar, bias: Scalar) -> Array | None:
    """Return √(a′b′) + k′ for k′ = weight·k + bias and the same for a, b, a sum of positive terms."""
    if known(bias, 0):
        return weight * surplus
    if a is None or b is None:
        return None
    left, right = weight * a, weight * b
    whole = root(left + bias) * root(right + bias)
    return weight * surplus + bias + bias * (left + right + bias) / (whole + root(left) * root(right))


def _turned(deficit: Array, surplus: Array | None, a: Array, b: Array) -> tuple[Array, Array]:
    """Return min(1 − cos θ, 1 + cos θ), and where it is the second: where the angle is obtuse."""
    scale = inverse_root(a) * inverse_root(b)
    gap = deficit * scale
    obtuse = gap > 1
    return jnp.where(obtuse, 2 - gap if surplus is None else surplus * scale, gap), obtuse


def is_equal(deficit: Array, a: Array, b: Array) -> Array:
    """Say where both are one variable up to rounding: (√a − √b)² and the deficit are of the order of its square."""
    return deficit + (root(a) - root(b)) ** 2 / 2 <= (8 * jnp.finfo(deficit.dtype).eps) ** 2 * a


def subtracted_deficit(k: Array, a: Array, b: Array, *, equal: Array) -> Array:
    """Return √(ab) − k as it is, 0 between equal inputs: no worse than not knowing it."""
    return jnp.where(equal, 0, root(a) * root(b) - k)


def jump_deficit(deficit: Array, surplus: Array | None, a: Array, b: Array, *, height: int) -> tuple[Array, Array]:
    """Return the deficit and surplus of a sign (height 2) or a step (1): (h²/2π)θ and h²/2 less that, for a, b > 0."""
    near, obtuse = _turned(deficit, surplus, a, b)
    acute, _ = angle_of_gap(near)
    scale = height**2 / (2 * np.pi)
    angles = jnp.where(obtuse, np.pi - acute, acute), jnp.where(obtuse, acute, np.pi - acute)
    return scale * angles[0], scale * angles[1]


def rectified_deficit(
    deficit: Array, surplus: Array | None, a: Array, b: Array, *, below: Scalar, above: Scalar
) -> tuple[Array, Array, Array]:
    """Return E[φφ], E[φ′φ′] of a rectifier (`integrals.rectifier`) and the deficit after it.

    Of an obtuse angle, through its supplement η: (below + above)²/2 − below·above(1 − cos η) + c(η cos η − sin η).
    """
    near, obtuse = _turned(deficit, surplus, a, b)
    acute, sine = angle_of_gap(near)
    even, odd = (below**2 + above**2) / 2, (below - above) ** 2 / (2 * np.pi)
    slope = even - odd * jnp.where(obtuse, np.pi - acute, acute)
    cosine = 1 - near
    left_over = jnp.where(obtuse, (below + above) ** 2 / 2 - below * above * near, even * near)
    left_over = left_over + odd * (acute * cosine - sine)
    size = root(a) * root(b)
    return (odd * sine + slope * jnp.where(obtuse, -cosine, cosine)) * size, slope, left_over * size
