"""Models whose outputs are homogeneous in their weights: normalized margins, and their first-order points.

A model is given by its signed outputs q(θ) = (yᵢ f(θ; xᵢ))ᵢ, a function of any pytree of weights, with
q(cθ) = c^L q(θ); `normalization.homogeneity` finds the degree L. `homogeneous_training` follows gradient flow and
descent on it.

`margins` is q, `degree` L.

Reference: arora 8.4; lucchi Thm 73; Lyu and Li 2020.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, Float

from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import numeric

__all__ = ["FirstOrder", "first_order_residual", "flat_weights", "unit_margins"]


def flat_weights(margins: Callable[[Any], Any], weights: Any) -> tuple[Float[np.ndarray, " parameters"], Callable]:
    """Return a pytree of weights as a vector in double precision, with the way back.

    Weights that are not real numbers, or all zero, and models whose signed outputs are no vector are refused.
    """
    numeric(weights=weights)
    with jax.enable_x64(True):
        flat, unravel = ravel_pytree(jax.tree.map(lambda leaf: np.asarray(leaf, np.float64), weights))
        if not 0 < np.linalg.norm(flat) < np.inf:
            raise ValueError("weights must be finite and not all zero: a homogeneous model has no direction there")
        outputs = jax.eval_shape(lambda v: margins(unravel(v)), flat)
    shape = getattr(outputs, "shape", None)
    if shape is None or len(shape) != 1 or not shape[0]:
        what = f"a {type(outputs).__name__}" if shape is None else f"the shape {shape}"
        raise ValueError(f"margins must give one array, a vector of signed outputs, got {what}")
    return np.asarray(flat), unravel


def unit_margins(margins: Callable[[Any], Any], weights: Any, *, degree: float) -> Float[Array, " n"]:
    """Return qᵢ(θ/|θ|) = yᵢ f(θ; xᵢ)/|θ|^L; the least of them is the normalized margin."""
    flat, _ = flat_weights(margins, weights)
    return jnp.asarray(margins(weights)) / np.linalg.norm(flat) ** degree


class FirstOrder(NamedTuple):
    """How nearly weights are, up to scale, a KKT point of min ½|θ|² subject to all qᵢ(θ) ≥ 1."""

    margin: float  # minᵢ qᵢ(θ)/|θ|^L
    residual: float  # min over λ ≥ 0 of |v − Σ λᵢ∇qᵢ(v)|, v = θ/|θ|, over the support: 0 at a KKT point, 1 at worst
    multipliers: Float[np.ndarray, " n"]
    support: Bool[np.ndarray, " n"]
    independence: float  # least singular value of the support's unit gradients: 0 where they are dependent


def first_order_residual(
    margins: Callable[[Any], Any], weights: Any, *, degree: float, slack: float = 1e-3
) -> FirstOrder:
    """Measure the first-order conditions of the max-margin problem of a homogeneous model, at any scale of the weights.

    The support are the points whose margin is within a factor 1 + `slack` of the least *attained* one: with the best
    possible margin in its place, as arora prints it, a stationary direction of smaller margin has no support. Weights
    that misclassify a point have no scale that is feasible and are refused. Where ReLUs switch, automatic
    differentiation picks one of several gradients, and the residual is an upper bound. A KKT point need not be a
    maximum of the margin. References: arora Def. 8.4.1 (labels are missing in print), lucchi (11.23).
    """
    from scipy.optimize import nnls

    flat, unravel = flat_weights(margins, weights)
    with jax.enable_x64(True):
        unit = flat / np.linalg.norm(flat)
        own = lambda v: jnp.asarray(margins(unravel(v)))  # noqa: E731
        attained, gradients = np.asarray(own(unit)), np.asarray(jax.jacobian(own)(unit))
    least = float(attained.min())
    if not least > 0:
        raise ValueError(f"all signed outputs must be positive, got a least one of {least:.3g} at unit weights")
    support = attained <= (1 + slack) * least
    multipliers = np.zeros(len(attained))
    multipliers[support], residual = nnls(gradients[support].T, np.asarray(unit))
    rows = gradients[support] / np.linalg.norm(gradients[support], axis=1, keepdims=True)
    independent = np.linalg.svd(rows, compute_uv=False)[-1] if len(rows) <= rows.shape[1] else 0.0
    return FirstOrder(least, float(residual), multipliers, support, float(independent))


doors(__name__, degree="(0, ∞)", slack="[0, ∞)")
