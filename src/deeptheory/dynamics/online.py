"""One-pass gradient descent for any loss and any parameters, read at every step through a few statistics."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import batched, numeric

__all__ = ["Loss", "exit_probability", "interpolated", "online_descent", "online_step"]

Loss = Callable[[Any, Any], Array]
"""(parameters, sample) → a number; parameters and samples may be any pytree"""
MOST_STEPS = 10**6


def online_step(loss: Loss, point: Any, sample: Any, step: float | Float[AnyArray, ""]) -> Any:
    """Return the parameters after one sample, X − δ∇L(X, Y). Reference: jagannath Ch. 11 Sec. 1."""
    numeric(point=point, sample=sample)
    slope = jax.grad(loss)(point, sample)
    return jax.tree.map(lambda value, change: value - step * change, point, slope)


def online_descent(
    loss: Loss,
    start: Any,
    samples: Any,
    *,
    step: float | Float[AnyArray, ""],
    statistics: Callable[[Any], Any] = lambda point: point,
) -> tuple[Any, Any]:
    """Run X ← X − δ∇L(X, Y) once through the samples; return the last parameters and the statistics along the way.

    `loss(point, sample)` is a number, `start` any pytree of parameters, `samples` a pytree whose arrays have one slice
    a step, `step` the rate δ. `statistics` maps parameters to what is kept of them, by default all; its values at the
    start and after every step are stacked. Pure: wrap it in `jit`, and in `vmap` over starts and samples; go on from
    the last parameters where the samples of a whole run do not fit into memory. Not for several passes over the data,
    whose gradients are not independent of the past. Reference: jagannath Ch. 11 Sec. 1.
    """
    numeric(start=start)
    batched(samples=samples)

    def once(point: Any, sample: Any) -> tuple[Any, Any]:
        point = online_step(loss, point, sample, step)
        return point, statistics(point)

    last, path = lax.scan(once, start, samples)
    return last, jax.tree.map(lambda first, rest: jnp.concatenate([first[None], rest]), statistics(start), path)


def interpolated(
    path: Float[AnyArray, "points *shape"],
    times: Float[AnyArray, " times"],
    *,
    step: float | Float[AnyArray, ""],
) -> Float[Array, "times *shape"]:
    """Return the linear interpolation of iterates X₀, X₁, … at times of which a step takes δ.

    X̃_t = X_k + (t/δ − k)(X_{k+1} − X_k) with k = ⌊t/δ⌋; beyond the last iterate it stays there. The display in
    jagannath Ch. 11 Sec. 1.1 has a weight t − kδ on X_{k+1} instead. Reference: jagannath Ch. 11 Sec. 1.1.
    """
    path, clock = jnp.asarray(path), jnp.asarray(times) / step
    before = jnp.clip(jnp.floor(clock).astype(int), 0, len(path) - 1)
    after = jnp.minimum(before + 1, len(path) - 1)
    part = (clock - before).reshape(-1, *[1] * (path.ndim - 1))
    return path[before] + part * (path[after] - path[before])


def exit_probability(*, step: float, radius: float = 1.0, time: float = 1.0, nodes: int = 400) -> float:
    """Return the chance that X ← X − δ(X − Y), Y standard normal, X₀ = 0, leaves [−radius, radius] within a time.

    The loss is ½(x − Y)², gradient flow stays at 0, and −δ log P → radius²/(1 − e^(−2 time)) as δ → 0. The law of the
    chain that has not left is held at Gauss–Legendre points, and what leaves is added up step by step, so that small
    chances keep their digits; the points must be closer than a step of the chain is wide, radius/nodes ≪ δ.
    Reference: jagannath Ch. 12 Sec. 1.1.
    """
    from scipy.special import ndtr

    if time / step > MOST_STEPS:
        raise ValueError(f"time / step must be at most {MOST_STEPS} steps of the chain, got {time / step:.3g}")
    points, weights = np.polynomial.legendre.leggauss(nodes)
    points, weights = radius * points, radius * weights
    mean = (1 - step) * points
    kernel = np.exp(-(((points[:, None] - mean) / step) ** 2) / 2) / (step * (2 * np.pi) ** 0.5) * weights
    leaving = weights * (ndtr((mean - radius) / step) + ndtr((-radius - mean) / step))
    law = np.exp(-((points / step) ** 2) / 2) / (step * (2 * np.pi) ** 0.5)
    left = 2 * ndtr(-radius / step)
    for _ in range(round(time / step) - 1):
        left, law = left + leaving @ law, kernel @ law
    return float(left)


doors(__name__, step="(0, ∞)", times="[0, ∞)", nodes="[2, 5000]", radius="(0, ∞)", time="(0, 1e3]")
