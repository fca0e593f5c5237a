"""N-gram models: the law of a symbol after the n − 1 before it, counted in a text and smoothed (Shannon 1948).

What is counted, and every model, is an array with n axes of the alphabet's length; models are `sources`, so that their
entropy, excess and texts are computed there.
"""

import numpy as np
from jaxtyping import Float, Int

from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import affordable

__all__ = ["additive_ngrams", "count_ngrams", "interpolated_ngrams", "kneser_ney_ngrams", "perplexity"]

Counts = Float[np.ndarray, "*texts_and_symbols V"]


def count_ngrams(
    texts: Int[np.ndarray, "*texts n"], *, order: int, vocabulary: int
) -> Float[np.ndarray, "*texts_and_symbols"]:
    """How often every sequence of `order` symbols occurs in a text (order 1: unigrams), for each text of a batch.

    The answer has the texts' axes first, then `order` axes of length `vocabulary`.
    """
    if texts.shape[-1] < order:
        raise ValueError(f"texts must have at least {order} symbols, got {texts.shape[-1]}")
    if texts.min() < 0 or texts.max() >= vocabulary:
        raise ValueError(f"texts must have symbols in [0, {vocabulary - 1}], got {texts.min()} to {texts.max()}")
    batch, cells = texts.shape[:-1], vocabulary**order
    affordable(counts=(int(np.prod(batch)), cells))
    places = texts.shape[-1] - order + 1
    code = np.zeros((*batch, places), np.int64)
    for shift in range(order):
        code = code * vocabulary + texts[..., shift : shift + places]
    code = code.reshape(-1, places) + cells * np.arange(int(np.prod(batch)))[:, None]
    counted = np.bincount(code.ravel(), minlength=cells * len(code))
    return counted.reshape(*batch, *(vocabulary,) * order).astype(float)


def additive_ngrams(counts: Counts, *, add: float = 0.0) -> Float[np.ndarray, "*texts_and_symbols V"]:
    """Frequencies (count + add)/(sum + V·add): maximum likelihood at 0, Laplace's rule at 1.

    The last axis is the next symbol. Without smoothing every context must have occurred.
    """
    _counted(counts)
    total = counts.sum(-1, keepdims=True) + counts.shape[-1] * add
    if total.min() == 0:
        raise ValueError("add must exceed 0 where a context never occurred, got 0.0")
    return (counts + add) / total


def interpolated_ngrams(counts: Counts, *, shares: tuple[float, ...]) -> Float[np.ndarray, "*texts_and_symbols V"]:
    """Mixture of the n-gram, (n−1)-gram … and unigram frequencies and the even law, with given shares (Jelinek–Mercer).

    `shares` are n + 1 numbers that sum to one, for the longest context first and the even law last. A context that
    never occurred hands its share on to the next shorter one.
    """
    _counted(counts)
    if len(shares) != counts.ndim + 1 or min(shares) < 0 or abs(sum(shares) - 1) > 1e-9:
        raise ValueError(f"shares must be {counts.ndim + 1} numbers from 0 on that sum to 1, got {shares}")
    law, total = np.full(counts.shape[-1], 1 / counts.shape[-1]), shares[-1]
    for order, share in zip(range(1, counts.ndim + 1), reversed(shares[:-1]), strict=True):
        seen = counts.sum(tuple(range(counts.ndim - order)))
        times = seen.sum(-1, keepdims=True)
        new = np.divide(seen, times, out=np.broadcast_to(law, seen.shape).copy(), where=times > 0)
        law = law if total + share == 0 else (total * law + share * new) / (total + share)
        total += share
    return law


def kneser_ney_ngrams(counts: Counts, *, discount: float = 0.75) -> Float[np.ndarray, "*texts_and_symbols V"]:
    """Interpolated Kneser–Ney smoothing: every count loses `discount`, which shorter contexts share out.

    p(w|c) = (max(N(c,w) − D, 0) + D·#{w : N(c,w) > 0}·p(w|c'))/N(c) with c' = c without its first symbol; a count below
    D, as of weighted texts, loses all it has. Shorter
    contexts count not how often (c', w) occurred but after how many different symbols, and the shortest shares with the
    even law. A context that never occurred has the law of c'. References: Kneser, Ney (1995); Chen, Goodman (1999).
    """
    _counted(counts)
    law = np.full(counts.shape[-1], 1 / counts.shape[-1])
    for order in range(1, counts.ndim + 1):
        seen = counts
        for _ in range(counts.ndim - order):
            seen = (seen > 0).sum(0).astype(float)
        times = seen.sum(-1, keepdims=True)
        taken = np.minimum(seen, discount)
        smooth = seen - taken + taken.sum(-1, keepdims=True) * law
        law = np.divide(smooth, times, out=np.broadcast_to(law, seen.shape).copy(), where=times > 0)
    return law


def perplexity(surprise: Float[np.ndarray, "*texts n"]) -> Float[np.ndarray, "*texts"] | float:
    """Exponential of the mean surprise in nats: V for the even law over V symbols, 1 where all is foreseen.

    Infinite where a symbol came that the model gave probability 0.
    """
    if surprise.min() < 0:
        raise ValueError(f"surprise must be at least 0, got {surprise.min():.3g}")
    return np.exp(surprise.mean(-1, dtype=float))


def _counted(counts: Counts) -> None:
    if counts.min() < 0:
        raise ValueError(f"counts must be at least 0, got {counts.min():.3g}")
    if not counts.any():
        raise ValueError("counts must come from a text, got none above 0")


doors(
    __name__,
    infinite=("surprise",),
    order="[1, 12]",
    vocabulary="[1, 1e6]",
    add="[0, ∞)",
    discount="[0, 1]",
)
