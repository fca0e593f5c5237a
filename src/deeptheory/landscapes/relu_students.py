"""Students of ReLU teachers: the population loss in closed form, whose spurious minima gradient descent does reach.

`one` and `other` are weight vectors u and v.

Reference: lucchi Ch. 6; Safran and Shamir 2018.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from deeptheory.foundations.entrances import doors

__all__ = ["ReluStudentLoss", "relu_product"]


def relu_product(one: Float[Array, "d"], other: Float[Array, "d"]) -> Float[Array, ""]:
    """E[max(⟨u, x⟩, 0) max(⟨v, x⟩, 0)] for standard Gaussian x: ‖u‖‖v‖(sin θ + (π − θ)cos θ)/2π at the angle θ.

    Differentiable unless the vectors are parallel; equal vectors are handled, and the product with zero is zero.
    Reference: Cho and Saul 2009.
    """
    lengths = jnp.sqrt((one @ one) * (other @ other))
    cosine = one @ other / jnp.where(lengths > 0, lengths, 1.0)
    # Near ±1 the arc cosine has no derivative, but the product has: it is flat in the angle there.
    safe = jnp.clip(cosine, -1 + 1e-12, 1 - 1e-12)
    return lengths * (jnp.sqrt(1 - safe**2) + (jnp.pi - jnp.arccos(safe)) * cosine) / (2 * jnp.pi)


class ReluStudentLoss(eqx.Module):
    """½E(Σ_i max(⟨w_i, x⟩, 0) − Σ_j max(⟨v_j, x⟩, 0))² over standard Gaussian x, of the student's flat weights.

    The rows of `teacher` are the v_j. Zero at any order of them. With as many student as teacher neurons, six or more
    and orthogonal, there are spurious minima (Safran and Shamir 2018); with a few more descent rarely ends in one.
    """

    teacher: Float[Array, "k d"]

    def __call__(self, weights: Float[Array, "p"]) -> Float[Array, ""]:
        student = weights.reshape(-1, self.teacher.shape[1])
        sums = [_sum_of_products(a, b) for a, b in ((student, student), (student, self.teacher))]
        return (sums[0] - 2 * sums[1] + _sum_of_products(self.teacher, self.teacher)) / 2


def _sum_of_products(rows: Float[Array, "n d"], others: Float[Array, "k d"]) -> Float[Array, ""]:
    return jax.vmap(lambda u: jax.vmap(lambda v: relu_product(u, v))(others))(rows).sum()


doors(__name__)
