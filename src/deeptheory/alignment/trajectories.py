"""Online descent with a ridge penalty, and steps that use the leading eigenspace of the gradients' second moments.

Reference: jagannath Secs. 13.1.1, 13.1.4 and 13.2.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from deeptheory.alignment.overlaps import top_eigenspace
from deeptheory.dynamics.online import Loss, online_descent
from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import inside

__all__ = ["eigenspace_preconditioner", "orthogonal_floor", "ridge_descent"]


def ridge_descent(
    loss: Loss,
    start: Any,
    samples: Any,
    *,
    step: float | Float[AnyArray, ""],
    decay: float | Float[AnyArray, ""],
    statistics: Callable[[Any], Any] = lambda point: point,
) -> tuple[Any, Any]:
    """Run x ← x − δ(∇L(x, Y) + βx) once through the samples; return the last parameters and statistics along the way.

    `step` is δ, `decay` β; the other arguments are those of `dynamics.online.online_descent`, which this is with the
    penalty ½β‖x‖² in the loss. The notes print −βx without δ; then x shrinks by the factor 1 − β in each step and stays
    of order δ/β. Reference: jagannath Sec. 13.1.1.
    """

    def penalized(point: Any, sample: Any) -> Array:
        return loss(point, sample) + decay / 2 * sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(point))

    return online_descent(penalized, start, samples, step=step, statistics=statistics)


def orthogonal_floor(noise: float, *, step: float, decay: float, precision: float, directions: int) -> float:
    """Return E‖x_⊥‖² of descent at rest, in directions where the loss has only noise: δ·`directions`·E ℓ²/(λβ(2 − δβ)).

    x_⊥ ← (1 − δβ)x_⊥ − δℓz with z of covariance I/λ independent of ℓ, the slope of the loss; `noise` is E ℓ². Exact
    where ℓ does not depend on z: x_⊥ adds little to the logits, for large λ. With δ = c/d it is of order c/(2βλ): why
    descent lives in the span of the means up to 1/λ and not better. From δβ = 2 on descent is never at rest. `step` is
    δ, `decay` β, `precision` λ.
    """
    inside(0, 2, "()", **{"step * decay": step * decay})
    return step * directions * noise / (precision * decay * (2 - step * decay))


def eigenspace_preconditioner(
    second_moment: Float[np.ndarray, "d d"], count: int, *, damping: float = 1e-8
) -> Float[np.ndarray, "d d"]:
    """Return Σ_{i≤k} u_iu_iᵀ/(√g_i + ε) + (I − P)/(√ḡ + ε) from the k leading eigenpairs of a G-matrix.

    A step −δ·(this)·gradient is a spectrally adapted AdaGrad or RMSprop: full-matrix on the outliers, one common scale
    on the bulk, whose mean eigenvalue is ḡ. With `count` = d it is full-matrix AdaGrad's (G^½ + εI)⁻¹; `damping` is ε.
    An experiment that the notes propose; no theorem is claimed. Reference: jagannath Sec. 13.1.4.
    """
    size = len(second_moment)
    frame = top_eigenspace(second_moment, count)
    leading = np.maximum(np.einsum("id,de,ie->i", frame, second_moment, frame), 0)
    rest = max((np.trace(second_moment) - leading.sum()) / max(size - count, 1), 0.0)
    common = 1 / (rest**0.5 + damping) if count < size else 0.0
    return common * np.eye(size) + (frame.T * (1 / (np.sqrt(leading) + damping) - common)) @ frame


doors(
    __name__,
    step="(0, ∞)",
    decay="(0, ∞)",
    noise="[0, ∞)",
    precision="(0, ∞)",
    directions="[0, ∞)",
    count="[1, ∞)",
    damping="(0, ∞)",
    symmetric=("second_moment",),
)
