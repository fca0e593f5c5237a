"""Laws of the next word: log-bilinear models, a transformer of attention alone, what its training costs, and tuning.

Embeddings of words are rows. The attention-only stack has tokens as columns, as in arora Problem 15.1.1.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from deeptheory.architectures.attention_layers import causal_mask, scaled_dot_product
from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.cross_entropy import label_cross_entropy
from deeptheory.foundations.entrances import doors

__all__ = [
    "answer_loss",
    "attention_flops",
    "attention_only",
    "attention_only_logits",
    "log_bilinear_logits",
]

Weights = Float[AnyArray, "layers d d"]


def log_bilinear_logits(words: Float[AnyArray, "V D"], contexts: Float[AnyArray, "*n D"]) -> Float[Array, "*n V"]:
    """Logits v_w·c of every word in every context; the law is their softmax, Pr[w|c] ∝ exp(v_w·c) (arora eq. 15.2).

    Of any number of contexts the logits form a matrix of rank at most D, their log-probabilities one of rank at most
    D + 1: laws that vary in more directions cannot be said by embeddings of that size.
    """
    return jnp.asarray(contexts) @ jnp.asarray(words).T


def attention_only(
    tokens: Float[AnyArray, "*batch d L"],
    query_weights: Weights,
    key_weights: Weights,
    value_weights: Weights,
    *,
    causal: bool = False,
) -> Float[Array, "*batch d L"]:
    """Layers X ← V softmax(Kᵀ Q/√d) with Q = W^q X, K = W^k X, V = W^v X, softmax of each column; no residuals.

    Columns are tokens. Printed is softmax(Qᵀ K/√d), which is the same model with the names of W^q and W^k exchanged.
    With `causal` a column depends on those up to it alone. Reference: arora Problem 15.1.1.
    """
    rows = jnp.swapaxes(jnp.asarray(tokens), -1, -2)
    mask = causal_mask(rows.shape[-2]) if causal else None
    for query, key, value in zip(query_weights, key_weights, value_weights, strict=True):
        rows = scaled_dot_product(rows @ query.T, rows @ key.T, rows @ value.T, mask)
    return jnp.swapaxes(rows, -1, -2)


def attention_only_logits(
    numbers: Int[AnyArray, "*batch L"],
    words: Float[AnyArray, "V d"],
    places: Float[AnyArray, "room d"],
    query_weights: Weights,
    key_weights: Weights,
    value_weights: Weights,
) -> Float[Array, "*batch L V"]:
    """Logits of the next word at every place: embedded words and places, causal attention alone, log-bilinear output.

    `places` are embeddings of at least as many places as the texts have.
    """
    if numbers.shape[-1] > len(places):
        raise ValueError(f"numbers must have at most {len(places)} places, got {numbers.shape[-1]}")
    tokens = jnp.asarray(words)[jnp.asarray(numbers)] + jnp.asarray(places)[: numbers.shape[-1]]
    columns = jnp.swapaxes(tokens, -1, -2)
    attended = attention_only(columns, query_weights, key_weights, value_weights, causal=True)
    return log_bilinear_logits(words, jnp.swapaxes(attended, -1, -2))


def attention_flops(*, symbols: int, layers: int, length: int, width: int) -> int:
    """Operations of the matrix products of an epoch of attention alone: 3·M·N·(6d² + 4Ld), of order M·N·d·(d + L).

    M symbols in texts of L, N layers of width d: three maps cost 6Ld² a text and layer, scores and averages 4L²d,
    and the backward pass twice as much again. Both parts are equal at L = 3d/2. Reference: arora Problem 15.1.1.
    """
    if symbols % length:
        raise ValueError(f"symbols must be a multiple of the length {length}, got {symbols}")
    return 3 * symbols * layers * (6 * width**2 + 4 * length * width)


def answer_loss(
    logits: Float[AnyArray, "*batch n V"],
    numbers: Int[AnyArray, "*batch n"],
    is_answer: Bool[AnyArray, "*batch n"],
) -> Float[Array, ""]:
    """Loss of instruction tuning: mean cross-entropy of the words of the answer, and of no others (arora Sec. 15.6).

    `logits` at a place are those for the word that stands there, given all before it: instruction and answer so far.
    """
    if isinstance(is_answer, np.ndarray) and not is_answer.any():
        raise ValueError("is_answer must mark at least one word, got none")
    losses = label_cross_entropy(jnp.asarray(logits), numbers)
    return jnp.sum(losses, where=jnp.asarray(is_answer)) / jnp.sum(jnp.asarray(is_answer))


doors(
    __name__,
    symbols="[1, 1e18]",
    layers="[1, 1e6]",
    length="[1, 1e9]",
    width="[1, 1e6]",
)
