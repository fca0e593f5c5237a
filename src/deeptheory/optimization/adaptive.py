"""What is proved of AdaGrad: sums of shares that grow like a logarithm, and how small the gradients get."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from deeptheory.foundations.arrays import AnyArray, Numbers
from deeptheory.foundations.entrances import doors

__all__ = [
    "adagrad_norm_bound",
    "harmonic_bound",
    "harmonic_sum",
    "lagged_adagrad_bound",
    "lagged_harmonic_bound",
    "lagged_harmonic_sum",
]

Scalar = float | Float[AnyArray, ""] | np.floating


def harmonic_sum(terms: Float[AnyArray, "t"]) -> Float[Array, ""]:
    """Return Σ_t a_t/(a_1 + … + a_t), a sum of shares in what has come so far; the first term must be positive.

    The harmonic series for equal terms. At most `harmonic_bound`.

    Reference: arora 2.5.4.
    """
    return jnp.sum(terms / jnp.cumsum(jnp.asarray(terms)))


def harmonic_bound(first: Numbers, total: Numbers) -> Numbers:
    """Return 1 + ln(S/a₁), which no sum of shares with first term a₁ and total S exceeds.

    Attained by one term; approached by terms that grow slowly in proportion. Multiplying all terms by one number
    changes nothing, which log(GT) in its place, as print has it, does not share.

    Reference: arora 2.5.4, proof of Thm 2.5.4.
    """
    return 1 + jnp.log(jnp.asarray(total) / first)


def lagged_harmonic_sum(terms: Float[AnyArray, "t"], *, offset: Numbers) -> Float[Array, ""]:
    """Return Σ_t b_t/(σ² + b_1 + … + b_{t−1}), shares in what had come before, with `offset` σ² from the beginning.

    At most `lagged_harmonic_bound` if no term exceeds σ².

    Reference: arora 2.5.5.
    """
    terms = jnp.asarray(terms)
    before = jnp.concatenate([jnp.zeros_like(terms[:1]), jnp.cumsum(terms[:-1])])
    return jnp.sum(terms / (offset + before))


def lagged_harmonic_bound(count: Numbers) -> Numbers:
    """Return log₂(1 + T), which no lagged sum of T shares exceeds whose terms are at most the offset.

    Each share u ≤ 1 is at most log₂(1 + u), and these add up. Attained by one term equal to the offset. `count` is T.
    Reference: arora Thm 2.5.5, in whose proof the sum lags.
    """
    return jnp.log1p(jnp.asarray(count)) / np.log(2)


def adagrad_norm_bound(squares: Float[AnyArray, "t"], *, drop: Numbers, smoothness: Numbers) -> Float[Array, ""]:
    """Bound the mean of the squared gradients of T steps of `adagrad_norm` with η = 1, b = 0: C√S/T.

    C = M + (β/2)(1 + ln(S/a₁)), where a_t = ‖∇f(w_t)‖² are the `squares`, S their sum, and `drop` M is at least
    f(w₁) − f(w_{T+1}). It holds for exact gradients; as √S ≤ C too, the mean is at most C²/T without knowing S.

    Reference: arora Thm 2.5.4, with the bracket of its proof and a logarithm that has no unit.
    """
    squares = jnp.asarray(squares)
    total = squares.sum()
    return jnp.asarray(drop + smoothness / 2 * harmonic_bound(squares[0], total)) * jnp.sqrt(total) / len(squares)


def lagged_adagrad_bound(
    gradients: Float[AnyArray, "t d"], *, bound: Numbers, drop: Numbers, smoothness: Numbers
) -> Float[Array, ""]:
    """Bound the mean of the squared gradients of T steps of `lagged_adagrad` with η = 1.

    (M + (dβ/2) log₂(1 + T)) · Σ_j √(σ² + Σ_{t<T} g_t(j)²)/T, for exact gradients with entries up to `bound` σ.

    Reference: arora Thm 2.5.5, with the factor d that its proof loses.
    """
    gradients = jnp.asarray(gradients)
    count, dimension = gradients.shape
    roots = jnp.sqrt(bound**2 + jnp.sum(gradients[:-1] ** 2, 0))
    return jnp.asarray(drop + dimension * smoothness / 2 * lagged_harmonic_bound(count)) * roots.sum() / count


doors(
    __name__,
    terms="[0, ∞)",
    first="(0, ∞)",
    total="(0, ∞)",
    offset="(0, ∞)",
    count="[0, ∞)",
    squares="[0, ∞)",
    drop="[0, ∞)",
    smoothness="[0, ∞)",
    bound="(0, ∞)",
)
