"""How soon gradient descent with weight decay finds a small gradient, whatever the size of the start.

L is scale invariant with smoothness ρ on the unit sphere, η the rate, λ the weight decay. The gradient is that at the
unit vector w/‖w‖, since at w itself it can be made small by scaling alone.

`rate` is η, `decay` λ, `smoothness` ρ, `square` ‖w₀‖².

Reference: arora 13.4; Li, Bhojanapalli, Zaheer, Reddi and Kumar 2022.
"""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from deeptheory.foundations.arrays import AnyArray, Reals
from deeptheory.foundations.entrances import doors

__all__ = [
    "first_hit",
    "gradient_guarantee",
    "guaranteed_share",
    "large_norm_steps",
    "overshoot_bound",
    "small_norm_growth",
    "small_norm_steps",
    "steps_from_any_scale",
    "turning_square",
]


def turning_square(*, rate: Reals, smoothness: Reals) -> Reals:
    """The squared norm π²ρη above which every step descends; below it the norm grows."""
    return jnp.pi**2 * smoothness * rate


def gradient_guarantee(*, rate: Reals, decay: Reals, smoothness: Reals) -> Reals:
    """The squared gradient 8π⁴ρ²λη at the unit vector that is reached for certain (arora Thm 13.4.2)."""
    return 8 * jnp.pi**4 * smoothness**2 * decay * rate


def guaranteed_share(*, rate: Reals, decay: Reals) -> Reals:
    """The guarantee over the largest squared gradient there can be, π²ρ²: 8π²λη. From λη = 1/(8π²) on it is empty."""
    return 8 * jnp.pi**2 * decay * rate


def steps_from_any_scale(square: Reals, *, rate: Reals, decay: Reals, smoothness: Reals) -> Reals:
    """A time by which the guaranteed gradient has been met: (|ln(‖w₀‖²/(ρπ²η))| + 3)/(2λη), for ηλ < ½.

    `square` is ‖w₀‖². Reference: arora Thm 13.4.2; the 3 has room for the repaired large-norm phase.
    """
    return (jnp.abs(jnp.log(square / turning_square(rate=rate, smoothness=smoothness))) + 3) / (2 * decay * rate)


def small_norm_steps(*, rate: Reals, decay: Reals) -> Reals:
    """The steps 1/(6λη) within which a small norm has grown to π²ρη, or the gradient was small (arora Lemma 13.4.8)."""
    return 1 / (6 * decay * rate)


def small_norm_growth(*, rate: Reals, decay: Reals, smoothness: Reals) -> Reals:
    """What ‖w‖² gains at least in a step of the small-norm phase, while gradients are large: 6π²ρλη²."""
    return 6 * jnp.pi**2 * smoothness * decay * rate**2


def overshoot_bound(square: Reals, *, rate: Reals, smoothness: Reals) -> Reals:
    """How large ‖w‖² can be when the small-norm phase ends: 2(π²ρη)²/‖w₀‖² (arora Lemma 13.4.8)."""
    return 2 * turning_square(rate=rate, smoothness=smoothness) ** 2 / square


def large_norm_steps(square: Reals, *, rate: Reals, decay: Reals, smoothness: Reals) -> Reals:
    """Steps within which a large norm comes down and meets a small gradient: ln(4‖w₀‖²/(ρπ²η))/(2ηλ).

    arora Lemma 13.4.9 has 2 for 4; its proof then bounds by ½ weights that tend to 1, and the contradiction is lost.
    """
    return jnp.log(4 * square / turning_square(rate=rate, smoothness=smoothness)) / (2 * decay * rate)


def first_hit(met: Bool[AnyArray, "*n steps"]) -> Float[Array, "*n"]:
    """The first time at which something is met along the last axis; ∞ where it never is."""
    met = jnp.asarray(met)
    return jnp.where(met.any(-1), met.argmax(-1).astype(float), jnp.inf)


doors(__name__, rate="(0, ∞)", decay="(0, ∞)", smoothness="(0, ∞)", square="(0, ∞)")
