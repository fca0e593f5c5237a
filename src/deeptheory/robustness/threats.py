"""Threat models: which perturbations an adversary may add, and the nearest allowed one, exactly.

An allowed perturbation has ‖δ‖_p ≤ ε with p one of 1, 2, ∞; where inputs live in a box (pixels in [0, 1]) the perturbed
input must lie in it too. Reference: arora 18.1, lucchi eq. 12.2.

`order` is p, and `threat` holds it with the radius ε and the box.
"""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import inside
from deeptheory.foundations.randomness import generator

__all__ = ["Threat", "dual_order", "length", "nearest_allowed", "random_allowed", "steepest"]

Points = Float[AnyArray, "*batch d"]
Scalar = float | Float[AnyArray, ""]


class Threat(eqx.Module):
    """Perturbations δ with ‖δ‖_p ≤ radius that keep every coordinate of the input between `low` and `high`.

    `order` is p: 1, 2 or ∞. Radius and box are leaves, so that a function compiled for one radius serves all.
    """

    radius: Scalar
    order: float = eqx.field(static=True, default=np.inf)
    low: Scalar = -np.inf
    high: Scalar = np.inf

    def like(self, points: Points) -> "Threat":
        """Return the threat with arrays in the precision of the points, so that radii share a compiled program."""
        kind = jnp.asarray(points).dtype
        radius, low, high = (jnp.asarray(each, kind) for each in (self.radius, self.low, self.high))
        return Threat(radius, self.order, low, high)

    def __check_init__(self):
        if self.order not in (1, 2, np.inf):
            raise ValueError(f"order must be 1, 2 or infinity, got {self.order}")
        inside(0, np.inf, "[)", radius=self.radius)
        if isinstance(self.low, float | int) and isinstance(self.high, float | int) and not self.low < self.high:
            raise ValueError(f"low must be less than high, got {self.low} and {self.high}")


def dual_order(order: float) -> float:
    """Return q with 1/p + 1/q = 1: the largest ⟨w, δ⟩ over ‖δ‖_p ≤ ε is ε‖w‖_q."""
    return 1.0 if order == np.inf else np.inf if order == 1 else order / (order - 1)


def length(perturbations: Points, order: float) -> Float[Array, "*batch"]:
    """Return ‖δ‖_p along the last axis."""
    return jnp.linalg.norm(jnp.asarray(perturbations), ord=order, axis=-1)


def steepest(slopes: Points, order: float) -> Float[Array, "*batch d"]:
    """Return the δ with ‖δ‖_p = 1 that has the largest product with each slope; 0 where the slope is 0.

    The signs for p = ∞, the unit vector for p = 2, one signed coordinate for p = 1 (the first of equal ones). A step in
    this direction is steepest ascent in the norm of the threat. Reference: arora 18.1.1 (footnote on sign gradients).
    """
    slopes = jnp.asarray(slopes)
    if order == np.inf:
        return jnp.sign(slopes)
    if order == 2:
        size = length(slopes, 2.0)[..., None]
        return slopes / jnp.where(size > 0, size, 1)
    if order == 1:
        first = jnp.argmax(jnp.abs(slopes), axis=-1, keepdims=True)
        return jnp.where(jnp.arange(slopes.shape[-1]) == first, jnp.sign(slopes), 0)
    raise ValueError(f"order must be 1, 2 or infinity, got {order}")


def nearest_allowed(points: Points, centers: Points, threat: Threat) -> Float[Array, "*batch d"]:
    """Project onto ball ∩ box around each center: the point there that is nearest to each point in Euclidean distance.

    With v = x − c and the room uᵢ = min(|vᵢ|, distance from cᵢ to the wall on the side of vᵢ) the answer is
    c + sign(v)·m: for p = ∞ mᵢ = min(uᵢ, ε); for p = 2 mᵢ = min(uᵢ, t|vᵢ|), the scale t in [0, 1] chosen so that
    ‖m‖₂ = ε; for p = 1 mᵢ = min(uᵢ, (|vᵢ| − τ)₊), the threshold chosen so that Σmᵢ = ε. A point that is allowed stays
    where it is. Scale and threshold come from one sort, exactly. Clipping to the box after projecting on the ball is
    not the same for p = 1 and 2. The centers must lie in the box. Reference: arora 18.1.1 and Problem 18.1.1.
    """
    inside(threat.low, threat.high, centers=centers)
    return _nearest(points, centers, threat.like(centers))


@eqx.filter_jit
def _nearest(points: Points, centers: Points, threat: Threat) -> Array:
    points, centers = jnp.asarray(points), jnp.asarray(centers)
    if threat.order == np.inf:
        # Clipping the point itself leaves no rounding of x − c behind.
        low, high = (
            jnp.maximum(threat.low, centers - threat.radius),
            jnp.minimum(threat.high, centers + threat.radius),
        )
        return jnp.clip(points, low, high)
    moves = points - centers
    sizes = jnp.abs(moves)
    room = jnp.minimum(sizes, jnp.where(moves > 0, threat.high - centers, centers - threat.low))
    kept = _scaled(sizes, room, threat.radius) if threat.order == 2 else _thresholded(sizes, room, threat.radius)
    return jnp.clip(centers + jnp.sign(moves) * kept, threat.low, threat.high)


def _scaled(sizes: Array, room: Array, radius: Scalar) -> Array:
    """min(room, t·sizes) with t such that the squares add up to radius²."""
    scales = jnp.where(sizes > 0, room / jnp.where(sizes > 0, sizes, 1), 1)  # where each coordinate meets its wall
    order = jnp.argsort(scales, axis=-1)
    scales, walls, rest = (jnp.take_along_axis(a, order, -1) for a in (scales, room**2, sizes**2))
    after = jnp.flip(jnp.cumsum(jnp.flip(rest, -1), -1), -1)  # of the coordinates that are not met before this one
    before = jnp.cumsum(walls, -1) - walls
    square = before + scales**2 * after  # the squared length at the moment this coordinate meets its wall
    met = jnp.minimum(jnp.sum(square <= radius**2, -1, keepdims=True), sizes.shape[-1] - 1)
    left, free = jnp.take_along_axis(before, met, -1), jnp.take_along_axis(after, met, -1)
    t = jnp.sqrt(jnp.maximum(radius**2 - left, 0) / jnp.where(free > 0, free, 1))
    return jnp.minimum(room, jnp.where(free > 0, jnp.minimum(t, 1), 1) * sizes)


def _thresholded(sizes: Array, room: Array, radius: Scalar) -> Array:
    """min(room, (sizes − τ)₊) with τ ≥ 0 such that they add up to radius; τ = 0 if they do not reach it."""
    total = jnp.sum(room, -1, keepdims=True)
    # As τ grows a coordinate begins to shrink at sizes − room and is gone at sizes: the sum is linear in between.
    knots = jnp.concatenate([sizes - room, sizes], -1)
    order = jnp.argsort(knots, axis=-1)
    signs = jnp.where(order < sizes.shape[-1], 1.0, -1.0)
    knots = jnp.take_along_axis(knots, order, -1)
    active = jnp.cumsum(signs, -1)
    sums = total - (knots * active - jnp.cumsum(signs * knots, -1))
    last = jnp.maximum(jnp.sum(sums >= radius, -1, keepdims=True) - 1, 0)
    knot, value, slope = (jnp.take_along_axis(a, last, -1) for a in (knots, sums, active))
    threshold = jnp.where(total > radius, knot + jnp.maximum(value - radius, 0) / jnp.maximum(slope, 1), 0)
    return jnp.minimum(room, jnp.maximum(sizes - threshold, 0))


def random_allowed(key: Key[Array, ""], centers: Points, threat: Threat) -> Float[Array, "*batch d"]:
    """Return a perturbed copy of each center, uniform in the ball, then moved to the nearest point of ball ∩ box.

    With g of density exp(−|t|^p) and z exponential, g/(Σ|gᵢ|^p + z)^{1/p} is uniform in the ball (Barthe, Guédon,
    Mendelson and Naor 2005).
    """
    rng, shape = generator(key), np.shape(centers)
    if threat.order == np.inf:
        draws = rng.uniform(-1, 1, shape)
    else:
        draws = rng.standard_normal(shape) / np.sqrt(2) if threat.order == 2 else rng.laplace(size=shape)
        powers = np.sum(np.abs(draws) ** threat.order, -1, keepdims=True) + rng.exponential(size=(*shape[:-1], 1))
        draws = draws / powers ** (1 / threat.order)
    centers = jnp.asarray(centers)
    return nearest_allowed(centers + threat.radius * jnp.asarray(draws, centers.dtype), centers, threat)


doors(__name__, order="[1, ∞]", infinite=("order", "low", "high"))
