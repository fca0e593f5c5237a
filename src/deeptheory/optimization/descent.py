"""How fast gradient descent with a fixed step is on quadratic, convex and other smooth functions.

The bounds are plain functions of the constants: smoothness L, strong convexity or Polyak–Łojasiewicz constant μ, step
size η, number of steps k. Those called `worst_…` are attained by some function of the class; the others are the ones
that textbooks prove. To run gradient descent: `trajectory` of `runs` with `optax.sgd`.

`smoothness` is L, `step_size` η, `steps` k, `gradient_square` ‖∇f‖², `distance_square` ‖x₀ − x*‖², `gap` f(x₀) − f*;
`eigenvalues` λ_i are those of the Hessian.
"""

from typing import Annotated

import jax.numpy as jnp
from jaxtyping import Array, Float

from deeptheory.foundations.arrays import AnyArray, Numbers
from deeptheory.foundations.entrances import doors

__all__ = [
    "convex_gap_bound",
    "descent_cosine",
    "guaranteed_decrease",
    "least_gap",
    "longest_descent",
    "optimal_quadratic_step",
    "polyak_lojasiewicz_factor",
    "quadratic_losses",
    "stationarity_bound",
    "worst_contraction",
    "worst_convex_gap",
    "worst_stationarity",
]


def guaranteed_decrease(gradient_square: Numbers, *, step_size: Numbers, smoothness: Numbers) -> Numbers:
    """The least amount by which one gradient step lowers an L-smooth function (the descent lemma).

    f(x) − f(x − η∇f(x)) ≥ (η − η²L/2) ‖∇f(x)‖² for every η; positive exactly when η < 2/L, and at least (η/2)‖∇f‖²
    when η ≤ 1/L (arora Lemma 2.1.4, lucchi Lemma 39). Attained by ½Lx².
    """
    return (step_size - step_size**2 * smoothness / 2) * gradient_square


def descent_cosine(gradient: Float[AnyArray, "*k d"], direction: Float[AnyArray, "*k d"]) -> Float[Array, "*k"]:
    """The cosine of the angle between −∇f and a direction s: positive exactly for directions of descent, ∇f·s < 0.

    At an angle of π/2 it is zero, and whether f falls is for second derivatives to say (lucchi eq. 5.4; the sentence
    after it has the closed interval). Zero where the gradient or the direction is.
    """
    slope, way = jnp.asarray(gradient), jnp.asarray(direction)
    size = jnp.linalg.norm(slope, axis=-1) * jnp.linalg.norm(way, axis=-1)
    return -jnp.sum(slope * way, -1) / jnp.where(size > 0, size, 1.0)


def longest_descent(
    gradient: Float[AnyArray, "*k d"], direction: Float[AnyArray, "*k d"], *, smoothness: Numbers
) -> Float[Array, "*k"]:
    """How far along a direction s an L-smooth function is sure to stay below its value: α < 2|∇f·s|/(L‖s‖²).

    Zero if s is no direction of descent. Attained by ½L‖x‖², which is back at its value there; 2/L along −∇f.

    Reference: lucchi eq. 5.3.
    """
    slope, way = jnp.asarray(gradient), jnp.asarray(direction)
    square = jnp.sum(way**2, -1)
    return 2 * jnp.maximum(-jnp.sum(slope * way, -1), 0.0) / (smoothness * jnp.where(square > 0, square, 1.0))


def least_gap(gradient_square: Numbers, *, smoothness: Annotated[Numbers, "(0, ∞)"]) -> Numbers:
    """The least that an L-smooth function can be above its infimum where its gradient is: ‖∇f‖²/(2L) (lucchi Lemma 36).

    A step 1/L gains that much, and no step leads below the infimum; no convexity is needed. Attained by ½L‖x‖².
    """
    return gradient_square / (2 * smoothness)


def stationarity_bound(drop: Numbers, *, step_size: Numbers, gradients: Numbers) -> Numbers:
    """A bound on the mean, hence on the least, of the first T squared gradient norms: 2 (f(x₀) − f(x_T)) / (ηT).

    For η ≤ 1/L, with any lower bound of f in place of f(x_T) (arora Thm 2.5.1, lucchi Thm 38). With |f| ≤ M/2 the
    drop is at most M, so 2Mβ/T at η = 1/β; arora prints 4Mβ/T. For the mean it is attained by ½Lx² at η = 1/L.
    """
    return 2 * drop / (step_size * gradients)


def worst_stationarity(gap: Numbers, *, step_size: Numbers, smoothness: Numbers, gradients: Numbers) -> Numbers:
    """The largest possible least squared gradient norm among the first T, given f(x₀) − f* = Δ.

    4Δ / ((T−1)(4η − Lη²) + 2/L) for η ≤ 1/L; at η = 1/L it is 4LΔ/(3T − 1) (Abbaszadehpeivasti, de Klerk and Zamani
    2022). No convexity is assumed.
    """
    return 4 * gap / ((gradients - 1) * (4 * step_size - smoothness * step_size**2) + 2 / smoothness)


def worst_contraction(*, step_size: Numbers, smoothness: Numbers, strong_convexity: Numbers) -> Numbers:
    """The factor by which each gradient step at worst shrinks the distance to the minimizer: max(|1−ημ|, |1−ηL|).

    For μ-strongly convex L-smooth functions and any η ≥ 0; attained by a parabola. lucchi Thm 34 has the larger
    √(1−ημ), for η ≤ 1/L.
    """
    return jnp.maximum(jnp.abs(1 - step_size * strong_convexity), jnp.abs(1 - step_size * smoothness))


def convex_gap_bound(distance_square: Numbers, *, step_size: Numbers, steps: Numbers) -> Numbers:
    """The textbook bound on f(x_k) − f* for convex L-smooth f and η ≤ 1/L: ‖x₀ − x*‖² / (2ηk) (lucchi Thm 37)."""
    return distance_square / (2 * step_size * steps)


def worst_convex_gap(distance_square: Numbers, *, step_size: Numbers, smoothness: Numbers, steps: Numbers) -> Numbers:
    """The largest f(x_k) − f* over convex L-smooth f with η ≤ 1/L: L ‖x₀ − x*‖² / (4kηL + 2) (Drori, Teboulle 2014).

    Attained by the `Huber` function with threshold ‖x₀ − x*‖/(2kηL + 1). Half the textbook bound for large k.
    """
    return smoothness * distance_square / (4 * steps * step_size * smoothness + 2)


def polyak_lojasiewicz_factor(*, step_size: Numbers, smoothness: Numbers, constant: Numbers) -> Numbers:
    """The factor by which each gradient step shrinks f − f* under ½‖∇f‖² ≥ μ(f − f*): 1 − 2μ(η − η²L/2).

    Equals 1 − μ/L at η = 1/L and 1 − 3μ/(4L) at η = 1/(2L). lucchi Thm 40 prints the first with the second step
    size, which already f = ½Lx² contradicts.
    """
    return 1 - guaranteed_decrease(2 * constant, step_size=step_size, smoothness=smoothness)


def quadratic_losses(
    eigenvalues: Float[Array, "d"],
    offsets: Float[Array, "d"],
    *,
    step_size: float | Float[Array, ""],
    steps: Annotated[int, "[0, 1e7]"],
) -> Float[Array, "k"]:
    """The values f(x_k) − f*, k = 0, …, steps, of gradient descent on a positive definite quadratic, in closed form.

    ½ Σ λ_i (1 − ηλ_i)^{2k} z_i², where z are the coordinates of x₀ − x* in the eigenbasis (lucchi 5.4). Each mode
    shrinks if and only if 0 < η < 2/λ_i; lucchi asks for η < 1/λ_i, which is not needed.
    """
    modes = (1 - step_size * eigenvalues) ** (2 * jnp.arange(steps + 1)[:, None])
    return modes @ (eigenvalues * offsets**2) / 2


def optimal_quadratic_step(smallest: Numbers, largest: Numbers) -> tuple[Numbers, Numbers]:
    """The best fixed step on quadratics with curvature in [λ_min, λ_max] and the factor on f − f* it gives per step.

    η* = 2/(λ_max + λ_min) and ρ = ((κ−1)/(κ+1))² ≤ (1 − 1/κ)² with κ = λ_max/λ_min (lucchi 5.4, which prints the
    bound as (1−κ)², above one for κ > 2).
    """
    return 2 / (largest + smallest), ((largest - smallest) / (largest + smallest)) ** 2


doors(
    __name__,
    steps="[0, ∞)",
    step_size="[0, ∞)",
    smoothness="[0, ∞)",
    strong_convexity="[0, ∞)",
    constant="[0, ∞)",
    distance_square="[0, ∞)",
    gradient_square="[0, ∞)",
    smallest="[0, ∞)",
    largest="[0, ∞)",
    gap="[0, ∞)",
    drop="[0, ∞)",
)
