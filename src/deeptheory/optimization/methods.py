"""Methods that optax lacks, in optax's shape: `init(params)` and `update(gradient, state, params)`.

From optax itself come gradient descent and the heavy ball (`optax.sgd(step, momentum)`), AdaGrad with the present
gradient in its diagonal (`optax.adagrad`), RMSProp, Adam and weight decay (`optax.adamw`), noise at every step
(`optax.add_noise` with gamma=0) and schedules.

`step_size` is η.
"""

from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, Int

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors

__all__ = [
    "AcceleratedState",
    "AdaGradState",
    "PlateauState",
    "SnapshotState",
    "accelerated",
    "adagrad_norm",
    "divide_on_plateau",
    "growing_momentum",
    "lagged_adagrad",
    "newton",
    "preconditioned",
    "variance_amplified",
    "variance_reduced",
]

Number = float | Float[Array, ""]


def growing_momentum(count: int | float | Int[Array, "..."] | Float[Array, "..."]) -> float | Float[Array, "..."]:
    """Return t/(t + 3), Nesterov's momentum after t + 1 gradient steps on a convex function.

    Reference: Su, Boyd and Candès 2016.
    """
    return count / (count + 3)


class AcceleratedState(NamedTuple):
    """What Nesterov's method remembers: the point x_t that its last gradient step led to, and how many there were."""

    point: Any
    count: Int[Array, "*k"]


def accelerated(
    step_size: Number, *, momentum: Number | Callable[[Array], Any] = growing_momentum
) -> optax.GradientTransformationExtraArgs:
    """Nesterov's accelerated gradient descent, with a momentum that may change with time.

    x_{t+1} = y_t − η∇f(y_t), y_{t+1} = x_{t+1} + β_t(x_{t+1} − x_t), y₀ = x₀. The parameters that optax holds are the
    look-ahead points y, where gradients are taken; the points x, of which the theorems speak, are `state.point`. With
    the usual β_t = t/(t + 3) and η ≤ 1/L a convex function has f(x_t) − f* ≤ 2‖x₀ − x*‖²/(η(t + 1)²). With a constant
    β this is `optax.sgd(η, β, nesterov=True)`. Not a descent method: values rise now and then.

    Reference: arora 2.3, where u stands for w in the look-ahead; Nesterov 1983.
    """

    def init(params: Any) -> AcceleratedState:
        return AcceleratedState(params, jnp.zeros((), int))

    def update(updates: Any, state: AcceleratedState, params: Any = None, **_: Any) -> tuple[Any, AcceleratedState]:
        beta = momentum(state.count) if callable(momentum) else momentum
        point = jax.tree.map(lambda y, g: y - step_size * g, params, updates)
        move = jax.tree.map(lambda y, new, old: new - y + beta * (new - old), params, point, state.point)
        return move, AcceleratedState(point, state.count + 1)

    return optax.GradientTransformationExtraArgs(init, update)  # type: ignore[arg-type]


class AdaGradState(NamedTuple):
    """What AdaGrad remembers: the sum of squared gradients, one number or one a coordinate."""

    squares: Any


def adagrad_norm(step_size: Number = 1.0, *, initial: Number = 0.0) -> optax.GradientTransformationExtraArgs:
    """AdaGrad with one step size for all coordinates: η/√(b² + Σ_{i≤t}‖g_i‖²), the present gradient among them.

    `initial` is b²; with 0 the first step has length η whatever the gradient. A zero gradient moves nothing. Needs no
    smoothness constant; one very large gradient makes all later steps short.

    Reference: arora Alg. 3 and Thm 2.5.4; Ward, Wu and Bottou 2020.
    """

    def init(params: Any) -> AdaGradState:
        return AdaGradState(jnp.asarray(initial, jnp.result_type(*jax.tree.leaves(params))))

    def update(updates: Any, state: AdaGradState, params: Any = None, **_: Any) -> tuple[Any, AdaGradState]:
        total = state.squares + sum(jnp.vdot(g, g) for g in jax.tree.leaves(updates))
        rate = step_size * jnp.where(total > 0, jax.lax.rsqrt(jnp.where(total > 0, total, 1.0)), 0.0)
        return jax.tree.map(lambda g: -rate * g, updates), AdaGradState(total)

    return optax.GradientTransformationExtraArgs(init, update)  # type: ignore[arg-type]


def lagged_adagrad(step_size: Number = 1.0, *, bound: Number) -> optax.GradientTransformationExtraArgs:
    """AdaGrad with a step size for each coordinate j from earlier gradients alone: η/√(σ² + Σ_{i<t} g_i(j)²).

    `bound` σ is the largest a coordinate of a gradient gets. That the step does not know the gradient it multiplies
    makes its expectation that of the true gradient, which the proof of the theorem needs. With the present gradient in
    the sum it is `optax.adagrad`.

    Reference: arora Alg. 3 and Thm 2.5.5.
    """

    def init(params: Any) -> AdaGradState:
        return AdaGradState(jax.tree.map(lambda p: jnp.full_like(p, bound) ** 2, params))

    def update(updates: Any, state: AdaGradState, params: Any = None, **_: Any) -> tuple[Any, AdaGradState]:
        move = jax.tree.map(lambda g, s: -step_size * g / jnp.sqrt(s), updates, state.squares)
        return move, AdaGradState(jax.tree.map(lambda g, s: s + g**2, updates, state.squares))

    return optax.GradientTransformationExtraArgs(init, update)  # type: ignore[arg-type]


def preconditioned(
    inverse: Float[AnyArray, "p p"], *, step_size: Number = 1.0
) -> optax.GradientTransformationExtraArgs:
    """Gradient descent with a fixed preconditioner: w ← w − ηQ∇f(w).

    `inverse` Q stands for the inverse of the Hessian, not for the Hessian, in the order in which `ravel_pytree` lays
    out the parameters. With Q = A⁻¹ and η = 1 a quadratic with Hessian A is minimized in one step.

    Reference: arora 2.4.1.
    """

    def update(updates: Any, state: Any, params: Any = None, **_: Any) -> tuple[Any, Any]:
        flat, back = ravel_pytree(updates)
        return back(-step_size * (jnp.asarray(inverse, flat.dtype) @ flat)), state

    return optax.GradientTransformationExtraArgs(lambda params: optax.EmptyState(), update)  # type: ignore[arg-type]


def newton(*, step_size: Number = 1.0, ridge: Number = 0.0) -> optax.GradientTransformationExtraArgs:
    """Newton's method: w ← w − η(∇²f(w) + αI)⁻¹∇f(w), by the dense Hessian.

    `update` asks for `value_fn`, the function itself, as optax's line searches do. `ridge` α makes the matrix positive
    definite where f is not convex; without it Newton's method walks to the nearest stationary point, a saddle or a
    maximum as well. Near a minimum with invertible Hessian the error is squared at each step. For up to some thousand
    parameters.

    Reference: arora 2.4.1.
    """

    def update(
        updates: Any, state: Any, params: Any = None, *, value_fn: Callable[[Any], Any], **_: Any
    ) -> tuple[Any, Any]:
        point, back = ravel_pytree(params)
        hessian = jax.hessian(lambda flat: value_fn(back(flat)))(point)
        flat = ravel_pytree(updates)[0]
        return back(-step_size * jnp.linalg.solve(hessian + ridge * jnp.eye(len(flat), dtype=flat.dtype), flat)), state

    return optax.GradientTransformationExtraArgs(lambda params: optax.EmptyState(), update)  # type: ignore[arg-type]


class SnapshotState(NamedTuple):
    """What variance reduction remembers: the snapshot, the full gradient there, and how many steps were taken."""

    snapshot: Any
    gradient: Any
    count: Int[Array, "*k"]


def variance_reduced(
    step_size: Number, *, function: Callable[[Any], Any], every: Annotated[int, "[1, 1e7]"]
) -> optax.GradientTransformationExtraArgs:
    """Stochastic gradients corrected at a snapshot (SVRG): w ← w − η(∇f_B(w) − ∇f_B(s) + ∇f(s)).

    `function` is the whole loss f; the loss f_B of the batch comes as `value_fn`, as `trajectory` with `batches` gives
    it. The snapshot s becomes w every so many steps, at the cost of a full gradient. Unbiased, and without noise where
    w and s agree, so that a constant step converges. Where networks are trained, its noise is hardly smaller.

    Reference: lucchi 5.7; Johnson and Zhang 2013.
    """

    def init(params: Any) -> SnapshotState:
        return SnapshotState(params, jax.grad(function)(params), jnp.zeros((), int))

    def update(
        updates: Any, state: SnapshotState, params: Any = None, *, value_fn: Callable[[Any], Any], **_: Any
    ) -> tuple[Any, SnapshotState]:
        snapshot, whole = jax.lax.cond(
            state.count % every == 0,
            lambda: (params, jax.grad(function)(params)),
            lambda: (state.snapshot, state.gradient),
        )
        there = jax.grad(value_fn)(snapshot)
        move = jax.tree.map(lambda g, old, full: -step_size * (g - old + full), updates, there, whole)
        return move, SnapshotState(snapshot, whole, state.count + 1)

    return optax.GradientTransformationExtraArgs(init, update)  # type: ignore[arg-type]


def variance_amplified(
    function: Callable, step_size: Number, amplification: Number
) -> optax.GradientTransformationExtraArgs:
    """SVAG: stochastic gradient descent with ℓ times the covariance of the noise, from a second batch.

    x ← x − η(½(1 + √(2ℓ − 1))g₁ + ½(1 − √(2ℓ − 1))g₂) with the gradients g₁, g₂ of two independent batches; `update`
    gets g₁ and asks for the second batch as `draw`: `trajectory(f, variance_amplified(f, η, ℓ), x, steps=…, batches=…,
    draws=…)`. To see whether descent at a rate r follows its diffusion give `step_size` r/ℓ and take ℓ times as many
    steps, for growing ℓ. With ℓ = 1 it is `optax.sgd`, bit for bit. Costs two gradients a step, and trains no better.

    Args:
        function: f(x, batch), of which the gradients are.
        step_size: η of the steps that are made, r/ℓ and not r.
        amplification: ℓ, 1 or above.

    Reference: arora Def. 12.4.1; Li, Malladi and Arora 2021.
    """
    root = jnp.sqrt(2 * jnp.asarray(amplification) - 1)
    first, second = (1 + root) / 2, (1 - root) / 2

    def update(updates: Any, state: Any, params: Any = None, *, draw: Any, **_: Any) -> tuple[Any, Any]:
        other = jax.grad(function)(params, draw)
        return jax.tree.map(
            lambda one, two: -step_size * (first * one + second * two).astype(one.dtype), updates, other
        ), state

    return optax.GradientTransformationExtraArgs(lambda params: optax.EmptyState(), update)  # type: ignore[arg-type]


class PlateauState(NamedTuple):
    """What the plateau rule remembers: the last value, how many in a row did not fall, and the factor reached."""

    last: Float[Array, "*k"]
    waited: Int[Array, "*k"]
    scale: Float[Array, "*k"]


def divide_on_plateau(factor: Number = 2.0, *, patience: int = 3) -> optax.GradientTransformationExtraArgs:
    """Divide the step by a factor whenever the value has not fallen for a number of steps in a row.

    To be chained after a method: `optax.chain(optax.sgd(1.0), divide_on_plateau(5.0))`; `update` asks for `value`. On a
    quadratic with largest curvature L gradient descent that starts with too long a step ends with the first of η, η/q,
    η/q², … below 2/L: above, values rise sooner or later at every step, below they always fall.
    `optax.contrib.reduce_on_plateau` compares with the best value so far and so goes on dividing while a run that
    once blew up comes back.

    Reference: arora 2.6.
    """

    def init(params: Any) -> PlateauState:
        kind = jnp.result_type(*jax.tree.leaves(params))
        return PlateauState(jnp.asarray(jnp.inf, kind), jnp.zeros((), int), jnp.ones((), kind))

    def update(updates: Any, state: PlateauState, params: Any = None, *, value: Any, **_: Any) -> tuple:
        waited = jnp.where(value < state.last, 0, state.waited + 1)
        divide = waited >= patience
        scale = jnp.where(divide, state.scale / factor, state.scale)
        following = PlateauState(value, jnp.where(divide, 0, waited), scale)
        return jax.tree.map(lambda u: scale * u, updates), following

    return optax.GradientTransformationExtraArgs(init, update)  # type: ignore[arg-type]


doors(
    __name__,
    step_size="[0, ∞)",
    initial="[0, ∞)",
    bound="(0, ∞)",
    ridge="[0, ∞)",
    amplification="[1, ∞)",
    count="[0, ∞)",
    factor="(1, ∞)",
    patience="[1, ∞)",
)
