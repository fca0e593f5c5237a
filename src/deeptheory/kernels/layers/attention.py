"""Self-attention in the limit of many heads and channels (Hron et al. 2020)."""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from deeptheory.foundations.entrances import doors
from deeptheory.kernels.layers.layer import Demand, Layer, Scalar, check_shape, normal, one_block
from deeptheory.kernels.layers.positions import full_matrix, weighted
from deeptheory.kernels.limits.block import Block

__all__ = ["SelfAttention"]

MECHANISMS: dict[str, Callable[..., Array]] = {
    "SOFTMAX": lambda x, axis: jax.nn.softmax(x, axis),
    "IDENTITY": lambda x, axis: x,
    "ABS": lambda x, axis: jnp.abs(x),
    "RELU": lambda x, axis: jnp.maximum(x, 0),
}
EMBEDDINGS = ("NONE", "SUM", "CONCAT")


@dataclass(frozen=True)
class SelfAttention(Layer):
    """Multi-head attention over all positions: concat_h[ζ(Q_h K_hᵀ) V_h] W_out + b.

    `linear_scaling`: QKᵀ is divided by the key width and queries share the keys' weights, so that attention weights
    have the limit ζ(σ_Q σ_K K(x, x)); otherwise by its root with independent weights, where only ζ = identity has a
    known kernel. Random embeddings of positions, with covariance `decay(Σ|i − j|^p)` (the identity if None), may be
    added or appended to what keys and queries see, and with `embed_values` also to values.
    """

    width: int
    key_width: int
    value_width: int
    heads: int
    linear_scaling: bool = True
    W_key_std: Scalar = 1.0
    W_value_std: Scalar = 1.0
    W_query_std: Scalar = 1.0
    W_out_std: Scalar = 1.0
    b_std: Scalar | None = None
    mechanism: str = "SOFTMAX"
    embedding: str = "NONE"
    embedding_power: Scalar = 2.0
    embedding_decay: Callable[[Any], Any] | None = None
    embedding_width: int | None = None
    W_embedding_std: Scalar = 1.0
    embed_values: bool = False

    def __post_init__(self) -> None:
        if self.mechanism not in MECHANISMS:
            raise ValueError(f"the mechanism must be one of {', '.join(MECHANISMS)}, got {self.mechanism!r}")
        if self.embedding not in EMBEDDINGS:
            raise ValueError(f"the embedding must be one of {', '.join(EMBEDDINGS)}, got {self.embedding!r}")

    def init(self, key, shape):
        check_shape("SelfAttention", shape)
        if len(shape) < 3:
            raise ValueError(f"SelfAttention needs inputs with positions, got shape {tuple(shape)}")
        keys = jax.random.split(key, 6)
        channels = shape[-1]
        if self.embedding == "SUM" and self.embedding_width not in (None, channels):
            raise ValueError(
                f"an embedding that is added has the inputs' {channels} channels, not {self.embedding_width}"
            )
        appended = (self.embedding_width or channels) if self.embedding == "CONCAT" else 0
        embedding = None
        if self.embedding != "NONE":
            embedding = normal(keys[0], (1, *shape[1:-1], self.embedding_width or channels))
        seen = channels + appended
        valued = channels + (appended if self.embed_values else 0)
        parameters = {
            "key": normal(keys[1], (self.heads, seen, self.key_width)),
            "query": None if self.linear_scaling else normal(keys[2], (self.heads, seen, self.key_width)),
            "value": normal(keys[3], (self.heads, valued, self.value_width)),
            "out": normal(keys[4], (self.heads, self.value_width, self.width)),
            "bias": None if self.b_std is None else normal(keys[5], (1,) * (len(shape) - 1) + (self.width,)),
            "embedding": embedding,
        }
        return (*shape[:-1], self.width), parameters

    def _embedding_covariance(self, spatial: tuple[int, ...], dtype: Any) -> Array:
        size = prod(spatial)
        if self.embedding_decay is None:
            return jnp.eye(size, dtype=dtype)
        places = np.indices(spatial).reshape(len(spatial), -1)
        gaps = np.abs(places[:, :, None] - places[:, None])
        # 0 to any power is 0, also in derivatives by the power.
        distance = jnp.where(gaps > 0, np.maximum(gaps, 1.0) ** self.embedding_power, 0).sum(0)
        return jnp.asarray(self.embedding_decay(jnp.asarray(distance, dtype)), dtype)

    def visible(self, weights: Array, hidden: Array, axis: int) -> Array:
        """Leave hidden positions out of attention weights, which a softmax makes sum to 1 over the others."""
        weights = jnp.where(hidden, 0, weights)
        if self.mechanism != "SOFTMAX":
            return weights
        total = jnp.sum(weights, axis, keepdims=True)
        return weights / jnp.where(total > 0, total, 1)

    def apply(self, parameters, x, *, key=None, hidden=None, **extra):
        spatial, channels = x.shape[1:-1], x.shape[-1]
        x = x.reshape(x.shape[0], -1, channels)
        seen = x
        if self.embedding != "NONE":
            places = parameters["embedding"].reshape(x.shape[1], -1)
            if self.embedding_decay is not None:
                places = jnp.linalg.cholesky(self._embedding_covariance(spatial, x.dtype)) @ places
            places = jnp.broadcast_to(self.W_embedding_std * places, (x.shape[0], *places.shape))
            seen = x + places if self.embedding == "SUM" else jnp.concatenate([x, places], -1)
        valued = seen if self.embed_values else x
        keys = jnp.einsum("npc,hck->nhpk", seen, parameters["key"])
        queries = keys if self.linear_scaling else jnp.einsum("npc,hck->nhpk", seen, parameters["query"])
        scale = (
            self.W_key_std * self.W_query_std / (seen.shape[-1] * self.key_width ** (1 if self.linear_scaling else 0.5))
        )
        weights = MECHANISMS[self.mechanism](scale * queries @ jnp.swapaxes(keys, -1, -2), -1)
        if hidden is not None:
            weights = self.visible(weights, hidden.reshape(x.shape[0], 1, 1, -1), -1)
        values = jnp.einsum("npc,hcv->nhpv", valued, parameters["value"])
        output = jnp.einsum("nhpq,nhqv,hvo->npo", weights, values, parameters["out"])
        output = output * self.W_out_std * self.W_value_std
        output = output / (self.value_width * self.heads * valued.shape[-1]) ** 0.5
        output = output.reshape(-1, *spatial, self.width)
        return output if parameters["bias"] is None else output + self.b_std * parameters["bias"]

    def demand(self, wanted):
        return Demand(True, True, True)

    def _seen(self, block: Block, array: Array) -> Array:
        """Mix the covariance of embeddings into that of the inputs, both over (positions, positions, inputs…)."""
        matrix = full_matrix(block, array)
        if self.embedding == "NONE":
            return matrix
        places = self._embedding_covariance(block.spatial, array.dtype)
        share = 1.0
        if self.embedding == "CONCAT":
            share = block.channels / (block.channels + (self.embedding_width or block.channels))
        rest = (1 - share if self.embedding == "CONCAT" else 1.0) * self.W_embedding_std**2
        return share * matrix + rest * places.reshape(*places.shape, *(1,) * (matrix.ndim - 2))

    def _embedded(self, block: Block) -> Block:
        """Return the block of what keys see; embeddings are trained, so their covariance enters Θ as well."""
        shape = block.covariance.shape
        tangent = None
        if block.with_tangent:
            start = jnp.zeros_like(block.covariance) if block.tangent is None else block.tangent
            tangent = self._seen(block, start).reshape(shape)
        return block.replace(covariance=self._seen(block, block.covariance).reshape(shape), tangent=tangent)

    def record(self, block):
        block = one_block("SelfAttention", block)
        if not self.linear_scaling:
            return jnp.zeros(block.covariance.shape[-1:], block.covariance.dtype)
        scale = self.W_key_std * self.W_query_std
        return MECHANISMS[self.mechanism](scale * self._seen(block, block.covariance), 1)

    def kernel(self, block, left, right):
        block = one_block("SelfAttention", block)
        if not block.spatial:
            raise ValueError("SelfAttention needs inputs with positions")
        valued = block
        if self.embed_values and self.embedding != "NONE":
            valued = self._embedded(block)
        if self.linear_scaling:
            return self._linear(weighted(valued, left, right, block.spatial))
        if self.mechanism != "IDENTITY":
            raise ValueError(
                f"attention with square-root scaling and mechanism {self.mechanism} has no known kernel:"
                " use linear_scaling=True or the IDENTITY mechanism"
            )
        return self._square_root(block, valued)

    def _linear(self, mixed: Block) -> Block:
        scale = (self.W_out_std * self.W_value_std) ** 2
        bias = 0.0 if self.b_std is None else self.b_std**2
        bare = scale * mixed.covariance
        tangent = None
        if mixed.with_tangent:
            # Output and value weights each contribute the bare covariance; keys and queries vanish in this scaling.
            tangent = 2 * bare + bias
            if mixed.tangent is not None:
                tangent = tangent + scale * mixed.tangent
        return mixed.replace(
            covariance=bare + bias, tangent=tangent, channels=self.width, gaussian=True, is_input=False
        )

    def _square_root(self, block: Block, valued: Block) -> Block:
        """ζ = identity, d^(−1/2): the covariance is the product of K̃ and ⟨K̃, K⟩ over all positions."""
        scale = (self.W_key_std * self.W_query_std * self.W_out_std * self.W_value_std) ** 2
        bias = 0.0 if self.b_std is None else self.b_std**2
        seen = self._seen(block, block.covariance)
        own = full_matrix(block, valued.covariance)
        inner = jnp.sum(seen * own, (0, 1), keepdims=True)
        bare = scale * inner * seen
        tangent = None
        if block.with_tangent:
            start = jnp.zeros_like(block.covariance)
            moved = self._seen(block, start if block.tangent is None else block.tangent)
            moved_value = full_matrix(valued, start if valued.tangent is None else valued.tangent)
            change = jnp.sum(moved * own + seen * moved_value, (0, 1), keepdims=True)
            tangent = 4 * bare + bias + scale * (change * seen + inner * moved)
        shape = block.covariance.shape
        return block.replace(
            covariance=(bare + bias).reshape(shape),
            tangent=None if tangent is None else tangent.reshape(shape),
            channels=self.width,
            gaussian=True,
            is_input=False,
        )


doors(__name__)
