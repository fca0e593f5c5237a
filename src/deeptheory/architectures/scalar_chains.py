"""A chain of layers with one weight each: how a step in all of them at once couples them.

Reference: lucchi Sec. 10.3.1.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors

__all__ = ["chain_gradient", "first_order_rate", "step_polynomial"]

Weights = Float[AnyArray, " depth"]


def chain_gradient(weights: Float[AnyArray, "*n depth"], slope: float = 1.0) -> Float[Array, "*n depth"]:
    """∂ℓ/∂w_l = s ∏_{k≠l} w_k for the output y = (∏w_l) x, with s = ℓ′(y) x.

    With equal weights that is s w^(L−1): it vanishes with depth for |w| < 1 and explodes for |w| > 1. No weight is
    divided by, so zeros are allowed. `slope` is s. Reference: lucchi Sec. 10.3.1.
    """
    weights = jnp.asarray(weights)
    ones = jnp.ones_like(weights[..., :1])
    before = jnp.cumprod(jnp.concatenate([ones, weights[..., :-1]], -1), -1)
    after = jnp.cumprod(jnp.concatenate([ones, weights[..., :0:-1]], -1), -1)[..., ::-1]
    return slope * before * after


def step_polynomial(weights: Weights, gradient: Weights) -> Float[Array, " coefficients"]:
    """Coefficients, from η⁰ to η^L, of the product ∏(w_l − η g_l) of the weights after a step with rate η.

    That of ηᵏ is (−1)ᵏ Σ over sets of k layers of their gradients times the weights of the others: a step of gradient
    descent moves the output by terms of every order up to the depth. Reference: lucchi Sec. 10.3.1.
    """
    weights, gradient = jnp.asarray(weights), jnp.asarray(gradient)

    def times(coefficients: Array, factor: tuple[Array, Array]) -> tuple[Array, None]:
        w, g = factor
        return w * coefficients - g * jnp.roll(coefficients, 1).at[0].set(0.0), None

    one = jnp.zeros(len(weights) + 1, jnp.result_type(weights, gradient)).at[0].set(1.0)
    return jax.lax.scan(times, one, (weights, gradient))[0]


def first_order_rate(weights: Weights, gradient: Weights, *, tolerance: float = 0.1, halvings: int = 60) -> float:
    """The learning rate up to which terms of order two and more stay below `tolerance` times the first-order term.

    For equal weights and gradients it is about 2·tolerance·w/((L − 1) g): the deeper, the smaller. For one layer there
    are no such terms, and the rate is infinite. By bisection, `halvings` times.
    """
    c = np.asarray(step_polynomial(weights, gradient), float)
    if not np.any(c[2:]):
        return float("inf")
    if c[1] == 0:
        return 0.0

    def excess(rate: float) -> float:
        return abs(np.polyval([*c[:1:-1], 0.0], rate)) - tolerance * abs(c[1])

    high = 1.0
    while excess(high) > 0:
        high /= 2
    while excess(high) <= 0:
        high *= 2
    low = 0.0 if excess(high / 2) > 0 else high / 2
    for _ in range(halvings):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) <= 0 else (low, middle)
    return low


doors(__name__, tolerance="(0, 1]", halvings="[1, 200]")
