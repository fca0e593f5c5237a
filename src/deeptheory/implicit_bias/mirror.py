"""Mirror descent and steepest descent in the geometry of a potential, and the interpolator that each of them selects.

A potential R is three functions: its value, its gradient, and the inverse of its gradient. With these mirror descent is
w ← ∇R*(∇R(w) − η∇L(w)), and if R = ½‖·‖² is half the square of a norm, steepest descent in that norm is
w ← w + η∇R*(−∇L(w)), since ∇R* = (∇R)⁻¹. Both are methods of optax's shape.

`potential` is R, `design` X with one example a row, `step_size` η.

Reference: arora 8.1.1; Nemirovski and Yudin 1983; Gunasekar, Lee, Soudry and Srebro 2018.
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax
from jaxtyping import Array, Float

from deeptheory.foundations.arrays import AnyArray, traced
from deeptheory.foundations.entrances import doors
from deeptheory.implicit_bias.potentials import Potential

__all__ = [
    "bregman_divergence",
    "bregman_projection",
    "conjugate",
    "dual_multipliers",
    "mirror_descent",
    "steepest_descent",
]

NEWTON_STEPS = 300
"""of the dual, after which its maximum is given up; a few dozen suffice unless there is none"""


def conjugate(potential: Potential, dual: Float[AnyArray, "*shape"]) -> Any:
    """Return R*(z) = sup ⟨z, w⟩ − R(w), attained where ∇R(w) = z.

    Reference: Rockafellar 1970, Convex Analysis, Sec. 12.
    """
    point = potential.inverse(dual)
    return point.__array_namespace__().sum(dual * point) - potential.value(point)


def bregman_divergence(
    potential: Potential,
    point: Float[AnyArray, "*shape"],
    reference: Float[AnyArray, "*shape"],
) -> Any:
    """Return D_R(w, w′) = R(w) − R(w′) − ⟨∇R(w′), w − w′⟩ ≥ 0; ½‖w − w′‖² for R = ½‖·‖². arora 8.1.1."""
    slope = (potential.gradient(reference) * (point - reference)).sum()
    return potential.value(point) - potential.value(reference) - slope


def dual_multipliers(
    potential: Potential,
    design: Float[AnyArray, "n d"],
    labels: Float[AnyArray, " n"],
    start: Float[AnyArray, " d"] | None = None,
) -> Float[AnyArray, " n"]:
    """Return λ that maximizes ⟨λ, y⟩ − R*(∇R(w₀) + Xᵀλ): the multipliers of the nearest interpolator.

    By Newton's method, halving steps that do not help; without `start` ∇R(w₀) = 0. For a potential whose conjugate is
    differentiable twice, and rows that are linearly independent.

    Under `jit`, `vmap` and `grad` too: the derivative in X, y, w₀ and in what the potential is made of is that of the
    equation X∇R*(∇R(w₀) + Xᵀλ) = y, to any order. Where nothing fits the labels this is said; traced, when that is
    seen too late, λ is nan.
    """
    if traced(design, labels, start, potential.inverse(np.ones(design.shape[1]))):
        return _traced_multipliers(potential, design, labels, start)
    design, labels = np.asarray(design, float), np.asarray(labels, float)
    offset = np.zeros(design.shape[1]) if start is None else np.asarray(potential.gradient(np.asarray(start)))
    scale = np.linalg.norm(labels) + np.linalg.norm(design)

    def seen(multipliers: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        dual = offset + design.T @ multipliers
        point = np.asarray(potential.inverse(dual))
        return point, labels - design @ point, float(multipliers @ labels - dual @ point + potential.value(point))

    # A start away from λ = 0, where the conjugate of a norm may have no second derivative.
    multipliers = 1e-3 * np.linalg.solve(design @ design.T, labels)
    with np.errstate(over="ignore", invalid="ignore"):
        point, rest, gain = seen(multipliers)
        for _ in range(NEWTON_STEPS):
            bend = design @ np.asarray(potential.metric(point)) @ design.T
            if not 0 < np.trace(bend) < np.inf:
                break
            # The ridge, far below curvatures that matter, keeps the step finite where R* is flat, as at 0 for q > 2.
            move = np.linalg.solve(bend + 1e-15 * np.trace(bend) * np.eye(len(labels)), rest)
            length = 1.0
            while True:
                new = seen(multipliers + length * move)
                # Near the end the dual value no longer changes in floating point, but the residual does.
                if np.linalg.norm(new[1]) < np.linalg.norm(rest) / 2 or new[2] >= gain or length < 1e-9:
                    break
                length /= 2
            better = np.linalg.norm(new[1]) < np.linalg.norm(rest)
            if np.linalg.norm(rest) <= 1e-13 * scale and not better:
                break
            multipliers = multipliers + length * move
            point, rest, gain = new
    if not np.linalg.norm(rest) <= 1e-6 * scale:
        raise ValueError("the nearest interpolator was not found: no point of the potential's domain fits the labels")
    return multipliers


def bregman_projection(
    potential: Potential,
    design: Float[AnyArray, "n d"],
    labels: Float[AnyArray, " n"],
    start: Float[AnyArray, " d"] | None = None,
) -> Float[AnyArray, " d"]:
    """Return the interpolator nearest to w₀, argmin {D_R(w, w₀) : Xw = y}, where mirror descent from w₀ ends.

    Without `start` the one of least R. Of D_R only the dual is solved, w = ∇R*(∇R(w₀) + Xᵀλ), which needs a smooth
    conjugate and linearly independent rows; for ½‖·‖₁² and ½‖·‖∞² see `least_norm` of `auditor`. Where no point of R's
    domain interpolates (negative weights for the entropy) this is said. Under `jit`, `vmap` and `grad` as
    `dual_multipliers`: the derivative in y, for one, is ∇²R*Xᵀ(X∇²R*Xᵀ)⁻¹, and that in the α of `hypentropy(α)` tells
    how the solution of w = u² − v² moves with the scale of its start.

    Reference: arora Thm 8.1.2, (8.4).
    """
    multipliers = dual_multipliers(potential, design, labels, start)
    if traced(multipliers):
        return potential.inverse(_offset(potential, design, start) + jnp.asarray(design).T @ multipliers)
    offset = 0.0 if start is None else np.asarray(potential.gradient(np.asarray(start)))
    return np.asarray(potential.inverse(offset + np.asarray(design, float).T @ multipliers))


def _offset(potential: Potential, design: Any, start: Any) -> Any:
    return jnp.zeros(design.shape[1]) if start is None else potential.gradient(jnp.asarray(start))


def _traced_multipliers(potential: Potential, design: Any, labels: Any, start: Any) -> Array:
    """The same method in JAX: nothing is known yet, neither the data nor what the potential is made of."""
    design, labels = jnp.asarray(design), jnp.asarray(labels)
    offset, scale = _offset(potential, design, start), jnp.linalg.norm(labels) + jnp.linalg.norm(design)

    def seen(multipliers: Any) -> tuple[Any, Any, Any]:
        dual = offset + design.T @ multipliers
        point = potential.inverse(dual)
        return point, labels - design @ point, multipliers @ labels - dual @ point + potential.value(point)

    def step(now: tuple) -> tuple:
        count, multipliers, (point, rest, gain), _ = now
        bend = design @ potential.metric(point) @ design.T
        move = jnp.linalg.solve(bend + 1e-15 * jnp.trace(bend) * jnp.eye(len(labels)), rest)

        def too_long(tried: tuple) -> Any:
            length, (_, left, new) = tried
            return ~((jnp.linalg.norm(left) < jnp.linalg.norm(rest) / 2) | (new >= gain)) & (length >= 1e-9)

        def halved(tried: tuple) -> tuple:
            return tried[0] / 2, seen(multipliers + tried[0] / 2 * move)

        length, new = lax.while_loop(too_long, halved, (jnp.ones_like(scale), seen(multipliers + move)))
        better = jnp.linalg.norm(new[1]) < jnp.linalg.norm(rest)
        going = (jnp.linalg.norm(rest) > 1e-13 * scale) | better
        kept = jax.tree.map(partial(jnp.where, going), (multipliers + length * move, new), (multipliers, now[2]))
        return count + 1, *kept, going

    def newton(_: Any, begin: Any) -> Any:
        first = (0, begin, seen(begin), jnp.asarray(True))
        return lax.while_loop(lambda now: (now[0] < NEWTON_STEPS) & now[3], step, first)[1]

    def solved(linear: Any, change: Any) -> Any:
        return jnp.linalg.solve(jax.jacobian(linear)(change), change)

    begin = 1e-3 * jnp.linalg.solve(design @ design.T, labels)
    found = lax.custom_root(lambda multipliers: seen(multipliers)[1], begin, newton, solved)
    return jnp.where(jnp.linalg.norm(seen(found)[1]) <= 1e-6 * scale, found, jnp.nan)


def mirror_descent(potential: Potential, step_size: float) -> optax.GradientTransformationExtraArgs:
    """Mirror descent, ∇R(w) ← ∇R(w) − η∇L(w), leaf by leaf of the parameters.

    It is w ← argmin η⟨w, ∇L(w_t)⟩ + D_R(w, w_t). For ½‖·‖² gradient descent; for the entropy multiplicative updates,
    whose weights stay positive. arora (8.3).
    """

    def update(updates: Any, state: Any, params: Any = None, **_: Any) -> tuple[Any, Any]:
        def move(w: Any, g: Any) -> Any:
            return potential.inverse(potential.gradient(w) - step_size * g) - w

        return jax.tree.map(move, params, updates), state

    return optax.GradientTransformationExtraArgs(lambda params: optax.EmptyState(), update)  # type: ignore[arg-type]


def steepest_descent(potential: Potential, step_size: float) -> optax.GradientTransformationExtraArgs:
    """Steepest descent in the norm whose half square is the potential: w ← w + η argmin_v ⟨∇L(w), v⟩ + ½‖v‖².

    The direction Δ is ∇R*(−∇L), with ⟨Δ, −∇L⟩ = ‖Δ‖² = ‖∇L‖_*². For ½‖·‖₁² greedy coordinate descent, for ½‖·‖∞²
    signs times ‖∇L‖₁. A potential that is no half square of a norm, such as the entropy, gives no steepest descent and
    is refused when the method is started. arora (8.5), (8.27).
    """

    def init(params: Any) -> Any:
        jax.tree.map(lambda leaf: _tell_half_squares(potential, leaf), params)
        return optax.EmptyState()

    def update(updates: Any, state: Any, params: Any = None, **_: Any) -> tuple[Any, Any]:
        return jax.tree.map(lambda g: step_size * potential.inverse(-g), updates), state

    return optax.GradientTransformationExtraArgs(init, update)  # type: ignore[arg-type]


def _tell_half_squares(potential: Potential, params: Any) -> None:
    """Refuse a potential that is no half square of a norm, R(−2w) = 4R(w), tried on one vector of the leaf's shape."""
    tried = np.linspace(0.5, 1.5, np.size(params)).reshape(np.shape(params))
    with jax.ensure_compile_time_eval():
        once, twice = float(potential.value(tried)), float(potential.value(-2 * tried))
    if not (once > 0 and abs(twice / once - 4) < 1e-4):
        raise ValueError(
            f"potential must be half the square of a norm, R(−2w) = 4R(w), got {twice:.4g} for 4 times {once:.4g}"
        )


doors(__name__, step_size="(0, ∞)")
