"""Attention as a layer: parameter-free, with one shared matrix, with queries, keys and values, masked, with many heads.

A row of X is a token; every function takes batches in front. Tokens are combined with weights that are a softmax of
scores, so that the layer commutes with every permutation of its tokens until a mask or positions tell them apart.

Reference: lucchi Secs. 10.4.1 and 10.4.2; Vaswani et al. 2017.
"""

from math import sqrt

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.entropies import entropy
from deeptheory.foundations.randomness import generator

__all__ = [
    "Linear",
    "MultiHeadAttention",
    "attention_entropy",
    "attention_weights",
    "causal_mask",
    "init_attention",
    "init_linear",
    "plain_attention",
    "scaled_dot_product",
    "shared_attention",
]

Tokens = Float[AnyArray, "*batch n d"]
Mask = Float[AnyArray, "n m"]
Seen = Float[AnyArray, "*batch m e"]


def plain_attention(tokens: Tokens) -> Float[Array, "*batch n d"]:
    """Self-attention without parameters, Y = softmax(X Xᵀ) X with the softmax of each row.

    Every output is a convex combination of the inputs, so that repeated application draws the tokens together. Not
    scaled: at a large dimension a token of length √d attends to itself alone. Reference: lucchi eq. (10.1).
    """
    return shared_attention(tokens, jnp.eye(np.shape(tokens)[-1], dtype=jnp.asarray(tokens).dtype))


def shared_attention(tokens: Tokens, shared: Float[AnyArray, "d k"]) -> Float[Array, "*batch n k"]:
    """Self-attention with one matrix for all three parts, Y = softmax(X U Uᵀ Xᵀ) X U.

    The scores are symmetric and positive semidefinite whatever U is: n attends to m before the softmax as m to n. A
    layer that looks one way only needs separate queries and keys. Reference: lucchi Sec. 10.4.1.
    """
    mapped = jnp.asarray(tokens) @ jnp.asarray(shared)
    return jax.nn.softmax(mapped @ jnp.swapaxes(mapped, -1, -2), axis=-1) @ mapped


def causal_mask(count: int) -> Float[np.ndarray, "count count"]:
    """The matrix that is added to scores to hide the future: 0 where j ≤ i and −∞ where j > i (lucchi Sec. 10.4.5)."""
    return np.where(np.tri(count, dtype=bool), 0.0, -np.inf)


def attention_weights(
    queries: Float[AnyArray, "*batch n k"],
    keys: Float[AnyArray, "*batch m k"],
    mask: Mask | None = None,
) -> Float[Array, "*batch n m"]:
    """Weights of attention, the softmax of each row of Q Kᵀ/√k (+ M).

    `mask` is added to the scaled scores; −∞ gives the weight zero, and every row needs one entry that is not −∞. With
    independent entries of variance 1 a product of query and key has variance k, and 1 after the division.
    """
    queries, keys = jnp.asarray(queries), jnp.asarray(keys)
    scores = queries @ jnp.swapaxes(keys, -1, -2) / sqrt(queries.shape[-1])
    if mask is not None:
        scores = scores + jnp.asarray(mask, scores.dtype)
    return jax.nn.softmax(scores, axis=-1)


def scaled_dot_product(
    queries: Float[AnyArray, "*batch n k"],
    keys: Float[AnyArray, "*batch m k"],
    values: Float[AnyArray, "*batch m v"],
    mask: Mask | None = None,
) -> Float[Array, "*batch n v"]:
    """Scaled dot-product attention, softmax(Q Kᵀ/√k + M) V (lucchi Sec. 10.4.1; Vaswani et al. 2017).

    The number of keys m need not be that of queries n: attention to another sequence is the same formula.
    """
    return attention_weights(queries, keys, mask) @ jnp.asarray(values)


def attention_entropy(weights: Float[AnyArray, "*batch m"]) -> Float[Array, "*batch"]:
    """Entropy −Σ a log a of each row of weights, in nats: log m for attention to all alike, 0 to a single token.

    Weights must be a law along the last axis; 0 log 0 counts as 0.
    """
    return entropy(jnp.asarray(weights))


class Linear(eqx.Module):
    """A layer x ↦ x W + b on the last axis; rows of W belong to inputs."""

    weight: Float[AnyArray, "_ _"]
    bias: Float[AnyArray, " _"]

    def __call__(self, x: Float[AnyArray, "*batch n_in"]) -> Float[Array, "*batch n_out"]:
        if np.shape(x)[-1:] != (len(self.weight),):
            raise ValueError(f"x must have {len(self.weight)} numbers on its last axis, got shape {np.shape(x)}")
        return jnp.asarray(x) @ jnp.asarray(self.weight) + self.bias


def init_linear(key: Key[Array, ""], inputs: int, outputs: int, *, scale: float = 1.0) -> Linear:
    """Draw an affine layer: weights N(0, scale²/inputs), so that lengths are kept on average, and biases zero.

    The `scale` 1 is for layers without ReLU; with it take √2. Reference: LeCun, Bottou, Orr and Müller 1998; He et al.
    2015.
    """
    weight = generator(key).standard_normal((inputs, outputs)) * (scale / sqrt(inputs))
    return Linear(jnp.asarray(weight), jnp.zeros(outputs))


class MultiHeadAttention(eqx.Module):
    """Attention with h heads, Concat(head₁, …, head_h) W^O + b, each on its own slice of queries, keys and values.

    The widths of `query`, `key` and `value` are h times the width of a head, which may be d/h as usual or any other.
    The output is the sum of what the heads send through their rows of W^O, Σᵢ headᵢ W^O_i + b. With one head this is
    the class of lucchi's Listing 10.2; the formulas of Sec. 10.4.2 have no biases (set them to zero).
    """

    query: Linear
    key: Linear
    value: Linear
    output: Linear
    heads: int = eqx.field(static=True)

    def split(self, mapped: Float[Array, "*batch n hk"]) -> Float[Array, "*batch h n k"]:
        """One matrix of tokens per head."""
        return jnp.swapaxes(mapped.reshape(*mapped.shape[:-1], self.heads, -1), -2, -3)

    def weights(
        self, tokens: Tokens, context: Seen | None = None, mask: Mask | None = None
    ) -> Float[Array, "*batch h n m"]:
        """Weights of every head, batch × heads × tokens × context."""
        seen = tokens if context is None else context
        return attention_weights(self.split(self.query(tokens)), self.split(self.key(seen)), mask)

    def __call__(
        self, tokens: Tokens, context: Seen | None = None, mask: Mask | None = None
    ) -> Float[Array, "*batch n d"]:
        """Attend to `context`, or to the tokens themselves."""
        seen = tokens if context is None else context
        return self.join(self.weights(tokens, seen, mask) @ self.split(self.value(seen)))

    def join(self, heads: Float[Array, "*batch h n k"]) -> Float[Array, "*batch n d"]:
        """What all heads found, side by side, through the last matrix."""
        side_by_side = jnp.swapaxes(heads, -2, -3)
        return self.output(side_by_side.reshape(*side_by_side.shape[:-2], -1))


def init_attention(
    key: Key[Array, ""], width: int, *, heads: int = 1, head_width: int | None = None, context_width: int | None = None
) -> MultiHeadAttention:
    """Draw a layer of attention on tokens of a width: weights of variance 1/fan-in, biases zero.

    `head_width` is width/heads unless told; `context_width` the width of the tokens attended to, where it is another.
    """
    if head_width is None and width % heads:
        raise ValueError(f"heads must divide the width {width} where no head_width is given, got {heads}")
    inner = heads * (head_width or width // heads)
    seen = context_width or width
    keys = jax.random.split(key, 4)
    shapes = ((width, inner), (seen, inner), (seen, inner), (inner, width))
    return MultiHeadAttention(*(init_linear(k, n, m) for k, (n, m) in zip(keys, shapes, strict=True)), heads=heads)


doors(
    __name__,
    infinite=("mask",),
    count="[1, 2e4]",
    inputs="[1, 1e5]",
    outputs="[1, 1e5]",
    scale="[0, ∞)",
    width="[1, 1e5]",
    heads="[1, 1e4]",
    head_width="[1, 1e5]",
    context_width="[1, 1e5]",
    weights="[0, 1]",
)
