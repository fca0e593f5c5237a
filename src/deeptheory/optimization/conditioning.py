"""Gradient descent on a quadratic in its eigenbasis: where it is after so many steps, and how many it needs.

Distances are ‖x_k − x*‖; for values f(x_k) − f* see `quadratic_losses` of `gradient_descent`.
"""

from typing import Annotated

import jax.numpy as jnp
from jaxtyping import Array, Float

from deeptheory.foundations.arrays import Numbers
from deeptheory.foundations.entrances import doors

__all__ = ["quadratic_offsets", "steps_to_accuracy"]


def quadratic_offsets(
    eigenvalues: Float[Array, "d"],
    offsets: Float[Array, "d"],
    *,
    step_size: float | Float[Array, ""],
    steps: Annotated[int, "[0, 1e7]"],
) -> Float[Array, "k d"]:
    """Return the coordinates of x_k − x* in the eigenbasis, k = 0, …, steps, of gradient descent on a quadratic.

    (1 − ηλ_i)^k z_i: each coordinate by itself, where `eigenvalues` λ are those of the Hessian, of any sign, `offsets`
    z the coordinates of x₀ − x* along its eigenvectors, and `step_size` η the same for all. Coordinate i shrinks if
    and only if 0 < ηλ_i < 2. Not for functions that are only nearly quadratic: errors add up over the steps.

    Reference: arora 2.4.
    """
    return (1 - step_size * eigenvalues) ** jnp.arange(steps + 1)[:, None] * offsets


def steps_to_accuracy(accuracy: Numbers, *, step_size: Numbers, smallest: Numbers, largest: Numbers) -> Numbers:
    """Return how many gradient steps bring every start nearer to the minimizer of a quadratic by a given factor.

    The least T with ρ^T ≤ ε, ρ = max(|1 − ηλ_min|, |1 − ηλ_max|): T = ⌈ln ε / ln ρ⌉, infinite where ρ ≥ 1. `accuracy` ε
    is a share of the distance ‖x₀ − x*‖, not of the value f(x₀) − f*, which needs about half as many; `smallest` and
    `largest` are the extreme eigenvalues of the Hessian, both positive. At η = 1/(2λ_max) it is at most ⌈2κ ln(1/ε)⌉
    and about that for large κ = λ_max/λ_min. A start without a share in the slowest eigenvector needs fewer. Where ε is
    a power of ρ to within rounding, that power counts.

    Reference: arora 2.4.
    """
    # 1 − ρ itself, which ρ has lost to rounding where the steps are short.
    first, last = jnp.asarray(step_size) * smallest, jnp.asarray(step_size) * largest
    gained = jnp.minimum(jnp.minimum(first, 2 - first), jnp.minimum(last, 2 - last))
    needed = jnp.log(accuracy) / jnp.log1p(-jnp.maximum(gained, 0))
    needed = jnp.ceil(needed * (1 - 8 * jnp.finfo(needed.dtype).eps))
    return jnp.where(gained > 0, jnp.maximum(needed, 1.0), jnp.inf)


doors(__name__, accuracy="(0, 1)", step_size="(0, ∞)", smallest="(0, ∞)", largest="(0, ∞)", steps="[0, ∞)")
