"""Transformer blocks as velocities on the sphere: heads, feed-forward layer, and a flow through any depth.

Depth is time t. The tokens x_1, …, x_n are unit vectors, kept so by layer normalization, and a full block moves them by

    ẋ_i = P⊥_{x_i} ( Σ_h Σ_j A^h_ij V_h x_j + w σ(a x_i + b) ),    A^h_ij ∝_j e^{β⟨Q_h x_i, K_h x_j⟩}

(jagannath eqs. 14.1.3, 14.1.6, 14.1.7; Lu et al. 2020).
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from deeptheory.attention.clusters import attention_matrix, tangent
from deeptheory.foundations.arrays import AnyArray, Scalar
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.flows import flow, followed
from deeptheory.foundations.guards import inside

__all__ = [
    "Feedforward",
    "Heads",
    "block_velocity",
    "feedforward",
    "sphere_flow",
    "stepped_sphere_flow",
    "unnormalized_velocity",
]

Tokens = Float[AnyArray, "n d"]


class Heads(NamedTuple):
    """Query, key and value matrices of all heads of a layer, stacked along their first axis."""

    queries: Float[AnyArray, "heads k d"]
    keys: Float[AnyArray, "heads k d"]
    values: Float[AnyArray, "heads d d"]


class Feedforward(NamedTuple):
    """The layer w σ(a x + b): outer matrix w, inner matrix a, bias b."""

    outer: Float[AnyArray, "d m"]
    inner: Float[AnyArray, "m d"]
    bias: Float[AnyArray, "m"]


def feedforward(
    layer: Feedforward, tokens: Tokens, activation: Callable[[Array], Array] = jax.nn.relu
) -> Float[Array, "n d"]:
    """Apply w σ(a x + b) to every token by itself."""
    outer, inner, bias = map(jnp.asarray, layer)
    return activation(jnp.asarray(tokens) @ inner.T + bias) @ outer.T


def block_velocity(
    tokens: Tokens,
    inverse_temperature: Scalar,
    heads: Heads,
    layer: Feedforward | None = None,
    activation: Callable[[Array], Array] = jax.nn.relu,
) -> Float[Array, "n d"]:
    """Velocity of every token in a full block: the heads' pulls added up, and the feed-forward layer's, projected.

    One head and no layer is eq. (1.3) of jagannath, chapter 14; several heads (1.6); with a layer (1.7). With one head
    of identity matrices it is `clusters.token_velocity`. The heads are added, not averaged: H equal heads are one with
    H times its values. `inverse_temperature` is β.
    """
    tokens = jnp.asarray(tokens)
    weights = jax.vmap(lambda query, key: attention_matrix(tokens, inverse_temperature, query, key))(
        jnp.asarray(heads.queries), jnp.asarray(heads.keys)
    )
    pull = jnp.einsum("hij,jd,hed->ie", weights, tokens, jnp.asarray(heads.values))
    return tangent(tokens, pull if layer is None else pull + feedforward(layer, tokens, activation))


def unnormalized_velocity(tokens: Tokens, inverse_temperature: Scalar) -> Float[Array, "n d"]:
    """Velocity with the sum of weights replaced by n: ẋ_i = P⊥_{x_i} (1/n) Σ_j e^{β⟨x_i,x_j⟩} x_j, called (USA).

    Exactly half the gradient on the sphere of `clusters.interaction_energy` at the same β, whereas the normalized flow
    is a gradient only after each token's speed is rescaled (Geshkovski, Letrouit, Polyanskiy, Rigollet 2024).
    `inverse_temperature` is β.
    """
    tokens = jnp.asarray(tokens)
    return tangent(tokens, jnp.exp(inverse_temperature * (tokens @ tokens.T)) @ tokens / tokens.shape[0])


def sphere_flow(
    velocity: Callable[[Array, Array], Array],
    tokens: Tokens,
    times: Float[AnyArray, "t"],
    *,
    tolerance: float = 1e-9,
) -> Float[np.ndarray, "t n d"]:
    """Positions at increasing times of tokens that move by ẋ = velocity(t, x) from time zero, x the n × d array.

    Steps adapt to the flow, and a stiff method takes over where tokens hardly move for long (LSODA), so that times
    as long as e^β are within reach; weights that depend on time are the velocity's own business. `velocity` is
    written in JAX. Values are on the host and carry no derivatives: for those use `stepped_sphere_flow`.
    """
    shape = np.shape(tokens)
    lengths = np.linalg.norm(np.asarray(tokens, float), axis=-1)
    inside(1 - 1e-6, 1 + 1e-6, length_of_the_tokens=lengths)

    def flat(time: Array, state: Array) -> Array:
        moved = velocity(time, state.reshape(shape))
        if jnp.shape(moved) != shape:
            raise ValueError(f"velocity must return the shape {shape} of the tokens, got {jnp.shape(moved)}")
        return moved.ravel()

    with jax.enable_x64(True):
        path = followed(
            jax.jit(flat),
            0.0,
            np.asarray(tokens, float).ravel(),
            times,
            method="LSODA",
            tolerance=tolerance,
            jacobian=jax.jit(jax.jacfwd(flat, argnums=1)),
        ).reshape(-1, *shape)
    # The sphere is invariant; what the solver lost of it is within its tolerance.
    return path / np.linalg.norm(path, axis=-1, keepdims=True)


def stepped_sphere_flow(
    velocity: Callable[[Array, Array], Array],
    tokens: Tokens,
    times: Float[AnyArray, "t"],
    *,
    substeps: int = 16,
) -> Float[Array, "t n d"]:
    """Positions as `sphere_flow` has them, by `substeps` equal steps of Runge–Kutta of order four up to each time.

    Pure, for `jit`, `vmap` and `grad` in the tokens and in all that `velocity` closes over, such as heads. Not for the
    long waits of cold tokens, which are stiff. Tokens must have length one; at each time they are brought back to it.
    """
    inside(1 - 1e-6, 1 + 1e-6, length_of_the_tokens=jnp.linalg.norm(jnp.asarray(tokens), axis=-1))
    path = flow(velocity, jnp.asarray(tokens), times, substeps=substeps)
    return path / jnp.linalg.norm(path, axis=-1, keepdims=True)


doors(__name__, tolerance="[1e-13, 1e-2]", times="[0, ∞)", substeps="[1, 1e5]")
