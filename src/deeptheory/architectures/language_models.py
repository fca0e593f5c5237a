"""A decoder-only language model in the shape of GPT-2, with a cache of keys and values for generation.

Reference: lucchi Sec. 10.4.5; Radford et al. 2019.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from deeptheory.architectures.attention_layers import MultiHeadAttention, causal_mask, init_attention
from deeptheory.architectures.normalizers import LayerNorm, init_layer_norm
from deeptheory.architectures.transformers import FeedForward, init_feed_forward
from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import inside
from deeptheory.foundations.randomness import generator

__all__ = ["Cache", "CausalBlock", "LanguageModel", "init_language_model"]

Ids = Int[AnyArray, "rows n"]


class Cache(NamedTuple):
    """Keys and values of the tokens read so far, a row for each sequence, and how many there are."""

    keys: tuple[Float[Array, "rows h room k"], ...]
    values: tuple[Float[Array, "rows h room k"], ...]
    length: int | Int[Array, ""]


class CausalBlock(eqx.Module):
    """Masked self-attention and a feed-forward network on normalized tokens, each added to its input (pre-norm)."""

    first_norm: LayerNorm
    attention: MultiHeadAttention
    second_norm: LayerNorm
    feed_forward: FeedForward

    def __call__(self, tokens: Float[Array, "*batch n d"]) -> Float[Array, "*batch n d"]:
        mask = causal_mask(tokens.shape[-2])
        tokens = tokens + self.attention(self.first_norm(tokens), mask=mask)
        return tokens + self.feed_forward(self.second_norm(tokens))

    def extend(
        self,
        tokens: Float[Array, "rows n d"],
        keys: Float[Array, "rows h room k"],
        values: Float[Array, "rows h room k"],
        start: int | Int[Array, ""],
    ) -> tuple[Float[Array, "rows n d"], Float[Array, "rows h room k"], Float[Array, "rows h room k"]]:
        """Read tokens that stand at `start` and later: their keys and values join those of the earlier ones."""
        layer, normal = self.attention, self.first_norm(tokens)
        keys = jax.lax.dynamic_update_slice_in_dim(keys, layer.split(layer.key(normal)), start, axis=2)
        values = jax.lax.dynamic_update_slice_in_dim(values, layer.split(layer.value(normal)), start, axis=2)
        queries = layer.split(layer.query(normal))
        seen = jnp.arange(keys.shape[2])[None, :] <= start + jnp.arange(tokens.shape[1])[:, None]
        scores = queries @ jnp.swapaxes(keys, -1, -2) / np.sqrt(queries.shape[-1]).astype(queries.dtype)
        tokens = tokens + layer.join(jax.nn.softmax(jnp.where(seen, scores, -jnp.inf), axis=-1) @ values)
        return tokens + self.feed_forward(self.second_norm(tokens)), keys, values


class LanguageModel(eqx.Module):
    """A stack of causal blocks on embedded tokens: logits of the next token at every position.

    The rows of `embedding` are tokens, on the way in and out; those of `positions` are learned. Ids must be below the
    size of the vocabulary and sequences no longer than `positions`. Reference: Radford et al. (2019), GPT-2.
    """

    embedding: Float[AnyArray, "vocabulary d"]
    positions: Float[AnyArray, "context d"]
    blocks: tuple[CausalBlock, ...]
    norm: LayerNorm

    def __call__(self, ids: Int[AnyArray, "*batch n"]) -> Float[Array, "*batch n vocabulary"]:
        """Logits of all next tokens, without a cache."""
        self.fits(ids.shape[-1])
        inside(0, len(self.embedding) - 1, ids=ids)
        tokens = jnp.asarray(self.embedding)[ids] + self.positions[: ids.shape[-1]]
        for block in self.blocks:
            tokens = block(tokens)
        return self.norm(tokens) @ jnp.asarray(self.embedding).T

    def fits(self, length: int) -> None:
        """Refuse sequences that are longer than the model has positions."""
        if length > len(self.positions):
            raise ValueError(f"sequences must have at most {len(self.positions)} tokens, got {length}")

    def start(self, ids: Ids, *, length: int) -> tuple[Cache, Int[Array, " rows"]]:
        """Read all but the last token of every prompt: the cache, with room for `length` more, and the last tokens.

        What the functions of `decoding` begin with: `greedy_search(model.step, *model.start(prompts, length=20), …)`.
        """
        rows, read = ids.shape[0], ids.shape[1] - 1
        self.fits(read + length)
        inside(0, len(self.embedding) - 1, ids=ids)
        layer = self.blocks[0].attention
        shape = rows, layer.heads, read + length, layer.key.weight.shape[1] // layer.heads
        room = tuple(jnp.zeros(shape, self.embedding.dtype) for _ in self.blocks)
        cache = Cache(room, room, jnp.asarray(0))
        if read:
            cache, _ = _read(self, cache, jnp.asarray(ids[:, :-1]))
        return cache, jnp.asarray(ids[:, -1])

    def step(self, cache: Cache, tokens: Int[Array, " rows"]) -> tuple[Cache, Float[Array, "rows vocabulary"]]:
        """Read one more token of every sequence: the longer cache and the logits of what comes next."""
        cache, hidden = self.read(cache, tokens[:, None])
        return cache, self.norm(hidden[:, 0]) @ jnp.asarray(self.embedding).T

    def read(self, cache: Cache, ids: Ids) -> tuple[Cache, Float[Array, "rows n d"]]:
        """Read tokens after those of the cache: the longer cache, and the tokens as the last block leaves them."""
        places = jax.lax.dynamic_slice_in_dim(jnp.asarray(self.positions), cache.length, ids.shape[1])
        tokens, keys, values = jnp.asarray(self.embedding)[ids] + places, [], []
        for block, old_keys, old_values in zip(self.blocks, cache.keys, cache.values, strict=True):
            tokens, new_keys, new_values = block.extend(tokens, old_keys, old_values, cache.length)
            keys.append(new_keys)
            values.append(new_values)
        return Cache(tuple(keys), tuple(values), cache.length + ids.shape[1]), tokens


@eqx.filter_jit
def _read(model: LanguageModel, cache: Cache, ids: Ids) -> tuple[Cache, Array]:
    return model.read(cache, ids)


def init_language_model(
    key: Key[Array, ""], *, vocabulary: int, context: int, width: int, layers: int, heads: int = 1, spread: float = 1.0
) -> LanguageModel:
    """Draw a language model: feed-forward networks of 4 × width with GELU, embeddings N(0, spread²/width).

    `spread` moves the size of the logits: at 1 they have variance about 1. Hugging Face's GPT-2 of these sizes has the
    same parameters in other names (`pretrained`). `vocabulary` counts the tokens, `context` is the longest sequence,
    `layers` the number of blocks of `heads` heads, which divide `width`.
    """
    keys = jax.random.split(key, layers + 1)

    def block(each):
        first, second = jax.random.split(each)
        return CausalBlock(
            init_layer_norm(width),
            init_attention(first, width, heads=heads),
            init_layer_norm(width),
            init_feed_forward(second, width, 4 * width, activation=jax.nn.gelu),
        )

    draw = generator(keys[-1])
    embedding = draw.standard_normal((vocabulary, width)) * (spread / np.sqrt(width))
    positions = draw.standard_normal((context, width)) * (spread / np.sqrt(width))
    blocks = tuple(block(each) for each in keys[:-1])
    return LanguageModel(jnp.asarray(embedding), jnp.asarray(positions), blocks, init_layer_norm(width))


doors(
    __name__,
    vocabulary="[1, 1e6]",
    context="[1, 1e5]",
    width="[1, 1e5]",
    layers="[1, 200]",
    heads="[1, 1e4]",
    spread="(0, ∞)",
)
