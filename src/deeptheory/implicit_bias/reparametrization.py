"""Reparametrized models: gradient flow in θ of a loss of w = G(θ), the metric it induces, and the mirror map it has.

In w the flow is ẇ = −∂G∂Gᵀ∇L(w). It is the mirror flow of a potential R if ∂G∂Gᵀ = (∇²R)⁻¹ along it; a G whose
outputs' gradients commute as vector fields has such an R, which may depend on where θ starts. G is any function of a
pytree of arrays; its value is one vector.

`parametrization` is G and `theta` θ.

Reference: arora 8.1.2 to 8.1.4; Li, Wang, Lee and Arora 2022.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from deeptheory.foundations.arrays import AnyArray, traced
from deeptheory.foundations.entrances import door, doors
from deeptheory.foundations.flows import adaptive_flow, followed
from deeptheory.foundations.guards import batched, numeric
from deeptheory.implicit_bias.potentials import Potential

__all__ = [
    "dual_point",
    "gram_entries",
    "induced_metric",
    "lie_brackets",
    "mirror_flow",
    "mirror_map",
    "mirror_violations",
    "products",
    "reparametrized_flow",
    "squares",
    "squares_apart",
]

Times = Float[AnyArray, " k"]


def squares(theta: Float[AnyArray, " d"]) -> Any:
    """G(θ) = θ∘θ, whose flow is that of the entropy ¼Σ w log w − w. arora Example 8.1.4."""
    return theta * theta


def products(pair: Any) -> Any:
    """G(u, v) = u∘v: a network with one weight in and one out of every hidden unit. arora 8.1.2."""
    return pair[0] * pair[1]


def squares_apart(pair: Any) -> Any:
    """G(u, v) = u∘u − v∘v, which is `products` after a rotation and a scaling by two. arora Example 8.1.5."""
    return pair[0] * pair[0] - pair[1] * pair[1]


def gram_entries(factor: Float[AnyArray, "d r"]) -> Any:
    """G(U) = the entries of UUᵀ on and above the diagonal: matrix factorization, which does not commute."""
    gram = factor @ factor.T
    return gram[np.triu_indices(len(gram))]


def _flat(parametrization: Callable[[Any], Any], theta: Any) -> tuple[Callable[[Any], Any], Any]:
    numeric(theta=theta)
    point, back = ravel_pytree(jax.tree.map(jnp.asarray, theta))
    return lambda flat: jnp.ravel(parametrization(back(flat))), point


def induced_metric(parametrization: Callable[[Any], Any], theta: Any) -> Float[Array, "d d"]:
    """Return ∂G(θ)∂G(θ)ᵀ, by which gradient flow in θ moves w = G(θ). arora (8.9)."""
    function, point = _flat(parametrization, theta)
    jacobian = jax.jacobian(function)(point)
    return jacobian @ jacobian.T


def mirror_violations(
    parametrization: Callable[[Any], Any], potential: Callable[[Any], Any], thetas: Any
) -> Float[Array, " k"]:
    """Return how far ∂G∂Gᵀ is from (∇²R)⁻¹ at each of many θ: the largest |μ − 1| over eigenvalues μ of ∂G∂Gᵀ∇²R(G(θ)).

    By so much, in the metric of R and for the worst loss, the speed of w = G(θ) under gradient flow differs from that
    of mirror flow at the same w; coordinates of w do not matter. The largest of the numbers is 0 along a flow exactly
    if that flow of L∘G is the mirror flow of R (8.10), and 0 over all θ if G and R agree whatever the start (8.11).

    Args:
        parametrization: G, a function of a pytree of arrays whose value is one vector w.
        potential: R itself, a function of JAX with a positive definite Hessian at every G(θ); of a `Potential` its
            `value`. Its second derivatives are taken here, not read from a `metric`.
        thetas: the pytree with the θ along a first axis: random ones, or those of `reparametrized_flow` put back into
            shape.

    To find an R that is not known use `mirror_map`. Numbers of random θ that are 0 prove nothing about others.

    Reference: arora (8.10), (8.11).
    """
    batched(thetas=thetas)

    def violation(theta: Any) -> Array:
        weights = jnp.ravel(parametrization(theta))
        # With ∇²R = CCᵀ the eigenvalues are those of the symmetric Cᵀ∂G∂GᵀC.
        root = jnp.linalg.cholesky(jax.hessian(potential)(weights))
        return jnp.max(jnp.abs(jnp.linalg.eigvalsh(root.T @ induced_metric(parametrization, theta) @ root) - 1))

    return jax.jit(jax.vmap(violation))(jax.tree.map(jnp.asarray, thetas))


def lie_brackets(parametrization: Callable[[Any], Any], theta: Any) -> Float[Array, "d d p"]:
    """Return [∇G_i, ∇G_j](θ) = ∇²G_i∇G_j − ∇²G_j∇G_i for all outputs i and j; G commutes if all are 0 everywhere.

    arora Def. 8.1.8, where i and j run over the d outputs.
    """
    function, point = _flat(parametrization, theta)
    rows = jax.jacobian(function)
    # Derivative of every row ∇G_i along ∇G_j.
    turned = jax.vmap(lambda along: jax.jvp(rows, (point,), (along,))[1], out_axes=1)(rows(point))
    return turned - jnp.swapaxes(turned, 0, 1)


def dual_point(
    parametrization: Callable[[Any], Any], theta: Any, dual: Float[AnyArray, " d"], *, steps: int = 400
) -> Any:
    """Return where θ goes when it is pulled by the dual vector μ for a unit of time: θ̇ = Σ μᵢ∇Gᵢ(θ).

    Along gradient flow of a commuting G, θ_t is this point for μ = −∫∇L, whatever the loss. By `steps` steps of the
    classical Runge–Kutta method. Traceable.
    """
    function, point = _flat(parametrization, theta)
    if (size := jax.eval_shape(function, point).size) != len(dual):
        raise ValueError(f"dual must have one entry for each of the {size} outputs at theta, got {len(dual)}")

    def velocity(at: Any) -> Any:
        return jax.vjp(function, at)[1](jnp.asarray(dual, at.dtype))[0] / steps

    def step(at: Any, _: None) -> tuple[Any, None]:
        first = velocity(at)
        second = velocity(at + first / 2)
        third = velocity(at + second / 2)
        return at + (first + 2 * second + 2 * third + velocity(at + third)) / 6, None

    return ravel_pytree(theta)[1](jax.lax.scan(step, point, None, length=steps)[0])


def mirror_map(parametrization: Callable[[Any], Any], theta: Any, *, steps: int = 400) -> Potential:
    """Return the potential whose mirror flow is the gradient flow of G from θ₀, or say what stands in the way.

    For a commuting G it is the conjugate of Q with ∇Q(μ) = G at `dual_point`(μ): `inverse` pulls θ₀ by μ, `gradient`
    finds the μ that leads to w, `metric` is ∂G∂Gᵀ there. It knows only w that θ can reach from θ₀, and R up to a
    constant: R(G(θ₀)) = 0. Refused: a G with Lie brackets that are not 0, at θ₀ or at one of 20 points that θ₀ can be
    pulled to, and a θ₀ at which ∂G∂Gᵀ is singular, where w cannot move everywhere.

    All four functions go through `jit`, `vmap` and `grad`, in w, θ₀ and what G is made of; the derivative of
    `gradient`, to any order, is that of the equation ∇Q(μ) = w. Traced, what is refused otherwise is nan.

    Reference: arora 8.1.4; Li, Wang, Lee and Arora 2022.
    """
    function, point = _flat(parametrization, theta)
    point = _commuting(function, point)
    width = jax.eval_shape(function, point).size

    @jax.jit
    def pulled(dual: Any) -> tuple[Any, Any]:
        flat = dual_point(function, point, dual, steps=steps)
        return function(flat), induced_metric(function, flat)

    @jax.jit
    def searched(w: Any) -> Any:
        return _pull_to(pulled, jnp.asarray(w, float), jnp.zeros(width))

    def gradient(w: Any) -> Any:
        dual = searched(w)
        if traced(dual):
            return dual
        if np.isnan(dual).any():
            raise ValueError(f"no pull leads from the start to w = {np.asarray(w)}: the flow does not reach it")
        return np.asarray(dual)

    nodes, weights = np.polynomial.legendre.leggauss(20)

    @jax.jit
    def valued(dual: Any, w: Any) -> Any:
        # R(w) = ⟨μ, w⟩ − Q(μ), and Q(μ) = ∫₀¹ ⟨μ, ∇Q(sμ)⟩ ds, all but a constant.
        along = jax.vmap(lambda node: pulled((1 + node) / 2 * dual)[0])(jnp.asarray(nodes))
        return dual @ w - weights @ (along @ dual) / 2

    def value(w: Any) -> Any:
        found = valued(gradient(w), w)
        return found if traced(found) else float(found)

    def metric(w: Any) -> Any:
        return pulled(gradient(w))[1]

    return Potential(door(value), door(gradient), lambda z: pulled(z)[0], door(metric))


def _commuting(function: Callable[[Any], Any], point: Any) -> Any:
    """The start of a parametrization that has a mirror map there; of one that has none a refusal, or nan if traced."""
    values = jnp.linalg.eigvalsh(induced_metric(function, point))
    speed, width = jnp.sqrt(jnp.maximum(values[-1], 0.0)), len(values)
    duals = np.random.default_rng(0).standard_normal((21, width)) / (10 * np.sqrt(width))
    duals[0] = 0.0
    pulls = duals / jnp.maximum(speed, 1.0)
    places = jax.jit(jax.vmap(lambda dual: dual_point(function, point, dual, steps=20)))(pulls)
    brackets = jax.jit(jax.vmap(lambda at: lie_brackets(function, at)))(places)
    sizes = jnp.linalg.norm(brackets, axis=-1).max(0)
    regular = values[0] > 1e-12 * jnp.maximum(values[-1], 1e-300)
    commute = sizes.max() <= 1e-8 * (1 + speed)
    if traced(sizes):
        return jnp.where(regular & commute, point, jnp.nan)
    if not regular:
        raise ValueError(f"∂G∂Gᵀ is singular at the start, with eigenvalues from {values[0]:.3g} to {values[-1]:.3g}")
    if not commute:
        i, j = np.unravel_index(np.argmax(sizes), (width, width))
        raise ValueError(
            f"the parametrization is no mirror flow that is known: outputs {i} and {j} do not commute, with a Lie "
            f"bracket of length {sizes.max():.3g}"
        )
    return point


def _pull_to(pulled: Callable[[Any], tuple[Any, Any]], target: Array, begin: Array) -> Array:
    """The μ with ∇Q(μ) = w, by Newton's method, halving steps that do not help; nan where there is none."""
    scale = 1 + jnp.linalg.norm(target)

    def off(seen: tuple) -> Any:
        return jnp.linalg.norm(target - seen[0])

    def step(now: tuple) -> tuple:
        count, dual, seen, _ = now
        move = jnp.linalg.solve(seen[1], target - seen[0])

        def too_long(tried: tuple) -> Any:
            return ~(off(tried[1]) < off(seen)) & (tried[0] > 1e-12)

        def halved(tried: tuple) -> tuple:
            return tried[0] / 2, pulled(dual + tried[0] / 2 * move)

        length, new = lax.while_loop(too_long, halved, (jnp.ones_like(scale), pulled(dual + move)))
        better = off(new) < off(seen)
        kept = jax.tree.map(partial(jnp.where, better), (dual + length * move, new), (dual, seen))
        return count + 1, *kept, better & (off(new) > 1e-13 * scale)

    def newton(_: Any, begin: Any) -> Any:
        first = 0, begin, pulled(begin), jnp.asarray(True)
        return lax.while_loop(lambda now: (now[0] < 200) & now[3], step, first)[1]

    def solved(linear: Any, change: Any) -> Any:
        return jnp.linalg.solve(jax.jacobian(linear)(change), change)

    found = lax.custom_root(lambda dual: pulled(dual)[0] - target, begin, newton, solved)
    near = max(1e-9, 100 * float(jnp.finfo(scale.dtype).eps))
    return jnp.where(off(pulled(found)) <= near * scale, found, jnp.nan)


def reparametrized_flow(
    parametrization: Callable[[Any], Any], loss: Callable[[Any], Any], theta: Any, times: Times, *, rtol: float = 1e-10
) -> Float[AnyArray, "k p"]:
    """Return θ_t, laid out as `ravel_pytree` does, of θ̇ = −∇(L∘G)(θ) from θ₀ at time 0. arora (8.7).

    On the host; under `jit`, `vmap` and `grad`, in θ₀, times and what G and L are made of, as
    `foundations.flows.adaptive_flow`: what cannot be followed is then nan.
    """
    function, point = _flat(parametrization, theta)
    return _followed(jax.jit(jax.grad(lambda flat: -loss(function(flat)))), point, times, rtol)


def mirror_flow(
    potential: Potential,
    loss: Callable[[Any], Any],
    start: Float[AnyArray, " d"],
    times: Times,
    *,
    rtol: float = 1e-10,
) -> Float[AnyArray, "k d"]:
    """Return w_t of d∇R(w)/dt = −∇L(w) from w₀ at time 0, followed in the dual variable. arora (8.6).

    On the host; under `jit`, `vmap` and `grad`, in w₀, times and what R and L are made of, as
    `foundations.flows.adaptive_flow`: what cannot be followed is then nan.
    """
    force = jax.jit(jax.grad(lambda w: -loss(w)))
    begin = potential.gradient(start if traced(start) else np.asarray(start, float))
    duals = _followed(lambda dual: force(potential.inverse(dual)), begin, times, rtol)
    if traced(duals):
        return jax.vmap(potential.inverse)(duals)
    return np.stack([np.asarray(potential.inverse(dual)) for dual in duals])


def _followed(velocity: Callable[[Any], Any], start: Any, times: Times, rtol: float) -> Any:
    if traced(start, times, velocity(start)):
        return adaptive_flow(velocity, start, times, tolerance=rtol)
    start = np.asarray(start, float)
    return followed(lambda _, at: np.asarray(velocity(at)), 0.0, start, times, method="DOP853", tolerance=rtol)


doors(__name__, steps="[1, 1e6]", rtol="[1e-13, 0.1]")
