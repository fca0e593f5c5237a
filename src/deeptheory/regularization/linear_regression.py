"""Linear regression with dropout of the inputs: each coordinate by a mask of its own, or all by one."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from deeptheory.foundations.arrays import AnyArray, Scalar
from deeptheory.foundations.entrances import doors
from deeptheory.regularization.masks import dropout_strength

__all__ = ["dropout_regression", "shared_mask_regression"]


def dropout_regression(
    design: Float[AnyArray, "n d"], labels: Float[AnyArray, " n"], rate: Scalar
) -> Float[Array, " d"]:
    """Return the least-squares weights under dropout of the inputs' coordinates, each by a mask of its own.

    They solve (XᵀX + λ diag(XᵀX)) u = Xᵀy: a ridge in units of each coordinate's size. Unlike rescaling it shrinks
    correlated directions less. Needs a rate above zero, or a design of full column rank, and no column of zeros.
    arora Prop. 11.2.1 with k = 1; Sec. 11.4 prints the solution of `shared_mask_regression`.
    """
    gram = jnp.asarray(design).T @ jnp.asarray(design)
    return jnp.linalg.solve(gram + dropout_strength(rate) * jnp.diag(jnp.diag(gram)), design.T @ labels)


def shared_mask_regression(
    design: Float[AnyArray, "n d"], labels: Float[AnyArray, " n"], rate: Scalar
) -> Float[Array, " d"]:
    """Return the least-squares weights if all coordinates are dropped together: (1 + λ) XᵀX u = Xᵀy.

    The weights of least squares over 1 + λ, the solution of least norm where there are several. arora Sec. 11.4.
    """
    return jnp.linalg.pinv(jnp.asarray(design)) @ labels / (1 + dropout_strength(rate))


doors(__name__)
