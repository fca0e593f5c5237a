"""Steepest descent in any ℓₚ norm on separable data: it finds the largest margin of its own norm.

The loss is Σᵢ exp(−⟨w, x̄ᵢ⟩) over signed points. Everything is computed from shares of the loss and its logarithm, so a
run may go on when the loss itself is far below the smallest number.

`signed_points` has one point x̄ᵢ a row; `norm` is p of ‖·‖ₚ, ∞ included.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import inside
from deeptheory.implicit_bias.potentials import squared_norm

__all__ = ["MarginCertificate", "SteepestRun", "data_width", "margin_certificate", "margin_descent", "steepest_step"]


class SteepestRun(NamedTuple):
    """A run of steepest descent, before the first step and after each."""

    weights: Float[Array, "steps+1 d"]
    log_losses: Float[Array, "steps+1"]
    domination: Float[Array, " steps"]  # ‖∇L(wₜ)‖⋆/L(wₜ), never below the largest margin
    relative_steps: Float[Array, " steps"]  # ηₜ L(wₜ)


def steepest_step(gradient: Float[Array, " d"], *, norm: float = 2.0) -> Float[Array, " d"]:
    """Return the steepest step Δ for a gradient: ⟨Δ, −g⟩ = ‖Δ‖² = ‖g‖⋆², the minimizer of ⟨Δ, g⟩ + ½‖Δ‖².

    Gradient descent for norm 2, the largest coordinate alone for norm 1 (the first of several), signs times ‖g‖₁ for
    norm ∞. Reference: arora (8.27).
    """
    inside(1, np.inf, norm=norm)
    g = -jnp.asarray(gradient)
    if norm == 1:
        top = jnp.argmax(jnp.abs(g))
        return jnp.zeros_like(g).at[top].set(g[top])
    return squared_norm(norm).inverse(g)


def _dual_norm(vectors: Any, norm: float) -> Any:
    order = np.inf if norm == 1 else 1 if norm == np.inf else norm / (norm - 1)
    return jnp.linalg.norm(vectors, ord=order, axis=-1)


def data_width(signed_points: Float[AnyArray, "n d"], *, norm: float = 2.0) -> Float[Array, ""]:
    """Return B = maxᵢ ‖xᵢ‖⋆, by which steps and curvature are measured: vᵀ∇²L v ≤ L B²‖v‖².

    ‖·‖⋆ is the dual norm, ℓ_q with 1/p + 1/q = 1 for `norm` p. Reference: arora Thm 8.3.2.
    """
    inside(1, np.inf, norm=norm)
    return jnp.max(_dual_norm(jnp.asarray(signed_points), norm))


@partial(jax.jit, static_argnames="norm")
def _run(points, start, shares, cap, norm):
    width = jnp.max(_dual_norm(points, norm))

    def step(w, share):
        margins = points @ w
        log_loss = jax.nn.logsumexp(-margins)
        slope = -jnp.exp(-margins - log_loss) @ points  # ∇L/L
        relative = jnp.minimum(jnp.exp(jnp.log(cap) + log_loss), share / width**2)  # an infinite cap times no loss
        moved = w + relative * steepest_step(slope, norm=norm)
        return moved, (moved, log_loss, _dual_norm(slope, norm), relative)

    last, (path, log_losses, domination, relative) = lax.scan(step, start, shares)
    log_losses = jnp.append(log_losses, jax.nn.logsumexp(-points @ last))
    return SteepestRun(jnp.concatenate([start[None], path]), log_losses, domination, relative)


def margin_descent(
    signed_points: Float[AnyArray, "n d"],
    shares: Float[AnyArray, " steps"],
    *,
    norm: float = 2.0,
    largest_step: float = np.inf,
    start: Float[AnyArray, " d"] | None = None,
) -> SteepestRun:
    """Run steepest descent on the exponential loss with steps ηₜ = min(largest_step, shareₜ/(B² L(wₜ))).

    Shares in (0, 1] keep every step within what the loss's curvature allows, so the loss never rises; with a finite
    largest step these are the steps of the theorem. Shares 1/√t reach the largest margin fastest, since what they lose
    to curvature sums to a log; shares of 1 leave up to half of the certificate unproved. From zero by default.
    Reference: arora Thm 8.3.2.
    """
    inside(1, np.inf, norm=norm)
    inside(0, 1, "(]", shares=shares)
    points = jnp.asarray(signed_points)
    begin = jnp.zeros(points.shape[1], points.dtype) if start is None else jnp.asarray(start, points.dtype)
    return _run(points, begin, jnp.asarray(shares, points.dtype), largest_step, norm)


class MarginCertificate(NamedTuple):
    """What a run proves of its own margin after each step, without a look at the points."""

    margin: Float[Array, " steps"]  # a lower bound of minᵢ ⟨w, x̄ᵢ⟩
    length: Float[Array, " steps"]  # an upper bound of ‖w‖
    normalized: Float[Array, " steps"]  # a lower bound of the normalized margin, where it is positive


def margin_certificate(
    run: SteepestRun, *, width: float | Float[Array, ""], start_norm: float | Float[Array, ""] = 0.0
) -> MarginCertificate:
    """Return the bounds on margin and norm that steepest descent carries along, step by step.

    With γᵤ = ‖∇L(wᵤ)‖⋆: min ⟨wₜ₊₁, x̄⟩ ≥ Σ ηᵤγᵤ²/L(wᵤ) − Σ ηᵤ²B²γᵤ²/2 − log L(w₀) and ‖wₜ₊₁‖ ≤ ‖w₀‖ + Σ ηᵤγᵤ, sums over
    u ≤ t. True at every step of every run with ηᵤ ≤ 1/(B²L(wᵤ)). `width` is B, see `data_width`; `start_norm` is ‖w₀‖.
    Reference: arora (8.28)–(8.33).
    """
    moved = run.relative_steps * run.domination
    gained = jnp.cumsum(moved * run.domination - (moved * width) ** 2 / 2)
    margin, length = gained - run.log_losses[0], start_norm + jnp.cumsum(moved)
    return MarginCertificate(margin, length, margin / length)


doors(__name__, infinite=("norm", "largest_step"), largest_step="(0, ∞]", width="(0, ∞)", start_norm="[0, ∞)")
