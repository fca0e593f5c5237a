"""What a layer of attention computes, and why its scores are divided by √d (lucchi Sec. 10.4.1 and 10.4.2)."""

from dataclasses import replace
from typing import Annotated

import jax
import numpy as np
from annotated_types import Interval
from scipy.integrate import quad

from deeptheory.architectures.attention_layers import (
    attention_entropy,
    attention_weights,
    init_attention,
    plain_attention,
    scaled_dot_product,
    shared_attention,
)
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Identity, Rate, claim
from deeptheory.lab.pictures import Curves, Dots, Line

STEP = 1e-30


def tilted(scores, values):
    """Derivatives of log Σ_m exp(s_nm + ε v_mj) in ε at zero, by a step in the imaginary direction: no differences."""
    shifted = scores[..., :, :, None] + 1j * STEP * values[..., None, :, :]
    top = scores.max(-1)[..., :, None, None]
    return np.log(np.exp(shifted - top).sum(-2)).imag / STEP


def products(left, right):
    return left @ np.swapaxes(right, -1, -2)


@claim(
    items={
        "L10.26": "tokens without parameters",
        "L10.27": "tokens with one shared matrix",
        "L10.28": "queries, keys and values",
        "L10.30": "several heads",
    },
    says=r"Attention is a derivative: $\sum_m a_{nm}v_{mj}=\partial_\varepsilon\log\sum_m"
    r"\exp(s_{nm}+\varepsilon v_{mj})$ at $\varepsilon=0$, with scores $XX^\top$ and values $X$, or $XUU^\top X^\top$ "
    r"and $XU$, or $QK^\top/\sqrt k$ and $V$; heads add up through their rows of $W^O$.",
    needs="nothing: random tokens and weights of every shape in a batch; heads whose width is not the tokens' over "
    "their number",
    symbols={
        r"a_{nm}": "the weight that token $n$ gives to token $m$: a softmax of scores",
        r"s_{nm}": "the score of token $m$ for token $n$",
        r"v_{mj}": "coordinate $j$ of the value of token $m$",
        r"X": "the tokens, one a row",
        r"U": "a matrix that serves as query, key and value at once",
        r"Q,K,V": "queries, keys and values, linear in the tokens",
        r"k": "the width of queries and keys of one head",
        r"W^O": "the matrix through which all heads are joined",
    },
    why=r"The derivative of $\log\sum_m e^{s_m}$ in one score is the softmax weight of that score. Tilting every "
    "score by its value therefore sums values with these weights. So a token moves to a mean of values, inside their "
    "convex hull, and nothing in the formula knows in which order the tokens stand.",
    notice="Each dot is one coordinate of one output of the layer, each on the diagonal; without the division by the "
    "root of the width the weights are sharper and the outputs others.",
)
def attention_is_a_derivative(key, *, sets: Annotated[int, Interval(ge=1, le=64)] = 6):
    draw = generator(key)
    tokens = draw.standard_normal((sets, 5, 4)) / 1.5
    shared = draw.standard_normal((4, 4)) / 1.5
    queries, keys, values = (draw.standard_normal((sets, n, k)) for n, k in ((5, 3), (7, 3), (7, 2)))
    layer = init_attention(jax.random.fold_in(key, 1), 4, heads=3, head_width=2)
    query, keyed, value, last = (
        np.asarray(each.weight) for each in (layer.query, layer.key, layer.value, layer.output)
    )
    mapped = tokens @ shared

    def joined(scale):
        parts = [slice(2 * head, 2 * head + 2) for head in range(3)]
        return sum(
            tilted(products(tokens @ query[:, part], tokens @ keyed[:, part]) / scale, tokens @ value[:, part])
            @ last[part]
            for part in parts
        )

    def piece(left, right, rival):
        return Identity(np.asarray(left), right, scale=4.0, size=32, aside={"rival": rival})

    dots = products(queries, keys)
    return {
        "tokens without parameters": piece(
            plain_attention(tokens),
            tilted(products(tokens, tokens), tokens),
            tilted(products(tokens, tokens) / 2, tokens),
        ),
        "tokens with one shared matrix": piece(
            shared_attention(tokens, shared),
            tilted(products(mapped, mapped), mapped),
            tilted(products(mapped, mapped), tokens),
        ),
        "queries, keys and values": piece(
            scaled_dot_product(queries, keys, values), tilted(dots / np.sqrt(3), values), tilted(dots, values)
        ),
        "several heads": piece(jax.jit(layer.__call__)(tokens), joined(np.sqrt(2)), joined(np.sqrt(6))),
    }


def rival(evidence):
    return replace(evidence, right=evidence.aside["rival"])


attention_is_a_derivative.control("scores divided by √d", of="tokens without parameters")(rival)
attention_is_a_derivative.control("values that U does not map", of="tokens with one shared matrix")(rival)
attention_is_a_derivative.control("scores not divided by √k", of="queries, keys and values")(rival)
attention_is_a_derivative.control("every head divides by the root of all heads' width", of="several heads")(rival)


@attention_is_a_derivative.picture
def diagonal(pieces):
    """Outputs of attention with queries, keys and values over the derivative of the tilted logarithm."""
    piece = pieces["queries, keys and values"]
    right, left = np.ravel(piece.right), np.ravel(piece.left)
    ends = np.array([right.min(), right.max()])
    return Curves(
        [
            Line("equal", ends, ends),
            Dots("coordinates of the outputs", right, left),
            Dots("without the division", np.ravel(piece.aside["rival"]), left, rival="scores not divided by √k"),
        ],
        x="derivative of the logarithm",
        y="output of the layer",
    )


@claim(
    items={"L10.28": ("slope without the division", "slope with the division", "height of the curve without it")},
    says=r"Queries and keys with independent entries of variance 1 have scores of variance $d$. Between two keys the "
    r"mean slope $a(1-a)$ of the softmax then falls like $1/(2\sqrt{\pi d})$. Divided by $\sqrt d$ the scores have "
    "variance 1 and the slope is the same at every width.",
    needs="two keys with Gaussian entries, and a query of the length that such queries have on average, $\\sqrt d$",
    symbols={
        r"d": "the width of queries and keys; a score is the inner product of a query and a key",
        r"a": "the weight of one of two keys",
        r"a(1-a)": "the derivative of a weight in its own score: what gradients are multiplied with",
    },
    why=r"The gap of two scores is Gaussian with variance $2d$, and the softmax of two is a logistic function of the "
    "gap. Its slope has area one and lives where the gap is of order one, which happens with probability of order "
    r"$1/\sqrt d$: the density of the gap at zero, $1/\sqrt{4\pi d}$. Elsewhere the weight is 0 or 1 and no gradient "
    r"passes.",
    notice="Without the division the slope falls by half whenever the width grows fourfold, and the entropy of the "
    "weights with it; with it both are flat.",
)
def scaling_keeps_the_slope():
    widths = (4, 16, 64, 256, 1024)
    gaps = np.linspace(-9, 9, 1601)
    density = np.exp(-(gaps**2) / 2) / np.sqrt(2 * np.pi) * (gaps[1] - gaps[0])

    def seen(width, scale):
        """Mean slope and entropy over the gap of two keys, in standard deviations, seen along a query of length √d."""
        along = np.full(width, 1 / np.sqrt(width))
        query = np.full((len(gaps), 1, width), scale) * along * np.sqrt(width)
        # Only the part along the query enters a score: two Gaussian keys differ there by √2 deviations.
        keys = gaps[:, None, None] * np.array([[1.0], [-1.0]]) / np.sqrt(2) * along
        weights = np.asarray(attention_weights(query, keys))[:, 0]
        return density @ (weights[:, 0] * weights[:, 1]), density @ np.asarray(attention_entropy(weights))

    sizes = np.array(widths)
    scaled = np.array([seen(d, 1.0) for d in widths])
    unscaled = np.array([seen(d, np.sqrt(d)) for d in widths])  # undoes the layer's division
    slope = quad(lambda z: np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi) / (2 * np.cosh(z / np.sqrt(2))) ** 2, -12, 12)[0]
    return {
        "slope without the division": Rate(
            sizes, unscaled[:, 0], exponent=-0.5, rivals=(-1.0, -0.25), order=1.0, resolution=0.1
        ),
        "height of the curve without it": Rate(
            sizes, np.abs(unscaled[:, 0] * 2 * np.sqrt(np.pi * sizes) - 1), exponent=-1.0, rivals=(-0.5, 0.0), order=1.0
        ),
        "slope with the division": Identity(
            scaled[:, 0],
            np.full(len(sizes), slope),
            error=1e-9,
            along={"width": sizes},
            aside={"entropy": scaled[:, 1], "unscaled": unscaled},
        ),
    }


@scaling_keeps_the_slope.control("one key's variance in the place of the gap's", of="slope with the division")
def one_key(evidence):
    slope = quad(lambda z: np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi) / (2 * np.cosh(z / 2)) ** 2, -12, 12)[0]
    return replace(evidence, right=np.full(len(evidence.left), slope))


@scaling_keeps_the_slope.picture
def slopes(pieces):
    """Mean slope and mean entropy of the softmax of two scores, with and without division by the root of the width."""
    piece = pieces["slope with the division"]
    width, unscaled = piece.along["width"], piece.aside["unscaled"]
    dense = np.geomspace(width[0], width[-1], 50)
    return Curves(
        [
            Line("1/(2√(πd))", dense, 1 / (2 * np.sqrt(np.pi * dense))),
            Dots("slope, not divided", width, unscaled[:, 0]),
            Dots("slope, divided by √d", width, piece.left),
            Dots("entropy, not divided", width, unscaled[:, 1]),
            Dots("entropy, divided by √d", width, piece.aside["entropy"]),
        ],
        x="width d of queries and keys",
        y="slope; entropy in nats",
        log="xy",
    )
