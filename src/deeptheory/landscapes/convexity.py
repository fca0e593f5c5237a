"""Convexity and what may stand in for it: gaps of chords and tangents, and the constants of three relaxed notions.

Reference: arora 6.1 and 6.2; lucchi Defs. 17 and 18; handbook 4.1; Karimi, Nutini and Schmidt 2016 on what may stand in
for convexity.
"""

from collections.abc import Callable
from typing import Annotated, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from deeptheory.foundations.entrances import doors

__all__ = [
    "Chord",
    "LogCoshLoss",
    "QuarticCone",
    "Regularity",
    "chord_gap",
    "deepest_chord",
    "regularity_constants",
    "tangent_gap",
]

Function = Callable[[Float[Array, "d"]], Float[Array, ""]]


def chord_gap(
    function: Function, first: Float[Array, "d"], second: Float[Array, "d"], share: float | Float[Array, ""]
) -> Float[Array, ""]:
    """How far a chord lies above the function: αf(w) + (1−α)f(w') − f(αw + (1−α)w'), never negative if f is convex.

    `share` is α, the weight of the first point (arora eq. 6.1). Of a quadratic with Hessian Q it is
    ½α(1−α)(w−w')ᵀQ(w−w'). One negative value shows that a function is not convex; none shows that it is.
    """
    between = share * first + (1 - share) * second
    return share * function(first) + (1 - share) * function(second) - function(between)


class Chord(NamedTuple):
    """Two points, the share of the first in a point between, and how far the chord is above the function there."""

    first: Float[Array, "d"]
    second: Float[Array, "d"]
    share: Float[Array, ""]
    gap: Float[Array, ""]


def deepest_chord(function: Function, points: Float[Array, "k d"], *, shares: Annotated[int, "[1, 1000]"] = 9) -> Chord:
    """Return the chord between any two of the points that lies farthest below the function, at so many even shares.

    A gap below zero, beyond rounding, is a proof that the function is not convex: two points and one between. One that
    is not says nothing of chords that were not tried. The permutations of a network's neurons are good points: all have
    the same value, and the mean of two has not. Costs shares·k²/2 values.

    Reference: lucchi Def. 18, handbook 4.1.1.
    """
    one, other = jnp.triu_indices(len(points), 1)
    if not len(one):
        raise ValueError(f"points must be two or more, got {len(points)}")
    alphas = jnp.arange(1, shares + 1) / (shares + 1)
    along = jax.vmap(lambda w, v: jax.vmap(lambda a: chord_gap(function, w, v, a))(alphas))
    gaps = along(points[one], points[other])
    pair, share = jnp.unravel_index(jnp.argmin(gaps), gaps.shape)
    return Chord(points[one[pair]], points[other[pair]], alphas[share], gaps[pair, share])


def tangent_gap(function: Function, at: Float[Array, "d"], other: Float[Array, "d"]) -> Float[Array, ""]:
    """How far the function lies above a tangent: f(w') − f(w) − ⟨∇f(w), w'−w⟩, never negative if f is convex.

    `at` is w, where the tangent touches (arora eq. 6.2). Of a quadratic with Hessian Q it is ½(w'−w)ᵀQ(w'−w).
    """
    value, slope = jax.jvp(function, (at,), ((other - at).astype(at.dtype),))
    return function(other) - value - slope


class LogCoshLoss(eqx.Module):
    """Mean log cosh(x_i·w − y_i): convex, quadratic near a fit and linear far from it.

    With fewer samples than dimensions the minimizers, of value 0, are the affine space of all w that fit.
    """

    features: Float[Array, "n d"]
    labels: Float[Array, "n"]

    def __call__(self, w: Float[Array, "d"]) -> Float[Array, ""]:
        residual = self.features @ w - self.labels
        return jnp.mean(jnp.logaddexp(residual, -residual) - jnp.log(2.0))


class QuarticCone(eqx.Module):
    """w⁴ on [−1, 1] continued by its tangents 4|w| − 3, summed over coordinates: convex, 12-smooth, unique minimum 0.

    Weakly quasi-convex with constant 1, and ‖∇f‖² ≤ 16f; yet gradient descent is not geometric: f(w_t) ~ 1/(8ηt)².
    """

    @property
    def smoothness(self) -> float:
        return 12.0

    def __call__(self, w: Float[Array, "d"]) -> Float[Array, ""]:
        inner = jnp.clip(w, -1.0, 1.0)
        return jnp.sum(inner**4 + 4 * (jnp.abs(w) - jnp.abs(inner)))


class Regularity(NamedTuple):
    """The largest constants with which a function is regular at the points tried; not positive: it is not.

    polyak_lojasiewicz: ‖∇f‖² ≥ μ(f − f*), without the factor 2 that others put before μ. weak_quasi_convexity:
    ⟨∇f, w − w*⟩ ≥ μ(f − f*). restricted_secant: ⟨∇f, w − w*⟩ ≥ μ‖w − w*‖².
    """

    polyak_lojasiewicz: Float[Array, ""]
    weak_quasi_convexity: Float[Array, ""]
    restricted_secant: Float[Array, ""]


def regularity_constants(function: Function, points: Float[Array, "k d"], minimizer: Float[Array, "d"]) -> Regularity:
    """The largest μ for which the inequalities of `Regularity` hold at all points (arora Def. 6.2.1).

    Estimates from above of the constants of f: more points can only lower them. Points of value f* are skipped.
    """
    return _regularity(function, points, minimizer)


@eqx.filter_jit
def _regularity(function: Function, points: Float[Array, "k d"], minimizer: Float[Array, "d"]) -> Regularity:
    least = function(minimizer)

    def ratios(point: Float[Array, "d"]) -> Regularity:
        value, gradient = jax.value_and_grad(function)(point)
        away = point - minimizer
        gap, distance, along = value - least, away @ away, gradient @ away
        known = gap > 0
        gap, distance = jnp.where(known, gap, 1.0), jnp.where(known, distance, 1.0)
        found = gradient @ gradient / gap, along / gap, along / distance
        return Regularity(*(jnp.where(known, ratio, jnp.inf) for ratio in found))

    return Regularity(*(ratio.min() for ratio in jax.vmap(ratios)(points)))


doors(__name__, share="[0, 1]")
