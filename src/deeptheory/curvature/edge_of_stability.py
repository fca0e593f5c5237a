"""The largest Hessian eigenvalue of a loss, and how it moves while gradient descent trains.

Gradient descent with step η is stable on a quadratic exactly while the curvature is below 2/η. On networks the
curvature grows until it reaches that value and then stays there while the loss falls, no longer at every step: the edge
of stability (Cohen et al. 2021; arora 2.6).
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.krylov import expanded, krylov_start, ritz

__all__ = ["SharpnessTrace", "StabilityPhases", "descent_with_sharpness", "sharpness", "stability_phases"]

Function = Callable[[Float[Array, "p"]], Float[Array, ""]]
Number = float | Float[Array, ""]


def sharpness(
    function: Function, point: Float[Array, "p"], direction: Float[Array, "p"], *, iterations: int = 16
) -> tuple[Float[Array, ""], Float[Array, "p"]]:
    """The largest Hessian eigenvalue at a point and its eigenvector, by Lanczos on Hessian-vector products.

    `direction` starts the Krylov space: a random vector, or the eigenvector found at a point nearby, which saves most
    of the iterations. Unlike the power method of arora 2.6, which finds the eigenvalue of largest modulus and stalls
    when λ and −λ tie, this finds the largest one. Costs `iterations` Hessian-vector products, each about two gradients.
    """
    count = min(iterations, point.size)
    if count < 1:
        raise ValueError(f"iterations must be at least 1, got {iterations}")
    gradient = jax.grad(function)
    space = krylov_start(direction.astype(point.dtype), count)
    space = expanded(lambda vector: jax.jvp(gradient, (point,), (vector,))[1], space, count)
    first = space.projected[0, 0]
    values, vectors = ritz(space, first - jnp.abs(first) - 1)
    eigenvector = vectors[:, -1] @ space.basis
    return values[-1], eigenvector / jnp.linalg.norm(eigenvector)


class SharpnessTrace(NamedTuple):
    """A run of gradient descent: the loss at every step, the sharpness at every so many steps, and the end point.

    `diverged` is the first step whose loss, or whose sharpness where it was measured, is not a finite number; −1 if
    there is none. What comes from there on says nothing.
    """

    losses: Any  # arrays over times; no door stands before them, since a run that has diverged is to be read too
    sharpness: Any
    position: Any
    diverged: int | Int[AnyArray, "*batch"]


def descent_with_sharpness(
    function: Function,
    start: Float[Array, "p"],
    direction: Float[Array, "p"],
    *,
    step_size: Number,
    steps: int,
    every: int = 10,
    iterations: int = 8,
) -> SharpnessTrace:
    """Full-batch gradient descent that records the loss at every step and the sharpness at steps 0, every, 2·every, ….

    One scan; wrap it in `jit`, and in `vmap` over step sizes or starts. A run that diverges goes on to the end, and
    `diverged` tells the step at which it did. Each measurement starts from the eigenvector of
    the one before, so few iterations suffice; before the first one `direction` is improved three times in place.
    """
    if every < 1 or steps < every or steps % every:
        raise ValueError(f"steps must be a positive multiple of every, got steps={steps} and every={every}")
    value_and_gradient = jax.value_and_grad(function)

    def block(carry: tuple, rate: Array) -> tuple[tuple, tuple]:
        position, direction = carry
        value, direction = sharpness(function, position, direction, iterations=iterations)

        def descend(position: Float[Array, "p"], _: None) -> tuple[Float[Array, "p"], Float[Array, ""]]:
            value, gradient = value_and_gradient(position)
            return position - rate * gradient, value

        position, losses = jax.lax.scan(descend, position, length=every)
        return (position, direction), (losses, value)

    # Three blocks that stand still let the eigenvector settle, a last one measures the end: one compiled body for all.
    moves, still = jnp.full(steps // every, step_size, start.dtype), jnp.zeros(3, start.dtype)
    rates = jnp.concatenate([still, moves, still[:1]])
    (position, _), (losses, values) = jax.lax.scan(block, (start, direction.astype(start.dtype)), rates)
    losses, values = losses[3:].ravel()[: steps + 1], values[3:]
    broken = (~jnp.isfinite(losses)).at[::every].max(~jnp.isfinite(values))
    return SharpnessTrace(losses, values, position, jnp.where(broken.any(), jnp.argmax(broken), -1))


class StabilityPhases(NamedTuple):
    """What `stability_phases` reads off a run, up to the step at which it diverged if it did.

    entered: the first step at which the sharpness was measured at 2/η or above; −1 if never.
    rises_before, rises_after: the numbers of steps that raised the loss, before and from that step on.
    plateau: the median sharpness from there to the end, in units of 2/η; nan if never entered.
    initial, highest: first and largest sharpness, in units of 2/η; nan if the run began with none.
    diverged: the first step whose loss, or whose sharpness where it was measured, is not a finite number; −1 if none.
    """

    entered: int
    rises_before: int
    rises_after: int
    plateau: float
    initial: float
    highest: float
    diverged: int


def stability_phases(trace: SharpnessTrace, *, step_size: float | Float[AnyArray, ""], every: int) -> StabilityPhases:
    """Split a run of gradient descent at the step where its sharpness first reaches 2/η.

    `trace` is what `descent_with_sharpness` says of one run with this step and this `every`: the losses of every step
    from 0 on, the sharpness of steps 0, every, 2·every, …. If it has diverged, all that is said is of the steps before.
    `step_size` is η. Reference: arora Sec. 2.6; Cohen et al. 2021.
    """
    losses, sharpness = np.asarray(trace.losses, float), np.asarray(trace.sharpness, float)
    if losses.ndim != 1 or sharpness.ndim != 1 or len(losses) != (len(sharpness) - 1) * every + 1:
        raise ValueError(
            f"trace must have a loss for each of (measurements − 1)·{every} + 1 times, for a sharpness every {every} "
            f"steps, got shapes {losses.shape} and {sharpness.shape}"
        )
    diverged = int(trace.diverged)
    if diverged == 0:
        return StabilityPhases(-1, 0, 0, float("nan"), float("nan"), float("nan"), 0)
    if diverged > 0:
        losses, sharpness = losses[:diverged], sharpness[: -(-diverged // every)]
    relative = sharpness * float(step_size) / 2
    rises = np.diff(losses) > 0
    above = np.flatnonzero(relative >= 1)
    entered = int(above[0]) * every if len(above) else -1
    before = entered if len(above) else len(rises)
    return StabilityPhases(
        entered=entered,
        rises_before=int(rises[:before].sum()),
        rises_after=int(rises[before:].sum()),
        plateau=float(np.median(relative[above[0] :])) if len(above) else float("nan"),
        initial=float(relative[0]),
        highest=float(relative.max()),
        diverged=diverged,
    )


doors(
    __name__,
    steps="[1, 1e6]",
    every="[1, 1e6]",
    iterations="[1, 1e4]",
    step_size="[0, ∞)",
    nan=("descent_with_sharpness", "stability_phases"),
)
