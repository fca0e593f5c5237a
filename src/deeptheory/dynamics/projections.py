"""Models that see high-dimensional Gaussian data through a few projections: exact chains and limits at no cost in N.

Inputs are a = centre + s·z with z standard normal in N dimensions; the loss sees them through the fields W a of the
K weight vectors that are trained and the fields Θ a of M hidden directions. Then the Gram matrix Q of all K + M vectors
(`gram`), with the other parameters, is a Markov chain of its own under online gradient descent, and for steps δ = c/N
it follows as N → ∞ a differential equation. A user writes the loss of one sample as a function of the fields; its
derivatives are taken automatically. Teacher and student networks, phase retrieval, mixtures are examples.

Reference: jagannath Ch. 12 Secs. 2 and 3; Saad and Solla 1995; Ben Arous, Gheissari and Jagannath 2024.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Key, UInt32

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import affordable
from deeptheory.foundations.randomness import generator

BLOCK = 2**16
"""samples drawn at once"""

__all__ = ["Projected", "gram_matrix", "projected_chain", "projected_loss", "projected_step", "projected_velocity"]


class Projected(NamedTuple):
    """A loss that sees data through projections.

    `loss(fields, hidden, parameters, label)` is a number: fields (K,) of the weights, fields (M,) of the hidden
    directions, any pytree of further parameters, the label of the sample's centre. `centres` (C × M) are the centres'
    coordinates in the hidden directions, each as likely as the others, `labels` (C,) theirs; `spread` is s, `decay` the
    constant α of a penalty ½α(‖W‖² + ‖parameters‖²).
    """

    loss: Callable[[Array, Array, Any, Any], Array]
    centres: Any
    labels: Any
    spread: Any = 1.0
    decay: Any = 0.0


def gram_matrix(weights: Float[AnyArray, "k n"], hidden: Float[AnyArray, "m n"]) -> Any:
    """Return the inner products of weights and hidden directions, weights first: the summary statistics."""
    rows = jnp.concatenate([jnp.asarray(weights), jnp.asarray(hidden)])
    return rows @ rows.T


def projected_loss(model: Projected, hidden: Float[AnyArray, "m n"]) -> Callable[[Any, Any], Array]:
    """Return the loss of whole vectors, a function of ((weights, parameters), (input, label)), for `online_descent`."""

    def loss(point: Any, sample: Any) -> Array:
        (weights, parameters), (x, label) = point, sample
        squares = sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(point))
        return model.loss(weights @ x, hidden @ x, parameters, label) + model.decay / 2 * squares

    return loss


def _slopes(model: Projected, fields: Array, count: int, parameters: Any, label: Any) -> tuple[Array, Any]:
    """The derivatives of the loss in the fields of the weights, and in the parameters."""
    return jax.grad(lambda own, further: model.loss(own, fields[count:], further, label), (0, 1))(
        fields[:count], parameters
    )


def _root(gram: Array) -> Array:
    """A square root L of the Gram matrix, LLᵀ = Q, that a matrix without full rank has too."""
    values, vectors = jnp.linalg.eigh(gram)
    return vectors * jnp.sqrt(jnp.maximum(values, 0))


def projected_step(
    model: Projected,
    gram: Float[Array, "p p"],
    parameters: Any,
    which: Any,
    normals: Float[Array, " p"],
    square: Any,
    *,
    step: float | Float[Array, ""],
) -> tuple[Float[Array, "p p"], Any]:
    """Return Gram matrix and parameters after one sample, exactly: W ← W − δ(ℓ′ aᵀ + αW).

    The sample has the centre number `which`, the standard normals along the span of all vectors, and `square`, the
    squared length (chi-square, N − K − M degrees) of those orthogonal to it.
    """
    centres = jnp.asarray(model.centres)
    hidden = centres.shape[1]
    count = len(gram) - hidden
    root = _root(gram)
    inside = root[count:].T @ centres[which] + model.spread * normals
    fields, length = root @ inside, inside @ inside + model.spread**2 * square
    slopes, further = _slopes(model, fields, count, parameters, jnp.asarray(model.labels)[which])
    keep = jnp.concatenate([jnp.full(count, 1 - step * model.decay), jnp.ones(hidden)])
    move = jnp.concatenate([step * slopes, jnp.zeros(hidden)])
    crossed = jnp.outer(move, keep * fields)
    gram = gram * jnp.outer(keep, keep) - crossed - crossed.T + length * jnp.outer(move, move)
    return gram, jax.tree.map(lambda v, change: v - step * (change + model.decay * v), parameters, further)


@partial(jax.jit, static_argnames="loss")
def _advance(state, drawn, data, step, loss):
    """The states after every record's steps; `drawn` has the axes (record, step, replica)."""
    model = Projected(loss, *data)

    def once(state, drawn):
        return jax.vmap(lambda s, d: projected_step(model, *s, *d, step=step))(state, drawn), None

    def record(state, drawn):
        state = lax.scan(once, state, drawn)[0]
        return state, state

    return lax.scan(record, state, drawn)


def projected_chain(
    key: Key[Array, ""] | UInt32[Array, "2"],
    model: Projected,
    gram: Float[AnyArray, "replicas p p"],
    parameters: Any,
    *,
    dimension: int,
    step: float,
    steps: int,
    every: int = 1,
) -> tuple[Float[np.ndarray, "records replicas p p"], Any]:
    """Run Gram matrix and parameters of online gradient descent as the exact Markov chain they are, in any dimension.

    `gram` and the leaves of `parameters` have one entry a replica; `step` is δ. Both are recorded after every `every`
    steps. A step costs the decomposition of a (K + M)-square matrix, in dimension 10⁵ as in 10³. Nothing is
    approximated: whole vectors in N ≥ K + M dimensions have the same law.
    """
    replicas, size = gram.shape[:2]
    if dimension <= size:
        raise ValueError(f"dimension must exceed the number of vectors, {size}, got {dimension}")
    records = max(1, steps // every)
    affordable(draws=(records, every, replicas, size), records=(records, replicas, size, size))
    random, path = generator(key), []
    state = jax.tree.map(lambda leaf: jnp.asarray(leaf, float), (gram, parameters))
    data, count = tuple(jnp.asarray(each, float) for each in model[1:]), len(np.asarray(model.centres))
    block = min(records, max(1, BLOCK // (every * replicas)))
    for _ in range(-(-records // block)):
        # Blocks of one shape, compiled once; what lies beyond the last record is cut off.
        shape = (block, every, replicas)
        drawn = (
            random.integers(count, size=shape),
            random.standard_normal((*shape, size)),
            random.chisquare(dimension - size, shape),
        )
        state, seen = _advance(state, drawn, data, step, model.loss)
        path.append(seen)
    return jax.tree.map(lambda *leaves: np.concatenate([np.asarray(leaf) for leaf in leaves])[:records], *path)


def projected_velocity(
    model: Projected,
    gram: Float[AnyArray, "p p"],
    parameters: Any,
    normals: Float[AnyArray, "draws p"],
    weights: Float[AnyArray, " draws"],
    *,
    ratio: float = 1.0,
) -> tuple[Any, Any, Any]:
    """Return −f of Gram matrix and of parameters, and the corrector g of the Gram matrix, at steps δ = c/N, N → ∞.

    d⟨W_i, W_j⟩/dt = −E(ℓ_iλ_j + ℓ_jλ_i) − 2α⟨W_i, W_j⟩ + c s² E ℓ_iℓ_j, and without the last term for a weight and a
    hidden direction; λ are the fields, ℓ_i the derivatives of the loss in them. The statistics have no volatility in
    this limit. `normals` and `weights` are a rule for expectations over K + M standard normals: a product of
    Gauss–Hermite rules where the loss is smooth and there are few, else draws; `ratio` is c, and c → 0 is gradient flow
    on the population loss. Reference: jagannath Thm 12.4; Saad and Solla (1995) for teacher and student.
    """
    gram, normals, weights = jnp.asarray(gram), jnp.asarray(normals), jnp.asarray(weights)
    centres, labels = jnp.asarray(model.centres), jnp.asarray(model.labels)
    hidden = centres.shape[1]
    count = len(gram) - hidden
    root = _root(gram)

    def moments(centre: Array, label: Any, normal: Array) -> Any:
        fields = root @ (root[count:].T @ centre + model.spread * normal)
        slopes, further = _slopes(model, fields, count, parameters, label)
        padded = jnp.concatenate([slopes, jnp.zeros(hidden)])
        return jnp.outer(padded, fields), jnp.outer(padded, padded), further

    found = jax.vmap(lambda c, y: jax.vmap(lambda z: moments(c, y, z))(normals))(centres, labels)
    share = weights / (len(centres) * weights.sum())
    crossed, square, further = jax.tree.map(lambda leaf: jnp.tensordot(share, leaf.sum(0), 1), found)
    trained = jnp.concatenate([jnp.ones(count), jnp.zeros(hidden)])
    shrinking = model.decay * (trained[:, None] + trained) * gram
    slower = jax.tree.map(lambda v, change: -change - model.decay * v, parameters, further)
    return -crossed - crossed.T - shrinking, slower, ratio * model.spread**2 * square


doors(
    __name__,
    dimension="[2, 1e12]",
    step="(0, ∞)",
    steps="[1, 1e6]",
    every="[1, 1e6]",
    ratio="[0, ∞)",
    square="[0, ∞)",
    symmetric=("gram",),
)
