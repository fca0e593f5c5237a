"""Critical points of any function: found, told apart, classified by the Hessian, and by the definition where it fails.

Functions take a vector. `on_vectors` makes one of a function of any tree of arrays, such as a network's parameters.

Reference: arora 6.1 and 6.3; lucchi Defs. 22 to 24; handbook 5.1.
"""

from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, Float, Int

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import numeric
from deeptheory.foundations.krylov import expanded, krylov_start, ritz

__all__ = [
    "CriticalPoints",
    "distinct_points",
    "find_critical_points",
    "improvement",
    "inertia",
    "is_direction_of_improvement",
    "is_second_order_stationary",
    "kind_of_point",
    "least_curvature",
    "on_vectors",
    "spectra_at",
    "sphere_extremes",
]

Function = Callable[[Float[Array, "d"]], Float[Array, ""]]
Number = float | Float[Array, ""]


class CriticalPoints(NamedTuple):
    """Points with what decides their kind: value, length of the gradient, eigenvalues of the Hessian in order."""

    position: Float[Array, "k d"]
    value: Float[Array, "k"]
    slope: Float[Array, "k"]
    eigenvalues: Float[Array, "k d"]


def on_vectors(function: Callable[[Any], Any], example: Any) -> tuple[Function, Float[Array, "d"], Callable]:
    """A function of a tree of arrays as a function of one vector; with the example as a vector, and the way back."""
    numeric(example=example)
    start, tree_of = ravel_pytree(example)
    return lambda vector: function(tree_of(vector)), start, tree_of


def spectra_at(function: Function, points: Float[Array, "k d"]) -> CriticalPoints:
    """Value, gradient and Hessian spectrum at each of the points, in one compiled call.

    Dense Hessians: for dimensions up to a few hundred. In higher dimension `least_curvature` asks for products only.
    """
    return _spectra_at(function, points)


@eqx.filter_jit
def _spectra_at(function: Function, points: Float[Array, "k d"]) -> CriticalPoints:
    def at(point: Float[Array, "d"]) -> CriticalPoints:
        value, gradient = jax.value_and_grad(function)(point)
        spectrum = jnp.linalg.eigvalsh(jax.hessian(function)(point))
        return CriticalPoints(point, value, jnp.linalg.norm(gradient), spectrum)

    return jax.vmap(at)(points)


def find_critical_points(
    function: Function, starts: Float[Array, "k d"], *, steps: Annotated[int, "[1, 1e5]"] = 100
) -> CriticalPoints:
    """Critical points of every index, by Levenberg–Marquardt steps on ½‖∇f‖² from each start.

    Each step solves (H² + μI)δ = −H∇f and is kept if it shortens the gradient; μ falls tenfold after a step that is
    kept and rises tenfold after one that is not. Saddles attract as minima do. A run may end where H∇f = 0 though
    ∇f ≠ 0: look at `slope` before a point is called critical. Which points are found depends on the starts, and no
    search shows that there are no others. A function that is an Equinox module is compiled once for all its values.
    Reference: Levenberg 1944; Marquardt 1963.
    """
    return _spectra_at(function, _settled(function, starts, steps))


@eqx.filter_jit
def _settled(function: Function, starts: Float[Array, "k d"], steps: int) -> Float[Array, "k d"]:
    gradient, hessian = jax.grad(function), jax.hessian(function)

    def run(start: Float[Array, "d"]) -> Float[Array, "d"]:
        def body(_: Any, state: tuple) -> tuple:
            point, damping = state
            slope, curvature = gradient(point), hessian(point)
            normal = curvature @ curvature + damping * jnp.eye(len(point), dtype=point.dtype)
            moved = point - jnp.linalg.solve(normal, curvature @ slope)
            better = jnp.linalg.norm(gradient(moved)) < jnp.linalg.norm(slope)
            # Below the rounding of the squared curvature no damping makes a difference, and singular Hessians need it.
            least = 1e-14 * (1 + jnp.sum(curvature**2))
            damping = jnp.where(better, jnp.maximum(damping / 10, least), jnp.minimum(damping * 10, 1e8))
            return jnp.where(better, moved, point), damping

        return jax.lax.fori_loop(0, steps, body, (start, jnp.ones((), start.dtype)))[0]

    return jax.vmap(run)(starts)


def distinct_points(points: Float[AnyArray, "k d"], *, tolerance: float = 1e-6) -> Int[np.ndarray, "m"]:
    """Which of the points to keep so that no two kept ones are within the tolerance: the first of every cluster."""
    kept: list[int] = []
    found = np.asarray(points)
    for index, point in enumerate(found):
        if not kept or np.linalg.norm(found[kept] - point, axis=1).min() > tolerance:
            kept.append(index)
    return np.array(kept)


def inertia(eigenvalues: Float[AnyArray, "*k d"], *, tolerance: float = 1e-8) -> Int[np.ndarray, "*k 3"]:
    """How many eigenvalues are negative, zero and positive; the first number is the Morse index.

    Zero means within `tolerance` of zero, relative to the largest in size (where all vanish, all are zero). Reference:
    Milnor 1963, Morse Theory, Sec. 2.
    """
    spectrum = np.asarray(eigenvalues)
    allowed = tolerance * np.abs(spectrum).max(axis=-1, keepdims=True)
    below, above = spectrum < -allowed, spectrum > allowed
    return np.stack([below.sum(-1), (~below & ~above).sum(-1), above.sum(-1)], axis=-1)


def kind_of_point(eigenvalues: Float[AnyArray, "d"], *, tolerance: float = 1e-8) -> str:
    """What the Hessian says of a critical point: "minimum", "maximum", "saddle", or "degenerate" if it cannot tell.

    Positive definite: a local minimum; negative definite: a local maximum; eigenvalues of both signs: a saddle. The
    rest may be any of them: w⁴, −w⁴ and w³ have the same Hessian at 0 (arora Claim 6.1.4). See `sphere_extremes`.
    """
    negative, zero, positive = inertia(eigenvalues, tolerance=tolerance)
    if negative and positive:
        return "saddle"
    if zero:
        return "degenerate"
    return "maximum" if negative else "minimum"


def sphere_extremes(
    function: Function, point: Float[Array, "d"], radii: Float[Array, "r"], directions: Float[Array, "k d"]
) -> tuple[Float[Array, "r"], Float[Array, "r"]]:
    """The least and the greatest change of value on spheres around a point, over the given directions.

    By definition a critical point is a saddle if both signs occur at every radius, a local minimum if at small radii
    nothing is negative (arora Def. 6.1.1 and 6.1.3). Directions are scaled to length one. Only the tried ones count:
    both signs found is proof at that radius, one sign is not.
    """
    unit = directions / jnp.linalg.norm(directions, axis=1, keepdims=True)
    around = point + radii[:, None, None] * unit
    change = jax.vmap(jax.vmap(function))(around) - function(point)
    return change.min(axis=1), change.max(axis=1)


def least_curvature(
    function: Function, point: Float[Array, "d"], *, steps: Annotated[int, "[1, 1000]"] = 50
) -> Float[Array, ""]:
    """The least eigenvalue of the Hessian by Lanczos steps, from products of it with vectors alone.

    Exact after as many steps as there are distinct eigenvalues, from above before. Lanczos cannot see eigenvectors that
    are orthogonal to its start; that is a fixed vector without any symmetry of the coordinates. Reference: Lanczos
    1950; Golub and Van Loan 2013, Matrix Computations, ch. 10.
    """
    gradient = jax.grad(function)
    first = jnp.sin(1.0 + jnp.arange(len(point), dtype=point.dtype) ** 2)
    count = min(steps, len(point))
    space = krylov_start(first, count)
    space = expanded(lambda vector: jax.jvp(gradient, (point,), (vector,))[1], space, count)
    return ritz(space, space.projected[0, 0])[0][0]


def is_second_order_stationary(
    function: Function, point: Float[Array, "d"], *, slope: Number, curvature: Number
) -> Bool[Array, ""]:
    """Whether a point is an (ε, γ)-second-order stationary point: ‖∇f‖ ≤ ε and λ_min(∇²f) ≥ −γ (arora Def. 6.3.2).

    `slope` is ε and `curvature` is γ; with both zero it is the exact notion of Def. 6.3.1, and with γ = √(ρε), for a
    ρ-Lipschitz Hessian, the ε-second-order stationary point of Def. 7.1.5. It need not be a minimum: x³ − 3xy² has one
    at 0. Dense Hessian, for dimensions up to a few hundred; beyond, compare `least_curvature` with −γ.
    """
    lowest = jnp.linalg.eigvalsh(jax.hessian(function)(point))[0]
    return (jnp.linalg.norm(jax.grad(function)(point)) <= slope) & (lowest >= -curvature)


def improvement(
    function: Function, point: Float[Array, "d"], direction: Float[Array, "d"]
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """What a direction promises: |⟨∇f, δ⟩|/‖δ‖, and δᵀ∇²f δ/‖δ‖². One product with the Hessian, no Hessian.

    Reference: arora Def. 6.4.2.
    """
    unit = (direction / jnp.linalg.norm(direction)).astype(point.dtype)
    gradient, image = jax.jvp(jax.grad(function), (point,), (unit,))
    return jnp.abs(gradient @ unit), unit @ image


def is_direction_of_improvement(
    function: Function,
    point: Float[Array, "d"],
    direction: Float[Array, "d"],
    *,
    slope: Number = 0.0,
    curvature: Number = 0.0,
) -> Bool[Array, ""]:
    """Whether |⟨∇f, δ⟩| > ε‖δ‖ or δᵀ∇²f δ < −γ‖δ‖², with ε = `slope` and γ = `curvature` (arora Def. 6.4.2).

    A point that has one is no (ε, γ)-second-order stationary point, and a small step along δ or −δ goes down.
    """
    rise, bend = improvement(function, point, direction)
    return (rise > slope) | (bend < -curvature)


doors(__name__, tolerance="[0, 1)", slope="[0, ∞)", curvature="[0, ∞)", radii="(0, ∞)")
