"""Training: a method of optax on a loss, all steps in one compiled loop.

For runs of which every point is to be looked at, or one measurement an epoch, see `deeptheory.optimization.runs`.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import optax

__all__ = ["stepped", "trained"]


def stepped(
    method: optax.GradientTransformationExtraArgs,
    objective: Callable[[Any], Any],
    position: Any,
    memory: Any,
    value: Any,
    gradient: Any,
    **extra: Any,
) -> tuple[Any, Any]:
    """Return position and memory after one step of a method, which may ask for all that optax's line searches do."""
    given = {"value": value, "grad": gradient, "value_fn": objective} | extra
    move, following = method.update(gradient, memory, position, **given)
    # Some methods of optax compute in single precision; a loop wants the kind it began with.
    following = jax.tree.map(lambda new, old: jnp.asarray(new, jnp.asarray(old).dtype), following, memory)
    return optax.apply_updates(position, move), following


def trained(
    loss: Callable[..., Any],
    method: optax.GradientTransformation,
    start: Any,
    batches: Any = None,
    *,
    steps: int | None = None,
    has_aux: bool = False,
) -> tuple[Any, Any]:
    """Return the parameters after training, and the losses met before each step. To be wrapped in `jax.jit`.

    `start` is any tree of arrays of JAX. Every step descends on loss(parameters), or on loss(parameters, batch) with
    the next slice of `batches` along the first axis of its arrays: indices of examples, noise, or keys. Without them
    `steps` says how many. With `has_aux` the loss returns a pair, of which the first is descended on and both are kept.
    """

    def step(state: tuple[Any, Any], batch: Any) -> tuple[tuple[Any, Any], Any]:
        now, memory = state
        given = (now,) if batches is None else (now, batch)
        seen, slope = jax.value_and_grad(loss, has_aux=has_aux)(*given)
        move, memory = method.update(slope, memory, now)
        return (optax.apply_updates(now, move), memory), seen

    (last, _), seen = jax.lax.scan(step, (start, method.init(start)), batches, length=steps)
    return last, seen
