"""Gradient descent with weight decay, and the growing learning rates that do the same without it.

On a scale-invariant loss the gradient at cw is the gradient at w over c. Shrinking the weights therefore does to the
next direction what a larger learning rate does. Parameters are any tree of arrays; trajectories carry time first.

Reference: arora 13.3; Li and Arora 2019, An exponential learning rate schedule for deep learning.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import inside, numeric

__all__ = [
    "decayed_descent",
    "equivalent_decay",
    "equivalent_rates",
    "heavy_ball",
    "momentum_rates",
    "momentum_root",
    "unrolled_square_norm",
]

Rates = Float[AnyArray, " steps"]
Gradient = Callable[..., Any]
"""of the parameters, and of one slice of the batches where there are any"""


def decayed_descent(gradient: Gradient, start: Any, *, rates: Rates, decays: Rates | float, batches: Any = None) -> Any:
    """Run w ← (1 − ηₜλₜ)w − ηₜ∇Lₜ(w) and return w₀, w₁, …, one a step along a leading axis.

    `rates` are the ηₜ, `decays` the λₜ (or one for all); `batches` holds one slice a step, handed to the gradient
    after the parameters. One compiled scan, so wrap it in `jit`. Reference: arora (13.1).
    """
    numeric(start=start)

    def move(w: Any, given: Any) -> tuple[Any, Any]:
        rate, decay, batch = given
        slope = gradient(w) if batches is None else gradient(w, batch)
        moved = jax.tree.map(lambda a, g: ((1 - rate * decay) * a - rate * g).astype(a.dtype), w, slope)
        return moved, moved

    start = jax.tree.map(lambda a: jnp.asarray(a, jnp.result_type(float, a)), start)
    _, rest = jax.lax.scan(move, start, (rates, jnp.broadcast_to(decays, rates.shape), batches))
    return jax.tree.map(lambda a, b: jnp.concatenate([a[None], b]), start, rest)


def equivalent_rates(rates: Rates, decays: Rates | float) -> Float[Array, " steps"]:
    """The rates of plain descent that visit the same directions as descent with weight decay does.

    With Pₜ = Π_{s<t}(1 − η_sλ_s) they are ηₜ/(PₜPₜ₊₁), and the weights are wₜ/Pₜ. For constant η and λ this is
    η(1 − ηλ)^(−(2t+1)): exponential growth (arora Thm 13.3.1, which omits the factor η in the statement). Needs a
    scale-invariant loss and ηλ < 1. It overflows after about 350/(ηλ) steps; split a longer run, w ← w/c, η ← η/c².
    """
    rates = jnp.asarray(rates)
    kept = 1 - rates * decays
    inside(0, 1, "(]", kept=kept)
    after = jnp.cumprod(kept)
    return rates * kept / after**2


def equivalent_decay(first: float, growth: float) -> tuple[float, float]:
    """The rate η and the weight decay λ that rates first·(1 + growth)ᵗ without decay amount to: the way back.

    1 − ηλ = (1 + growth)^(−½) and η = first·(1 − ηλ).
    """
    kept = (1 + growth) ** -0.5
    rate = first * kept
    return rate, (1 - kept) / rate


def momentum_root(rate: float, decay: float, momentum: float) -> float:
    """The larger root a of x² − (1 + γ − ηλ)x + γ = 0; real if and only if ηλ ≤ (1 − √γ)² (or beyond (1 + √γ)²).

    `momentum` is γ in [0, 1), `rate` η and `decay` λ.
    """
    inside(0, (1 - momentum**0.5) ** 2, **{"rate · decay": rate * decay})
    middle = (1 + momentum - rate * decay) / 2
    return middle + max(middle**2 - momentum, 0.0) ** 0.5


def momentum_rates(rate: float, decay: float, momentum: float, *, steps: int) -> Float[Array, " steps"]:
    """The rates ηa^(−(2t+1)) that replace weight decay when there is momentum, a the `momentum_root`.

    Without momentum a = 1 − ηλ. The weights are wₜ/aᵗ, with the start's predecessor a·w₀ in place of w₀. Reference: Li
    and Arora 2019, to which arora Sec. 13.3 defers.
    """
    return rate * momentum_root(rate, decay, momentum) ** -(2.0 * jnp.arange(steps) + 1)


def heavy_ball(
    gradient: Gradient,
    start: Any,
    *,
    rates: Rates,
    momentum: float,
    decay: float = 0.0,
    before: Any = None,
    before_rate: float | None = None,
    batches: Any = None,
) -> Any:
    """Run (wₜ₊₁ − wₜ)/ηₜ = γ(wₜ − wₜ₋₁)/ηₜ₋₁ − ∇Lₜ(wₜ) − λwₜ and return w₀, w₁, … along a leading axis.

    `before` is w₋₁, the start itself unless given, and `before_rate` is η₋₁, the first rate unless given. Momentum is
    kept in units of the gradient, as by Li and Arora 2019, so that it does not jump where the rate does.
    """
    numeric(start=start, before=before)
    start = jax.tree.map(lambda a: jnp.asarray(a, jnp.result_type(float, a)), start)
    before = start if before is None else before
    if jax.tree.map(jnp.shape, before) != jax.tree.map(jnp.shape, start):
        raise ValueError("before must be made of arrays of the shapes of those of start")
    earlier = rates[0] if before_rate is None else before_rate
    velocity = jax.tree.map(lambda a, b: ((a - b) / earlier).astype(a.dtype), start, before)

    def move(state: Any, given: Any) -> tuple[Any, Any]:
        (w, v), (rate, batch) = state, given
        slope = gradient(w) if batches is None else gradient(w, batch)
        v = jax.tree.map(lambda b, g, a: (momentum * b - g - decay * a).astype(b.dtype), v, slope, w)
        w = jax.tree.map(lambda a, b: (a + rate * b).astype(a.dtype), w, v)
        return (w, v), w

    _, rest = jax.lax.scan(move, (start, velocity), (jnp.asarray(rates), batches))
    return jax.tree.map(lambda a, b: jnp.concatenate([a[None], b]), start, rest)


def unrolled_square_norm(
    start_square: float | Float[Array, ""], gradient_squares: Rates, *, rates: Rates, decays: Rates | float
) -> Float[Array, " steps"]:
    """The squared norms ‖w₁‖², …, ‖w_T‖² from ‖w₀‖² and the squared gradients met: a sum, since w ⟂ ∇L(w).

    ‖w_T‖² = P_T²‖w₀‖² + Σₜ (P_T/Pₜ₊₁)² ηₜ²‖∇Lₜ‖²; for constant rates the weights are (1 − ηλ)^(2(T−1−t)), where the
    proof of arora Lemma 13.4.9 has the exponent 2(T − t). For scale-invariant losses and ηλ < 1 only.
    """
    rates = jnp.asarray(rates)
    after = jnp.cumprod(1 - rates * decays)
    return after**2 * (start_square + jnp.cumsum((rates / after) ** 2 * gradient_squares))


doors(
    __name__,
    slices=("batches",),
    rates="[0, ∞)",
    decays="[0, ∞)",
    rate="(0, ∞)",
    decay="[0, ∞)",
    momentum="[0, 1)",
    before_rate="(0, ∞)",
    first="(0, ∞)",
    growth="[0, ∞)",
    start_square="[0, ∞)",
    gradient_squares="[0, ∞)",
    steps="[1, 1e7]",
)
