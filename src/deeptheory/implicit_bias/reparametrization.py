"""Reparametrized models: gradient flow in θ of a loss of w = G(θ), the metric it induces, and the mirror map it has.

In w the flow is ẇ = −∂G∂Gᵀ∇L(w). It is the mirror flow of a potential R if ∂G∂Gᵀ = (∇²R)⁻¹ along it; a G whose
outputs' gradients commute as vector fields has such an R, which may depend on where θ starts. G is any function of a
pytree of arrays; its value is one vector.

`parametrization` is G and `theta` θ.

Reference: arora 8.1.2 to 8.1.4; Li, Wang, Lee and Arora 2022.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import door, doors
from deeptheory.foundations.flows import followed
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
    pulled to, and a θ₀ at which ∂G∂Gᵀ is singular, where w cannot move everywhere. `value`, `gradient` and `metric`
    look for μ on the host and refuse traced w; `inverse` is traceable.

    Reference: arora 8.1.4; Li, Wang, Lee and Arora 2022.
    """
    function, point = _flat(parametrization, theta)
    width = len(jax.eval_shape(function, point))

    def metric_at(flat: Any) -> Any:
        return induced_metric(function, flat)

    @jax.jit
    def pulled(dual: Any) -> tuple[Any, Any, Any]:
        flat = dual_point(function, point, dual, steps=steps)
        return function(flat), metric_at(flat), flat

    values = np.linalg.eigvalsh(np.asarray(metric_at(point)))
    if values[0] <= 1e-12 * max(values[-1], 1e-300):
        raise ValueError(f"∂G∂Gᵀ is singular at the start, with eigenvalues from {values[0]:.3g} to {values[-1]:.3g}")
    speed = np.sqrt(values[-1])
    duals = np.random.default_rng(0).standard_normal((21, width)) / (10 * np.sqrt(width) * max(speed, 1.0))
    duals[0] = 0.0
    places = jax.jit(jax.vmap(lambda dual: dual_point(function, point, dual, steps=20)))(duals)
    sizes = np.linalg.norm(np.asarray(jax.jit(jax.vmap(lambda at: lie_brackets(function, at)))(places)), axis=-1)
    i, j = np.unravel_index(np.argmax(sizes.max(0)), (width, width))
    if sizes.max() > 1e-8 * (1 + speed):
        raise ValueError(
            f"the parametrization is no mirror flow that is known: outputs {i} and {j} do not commute, with a Lie "
            f"bracket of length {sizes.max():.3g}"
        )

    def gradient(w: Any) -> np.ndarray:
        target, dual = np.asarray(w, float), np.zeros(width)
        found, bend, _ = (np.asarray(each) for each in pulled(dual))
        for _ in range(200):
            rest = target - found
            if np.linalg.norm(rest) <= 1e-13 * (1 + np.linalg.norm(target)):
                return dual
            move, length = np.linalg.solve(bend, rest), 1.0
            while length > 1e-12:
                new, slope, _ = (np.asarray(each) for each in pulled(dual + length * move))
                if np.linalg.norm(target - new) < np.linalg.norm(rest):
                    break
                length /= 2
            else:
                break
            dual, found, bend = dual + length * move, new, slope
        if np.linalg.norm(target - found) > 1e-9 * (1 + np.linalg.norm(target)):
            raise ValueError(f"no pull leads from the start to w = {target}: the flow does not reach it")
        return dual

    nodes, weights = np.polynomial.legendre.leggauss(20)

    def value(w: Any) -> float:
        dual = gradient(w)
        # R(w) = ⟨μ, w⟩ − Q(μ), and Q(μ) = ∫₀¹ ⟨μ, ∇Q(sμ)⟩ ds, all but a constant.
        along = [float(dual @ np.asarray(pulled((1 + node) / 2 * dual)[0])) for node in nodes]
        return float(dual @ np.asarray(w, float)) - float(weights @ along) / 2

    def metric(w: Any) -> Any:
        return pulled(gradient(w))[1]

    return Potential(door(value), door(gradient), lambda z: pulled(z)[0], door(metric))


def reparametrized_flow(
    parametrization: Callable[[Any], Any], loss: Callable[[Any], Any], theta: Any, times: Times, *, rtol: float = 1e-10
) -> Float[np.ndarray, "k p"]:
    """Return θ_t, laid out as `ravel_pytree` does, of θ̇ = −∇(L∘G)(θ) from θ₀ at time 0. arora (8.7)."""
    function, point = _flat(parametrization, theta)
    slope = jax.jit(jax.grad(lambda flat: loss(function(flat))))
    start = np.asarray(point, float)
    return followed(lambda t, flat: -np.asarray(slope(flat)), 0.0, start, times, method="DOP853", tolerance=rtol)


def mirror_flow(
    potential: Potential,
    loss: Callable[[Any], Any],
    start: Float[AnyArray, " d"],
    times: Times,
    *,
    rtol: float = 1e-10,
) -> Float[np.ndarray, "k d"]:
    """Return w_t of d∇R(w)/dt = −∇L(w) from w₀ at time 0, followed in the dual variable. arora (8.6)."""
    slope = jax.jit(jax.grad(loss))
    begin = np.asarray(potential.gradient(np.asarray(start, float)))

    def velocity(t: float, dual: np.ndarray) -> np.ndarray:
        return -np.asarray(slope(np.asarray(potential.inverse(dual))))

    duals = followed(velocity, 0.0, begin, times, method="DOP853", tolerance=rtol)
    return np.stack([np.asarray(potential.inverse(dual)) for dual in duals])


doors(__name__, steps="[1, 1e6]", rtol="[1e-13, 0.1]")
