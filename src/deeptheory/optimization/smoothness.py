"""Smoothness of a function at a point, along a run and over a region."""

from collections.abc import Callable
from typing import Annotated, NamedTuple

import jax
import jax.numpy as jnp
from jax.core import Tracer
from jaxtyping import Array, Float

from deeptheory.foundations.entrances import doors

__all__ = [
    "CurvatureRange",
    "LipschitzEstimates",
    "curvature_range",
    "lipschitz_estimates",
    "power_method",
    "smoothness_along",
]

Function = Callable[[Float[Array, "d"]], Float[Array, ""]]
Iterations = Annotated[int, "[1, 1e5]"]


class LipschitzEstimates(NamedTuple):
    """The largest change of gradient and of Hessian over distance that was met: no more than ℓ and ρ."""

    gradient: Float[Array, ""]
    hessian: Float[Array, ""]


def lipschitz_estimates(
    function: Function, first: Float[Array, "k d"], second: Float[Array, "k d"]
) -> LipschitzEstimates:
    """Estimate from below the Lipschitz constants ℓ of the gradient and ρ of the Hessian, from pairs of points.

    max ‖∇f(x) − ∇f(y)‖/‖x − y‖ and max ‖∇²f(x) − ∇²f(y)‖/‖x − y‖ in the spectral norm, by dense Hessians. A sample
    says nothing about a region it misses: no certificate.

    Reference: arora Defs. 7.1.1, 7.1.2.
    """
    gradient, hessian = jax.vmap(jax.grad(function)), jax.vmap(jax.hessian(function))
    apart = jnp.linalg.norm(first - second, axis=1)
    if not isinstance(apart, Tracer) and bool(jnp.any(apart == 0)):
        raise ValueError("first and second must differ in every row, got a pair of equal points")
    slopes = jnp.linalg.norm(gradient(first) - gradient(second), axis=1) / apart
    bends = jnp.linalg.norm(hessian(first) - hessian(second), ord=2, axis=(1, 2)) / apart
    return LipschitzEstimates(slopes.max(), bends.max())


class CurvatureRange(NamedTuple):
    """The least and the largest curvature that was met: no less than μ, and of modulus no more than L."""

    least: Float[Array, ""]
    largest: Float[Array, ""]


def curvature_range(function: Function, points: Float[Array, "k d"]) -> CurvatureRange:
    """Return the extreme eigenvalues of the Hessian over points: μ and L of μI ≼ ∇²f ≼ LI as far as the points show.

    A function is μ-strongly convex and L-smooth if all its Hessians lie between; `least` is no less than the largest
    such μ, and `largest` no more than the least such L (for a function that is not convex, L bounds moduli). Exact on
    quadratics. Dense Hessians: for dimensions up to a few hundred.

    Reference: lucchi Defs. 19, 20.
    """
    spectra = jax.vmap(lambda point: jnp.linalg.eigvalsh(jax.hessian(function)(point)))(points)
    return CurvatureRange(spectra.min(), spectra.max())


def power_method(
    function: Function, point: Float[Array, "d"], direction: Float[Array, "d"], *, iterations: Iterations = 50
) -> tuple[Float[Array, "k"], Float[Array, "d"]]:
    """Return the estimates |uᵀHu| of the smoothness at a point by the power method, one an iteration, and the last u.

    u ← Hu/‖Hu‖ from a `direction` with a share in the eigenvector wanted, by Hessian-vector products, each about two
    gradients. The error of uᵀHu falls like (λ₂/λ₁)^{2t} with the two largest moduli λ₁ > λ₂. With eigenvalues λ and −λ
    of largest modulus u does not settle, and uᵀHu lies anywhere between them: prefer `sharpness` of `curvature`, which
    finds the largest eigenvalue by Lanczos.

    Reference: arora 2.6.
    """

    direction = direction.astype(point.dtype)

    def product(u: Float[Array, "d"]) -> Float[Array, "d"]:
        return jax.jvp(jax.grad(function), (point,), (u,))[1]

    def body(u: Float[Array, "d"], _: None) -> tuple[Float[Array, "d"], Float[Array, ""]]:
        image = product(u)
        length = jnp.linalg.norm(image)
        following = jnp.where(length > 0, image / jnp.where(length > 0, length, 1.0), u)
        return following, jnp.abs(following @ product(following))

    last, estimates = jax.lax.scan(body, direction / jnp.linalg.norm(direction), length=iterations)
    return estimates, last


def smoothness_along(
    function: Function, positions: Float[Array, "k d"], direction: Float[Array, "d"], *, iterations: Iterations = 20
) -> Float[Array, "k"]:
    """Return the local smoothness, the largest modulus of a Hessian eigenvalue, at every point of a run.

    The power method, each time from the vector the point before ended with. With `step_promise` it says where a step
    was too long.

    Reference: arora 2.6.
    """

    def body(u: Float[Array, "d"], point: Float[Array, "d"]) -> tuple[Float[Array, "d"], Float[Array, ""]]:
        estimates, u = power_method(function, point, u, iterations=iterations)
        return u, estimates[-1]

    direction = direction.astype(positions.dtype)
    return jax.lax.scan(body, direction / jnp.linalg.norm(direction), positions)[1]


doors(__name__)
