"""Dropout as multiplicative noise: masks of mean one, drawn or all listed, and means over them.

Throughout, `rate` is the probability p of dropping a unit and `strength` is λ = p/(1−p).

Reference: arora 11.1; Srivastava et al. 2014.
"""

import itertools
from collections.abc import Callable
from typing import Annotated, Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from deeptheory.foundations.arrays import Scalar, traced
from deeptheory.foundations.entrances import doors

__all__ = ["draw_masks", "dropout_masks", "dropout_strength", "mean_over_masks"]


def dropout_strength(rate: Scalar) -> Scalar:
    """Return λ = p/(1−p), the variance of one entry of a dropout mask of mean one."""
    if not traced(rate) and not 0 <= rate < 1:
        raise ValueError(f"rate is the probability of dropping a column and must be in [0, 1), not {rate}")
    return rate / (1 - rate)


def dropout_masks(width: int, rate: Scalar) -> tuple[Float[Array, "masks width"], Float[Array, " masks"]]:
    """List every dropout mask of d₁ units with its probability, so that an expectation is a finite sum.

    An entry is 0 with probability p and 1/(1−p) otherwise; there are 2^d₁ masks. arora eq. 11.2.
    """
    if not 1 <= width <= 20:
        raise ValueError(f"width must be in 1..20, not {width}: there are 2^width masks")
    dropout_strength(rate)
    kept = jnp.asarray(list(itertools.product((0, 1), repeat=width)))
    probabilities = jnp.prod(jnp.where(kept == 1, 1.0 - rate, 1.0 * rate), axis=1)
    return kept / (1.0 - rate), probabilities


def draw_masks(
    key: Key[Array, ""], count: Annotated[int, "[1, 1e7]"], width: Annotated[int, "[1, 1e6]"], rate: Scalar
) -> Float[Array, "{count} {width}"]:
    """Draw masks, one a row: every unit is dropped with probability p, and what stays is scaled by 1/(1−p).

    An entry has mean one and variance λ = p/(1−p). At inference no mask is used, that is all entries are one. arora
    Ch. 11; lucchi Sec. 11.2, where `rate` is one minus the keep probability π.
    """
    dropout_strength(rate)
    return jax.random.bernoulli(key, 1.0 - rate, (count, width)) / (1.0 - rate)


def mean_over_masks(function: Callable[[Float[Array, " width"]], Any], width: int, rate: Scalar) -> Any:
    """Average a function of a mask over all 2^d₁ masks, exactly; the function may return any tree of arrays.

    One compiled call for all masks. With the gradient of a loss as the function this is the mean step of dropout.
    """
    masks, probabilities = dropout_masks(width, rate)
    return jax.tree.map(lambda values: jnp.tensordot(probabilities, values, 1), jax.vmap(function)(masks))


doors(__name__)
