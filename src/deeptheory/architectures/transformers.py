"""Transformer blocks: the encoder of the formulas, encoder and decoder as they are built, and positional encodings.

Reference: lucchi Sec. 10.4.3; Vaswani et al. 2017.
"""

from collections.abc import Callable
from math import sqrt

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from deeptheory.architectures.attention_layers import (
    Linear,
    MultiHeadAttention,
    Tokens,
    causal_mask,
    init_attention,
    init_linear,
    scaled_dot_product,
)
from deeptheory.architectures.normalizers import LayerNorm, init_layer_norm
from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors

__all__ = [
    "DecoderBlock",
    "EncoderBlock",
    "FeedForward",
    "init_decoder_block",
    "init_encoder_block",
    "init_feed_forward",
    "residual_encoder_block",
    "sinusoidal_positions",
]


def residual_encoder_block(
    tokens: Tokens,
    query_weight: Float[AnyArray, "d k"],
    key_weight: Float[AnyArray, "d k"],
    value_weight: Float[AnyArray, "d d"],
    first_weight: Float[AnyArray, "d f"],
    second_weight: Float[AnyArray, "f d"],
    *,
    attention_share: float = 1.0,
    feed_forward_share: float = 1.0,
    activation: Callable[[Array], Array] = jax.nn.relu,
) -> Float[Array, "*batch n d"]:
    """Encoder block of the formulas: Z = α₁ A X W^V + X, then α₂ σ(Z W₁) W₂ + Z, A = softmax(X W^Q (X W^K)ᵀ/√k).

    One head, no biases and no normalization. `attention_share` is α₁ and `feed_forward_share` α₂: at zero both leave
    the tokens as they are. For layers one trains use `EncoderBlock`. Reference: lucchi Sec. 10.4.3.
    """
    tokens = jnp.asarray(tokens)
    attended = scaled_dot_product(tokens @ query_weight, tokens @ key_weight, tokens @ value_weight)
    middle = attention_share * attended + tokens
    return feed_forward_share * (activation(middle @ first_weight) @ second_weight) + middle


class FeedForward(eqx.Module):
    """The same two layers at every position, σ(x W₁ + b₁) W₂ + b₂."""

    first: Linear
    second: Linear
    activation: Callable[[Array], Array] = eqx.field(static=True, default=jax.nn.relu)

    def __call__(self, x: Float[AnyArray, "*batch d"]) -> Float[Array, "*batch d"]:
        return self.second(self.activation(self.first(x)))


class EncoderBlock(eqx.Module):
    """Self-attention and a feed-forward network, each added to its input and then normalized (post-norm).

    Every position sees every other: a change of a later token moves earlier outputs. With one head this is what
    lucchi's Listing 10.3 computes, under the caption of a decoder block.
    """

    attention: MultiHeadAttention
    feed_forward: FeedForward
    first_norm: LayerNorm
    second_norm: LayerNorm

    def __call__(self, tokens: Tokens) -> Float[Array, "*batch n d"]:
        attended = self.first_norm(tokens + self.attention(tokens))
        return self.second_norm(attended + self.feed_forward(attended))


class DecoderBlock(eqx.Module):
    """Masked self-attention, attention to the encoder's output, and a feed-forward network (lucchi Sec. 10.4.3).

    Output i depends on the tokens up to i and on the whole context.
    """

    attention: MultiHeadAttention
    cross_attention: MultiHeadAttention
    feed_forward: FeedForward
    first_norm: LayerNorm
    second_norm: LayerNorm
    third_norm: LayerNorm

    def __call__(self, tokens: Tokens, context: Float[AnyArray, "*batch m e"]) -> Float[Array, "*batch n d"]:
        mask = causal_mask(tokens.shape[-2])
        attended = self.first_norm(tokens + self.attention(tokens, mask=mask))
        informed = self.second_norm(attended + self.cross_attention(attended, context))
        return self.third_norm(informed + self.feed_forward(informed))


def init_feed_forward(
    key: Key[Array, ""], width: int, hidden: int, *, activation: Callable[[Array], Array] = jax.nn.relu
) -> FeedForward:
    """Draw a feed-forward network: first weights of variance 2/fan-in, second 1/fan-in, biases zero.

    From `width` numbers to `hidden` nodes and back.
    """
    first, second = jax.random.split(key)
    return FeedForward(init_linear(first, width, hidden, scale=sqrt(2)), init_linear(second, hidden, width), activation)


def init_encoder_block(key: Key[Array, ""], width: int, hidden: int, *, heads: int = 1) -> EncoderBlock:
    """Draw an encoder block on tokens of a width, with `hidden` nodes in its feed-forward network.

    `heads` divide the `width`.
    """
    first, second = jax.random.split(key)
    norms = init_layer_norm(width), init_layer_norm(width)
    return EncoderBlock(init_attention(first, width, heads=heads), init_feed_forward(second, width, hidden), *norms)


def init_decoder_block(
    key: Key[Array, ""], width: int, hidden: int, *, heads: int = 1, context_width: int | None = None
) -> DecoderBlock:
    """Draw a decoder block; `context_width` is the width of the encoder's output where it differs.

    `width`, `hidden` and `heads` as in `init_encoder_block`.
    """
    first, second, third = jax.random.split(key, 3)
    return DecoderBlock(
        init_attention(first, width, heads=heads),
        init_attention(second, width, heads=heads, context_width=context_width),
        init_feed_forward(third, width, hidden),
        *(init_layer_norm(width) for _ in range(3)),
    )


def sinusoidal_positions(count: int, width: int, *, base: float = 10_000.0) -> Float[np.ndarray, "count width"]:
    """Sinusoidal encoding of the positions 0, 1, …: coordinates 2i and 2i+1 are sin and cos of pos/base^(2i/width).

    All encodings have the squared length width/2, the product of two depends on their distance k only,
    Σᵢ cos(k base^(−2i/width)), and a shift by k is one rotation for all positions. Reference: lucchi Sec. 10.4.3.
    """
    if width % 2:
        raise ValueError(f"width must be even, for a sine and a cosine of every frequency, got {width}")
    angles = np.arange(count)[:, None] / base ** (np.arange(0, width, 2) / width)
    return np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(count, width)


doors(
    __name__,
    count="[1, 1e6]",
    width="[1, 1e5]",
    hidden="[1, 1e6]",
    heads="[1, 1e4]",
    context_width="[1, 1e5]",
    base="[1, 1e12]",
)
