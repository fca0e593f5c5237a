"""Decoding: what greedy, beam and exact search find in a model of sequences, and the laws that sampling draws from.

A model is a function `step(state, tokens) → (state, logits)`: it reads one token of every row and says how likely each
next one is. Arrays of the state have a row for each sequence, scalars are shared. `LanguageModel.step` is one; a Markov
chain is `lambda state, tokens: (state, log_transition[tokens])`. All that is asked of it runs in one compiled loop; a
step that is the same object, or a `jax.tree_util.Partial` of the same function, is compiled once. The first token is
given, such as a start token or the last one of a prompt: it is read, and is no part of the answer.

Reference: lucchi Sec. 10.4.4.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors

__all__ = [
    "Ending",
    "Found",
    "beam_search",
    "exact_search",
    "greedy_search",
    "sample_sequences",
    "sequence_law",
    "tempered",
    "top_k",
    "top_p",
]

Step = Callable[[Any, Array], tuple[Any, Array]]
First = Int[AnyArray, " rows"]
Logits = Float[AnyArray, "*batch vocabulary"]
LogLaw = Callable[[Array], Array]
MOST_SEQUENCES = 2**22


class Found(NamedTuple):
    """Sequences and the logarithms of their probabilities under the model."""

    tokens: Int[Array, "*rows length"]
    log_probability: Float[Array, "*rows"]


def tempered(logits: Logits, temperature: float | Float[Array, ""] = 1.0) -> Float[Array, "*batch vocabulary"]:
    """Logarithm of the law ∝ exp(logits/T): the most likely token alone as T → 0, all alike as T → ∞.

    The logarithms of a law are logits of the same law, so that this and the other two can follow one another.
    `temperature` is T, above 0.
    """
    return jax.nn.log_softmax(jnp.asarray(logits) / temperature, axis=-1)


def top_k(logits: Logits, k: int) -> Float[Array, "*batch vocabulary"]:
    """Logarithm of the law of top-k sampling: the k most likely tokens, renormalised, and −∞ for all others.

    Exactly k are kept; of equally likely ones those of lower number. k = 1 is greedy, k the whole vocabulary plain
    sampling. Reference: lucchi Sec. 10.4.4.
    """
    logits = jnp.asarray(logits)
    if k > logits.shape[-1]:
        raise ValueError(f"k must be at most the {logits.shape[-1]} tokens there are, got {k}")
    _, kept = jax.lax.top_k(logits, k)
    return jax.nn.log_softmax(jnp.where(_marked(kept, logits.shape), logits, -jnp.inf), axis=-1)


def _marked(places: Array, shape: tuple[int, ...]) -> Array:
    """True at the given places of the last axis."""
    return jnp.put_along_axis(jnp.zeros(shape, bool), places, True, axis=-1, inplace=False)


def top_p(logits: Logits, p: float | Float[Array, ""]) -> Float[Array, "*batch vocabulary"]:
    """Logarithm of the law of top-p (nucleus) sampling: the least set of tokens with probability above p, renormalised.

    Tokens join in order of probability, of equals the one of lower number first, until their sum exceeds p: a token is
    kept if those before it sum to p or less. p = 0 is greedy, p = 1 plain sampling. References: lucchi Sec. 10.4.4;
    Holtzman et al. (2020), who stop where the sum reaches p, which differs only at equality.
    """
    logits = jnp.asarray(logits)
    law = jax.nn.softmax(logits.astype(jnp.promote_types(logits.dtype, jnp.float32)), axis=-1)
    least = _last_to_join(law, p)
    above, level = law > least, law == least
    # Of those as likely as the last one, so many as it takes.
    lacking = p - jnp.sum(law, axis=-1, keepdims=True, where=above)
    kept = above | (level & (jnp.cumsum(level, axis=-1) <= jnp.floor(lacking / least) + 1)) | (p >= 1)
    return jax.nn.log_softmax(jnp.where(kept, logits, -jnp.inf), axis=-1)


def _last_to_join(law: Float[Array, "*batch vocabulary"], p: float | Float[Array, ""]) -> Float[Array, "*batch 1"]:
    """The largest probability such that tokens of at least that much sum to more than p, and the smallest if none does.

    By halving an interval of bit patterns, which are ordered as the numbers are: on processors sorting costs far more.
    """
    whole, places = (jnp.int32, 31) if law.dtype == jnp.float32 else (jnp.int64, 63)
    bits = jax.lax.bitcast_convert_type(law, whole)

    def halve(_, ends):
        low, high = ends  # enough above low, too little above high
        middle = low + (high - low) // 2
        enough = jnp.sum(law, axis=-1, keepdims=True, where=bits >= middle) > p
        return jnp.where(enough, middle, low), jnp.where(enough, high, middle)

    low, high = bits.min(-1, keepdims=True), bits.max(-1, keepdims=True) + 1
    low, _ = jax.lax.fori_loop(0, places, halve, (low, high))
    return jax.lax.bitcast_convert_type(low, law.dtype)


class Ending(eqx.Module):
    """A step whose sequences end: once it has read the token `end`, it says `end` for ever, with probability one.

    So a search compares sequences of different lengths by their probabilities. The first token must not be `end`.
    """

    step: Step
    end: int = eqx.field(static=True)

    def __call__(self, state: Any, tokens: Int[Array, " rows"]) -> tuple[Any, Float[Array, "rows vocabulary"]]:
        state, logits = self.step(state, tokens)
        over = jnp.where(jnp.arange(logits.shape[-1]) == self.end, 0.0, -jnp.inf)
        return state, jnp.where((tokens == self.end)[:, None], over, logits)


def greedy_search(step: Step, state: Any, first: First, *, length: int) -> Found:
    """The most likely next token, again and again: `length` readings of the model for every row (lucchi Sec. 10.4.4).

    Of equally likely tokens the one of lowest number. The sequence found need not be the most likely one.
    """
    _vocabulary(step, state, first)
    return _chosen(step, state, jnp.asarray(first), length, None, jax.nn.log_softmax)


def sample_sequences(
    key: Key[Array, ""], step: Step, state: Any, first: First, *, length: int, law: LogLaw = tempered
) -> Found:
    """Draw a sequence for every row, token by token from `law(logits)`, with its probability under that law.

    `law` is any function from logits to logits: `tempered` by default, which is the model itself; for others give
    `jax.tree_util.Partial(top_k, k=40)`. (Two such are one to the compiler; two of `functools.partial` are not.)
    `length` tokens are drawn for each row of `first`.
    """
    _vocabulary(step, state, first)
    return _chosen(step, state, jnp.asarray(first), length, key, law)


@eqx.filter_jit
def _chosen(step: Step, state: Any, first: Array, length: int, key: Array | None, law: LogLaw) -> Found:
    def advance(carry, key):
        state, tokens, total = carry
        state, logits = step(state, tokens)
        logs = jax.nn.log_softmax(law(logits), axis=-1)
        chosen = jnp.argmax(logs, axis=-1) if key is None else jax.random.categorical(key, logs, axis=-1)
        gained = jnp.take_along_axis(logs, chosen[:, None], axis=-1)[:, 0]
        return (state, chosen.astype(tokens.dtype), total + gained), chosen

    keys = None if key is None else jax.random.split(key, length)
    start = (state, first, jnp.zeros(first.shape, _kind(step, state, first)))
    (_, _, total), tokens = jax.lax.scan(advance, start, keys, length=length)
    return Found(tokens.T, total)


@eqx.filter_jit
def beam_search(step: Step, state: Any, first: First, *, width: int, length: int) -> Found:
    """Keep the `width` most likely beginnings, extend each by every token, keep the best: tokens rows × width × length.

    Best first, in logarithms, so that long sequences do not underflow. Width 1 is greedy search, and vocabulary^(length
    − 1) exact search; a wider beam may find less. Where there are fewer sequences than `width` the rest have
    probability zero (−∞). Costs length · width readings a row. Reference: lucchi Sec. 10.4.4, Listing 10.4.
    """
    vocabulary = _vocabulary(step, state, first)
    first = jnp.asarray(first)
    rows = len(first)

    def advance(carry, _):
        state, tokens, scores = carry
        state, logits = step(state, tokens)
        logs = jax.nn.log_softmax(logits, axis=-1).reshape(rows, width, vocabulary)
        scores, best = jax.lax.top_k((scores[..., None] + logs).reshape(rows, -1), width)
        parents, tokens = jnp.divmod(best, vocabulary)
        places = (jnp.arange(rows)[:, None] * width + parents).ravel()
        state = jax.tree.map(lambda leaf: leaf[places] if jnp.ndim(leaf) else leaf, state)
        return (state, tokens.astype(first.dtype).ravel(), scores), (parents, tokens)

    state = jax.tree.map(lambda leaf: jnp.repeat(leaf, width, axis=0) if jnp.ndim(leaf) else leaf, state)
    alone = jnp.where(jnp.arange(width) == 0, 0.0, -jnp.inf).astype(_kind(step, state, jnp.repeat(first, width)))
    start = (state, jnp.repeat(first, width), jnp.broadcast_to(alone, (rows, width)))
    (_, _, scores), (parents, tokens) = jax.lax.scan(advance, start, length=length)

    def back(places, link):
        parents, tokens = link
        return jnp.take_along_axis(parents, places, axis=-1), jnp.take_along_axis(tokens, places, axis=-1)

    last = jnp.broadcast_to(jnp.arange(width, dtype=parents.dtype), (rows, width))
    _, found = jax.lax.scan(back, last, (parents, tokens), reverse=True)
    return Found(jnp.moveaxis(found, 0, -1), scores)


@eqx.filter_jit
def sequence_law(
    step: Step, state: Any, first: First, *, length: int, law: LogLaw = tempered
) -> Float[Array, "rows sequences"]:
    """Logarithms of the probabilities of all vocabulary^length sequences, in lexicographic order, by enumeration.

    With `law` as in `sample_sequences` this is exactly the law of what that function draws. The sequence of number s
    has the digits of s in base vocabulary as its tokens. At most 2²² probabilities.
    """
    vocabulary = _vocabulary(step, state, first)
    if len(first) * float(vocabulary) ** length > MOST_SEQUENCES:
        raise ValueError(f"length must leave at most 2**22 sequences, got {len(first)} rows of {vocabulary}^{length}")
    tokens, logs = jnp.asarray(first), jnp.zeros((len(first),))
    for place in range(length):
        state, logits = step(state, tokens)
        logs = (logs[:, None] + jax.nn.log_softmax(law(logits), axis=-1)).ravel()
        if place < length - 1:
            state = jax.tree.map(lambda leaf: jnp.repeat(leaf, vocabulary, axis=0) if jnp.ndim(leaf) else leaf, state)
            tokens = jnp.tile(jnp.arange(vocabulary, dtype=tokens.dtype), len(tokens))
    return logs.reshape(len(first), -1)


def exact_search(step: Step, state: Any, first: First, *, length: int) -> Found:
    """The most likely sequence of all, by looking at vocabulary^length of them; of equals the first in the alphabet.

    For a model and a length so small that all can be listed; else `beam_search`.
    """
    logs = sequence_law(step, state, first, length=length)
    vocabulary = round(logs.shape[1] ** (1 / length))
    best = jnp.argmax(logs, axis=1)
    digits = best[:, None] // vocabulary ** jnp.arange(length - 1, -1, -1) % vocabulary
    return Found(digits, jnp.max(logs, axis=1))


def _vocabulary(step: Step, state: Any, first: First) -> int:
    """How many tokens there are, by the shape of the logits."""
    answer = eqx.filter_eval_shape(step, state, jnp.asarray(first))
    shape = getattr(answer[1], "shape", None) if isinstance(answer, tuple) and len(answer) == 2 else None
    if shape is None or len(shape) != 2 or shape[0] != len(first):
        raise ValueError(f"step must return a state and logits of shape ({len(first)}, vocabulary), got {answer!r:.80}")
    return shape[1]


def _kind(step: Step, state: Any, first: Array) -> Any:
    return eqx.filter_eval_shape(step, state, first)[1].dtype


doors(__name__, temperature="[1e-6, 1e6]", k="[1, ∞)", p="[0, 1]", length="[1, 1e5]", width="[1, 1e4]", end="[0, ∞)")
