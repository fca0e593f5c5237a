"""A masked language model in the shape of ALBERT: one encoder block, again and again, fills in hidden tokens.

Reference: Lan et al. 2020; Devlin et al. 2019 for the task.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from deeptheory.architectures.normalizers import LayerNorm, init_layer_norm
from deeptheory.architectures.transformers import EncoderBlock, init_encoder_block
from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import inside
from deeptheory.foundations.randomness import generator

__all__ = ["MaskedLanguageModel", "init_masked_language_model"]


class MaskedLanguageModel(eqx.Module):
    """An encoder block with the same weights at every depth on embedded tokens: logits of what stands at each place.

    The rows of `embedding` are tokens, on the way in and out; the last one is the mask, which is read and never said.
    Every place sees all others. Reference: Lan et al. (2020), ALBERT, whose embeddings are factorised besides.
    """

    embedding: Float[AnyArray, "tokens d"]
    positions: Float[AnyArray, "context d"]
    norm: LayerNorm
    block: EncoderBlock
    depth: int = eqx.field(static=True)

    @property
    def mask(self) -> int:
        """Number of the token that stands for a hidden one."""
        return self.embedding.shape[0] - 1

    def states(self, ids: Int[AnyArray, "*batch n"], *, depth: int | None = None) -> Float[Array, "layers *batch n d"]:
        """Tokens before the first block and after each, down to the model's own depth or any other."""
        if ids.shape[-1] > self.positions.shape[0]:
            raise ValueError(f"sequences must have at most {self.positions.shape[0]} tokens, got {ids.shape[-1]}")
        inside(0, len(self.embedding) - 1, ids=ids)
        start = self.norm(jnp.asarray(self.embedding)[ids] + self.positions[: ids.shape[-1]])

        def layer(tokens: Array, _: None) -> tuple[Array, Array]:
            tokens = self.block(tokens)
            return tokens, tokens

        _, after = jax.lax.scan(layer, start, length=self.depth if depth is None else depth)
        return jnp.concatenate([start[None], after])

    def __call__(self, ids: Int[AnyArray, "*batch n"]) -> Float[Array, "*batch n vocabulary"]:
        """Logits of all tokens but the mask, at every place."""
        return self.states(ids)[-1] @ jnp.asarray(self.embedding)[:-1].T


def init_masked_language_model(
    key: Key[Array, ""], *, vocabulary: int, context: int, width: int, depth: int, heads: int = 1
) -> MaskedLanguageModel:
    """Draw a masked language model: feed-forward networks of 2 × width, embeddings N(0, 1/width), a mask besides.

    What the block adds to its input is divided by √(2 depth), as in GPT-2, so that depth alone does not make tokens
    equal before anything is learnt. `vocabulary` counts the tokens without the mask, `context` is the longest sequence,
    and the block, of `heads` heads, is applied `depth` times.
    """
    first, second = jax.random.split(key)
    draw = generator(first)
    block = init_encoder_block(second, width, 2 * width, heads=heads)
    block = eqx.tree_at(
        lambda b: (b.attention.output.weight, b.feed_forward.second.weight),
        block,
        replace_fn=lambda weight: weight / np.sqrt(2 * depth),
    )
    embedding = jnp.asarray(draw.standard_normal((vocabulary + 1, width)) / np.sqrt(width))
    positions = jnp.asarray(draw.standard_normal((context, width)) / np.sqrt(width))
    return MaskedLanguageModel(embedding, positions, init_layer_norm(width), block, depth)


doors(
    __name__,
    vocabulary="[1, 1e6]",
    context="[1, 1e5]",
    width="[1, 1e5]",
    depth="[1, 200]",
    heads="[1, 1e4]",
)
