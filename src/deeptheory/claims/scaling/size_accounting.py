"""Sizes of language models counted in their arrays and programs, and the rules of thumb beside them."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from deeptheory.architectures.language_models import init_language_model
from deeptheory.lab import Exact, Limit, claim
from deeptheory.lab.pictures import Curves, Dots, Level, Line
from deeptheory.scaling.size_accounting import (
    counted_flops,
    forward_flops,
    parameter_count,
    rough_parameters,
    training_flops,
)

MODELS = ((11, 7, 8, 2), (29, 12, 16, 1))
"""vocabulary, context, width, layers"""


@claim(
    items={
        "H13.9": ("parameters of a model", "operations of a model", "operations of its gradient", "rule for parameters",
                  "rule for training"),
    },
    says=r"A decoder of $L$ layers of width $d$ has $12Ld^2+13Ld+2d$ parameters beside its embeddings, so $12Ld^2$ up "
    r"to a share $O(1/d)$. Its gradient takes three times the operations of its loss, which tends to $6ND$ for $D$ "
    r"tokens and $N$ multiplied parameters as $d$ grows.",
    needs="feed-forward width 4d, biases; operations of matrix products",
    symbols={
        "L": "the number of layers",
        "d": "the width",
        "N": "the parameters that are multiplied: those of matrices, the embedding once, for the logits",
        "D": "the number of tokens",
    },
    why=r"Attention has four maps of $d\times d$ and the feed-forward network two of $d\times4d$: twelve $d^2$. A "
    "weight takes part in one multiplication and one addition a token; backwards the product is made twice more, for "
    "the gradient of the input and for that of the weight. So six operations a weight and token, and the scores of "
    "attention, which have no weights, come on top.",
    notice="Operations of the gradient a parameter and token, as counted in the programs of two models and by "
    "formula beyond: they come down to six as the scores matter less beside the width.",
)  # fmt: skip
def transformer_size_accounting():
    tokens = 5
    held, formula, counted, gradient, stated = [], [], [], [], []
    for vocabulary, context, width, layers in MODELS:
        model = init_language_model(
            jax.random.key(0), vocabulary=vocabulary, context=context, width=width, layers=layers, heads=2
        )
        arrays, rest = eqx.partition(model, eqx.is_array)
        ids = jnp.zeros(tokens, int)

        def loss(arrays, rest=rest, ids=ids):
            return jnp.sum(eqx.combine(arrays, rest)(ids))

        held.append(sum(int(np.size(leaf)) for leaf in jax.tree.leaves(model)))
        formula.append(parameter_count(vocabulary=vocabulary, context=context, width=width, layers=layers).total)
        counted.append(counted_flops(loss, arrays))
        gradient.append(counted_flops(jax.grad(lambda a, loss=loss: loss(a) ** 2), arrays))
        stated.append(forward_flops(tokens, vocabulary=vocabulary, width=width, layers=layers))
    labels = {"width": np.array([each[2] for each in MODELS])}
    widths = 2 ** np.arange(5, 12)
    exact = np.array([parameter_count(vocabulary=1, context=1, width=int(w), layers=6).non_embedding for w in widths])
    rough = np.array([rough_parameters(int(w), 6) for w in widths])
    used = rough + 1000 * widths  # with a vocabulary of 1000
    costs = np.array([3 * forward_flops(64, vocabulary=1000, width=int(w), layers=6) for w in widths])
    rule = np.array([training_flops(float(n), 64.0) for n in used])
    return {
        "parameters of a model": Exact(
            np.array(formula), np.array(held), along=labels,
            aside={"no last norm": np.array(formula) - 2 * labels["width"]},
        ),
        "operations of a model": Exact(
            np.array(stated), np.array(counted), along=labels,
            aside={"causal": np.array(stated) - np.array([2 * tokens * (tokens - 1) * w * n for *_, w, n in MODELS])},
        ),
        "operations of its gradient": Exact(3 * np.array(counted), np.array(gradient), along=labels),
        "rule for parameters": Limit(widths, exact / rough - 1, order=1.0, aside={"thirteen": exact / rough * 12 / 13}),
        "rule for training": Limit(
            widths, costs / rule - 1, order=1.0, aside={"vocabulary": costs, "four": rule * 4 / 6, "widths": widths}
        ),
    }  # fmt: skip


@transformer_size_accounting.control("without the last normalization", of="parameters of a model")
def no_last_norm(evidence):
    return replace(evidence, left=evidence.aside["no last norm"])


@transformer_size_accounting.control("scores of seen pairs only", of="operations of a model")
def causal_scores(evidence):
    return replace(evidence, left=evidence.aside["causal"])


@transformer_size_accounting.control("once forward and once backward", of="operations of its gradient")
def twice(evidence):
    return replace(evidence, left=evidence.left * 2 // 3)


@transformer_size_accounting.control("thirteen squares of the width", of="rule for parameters")
def thirteen(evidence):
    return replace(evidence, y=np.abs(evidence.aside["thirteen"] - 1))


@transformer_size_accounting.control("four operations a parameter and token", of="rule for training")
def four(evidence):
    return replace(evidence, y=np.abs(evidence.aside["vocabulary"] / evidence.aside["four"] - 1))


@transformer_size_accounting.picture
def six_each(pieces):
    """Operations of the gradient for each multiplied parameter and token, against the width: by formula and counted."""
    rule = pieces["rule for training"]
    gradient = pieces["operations of its gradient"]
    seen = [
        total / (5 * (rough_parameters(width, layers) + vocabulary * width))
        for total, (vocabulary, _, width, layers) in zip(gradient.right, MODELS, strict=True)
    ]
    return Curves(
        [
            Line("64 tokens, 6 layers, by formula", rule.x, 6 * (1 + rule.y)),
            Dots("5 tokens, counted", gradient.along["width"], seen),
            Level("6", y=6.0),
        ],
        x="width d", y="operations a parameter and token", log="x",
    )  # fmt: skip
