"""The optimum that dropout selects: singular values lowered by one common amount, and those below dropped.

`strength` is λ = p/(1−p) for the chance `rate` p that a unit is dropped; `width` is d₁.

Reference: arora 11.1.1; Mianjy, Arora and Vidal 2018, On the implicit bias of dropout.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from deeptheory.foundations.arrays import AnyArray, Scalar, traced
from deeptheory.foundations.entrances import doors
from deeptheory.regularization.masks import dropout_strength

__all__ = [
    "dropout_optimum",
    "dropout_shrinkage",
]


def dropout_shrinkage(
    singular: Float[AnyArray, " values"], width: Scalar, strength: Scalar
) -> tuple[Float[Array, " values"], Float[Array, ""]]:
    """Return the singular values at the population optimum of dropout matrix sensing, and how far they were lowered.

    Soft thresholding at α = λ Σ_{i≤ρ} sᵢ/(d₁ + λρ), where ρ ≤ d₁ is the last j with sⱼ(d₁ + λj) > λ Σ_{i≤j} sᵢ; the
    values must be sorted downwards, none negative. It minimises Σ(sᵢ − mᵢ)² + λ(Σmᵢ)²/d₁ over m ≥ 0 with at most d₁
    nonzero. arora eq. 11.6; the symmetric case is arora Thm 11.3.1.
    """
    singular = jnp.asarray(singular)
    if not traced(singular) and (np.any(np.diff(singular) > 0) or singular[-1] < 0):
        raise ValueError(f"singular must be sorted downwards, none negative, got {singular}")
    position = jnp.arange(1, singular.shape[0] + 1)
    # What a value lacks to the first: d₁sⱼ > λ Σ_{i≤j} (sᵢ − sⱼ) is the inequality, and in these differences a large λ
    # cancels nothing. It holds for a prefix of the list, so counting it is finding its last index.
    short = singular[0] - singular
    kept = (width * singular > strength * (position * short - jnp.cumsum(short))) & (position <= width)
    rank = jnp.sum(kept)
    scale = width + strength * rank
    lowered = (width * singular - strength * (rank * short - jnp.sum(jnp.where(kept, short, 0)))) / scale
    threshold = strength / scale * jnp.sum(jnp.where(kept, singular, 0))
    return jnp.where(kept, lowered, 0), jnp.asarray(threshold)


def dropout_optimum(target: Float[AnyArray, "d2 d0"], width: int, rate: Scalar) -> Float[Array, "d2 d0"]:
    """Return the product U Vᵀ that minimises the population dropout objective for Gaussian measurements of a target.

    The objective is ‖M* − U Vᵀ‖² + λ Σ‖uⱼ‖²‖vⱼ‖²; `dropout_shrinkage` lowers the singular values of M*, so a
    larger rate selects a smaller rank. arora section 11.1.1.
    """
    rotation, singular, reflection = jnp.linalg.svd(target, full_matrices=False)
    shrunk, _ = dropout_shrinkage(singular, width, dropout_strength(rate))
    return (rotation * shrunk) @ reflection


doors(__name__, width="[1, ∞)", strength="[0, ∞)")
