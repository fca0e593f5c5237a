"""Defences that hide the gradient, and the attacks that go round them.

A transformation before or after the network that has no useful slope (rounding, saturation, chance) stops attacks that
follow the gradient, and no other: the adversary puts the slope of a smooth stand-in, of the margin, or of an average in
its place. Reference: arora 18.1.3; Athalye, Carlini and Wagner 2018.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import inside
from deeptheory.robustness.threats import Threat

__all__ = ["expected_slopes", "quantise", "quantised_margin", "straight_through"]

Points = Float[AnyArray, "n d"]


def quantise(points: Points, levels: int) -> Float[Array, "n d"]:
    """Round every coordinate to the nearest of 0, 1/(levels − 1), …, 1; the slope is zero almost everywhere."""
    inside(2, np.inf, levels=levels)
    return jnp.round(jnp.asarray(points) * (levels - 1)) / (levels - 1)


def straight_through(transform: Callable[[Points], Points]) -> Callable[[Points], Float[Array, "n d"]]:
    """Return a function with the values of a transformation and the slope of the identity.

    For transformations that stay near their input: what follows is differentiated at the transformed point, and the
    transformation itself is passed as if it were not there (backward pass differentiable approximation).
    """
    return lambda points: jnp.asarray(points) + jax.lax.stop_gradient(transform(points) - points)


def quantised_margin(
    weights: Float[np.ndarray, " d"],
    bias: float,
    points: Float[np.ndarray, "n d"],
    signs: Float[np.ndarray, " n"],
    threat: Threat,
    levels: int,
) -> Float[np.ndarray, " n"]:
    """Return the exact least y(⟨w, quantise(x + δ)⟩ + b) over ‖δ‖∞ ≤ ε with x + δ in the box.

    Rounding is monotone, so each coordinate reaches all levels between those of its two ends and the worst is at one of
    the ends: the sum is minimised coordinate by coordinate.
    """
    if threat.order != np.inf:
        raise ValueError(f"coordinates are independent in the maximum norm only, got order {threat.order}")
    low, high = (
        np.asarray(quantise(np.clip(points + side * float(threat.radius), threat.low, threat.high), levels))
        for side in (-1, 1)
    )
    pull = signs[:, None] * weights
    return np.sum(np.minimum(pull * low, pull * high), axis=1) + signs * bias


def expected_slopes(
    objective: Callable[[Points, Float[Array, "..."]], Float[Array, " n"]],
    draws: Float[AnyArray, "draws ..."],
) -> Callable[[Points], Float[Array, "n d"]]:
    """Return the slopes of the mean of objective(x, draw) over the given draws of a random transformation.

    For defences that act at random: one draw's slope points where that draw was weak, the mean's where all are
    (expectation over transformation). Use more draws than a coordinate's slope takes to show.
    """
    draws = jnp.asarray(draws)

    def mean(points):
        return jnp.sum(jnp.mean(jax.vmap(lambda draw: objective(points, draw))(draws), axis=0))

    return lambda points: jax.grad(mean)(jnp.asarray(points))


doors(__name__, levels="[2, 1e6]", signs="[-1, 1]")
