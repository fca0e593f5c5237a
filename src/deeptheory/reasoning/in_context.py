"""In-context learning by construction: layers of linear attention that are steps of gradient descent.

A prompt is a list of tokens (x_i, y_i) and queries (x, 0). Linear attention adds to token j the sum of values V e_i
over the examples, weighted by ⟨K e_i, Q e_j⟩. Where K and Q read x and V is −η/n on y, each layer takes one step on the
least squares of the examples: their y become residuals, and that of a query minus the prediction (von Oswald and
others 2023). No weight changes while the prompt is read.

`examples` is n, `step_size` η, `noise` the variance σ² of the labels.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from deeptheory.foundations.entrances import doors

__all__ = [
    "LinearAttention",
    "attend",
    "best_step",
    "gradient_step_layer",
    "in_context_predictions",
    "prompt",
    "risk_after_one_step",
]


class LinearAttention(NamedTuple):
    """Matrices that make queries, keys and values of tokens."""

    query: Float[np.ndarray, "width width"]
    key: Float[np.ndarray, "width width"]
    value: Float[np.ndarray, "width width"]


def prompt(
    x: Float[np.ndarray, "*batch n d"], y: Float[np.ndarray, "*batch n m"], queries: Float[np.ndarray, "*batch q d"]
) -> Float[np.ndarray, "*batch tokens width"]:
    """Write examples (x, y) and then queries (x, 0) as tokens, one a row."""
    examples = np.concatenate([x, y], -1)
    asked = np.concatenate([queries, np.zeros((*queries.shape[:-1], y.shape[-1]))], -1)
    return np.concatenate([examples, asked], -2)


def attend(
    layer: LinearAttention, tokens: Float[np.ndarray, "*batch tokens width"], examples: int
) -> Float[np.ndarray, "*batch tokens width"]:
    """Apply one layer, e_j + Σ_{i ≤ examples} V e_i ⟨K e_i, Q e_j⟩: everyone reads the examples, no one the queries."""
    if not 1 <= examples <= tokens.shape[-2]:
        raise ValueError(f"examples must lie in [1, {tokens.shape[-2]}], the number of tokens, got {examples}")
    read = tokens[..., :examples, :]
    scores = (tokens @ layer.query.T) @ np.swapaxes(read @ layer.key.T, -1, -2)
    return tokens + scores @ (read @ layer.value.T)


def gradient_step_layer(inputs: int, outputs: int, examples: int, step_size: float) -> LinearAttention:
    """Return the layer that takes one step of size η on (1/2n) Σ ‖W x_i − y_i‖², whatever the examples are."""
    reads = np.diag(np.concatenate([np.ones(inputs), np.zeros(outputs)]))
    return LinearAttention(reads, reads, (step_size / examples) * (reads - np.eye(inputs + outputs)))


def in_context_predictions(
    x: Float[np.ndarray, "*batch n d"],
    y: Float[np.ndarray, "*batch n m"],
    queries: Float[np.ndarray, "*batch q d"],
    *,
    step_size: float,
    layers: int = 1,
) -> Float[np.ndarray, "*batch q m"]:
    """Read a prompt with a stack of equal layers and return what it says of the queries: W after as many steps."""
    examples, inputs = x.shape[-2:]
    layer = gradient_step_layer(inputs, y.shape[-1], examples, step_size)
    tokens = prompt(x, y, queries)
    for _ in range(layers):
        tokens = attend(layer, tokens, examples)
    return -tokens[..., examples:, inputs:]


def risk_after_one_step(dimension: int, examples: int, step_size: float, *, noise: float = 0.0) -> float:
    """Return E (prediction − ⟨w, x⟩)² of one layer: d (1 − 2η + η² (1 + (d + 1 + σ²)/n)).

    For standard normal inputs, queries and weights w, and labels with noise of variance σ² = `noise`.
    """
    return dimension * (1 - 2 * step_size + step_size**2 * (1 + (dimension + 1 + noise) / examples))


def best_step(dimension: int, examples: int, *, noise: float = 0.0) -> float:
    """Return the step size of least risk, n/(n + d + 1 + σ²), at which the risk is d (d + 1 + σ²)/(n + d + 1 + σ²)."""
    return examples / (examples + dimension + 1 + noise)


doors(
    __name__, inputs="[1, 1e4]", outputs="[1, 1e4]", examples="[1, 1e9]", dimension="[1, ∞)", step_size="[0, ∞)",
    layers="[0, 1e4]", noise="[0, ∞)",
)  # fmt: skip
