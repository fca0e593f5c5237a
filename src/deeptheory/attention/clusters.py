"""Tokens of a self-attention layer as particles on the sphere, and how they cluster.

With query, key and value matrices equal to the identity, depth becomes time t and token i moves by

    ẋ_i = P⊥_{x_i} Σ_j A_ij x_j,    A_ij = e^{β⟨x_i,x_j⟩} / Σ_k e^{β⟨x_i,x_k⟩},

where P⊥_x v = v − ⟨x,v⟩x and β is the inverse temperature (jagannath, chapter 14; Geshkovski, Letrouit, Polyanskiy,
Rigollet 2024).
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key, Num, UInt32

from deeptheory.foundations.arrays import AnyArray, Scalar
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import affordable
from deeptheory.foundations.randomness import generator

Tokens = Float[AnyArray, "n d"]

__all__ = [
    "attention_matrix",
    "cluster_count",
    "consensus_time",
    "interaction_energy",
    "kuramoto_velocity",
    "pair_overlaps",
    "random_tokens",
    "tangent",
    "token_flow",
    "token_velocity",
]


def random_tokens(key: Key[Array, ""] | UInt32[Array, "2"], *shape: int) -> Float[np.ndarray, "..."]:
    """Independent uniform points on the sphere, which lies along the last axis of the given shape."""
    if not shape:
        raise ValueError("shape must have an axis of coordinates, got ()")
    affordable(shape=shape)
    points = generator(key).standard_normal(shape)
    return points / np.linalg.norm(points, axis=-1, keepdims=True)


def tangent(tokens: Tokens, pull: Float[AnyArray, "n d"]) -> Float[Array, "n d"]:
    """Each row of `pull` projected on the tangent space at its token: P⊥_x v = v − ⟨x, v⟩x."""
    tokens, pull = jnp.asarray(tokens), jnp.asarray(pull)
    return pull - jnp.sum(tokens * pull, axis=-1, keepdims=True) * tokens


def attention_matrix(
    tokens: Tokens,
    inverse_temperature: Scalar,
    query: Float[AnyArray, "k d"] | None = None,
    key: Float[AnyArray, "k d"] | None = None,
) -> Float[Array, "n n"]:
    """Attention that each token pays to every token: the row-wise softmax of β⟨Qx_i, Kx_j⟩ (jagannath 14.1.3).

    Every row is a probability vector, uniform at β = 0 and, as β → ∞, all on the tokens of the largest score. Without
    `query` and `key` both are the identity.
    """
    tokens = jnp.asarray(tokens)
    asking = tokens if query is None else tokens @ jnp.asarray(query).T
    answering = tokens if key is None else tokens @ jnp.asarray(key).T
    if asking.shape != answering.shape:
        raise ValueError(f"query and key must have one number of rows, got {asking.shape[1]} and {answering.shape[1]}")
    return jax.nn.softmax(inverse_temperature * (asking @ answering.T), axis=-1)


@jax.jit
def token_velocity(tokens: Tokens, inverse_temperature: Scalar) -> Float[Array, "n d"]:
    """Velocity of every token: its attention-weighted mean of all tokens, projected on its tangent space.

    Jagannath (SA); at β = 0 this is (2.5), where everyone sees the plain mean.
    """
    tokens = jnp.asarray(tokens)
    return tangent(tokens, attention_matrix(tokens, inverse_temperature) @ tokens)


def _runge_kutta_step(tokens, inverse_temperature, step):
    first = token_velocity(tokens, inverse_temperature)
    second = token_velocity(tokens + step / 2 * first, inverse_temperature)
    third = token_velocity(tokens + step / 2 * second, inverse_temperature)
    fourth = token_velocity(tokens + step * third, inverse_temperature)
    moved = tokens + step / 6 * (first + 2 * second + 2 * third + fourth)
    # Radial drift is of the order of the scheme's own error; removing it keeps the order and the sphere.
    return moved / jnp.linalg.norm(moved, axis=-1, keepdims=True)


@partial(jax.jit, static_argnames="substeps")
def token_flow(
    tokens: Tokens, times: Float[AnyArray, "t"], inverse_temperature: Scalar, *, substeps: int = 16
) -> Float[Array, "t n d"]:
    """Positions of the tokens, from `tokens` at time zero, at times that run away from zero, forwards or back.

    Classical fourth-order Runge–Kutta with `substeps` equal steps between neighbouring times and a return to the
    sphere after each step; the error falls as the fourth power of the step. Differentiable in both modes. Steps must be
    short beside 1/(1 + β) to follow the flow; beyond a length of 2.5, where not even tokens at rest stay there, and
    after a time that runs back towards zero, the positions are nan.
    """
    if substeps < 1:
        raise ValueError(f"substeps must be at least 1, got {substeps}")
    tokens, times = jnp.asarray(tokens), jnp.asarray(times)

    def advance(tokens, interval):
        def step(now, _):
            return _runge_kutta_step(now, inverse_temperature, interval / substeps), None

        tokens, _ = jax.lax.scan(step, tokens, length=substeps)
        return tokens, tokens

    intervals = jnp.diff(times, prepend=jnp.zeros((1,), times.dtype)).astype(tokens.dtype)
    astray = (jnp.abs(intervals) > 2.5 * substeps) | (intervals * jnp.sign(times[-1]) < 0)
    intervals = jnp.where(astray, jnp.nan, intervals)
    return jax.lax.scan(advance, tokens, intervals)[1]


@jax.jit
def consensus_time(
    tokens: Tokens,
    inverse_temperature: Scalar,
    tolerance: Scalar = 1e-6,
    step: Scalar = 0.1,
    limit: Scalar = 1000.0,
) -> Float[Array, ""]:
    """First time, on a grid of width `step`, at which all pairs of tokens overlap by more than 1 − tolerance.

    Infinity when that has not happened by `limit`, or when the tokens stand still at another critical point. `vmap` it
    over many starts: the loop ends with the slowest of them.
    """

    def apart(tokens):
        return jnp.any(1 - tokens @ tokens.T >= tolerance)

    def wandering(state):
        count, tokens, moving = state
        return apart(tokens) & moving & (count * step < limit)

    def advance(state):
        count, tokens, _ = state
        moved = _runge_kutta_step(tokens, inverse_temperature, step)
        return count + 1, moved, jnp.any(moved != tokens)

    start = (0, jnp.asarray(tokens), jnp.asarray(True))
    count, tokens, _ = jax.lax.while_loop(wandering, advance, start)
    return jnp.where(apart(tokens), jnp.inf, count * step)


@jax.jit
def interaction_energy(tokens: Tokens, inverse_temperature: Scalar = 0.0) -> Float[Array, ""]:
    """Energy that the tokens climb, E_β = (1/n) Σ_ij (e^{β⟨x_i,x_j⟩} − 1)/β; at β = 0, (1/n) Σ_ij ⟨x_i,x_j⟩.

    Along the flow dE_β/dt = (2/n) Σ_i Z_i |ẋ_i|² ≥ 0 with Z_i = Σ_j e^{β⟨x_i,x_j⟩}, hence 2 Σ_i |ẋ_i|² at β = 0:
    the flow is gradient ascent of E_0/2, not of the E_0 that jagannath names after Thm 14.1.
    """
    tokens = jnp.asarray(tokens)
    overlaps = tokens @ tokens.T
    hot = jnp.asarray(inverse_temperature) == 0
    beta = jnp.where(hot, 1, inverse_temperature)
    return jnp.sum(jnp.where(hot, overlaps, jnp.expm1(beta * overlaps) / beta)) / tokens.shape[0]


def kuramoto_velocity(angles: Float[AnyArray, "n"], inverse_temperature: Scalar = 0.0) -> Float[Array, "n"]:
    """Angular velocities of tokens on the circle: θ̇_i = Σ_j A_ij sin(θ_j − θ_i), A the softmax of β cos(θ_j − θ_i).

    At β = 0 this is the Kuramoto model of identical oscillators with unit coupling.
    """
    angles = jnp.asarray(angles)
    differences = angles[None, :] - angles[:, None]
    weights = jax.nn.softmax(inverse_temperature * jnp.cos(differences), axis=-1)
    return jnp.sum(weights * jnp.sin(differences), axis=-1)


def pair_overlaps(tokens: Num[AnyArray, "*layers n d"]) -> Float[np.ndarray, "*layers pairs"]:
    """Overlaps ⟨x_i, x_j⟩ of all pairs i < j, tokens divided by their length: the histograms of jagannath Fig. 14.1.3.

    Takes the hidden states of any network; what comes before the last two axes, such as layers, is kept.
    """
    tokens = np.asarray(tokens, float)
    lengths = np.linalg.norm(tokens, axis=-1, keepdims=True)
    if not np.all(lengths > 0):
        raise ValueError("tokens must not be zero: a vector without direction has no overlap")
    unit = tokens / lengths
    return (unit @ unit.swapaxes(-1, -2))[..., *np.triu_indices(tokens.shape[-2], 1)]


def cluster_count(tokens: Tokens, tolerance: float = 1e-3) -> int:
    """Number of groups when tokens that overlap by more than 1 − tolerance are joined."""
    from scipy.sparse.csgraph import connected_components

    tokens = np.asarray(tokens)
    return int(connected_components(tokens @ tokens.T > 1 - tolerance, directed=False)[0])


doors(__name__, substeps="[1, 1e5]", shape="[1, 1e9]", tolerance="(0, ∞)", step="[1e-3, ∞)", limit="[0, 1e4]")
