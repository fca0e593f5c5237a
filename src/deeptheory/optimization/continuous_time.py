"""Gradient flow ẋ = −∇f(x), of which gradient descent is Euler's method (lucchi 5.2)."""

from collections.abc import Callable
from typing import Annotated, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.flows import followed
from deeptheory.foundations.guards import numeric

__all__ = ["StepPenalty", "gradient_flow"]


def gradient_flow(
    function: Callable[[Any], Any],
    start: Any,
    times: Float[AnyArray, " time"],
    *,
    tolerance: Annotated[float, "[1e-13, 1e-2]"] = 1e-10,
) -> Any:
    """Return x(t) of ẋ = −∇f(x), x(0) = `start`, at increasing times, along a leading axis of every array of `start`.

    By an adaptive method of order eight for smooth functions of moderate stiffness: the number of steps grows with
    time × curvature. The value never rises along it, and gradient descent with step η is at distance O(η) from x(ηk)
    over a fixed time, with a constant that grows exponentially with time × the most negative curvature. Runs on the
    host, not under `jit`.

    Reference: lucchi 5.2.
    """
    numeric(start=start)
    leaves, structure = jax.tree.flatten(jax.tree.map(lambda leaf: np.asarray(leaf, float), start))
    shapes, ends = [leaf.shape for leaf in leaves], np.cumsum([leaf.size for leaf in leaves])

    def tree_of(flat: np.ndarray) -> Any:
        parts = np.split(flat, ends[:-1], axis=-1)
        return structure.unflatten([p.reshape(flat.shape[:-1] + s) for p, s in zip(parts, shapes, strict=True)])

    def velocity(_: float, flat: np.ndarray) -> np.ndarray:
        return -np.asarray(_slope(function, tree_of(flat)))

    begin = np.concatenate([leaf.ravel() for leaf in leaves])
    path = followed(velocity, 0.0, begin, times, method="DOP853", tolerance=tolerance)
    return jax.tree.map(jnp.asarray, tree_of(path))


@eqx.filter_jit
def _slope(function: Callable[[Any], Any], point: Any) -> Array:
    return ravel_pytree(jax.grad(function)(point))[0]


class StepPenalty(eqx.Module):
    """x ↦ f(x) + (η/4)‖∇f(x)‖², whose flow gradient descent with step η follows to second order.

    Euler's method with step η is at distance O(η²) from the flow of this function where it is at O(η) from that of f:
    the longer its step, the more descent prefers small gradients.

    Reference: Barrett and Dherin 2021.
    """

    function: Callable[[Any], Any]
    step_size: float | Float[Array, ""]

    def __call__(self, x: Any) -> Any:
        value, gradient = jax.value_and_grad(self.function)(x)
        return value + self.step_size / 4 * sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(gradient))


doors(__name__, step_size="[0, ∞)", times="[0, ∞)")
