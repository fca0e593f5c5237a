"""Parametrizations made for a given potential: R is given, and G is found.

Mirror flow of R moves by ẇ = −(∇²R)⁻¹∇L. Let F take w to parameters θ = F(w) with ∂Fᵀ∂F = ∇²R, an isometric embedding
of the potential's geometry, and let G give back the w whose F(w) is nearest to θ. On the image of F then
∂G∂Gᵀ = (∂Fᵀ∂F)⁻¹ = (∇²R)⁻¹, and gradient flow in θ of any loss of G(θ) is the mirror flow. By Nash's theorem a smooth R
with positive definite Hessian has such an F, with enough parameters; with as many as weights only where the curvature
of the metric ∇²R is zero. For two families F is written down here: sums of convex functions of one combination of the
weights each, and conjugates of log-partition functions.

Reference: arora 8.1.4; Li, Wang, Lee and Arora 2022.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from deeptheory.foundations.activations import slope_of
from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors
from deeptheory.implicit_bias.potentials import Potential

__all__ = [
    "hessian_curvature",
    "moment_embedding",
    "moment_parametrization",
    "moment_potential",
    "ridge_embedding",
    "ridge_parametrization",
    "ridge_potential",
]

Directions = Float[AnyArray, "k d"]
Profile = Callable[[Any], Any]
NODES, SHARES = np.polynomial.legendre.leggauss(48)


def _solved(step: Callable, height: Callable, start: Any) -> Any:
    """Newton's method: w + step(w), halved while it raises height(w), until nothing moves; else nan."""
    shares = jnp.asarray(0.5 ** np.arange(30), start.dtype)

    def advance(now: tuple) -> tuple:
        count, w, _ = now
        move, here = step(w), height(w)
        # Near the end heights differ by rounding only, and the whole step is to be taken.
        allowed = here + 64 * jnp.finfo(w.dtype).eps * (1 + jnp.abs(here))
        lower = jax.vmap(lambda share: height(w + share * move))(shares) <= allowed
        return count + 1, w + shares[jnp.argmax(lower)] * move, jnp.linalg.norm(move) / (1e-3 + jnp.linalg.norm(w))

    begin, still = (0, start, jnp.ones((), start.dtype)), 1e4 * jnp.finfo(start.dtype).eps
    _, found, moved = jax.lax.while_loop(lambda now: (now[0] < 100) & (now[2] > still), advance, begin)
    return jnp.where(moved < np.sqrt(still), found, jnp.nan)


def _implicit(solve: Callable, derivative: Callable) -> Callable:
    """A solution w(z) of equations with its derivative known, dw = derivative(w, z, dz), to any order: solved once."""

    @jax.custom_jvp
    def held(found: Any, given: Any) -> Any:
        return found

    @held.defjvp
    def _(place: tuple, along: tuple) -> tuple[Any, Any]:
        found = held(*place)
        return found, derivative(found, place[1], along[1])

    return lambda given: held(jax.lax.stop_gradient(solve(jax.lax.stop_gradient(given))), given)


def _origin(origin: Any, width: int) -> np.ndarray:
    return np.zeros(width) if origin is None else np.asarray(origin)


def ridge_potential(
    directions: Directions, profile: Profile, *, origin: Float[AnyArray, " d"] | None = None
) -> Potential:
    """Return R(w) = Σ_k φ_k(⟨c_k, w⟩), a sum of convex functions of single combinations of the weights.

    `directions` has the c_k as rows, which must span the space; `profile` takes the vector of all ⟨c_k, w⟩ to that of
    all φ_k, each entry by itself, twice differentiable with φ″ > 0. `origin` is a point of the domain, 0 if not given,
    from which ∇R is inverted. Separable and quadratic potentials are of this kind. What is no gradient of R, or not
    found in a hundred steps, is answered by nan.
    """
    rows, first, second = np.asarray(directions), slope_of(profile), slope_of(slope_of(profile))

    def value(w: Any) -> Any:
        return jnp.sum(profile(rows @ w))

    def gradient(w: Any) -> Any:
        return rows.T @ first(rows @ w)

    def bend(w: Any) -> Any:
        return rows.T @ (second(rows @ w)[:, None] * rows)

    def inverse(z: Any) -> Any:
        begin = _origin(origin, rows.shape[1]) + 0 * z
        return _solved(lambda w: jnp.linalg.solve(bend(w), z - gradient(w)), lambda w: value(w) - z @ w, begin)

    whole = _implicit(inverse, lambda w, z, along: jnp.linalg.solve(bend(w), along))
    return Potential(jax.jit(value), jax.jit(gradient), jax.jit(whole), jax.jit(lambda w: jnp.linalg.inv(bend(w))))


def _lengths(profile: Profile, begin: np.ndarray) -> Callable:
    """s ↦ ∫√φ″ from `begin` to s, entry by entry."""
    second = slope_of(slope_of(profile))

    def quadrature(at: Any) -> Any:
        roots = jax.vmap(lambda node: jnp.sqrt(second(begin + (1 + node) / 2 * (at - begin))))(NODES)
        return (at - begin) / 2 * (SHARES @ roots)

    return _implicit(quadrature, lambda _, at, along: jnp.sqrt(second(at)) * along)


def ridge_embedding(
    directions: Directions, profile: Profile, *, origin: Float[AnyArray, " d"] | None = None
) -> Callable[[Any], Any]:
    """Return F with ∂Fᵀ∂F = ∇²R for `ridge_potential`: F_k(w) = ∫√φ_k″ from ⟨c_k, origin⟩ to ⟨c_k, w⟩, for each ridge.

    By Gauss's quadrature with 48 nodes, its derivative √φ″ exactly. For the squares of arora Example 8.1.4, φ =
    ¼(s log s − s), this is √w up to a constant.
    """
    rows = np.asarray(directions)
    length = _lengths(profile, rows @ _origin(origin, rows.shape[1]))
    return lambda w: length(rows @ w)


def ridge_parametrization(
    directions: Directions, profile: Profile, *, origin: Float[AnyArray, " d"] | None = None
) -> Callable[[Any], Any]:
    """Return G(θ) = argmin_w ‖θ − F(w)‖ with F of `ridge_embedding`: gradient flow from θ₀ = F(w₀) is the mirror flow.

    D = k parameters for d weights. Started on the image of F the flow stays there, and there the gradients of the
    outputs commute; beside it they need not.
    """
    rows = np.asarray(directions)
    length = _lengths(profile, rows @ _origin(origin, rows.shape[1]))
    slope, bend = slope_of(length), slope_of(slope_of(length))

    def nearest(theta: Any) -> Any:
        def step(w: Any) -> Any:
            steep = slope(rows @ w)[:, None] * rows
            return jnp.linalg.solve(steep.T @ steep, steep.T @ (theta - length(rows @ w)))

        begin = _origin(origin, rows.shape[1]) + 0 * theta[0]
        return _solved(step, lambda w: jnp.sum((theta - length(rows @ w)) ** 2), begin)

    def derivative(w: Any, theta: Any, along: Any) -> Any:
        # Of ∂Fᵀ(F(w) − θ) = 0: what bends off the image counts beside it.
        at = rows @ w
        weights = slope(at) ** 2 + (length(at) - theta) * bend(at)
        return jnp.linalg.solve(rows.T @ (weights[:, None] * rows), rows.T @ (slope(at) * along))

    return _implicit(nearest, derivative)


def _shares(points: Any, z: Any) -> Any:
    return jax.nn.softmax(points @ z)


def moment_potential(atoms: Float[AnyArray, "k d"]) -> Potential:
    """Return the conjugate of R*(z) = log Σ_x e^⟨z, x⟩ over k atoms: minus the largest entropy of weights with mean w.

    ∇R* is the mean under shares p ∝ e^⟨z, x⟩ and the metric their covariance. Its domain is the inside of the atoms'
    convex hull, which must have an inside; elsewhere its answer is nan. For the d + 1 corners of a simplex it is
    Σ p log p: mirror descent with shares that sum to one.
    """
    points = np.asarray(atoms)

    def mean(z: Any) -> Any:
        return _shares(points, z) @ points

    def covariance(z: Any) -> Any:
        centred = points - mean(z)
        return centred.T @ (_shares(points, z)[:, None] * centred)

    def matched(w: Any) -> Any:
        def height(z: Any) -> Any:
            return jax.nn.logsumexp(points @ z) - z @ w

        return _solved(lambda z: jnp.linalg.solve(covariance(z), w - mean(z)), height, 0.0 * w)

    dual = _implicit(matched, lambda z, w, along: jnp.linalg.solve(covariance(z), along))
    return Potential(
        jax.jit(lambda w: dual(w) @ w - jax.nn.logsumexp(points @ dual(w))),
        jax.jit(dual),
        jax.jit(mean),
        jax.jit(lambda w: covariance(dual(w))),
    )


def moment_embedding(atoms: Float[AnyArray, "k d"]) -> Callable[[Any], Any]:
    """Return F(w) = 2√p, p the shares of `moment_potential` with mean w: a point of the sphere of radius 2 in ℝᵏ.

    Fisher's information is the squared length of the derivative of 2√p, so ∂Fᵀ∂F = ∇²R.
    """
    dual, points = moment_potential(atoms).gradient, np.asarray(atoms)
    return jax.jit(lambda w: 2 * jnp.sqrt(_shares(points, dual(w))))


def moment_parametrization(atoms: Float[AnyArray, "k d"]) -> Callable[[Any], Any]:
    """Return G(θ) = Σ_x x θ_x²/‖θ‖²: from θ₀ = F(w₀), F of `moment_embedding`, gradient flow is the mirror flow.

    G does not see the length of θ, so its gradients are orthogonal to θ and flow keeps ‖θ‖ = 2. At any other length it
    is the same flow at another speed, 4/‖θ‖².
    """
    points = np.asarray(atoms)
    return lambda theta: theta**2 @ points / jnp.sum(theta**2)


def hessian_curvature(value: Callable[[Any], Any], point: Float[AnyArray, " d"]) -> Float[Array, "d d d d"]:
    """Return the curvature tensor of the metric g = ∇²R at a point: R_ijkl = ¼ Σ g^pq (T_ilp T_jkq − T_ikp T_jlq).

    T = ∇³R, and R_ijij = K(g_ii g_jj − g_ij²), K the sectional curvature. If it is not zero, no parametrization with as
    many parameters as weights has the geometry of R: gradient flow of G would make w-space flat. Zero for separable and
    quadratic potentials. A second derivative of the metric does not enter: ∇⁴R drops out.

    Reference: Shima, The Geometry of Hessian Structures, 2007; for Nash's theorem arora 8.1.4.
    """
    bend = jax.hessian(value)
    metric, third = bend(jnp.asarray(point)), jax.jacfwd(bend)(jnp.asarray(point))
    mixed = jnp.einsum("ijp,pq,klq->ijkl", third, jnp.linalg.inv(metric), third)
    return (jnp.einsum("iljk->ijkl", mixed) - jnp.einsum("ikjl->ijkl", mixed)) / 4


doors(__name__)
