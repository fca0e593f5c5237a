"""Orthogonal tensors of order four on the sphere: a landscape of strict saddles, all known, and descent online.

T(u) = Σ_i w_i⟨a_i, u⟩⁴ with orthonormal a_i and positive w_i is largest, locally, exactly at ±a_i: whoever climbs it
decomposes the tensor. All other critical points have a direction of known curvature up.

Reference: handbook 5.3; Ge, Huang, Jin and Yuan 2015; Anandkumar et al. 2014, Tensor decompositions for learning latent
variable models.
"""

from collections.abc import Callable
from itertools import combinations
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors

__all__ = [
    "OrthogonalTensor",
    "TensorPoint",
    "online_components",
    "sphere_spectrum",
    "strict_saddle_constant",
    "tensor_critical_points",
]


class OrthogonalTensor(eqx.Module):
    """−T(u) = −Σ_i w_i⟨a_i, u⟩⁴, a loss on the unit sphere; components a_i are orthonormal rows, weights positive."""

    components: Float[Array, "r d"]
    weights: Float[Array, "r"]

    def __call__(self, u: Float[Array, "d"]) -> Float[Array, ""]:
        return -(self.weights @ (self.components @ u) ** 4)


class TensorPoint(NamedTuple):
    """A critical point of `OrthogonalTensor` on the sphere, one of an orbit under changes of sign of the components.

    chosen: the components it has a share in. value: −T there. spectrum: the d − 1 eigenvalues of the Hessian along the
    sphere, in order. index: how many are negative. orbit: how many points the signs make of it.
    """

    position: Float[np.ndarray, "d"]
    chosen: tuple[int, ...]
    value: float
    spectrum: Float[np.ndarray, "e"]
    index: int
    orbit: int


def tensor_critical_points(components: Float[AnyArray, "r d"], weights: Float[AnyArray, "r"]) -> list[TensorPoint]:
    """All critical points of −Σ_i w_i⟨a_i, u⟩⁴ on the unit sphere with T(u) > 0, up to the signs of components.

    For every set I of k ≥ 1 components: ⟨a_i, u⟩² = λ/w_i for i ∈ I with λ = T(u) = 1/Σ_I(1/w_i), and no share of the
    others. Along the sphere the Hessian is −8λ on the k − 1 directions within I and 4λ on the d − k others: minima are
    the single components, and every other point is a strict saddle of index k − 1. With r = d components there are
    3^d − 1 points, and no others. With fewer, those orthogonal to all of them, where T = 0, are maxima besides.

    The list has 2^r − 1 orbits: for r up to about fifteen. Reference: Ge, Huang, Jin and Yuan 2015.
    """
    rows, sizes = np.asarray(components), np.asarray(weights, float)
    count, dimension = rows.shape
    if count > 16:
        raise ValueError(f"components must be at most 16, whose subsets are listed, got {count}")
    if not np.allclose(rows @ rows.T, np.eye(count), atol=1e-8):
        raise ValueError("components must be orthonormal rows: the products of some pair are not 0 and 1")
    found = []
    for size in range(1, count + 1):
        for chosen in combinations(range(count), size):
            kept = list(chosen)
            top = 1 / np.sum(1 / sizes[kept])
            position = np.sqrt(top / sizes[kept]) @ rows[kept]
            spectrum = np.concatenate([np.full(size - 1, -8 * top), np.full(dimension - size, 4 * top)])
            found.append(TensorPoint(position, chosen, -float(top), spectrum, size - 1, 2**size))
    return found


def strict_saddle_constant(weights: Float[AnyArray, "r"]) -> float:
    """The least |λ_min| over all saddles of `OrthogonalTensor`: 8/Σ_i(1/w_i), at the mixture of all components."""
    return float(8 / np.sum(1 / np.asarray(weights, float)))


def sphere_spectrum(
    function: Callable[[Float[Array, "d"]], Float[Array, ""]], point: Float[Array, "d"]
) -> Float[Array, "e"]:
    """The d − 1 eigenvalues, in order, of the Hessian along the unit sphere at a point u of it, of any function.

    P(∇²f − ⟨∇f, u⟩I)P with P the projection to the tangent space: the second term is what the bend of the sphere adds.
    For critical points along the sphere, where Pf' = 0. Batch it with `vmap`. Reference: Absil, Mahony and Sepulchre
    2008, Optimization Algorithms on Matrix Manifolds, ch. 5.
    """
    outward, one = jnp.outer(point, point), jnp.eye(len(point), dtype=point.dtype)
    bent = jax.hessian(function)(point) - (jax.grad(function)(point) @ point) * one
    along = (one - outward) @ bent @ (one - outward)
    # Outward it has the eigenvalue 0; moved beyond all others it is the last.
    return jnp.linalg.eigvalsh(along + (1 + jnp.linalg.norm(bent)) * outward)[:-1]


def online_components(
    samples: Float[Array, "k t d"], starts: Float[Array, "k d"], *, rates: Float[Array, "t"]
) -> Float[Array, "k d"]:
    """Find k orthonormal directions of independent signals one after another, each by a pass over t samples.

    For x = Σ_i s_i a_i with independent signals of mean 0, variance 1 and fourth moments m_i < 3, such as random signs,
    ¼E⟨u, x⟩⁴ = ¾ − ¼Σ_i(3 − m_i)⟨a_i, u⟩⁴ on the sphere: an `OrthogonalTensor` of which a sample shows one noisy
    gradient ⟨u, x⟩³x and no more. Each step descends along it by the rate of its time, stays orthogonal to what was
    found before, and returns to the sphere. Nothing of size d⁴ is ever stored. Signals with m_i > 3 are not found, and
    Gaussian ones (m_i = 3) leave no trace in fourth moments.

    Reference: Ge, Huang, Jin and Yuan 2015, who descend on all directions at once instead of one after another.
    """

    def stage(found: Float[Array, "k d"], given: tuple) -> tuple[Float[Array, "k d"], Float[Array, "d"]]:
        place, stream, start = given

        def onto_sphere(u: Float[Array, "d"]) -> Float[Array, "d"]:
            u = u - found.T @ (found @ u)
            return u / jnp.linalg.norm(u)

        def step(u: Float[Array, "d"], seen: tuple) -> tuple[Float[Array, "d"], None]:
            x, rate = seen
            return onto_sphere(u - rate * (u @ x) ** 3 * x), None

        last, _ = jax.lax.scan(step, onto_sphere(start), (stream, rates))
        return found.at[place].set(last), last

    places = jnp.arange(len(starts))
    return jax.lax.scan(stage, jnp.zeros_like(starts), (places, samples, starts))[1]


doors(__name__, weights="(0, ∞)", rates="[0, ∞)")
