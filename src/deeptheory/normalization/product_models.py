"""Logistic regression in one dimension whose weight is a product of k factors, and the rates at which it explodes.

`margins` are the mᵢ = xᵢyᵢ, `factors` w₁, …, w_k along the last axis, `rate` η.

Reference: arora 13.1 and Problem 13.1.1.
"""

from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from deeptheory.foundations.arrays import AnyArray, Reals
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.margin_losses import logistic_derivative, logistic_loss

__all__ = [
    "explosion_rate",
    "logistic_minimizer",
    "loss_of_weight",
    "product_descent",
    "product_loss",
    "slope_by_weight",
]


def loss_of_weight(weight: Reals, margins: Float[AnyArray, " n"]) -> Float[Array, "..."]:
    """The loss Σᵢ log(1 + e^(−W mᵢ)) of the weight W; `margins` are the products mᵢ = xᵢyᵢ (arora Sec. 13.1)."""
    return jnp.sum(logistic_loss(jnp.asarray(weight)[..., None] * margins), -1)


def slope_by_weight(weight: Reals, margins: Float[AnyArray, " n"]) -> Float[Array, "..."]:
    """The derivative −Σᵢ mᵢ / (1 + e^(W mᵢ)) of the loss; it increases with the weight."""
    return jnp.sum(margins * logistic_derivative(jnp.asarray(weight)[..., None] * margins), -1)


def logistic_minimizer(margins: Float[AnyArray, " n"], *, halvings: int = 100) -> float:
    """The weight W* of least loss, by bisection. Data that one sign of W separates have none and are refused.

    With p margins +a and q margins −a it is ln(p/q)/a.
    """
    margins = np.asarray(margins)
    if not (np.any(margins > 0) and np.any(margins < 0)):
        raise ValueError("margins must have both signs, or the loss has no minimum; these are separable")
    reach = 1.0
    while slope_by_weight(-reach, margins) > 0 or slope_by_weight(reach, margins) < 0:
        reach *= 2
    low, high = -reach, reach
    for _ in range(halvings):
        middle = (low + high) / 2
        low, high = (low, middle) if slope_by_weight(middle, margins) > 0 else (middle, high)
    return (low + high) / 2


def product_loss(factors: Float[Array, "... k"], margins: Float[AnyArray, " n"]) -> Float[Array, "..."]:
    """The loss of the weight W = w₁⋯w_k; its gradient is ∂/∂wᵢ = ℓ′(W)·W/wᵢ."""
    return loss_of_weight(jnp.prod(factors, -1), margins)


def explosion_rate(
    product: Reals, margins: Float[AnyArray, " n"], *, depth: int | Float[AnyArray, "..."]
) -> Float[Array, "..."]:
    """The learning rate 2|W₀|^(2/k−1) / |ℓ′(W₀)| beyond which k equal factors move away from the minimum for ever.

    A step multiplies each factor by 1 − ηℓ′(W)W^(1−2/k). Above this rate, with k even and W₀ > W* > 0, that is below
    −1, and it goes on falling because ℓ′ and W^(1−2/k) grow with W; at this rate exactly the factors only change sign.
    arora Problem 13.1.1 prints the exponent 1/k − 1 in the denominator, which is too small a rate for W₀ < 1.
    """
    product = jnp.abs(jnp.asarray(product, float))
    return 2 * product ** (2 / jnp.asarray(depth) - 1) / jnp.abs(slope_by_weight(product, margins))


def product_descent(
    factors: Float[Array, " k"],
    margins: Float[AnyArray, " n"],
    *,
    rate: float | Float[Array, ""],
    steps: Annotated[int, "[0, 1e6]"],
) -> Float[Array, "time k"]:
    """All k factors, in general different, along gradient descent on the product; the start is the first row."""
    gradient = jax.grad(product_loss)

    def move(w, _):
        return (moved := w - rate * gradient(w, margins)), moved

    return jnp.concatenate([factors[None], jax.lax.scan(move, factors, length=steps)[1]])


doors(__name__, rate="[0, ∞)", depth="[1, 1e6]", halvings="[1, 10000]")
