"""Dropout as it is run: a fresh mask at every step of gradient descent, and weights kept within a norm."""

from collections.abc import Callable
from typing import Annotated, Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from deeptheory.foundations.arrays import AnyArray, Scalar
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import numeric
from deeptheory.regularization.masks import draw_masks

__all__ = ["dropout_descent", "max_norm_projection"]


def max_norm_projection(weights: Float[AnyArray, "units inputs"], square: Scalar) -> Float[Array, "units _"]:
    """Project every row, the weights into one unit, to the nearest point of the ball of squared norm at most γ.

    Rows inside stay; the others are scaled to the sphere. arora, remarks on Thm 11.1.2. `square` is γ. Reference:
    Srivastava et al. 2014.
    """
    norms = jnp.sum(jnp.asarray(weights) ** 2, axis=1, keepdims=True)
    return jnp.asarray(weights * jnp.sqrt(square / jnp.maximum(norms, square)))


def dropout_descent(
    key: Key[Array, ""],
    loss: Callable[[Any, Float[Array, " width"]], Float[Array, ""]],
    start: Any,
    *,
    width: Annotated[int, "[1, 1e6]"],
    rate: Scalar,
    step: Scalar,
    steps: Annotated[int, "[1, 1e7]"],
    after: Callable[[Any], Any] = lambda weights: weights,
) -> tuple[Any, Float[Array, "{steps}"]]:
    """Run gradient descent on loss(weights, mask) with a fresh mask of `width` entries at each step.

    `start` is any tree of arrays, `after` what is done to the weights after each step, such as a projection. Returns
    the last weights and the loss seen at each step. The mean step is that of gradient descent on the loss averaged over
    all masks, so this is stochastic gradient descent on the dropout objective. arora eq. 11.2 and 11.8.
    """
    numeric(start=start)
    masks = draw_masks(key, steps, width, rate)

    def body(weights: Any, mask: Float[Array, " width"]) -> tuple[Any, Float[Array, ""]]:
        value, gradient = jax.value_and_grad(loss)(weights, mask)
        return after(jax.tree.map(lambda w, g: w - step * g, weights, gradient)), value

    return jax.lax.scan(body, jax.tree.map(jnp.asarray, start), masks)


doors(__name__, square="(0, ∞)", step="(0, ∞)")
