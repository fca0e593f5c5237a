"""What small embeddings can say, what attention alone computes, and what training it costs (arora Sec. 15.1)."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np

from deeptheory.foundations.cross_entropy import softmax_jacobian
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Chain, Exact, Identity, claim
from deeptheory.lab.pictures import Curves, Level, Line
from deeptheory.language.next_word import attention_flops, attention_only, log_bilinear_logits

WIDTHS = (1, 3, 8)
WORDS, CONTEXTS = 20, 30
SIZES = [(1, 3, 2), (1, 5, 4), (2, 4, 6), (3, 7, 5), (2, 24, 3), (1, 2, 16)]
"""layers, length of a text, width"""
TEXTS = (3, 1, 4, 2, 5, 7)
"""texts of a corpus of each"""


def by_columns(tokens, query, key, value):
    """One layer, column by column: the new column i is a mean of the values with weights exp(k_j·q_i/√d)."""
    width, length = tokens.shape
    new = np.zeros_like(tokens)
    for i in range(length):
        weights = np.exp([(key @ tokens[:, j]) @ (query @ tokens[:, i]) / np.sqrt(width) for j in range(length)])
        new[:, i] = (value @ tokens) @ weights / weights.sum()
    return new


def slope_of_softmax(scores, step=1e-20):
    """Derivatives of a softmax along the imaginary axis, where no digits cancel: row i by score i."""
    moved = np.exp(scores + 1j * step * np.eye(len(scores)))
    return (moved / moved.sum(1, keepdims=True)).imag / step


def counted_products(layers, length, width):
    """Operations of all matrix products in the gradient of a loss by tokens and weights, listed without running it."""

    def loss(tokens, weights):
        return jnp.sum(attention_only(tokens, *weights))

    tokens, weights = np.zeros((width, length)), (np.zeros((layers, width, width)),) * 3
    total = 0
    for each in jax.make_jaxpr(jax.value_and_grad(loss, argnums=(0, 1)))(tokens, weights).eqns:
        if each.primitive.name == "dot_general":
            shape, summed = each.invars[0].aval.shape, each.params["dimension_numbers"][0][0]
            total += 2 * int(np.prod(each.outvars[0].aval.shape)) * int(np.prod([shape[axis] for axis in summed]))
    return total


@claim(
    items={
        "A15.3": ("directions of log-probabilities", "derivative of softmax"),
        "A15.5": "a layer of attention, column by column",
        "A15.6": ("products of an epoch", "order of the cost"),
    },
    says=r"Laws $\propto e^{v_w\cdot c}$ with embeddings in $\mathbb R^D$ have log-probabilities of rank $D+1$. "
    r"Attention alone, $X\mapsto V\,\mathrm{softmax}(K^\top Q/\sqrt d)$, costs $3MN(6d^2+4Ld)$ operations an "
    r"epoch: $O(MNd(d+L))$, half of it in the maps at $L=\frac32d$.",
    needs="columns are tokens, the softmax is of each column; matrix products only, forward and backward. Printed is "
    r"$Q^\top K$, which exchanges the names of queries and keys",
    symbols={
        "v_w": "the embedding of a word",
        "c": "the embedding of its context",
        "D": "the number of coordinates of embeddings",
        "X": "the tokens, a column each",
        "Q,K,V": "queries, keys and values: three linear maps of the tokens",
        "d": "the width of the layers",
        "M": "the number of tokens of the corpus",
        "N": "the number of layers",
        "L": "the number of tokens of a text",
    },
    why=r"A matrix of inner products has the rank of its factors, and the logarithm of the normalizer adds one column. "
    r"A text costs three maps of $2Ld^2$ operations a layer and two products of $2L^2d$; the backward pass has two "
    r"products for each of these. A corpus has $M/L$ texts.",
    notice="Operations a token: the maps do not depend on the length of a text, the attention grows with it, and they "
    "are equal at one and a half times the width.",
)
def next_words_and_their_cost(key):
    rng = generator(key)
    ranks, laws = [], []
    for width in WIDTHS:
        logits = np.asarray(
            log_bilinear_logits(rng.standard_normal((WORDS, width)), rng.standard_normal((CONTEXTS, width)))
        )
        ranks.append(int(np.linalg.matrix_rank(logits - np.log(np.exp(logits).sum(1, keepdims=True)))))
    scores = 2 * rng.standard_normal(7)
    laws = np.exp(scores) / np.exp(scores).sum()

    tokens = rng.standard_normal((4, 6))
    query, keys, value = rng.standard_normal((3, 1, 4, 4))
    made = np.asarray(attention_only(tokens, query, keys, value))
    swapped = by_columns(tokens, keys[0], query[0], value[0])

    layers, lengths, widths = np.array(SIZES).T
    counts = np.array([counted_products(*size) for size in SIZES])
    symbols = np.array(TEXTS) * lengths
    asked = zip(symbols.tolist(), SIZES, strict=True)
    said = np.array([attention_flops(symbols=m, layers=k, length=n, width=d) for m, (k, n, d) in asked])
    share = said / (symbols * layers * widths * (widths + lengths))
    return {
        "directions of log-probabilities": Exact(ranks, [width + 1 for width in WIDTHS], along={"width": WIDTHS}),
        "derivative of softmax": Identity(
            np.asarray(softmax_jacobian(laws)), slope_of_softmax(scores), scale=1.0, aside={"law": laws}
        ),
        "a layer of attention, column by column": Identity(
            made,
            by_columns(tokens, query[0], keys[0], value[0]),
            scale=np.abs(made).max(),
            condition=20.0,
            aside={"names exchanged": swapped},
        ),
        "products of an epoch": Exact(
            np.array(TEXTS) * counts,
            said,
            along={"size": np.arange(len(SIZES))},
            aside={
                "backward as dear as forward": said * 2 // 3,
                "keys read once a text": 3 * symbols * layers * (6 * widths**2 + 4 * widths),
            },
        ),
        "order of the cost": Chain(
            {"at least 12": (np.full(len(share), 12.0), share), "at most 18": (share, np.full(len(share), 18.0))},
            aside={"no maps": 12 * lengths / (widths + lengths)},
        ),
    }


@next_words_and_their_cost.control("rank D", of="directions of log-probabilities")
def no_normalizer(evidence):
    return replace(evidence, right=list(evidence.along["width"]))


@next_words_and_their_cost.control("diag(p) + p pᵀ", of="derivative of softmax")
def added(evidence):
    law = np.asarray(evidence.aside["law"])
    return replace(evidence, right=np.diag(law) + np.outer(law, law))


@next_words_and_their_cost.control("queries and keys exchanged", of="a layer of attention, column by column")
def exchanged(evidence):
    return replace(evidence, right=evidence.aside["names exchanged"])


@next_words_and_their_cost.control("backward costs as much as forward", of="products of an epoch")
def once_back(evidence):
    return replace(evidence, right=evidence.aside["backward as dear as forward"])


@next_words_and_their_cost.control("every key is read once a text", of="products of an epoch")
def once_a_text(evidence):
    return replace(evidence, right=evidence.aside["keys read once a text"])


@next_words_and_their_cost.control("the cost is that of attention alone, 12MNLd", of="order of the cost")
def no_maps(evidence):
    share = np.asarray(evidence.aside["no maps"])
    return replace(evidence, links={"at least 12": (np.full(len(share), 12.0), share)})


@next_words_and_their_cost.picture
def cost(pieces):
    """Operations a token and layer of a training step at width 64, by the length of the text."""
    width, lengths = 64, np.geomspace(4, 4096, 60)
    whole = [attention_flops(symbols=round(n), layers=1, length=round(n), width=width) / round(n) for n in lengths]
    maps = np.full(len(lengths), 18.0 * width**2)
    return Curves(
        [
            Line("all", lengths, whole),
            Line("three maps", lengths, maps, thin=True),
            Line("scores and means", lengths, np.array(whole) - maps, thin=True),
            Level("L = 3d/2", x=1.5 * width),
        ],
        x="tokens of a text L",
        y="operations a token",
        log="xy",
    )
