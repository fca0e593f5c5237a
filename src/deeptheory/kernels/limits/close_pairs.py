"""Nearly parallel inputs in single precision: the gap of a covariance to its largest value, carried on its own.

An angle θ enters a kernel with a kink through √(1 − cos²θ). Where inputs are nearly parallel, cos θ rounded to seven
digits leaves three of θ. So the deficit √(ab) − k, for variances a, b and covariance k, is computed from differences of
the inputs and followed through the layers beside the covariance, as a sum of positive terms, never as a difference of
rounded numbers. Of nearly opposite inputs it is the surplus √(ab) + k that is small; it is followed to the first layer
that turns them. Layers that do not know the deficit drop it.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from deeptheory.kernels.layers.layer import Scalar, known
from deeptheory.kernels.limits.arcs import angle_of_gap, inverse_root, root
from deeptheory.kernels.limits.block import Block, coincident, left_of, right_of

__all__ = [
    "affine_deficit",
    "affine_gaps",
    "affine_surplus",
    "input_deficit",
    "input_gaps",
    "is_equal",
    "jump_deficit",
    "least_gap",
    "mixing_gap",
    "product_gap",
    "rectified_deficit",
    "smooth_deficit",
    "subtracted_deficit",
]

CLOSE = 5e-3
"""Gap 1 − cos θ below which differences are taken: above it rounding, 1e-7 of k, moves θ by 1e-6, ab − k² by 1e-5."""

ALIKE = 1e-4
"""The same for positions of images, which are often alike: above it rounding moves θ by 1e-5."""

NEAR = 1e-3
"""Where the deficit after a smooth activation is expanded: the next term is as small against it, and θ 0.04 at most."""


def _cosines(left: Float[Array, "n d"], right: Float[Array, "m d"], covariance: Float[Array, "n m"]) -> Array:
    one, two = (inverse_root(jnp.mean(x * x, -1)) for x in (left, right))
    return covariance * one[:, None] * two


def least_gap(block: Block, left: Array, right: Array) -> Array:
    """Return the smallest 1 − |cos θ| of a block with these variances, not counting a variable with itself."""
    cosine = jnp.abs(block.covariance) * left_of(block, inverse_root(left)) * right_of(block, inverse_root(right))
    same = coincident(block)
    return 1 - jnp.max(cosine if same is None else jnp.where(same, 0, cosine))


def _unit_gap(square: Array) -> Array:
    """Return 1 − cos θ from |u − v|² of unit vectors, and 0 where rounding alone keeps these apart.

    Compiled, equal vectors may differ in their last digits, by some ε; two jumps would make √ε of that.
    """
    alike = square <= (4 * jnp.finfo(square.dtype).eps) ** 2
    return (square - lax.stop_gradient(jnp.where(alike, square, 0))) / 2


@jax.custom_jvp
def _refined(left: Float[Array, "n d"], right: Float[Array, "m d"], gap: Float[Array, "n m"], close: Array) -> Array:
    """Replace small gaps by ½|u − v|² of the unit vectors, 0 for equal inputs; rows without such gaps cost nothing."""
    scale = left.shape[-1] ** -0.5
    units = [scale * x * inverse_root(jnp.mean(x * x, -1))[:, None] for x in (left, right)]

    def row(item: tuple[Array, Array, Array, Array]) -> Array:
        whole, unit, own, near = item

        def fine() -> Array:
            apart = jnp.where((right == whole).all(-1), 0, _unit_gap(jnp.sum((units[1] - unit) ** 2, -1)))
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


def input_gaps(block: Block, left: Float[Array, "*l c"], right: Float[Array, "*r c"]) -> dict[str, Array]:
    """Return deficit and surplus of the positions of raw inputs, (positions…, inputs, channels)."""
    one, two = (jnp.moveaxis(x, -1, 0) * x.shape[-1] ** -0.5 for x in (left, right))
    return {"deficit": product_gap(block, one, two), "surplus": product_gap(block, one, -two)}


def product_gap(block: Block, left: Float[Array, "c *l"], right: Float[Array, "c *r"]) -> Array:
    """Return |x||y| − ⟨x, y⟩ ≥ 0, as |x||y|·½|x/|x| − y/|y||², of vectors at both ends, (c, positions…, inputs)."""

    def plain(left: Array, right: Array) -> Array:
        sizes = [root(jnp.sum(x * x, 0)) for x in (left, right)]
        one, two = (x / jnp.where(size > 0, size, 1) for x, size in zip((left, right), sizes, strict=True))
        whole = left_of(block, sizes[0]) * right_of(block, sizes[1])
        return _unit_gap(_summed(block, one, two, lambda x, y: (x - y) ** 2)) * whole

    gap = jax.custom_jvp(plain)

    @gap.defjvp
    def _derivative(primals, tangents):
        value, change = jax.jvp(plain, primals, tangents)
        # A vector that vanishes has no direction, and the derivative of its product with another is not in that.
        fresh = [jnp.where(jnp.any(x != 0, 0), 0, turn) for x, turn in zip(primals, tangents, strict=True)]
        lost = [_summed(block, *ends, lambda x, y: x * y) for ends in ((fresh[0], primals[1]), (primals[0], fresh[1]))]
        return value, change - lost[0] - lost[1]

    return gap(left, right)


def _summed(block: Block, left: Array, right: Array, term: Callable[[Array, Array], Array]) -> Array:
    """Return the sum over the first axis of a function of both ends."""

    def add(total: Array, ends: tuple[Array, Array]) -> tuple[Array, None]:
        return total + term(left_of(block, ends[0]), right_of(block, ends[1])), None

    start = jnp.zeros_like(left_of(block, left[0]) * right_of(block, right[0]))
    return lax.scan(add, start, (left, right), unroll=min(len(left), 9))[0]


def mixing_gap(block: Block, left: Float[Array, "c *l"], right: Float[Array, "c *r"]) -> Array:
    """Return √(Σa Σb) − Σ√(ab), for variances (parts, positions…, inputs) of what is added.

    The sum of all √(ab) ∓ k lacks this of √(Σa Σb) ∓ Σk.
    """
    return product_gap(block, root(left), root(right))


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


def affine_gaps(
    gaps: dict[str, Array | None], a: Array | None, b: Array | None, *, weight: Scalar, bias: Scalar
) -> Any:
    """Return deficit and surplus, as far as they are known, after k ← weight·k + bias."""
    rules = {"deficit": affine_deficit, "surplus": affine_surplus}
    return {n: None if gap is None else rules[n](gap, a, b, weight=weight, bias=bias) for n, gap in gaps.items()}


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


def smooth_deficit(subtracted: Array, deficit: Array, a: Array, b: Array, slope: Array, bend: Array) -> Array:
    """Return the deficit after a smooth activation: as subtracted, except where both are nearly one variable.

    Along parallel variables of standard deviations e^p, e^q it is bend·(p − q)²/2; from there to the covariance k it
    grows by the integral of the slope (Price).
    """
    one, two = root(a), root(b)
    apart = 2 * (one - two) / jnp.where(one + two > 0, one + two, 1)
    near = deficit * inverse_root(a) * inverse_root(b) + apart**2 / 2 < NEAR
    return jnp.where(near, slope * deficit + bend * apart**2 / 2, subtracted)


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
