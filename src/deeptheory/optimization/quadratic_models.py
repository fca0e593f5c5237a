"""The parabola that a step minimizes: Newton's, or with a cheaper matrix in the place of the Hessian (lucchi 5.3)."""

from collections.abc import Callable, Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors

__all__ = [
    "QuadraticModel",
    "block_diagonal_part",
    "condition_number",
    "diagonal_part",
    "model_at",
    "preconditioned_curvature",
]

Function = Callable[[Float[Array, "d"]], Float[Array, ""]]


class QuadraticModel(eqx.Module):
    """The function Δ ↦ f + g·Δ + ½ΔᵀBΔ around a point, with B = `curvature` symmetric."""

    value: Float[Array, ""]
    slope: Float[Array, "d"]
    curvature: Float[Array, "d d"]

    def __call__(self, move: Float[Array, "d"]) -> Float[Array, ""]:
        return self.value + self.slope @ move + move @ self.curvature @ move / 2

    @property
    def step(self) -> Float[Array, "d"]:
        """The stationary point −B⁻¹g: the minimizer if B is positive definite, else a saddle or a maximum."""
        return -jnp.linalg.solve(self.curvature, self.slope)


def model_at(
    function: Function, point: Float[Array, "d"], *, curvature: Float[AnyArray, "d d"] | None = None
) -> QuadraticModel:
    """Return the quadratic model of a function at a point, with its Hessian or with the `curvature` given.

    The step of the model is Newton's with the Hessian, and gradient descent with step η for B = I/η: lucchi 5.3 says
    I, and means this. It differs from f by what the third derivative and B − ∇²f make of the move.

    Reference: lucchi 5.3, Fig. 5.3.
    """
    value, slope = jax.value_and_grad(function)(point)
    matrix = jax.hessian(function)(point) if curvature is None else jnp.asarray(curvature)
    return QuadraticModel(value, slope, matrix)


def diagonal_part(matrix: Float[AnyArray, "*k d d"]) -> Float[Array, "*k d d"]:
    """Return the matrix with all but its diagonal set to zero: Jacobi's preconditioner, d numbers to invert."""
    return jnp.asarray(matrix) * jnp.eye(np.shape(matrix)[-1])


def block_diagonal_part(matrix: Float[AnyArray, "*k d d"], sizes: Sequence[int]) -> Float[Array, "*k d d"]:
    """Return the matrix with all but its diagonal blocks set to zero, blocks of the given sizes in order.

    One block a layer is what many preconditioners for networks approximate. The sizes must add up to d.
    """
    if min(sizes, default=0) < 1 or sum(sizes) != np.shape(matrix)[-1]:
        raise ValueError(f"sizes must be positive and add up to {np.shape(matrix)[-1]}, got {tuple(sizes)}")
    block = np.repeat(np.arange(len(sizes)), sizes)
    return jnp.asarray(matrix) * (block[:, None] == block)


def condition_number(matrix: Float[AnyArray, "*k d d"]) -> Float[Array, "*k"]:
    """Return κ = λ_max/λ_min of a symmetric positive definite matrix, infinite if it is singular."""
    values = jnp.linalg.eigvalsh(jnp.asarray(matrix))
    least, largest = values[..., 0], values[..., -1]
    if not isinstance(least, Tracer) and bool(jnp.any(least < -1e-12 * jnp.abs(values).max(-1))):
        raise ValueError(f"matrix must be positive semidefinite, got an eigenvalue {float(least.min()):.6g}")
    return jnp.where(least > 0, largest / jnp.where(least > 0, least, 1.0), jnp.inf)


def preconditioned_curvature(
    matrix: Float[AnyArray, "d d"], approximation: Float[AnyArray, "d d"]
) -> Float[Array, "d d"]:
    """Return B^{−1/2} Q B^{−1/2}, the curvature that descent with the preconditioner B⁻¹ sees.

    With x = B^{−1/2}z a function of Hessian Q = `matrix` has this Hessian in z, and plain descent in z is
    x ← x − ηB⁻¹∇f(x). The identity for B = Q. `approximation` B is symmetric positive definite.

    Reference: lucchi Fig. 5.5.
    """
    values, vectors = jnp.linalg.eigh(jnp.asarray(approximation))
    if not isinstance(values, Tracer) and bool(values[0] <= 0):
        raise ValueError(f"approximation must be positive definite, got an eigenvalue {float(values[0]):.6g}")
    root = (vectors / jnp.sqrt(values)) @ vectors.T
    return root @ jnp.asarray(matrix) @ root


doors(__name__)
