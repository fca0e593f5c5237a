"""Models whose outputs are homogeneous in their weights: degree, margins, and the first-order points of the margin.

A model is given by its signed outputs q(θ) = (yᵢ f(θ; xᵢ))ᵢ, a function of any pytree of weights, with q(cθ) = c^L q(θ).
`homogeneous_training` follows gradient flow and descent on it.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, Float

from deeptheory.foundations.entrances import doors

__all__ = [
    "FirstOrder",
    "Homogeneity",
    "first_order_residual",
    "homogeneity",
    "unit_margins",
]


class Homogeneity(NamedTuple):
    """The degree of a function in its weights, and how far it is from being homogeneous of that degree."""

    degree: float
    scaling: float  # largest |f(cθ) − c^L f(θ)| over the scales, relative to c^L |f|
    euler: float  # |⟨θ, ∇f⟩ − L f| relative to |f|


def homogeneity(
    function: Callable[[Any], Any], weights: Any, *, scales: tuple[float, ...] = (0.25, 0.5, 2.0, 5.0)
) -> Homogeneity:
    """Estimate the degree L of f(cθ) = c^L f(θ), with two tests of it: scaling and Euler's ⟨θ, ∇f⟩ = L f.

    `function` maps the weights, any pytree, to a number or an array. The degree comes from the first scale alone and is
    confirmed or not by the others. A bias after the last hidden layer or a skip across layers breaks it: the defects
    are then of order one. Look at several weights before calling a function homogeneous. Reference: lucchi Def. 31,
    arora 8.4.
    """
    if not scales or min(scales) <= 0 or scales[0] == 1:
        raise ValueError(f"scales must be positive and the first not 1, got {scales}")
    with jax.enable_x64(True):
        flat, unravel = ravel_pytree(jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.float64), weights))
        values, change = jax.jvp(lambda w: jnp.asarray(function(unravel(w))), (flat,), (flat,))
        size = jnp.linalg.norm(values)
        if not size > 0:
            raise ValueError("the function is zero at these weights, which says nothing about its degree")
        moved = [jnp.asarray(function(unravel(c * flat))) for c in scales]
        degree = float(jnp.log(jnp.linalg.norm(moved[0]) / size) / np.log(scales[0]))
        errors = [jnp.linalg.norm(m / c**degree - values) / size for c, m in zip(scales, moved, strict=True)]
        return Homogeneity(degree, float(max(errors)), float(jnp.linalg.norm(change - degree * values) / size))


def unit_margins(margins: Callable[[Any], Any], weights: Any, *, degree: float) -> Float[Array, " n"]:
    """Return qᵢ(θ/|θ|) = yᵢ f(θ; xᵢ)/|θ|^L; the least of them is the normalized margin."""
    flat, _ = ravel_pytree(weights)
    return jnp.asarray(margins(weights)) / jnp.linalg.norm(flat) ** degree


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

    with jax.enable_x64(True):
        flat, unravel = ravel_pytree(jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.float64), weights))
        unit = flat / jnp.linalg.norm(flat)
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
