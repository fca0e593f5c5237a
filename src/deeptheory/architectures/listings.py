"""Programs printed in lucchi's chapter 10, run as printed and as corrected.

`listed_attention` and `listed_block` take the parameters of our modules and compute, in NumPy and sequence by sequence,
what the PyTorch classes of Listings 10.2 and 10.3 do; `listed_beam_search` is Listing 10.4.
"""

from collections.abc import Mapping
from math import inf, log

import numpy as np
from jaxtyping import Float

from deeptheory.architectures.attention_layers import Linear, MultiHeadAttention
from deeptheory.architectures.normalizers import LayerNorm
from deeptheory.architectures.transformers import EncoderBlock
from deeptheory.foundations.entrances import doors

__all__ = ["listed_attention", "listed_beam_search", "listed_block", "tree_beam_search"]

Law = Mapping[str, float]
Sequences = Float[np.ndarray, "batch n d"]


def _affine(layer: Linear, x: np.ndarray) -> np.ndarray:
    return x @ np.asarray(layer.weight) + np.asarray(layer.bias)


def _normal(layer: LayerNorm, x: np.ndarray) -> np.ndarray:
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt(x.var(-1, keepdims=True) + layer.epsilon) * np.asarray(layer.gain) + np.asarray(
        layer.shift
    )


def listed_attention(
    layer: MultiHeadAttention, tokens: Sequences
) -> tuple[Float[np.ndarray, "batch n d"], Float[np.ndarray, "batch n n"]]:
    """Listing 10.2: outputs and weights of one head with four affine maps, the scores divided by √d."""
    if layer.heads != 1:
        raise ValueError(f"layer must have one head, got {layer.heads}")
    queries, keys, values = (_affine(each, tokens) for each in (layer.query, layer.key, layer.value))
    scores = queries @ keys.transpose(0, 2, 1) / np.sqrt(queries.shape[-1])
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    return _affine(layer.output, weights @ values), weights


def listed_block(block: EncoderBlock, tokens: Sequences) -> Float[np.ndarray, "batch n d"]:
    """Listing 10.3: normalize(x + attention(x)), then normalize(x + feed-forward(x)), ReLU inside.

    Printed as a decoder block; it has no mask and no second sequence, and is an encoder block. For a decoder take
    `transformers.DecoderBlock`.
    """
    attended = _normal(block.first_norm, tokens + listed_attention(block.attention, tokens)[0])
    hidden = np.maximum(_affine(block.feed_forward.first, attended), 0)
    return _normal(block.second_norm, attended + _affine(block.feed_forward.second, hidden))


def listed_beam_search(
    initial: Law, expansions: Mapping[str, Law], *, width: int, steps: int
) -> list[tuple[list[str], float]]:
    """Listing 10.4 as printed: the `width` most likely sequences, with products of probabilities.

    A sequence whose last token has no expansion is dropped without a word, even the most likely one; where none has
    any the answer is empty. Long products become zero. `tree_beam_search` is the corrected version.
    """
    beam = sorted((([token], p) for token, p in initial.items()), key=lambda each: each[1], reverse=True)[:width]
    for _ in range(1, steps):
        longer = [([*past, token], p * q) for past, p in beam for token, q in expansions.get(past[-1], {}).items()]
        beam = sorted(longer, key=lambda each: each[1], reverse=True)[:width]
    return beam


def tree_beam_search(
    initial: Law, expansions: Mapping[str, Law], *, width: int, steps: int
) -> list[tuple[list[str], float]]:
    """Beam search over words: the `width` most likely sequences with the logarithms of their probabilities.

    As Listing 10.4, but a sequence that has no expansion is complete and stays, and nothing underflows. Every law must
    sum to at most one; what is missing is the probability of words that are not listed.
    """
    for name, law in {"initial": initial, **expansions}.items():
        if not law or min(law.values()) < 0 or sum(law.values()) > 1 + 1e-9:
            raise ValueError(f"probabilities after {name!r} must be positive and sum to at most 1, got {dict(law)}")
    beam: list[tuple[tuple[str, ...], float]] = [((), 0.0)]
    for place in range(steps):
        longer = []
        for past, score in beam:
            law = initial if place == 0 else expansions.get(past[-1], {})
            if place == len(past) and law:
                longer += [((*past, token), score + (log(p) if p else -inf)) for token, p in law.items()]
            else:
                longer.append((past, score))
        beam = sorted(longer, key=lambda each: each[1], reverse=True)[:width]
    return [(list(past), score) for past, score in beam]


doors(__name__, width="[1, 1e6]", steps="[1, 1e5]")
