"""The size of a language model in parameters, floating-point operations and bytes, exactly and by rules of thumb.

For the decoder of `architectures.language_models` (GPT-2): a layer has four square maps of attention and two maps of
the feed-forward network, with biases and two normalizations; embeddings serve at both ends. Reference: handbook Sec.
13.2.1; Kaplan et al. (2020), Sec. 2.1.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np

from deeptheory.foundations.entrances import doors

__all__ = [
    "ParameterCount",
    "counted_flops",
    "forward_flops",
    "key_value_bytes",
    "parameter_count",
    "rough_parameters",
    "training_bytes",
    "training_flops",
]


class ParameterCount(NamedTuple):
    """Parameters of a decoder by what they are for."""

    embedding: int
    positions: int
    attention: int
    feed_forward: int
    norms: int

    @property
    def total(self) -> int:
        return sum(self)

    @property
    def non_embedding(self) -> int:
        """All but tokens and positions: the N of Kaplan et al.'s scaling laws."""
        return self.attention + self.feed_forward + self.norms


def parameter_count(
    *, vocabulary: int, context: int, width: int, layers: int, hidden: int | None = None
) -> ParameterCount:
    """Count the parameters of a decoder-only model with biases; `hidden` is 4·width unless given.

    A layer has 4d(d + 1) in attention, 2dh + h + d in the feed-forward network and 4d in its two normalizations; one
    normalization follows the last layer, and the embedding of tokens is used again for the logits.
    """
    hidden = 4 * width if hidden is None else hidden
    return ParameterCount(
        vocabulary * width,
        context * width,
        layers * 4 * width * (width + 1),
        layers * (2 * width * hidden + hidden + width),
        (2 * layers + 1) * 2 * width,
    )


def rough_parameters(width: int, layers: int) -> int:
    """The rule of thumb 12·layers·width² for parameters beside the embeddings: short by 13/(12·width) of it."""
    return 12 * layers * width**2


def forward_flops(tokens: int, *, vocabulary: int, width: int, layers: int, hidden: int | None = None) -> int:
    """Operations in the matrix products of reading `tokens` tokens at once: 2 for each multiplication and addition.

    Each of the maps costs 2 a weight and token, the scores and the averages of attention 2·tokens·width each a token
    and layer (masked ones are computed, too), the logits 2·vocabulary·width a token. Embeddings, norms and biases are
    left out.
    """
    hidden = 4 * width if hidden is None else hidden
    layer = 2 * (4 * width**2 + 2 * width * hidden) + 4 * tokens * width
    return tokens * (layers * layer + 2 * vocabulary * width)


def training_flops(parameters: float, tokens: float) -> float:
    """The rule of thumb C = 6ND: two operations a parameter and token forward, four backward.

    Leaves out the scores of attention, which matter beside 12·width only for contexts of that order.
    """
    return 6.0 * parameters * tokens


def training_bytes(parameters: int, *, weight_bytes: int = 2, state_bytes: int = 12, gradient_bytes: int = 2) -> int:
    """Bytes that parameters take in training: by default 16 each, mixed precision with Adam.

    Weights and gradients in two bytes, and in four the master weights and the two moments. Activations come on top.
    """
    return parameters * (weight_bytes + state_bytes + gradient_bytes)


def key_value_bytes(tokens: int, *, width: int, layers: int, number_bytes: int = 2) -> int:
    """Bytes of the keys and values that generation keeps for one sequence of so many tokens: two numbers a width.

    2 · tokens · layers · width · `number_bytes`, the last the bytes of one number.
    """
    return 2 * tokens * layers * width * number_bytes


def counted_flops(function: Callable[..., Any], *arguments: Any) -> int:
    """Operations in the matrix products of a JAX function on such arguments, counted in its program.

    2·m·n·k for a product of m × k by k × n, in loops as often as they run; nothing is computed. Of other operations
    (sums, exponentials) none are counted.
    """
    return _products(jax.make_jaxpr(function)(*arguments).jaxpr)


def _products(jaxpr: Any) -> int:
    total = 0
    for equation in jaxpr.eqns:
        if equation.primitive.name == "dot_general":
            (contracted, _), _ = equation.params["dimension_numbers"]
            shape = equation.invars[0].aval.shape
            total += 2 * int(np.prod(equation.outvars[0].aval.shape)) * int(np.prod([shape[i] for i in contracted]))
        inner = [
            each for value in equation.params.values() for each in (value if isinstance(value, tuple) else [value])
        ]
        times = equation.params.get("length", 1) if equation.primitive.name == "scan" else 1
        for each in inner:
            if hasattr(each, "eqns") or hasattr(each, "jaxpr"):
                total += times * _products(getattr(each, "jaxpr", each))
    return total


doors(
    __name__, vocabulary="[1, 1e12]", context="[1, 1e12]", width="[1, 1e7]", layers="[1, 1e6]", hidden="[1, 1e8]",
    parameters="[0, 1e18]", tokens="[0, 1e18]", weight_bytes="[0, 64]", state_bytes="[0, 64]",
    gradient_bytes="[0, 64]", number_bytes="[1, 64]",
)  # fmt: skip
