"""Karush, Kuhn and Tucker: how far a point is from satisfying the conditions of a constrained minimum."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from deeptheory.foundations.entrances import doors

__all__ = ["KKTResiduals", "kkt_residuals"]


class KKTResiduals(NamedTuple):
    """By how much each condition is violated; all are zero at a KKT point."""

    stationarity: Float[Array, ""]  # |∇f + Σ λᵢ∇gᵢ + Σ μⱼ∇hⱼ|
    primal: Float[Array, ""]  # largest gᵢ above 0
    dual: Float[Array, ""]  # largest −λᵢ above 0
    slackness: Float[Array, ""]  # largest |λᵢ gᵢ|
    equality: Float[Array, ""]  # largest |hⱼ|


def kkt_residuals(
    objective: Callable[[Any], Any],
    point: Float[Array, " d"],
    multipliers: Float[Array, " m"],
    *,
    inequalities: Callable[[Any], Any],
    equalities: Callable[[Any], Any] | None = None,
    equality_multipliers: Float[Array, " p"] | None = None,
) -> KKTResiduals:
    """Measure the KKT conditions of min f(x) subject to g(x) ≤ 0 and h(x) = 0 at a point with multipliers λ and μ.

    `inequalities` maps x to the vector g(x), `equalities` to h(x); derivatives are automatic. Under a constraint
    qualification the conditions are necessary for a minimum; they suffice only if f and g are convex and h affine.
    Traceable and batched by `vmap`. Reference: lucchi 11.1.2.
    """
    if (equalities is None) != (equality_multipliers is None):
        raise ValueError("equalities and equality_multipliers come together: one is given and the other is not")
    point = jnp.asarray(point)
    bounds, pull = jax.vjp(inequalities, point)
    if bounds.shape != multipliers.shape:
        raise ValueError(f"multipliers must have the shape {bounds.shape} of the inequalities, got {multipliers.shape}")
    force = jax.grad(objective)(point) + pull(jnp.asarray(multipliers, bounds.dtype))[0]
    equality = jnp.zeros((), point.dtype)
    if equalities is not None and equality_multipliers is not None:
        exact, pull = jax.vjp(equalities, point)
        force = force + pull(jnp.asarray(equality_multipliers, exact.dtype))[0]
        equality = jnp.abs(exact).max()
    return KKTResiduals(
        stationarity=jnp.linalg.norm(force),
        primal=jnp.maximum(bounds.max(), 0.0),
        dual=jnp.maximum(-jnp.min(multipliers), 0.0),
        slackness=jnp.abs(multipliers * bounds).max(),
        equality=equality,
    )


doors(__name__)
