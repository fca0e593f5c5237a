"""Dropout in matrix completion: entries seen at random, the weighted trace norm, and what it says of unseen entries.

Entry (i, k) is seen with probability p(i)q(k); `row_law` is p and `column_law` is q. `rows` and `columns` are the
places of the n entries that were seen, with repetitions.

Reference: arora 11.1.2; Arora, Bartlett, Mianjy and Srebro 2021, Dropout: explicit forms and capacity control.
"""

from typing import Annotated, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from deeptheory.foundations.arrays import AnyArray, Numbers, Scalar
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import laws
from deeptheory.regularization.factors import equalized_factors, nuclear_norm
from deeptheory.regularization.shrinkage import dropout_optimum

__all__ = [
    "CompletionTerms",
    "completion_conditions",
    "completion_loss",
    "completion_regularizer",
    "completion_terms",
    "draw_entries",
    "expected_completion_regularizer",
    "trace_ball_bound",
    "trace_ball_supremum",
    "weighted",
    "weighted_equalized_factors",
    "weighted_optimum",
    "weighted_trace_norm",
]

Law = Float[AnyArray, " d2"]
OtherLaw = Float[AnyArray, " d0"]
Places = Int[AnyArray, " n"]


def draw_entries(
    key: Key[Array, ""], row_law: Law, column_law: OtherLaw, count: Annotated[int, "[1, 1e7]"]
) -> tuple[Int[Array, "{count}"], Int[Array, "{count}"]]:
    """Draw places (i, k) independently with probability p(i)q(k), with repetitions. arora Sec. 11.1.2.

    Uniform, power-law or any other marginals without zeros; they are divided by their sums.
    """
    first, second = jax.random.split(key)
    return (
        jax.random.choice(first, len(row_law), (count,), p=jnp.asarray(row_law)),
        jax.random.choice(second, len(column_law), (count,), p=jnp.asarray(column_law)),
    )


def completion_loss(
    left: Float[AnyArray, "d2 d1"],
    right: Float[AnyArray, "d0 d1"],
    rows: Places,
    columns: Places,
    labels: Float[AnyArray, " n"],
) -> Float[Array, ""]:
    """Return the mean squared error of U Vᵀ on the entries that were seen: matrix sensing with indicator matrices."""
    return jnp.mean((labels - jnp.sum(left[rows] * right[columns], axis=1)) ** 2)


def completion_regularizer(
    left: Float[AnyArray, "d2 d1"], right: Float[AnyArray, "d0 d1"], rows: Places, columns: Places
) -> Float[Array, ""]:
    """Return what dropout adds, over λ: R̂ = Σⱼ mean U(i, j)² V(k, j)² over the entries seen. arora eq. 11.4."""
    return jnp.mean(jnp.sum(left[rows] ** 2 * right[columns] ** 2, axis=1))


def expected_completion_regularizer(
    left: Float[AnyArray, "d2 d1"], right: Float[AnyArray, "d0 d1"], row_law: Law, column_law: OtherLaw
) -> Float[Array, ""]:
    """Return the mean of R̂ over entries drawn from p ⊗ q: Σⱼ ‖diag(√p)uⱼ‖² ‖diag(√q)vⱼ‖². arora Sec. 11.1.2."""
    return jnp.sum((jnp.asarray(row_law) @ left**2) * (jnp.asarray(column_law) @ right**2))


def weighted(matrix: Float[AnyArray, "d2 d0"], row_law: Law, column_law: OtherLaw) -> Float[Array, "d2 d0"]:
    """Return diag(√p) M diag(√q). Reference: Srebro and Salakhutdinov 2010."""
    laws(row_law=row_law, column_law=column_law)
    return jnp.sqrt(row_law)[:, None] * matrix * jnp.sqrt(column_law)


def weighted_trace_norm(matrix: Float[AnyArray, "d2 d0"], row_law: Law, column_law: OtherLaw) -> Float[Array, ""]:
    """Return ‖diag(√p) M diag(√q)‖_*, whose square over d₁ is the least dropout penalty of M. arora eq. 11.7."""
    return nuclear_norm(weighted(matrix, row_law, column_law))


def weighted_equalized_factors(
    matrix: Float[AnyArray, "d2 d0"], row_law: Law, column_law: OtherLaw, width: Annotated[int, "[1, 300]"]
) -> tuple[Float[Array, "d2 {width}"], Float[Array, "d0 {width}"]]:
    """Return factors of M with the least expected dropout penalty: those of the weighted matrix, weights undone.

    Needs positive laws, and a width of at least the rank. arora eq. 11.7, with the balanced factors of the weighted
    matrix.
    """
    left, right = equalized_factors(weighted(matrix, row_law, column_law), width)
    return left / jnp.sqrt(row_law)[:, None], right / jnp.sqrt(column_law)[:, None]


def weighted_optimum(
    target: Float[AnyArray, "d2 d0"], row_law: Law, column_law: OtherLaw, width: int, rate: Scalar
) -> Float[Array, "d2 d0"]:
    """Return the product U Vᵀ that dropout selects from infinitely many entries of a target.

    In N = diag(√p) M diag(√q) the objective is ‖N* − N‖² + λ‖N‖_*²/d₁, that of Gaussian sensing; so the singular values
    of the weighted target are lowered by a common amount, see `dropout_shrinkage`. Needs positive laws.
    """
    shrunk = dropout_optimum(weighted(target, row_law, column_law), width, rate)
    return shrunk / jnp.sqrt(row_law)[:, None] / jnp.sqrt(column_law)


def trace_ball_supremum(
    signs: Float[AnyArray, " n"], rows: Places, columns: Places, row_law: Law, column_law: OtherLaw, radius: Scalar
) -> Float[Array, ""]:
    """Return sup (1/n) Σₜ σₜ M(iₜ, kₜ) over all M of weighted trace norm at most √α = `radius`, exactly.

    The dual of the trace norm is the spectral norm: (√α/n) ‖diag(p)^−½ S diag(q)^−½‖ with S the sum of the signs at
    each place. Its mean over fair signs is the empirical Rademacher complexity of the ball. Needs positive laws. arora
    Sec. 11.1.2; Foygel, Salakhutdinov, Shamir and Srebro 2011.
    """
    total = jnp.zeros((len(row_law), len(column_law))).at[rows, columns].add(signs)
    scaled = total / jnp.sqrt(row_law)[:, None] / jnp.sqrt(column_law)
    return radius * jnp.linalg.norm(scaled, 2) / len(signs)


def trace_ball_bound(
    rows: Places, columns: Places, row_law: Law, column_law: OtherLaw, radius: Scalar
) -> Float[Array, ""]:
    """Return (√α/n) √(2 V log(d₂ + d₀)), never below the Rademacher complexity of the ball on these places.

    V is the larger of the largest row sum and the largest column sum of 1/(p(i)q(k)) over the places seen: the matrix
    Rademacher series (Tropp 2012, Thm 1.2) of which `trace_ball_supremum` is the norm. A row sum has mean n d₀ and a
    column sum n d₂, so for d₂ ≥ d₀ and n large it is √(2α d₂ log(d₂ + d₀)/n): the order of arora Thm 11.1.2.
    """
    inverse = 1 / (jnp.asarray(row_law)[rows] * jnp.asarray(column_law)[columns])
    by_row = jnp.zeros(len(row_law)).at[rows].add(inverse)
    by_column = jnp.zeros(len(column_law)).at[columns].add(inverse)
    spread = jnp.maximum(by_row.max(), by_column.max())
    return jnp.asarray(radius) * jnp.sqrt(2 * spread * jnp.log(len(row_law) + len(column_law))) / len(rows)


class CompletionTerms(NamedTuple):
    """The two terms by which the risk may exceed the training error: of the class, and of chance."""

    complexity: Float[Array, "..."]
    chance: Float[Array, "..."]


def completion_terms(
    *,
    entries: Numbers,
    larger: Numbers,
    capacity: Numbers,
    square: Numbers,
    delta: Numbers,
    first: Numbers = 1.0,
    second: Numbers = 1.0,
) -> CompletionTerms:
    """Return C(1+γ)√(α d₂ log d₂/n) and C′(1+γ²)√(log(2/δ)/2n), the terms of arora Thm 11.1.2.

    `entries` is n, `larger` is d₂ ≥ d₀, `capacity` is α ≥ d₁R̂(U, V), `square` is γ, the largest squared norm of a row
    of U or V, `delta` is δ. The book leaves C = `first` and C′ = `second` open, and one is no claim about them: for
    |M*| ≤ 1 entrywise and a ball fixed beforehand, 4√(2 log(d₂+d₀)/log d₂) and 2 serve by the contraction and
    bounded-difference inequalities with `trace_ball_bound`, up to how far V is from its mean. Look at
    `completion_conditions` first.
    """
    complexity = first * (1 + square) * jnp.sqrt(capacity * larger * jnp.log(larger) / entries)
    chance = second * (1 + square**2) * jnp.sqrt(jnp.log(2 / delta) / (2 * entries))
    return CompletionTerms(jnp.asarray(complexity), jnp.asarray(chance))


def completion_conditions(
    left: Float[AnyArray, "d2 d1"],
    right: Float[AnyArray, "d0 d1"],
    target: Float[AnyArray, "d2 d0"],
    row_law: Law,
    column_law: OtherLaw,
    entries: Scalar,
) -> dict[str, bool]:
    """Say which hypotheses of arora Thm 11.1.2 are met: shape, size of the target, laws bounded away from zero.

    The least p(i)q(k) must be at least log(d₂)/(n√(d₂d₀)). Of the target the largest entry is looked at, which is what
    the proof uses; the printed norm is not named. The sample size Ω((d₁γ²/α)² log(2/δ)) has an open constant.
    """
    tall, wide = len(left), len(right)
    least = jnp.min(jnp.asarray(row_law)) * jnp.min(jnp.asarray(column_law))
    return {
        "at least as many rows as columns": tall >= wide,
        "no entry of the target above one": bool(jnp.max(jnp.abs(target)) <= 1),
        "no entry too rare": bool(least >= jnp.log(tall) / (entries * jnp.sqrt(tall * wide))),
    }


doors(
    __name__,
    row_law="(0, 1]",
    column_law="(0, 1]",
    width="[1, ∞)",
    radius="[0, ∞)",
    entries="[1, ∞)",
    larger="[1, ∞)",
    capacity="[0, ∞)",
    square="[0, ∞)",
    delta="(0, 1)",
    first="[0, ∞)",
    second="[0, ∞)",
)
