"""Symmetric landscapes: sums of neurons, the orbit of a minimum, its average, and the pass between two minima.

Reference: arora 6.3.
"""

from collections.abc import Callable
from itertools import permutations
from typing import Annotated, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors

__all__ = ["NeuronSumLoss", "mountain_pass", "permutation_orbit", "symmetrized"]


class NeuronSumLoss(eqx.Module):
    """Mean of ½(h(x_i) − y_i)² for h(x) = Σ_j σ(⟨w_j, x⟩), as a function of the flat weights (arora Sec. 6.3).

    No order of the neurons is preferred: permuting the rows of the weights leaves the loss as it is.
    """

    inputs: Float[Array, "n d"]
    labels: Float[Array, "n"]
    activation: Callable = eqx.field(static=True, default=jnp.tanh)

    def output(self, weights: Float[Array, "p"]) -> Float[Array, "n"]:
        rows = weights.reshape(-1, self.inputs.shape[1])
        return self.activation(self.inputs @ rows.T).sum(axis=1)

    def __call__(self, weights: Float[Array, "p"]) -> Float[Array, ""]:
        return jnp.mean((self.output(weights) - self.labels) ** 2) / 2


def permutation_orbit(weights: Float[AnyArray, "k d"]) -> Float[np.ndarray, "m k d"]:
    """All k! orders of the rows; of k neurons with distinct weights these are k! distinct points of one value."""
    if len(weights) > 8:
        raise ValueError(f"weights must have at most 8 rows, whose orders are listed, got {len(weights)}")
    return np.asarray(weights)[np.array(list(permutations(range(len(weights)))))]


def symmetrized(weights: Float[AnyArray, "k d"]) -> Float[np.ndarray, "k d"]:
    """The average over all orders of the rows: every row is their mean, so that k neurons act as one (arora Sec. 6.3).

    Were the loss convex it would be no higher here than at the weights themselves.
    """
    rows = np.asarray(weights)
    return np.broadcast_to(rows.mean(axis=0), rows.shape).copy()


def mountain_pass(
    function: Callable[[Float[Array, "d"]], Float[Array, ""]],
    start: Float[Array, "d"],
    end: Float[Array, "d"],
    *,
    bend: Float[Array, "d"],
    images: Annotated[int, "[3, 1000]"] = 21,
    steps: Annotated[int, "[1, 1e6]"] = 2000,
    step_size: float = 0.1,
) -> tuple[Float[Array, "d"], Float[Array, "images d"]]:
    """The highest point of a lowest path between two minima, and the path: of Morse index 1 where it is nondegenerate.

    The string method: points along a path descend by `step_size` and are spaced evenly again; from the highest, sixty
    Newton steps climb along the direction of least curvature and descend along all others, each at most as long as the
    points are apart. So a path that still rests on a saddle of index two, which it leaves only slowly, leads to the
    pass beside it. The path begins as a parabola whose middle is displaced from the segment by `bend`, for a segment
    that some symmetry fixes would never leave it. Look at the gradient of the answer: from a path that is far from
    settled the steps may go elsewhere. Other passes may be lower. Reference: E, Ren and Vanden-Eijnden 2002, String
    method for the study of rare events; Cerjan and Miller 1981 for the steps; Ambrosetti and Rabinowitz 1973 for the
    pass.
    """
    share = jnp.linspace(0.0, 1.0, images, dtype=start.dtype)[:, None]
    path = (1 - share) * start + share * end + 4 * share * (1 - share) * bend
    return _settled(function, path, steps, step_size)


@eqx.filter_jit
def _settled(
    function: Callable[[Float[Array, "d"]], Float[Array, ""]],
    path: Float[Array, "images d"],
    steps: int,
    step_size: float | Float[Array, ""],
) -> tuple[Float[Array, "d"], Float[Array, "images d"]]:
    gradient, images, start, end = jax.grad(function), len(path), path[0], path[-1]

    def spaced(path: Float[Array, "images d"]) -> Float[Array, "images d"]:
        lengths = jnp.concatenate([jnp.zeros(1), jnp.cumsum(jnp.linalg.norm(jnp.diff(path, axis=0), axis=1))])
        even = jnp.linspace(0.0, lengths[-1], images)
        return jax.vmap(lambda column: jnp.interp(even, lengths, column), in_axes=1, out_axes=1)(path)

    def descend(_: Any, path: Float[Array, "images d"]) -> Float[Array, "images d"]:
        moved = path - step_size * jax.vmap(gradient)(path)
        return spaced(moved.at[0].set(start).at[-1].set(end))

    settled = jax.lax.fori_loop(0, steps, descend, path)
    highest = settled[jnp.argmax(jax.vmap(function)(settled))]
    reach = jnp.linalg.norm(settled[1] - settled[0])

    def climb(_: Any, point: Float[Array, "d"]) -> Float[Array, "d"]:
        curvatures, directions = jnp.linalg.eigh(jax.hessian(function)(point))
        sizes = jnp.abs(curvatures)
        told = sizes > 1e-10 * jnp.max(sizes)
        lengths = jnp.where(told, directions.T @ gradient(point) / jnp.where(told, sizes, 1.0), 0.0)
        step = directions @ lengths.at[1:].multiply(-1.0)
        return point + step * jnp.minimum(1.0, reach / jnp.maximum(jnp.linalg.norm(step), reach))

    return jax.lax.fori_loop(0, 60, climb, highest), settled


doors(__name__, step_size="(0, ∞)")
