"""Sources of text whose law is known: Markov chains of any order, their entropy, and what a model lacks of it.

A source of order k over V symbols is an array of shape (V, …, V) with k + 1 axes: `source[c₁, …, c_k, w]` is the
probability of w after the symbols c₁ … c_k; order 0 draws symbols independently. A model is the same thing, of any
order. Rates are means over the source's stationary law, in nats a symbol.

`source` and `model` are such arrays; `regimes` are the transition matrices of the languages, one after another.

Reference: arora (15.1) to (15.7); Shannon 1948; Cover and Thomas 2006, Elements of Information Theory, ch. 4.
"""

from typing import Annotated

import numpy as np
from jaxtyping import Array, Float, Int, Key
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from deeptheory.foundations.entrances import doors
from deeptheory.foundations.entropies import entropy, finite_kl
from deeptheory.foundations.guards import affordable
from deeptheory.foundations.randomness import generator

__all__ = [
    "context_chain",
    "corpus_variance",
    "cross_entropy_rate",
    "draw_texts",
    "entropy_rate",
    "excess_entropy",
    "of_order",
    "order_of",
    "stationary_contexts",
    "switching_source",
    "text_surprise",
]

Source = Float[np.ndarray, "*contexts V"]
Model = Float[np.ndarray, "*seen V"]
ROUNDING = 1e-6


def order_of(source: Source, *, name: str = "source") -> int:
    """How many symbols of context a source has; refused, under its name, where it is no array of laws."""
    if source.ndim == 0 or len(set(source.shape)) != 1:
        raise ValueError(f"{name} must have axes of one length, the number of symbols, got shape {source.shape}")
    if source.min() < 0:
        raise ValueError(f"{name} must have probabilities of at least 0, got {source.min():.3g}")
    if (gap := np.abs(source.sum(-1) - 1).max()) > ROUNDING:
        raise ValueError(f"{name} must have rows that sum to 1, got one that is off by {gap:.3g}")
    return source.ndim - 1


def of_order(source: Source, order: int) -> Float[np.ndarray, "*longer V"]:
    """The same source written with at least `order` symbols of context, of which the earlier ones do not matter."""
    missing = max(order - order_of(source), 0)
    symbols = source.shape[-1]
    affordable(source=(symbols,) * (source.ndim + missing))
    return np.broadcast_to(source, (symbols,) * missing + source.shape)


def context_chain(source: Source) -> Float[np.ndarray, "states states"]:
    """Transitions between contexts, from c₁ … c_k to c₂ … c_k w with probability source[c₁, …, c_k, w]; k ≥ 1."""
    source = of_order(source, 1)
    symbols, states = source.shape[-1], source[..., 0].size
    affordable(chain=(states, states))
    chain = np.zeros((states, states))
    rows = np.arange(states)
    for symbol in range(symbols):
        chain[rows, rows % (states // symbols) * symbols + symbol] = source.reshape(states, symbols)[:, symbol]
    return chain


def stationary_contexts(source: Source) -> Float[np.ndarray, "*states"]:
    """The law of contexts in a long text, of shape (V, …, V) with k ≥ 1 axes; refused where it depends on the start."""
    source = of_order(source, 1)
    chain = context_chain(source)
    count, label = connected_components(csr_array(chain), connection="strong")
    leaving = [bool(np.any(chain[label == each][:, label != each] > 0)) for each in range(count)]
    if (closed := count - sum(leaving)) != 1:
        raise ValueError(f"source must come to one set of contexts from all others, got {closed} that it never leaves")
    stays = label == leaving.index(False)
    law = np.zeros(len(chain))
    law[stays] = _stationary(chain[stays][:, stays])
    return law.reshape(source.shape[:-1])


def _stationary(chain: Float[np.ndarray, "n n"]) -> Float[np.ndarray, " n"]:
    """The law of a chain at rest, states taken out one by one (Grassmann, Taksar, Heyman 1985).

    Nothing is subtracted, so that every chance keeps its digits, also where regimes hardly ever change.
    """
    left = chain.copy()
    for last in range(len(left) - 1, 0, -1):
        left[:last, last] /= left[last, :last].sum()
        left[:last, :last] += np.outer(left[:last, last], left[last, :last])
    law = np.ones(len(left))
    for state in range(1, len(left)):
        law[state] = law[:state] @ left[:state, state]
    return law / law.sum()


def entropy_rate(source: Source) -> float:
    """Entropy of the next symbol given the context, averaged: what no model can do better than (arora eq. 15.4)."""
    source = of_order(source, 1)
    return float(np.sum(stationary_contexts(source) * entropy(source)))


def cross_entropy_rate(source: Source, model: Model) -> float:
    """Expected loss a symbol of a model on the source's texts, E log 1/q; ∞ where q leaves out what occurs.

    The model may have any order. Reference: arora eq. (15.5).
    """
    return entropy_rate(source) + excess_entropy(source, model)


def excess_entropy(source: Source, model: Model) -> float:
    """Divergence KL(p‖q) of the model's next-symbol law from the source's, averaged over contexts (arora eq. 15.6)."""
    order = max(order_of(source), order_of(model, name="model"), 1)
    if source.shape[-1] != model.shape[-1]:
        raise ValueError(f"model must have the source's {source.shape[-1]} symbols, got {model.shape[-1]}")
    source, model = of_order(source, order), of_order(model, order)
    gaps = finite_kl(source, model)
    law = stationary_contexts(source)
    return float(np.sum(law * gaps, where=law > 0))


def draw_texts(
    key: Key[Array, ""], source: Source, *, length: Annotated[int, "[1, 1e6]"], count: int = 1
) -> Int[np.ndarray, "count length"]:
    """Draw texts, each after a context from the stationary law that is not shown."""
    affordable(texts=(count, length))
    rng = generator(key)
    law = stationary_contexts(source)
    states, symbols = law.size, source.shape[-1]
    ladder = np.cumsum(of_order(source, 1).reshape(states, symbols), axis=1)
    ladder /= ladder[:, -1:]
    context = rng.choice(states, size=count, p=law.ravel())
    written = np.empty((count, length), np.int32)
    for place in range(length):
        written[:, place] = np.sum(rng.random(count)[:, None] >= ladder[context, :-1], axis=1)
        context = context % (states // symbols) * symbols + written[:, place]
    return written


def text_surprise(model: Model, texts: Int[np.ndarray, "*texts n"]) -> Float[np.ndarray, "*texts places"]:
    """Surprise log 1/q of every symbol but the first k of a text, which are the first context (arora eq. 15.3).

    Its mean is the cross-entropy of the text, whose exponential is the perplexity; divide by log 2 for bits.
    """
    order, symbols = order_of(model, name="model"), model.shape[-1]
    if texts.shape[-1] <= order:
        raise ValueError(f"texts must have more than the {order} symbols of a context, got {texts.shape[-1]}")
    if texts.min() < 0 or texts.max() >= symbols:
        raise ValueError(f"texts must have symbols in [0, {symbols - 1}], got {texts.min()} to {texts.max()}")
    places = texts.shape[-1] - order
    window = tuple(texts[..., shift : shift + places] for shift in range(order + 1))
    with np.errstate(divide="ignore"):
        return -np.log(model[window])


def corpus_variance(source: Source, model: Model, length: int) -> float:
    """Variance of the mean surprise of a model over a corpus of `length` symbols, exactly.

    The corpus begins in the stationary law; covariances at all distances are summed by doubling, as powers of
    P − 1πᵀ with P the transitions between contexts. `length` times it tends to a constant; without memory that is the
    variance of one surprise, with regimes of s symbols about s times as much. Reference: arora Sec. 15.2.
    """
    order = max(order_of(source), order_of(model, name="model"), 1)
    source, model = of_order(source, order), of_order(model, order)
    law, chain = stationary_contexts(source).ravel(), context_chain(source)
    states, symbols = len(law), source.shape[-1]
    chances = source.reshape(states, symbols)
    with np.errstate(divide="ignore"):
        surprise = np.where(chances > 0, -np.log(model.reshape(states, symbols)), 0.0)
    if not np.all(np.isfinite(surprise[law > 0])):
        raise ValueError("model must give every symbol that occurs a probability above 0, got 0 for one")
    surprise = np.where(law[:, None] > 0, surprise, 0.0)
    surprise = surprise - law @ np.sum(chances * surprise, axis=1)
    single = law @ np.sum(chances * surprise**2, axis=1)
    # What a surprise now says about the context reached, and what a context says about the next surprise.
    after = np.arange(states)[:, None] % (states // symbols) * symbols + np.arange(symbols)
    reached = np.bincount(after.ravel(), (law[:, None] * chances * surprise).ravel(), minlength=states)
    ahead = np.sum(chances * surprise, axis=1)
    return float(max(single / length + 2 * reached @ _distances(chain - law, length - 1) @ ahead / length**2, 0.0))


def _distances(moved: Float[np.ndarray, "n n"], count: int) -> Float[np.ndarray, "n n"]:
    """Σ_{i<n} (n − i) Mⁱ, bit by bit of n: the inverse of I − M has no digits where M hardly moves."""
    power, sums, total, reached = np.eye(len(moved)), np.zeros_like(moved), np.zeros_like(moved), 0
    for bit in bin(count)[2:]:
        total, sums = total + reached * sums + power @ total, sums + power @ sums
        power, reached = power @ power, 2 * reached
        if bit == "1":
            sums = np.eye(len(moved)) + moved @ sums
            power, total, reached = power @ moved, total + sums, reached + 1
    return total


def switching_source(regimes: Float[np.ndarray, "regimes V V"], *, stay: float) -> Float[np.ndarray, "symbols symbols"]:
    """A source of order 1 that speaks one of several languages and changes to another, evenly, with chance 1 − stay.

    Symbol r·V + w is word w of language r, so that the languages share no words; a stay lasts 1/(1 − stay) symbols on
    average. Words follow one another in the language that is spoken after the change.
    """
    count, words = len(regimes), regimes.shape[1]
    for table in regimes:
        order_of(table, name="regimes")
    if count < 2:
        raise ValueError(f"regimes must be at least two languages, got {count}")
    move = np.full((count, count), (1 - stay) / (count - 1)) + np.eye(count) * (stay - (1 - stay) / (count - 1))
    return np.einsum("rs,svw->rvsw", move, regimes).reshape(count * words, count * words)


doors(__name__, order="[0, 12]", length="[1, 1e9]", count="[1, 1e7]", stay="[0, 1)")
