"""Residual layers: the identity, or a projection, plus what is learned; and why gradients survive their depth.

Reference: lucchi Sec. 10.2; He, Zhang, Ren and Sun 2016.
"""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors

__all__ = ["Residual", "deep_stack", "singular_value_bounds", "stack_jacobian"]

Map = Callable[[Float[Array, "..."]], Float[Array, "..."]]


class Residual(eqx.Module):
    """g(x) = x + f(x), or W x + f(x) with a `projection` where the dimensions differ; J_g = I + J_f, or W + J_f.

    Where f is about zero the layer is about its shortcut, and so is its gradient. Reference: lucchi Sec. 10.2.
    """

    branch: Map
    projection: Float[AnyArray, "out d"] | None = None

    def __call__(self, x: Float[AnyArray, "*n d"]) -> Float[Array, "*n out"]:
        x = jnp.asarray(x)
        added = self.branch(x)
        kept = x if self.projection is None else x @ jnp.asarray(self.projection).T
        if added.shape != kept.shape:
            raise ValueError(
                f"the branch must return the shape {kept.shape} of the shortcut, got {added.shape}; "
                "a projection can match dimensions that differ"
            )
        return kept + added


def deep_stack(
    weights: Float[Array, "depth h h"],
    x: Float[AnyArray, "*n h"],
    *,
    skip: float | Float[AnyArray, ""] = 1.0,
    activation: Map = jnp.tanh,
) -> Float[Array, "*n h"]:
    """The layers x ← skip·x + φ(W x), one after the other, compiled once for any depth.

    `skip` 1 is a residual network, 0 a plain one with the same weights. Reference: lucchi Sec. 10.2.
    """

    def layer(hidden: Array, w: Array) -> tuple[Array, None]:
        return jnp.asarray(skip) * hidden + activation(hidden @ w.T), None

    return jax.lax.scan(layer, jnp.asarray(x, jnp.result_type(x, weights)), weights)[0]


def stack_jacobian(
    weights: Float[Array, "depth h h"],
    x: Float[AnyArray, " h"],
    *,
    skip: float | Float[AnyArray, ""] = 1.0,
    activation: Map = jnp.tanh,
) -> Float[Array, "h h"]:
    """The derivative of `deep_stack` at one input: the product of skip·I + φ′(W x) W over the layers."""
    return jax.jacfwd(lambda start: deep_stack(weights, start, skip=skip, activation=activation))(jnp.asarray(x))


def singular_value_bounds(
    slopes: Float[AnyArray, "*n depth"],
) -> tuple[Float[Array, "*n"], Float[Array, "*n"]]:
    """Between which the singular values of a residual stack lie if ‖J_f‖ ≤ ε_l in layer l: ∏(1 − ε_l), ∏(1 + ε_l).

    With all ε equal these are (1 − ε)^L and (1 + ε)^L. The lower one says nothing (0) once some ε reaches 1. Both are
    attained by linear branches −ε I and ε I. For a plain stack of such layers the upper one would be ∏ε_l.
    """
    slopes = jnp.asarray(slopes)
    return jnp.prod(jnp.maximum(1 - slopes, 0), -1), jnp.prod(1 + slopes, -1)


doors(__name__, slopes="[0, ∞)")
