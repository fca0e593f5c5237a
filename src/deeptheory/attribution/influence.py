"""Influence: how the loss at a test point moves with the weight of a training point, without training again.

Reference: arora Sec. 10.1; Koh and Liang 2017.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from deeptheory.attribution.inverse_products import TOGETHER, Inverted, by_conjugate_gradients
from deeptheory.curvature.operators import Curvature, hessian
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import batched, numeric

__all__ = ["Influences", "gradients", "influences", "influences_by", "removal_effects"]

Losses = Callable[[Any, Any], Float[Array, " examples"]]
Inverse = Callable[..., Inverted]


@dataclass(frozen=True)
class _Mean:
    """The mean of the losses of a batch; equal for equal losses, so that nothing is compiled twice."""

    losses: Losses

    def __call__(self, parameters: Any, batch: Any) -> Float[Array, ""]:
        return jnp.mean(self.losses(parameters, batch))


class Influences(NamedTuple):
    """I(x, z) by test point z (rows) and training point x (columns), and the residuals of the inverse products."""

    values: Float[Array, "tests trains"]
    residuals: Float[Array, " tests"]


def gradients(losses: Losses, parameters: Any, data: Any) -> Float[Array, "examples p"]:
    """The gradient of the loss of every example, flat and in rows: examples × parameters numbers."""
    batched(data=data)
    moving, fixed = eqx.partition(parameters, eqx.is_inexact_array)
    numeric(parameters=moving)
    if not jax.tree.leaves(moving):
        raise ValueError("parameters must hold at least one floating-point array, and hold none")
    data = jax.tree.map(jnp.asarray, data)
    _one_each(losses, parameters, data)
    return _gradients(losses, moving, fixed, data)


def _one_each(losses: Losses, parameters: Any, data: Any) -> None:
    shape = eqx.filter_eval_shape(losses, parameters, data).shape
    if shape != (jax.tree.leaves(data)[0].shape[0],):
        raise ValueError(f"losses must return one number for each example, got shape {shape}")


@eqx.filter_jit
def _gradients(losses: Losses, moving: Any, fixed: Any, data: Any) -> Array:
    flat, unravel = ravel_pytree(moving)

    def one(example: Any) -> Array:
        alone = jax.tree.map(lambda x: x[None], example)
        return jax.grad(lambda flat: losses(eqx.combine(unravel(flat), fixed), alone)[0])(flat)

    return jax.vmap(one)(data)


def influences(losses: Losses, parameters: Any, train: Any, test: Any, *, damping: float = 0.0) -> Influences:
    """Return I(x, z) = −∇ℓ(z, θ)ᵀ(H + λ)⁻¹∇ℓ(x, θ) of every training on every test point, H of the mean training loss.

    The derivative of ℓ(z, θ*) in ε where x weighs 1/n + ε: removing x moves the loss at z by about −I/n.

    Args:
        losses: (parameters, batch) → the loss of every example of the batch.
        parameters: θ, where the objective has no slope: of the mean loss, and of ½λ‖θ‖² where that was added to it.
        train, test: arrays, or pytrees of them, with the examples on the first axis.
        damping: λ. A ridge that was trained with belongs here, and is then exact. At a point that is no minimum it
            makes H + λ positive, and the answer is that of training held back by ½λ‖θ' − θ‖².

    One system is solved for each test point, by conjugate gradients to a residual of 1e-8 (single precision: 1e-5);
    `influences_by` takes another way. The products with the training gradients are one forward derivative of
    all losses a test point, so no training gradient is ever stored. Not to be used far from a stationary point, nor
    to predict what removing many points does.

    Reference: arora Thm 10.1.2; Koh and Liang 2017.
    """
    single = any(leaf.dtype == jnp.float32 for leaf in jax.tree.leaves(eqx.filter(parameters, eqx.is_inexact_array)))

    def inverse(curvature: Curvature, vectors: Array, /, *, damping: float) -> Inverted:
        tolerance = 1e-5 if single else 1e-8
        return by_conjugate_gradients(curvature, vectors, damping=damping, tolerance=tolerance)

    return _influences(inverse, losses, parameters, train, test, damping)


def influences_by(
    inverse: Inverse, losses: Losses, parameters: Any, train: Any, test: Any, *, damping: float = 0.0
) -> Influences:
    """The same by another way to (H + λ)⁻¹v: one of `inverse_products`, or `functools.partial` of one.

    inverse: (curvature, vectors in rows, damping=λ) → `Inverted`.
    `influences_by(by_factorization, ...)` is exact for small models, `partial(by_neumann_series, scale=0.1, terms=500)`
    the textbook's way.
    """
    return _influences(inverse, losses, parameters, train, test, damping)


def _influences(inverse: Inverse, losses: Losses, parameters: Any, train: Any, test: Any, damping: float) -> Influences:
    batched(train=train, test=test)
    curvature = hessian(_Mean(losses), parameters, train)
    _one_each(losses, parameters, curvature.data)
    found = inverse(curvature, gradients(losses, parameters, test), damping=damping)
    fixed = eqx.partition(parameters, eqx.is_inexact_array)[1]
    return Influences(-_slopes(losses, curvature, fixed, found.vectors), found.residuals)


@eqx.filter_jit
def _slopes(losses: Losses, curvature: Curvature, fixed: Any, vectors: Array) -> Float[Array, "k examples"]:
    """How the loss of every training example changes along each vector."""

    def each(flat: Array) -> Array:
        return losses(eqx.combine(curvature.unravel(flat), fixed), curvature.data)

    slopes = jax.linearize(each, curvature.parameters)[1]
    return jax.lax.map(slopes, vectors, batch_size=max(TOGETHER // curvature.examples, 1))


def removal_effects(influence: Influences) -> Float[Array, "tests trains"]:
    """The change −I(x, z)/n of the loss at z that influence predicts for training without x; off by order 1/n²."""
    return -influence.values / influence.values.shape[1]


doors(__name__, damping="[0, ∞)")
